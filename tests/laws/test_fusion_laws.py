"""What holds of every fusion, whatever the scores and the ranks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from estante.index.fusion import Blend, blend, reciprocal_ranks, spread

SCORES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20)
PAIRS = st.lists(st.tuples(st.floats(0, 1e3), st.floats(-1, 1)), min_size=1, max_size=20)
RANKINGS = st.lists(st.lists(st.integers(0, 12), max_size=8, unique=True), max_size=4)


@given(SCORES)
def test_spread_scores_keep_their_order_and_fill_0_to_1(scores: list[float]) -> None:
    found = spread(scores)

    assert all(0 <= one <= 1 for one in found)
    assert all(
        (one <= other) or (found[at] >= found[then])
        for at, one in enumerate(scores)
        for then, other in enumerate(scores)
    )
    if len(set(scores)) > 1:
        assert (min(found), max(found)) == (0.0, 1.0)


@given(PAIRS, st.floats(0, 1))
def test_a_blend_stands_between_its_two_sides(pairs: list[tuple[float, float]], weight: float) -> None:
    words, near = [word for word, _ in pairs], [one for _, one in pairs]

    for score, left, right in zip(blend(words, near, weight), spread(words), spread(near), strict=True):
        assert min(left, right) - 1e-12 <= score <= max(left, right) + 1e-12


@given(PAIRS)
def test_all_of_the_weight_on_one_side_is_that_side(pairs: list[tuple[float, float]]) -> None:
    words, near = [word for word, _ in pairs], [one for _, one in pairs]

    assert blend(words, near, 1.0) == spread(words)
    assert blend(words, near, 0.0) == spread(near)


@given(st.floats(0, 1), st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_coverage_never_trusts_words_less(most: float, enough: float, one: float, other: float) -> None:
    trust = Blend(most, enough)
    low, high = sorted([one, other])

    assert 0 <= trust.weight(low) <= trust.weight(high) <= most


@given(RANKINGS)
def test_fusing_by_rank_does_not_depend_on_the_order_of_the_rankings(rankings: list[list[int]]) -> None:
    there, back = reciprocal_ranks(rankings), reciprocal_ranks(rankings[::-1])

    assert there.keys() == back.keys()
    assert all(abs(there[key] - back[key]) < 1e-15 for key in there)


@given(RANKINGS.filter(lambda rankings: len(rankings) == 1))
def test_one_ranking_alone_keeps_its_order(rankings: list[list[int]]) -> None:
    scores = reciprocal_ranks(rankings)

    assert sorted(scores, key=lambda key: -scores[key]) == rankings[0]
