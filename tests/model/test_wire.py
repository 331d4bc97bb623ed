"""Values as JSON and back."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.model.access import ANYONE, Readers, Scope
from estante.model.asking import Hit, Leg, Results, ShelfReport
from estante.model.content import Document, Mark, Metadata, Redaction, Span, chunk_id
from estante.model.errors import NotFound
from estante.model.ports import Listing, Outcome, Skipped
from estante.model.wire import (
    dumps,
    error_to_json,
    hit_to_json,
    listing_to_json,
    marks_from_json,
    marks_to_json,
    outcome_to_json,
    plain,
    readers_from_text,
    readers_to_text,
    redactions_from_json,
    redactions_to_json,
    restore,
    restore_chunk,
    results_to_json,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
READERS: st.SearchStrategy[Readers] = st.one_of(st.just(ANYONE), st.frozensets(TEXT, max_size=4))
MARKS = st.lists(
    st.builds(Mark, TEXT, st.integers(0, 99), st.integers(0, 99), TEXT, st.integers(0, 6)), max_size=4
).map(tuple)
SPANS = st.tuples(st.integers(0, 99), st.integers(1, 99)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
REDACTIONS = st.lists(st.builds(Redaction, TEXT, SPANS), max_size=4).map(tuple)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT)
METADATA: st.SearchStrategy[Metadata] = st.dictionaries(
    TEXT,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)),
    max_size=4,
)


def again(value: object) -> object:
    """What a reader of the JSON gets."""
    return json.loads(dumps(value))


@given(READERS)
def test_readers_come_back(readers: Readers) -> None:
    assert readers_from_text(readers_to_text(readers)) == readers


def test_everyone_and_a_key_that_is_a_star_are_told_apart() -> None:
    assert readers_to_text(ANYONE) == "*"
    assert readers_to_text(frozenset({"*"})) == '["*"]'


@given(st.lists(TEXT, max_size=5))
def test_readers_are_written_in_one_way(keys: list[str]) -> None:
    assert readers_to_text(frozenset(keys)) == readers_to_text(frozenset(reversed(keys)))


@given(MARKS)
def test_marks_come_back(marks: tuple[Mark, ...]) -> None:
    assert marks_from_json(again(marks_to_json(marks))) == marks  # type: ignore[arg-type]


@given(REDACTIONS)
def test_redactions_come_back(redactions: tuple[Redaction, ...]) -> None:
    assert redactions_from_json(again(redactions_to_json(redactions))) == redactions  # type: ignore[arg-type]


@given(METADATA)
def test_metadata_comes_back(metadata: Metadata) -> None:
    assert again(plain(metadata)) == metadata


def test_plain_metadata_holds_lists_for_tuples_at_any_depth() -> None:
    assert plain({"a": ({"b": (1, 2)},)}) == {"a": [{"b": [1, 2]}]}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_hold_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps({"x": number})


def test_letters_are_kept_as_they_are() -> None:
    assert dumps({"título": "ação"}) == '{"título":"ação"}'


def document(text: str, marks: tuple[Mark, ...] = ()) -> Document:
    return restore(
        id="s/a",
        uri="a",
        source="s",
        title="T",
        text=text,
        scope=Scope("acme", ANYONE),
        language="pt",
        media_type="text/plain",
        marks=marks,
        metadata={"year": 2024},
        redactions=(),
    )


@given(st.text(min_size=1, max_size=20), st.integers(0, 99), st.data())
def test_a_chunk_restored_from_its_parts_is_the_chunk_that_was_cut(text: str, index: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    cut = document(text).cut(index, Span(start, len(text)))

    other = restore_chunk(
        document_id=cut.document_id,
        index=index,
        span=cut.span,
        text=cut.text,
        scope=cut.scope,
        title=cut.title,
        trail=cut.trail,
        uri=cut.uri,
        locator=cut.locator,
        language=cut.language,
        metadata=cut.metadata,
    )

    assert other == cut
    assert other.id == chunk_id("s/a", index)


def hit() -> Hit:
    chunk = document("dias de férias", (Mark("heading", 0, 4, "Dias", 1), Mark("page", 0, 14, "3"))).cut(1, Span(5, 14))
    return Hit(rank=1, score=0.5, chunk=chunk, shelf="private", legs=(Leg("lexical", 1, 2.5),), matches=(Span(8, 14),))


def test_a_hit_in_json_gives_its_reasons() -> None:
    assert again(hit_to_json(hit())) == {
        "rank": 1,
        "score": 0.5,
        "document_id": "s/a",
        "chunk_id": "s/a#1",
        "start": 5,
        "end": 14,
        "text": "de férias",
        "title": "T",
        "trail": ["Dias"],
        "uri": "a",
        "locator": "page 3",
        "language": "pt",
        "why": {"shelf": "private", "legs": {"lexical": {"rank": 1, "score": 2.5}}, "matches": [[8, 14]]},
    }


def test_results_in_json_say_which_shelf_did_not_answer() -> None:
    results = Results(
        query="férias", hits=(hit(),), shelves=(ShelfReport("shared", False, "fora"),), took_ms=1.23456, coverage=1 / 3
    )

    told = again(results_to_json(results, full=True))

    assert isinstance(told, dict)
    assert told["shelves"] == [{"name": "shared", "ok": False, "reason": "fora"}]
    assert (told["query"], told["took_ms"], told["coverage"]) == ("férias", 1.235, 0.3333)
    assert [one["chunk_id"] for one in told["hits"]] == ["s/a#1"]


def test_what_is_extra_is_told_only_when_asked_for() -> None:
    results = Results(query="férias", hits=(), shelves=(), took_ms=1.0, coverage=0.5, absent=("zebra",))

    assert not {"coverage", "absent"} & results_to_json(results).keys()
    assert results_to_json(results, full=True)["absent"] == ["zebra"]


def test_a_listing_in_json_shows_its_scope_for_people() -> None:
    listing = Listing(
        document_id="s/a",
        uri="a",
        source="s",
        title="T",
        chars=14,
        chunks=2,
        language="pt",
        scope=Scope("acme", frozenset({"rh", "board"})),
        media_type="text/plain",
        added="2026-01-02T03:04:05Z",
        metadata={"tags": ("a", "b")},
        redactions=3,
        losses=("uma imagem",),
    )

    told = again(listing_to_json(listing, full=True))

    assert isinstance(told, dict)
    assert (told["scope"], told["masked"], told["losses"]) == ("board,rh", 3, ["uma imagem"])
    assert told["metadata"] == {"tags": ["a", "b"]}


def test_an_outcome_in_json_names_what_was_skipped() -> None:
    told = again(outcome_to_json(Outcome(added=1, skipped=(Skipped("b.pdf", "damaged"),), seconds=0.12345)))

    assert isinstance(told, dict)
    assert (told["added"], told["seconds"]) == (1, 0.123)
    assert told["skipped"] == [{"uri": "b.pdf", "reason": "damaged"}]


def test_an_error_in_json_is_its_message_and_its_hint() -> None:
    assert error_to_json(NotFound("não há", hint="procure")) == {"error": "não há", "hint": "procure"}
