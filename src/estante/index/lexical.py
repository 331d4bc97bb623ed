"""BM25, as a formula: every store computes these steps in this order, so every store gives the same bits.

Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond*, 2009; the inverse document
frequency is the one that is never negative: ``ln(1 + (N - df + 0.5) / (df + 0.5))``. Counts in title, headings and
text are weighed and added before they are damped (BM25F with one length for all fields).

Statistics are those of a language: a word is as rare as it is among chunks of its own language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from estante.model.ports import Weights, Word

Number = TypeVar("Number", float, NDArray[np.float64])

Counts = tuple[int, int, int]
"""How often something stands in the text, the title and the headings of a chunk."""


def idf(chunks: int, frequency: int) -> float:
    """The weight of a word that stands in ``frequency`` of ``chunks``."""
    return math.log(1.0 + (chunks - frequency + 0.5) / (frequency + 0.5))


def weighed(counts: Sequence[Number], weights: Weights) -> Number:
    """What counts in text, title and headings come to."""
    body, title, trail = counts
    return body * weights.body + title * weights.title + trail * weights.trail


def average(total: float, chunks: int) -> float:
    """The average length of chunks; 0 where nothing can be measured."""
    return total / chunks if chunks else 0.0


def damping(length: Number, average: float | Number, weights: Weights) -> Number:
    """What a chunk's length adds below the line; ``average`` > 0."""
    return weights.k1 * (1.0 - weights.b + weights.b * (length / average))


def contribution(weight: float | Number, count: Number, damp: Number, weights: Weights) -> Number:
    """What a word adds to the score of a chunk that holds it ``count`` > 0 times."""
    return weight * (count * (weights.k1 + 1.0)) / (count + damp)


def tongue(language: str) -> str:
    """The language whose statistics a chunk belongs to: ``pt`` for ``pt-BR``."""
    return language.replace("_", "-").partition("-")[0].lower()


def language_of(term: str) -> str:
    """The language that a term names; empty for one of any language."""
    return term[: max(term.find(":"), 0)]


Group = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]
"""A language, and the terms and ranges of a word in it; they count as one."""


def groups(word: Word) -> list[Group]:
    """The terms of a word by language, in the order of their first ones."""
    found = [(language_of(term), (term,), ()) for term in word.terms]
    if not word.ranges and len({language for language, _, _ in found}) == len(found):
        return [*found]
    named = dict.fromkeys([*(language for language, _, _ in found), *(language_of(one) for one, _ in word.ranges)])
    return [
        (
            language,
            tuple(dict.fromkeys(term for mine, (term,), _ in found if mine == language)),
            tuple(one for one in word.ranges if language_of(one[0]) == language),
        )
        for language in named
    ]
