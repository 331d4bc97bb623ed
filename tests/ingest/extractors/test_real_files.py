"""Awkward real files: what their index says a reader must see, and must not."""

import csv
import os
import re
import unicodedata
from pathlib import Path

import pytest

from estante.model.content import Draft
from estante.model.errors import EstanteError, Unreadable
from tests.ingest.extractors.reading import drafts

ROOT = Path(__file__).resolve().parents[3]
FILES = Path(os.environ.get("ESTANTE_DATA") or ROOT.parent / "shared" / "data") / "files"

KINDS = ("txt", "csv", "md", "html", "pdf", "docx")
# What is read otherwise than the index expects, and why.
KNOWN = {
    "pdf/fake-bold-sample.pdf": "a sentence of its own speaks of doubled letters and shows some",
    "pdf/bomb_giant.pdf": "has a line of real text beside the image that is the bomb",
    "pdf/habibi.pdf": "its Arabic comes in the order in which it is drawn, from the left",
}


def rows() -> list[dict[str, str]]:
    if not (FILES / "index.csv").is_file():
        return []
    with open(FILES / "index.csv", encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["file"].partition("/")[0] in KINDS]


ROWS = rows()


def test_the_files_are_there() -> None:
    if not ROWS:
        pytest.skip(f"outside data is absent: there is no {FILES / 'index.csv'} (ESTANTE_DATA names its folder)")

    assert {row["file"].partition("/")[0] for row in ROWS} == {*KINDS}


def plain(text: str) -> str:
    """The text as one compares it: composed, without invisible spaces, blanks as one."""
    return " ".join(unicodedata.normalize("NFC", text).replace("\u200b", "").split())


def wanted(expect: str, sign: str) -> list[str]:
    """What stands after this sign; remarks in brackets are no part of it."""
    parts = [part.strip() for part in re.sub(r"\s*\([^()]*\)", "", expect).split(";")]
    return [part[1:] for part in parts if part.startswith(sign)]


def reading(name: str) -> tuple[list[Draft], str]:
    """The drafts, or why there are none."""
    try:
        return drafts(name, (FILES / name).read_bytes()), ""
    except Unreadable as error:
        return [], error.message


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_a_reader_sees_what_is_there(row: dict[str, str]) -> None:
    name, expect = row["file"], row["expect"]
    found, refused = reading(name)

    assert (refused != "") == ("=empty" in expect or "=error" in expect) or name in KNOWN, refused
    if refused or name in KNOWN:
        return
    text = plain("\n".join(draft.text for draft in found))
    for part in wanted(expect, "+"):
        assert any(plain(one) in text for one in part.split(" or +")), part
    for part in wanted(expect, "-"):
        assert plain(part) not in text
    pages = re.search(r"pages=(\d+)", expect)
    assert not pages or found[0].metadata["pages"] == int(pages[1])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("txt/empty.txt", "there is nothing in it"),
        ("txt/fake-text-all-whitespace.txt", "no text in it"),
        ("pdf/encrypted_doc_no_id.pdf", "no text layer"),
        ("pdf/saslprep-r6.pdf", "encrypted"),
        ("pdf/issue9105_other.pdf", "damaged"),
        ("docx/example_password.docx", "encrypted"),
        ("docx/testWORD_truncated.docx", "damaged"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, reason: str) -> None:
    if not ROWS:
        pytest.skip(f"outside data is absent: there is no {FILES / 'index.csv'} (ESTANTE_DATA names its folder)")

    with pytest.raises(Unreadable, match=reason):
        drafts(name, (FILES / name).read_bytes())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("txt/pt-cp850.txt", "Que outra documentação existe"),
        ("txt/pt-misto.txt", "Que outra documentação existe"),
        ("txt/pt-misto.txt", "aplicações e software"),
        ("txt/_ude_4.txt", "Perché si regga"),
        ("txt/verbos-ISO-8859-1.txt", "conjugações de verbos da língua portuguesa"),
        ("html/testHTMLNoisyMetaEncoding_1.html", "الاتحاد الجزائري"),
        ("docx/delins.docx", "Apache Tika 0.3 has been released"),
        ("docx/testWORD_text_box.docx", "This text is inside of a text box in the body of the document."),
    ],
)
def test_a_file_is_read_without_mojibake_and_once(name: str, text: str) -> None:
    if not ROWS:
        pytest.skip(f"outside data is absent: there is no {FILES / 'index.csv'} (ESTANTE_DATA names its folder)")

    (found,) = drafts(name, (FILES / name).read_bytes())

    assert plain(found.text).count(text) == 1


@pytest.mark.parametrize("name", [row["file"] for row in ROWS])
def test_a_file_under_a_wrong_suffix_is_read_or_refused(name: str) -> None:
    data = (FILES / name).read_bytes()[:300_000]

    for ending in (".txt", ".md", ".html", ".csv", ".pdf", ".docx"):
        try:
            drafts(f"x{ending}", data)
        except EstanteError:
            continue
