"""What a question may demand, from the question to the hits: in memory and on disk, by either leg and by both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.model.asking import MODES
from estante.model.errors import QueryError
from estante.shelf.bookcase import Bookcase
from tests.parts import bookcase

TEXTS = {
    "lei": "# Licença\n\nO prazo recursal é de trinta dias. Veja o art. 5º da Lei nº 8.112/1990.",
    "minuta": "# Minuta\n\nNesta minuta o prazo recursal é de dez dias; o recursal prazo não se prorroga.",
    "manual": "# Licitações\n\nQuem licita publica o edital. O recurso tem prazo.",
    "memo": "# Leave\n\nThe deadline for an appeal is thirty days, with or without a draft.",
}


@pytest.fixture(params=["memory", "disk"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookcase]:
    with bookcase(None if request.param == "memory" else tmp_path / "case") as made:
        made.add(TEXTS)
        yield made


def ids(case: Bookcase, question: str, mode: str = "lexical", **told: object) -> list[str]:
    return sorted(hit.document_id for hit in case.search(question, mode=mode, **told))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_left_out_is_found_by_no_leg(case: Bookcase, mode: str) -> None:
    assert "minuta" in ids(case, "prazo recursal", mode)
    assert "minuta" not in ids(case, "prazo recursal -minutas", mode)
    left = ["manual"] if mode == "lexical" else ["manual", "memo"]
    assert ids(case, 'prazo -"prazo recursal"', mode) == left


@pytest.mark.parametrize("mode", MODES)
def test_a_phrase_is_held_by_every_hit(case: Bookcase, mode: str) -> None:
    assert ids(case, '"recursal prazo"', mode) == ["minuta"]
    assert ids(case, '"prazos recursais"', mode) == ["lei", "minuta"]
    assert ids(case, '"prazo de um ano"', mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_field_is_held_by_every_hit(case: Bookcase, mode: str) -> None:
    assert ids(case, "title:licitação prazo", mode) == ["manual"]
    assert ids(case, "prazo -title:minuta -title:leave", mode) == ["lei", "manual"]
    assert ids(case, "heading:licença", mode) == ["lei"]
    assert ids(case, "title:dias", mode) == []


def test_a_phrase_is_found_behind_many_passages_that_only_hold_its_words(case: Bookcase) -> None:
    case.add({f"other{n}": "recursal prazo recursal prazo" for n in range(300)})

    assert ids(case, '"prazo recursal é de dez"', k=1) == ["minuta"]
    assert ids(case, '"o prazo recursal é"', k=5) == ["lei", "minuta"]


def test_a_beginning_finds_every_word_that_begins_so(case: Bookcase) -> None:
    assert ids(case, "licit*") == ["manual"]
    assert ids(case, "lic*") == ["lei", "manual"]
    assert ids(case, "draf* dead*") == ["memo"]
    assert ids(case, "prazo -rec*") == []


def test_a_misspelt_word_is_found_when_asked_and_told_as_absent(case: Bookcase) -> None:
    assert ids(case, "recusral") == []
    assert ids(case, "recusral", fuzzy=True) == ["lei", "minuta"]
    assert case.search("recusral", fuzzy=True, mode="lexical").absent == ("recusral",)
    assert ids(case, "deadlime", fuzzy=True) == ["memo"]
    assert ids(case, "8113/1990", fuzzy=True) == ids(case, "8113/1990")


def test_a_word_that_is_held_is_never_changed(case: Bookcase) -> None:
    plain, fuzzy = (case.search("prazo licença", mode="lexical", fuzzy=fuzzy) for fuzzy in (False, True))

    assert [(hit.chunk.id, hit.score) for hit in plain] == [(hit.chunk.id, hit.score) for hit in fuzzy]


def test_signs_are_text_in_a_literal_question(case: Bookcase) -> None:
    assert "minuta" in ids(case, "prazo -minuta", literal=True)
    assert ids(case, '"recursal prazo"', literal=True) == ["lei", "manual", "minuta"]
    assert ids(case, "-minuta", literal=True) == ["minuta"]


def test_a_question_that_only_leaves_out_is_refused(case: Bookcase) -> None:
    with pytest.raises(QueryError, match="only what to leave out"):
        case.search("-minuta")


@pytest.mark.parametrize("name", ["fuzzy", "literal"])
def test_an_option_that_is_neither_true_nor_false_is_refused(case: Bookcase, name: str) -> None:
    with pytest.raises(QueryError, match=name):
        case.search("prazo", **{name: "yes"})


@pytest.mark.parametrize("written", ["Lei nº 8.112/1990", "lei 8112/90", "8.112", "art. 5º", "artigo 5"])
def test_a_law_is_found_in_any_way_it_is_written(case: Bookcase, written: str) -> None:
    [best, *_] = case.search(written, mode="lexical")

    assert best.document_id == "lei"


def test_stop_words_alone_are_asked_for_as_words(case: Bookcase) -> None:
    assert ids(case, "o de") == ["lei", "manual", "minuta"]
    assert ids(case, "with or without") == ["memo"]


def test_accents_change_neither_hits_nor_scores(case: Bookcase) -> None:
    told = [
        [(hit.chunk.id, hit.score) for hit in case.search(question, mode="lexical")]
        for question in (
            "licença licitação",
            "licenca licitacao",
            "LICENÇA LICITAÇÃO",
            "licenc\u0327a licitac\u0327a\u0303o",
        )
    ]

    assert told[0]
    assert told.count(told[0]) == len(told)
