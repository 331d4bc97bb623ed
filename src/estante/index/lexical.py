"""BM25, as a formula: every store computes these steps in this order, so every store gives the same bits.

Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond*, 2009; the inverse document
frequency is the one that is never negative: ``ln(1 + (N - df + 0.5) / (df + 0.5))``.
"""

from __future__ import annotations

import math
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

K1: Final = 1.2
B: Final = 0.75

Number = TypeVar("Number", float, NDArray[np.float64])


def idf(chunks: int, frequency: int) -> float:
    """The weight of a word that stands in ``frequency`` of ``chunks``."""
    return math.log(1.0 + (chunks - frequency + 0.5) / (frequency + 0.5))


def damping(length: Number, average: float) -> Number:
    """What a chunk's length adds below the line; ``average`` > 0."""
    return K1 * (1.0 - B + B * (length / average))


def contribution(weight: float, count: Number, damp: Number) -> Number:
    """What a word adds to the score of a chunk that holds it ``count`` times."""
    return weight * (count * (K1 + 1.0)) / (count + damp)
