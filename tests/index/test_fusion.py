"""One order out of several, by hand."""

from __future__ import annotations

import pytest

from estante.index.fusion import RRF_K, Blend, blend, reciprocal_ranks, spread


def test_reciprocal_ranks_are_summed_as_published() -> None:
    found = reciprocal_ranks([["a", "b"], ["b", "c"]])

    assert found == {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62}
    assert RRF_K == 60


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_ranks([]) == {}
    assert reciprocal_ranks([[], []]) == {}


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ([], []),
        ([2.0], [1.0]),
        ([0.0], [0.0]),
        ([-1.0], [0.0]),
        ([3.0, 3.0], [1.0, 1.0]),
        ([1.0, 3.0, 2.0], [0.0, 1.0, 0.5]),
    ],
)
def test_scores_are_spread_from_the_least_to_the_greatest(scores: list[float], found: list[float]) -> None:
    assert spread(scores) == found


@pytest.mark.parametrize(("coverage", "weight"), [(0.0, 0.0), (0.25, 0.35), (0.5, 0.7), (0.75, 0.7), (1.0, 0.7)])
def test_words_are_trusted_as_far_as_the_question_is_covered(coverage: float, weight: float) -> None:
    assert Blend(most=0.7, enough=0.5).weight(coverage) == weight


def test_a_blend_by_hand() -> None:
    assert blend([4.0, 0.0, 2.0], [0.1, 0.3, 0.3], 0.6) == pytest.approx([0.6, 0.4, 0.3 + 0.4])


def test_two_sides_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        blend([1.0], [1.0, 2.0], 0.5)
