"""Measures of spans: by hand, and against characters that are counted one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate.measures import measure_of, measures_of
from estante.evaluate.spans import Passage, TextSpan, merged, overlap, span_values

SPANS = st.builds(
    lambda document, start, length: TextSpan(document, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 30),
    st.integers(1, 12),
)
PASSAGES = st.lists(st.one_of(SPANS, st.integers(1, 9)), max_size=6)


def characters(spans: Sequence[Passage]) -> set[tuple[str, int]]:
    return {(one.document, at) for one in spans if isinstance(one, TextSpan) for at in range(one.start, one.end)}


def test_the_values_are_those_worked_out_by_hand() -> None:
    # Ten gold characters, six of them found, in sixteen that were found.
    told = overlap([TextSpan("d", 0, 10)], [TextSpan("d", 4, 14), TextSpan("e", 0, 6)])

    assert [told.value(name) for name in ("SpanR", "SpanP", "SpanIoU")] == [6 / 10, 6 / 16, 6 / 20]


def test_passages_that_repeat_one_another_find_no_more_and_are_less_precise() -> None:
    told = overlap([TextSpan("d", 0, 10)], [TextSpan("d", 0, 10), TextSpan("d", 0, 10)])

    assert [told.value(name) for name in ("SpanR", "SpanP", "SpanIoU")] == [1.0, 0.5, 0.5]


def test_a_passage_without_a_place_counts_as_found_and_finds_nothing() -> None:
    told = overlap([TextSpan("d", 0, 10)], [TextSpan("d", 0, 10), 10])

    assert [told.value(name) for name in ("SpanR", "SpanP")] == [1.0, 0.5]


def test_a_measure_looks_at_its_first_places_alone() -> None:
    measures = measures_of(["SpanR@1", "SpanR@2", "SpanR"])

    found = span_values(measures, {"q": [TextSpan("d", 0, 4)]}, {"q": [TextSpan("d", 9, 12), TextSpan("d", 0, 2), 3]})

    assert [found[measure]["q"] for measure in measures] == [0.0, 0.5, 0.5]


def test_a_question_without_passages_counts_zero() -> None:
    measure = measure_of("SpanIoU@5")

    assert span_values([measure], {"q": [TextSpan("d", 0, 4)]}, {})[measure] == {"q": 0.0}


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 2)])
def test_a_span_holds_a_character(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="holds no character"):
        TextSpan("d", start, end)


@given(st.lists(SPANS, min_size=1, max_size=5), PASSAGES)
def test_the_counts_are_those_of_characters_one_by_one(gold: list[TextSpan], found: list[Passage]) -> None:
    told = overlap(gold, found)

    assert told.gold == len(characters(gold))
    assert told.both == len(characters(gold) & characters(found))
    assert told.found == sum(one if isinstance(one, int) else len(one) for one in found)


@given(st.lists(SPANS, min_size=1, max_size=5), PASSAGES)
def test_every_value_is_a_share_and_the_union_is_never_above_the_others(
    gold: list[TextSpan], found: list[Passage]
) -> None:
    told = overlap(gold, found)
    recall, precision, union = (told.value(name) for name in ("SpanR", "SpanP", "SpanIoU"))

    assert 0 <= union <= min(recall, precision) <= 1


@given(st.lists(SPANS, min_size=1, max_size=5), st.lists(SPANS, max_size=5), SPANS)
def test_one_more_passage_never_lowers_recall(gold: list[TextSpan], found: list[TextSpan], more: TextSpan) -> None:
    assert overlap(gold, [*found, more]).value("SpanR") >= overlap(gold, found).value("SpanR")


@given(st.lists(SPANS, max_size=6))
def test_merged_ranges_hold_the_same_characters_and_do_not_touch(spans: list[TextSpan]) -> None:
    ranges = merged(spans)

    held = [(document, at) for document, some in ranges.items() for start, end in some for at in range(start, end)]
    assert len(held) == len(set(held))
    assert set(held) == characters(spans)
    for some in ranges.values():
        assert all(one[1] < other[0] for one, other in itertools.pairwise(some))
