"""Paired statistics: against scipy, against going through every case, and where they must not lie."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from estante.evaluate.statistics import EXACT_DRAWS, EXACT_SIGNS, bootstrap, holm, paired, randomisation

VALUES = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.63, 1.0]), min_size=1, max_size=9)


def pairs(size: int, *, shift: float = 0.0, seed: int = 7) -> tuple[list[float], list[float]]:
    noise = np.random.default_rng(seed)
    first = noise.random(size)
    return first.tolist(), (first + shift + noise.normal(0, 0.1, size)).tolist()


def mean_difference(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(one - other, axis=axis)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_exact_randomisation_goes_through_every_way_to_turn_the_signs(values: list[float], chance: Random) -> None:
    others = values.copy()
    chance.shuffle(others)
    differences = np.asarray(values) - np.asarray(others)
    moved = differences[differences != 0]
    seen = abs(moved.sum())
    sums = [
        abs(sum(sign * one for sign, one in zip(signs, moved, strict=True)))
        for signs in product((1, -1), repeat=len(moved))
    ]

    p, exact = randomisation(differences, rounds=100, seed=0)

    assert exact
    assert p == pytest.approx(sum(one >= seen - 1e-9 for one in sums) / len(sums))


def test_the_exact_randomisation_is_that_of_scipy() -> None:
    first, second = pairs(11, shift=0.05)
    told = stats.permutation_test(
        (second, first), mean_difference, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )

    found = paired(first, second)

    assert found.exact
    assert found.p_randomisation == pytest.approx(told.pvalue)


def test_the_drawn_randomisation_is_near_that_of_scipy() -> None:
    first, second = pairs(60, shift=0.02)
    told = stats.permutation_test(
        (second, first),
        mean_difference,
        permutation_type="samples",
        n_resamples=50_000,
        vectorized=True,
        rng=np.random.default_rng(3),
    )

    found = paired(first, second, rounds=50_000)

    assert not found.exact
    assert found.p_randomisation == pytest.approx(told.pvalue, abs=0.01)


def test_the_interval_is_near_that_of_scipy() -> None:
    first, second = pairs(80, shift=0.03)
    differences = np.asarray(second) - np.asarray(first)
    told = stats.bootstrap(
        (differences,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(3)
    ).confidence_interval

    found = paired(first, second, rounds=20_000)

    assert (found.low, found.high) == pytest.approx((told.low, told.high), abs=0.002)


def test_few_questions_are_drawn_again_in_every_way() -> None:
    differences = np.asarray([0.5, -0.25, 0.0, 1.0])
    means = [np.mean(some) for some in product(differences, repeat=4)]

    low, high, p = bootstrap(differences, rounds=100, seed=0, confidence=0.9)

    assert (low, high) == pytest.approx(tuple(np.quantile(means, (0.05, 0.95))))
    seen = abs(differences.mean())
    assert p == pytest.approx(np.mean([abs(one - differences.mean()) >= seen - 1e-9 for one in means]))


@pytest.mark.parametrize("size", [EXACT_DRAWS, EXACT_DRAWS + 1, EXACT_SIGNS, EXACT_SIGNS + 1, 130])
def test_the_same_seed_gives_the_same_bits(size: int) -> None:
    first, second = pairs(size, shift=0.01)

    assert paired(first, second, rounds=500, seed=3) == paired(first, second, rounds=500, seed=3)


def test_the_draws_are_the_same_on_every_machine() -> None:
    first, second = [at / 40 for at in range(40)], [at % 7 / 7 for at in range(40)]

    found = paired(first, second, rounds=1_000, seed=1)

    assert (found.p_randomisation, found.p_bootstrap) == (0.2087912087912088, 0.21178821178821178)


def test_equal_values_are_no_evidence_at_all() -> None:
    found = paired([0.5] * 40, [0.5] * 40)

    assert (found.p_randomisation, found.p_bootstrap, found.difference) == (1.0, 1.0, 0.0)
    assert (found.wins, found.ties, found.losses, found.effect) == (0, 40, 0, None)


def test_a_p_that_was_drawn_is_never_zero() -> None:
    found = paired([0.0] * 100, [1.0] * 99 + [0.9], rounds=200)

    assert found.p_randomisation == pytest.approx(1 / 201)
    assert found.p_bootstrap == pytest.approx(1 / 201)


def test_where_nothing_differs_tests_at_five_percent_err_about_that_often() -> None:
    wrong = sum(paired(*pairs(40, seed=seed), rounds=400).p_randomisation < 0.05 for seed in range(200))

    assert 2 <= wrong <= 22


def test_a_great_difference_is_found() -> None:
    found = paired(*pairs(50, shift=0.2))

    assert found.p_randomisation < 0.001
    assert found.low > 0.1
    assert found.effect == pytest.approx(2, abs=0.6)


@given(VALUES)
def test_turning_the_two_round_turns_the_difference_and_nothing_else(values: list[float]) -> None:
    others = values[::-1]

    one, other = paired(values, others, rounds=100), paired(others, values, rounds=100)

    assert one.difference == -other.difference
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.p_randomisation == other.p_randomisation
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_is_no_pairs_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="no pairs"):
        paired(first, second)


def test_holm_gives_the_values_worked_out_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_keeps_their_order_and_is_milder_than_bonferroni(values: list[float]) -> None:
    adjusted = holm(values)

    assert all(
        one <= other <= min(1.0, one * len(values)) or other == 1.0 for one, other in zip(values, adjusted, strict=True)
    )
    ordered = [adjusted[at] for at in sorted(range(len(values)), key=lambda at: (values[at], at))]
    assert ordered == sorted(ordered)
