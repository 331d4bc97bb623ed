"""What every extractor promises: each is held to the same facts, on a file of its kind and on rubbish."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from estante.ingest.formats import EXTRACTORS, SUFFIXES, media_type
from estante.ingest.gate import admit
from estante.ingest.pipeline import River, chunker
from estante.model.access import ANYONE, Scope
from estante.model.content import HEADING, Draft, Item, canonical
from estante.model.errors import Unreadable

NAMES = sorted(EXTRACTORS.builtins)

# A file of the demo library that each reads, and words that stand in it.
CASES = {
    "plain": ("ti/rotina-de-backup.txt", "plantonis"),
    "markdown": ("leis/lei-1290-2012-estatuto-servidores.md", "férias"),
    "html": ("atendimento/carta-de-servicos.html", "Prefeitura"),
    "csv": ("atendimento/taxas-2025.csv", "Segunda via de alvará"),
    "pdf": ("ti/plano-diretor-ti-2024-2027.pdf", "Plano Diretor"),
    "docx": ("manual/manual-do-servidor.docx", "exoneração"),
}


def test_every_registered_extractor_is_held_to_these_facts() -> None:
    assert sorted(CASES) == NAMES


def test_every_suffix_leads_to_a_registered_extractor() -> None:
    assert set(SUFFIXES.values()) == set(NAMES)


def item(name: str, data: bytes) -> Item:
    uri = CASES[name][0]
    return Item(source="s", uri=uri, media_type=media_type(uri), revision="1", read=lambda: data)


def drafts(name: str, data: bytes) -> list[Draft]:
    return list(EXTRACTORS.load(name)().drafts(item(name, data), data))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def data(name: str, corpus: Path) -> bytes:
    return (corpus / CASES[name][0]).read_bytes()


def test_the_words_of_the_file_are_in_the_draft(name: str, data: bytes) -> None:
    (found,) = drafts(name, data)

    assert CASES[name][1] in found.text
    assert found.title.strip()


def test_the_same_file_gives_the_same_drafts(name: str, data: bytes) -> None:
    assert drafts(name, data) == drafts(name, data)


def test_marks_lie_within_the_text_and_headings_cover_words(name: str, data: bytes) -> None:
    for found in drafts(name, data):
        assert all(0 <= mark.start <= mark.end <= len(found.text) for mark in found.marks)
        assert all(mark.level >= 1 and mark.label for mark in found.marks if mark.kind == HEADING)
        assert [mark.start for mark in found.marks] == sorted(mark.start for mark in found.marks)


def test_the_text_is_canonical_already(name: str, data: bytes) -> None:
    for found in drafts(name, data):
        assert canonical(found.text) == found.text


def test_the_gate_lets_every_draft_in(name: str, data: bytes) -> None:
    for found in drafts(name, data):
        one = admit(item(name, data), found, Scope("acme", ANYONE))
        assert len(one.text) == len(found.text)


def test_losses_are_lines_for_people(name: str, data: bytes) -> None:
    for found in drafts(name, data):
        assert all(loss.strip() and "\n" not in loss for loss in found.losses)


@pytest.mark.parametrize("blank", [b"", b" \r\n\t", b"\xef\xbb\xbf"])
def test_a_file_without_text_is_unreadable_or_gives_no_text(name: str, blank: bytes) -> None:
    reading = River(chunker("windows", {})).read(item(name, blank), blank, Scope("acme", ANYONE), name)

    assert reading.documents == ()
    assert reading.reason


@pytest.mark.parametrize("seed", range(4))
def test_rubbish_is_unreadable_and_never_another_error(name: str, data: bytes, seed: int) -> None:
    random = Random(seed)
    noise = random.randbytes(5_000)
    at = random.randrange(len(data))
    for rubbish in (noise, data[:at], data[:at] + noise + data[at:], b"\x00" * 500, data[:100] + noise):
        try:
            found = drafts(name, rubbish)
        except Unreadable as error:
            assert error.hint  # noqa: PT017 - either it can be read, or it is said why not and what to do.
        else:
            assert all(isinstance(one, Draft) for one in found)
