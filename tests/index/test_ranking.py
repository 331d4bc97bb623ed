"""The best of many: the set and the order that sorting everything would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.index.ranking import best


def sorted_whole(rows: list[int], scores: list[float], k: int) -> list[tuple[int, float]]:
    """The definition."""
    return sorted(zip(rows, scores, strict=True), key=lambda one: (-one[1], one[0]))[:k]


# Few scores, so that ties are everywhere; and any scores at all.
SCORES = st.one_of(
    st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0]), max_size=60),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60),
)


@given(SCORES, st.integers(1, 70), st.randoms(use_true_random=False))
def test_the_best_are_those_of_a_full_sort(scores: list[float], k: int, random: object) -> None:
    rows = list(range(len(scores)))
    random.shuffle(rows)  # type: ignore[attr-defined]

    found = best(np.array(rows, np.int64), np.array(scores, np.float64), k)

    assert found == sorted_whole(rows, scores, k)


@given(SCORES, st.integers(1, 60))
def test_the_best_few_begin_the_best_more(scores: list[float], k: int) -> None:
    rows, values = np.arange(len(scores)), np.array(scores, np.float64)

    assert best(rows, values, k) == best(rows, values, k + 1)[:k]


def test_ties_at_the_edge_are_chosen_by_row() -> None:
    rows = np.array([9, 3, 7, 1, 5])

    assert best(rows, np.array([1.0, 1.0, 1.0, 1.0, 2.0]), 3) == [(5, 2.0), (1, 1.0), (3, 1.0)]


def test_of_none_the_best_are_none() -> None:
    assert best(np.zeros(0, np.int64), np.zeros(0), 5) == []


def test_rows_and_scores_come_back_as_plain_numbers() -> None:
    ((row, score),) = best(np.array([3], np.uint8), np.array([1.0]), 1)

    assert (type(row), type(score)) == (int, float)


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.int64])
def test_rows_of_any_type_are_ordered_as_numbers(kind: type) -> None:
    assert best(np.array([200, 3], kind), np.array([1.0, 1.0]), 2) == [(3, 1.0), (200, 1.0)]
