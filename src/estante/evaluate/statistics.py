"""Paired statistics: whether two lists of values, one pair a question, differ by more than chance explains.

Two tests ask the same in two ways. *Randomisation* (Fisher): were it all the same which of the two is which, how often
would the mean difference be as large? *Bootstrap* (Efron): were the questions others of the same kind, where would the
mean difference lie, and how often, moved to zero, would it be as large? Both are two-sided. They are exact where all
cases can be gone through, else drawn from a seed, the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT_SIGNS: Final = 20
"""Differences, zeros aside, of which all ways to turn them are gone through: 2 to the power of this."""
EXACT_DRAWS: Final = 7
"""Questions of which all ways to draw them again are gone through: 7 to the power of 7."""

_BLOCK: Final = 1 << 21
"""Cells that are worked on at a time."""
_NEAR: Final = 1e-9
"""Sums that differ by less, as a share of all that could be summed, are taken for equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """What two lists of values say of each other; differences are the second less the first.

    ``low`` and ``high`` bound the mean difference with the confidence asked for. ``effect`` is the mean difference by
    the standard deviation of the differences (Cohen's d of pairs), None where all are equal. ``exact`` says of the
    randomisation whether every case was gone through.
    """

    questions: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    effect: float | None
    wins: int
    ties: int
    losses: int
    p_randomisation: float
    p_bootstrap: float
    exact: bool


def paired(
    first: Sequence[float], second: Sequence[float], *, rounds: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> Paired:
    """Compares two lists of values of the same questions in the same order. Raises ``ValueError`` for no pairs."""
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} values are no pairs")
    mine, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    differences = theirs - mine
    low, high, p_bootstrap = bootstrap(differences, rounds=rounds, seed=seed, confidence=confidence)
    p_randomisation, exact = randomisation(differences, rounds=rounds, seed=seed)
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    mean = math.fsum(differences) / len(differences)
    return Paired(
        questions=len(differences),
        first=math.fsum(first) / len(first),
        second=math.fsum(second) / len(second),
        difference=mean,
        low=low,
        high=high,
        effect=mean / spread if spread > 0 else None,
        wins=int(np.sum(differences > 0)),
        ties=int(np.sum(differences == 0)),
        losses=int(np.sum(differences < 0)),
        p_randomisation=p_randomisation,
        p_bootstrap=p_bootstrap,
        exact=exact,
    )


def randomisation(differences: Floats, *, rounds: int, seed: int) -> tuple[float, bool]:
    """The share of ways to turn the differences' signs with a sum as far from zero, and whether all were gone through.

    Where ways are drawn, the one that was seen counts as one of them, so that p is never zero.
    """
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0, True
    seen = abs(float(moved.sum())) - _NEAR * float(np.abs(moved).sum())
    if len(moved) <= EXACT_SIGNS:
        count = sum(int(np.sum(np.abs(sums) >= seen)) for sums in _all_turns(moved))
        return count / 2 ** len(moved), True
    count = sum(int(np.sum(np.abs(signs @ moved) >= seen)) for signs in _drawn_signs(len(moved), rounds, seed))
    return (count + 1) / (rounds + 1), False


def bootstrap(differences: Floats, *, rounds: int, seed: int, confidence: float) -> tuple[float, float, float]:
    """The bounds of the mean difference (percentiles of the means drawn), and p of its being zero."""
    size = len(differences)
    exact = size <= EXACT_DRAWS
    blocks = _all_draws(size) if exact else _drawn_places(size, rounds, seed)
    means = np.concatenate([differences[places].mean(axis=1) for places in blocks])
    mean = float(differences.mean())
    tail = (1 - confidence) / 2
    low, high = (float(one) for one in np.quantile(means, (tail, 1 - tail)))
    near = _NEAR * float(np.abs(differences).sum()) / size
    count = int(np.sum(np.abs(means - mean) >= abs(mean) - near))
    p = count / len(means) if exact else (count + 1) / (len(means) + 1)
    return low, high, p


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of a family by Holm's rule, in their places: each holds with all others at the same level."""
    adjusted = [0.0] * len(values)
    most = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda at: (values[at], at))):
        most = max(most, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = most
    return adjusted


# --- all cases, or some -----------------------------------------------------------------------------------------------


def _all_turns(moved: Floats) -> Iterator[Floats]:
    """The sum of each way to turn the signs."""
    sums = np.zeros(1)
    for one in moved:
        sums = np.concatenate([sums + one, sums - one])
    yield sums


def _all_draws(size: int) -> Iterator[NDArray[Any]]:
    """The places of each way to draw as many again."""
    every = np.arange(size**size)
    yield np.stack([every // size**at % size for at in range(size)], axis=1)


def _drawn_signs(size: int, rounds: int, seed: int) -> Iterator[Floats]:
    """Rows of signs. From the generator's raw bits, which numpy promises to keep as they are."""
    stream = np.random.PCG64(seed)
    words = -(-size // 64)
    for rows in _rows(size, rounds):
        raw = stream.random_raw(rows * words).astype("<u8").reshape(rows, words)
        bits = np.unpackbits(raw.view(np.uint8), axis=1, bitorder="little")[:, :size]
        yield bits.astype(np.float64) * 2 - 1


def _drawn_places(size: int, rounds: int, seed: int) -> Iterator[NDArray[Any]]:
    """Rows of places drawn with replacement, from the raw bits as well."""
    stream = np.random.PCG64(seed)
    for rows in _rows(size, rounds):
        fractions = (stream.random_raw(rows * size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        yield (fractions * size).astype(np.int64).reshape(rows, size)


def _rows(size: int, rounds: int) -> Iterator[int]:
    most = max(1, _BLOCK // size)
    for start in range(0, rounds, most):
        yield min(most, rounds - start)
