"""The best of many, with ties in one order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 32
"""Scores of which the greatest stands for all in a first look."""


def best(rows: NDArray[Any] | None, scores: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
    """The k (row, score) pairs with the greatest scores; equal scores in ascending order of rows.

    Without ``rows`` they are 0, 1, 2, ... The rows at the edge are chosen by the same order, so no block size or
    sorting method can change the set.
    """
    if len(scores) > BLOCK * k:
        # The k-th greatest of the greatest of each block is no greater than the k-th of all. A block is every n-th
        # score: such maxima are found many at a time.
        tops = scores[: len(scores) // BLOCK * BLOCK].reshape(BLOCK, -1).max(axis=0)
        kept = np.flatnonzero(scores >= np.partition(tops, len(tops) - k)[len(tops) - k])
        rows, scores = kept if rows is None else rows[kept], scores[kept]
    if len(scores) > k:
        kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        rows, scores = kept if rows is None else rows[kept], scores[kept]
    if rows is None:
        rows = np.arange(len(scores))
    order = np.lexsort((rows, -scores))[:k]
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def ordered(
    scored: Sequence[tuple[int, float]], tie: Callable[[int], tuple[str, int]], k: int
) -> list[tuple[int, float]]:
    """The k best (ref, score) pairs, the greatest score first; equal ones by ``tie``, which is asked of these alone."""
    found = sorted(scored, key=lambda one: -one[1])
    if len(found) > k:
        edge = found[k - 1][1]
        last = k
        while last < len(found) and found[last][1] == edge:
            last += 1
        del found[last:]
    at = 0
    while at < len(found):
        end = at + 1
        while end < len(found) and found[end][1] == found[at][1]:
            end += 1
        if end > at + 1:
            found[at:end] = sorted(found[at:end], key=lambda one: tie(one[0]))
        at = end
    return found[:k]
