"""One order out of several: within a shelf by weighted scores, across shelves by rank."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)

RRF_K: Final = 60
"""Damping of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""


@dataclass(frozen=True, slots=True)
class Blend:
    """How far the words are trusted against the vectors: ``most`` of the weight once ``enough`` is covered.

    The weight of the lexical leg is ``most * min(1, coverage / enough)``: where the question's words stand in the
    text, words decide; where they don't (another language, other words), vectors do.
    """

    most: float = 0.7
    enough: float = 0.4

    def weight(self, coverage: float) -> float:
        """The lexical leg's share, 0 to ``most``."""
        return self.most * min(1.0, coverage / self.enough)


def spread(scores: Sequence[float]) -> list[float]:
    """Scores stretched to 0..1. When all are equal: 1 where they are above zero, else 0."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high == low:
        return [1.0 if high > 0 else 0.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def blend(lexical: Sequence[float], dense: Sequence[float], weight: float) -> list[float]:
    """``weight`` of the spread lexical scores and the rest of the spread dense ones, one for each candidate."""
    return [weight * word + (1.0 - weight) * near for word, near in zip(spread(lexical), spread(dense), strict=True)]


def reciprocal_ranks(rankings: Sequence[Sequence[Key]], k: int = RRF_K) -> Mapping[Key, float]:
    """Each candidate's sum of ``1 / (k + rank)`` over the rankings that hold it; ranks count from 1."""
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores
