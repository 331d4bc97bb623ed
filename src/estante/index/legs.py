"""The two legs of a search on one shelf, and their one order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from estante.index.fusion import Blend, blend
from estante.index.phrases import Phrase
from estante.index.ranking import ordered
from estante.model.asking import Leg, Query
from estante.model.content import Chunk
from estante.model.ports import Demand, Found, Lexical, Quantised, View, Weights, Word

CANDIDATES: Final = 100
"""Chunks that each leg brings to the fusion, or k if that is more."""

READ: Final = 64
"""Chunks that are read at a time to look up phrases."""

Ranked = tuple[Chunk, float, tuple[Leg, ...]]
"""A chunk, its score, and what each leg said of it."""


class Legs:
    """The legs of one query on one view."""

    def __init__(
        self,
        view: View,
        query: Query,
        words: Sequence[Word],
        demands: Sequence[Demand],
        phrases: Sequence[Phrase],
        weights: Weights,
    ) -> None:
        self._view = view
        self._query = query
        self._words = words
        self._demands = demands
        self._phrases = phrases
        self._weights = weights
        self._chunks: dict[int, Chunk] = {}
        self._met: dict[int, bool] = {}

    def ranked(self, vector: Quantised | None, trust: Blend) -> tuple[list[Ranked], float, tuple[bool, ...]]:
        """The k best with what each leg said, the coverage, and of each word whether it is held."""
        query = self._query
        depth = max(CANDIDATES, query.k) if query.mode == "hybrid" else query.k
        lexical = self._lexical(1 if query.mode == "dense" else depth)
        found = () if query.mode == "dense" else lexical.found
        near = () if vector is None else self._nearest(vector, depth)
        told: list[Ranked]
        if found and near and vector is not None:
            best = self._blended(vector, found, near, trust.weight(lexical.coverage))
            legs = _legs([ref for ref, _ in best], {"lexical": found, "dense": near})
            chunks = self._read([ref for ref, _ in best])
            told = [(chunk, score, leg) for chunk, (_, score), leg in zip(chunks, best, legs, strict=True)]
        else:
            name, some = ("lexical", found[: query.k]) if found else ("dense", near[: query.k])
            chunks = self._read([one.ref for one in some])
            told = [
                (chunk, one.score, (Leg(name, rank, one.score),))
                for rank, (chunk, one) in enumerate(zip(chunks, some, strict=True), start=1)
            ]
        return told, lexical.coverage, lexical.held

    def _lexical(self, depth: int) -> Lexical:
        query, told = self._query, Lexical((), 0.0)

        def ask(k: int) -> tuple[Found, ...]:
            nonlocal told
            told = self._view.lexical(self._words, k, query.grant, query.where, self._demands, self._weights)
            return told.found

        found = self._met_by(ask, depth)
        return Lexical(found, told.coverage if found or not self._phrases else 0.0, told.held)

    def _nearest(self, vector: Quantised, depth: int) -> tuple[Found, ...]:
        query = self._query
        return self._met_by(lambda k: self._view.nearest(vector, k, query.grant, query.where, self._demands), depth)

    def _met_by(self, ask: Callable[[int], tuple[Found, ...]], depth: int) -> tuple[Found, ...]:
        """The ``depth`` best of a leg that meet the phrases: texts are read in its order, as far as need be."""
        if not self._phrases:
            return ask(depth)
        k = depth
        while True:
            found = ask(k)
            met: list[Found] = []
            for at in range(0, len(found), READ):
                some = found[at : at + READ]
                self._look_up([one.ref for one in some if one.ref not in self._met])
                met += [one for one in some if self._met[one.ref]]
                if len(met) >= depth:
                    return tuple(met[:depth])
            if len(found) < k:
                return tuple(met)
            k *= 4

    def _look_up(self, refs: Sequence[int]) -> None:
        for ref, chunk in zip(refs, self._view.chunks(refs, self._query.grant), strict=True):
            self._met[ref] = all(phrase.meets(chunk) for phrase in self._phrases)
            if self._met[ref]:
                self._chunks[ref] = chunk

    def _read(self, refs: Sequence[int]) -> list[Chunk]:
        if not self._phrases:
            return self._view.chunks(refs, self._query.grant)
        return [self._chunks[ref] for ref in refs]

    def _blended(
        self, vector: Quantised, found: Sequence[Found], near: Sequence[Found], weight: float
    ) -> list[tuple[int, float]]:
        """The candidates of both legs by both."""
        refs = list(dict.fromkeys(one.ref for one in (*found, *near)))
        by_words = self._view.bm25(self._words, refs, self._query.grant, self._weights)
        scores = blend(by_words, self._view.cosines(vector, refs), weight)
        return ordered(list(zip(refs, scores, strict=True)), self._view.tie, self._query.k)


def _legs(refs: Sequence[int], found: Mapping[str, Sequence[Found]]) -> list[tuple[Leg, ...]]:
    """What each leg said of each candidate."""
    legs: dict[int, tuple[Leg, ...]] = dict.fromkeys(refs, ())
    for name, some in found.items():
        for rank, one in enumerate(some, start=1):
            if one.ref in legs:
                legs[one.ref] = *legs[one.ref], Leg(name, rank, one.score)
    return [legs[ref] for ref in refs]
