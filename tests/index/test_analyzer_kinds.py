"""What is written in parts is found whole and in parts, and marked as it is written."""

import unicodedata
from pathlib import Path

import pytest

import estante
from estante.index.analyzer import Finder, query_terms, terms, tokens
from tests.index.kinds import KINDS, Kind

NAMES = [kind.written for kind in KINDS]
ADDRESS = "exemplo.org/a/ver?id=3#topo"


def told(kind: Kind) -> str:
    """A text that holds the kind's example once."""
    written = f"https://www.{kind.written}" if kind.written == ADDRESS else kind.written
    return f"Conforme consta ali: {written}\ne nada mais"


def marks(text: str, query: str) -> set[str]:
    """What of a text a query marks, as it is written."""
    wanted = {term for word in query_terms(query, ["pt", "en"]) for term in word.terms}
    return {text[start:end] for start, end in Finder("pt", wanted).places(text)}


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_the_whole_marks_all_that_is_written(kind: Kind) -> None:
    missed = [whole for whole in kind.wholes if kind.written.rstrip(".") not in marks(told(kind), whole)]

    assert missed == []


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_each_part_marks_itself(kind: Kind) -> None:
    missed = [part for part in kind.parts if part not in marks(told(kind), part)]

    assert missed == []


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_a_part_does_not_mark_the_whole(kind: Kind) -> None:
    wrong = [part for part in kind.parts if kind.written in marks(told(kind), part)]

    assert wrong == []


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_decomposed_text_is_marked_alike(kind: Kind) -> None:
    text, plain = told(kind), unicodedata.normalize("NFD", told(kind))

    assert [unicodedata.normalize("NFC", plain[one.start : one.end]) for one in tokens(plain, "pt")] == [
        text[one.start : one.end] for one in tokens(text, "pt")
    ]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_capitals_do_not_hide_it(kind: Kind) -> None:
    if kind.written != kind.written.upper() and not any(map(str.isupper, kind.written)):
        assert terms(kind.written.upper(), "pt") == terms(kind.written, "pt")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("cabeçalho/rodapé", "cabecalhorodape"),
        ("2024, 12 pessoas, 03 casas", "2024-03-12"),
        ("1.2.3", "123"),
        ("192.168.1.10", "192168110"),
        ("12/34", "1234"),
        ("99/99/2024", "2024-99-99"),
        ("0001234-56.2024.8.26.0100", "0100-08-26"),
        ("art. 5.234", "art. 5"),
        ("Smart 5", "art. 5"),
        ("cart. 5", "art. 5"),
        ("§ 21", "§ 2"),
        ("trata-se", "tratase"),
        ("fim.\nOutra", "fim.outra"),
    ],
)
def test_a_query_for_one_whole_does_not_mark_another(text: str, query: str) -> None:
    assert text not in marks(text, query)


def test_the_whole_of_a_long_address_is_not_that_of_another_with_the_same_beginning() -> None:
    address = "https://exemplo.org/" + "pasta/" * 20

    one, other = terms(address + "um", "und"), terms(address + "dois", "und")

    assert set(one) - set(other)
    assert set(other) - set(one)
    assert max(map(len, one)) <= 64


def test_a_colon_in_a_text_makes_no_term_of_a_language() -> None:
    assert "pt:licit" not in terms("pt:licit", "und")


def test_a_text_that_holds_it_whole_is_found_before_one_that_holds_the_parts(tmp_path: Path) -> None:
    parts = {part for kind in KINDS for part in kind.parts if " " not in part}
    apart = [part for part in sorted(parts) if part.isalnum()]
    with estante.create(tmp_path / "bookcase") as case:
        case.add({kind.written: told(kind) for kind in KINDS})
        case.add({"apart": "\n".join(apart * 2), "apart, turned": "\n".join(reversed(apart))})

        found = {kind.written: case.search(kind.wholes[0], 1, mode="lexical").hits[0] for kind in KINDS}

    assert [written for written, hit in found.items() if hit.chunk.text.startswith(tuple(apart))] == []
