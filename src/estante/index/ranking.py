"""The best of many, with ties in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray


def best(rows: NDArray[Any], scores: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
    """The k (row, score) pairs with the greatest scores; equal scores in ascending order of rows.

    The rows at the edge are chosen by the same order, so no block size or sorting method can change the set.
    """
    if len(scores) > k:
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = scores >= edge
        rows, scores = rows[keep], scores[keep]
    order = np.lexsort((rows, -scores))[:k]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def ordered(scored: Iterable[tuple[int, float]], tie: Callable[[int], tuple[str, int]]) -> list[tuple[int, float]]:
    """(ref, score) pairs by score, the greatest first; equal scores by ``tie``, which is asked of these alone."""
    found: list[tuple[int, float]] = []
    for _, same in groupby(sorted(scored, key=lambda one: -one[1]), key=lambda one: one[1]):
        equal = list(same)
        found += equal if len(equal) == 1 else sorted(equal, key=lambda one: tie(one[0]))
    return found
