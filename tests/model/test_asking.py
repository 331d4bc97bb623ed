"""Questions and what comes back: what a query refuses, and how hits and results are shown."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.model.access import ANYONE, Scope
from estante.model.asking import MAX_K, MODES, SHOWN, Hit, Leg, Query, Results, ShelfReport
from estante.model.content import Chunk, Span
from estante.model.errors import QueryError
from estante.model.ports import Outcome
from estante.model.wire import restore_chunk
from estante.security.principals import reader

ASKER = reader("acme", ["finance"], "ana")


def chunk(text: str, start: int = 0, **fields: object) -> Chunk:
    told: dict[str, object] = {"title": "T", "trail": ("Um", "Dois"), "uri": "a", "locator": "page 3"}
    told |= {"language": "pt", "metadata": {"year": 2024}, **fields}
    span = Span(start, start + len(text))
    return restore_chunk(
        document_id="s/a",
        index=0,
        span=span,
        text=text,
        scope=Scope("acme", ANYONE),
        **told,  # type: ignore[arg-type]
    )


def hit(text: str, start: int = 0, *matches: Span, rank: int = 1, **fields: object) -> Hit:
    return Hit(
        rank=rank,
        score=0.5,
        chunk=chunk(text, start, **fields),
        shelf="private",
        legs=(Leg("lexical", 2, 3.5), Leg("dense", 1, 0.25)),
        matches=matches,
    )


def results(*hits: Hit, query: str = "férias", shelves: tuple[ShelfReport, ...] = ()) -> Results:
    return Results(query=query, hits=hits, shelves=shelves, took_ms=1.25)


# --- a query -------------------------------------------------------------------------------------------------------


def test_there_is_no_query_without_a_grant() -> None:
    with pytest.raises(TypeError, match="grant"):
        Query(text="férias")  # type: ignore[call-arg]


@pytest.mark.parametrize("k", [1, 10, MAX_K])
def test_k_may_be_any_whole_number_up_to_its_most(k: int) -> None:
    assert Query(text="férias", grant=ASKER, k=k).k == k


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1, True, 1.0, "10", None])
def test_k_out_of_bounds_is_refused_with_its_bounds(k: object) -> None:
    with pytest.raises(QueryError, match="from 1 to 10,000"):
        Query(text="férias", grant=ASKER, k=k)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_taken(mode: str) -> None:
    assert Query(text="férias", grant=ASKER, mode=mode).mode == mode  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["", "Hybrid", "hybrid_cxm25", "bm25", None])
def test_another_mode_is_refused_with_the_modes_there_are(mode: object) -> None:
    with pytest.raises(QueryError, match="unknown mode") as caught:
        Query(text="férias", grant=ASKER, mode=mode)  # type: ignore[arg-type]

    assert caught.value.hint.endswith("Choose one of: hybrid, lexical, dense.")


@pytest.mark.parametrize("text", [None, b"ferias", 5, ["ferias"]])
def test_a_query_that_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(QueryError, match="a query is a text"):
        Query(text=text, grant=ASKER)  # type: ignore[arg-type]


def test_a_query_cannot_be_changed() -> None:
    query = Query(text="férias", grant=ASKER)

    with pytest.raises(FrozenInstanceError):
        query.grant = reader("acme", [], "eva")  # type: ignore[misc]


# --- a hit ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(score: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Hit(rank=1, score=score, chunk=chunk("férias"), shelf="private")


def test_a_hit_gives_what_its_chunk_says() -> None:
    one = hit("férias", 10)

    assert (one.text, one.span, one.document_id, one.title) == ("férias", Span(10, 16), "s/a", "T")
    assert one.metadata == {"year": 2024}


@st.composite
def matched(draw: st.DrawFn) -> Hit:
    """A hit with some matches, in order and apart."""
    text, start = draw(st.text(min_size=1, max_size=40)), draw(st.integers(0, 50))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return hit(text, start, *(Span(start + begin, start + end) for begin, end in pairs))


@given(matched())
def test_the_pieces_of_a_hit_put_together_are_its_text(one: Hit) -> None:
    assert "".join(piece for piece, _ in one.pieces()) == one.text


@given(matched())
def test_the_matching_pieces_of_a_hit_are_its_matches(one: Hit) -> None:
    start = one.span.start

    marked = [piece for piece, matches in one.pieces() if matches]

    assert marked == [one.text[match.start - start : match.end - start] for match in one.matches]


def test_a_hit_prints_on_one_line() -> None:
    one = hit("férias\nde\ttrinta   dias " + "x" * 80, 10)

    assert repr(one).startswith(f"<Hit 1 score=0.5000 s/a:10-{10 + len(one.text)} 'férias de trinta dias xxx")
    assert repr(one).endswith("x…'>")
    assert "\n" not in repr(one)


# --- results -------------------------------------------------------------------------------------------------------


def test_results_are_a_sequence_of_hits() -> None:
    one, two = hit("um"), hit("dois", rank=2)
    found = results(one, two)

    assert (len(found), found[0], found[-1], found[:1]) == (2, one, two, (one,))
    assert list(found) == [one, two]
    assert one in found
    assert list(reversed(found)) == [two, one]
    assert not results()


def test_how_long_it_took_is_no_part_of_what_was_found() -> None:
    assert results(hit("um")) == Results(query="férias", hits=(hit("um"),), shelves=(), took_ms=99.0)


def test_results_print_their_query_their_count_and_each_hit() -> None:
    told = repr(results(hit("um"), hit("dois", rank=2))).splitlines()

    assert told[0] == "<Results for 'férias': 2 hits in 1.2 ms>"
    assert [line.split()[1] for line in told[1:]] == ["1", "2"]


def test_results_can_be_pickled() -> None:
    found = results(hit("um", 0, Span(0, 2)))

    assert pickle.loads(pickle.dumps(found)) == found


def test_the_table_marks_the_matching_words() -> None:
    told = results(hit("dias de férias", 0, Span(8, 14)))._repr_html_()

    assert "dias de <mark>férias</mark>" in told
    assert "words 2, meaning 1" in told
    assert "Um › Dois" in told
    assert "page 3" in told
    assert told.count("vertical-align:top") == 5
    assert "…" not in told


def test_the_table_says_that_nothing_was_found_and_what_no_passage_holds() -> None:
    told = Results(query="a", hits=(), shelves=(), took_ms=1.0, absent=("<pequi>",))._repr_html_()

    assert '<td colspan="5">nothing found</td>' in told
    assert "no passage holds: &lt;pequi&gt;" in told


@pytest.mark.parametrize("at", [0, 900, 4_990])
def test_the_table_shortens_a_long_passage_around_its_match(at: int) -> None:
    text = f"{'a' * at} férias {'b' * (4_990 - at)}"

    told = results(hit(text, 50, Span(51 + at, 57 + at)))._repr_html_()

    assert "<mark>férias</mark>" in told
    assert told.count("…") == (1 if at in (0, 4_990) else 2)
    assert 590 <= len(re.sub(r"<.*?>|…", "", told.split("pre-wrap")[1])) <= 640


@pytest.mark.parametrize(("trail", "shown"), [((), None), (("T",), None), (("T", "Um"), "Um"), (("Um",), "Um")])
def test_the_table_has_no_line_for_headings_that_say_nothing_new(trail: tuple[str, ...], shown: str | None) -> None:
    told = results(hit("um", trail=trail))._repr_html_()

    assert f"T<br><small>{f'{shown}<br>' if shown else ''}s/a:0-2<br>page 3</small>" in told


@pytest.mark.parametrize("at", [0, 2_000, 3_990])
def test_the_table_shows_of_a_long_passage_the_part_around_its_first_match(at: int) -> None:
    text = "x" * at + "férias" + "x" * (4_000 - at)

    told = results(hit(text, 7, Span(7 + at, 13 + at)))._repr_html_()

    assert "<mark>férias</mark>" in told
    assert "…" in told
    assert len(told) < 2 * SHOWN


EVIL = "<script>alert('x')</script>&\""


def test_the_table_escapes_every_text() -> None:
    one = Hit(
        rank=1,
        score=0.5,
        chunk=chunk(EVIL, title=EVIL, trail=(EVIL,)),
        shelf=EVIL,
        legs=(Leg(EVIL, 1, 1.0),),
        matches=(Span(0, 8),),
    )

    told = results(one, query=EVIL, shelves=(ShelfReport(EVIL, False, EVIL),))._repr_html_()

    assert "<script" not in told
    assert "</script" not in told
    assert "('x')" not in told


def test_the_table_escapes_the_id_of_a_document() -> None:
    evil = restore_chunk(
        document_id=EVIL,
        index=0,
        span=Span(0, 1),
        text="a",
        scope=Scope("acme", ANYONE),
        title="",
        trail=(),
        uri="",
        locator="",
        language="pt",
        metadata={},
    )

    told = results(Hit(rank=1, score=1.0, chunk=evil, shelf="private"))._repr_html_()

    assert "<script" not in told


def test_the_table_says_which_shelf_did_not_answer() -> None:
    told = results(shelves=(ShelfReport("shared", True), ShelfReport("private", False, "fora do ar")))._repr_html_()

    assert "private: fora do ar" in told
    assert "shared" not in told


def test_a_wrong_mode_is_told_with_the_nearest() -> None:
    with pytest.raises(QueryError) as caught:
        Query(text="férias", grant=ASKER, mode="lexicl")  # type: ignore[arg-type]

    assert caught.value.hint == "Did you mean 'lexical'? Choose one of: hybrid, lexical, dense."


def test_an_outcome_prints_its_seconds_rounded() -> None:
    assert "masked=0, seconds=1.23, notes=()" in repr(Outcome(added=1, seconds=1.23456789))
