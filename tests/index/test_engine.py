"""The engine: modes and legs, what each hit says of itself, and whose hits they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from estante.index import analyzer
from estante.index.dense import quantise
from estante.index.engine import Engine
from estante.index.filters import parse
from estante.index.fusion import Blend
from estante.index.lexical import idf
from estante.model.access import ANYONE, Grant, Readers
from estante.model.asking import MODES, Mode, Query, Results
from estante.model.content import Document, Mark, Span
from estante.model.errors import ContractBroken, EstanteError, QueryError, Unavailable
from estante.model.ports import Space, Store, View
from estante.security import principals
from tests.index.building import DIMENSIONS, OWNER, SPACE, deposit, document, store

SHELVES = ["memory", "embedded"]


class Compass:
    """An encoder of directions: each text points where its first word tells, as ``n``, ``e``, or nowhere."""

    space = SPACE
    points: ClassVar = {"n": (1.0, 0.0), "ne": (0.8, 0.6), "e": (0.0, 1.0), "s": (-1.0, 0.0), "w": (0.0, -1.0)}

    def __init__(self) -> None:
        self.asked: list[str] = []

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:2] = self.points.get(text.split()[0].lower() if text.split() else "", (0.0, 0.0))
        return rows

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return self.passages(texts)


def engine(trust: Blend | None = None) -> Engine:
    return Engine(Compass(), trust or Blend())


def fill(made: Store, *documents: Document) -> None:
    entries = engine().entries([(one, [Span(0, len(one.text))]) for one in documents])
    made.put([deposit((one, some)) for one, some in zip(documents, entries, strict=True)])


@pytest.fixture(params=SHELVES)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    found = store(None if request.param == "memory" else tmp_path / "shelf")
    yield found
    found.close()


def ask(
    made: Store | dict[str, Store],
    text: str,
    k: int = 10,
    mode: Mode = "hybrid",
    *,
    grant: Grant = OWNER,
    where: dict[str, object] | None = None,
    by: Engine | None = None,
) -> Results:
    shelves = made if isinstance(made, dict) else {"private": made}
    return (by or engine()).search(Query(text=text, grant=grant, k=k, mode=mode, where=parse(where)), shelves)


def ids(found: Results) -> list[str]:
    return [hit.document_id for hit in found]


# --- modes, legs, scores -------------------------------------------------------------------------------------------

LIBRARY = (
    document("a", "n licitação licitação pública"),
    document("b", "ne licitação"),
    document("c", "e férias"),
    document("d", "s férias do servidor"),
)


def test_words_alone_find_words_alone(made: Store) -> None:
    fill(made, *LIBRARY)

    found = ask(made, "n licitação", mode="lexical")

    assert ids(found) == ["a", "b"]
    assert [[leg.name for leg in hit.legs] for hit in found] == [["lexical"], ["lexical"]]
    assert [hit.score for hit in found] == [hit.legs[0].score for hit in found]


def test_vectors_alone_find_by_direction_alone(made: Store) -> None:
    fill(made, *LIBRARY)

    found = ask(made, "n férias", mode="dense")

    assert ids(found) == ["a", "b", "c", "d"]
    assert [round(hit.score, 2) for hit in found] == [1.0, 0.8, 0.0, -1.0]
    assert [[leg.name for leg in hit.legs] for hit in found] == [["dense"]] * 4


def test_hybrid_has_both_legs_with_their_ranks_and_scores(made: Store) -> None:
    fill(made, *LIBRARY)
    words = {hit.document_id: hit.legs[0] for hit in ask(made, "e licitação", mode="lexical")}
    near = {hit.document_id: hit.legs[0] for hit in ask(made, "e licitação", mode="dense")}

    found = ask(made, "e licitação")

    for hit in found:
        assert {leg.name: leg for leg in hit.legs} == {
            name: told[hit.document_id]
            for name, told in (("lexical", words), ("dense", near))
            if hit.document_id in told
        }
    assert [leg.rank for leg in near.values()] == [1, 2, 3, 4]


def test_hybrid_is_ordered_as_by_hand(made: Store) -> None:
    fill(made, *LIBRARY)
    asked = "w licitação"  # West: the far side of all but a, whose cosine is 0.
    words = {hit.document_id: hit.score for hit in ask(made, asked, mode="lexical")}
    near = {hit.document_id: hit.score for hit in ask(made, asked, mode="dense")}

    found = ask(made, asked, by=engine(Blend(most=0.5, enough=0.1)))

    low, high = min(near.values()), max(near.values())
    expected = {
        key: 0.5 * words.get(key, 0.0) / max(words.values()) + 0.5 * (near[key] - low) / (high - low) for key in near
    }
    assert ids(found) == sorted(expected, key=lambda key: (-expected[key], key))
    assert [hit.score for hit in found] == pytest.approx([expected[key] for key in ids(found)], abs=1e-9)


def test_words_that_stand_nowhere_leave_the_order_to_the_vectors(made: Store) -> None:
    fill(made, *LIBRARY)

    found = ask(made, "e zebra")

    assert ids(found) == ids(ask(made, "e zebra", mode="dense")) == ["c", "b", "a", "d"]
    assert found.coverage == 0.0
    assert found.absent == ("zebra",)


def test_a_text_that_points_nowhere_leaves_the_order_to_the_words(made: Store) -> None:
    fill(made, *LIBRARY)

    assert ids(ask(made, "férias")) == ids(ask(made, "férias", mode="lexical")) == ["c", "d"]
    assert ids(ask(made, "férias", mode="dense")) == []


def test_coverage_is_the_weight_of_the_words_in_the_best_passage(made: Store) -> None:
    fill(made, *LIBRARY)

    found = ask(made, "licitação zebra", mode="lexical")

    assert found.coverage == pytest.approx(idf(4, 2) / (idf(4, 2) + idf(4, 0)), rel=1e-12)
    assert found.absent == ("zebra",)


def test_lexical_search_never_asks_the_encoder(made: Store) -> None:
    fill(made, *LIBRARY)
    by = engine()

    ask(made, "n licitação", mode="lexical", by=by)

    assert by.encoder.asked == []  # type: ignore[attr-defined]


def test_ranks_count_from_one_and_scores_never_rise(made: Store) -> None:
    fill(made, *LIBRARY)

    for mode in MODES:
        found = ask(made, "ne férias do servidor", mode=mode)
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
        assert all(one.score >= other.score for one, other in itertools.pairwise(found))


def test_fewer_hits_are_the_beginning_of_more(made: Store) -> None:
    fill(made, *LIBRARY)

    for mode in MODES:
        whole = ids(ask(made, "ne férias licitação", 10, mode))
        assert [ids(ask(made, "ne férias licitação", k, mode)) for k in (1, 2, 3)] == [whole[:1], whole[:2], whole[:3]]


def test_more_hits_than_there_are_gives_those_there_are(made: Store) -> None:
    fill(made, *LIBRARY)

    assert len(ask(made, "n licitação", 10_000)) == 4


def test_more_hits_than_a_leg_usually_brings_are_given_when_asked_for(made: Store) -> None:
    fill(made, *(document(f"d{n:03}", "n licitação") for n in range(250)))

    for mode in MODES:
        assert ids(ask(made, "n licitação", 240, mode)) == [f"d{n:03}" for n in range(240)]


def test_ties_stand_in_the_order_of_id_and_then_of_position(made: Store) -> None:
    for key in ("b", "a", "c"):
        one = document(key, "n casa\nn casa\n")
        spans = [Span(0, 6), Span(7, 13)]
        made.put([deposit((one, engine().entries([(one, spans)])[0]))])

    for mode in MODES:
        found = ask(made, "n casa", mode=mode)
        assert [hit.chunk.id for hit in found] == ["a#0", "a#1", "b#0", "b#1", "c#0", "c#1"]


# --- questions of every kind ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "\u200b", "???", "\ud800", "🦜"])
def test_a_question_without_words_finds_nothing_and_fails_not(made: Store, text: str, mode: Mode) -> None:
    fill(made, *LIBRARY)

    found = ask(made, text, mode=mode)

    assert (ids(found), found.coverage) == ([], 0.0)


def test_a_question_of_stop_words_alone_asks_for_them(made: Store) -> None:
    fill(made, *LIBRARY)

    assert ids(ask(made, "de do", mode="lexical")) == ["d"]
    assert ids(ask(made, "de a", mode="lexical")) == []


def test_control_characters_in_a_question_are_passed_over(made: Store) -> None:
    fill(made, *LIBRARY)

    assert ids(ask(made, "\x00férias\x1b[31m\r\n", mode="lexical")) == ["c", "d"]


def test_a_page_pasted_as_a_question_is_read_as_far_as_it_makes_sense(made: Store) -> None:
    fill(made, *LIBRARY)
    by = engine()

    found = ask(made, "férias " + "palavra " * 100_000 + "licitação", by=by)

    assert set(ids(found)) == {"c", "d"}
    assert all(len(text) <= 4_000 for text in by.encoder.asked)  # type: ignore[attr-defined]


def test_an_empty_shelf_answers_with_nothing(made: Store) -> None:
    for mode in MODES:
        assert ids(ask(made, "n licitação", mode=mode)) == []


def test_a_passage_without_any_of_the_words_is_no_hit_of_the_words(made: Store) -> None:
    fill(made, *LIBRARY)

    found = ask(made, "pública zebra", mode="lexical")

    assert ids(found) == ["a"]
    assert all(hit.score > 0 for hit in found)


# --- what a hit shows ----------------------------------------------------------------------------------------------


def test_matches_are_the_words_of_the_question_in_the_passage(made: Store) -> None:
    text = "A Licitação. As licitações públicas, e outra LICITAÇÃO."
    fill(made, document("a", text))

    (hit,) = ask(made, "licitacao publica", mode="lexical")

    assert [text[match.start : match.end] for match in hit.matches] == [
        "Licitação",
        "licitações",
        "públicas",
        "LICITAÇÃO",
    ]
    assert "".join(piece for piece, _ in hit.pieces()) == hit.text


def test_matches_are_told_in_the_document_and_not_in_the_passage(made: Store) -> None:
    one = document("a", "outra coisa\n\ndias de férias")
    made.put([deposit((one, engine().entries([(one, [Span(0, 11), Span(13, 27)])])[0]))])

    (hit,) = ask(made, "férias", mode="lexical")

    assert hit.span == Span(13, 27)
    assert [one.text[match.start : match.end] for match in hit.matches] == ["férias"]


def test_stop_words_of_the_question_are_not_marked(made: Store) -> None:
    fill(made, *LIBRARY)

    (hit,) = [hit for hit in ask(made, "férias do servidor", mode="lexical") if hit.document_id == "d"]

    assert [hit.text[match.start : match.end] for match in hit.matches] == ["férias", "servidor"]


def test_a_passage_is_found_by_the_headings_it_stands_under(made: Store) -> None:
    text = "Férias\n\n" + "palavra " * 40 + "\n\ntrinta dias"
    one = document("a", text, marks=[Mark("heading", 0, 6, "Férias", 1)], title="Manual")
    at = text.index("trinta")
    made.put([deposit((one, engine().entries([(one, [Span(0, 40), Span(at, len(text))])])[0]))])

    found = ask(made, "férias trinta dias", mode="lexical")

    assert found[0].text == "trinta dias"
    assert ids(ask(made, "manual", mode="lexical")) == ["a", "a"]


# --- who may see what ----------------------------------------------------------------------------------------------

READER = principals.reader("acme", ["finance"], "ana")


@pytest.mark.parametrize("mode", MODES)
def test_five_readable_among_a_thousand_are_found_however_far_they_are(made: Store, mode: Mode) -> None:
    readable = [document(f"r{n}", "s licitação " + "palavra " * 60, readers=frozenset({"finance"})) for n in range(5)]
    others = [document(f"o{n:03}", "n licitação licitação") for n in range(995)]
    fill(made, *others[:500], *readable, *others[500:])

    found = ask(made, "n licitação", 5, mode, grant=READER)

    assert ids(found) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize("mode", MODES)
def test_five_that_pass_the_filter_among_a_thousand_are_found(made: Store, mode: Mode) -> None:
    passing = [document(f"r{n}", "s licitação " + "palavra " * 60, metadata={"year": 2024}) for n in range(5)]
    others = [document(f"o{n:03}", "n licitação licitação") for n in range(995)]
    fill(made, *others[:500], *passing, *others[500:])

    assert ids(ask(made, "n licitação", 5, mode, where={"year": 2024})) == ["r0", "r1", "r2", "r3", "r4"]
    assert ids(ask(made, "n licitação", 5, mode, where={"year": {"$gt": 2024}})) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("grant", "readable"),
    [
        (OWNER, {"sealed", "finance", "legal", "both"}),
        (READER, {"finance", "both"}),
        (principals.reader("acme", ["legal"], "eva"), {"legal", "both"}),
        (principals.reader("acme", [], "eva"), set()),
        (principals.reader("other", ["finance"], "eva"), set()),
        (principals.owner("other"), set()),
    ],
)
def test_what_an_asker_may_not_read_is_as_if_it_were_not_there(
    made: Store, mode: Mode, grant: Grant, readable: set[str]
) -> None:
    scopes: dict[str, Readers] = {
        "sealed": frozenset(),
        "finance": frozenset({"finance"}),
        "legal": frozenset({"legal"}),
        "both": frozenset({"legal", "finance"}),
    }
    fill(made, *(document(key, "n licitação", readers=readers) for key, readers in scopes.items()))

    found = ask(made, "n licitação", mode=mode, grant=grant)

    assert set(ids(found)) == readable
    assert (found.coverage > 0) == bool(readable)


def test_a_word_that_only_others_may_read_is_absent(made: Store) -> None:
    fill(made, document("a", "n zebra"), document("b", "n licitação", readers=frozenset({"finance"})))

    assert ask(made, "zebra licitação", grant=READER).absent == ("zebra",)
    assert ask(made, "zebra licitação").absent == ()


@pytest.mark.parametrize("mode", MODES)
def test_a_filter_of_any_kind_and_a_grant_hold_together(made: Store, mode: Mode) -> None:
    for n in range(12):
        readers = frozenset({"finance"}) if n % 2 else frozenset({"legal"})
        fill(made, document(f"d{n:02}", "n licitação", readers=readers, metadata={"n": n}))

    found = ask(made, "n licitação", mode=mode, grant=READER, where={"n": {"$gte": 6}})

    assert ids(found) == ["d07", "d09", "d11"]


# --- several shelves -----------------------------------------------------------------------------------------------


class Silent:
    """A shelf that is away."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def view(self) -> AbstractContextManager[View]:
        raise self.error


AWAY = Unavailable("the server does not answer", hint="Start it.")


def two() -> dict[str, Store]:
    shared, private = store(shared=True), store()
    fill(shared, *(document(f"s{n}", "n licitação " + "palavra " * n, readers=ANYONE) for n in range(3)))
    fill(private, *(document(f"p{n}", "n licitação " + "palavra " * n) for n in range(2)))
    return {"shared": shared, "private": private}


def test_shelves_are_fused_by_rank_and_not_by_score() -> None:
    found = ask(two(), "n licitação", mode="lexical")

    assert [(hit.document_id, hit.shelf) for hit in found] == [
        ("p0", "private"),
        ("s0", "shared"),
        ("p1", "private"),
        ("s1", "shared"),
        ("s2", "shared"),
    ]
    assert [hit.score for hit in found] == [1 / 61, 1 / 61, 1 / 62, 1 / 62, 1 / 63]
    assert [hit.rank for hit in found] == [1, 2, 3, 4, 5]


def test_each_hit_keeps_what_its_own_shelf_said() -> None:
    shelves = two()
    alone = {hit.chunk.id: hit.legs for name in shelves for hit in ask({name: shelves[name]}, "n licitação")}

    found = ask(shelves, "n licitação")

    assert {hit.chunk.id: hit.legs for hit in found} == alone


def test_one_shelf_with_hits_keeps_its_scores() -> None:
    shelves = two()
    shelves["shared"] = store(shared=True)

    assert [hit.score for hit in ask(shelves, "n licitação")] == [
        hit.score for hit in ask({"private": shelves["private"]}, "n licitação")
    ]


def test_a_shelf_that_is_away_is_reported_while_the_other_answers() -> None:
    shelves = two() | {"private": Silent(AWAY)}

    found = ask(shelves, "n licitação")  # type: ignore[arg-type]

    assert ids(found) == ["s0", "s1", "s2"]
    assert [(one.name, one.ok, one.reason) for one in found.shelves] == [
        ("private", False, "the server does not answer"),
        ("shared", True, ""),
    ]


def test_when_no_shelf_answers_the_error_is_raised() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        ask({"shared": Silent(AWAY), "private": Silent(AWAY)}, "n licitação")  # type: ignore[dict-item]


def test_an_error_that_is_not_ours_is_never_an_empty_result() -> None:
    with pytest.raises(ZeroDivisionError):
        ask(two() | {"private": Silent(ZeroDivisionError())}, "n licitação")  # type: ignore[arg-type,dict-item]


def test_the_order_in_which_shelves_are_given_says_nothing() -> None:
    shelves = two()

    assert ask(shelves, "n licitação") == ask(dict(reversed(shelves.items())), "n licitação")


# --- encoders that break their word --------------------------------------------------------------------------------


class Wrong(Compass):
    """Gives another array than was asked for."""

    def __init__(self, found: object) -> None:
        super().__init__()
        self.found = found

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.found  # type: ignore[return-value]


@pytest.mark.parametrize(
    "found",
    [
        np.zeros((0, DIMENSIONS), np.float32),
        np.zeros((2, DIMENSIONS), np.float32),
        np.zeros((1, DIMENSIONS + 1), np.float32),
        np.zeros(DIMENSIONS, np.float32),
        np.full((1, DIMENSIONS), np.nan, np.float32),
        [[1.0] * DIMENSIONS],
        None,
    ],
)
def test_an_encoder_that_breaks_its_word_is_told_so(found: object) -> None:
    by = Engine(Wrong(found), Blend())
    one = document("a", "n licitação")

    with pytest.raises(ContractBroken, match="encoder"):
        by.entries([(one, [Span(0, 5)])])
    with pytest.raises(ContractBroken, match="encoder"):
        ask(store(), "n licitação", by=by)


def test_no_documents_need_no_encoder() -> None:
    assert Engine(Wrong(None), Blend()).entries([]) == []
    assert Engine(Wrong(None), Blend()).entries([(document("a"), [])]) == [()]


def test_the_identity_names_the_space_and_the_analyzer() -> None:
    told = engine().identity

    assert told["space"] == "by_hand 8 1 cosine"
    assert analyzer.ANALYZER_VERSION in told["analyzer"]


def test_a_space_with_blanks_in_its_name_is_still_one_word() -> None:
    class Named(Compass):
        space = Space("a  model of\nours", DIMENSIONS, "rev 2")

    assert Engine(Named(), Blend()).identity["space"] == "a_model_of_ours 8 rev_2 cosine"


def test_the_terms_of_an_entry_are_counted_apart_in_passage_and_title() -> None:
    one = document("a", "férias férias", title="Manual de férias", language="pt")
    férias, manual = (analyzer.terms(word, "pt")[0] for word in ("férias", "manual"))

    ((entry,),) = engine().entries([(one, [Span(0, 13)])])

    assert (entry.terms[férias], entry.title[férias]) == (2, 1)
    assert (manual in entry.terms, entry.title[manual], dict(entry.trail)) == (False, 1, {})
    assert entry.vector == quantise(np.zeros((1, DIMENSIONS), np.float32))[0]


def test_a_title_that_the_passage_begins_with_is_not_counted_twice() -> None:
    one = document("a", "Manual de férias\n\ntexto", title="Manual de férias")

    ((entry,),) = engine().entries([(one, [Span(0, len(one.text))])])

    assert analyzer.terms("manual", "pt")[0] not in entry.terms
    assert entry.title[analyzer.terms("manual", "pt")[0]] == 1


def test_headings_are_counted_as_headings_once_and_the_title_among_them_as_title() -> None:
    text = "# Guia\n\n## Folgas\n\nCada folga conta."
    marks = (Mark("heading", 2, 6, "Guia", 1), Mark("heading", 11, 17, "Folgas", 2))
    one = document("a", text, title="Guia", marks=marks)
    folga = analyzer.terms("folgas", "pt")[0]

    ((entry,),) = engine().entries([(one, [Span(text.index("Cada"), len(text))])])

    assert (entry.title[analyzer.terms("guia", "pt")[0]], dict(entry.trail)) == (1, {folga: 1})
    assert entry.terms[folga] == 1


def test_a_question_that_is_wrong_is_refused_before_any_shelf_is_asked() -> None:
    with pytest.raises(QueryError):
        ask({"private": Silent(EstanteError("asked", hint="-"))}, "x", where={"$foo": 1})  # type: ignore[dict-item]
