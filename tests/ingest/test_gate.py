"""What a text must be to come in, and what becomes of it."""

from __future__ import annotations

import datetime
import enum
import unicodedata
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from estante.ingest.chunkers.headings import HeadingsChunker
from estante.ingest.chunkers.windows import WindowsChunker
from estante.ingest.gate import MAX_DEPTH, admit, admit_metadata, identity
from estante.model.access import ANYONE, Scope
from estante.model.content import Document, Draft, Item, Mark
from estante.model.errors import ContractBroken, SettingsError, Unreadable

TOKEN = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA2cD4eF6"
SCOPE = Scope("acme", ANYONE)


def let_in(text: str, *, item: dict[str, Any] | None = None, **draft: Any) -> Document:
    offered = {"source": "s", "uri": "dir/a.md", "media_type": "text/plain", "revision": "1", "read": text.encode}
    return admit(Item(**{**offered, **(item or {})}), Draft(**{"title": "A", "text": text, **draft}), SCOPE)


def everything(document: Document) -> str:
    return repr([getattr(document, name) for name in type(document).__slots__])


def test_the_text_is_canonical_and_its_marks_moved_along() -> None:
    text = unicodedata.normalize("NFD", "\ufeffIntrodução\r\n\r\nAção e reação\r\n")
    at = text.index("Ac")
    mark = Mark("heading", at, text.rindex("\r\n"), text[at : text.rindex("\r\n")], 1)

    document = let_in(text, marks=(mark,))

    assert document.text == "Introdução\n\nAção e reação\n"
    (moved,) = document.marks
    assert document.text[moved.start : moved.end] == moved.label == "Ação e reação"


def test_a_document_has_the_scope_it_was_given() -> None:
    assert let_in("texto").scope == SCOPE


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff", "\x00\x00", "\u00a0\u2003"])
def test_a_draft_without_text_is_no_document(text: str) -> None:
    with pytest.raises(Unreadable, match="no text in it"):
        let_in(text)


@pytest.mark.parametrize(
    "mark",
    [Mark("table", 0, 99), Mark("table", -1, 2), Mark("table", 3, 2), Mark("", 0, 2), Mark("heading", 0, 2, "x", 0)],
)
def test_a_mark_that_cannot_be_is_the_fault_of_the_extractor(mark: Mark) -> None:
    with pytest.raises(ContractBroken):
        let_in("texto", marks=(mark,))


def test_marks_come_in_order_the_wider_one_first() -> None:
    marks = (Mark("code", 4, 6), Mark("page", 0, 9, "1"), Mark("heading", 0, 3, "abc", 1))

    assert [mark.kind for mark in let_in("abc def g", marks=marks).marks] == ["page", "heading", "code"]


@pytest.mark.parametrize("chunker", [HeadingsChunker(60, 10), WindowsChunker(60, 20), WindowsChunker(50, 0)])
@pytest.mark.parametrize("shift", range(0, 80, 7))
def test_a_secret_across_any_border_of_chunks_is_masked(chunker: Any, shift: int) -> None:
    document = let_in("x " * shift + TOKEN + " fim da linha" * 9)

    text = "".join(document.cut(n, span).text for n, span in enumerate(chunker.spans(document)))

    assert TOKEN[:12] not in text
    assert TOKEN[-12:] not in text


def test_masking_moves_no_offset() -> None:
    text = f"antes {TOKEN} depois"

    document = let_in(text)

    assert len(document.text) == len(text)
    assert document.text.index("depois") == text.index("depois")
    (redaction,) = document.redactions
    assert (redaction.span.start, redaction.span.end) == (6, 6 + len(TOKEN))


@pytest.mark.parametrize("secret", [TOKEN, "Casa@2024", "hunter2x"])
def test_nothing_of_a_secret_remains_in_any_field(secret: str) -> None:
    text = f"# Acesso {secret}\n\nsenha: {secret}\n"

    document = let_in(
        text,
        item={"uri": f"dir/{secret}/a.md", "metadata": {"nota": f"use {secret}", secret: ["x", {"y": secret}]}},
        title=f"Acesso {secret}",
        part=secret,
        marks=(Mark("heading", 2, 9 + len(secret), f"Acesso {secret}", 1), Mark("sheet", 0, 3, secret)),
        metadata={"autor": secret},
    )

    assert secret.casefold() not in everything(document).casefold()


def test_a_value_under_the_name_of_a_credential_is_masked() -> None:
    assert let_in("texto", metadata={"api_key": "abc", "autora": "Ana"}).metadata == {"api_key": "███", "autora": "Ana"}


def test_what_the_source_says_outweighs_what_the_file_says_of_itself() -> None:
    document = let_in("texto", metadata={"area": "RH", "ano": 2024}, item={"metadata": {"area": "TI"}})

    assert document.metadata == {"area": "TI", "ano": 2024}


def test_metadata_are_plain_json_in_canonical_spelling() -> None:
    document = let_in("texto", metadata={"e\u0301": ("a\u0301", 1, 1.5, None, True, {"x": []})})

    assert document.metadata == {"é": ["á", 1, 1.5, None, True, {"x": []}]}


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), np.float64("nan"), b"x", {1, 2}, {1: "x"}, {None: 1}, object(), 1j, Fraction(1, 3)],
)
def test_metadata_that_json_cannot_hold_are_refused_with_the_key(value: object) -> None:
    with pytest.raises(SettingsError, match="prazo"):
        let_in("texto", metadata={"lista": [{"prazo": value}]})


def test_dates_and_numbers_of_other_types_are_kept_as_json_says_them() -> None:
    class Kind(str, enum.Enum):  # noqa: UP042 - its text is not its value
        LAW = "lei"

    class Level(enum.IntEnum):
        LOW = 1

    given = {
        "dia": datetime.date(2024, 3, 5),
        "hora": datetime.datetime(2024, 3, 5, 9, 30, tzinfo=datetime.UTC),
        "lista": [np.int64(3), np.float32(0.5), Fraction(1, 2), datetime.time(9, 30)],
        "tipo": Kind.LAW,
        "nível": Level.LOW,
    }

    kept = dict(let_in("texto", metadata=given).metadata)

    assert kept == {
        "dia": "2024-03-05",
        "hora": "2024-03-05T09:30:00+00:00",
        "lista": [3, 0.5, 0.5, "09:30:00"],
        "tipo": "lei",
        "nível": 1,
    }
    assert (type(kept["tipo"]), type(kept["nível"])) == (str, int)


def test_metadata_are_nested_only_so_deep() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    let_in("texto", metadata={"x": value})

    with pytest.raises(SettingsError, match="deeper"):
        let_in("texto", metadata={"x": [value]})


def test_metadata_that_hold_themselves_are_refused() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(SettingsError, match="deeper"):
        let_in("texto", metadata={"x": value})


def test_metadata_given_later_are_let_in_alike() -> None:
    assert admit_metadata({"nota": TOKEN, "senha": "abc"}) == {"nota": "█" * 40, "senha": "███"}


def test_an_id_names_source_and_uri_without_regard_to_case_or_spelling() -> None:
    assert (
        identity("Manual", "Ética/E\u0301TICA.md")
        == identity("manual", "e\u0301tica/Ética.MD")
        == "manual/ética/ética.md"
    )


def test_the_parts_of_one_item_have_ids_of_their_own() -> None:
    assert let_in("texto", part="1").id == "s/dir/a.md!1"
    assert let_in("texto", part="2").id == "s/dir/a.md!2"


def test_a_text_given_directly_is_known_by_the_name_it_was_given() -> None:
    assert let_in("texto", item={"source": "", "uri": "Ata de Reunia\u0303o"}).id == "Ata de Reunião"


@pytest.mark.parametrize("uri", ["", "  ", "a\nb", "a\x00b", "a\x1bb", "a\u2028b", "x" * 1001])
def test_a_name_that_cannot_be_told_is_refused(uri: str) -> None:
    with pytest.raises(SettingsError):
        let_in("texto", item={"source": "", "uri": uri})


def test_a_file_name_that_is_no_text_is_spelt_in_percents() -> None:
    document = let_in("texto", item={"uri": "dir/a\udcff\n.md"}, title="")

    assert document.uri == "dir/a%FF%0A.md"
    assert document.id == "s/dir/a%ff%0a.md"
    assert everything(document).encode("utf-8")


@pytest.mark.parametrize(
    ("title", "part", "expected"),
    [("  Férias \n 2024 ", "", "Férias 2024"), ("", "", "a.md"), (" ", "dentro/b.txt", "b.txt")],
)
def test_a_title_is_one_line_and_falls_back_to_the_name(title: str, part: str, expected: str) -> None:
    assert let_in("texto", title=title, part=part).title == expected


def test_the_language_is_the_drafts_or_found_in_the_text() -> None:
    text = "O prazo para o pedido de férias é de trinta dias, e não há exceção para quem não pediu a tempo."

    assert let_in(text, language="en").language == "en"
    assert let_in(text).language == "pt"


def test_the_same_draft_makes_the_same_document() -> None:
    assert let_in(f"texto {TOKEN}") == let_in(f"texto {TOKEN}")
