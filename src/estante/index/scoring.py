"""The words of a question against a state: which rows hold them, what each weighs, and what rows score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estante.index import lexical
from estante.index.segments import Segment
from estante.index.states import Measure, Part, State
from estante.model.ports import Demand, Field, Word

SPARSE: Final = 64
"""A part with more than so many rows for each posting is scored by its postings alone, not row by row."""

Masks = Sequence[NDArray[np.bool_] | None]


class Postings(NamedTuple):
    """The rows of a part that hold a word in one language, ascending, and how often (weighed by field)."""

    language: str
    rows: NDArray[Any]
    counts: NDArray[np.float64]


def numbers_of(segment: Segment, group: lexical.Group) -> list[tuple[int, int]]:
    """The terms of a group that a segment holds: from one number up to another, no term twice."""
    _, terms, ranges = group
    found = [(number, number + 1) for number in map(segment.term, terms) if number >= 0]
    if not ranges and len(found) < 2:
        return found
    found += [(segment.terms_from(first), segment.terms_from(last)) for first, last in ranges]
    apart: list[tuple[int, int]] = []
    for first, last in sorted(one for one in found if one[0] < one[1]):
        if apart and first <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(last, apart[-1][1])
        else:
            apart.append((first, last))
    return apart


def postings(part: Part, group: lexical.Group, table: NDArray[np.float64], measure: Measure) -> Postings | None:
    """The postings of a group; None where a part has none."""
    segment = part.segment
    if not group[2] and len(group[1]) == 1:  # Nearly always.
        number = segment.term(group[1][0])
        if number < 0:
            return None
        rows, codes = segment.postings_of(number, number + 1)
        counts = table[codes]
    else:
        numbers = numbers_of(segment, group)
        if not numbers:
            return None
        rows, sums = _merged(segment, numbers)
        counts = lexical.weighed(sums, measure.weights)
    if not measure.whole:  # A word in fields alone that count for nothing is not held.
        kept = counts > 0
        rows, counts = rows[kept], counts[kept]
    return Postings(group[0], rows, counts)


def _merged(segment: Segment, numbers: Sequence[tuple[int, int]]) -> tuple[NDArray[Any], list[NDArray[np.float64]]]:
    """The rows that hold one of several terms, and how often they hold any, by field."""
    some = [segment.postings_of(first, last) for first, last in numbers]
    rows = np.concatenate([one for one, _ in some])
    codes = np.concatenate([one for _, one in some])
    columns = segment.counts.astype(np.float64)
    # Sums of whole numbers are exact in any order.
    sums = [_sums(rows, column[codes], segment.rows) for column in columns.T]
    held = np.flatnonzero(np.bincount(rows, minlength=segment.rows))
    return held, [one[held] for one in sums]


def _sums(rows: NDArray[Any], values: NDArray[np.float64], size: int = 0) -> NDArray[np.float64]:
    """The sum of the values of each row, added in their order."""
    return np.bincount(rows, values, size).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class Scored:
    """The rows of a part that hold words, ascending; the score of each, and the share of the question that it holds.

    Without ``rows`` there is a score and a share for each row of the part, 0 where it holds no word.
    """

    rows: NDArray[np.intp] | None
    scores: NDArray[np.float64]
    shares: NDArray[np.float64]

    def within(self, mask: NDArray[np.bool_]) -> Scored:
        """Those of the mask alone."""
        if self.rows is None:
            return Scored(None, np.where(mask, self.scores, 0.0), np.where(mask, self.shares, 0.0))
        kept = mask[self.rows]
        return Scored(self.rows[kept], self.scores[kept], self.shares[kept])

    def of(self, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores of some rows; 0 for those that hold no word."""
        if self.rows is None:
            return self.scores[wanted]
        if not len(self.rows):
            return np.zeros(len(wanted))
        near = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        return np.where(self.rows[near] == wanted, self.scores[near], 0.0)


NOTHING: Final = Scored(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


class Weighed:
    """The words of a question against what is readable: postings a part, and each word's weight a tongue."""

    def __init__(self, state: State, words: Sequence[Word], measure: Measure) -> None:
        self._state = state
        self._measure = measure
        groups = [lexical.groups(word) for word in words]
        self._postings = [
            [[held for group in some if (held := postings(part, group, table, measure)) is not None] for some in groups]
            for part, table in zip(state.parts, measure.tables, strict=True)
        ]
        self.frequencies = [self._frequencies(at) for at in range(len(words))]
        chunks, absent = measure.readable.chunks, measure.readable.absent
        rarities = [
            [lexical.idf(chunks[at], min(count, chunks[at])) if count else absent[at] for at, count in enumerate(found)]
            for found in self.frequencies
        ]
        totals = [sum(some) for some in zip(*rarities, strict=True)]
        self._weights = [[word.share * rarity for rarity in some] for word, some in zip(words, rarities, strict=True)]
        self._shares = [
            [weight / total for weight, total in zip(weights, totals, strict=True)] for weights in self._weights
        ]
        self._scored: dict[int, Scored] = {}

    def _frequencies(self, word: int) -> list[int]:
        """How many readable rows of each tongue hold a word; those of terms that name no tongue here come last."""
        found = [0] * (len(self._state.tongues) + 1)
        for at, (mask, some) in enumerate(zip(self._measure.readable.masks, self._postings, strict=True)):
            for held in some[word]:
                rows = held.rows if mask is None else held.rows[mask[held.rows]]
                tongue = None if held.language else self._state.tongue_of(at)
                if tongue is None:
                    found[self._number(held.language)] += len(rows)
                else:
                    for number, count in enumerate(np.bincount(tongue[rows], minlength=len(found)).tolist()):
                        found[number] += count
        return found

    def _number(self, language: str) -> int:
        """The number of the tongue that a term names; that of the only one for a term that names none."""
        return self._state.numbers.get(language, len(self._state.tongues)) if language else 0

    def scored(self, at: int) -> Scored:
        """The rows of a part that hold words, with their BM25 scores."""
        found = self._scored.get(at)
        if found is None:
            found = self._scored[at] = self._score(at)
        return found

    def _score(self, at: int) -> Scored:
        held = [(word, one) for word, some in enumerate(self._postings[at]) for one in some if len(one.rows)]
        if not held:
            return NOTHING
        rows = np.concatenate([one.rows for _, one in held], dtype=np.intp)
        counts = np.concatenate([one.counts for _, one in held])
        weights, shares = self._each(at, held)
        added = lexical.contribution(weights, counts, self._measure.damps[at][rows], self._measure.weights)
        size = self._state.parts[at].segment.rows
        touched: NDArray[np.intp]
        if size > SPARSE * len(rows):
            touched, rows = np.unique(rows, return_inverse=True)
            return Scored(touched, _sums(rows, added), _sums(rows, shares))
        # What a row gets is added in the order of the words, as everywhere.
        return Scored(None, _sums(rows, added, size), _sums(rows, shares, size))

    def _each(self, at: int, held: Sequence[tuple[int, Postings]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What a word weighs and which share of the question it is, for each posting of a part."""
        tongue = self._state.tongue_of(at)
        sizes = [len(one.rows) for _, one in held]
        if tongue is None or all(one.language for _, one in held):
            told = [(word, self._number(one.language)) for word, one in held]
            found = [(self._weights[word][number], self._shares[word][number]) for word, number in told]
            return np.repeat([one for one, _ in found], sizes), np.repeat([one for _, one in found], sizes)
        weights, shares = np.empty(sum(sizes)), np.empty(sum(sizes))
        start = 0
        for (word, one), size in zip(held, sizes, strict=True):
            place = slice(start, start + size)
            start += size
            number = self._number(one.language) if one.language else tongue[one.rows]
            weights[place] = np.array(self._weights[word])[number]
            shares[place] = np.array(self._shares[word])[number]
        return weights, shares

    def held(self, word: int, masks: Masks) -> bool:
        """Whether a row of the masks holds a word."""
        return any(
            len(held.rows) > 0 if mask is None else bool(mask[held.rows].any())
            for some, mask in zip(self._postings, masks, strict=True)
            for held in some[word]
        )


def holding(part: Part, word: Word, field: Field) -> NDArray[np.bool_]:
    """Which rows of a part hold a word in a field."""
    segment = part.segment
    found = np.zeros(segment.rows, bool)
    wanted = _wanted(segment, field)
    for group in lexical.groups(word):
        for first, last in numbers_of(segment, group):
            rows, codes = segment.postings_of(first, last)
            found[rows if wanted is None else rows[wanted[codes]]] = True
    return found


def _wanted(segment: Segment, field: Field) -> NDArray[np.bool_] | None:
    """Which codes of counts are of a field; None for any."""
    title, trail = segment.counts[:, 1], segment.counts[:, 2]
    if field == "any":
        return None
    return title > 0 if field == "title" else (title > 0) | (trail > 0)


def demanded(parts: Sequence[Part], masks: Masks, demands: Sequence[Demand]) -> Masks:
    """Of the rows of the masks, those that hold what is demanded."""
    if not demands:
        return masks
    found: list[NDArray[np.bool_] | None] = []
    for part, mask in zip(parts, masks, strict=True):
        kept = np.ones(part.segment.rows, bool) if mask is None else mask.copy()
        for demand in demands:
            kept &= holding(part, demand.word, demand.field) == demand.held
        found.append(kept)
    return found
