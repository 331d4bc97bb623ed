"""A committed state of an embedded shelf, ready to search, and what of it a grant covers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estante.index import lexical, segments
from estante.index.columns import Columns
from estante.model.access import Grant, Scope
from estante.model.ports import Holdings, Weights


class Part:
    """A segment in a state: which of its documents and rows are alive."""

    def __init__(self, number: int, segment: segments.Segment, dead: frozenset[int]) -> None:
        self.number = number
        self.segment = segment
        self.dead = dead
        self.live_documents: NDArray[np.bool_] | None = None
        self.live_rows: NDArray[np.bool_] | None = None
        if dead:
            self.live_documents = ~np.isin(segment.keys, np.fromiter(dead, np.int64, len(dead)))
            self.live_rows = self.live_documents[segment.document]
        self.rows = segment.rows if self.live_rows is None else int(np.count_nonzero(self.live_rows))
        self.words = self.count_words(self.live_rows)
        keys = self.living(segment.keys)
        self.tally = len(keys), int(keys.sum())
        self.used = self._used()

    def living(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of one value a document, those of the documents that are alive."""
        return values if self.live_documents is None else values[self.live_documents]

    def count_words(self, mask: NDArray[np.bool_] | None) -> int:
        """The number of words in the rows of the mask, in all fields."""
        found = 0
        for name in segments.LENGTHS:
            lengths = self.segment.array(name)
            found += int((lengths if mask is None else lengths[mask]).sum(dtype=np.int64))
        return found

    def _used(self) -> frozenset[tuple[int, str]]:
        """The (scope number, language) of its documents."""
        names = self.segment.languages()
        scopes, tongues = (self.living(self.segment.array(name)).astype(np.int64) for name in ("scopes", "language"))
        pairs = np.unique(scopes * len(names) + tongues).tolist()
        return frozenset((pair // len(names), names[pair % len(names)]) for pair in pairs)

    def find(self, document_id: str) -> int:
        """The number in its segment of a document that is alive, or -1."""
        found = self.segment.find(document_id)
        return found if found < 0 or self.live_documents is None or self.live_documents[found] else -1

    def places(self, columns: Columns) -> NDArray[np.int64]:
        """Where the segment's documents stand in the columns, -1 for the dead."""
        return columns.place(self.segment.keys)


class State:
    """One committed state of the shelf, ready to search; shared by the views of a generation."""

    def __init__(
        self,
        generation: int,
        parts: tuple[Part, ...],
        scopes: dict[int, Scope],
    ) -> None:
        self.generation = generation
        self.parts = parts
        self.scopes = scopes
        self.used: dict[int, set[str]] = {}
        for scope, language in sorted(pair for part in parts for pair in part.used):
            self.used.setdefault(scope, set()).add(language)
        self.languages = self.spoken(self.used)
        self.rows = sum(part.rows for part in parts)
        words = sum(part.words for part in parts)
        self.average = words / self.rows if self.rows else 0.0
        self.columns: Columns | None = None
        self.places: list[NDArray[np.int64]] = []
        self.tongues = tuple(sorted({lexical.tongue(language) for language in self.languages}))
        self.numbers = {tongue: number for number, tongue in enumerate(self.tongues)}
        self.readable: dict[Grant, Readable] = {}
        self.masks: dict[tuple[Grant, str], list[NDArray[np.bool_] | None]] = {}
        self.holdings: dict[tuple[Grant, str], Holdings] = {}
        self.tally = sum(part.tally[0] for part in parts), sum(part.tally[1] for part in parts)
        self._spoken: list[NDArray[np.uint8] | None] | None = None

    def tongue_of(self, at: int) -> NDArray[np.uint8] | None:
        """The number in ``tongues`` of each row of a part; None where there is only one."""
        if self._spoken is None:
            self._spoken = [self._tongues(part) for part in self.parts]
        return self._spoken[at]

    def _tongues(self, part: Part) -> NDArray[np.uint8] | None:
        if len(self.tongues) < 2:
            return None
        # A language whose documents are all dead has no number, and needs none.
        table = [self.numbers.get(lexical.tongue(name), 0) for name in part.segment.languages()]
        found: NDArray[np.uint8] = np.array(table, np.uint8)[part.segment.array("language")][part.segment.document]
        return found

    def spoken(self, scopes: Iterable[int]) -> tuple[str, ...]:
        """The languages of the documents of these scopes, sorted."""
        return tuple(sorted(set().union(*(self.used.get(scope, ()) for scope in scopes))))


class Readable:
    """What of a state a grant covers, with the statistics of that alone: the hidden must not show in scores.

    ``chunks`` and ``words`` (tongues, 3) are counts by ``state.tongues``, ``absent`` is what a word weighs that no
    chunk holds. The last of both is of a language that is not spoken here.
    """

    def __init__(self, state: State, masks: list[NDArray[np.bool_] | None], languages: tuple[str, ...]) -> None:
        self.masks = masks
        self.languages = languages
        self._state = state
        self._measures: dict[Weights, Measure] = {}
        count = len(state.tongues)
        self.chunks = [0] * count
        words = np.zeros((count, segments.FIELDS), np.int64)
        for at, (part, mask) in enumerate(zip(state.parts, masks, strict=True)):
            rows = np.arange(part.segment.rows) if mask is None else np.flatnonzero(mask)
            tongue = state.tongue_of(at)
            numbers = np.zeros(len(rows), np.uint8) if tongue is None else tongue[rows]
            for number, chunks in enumerate(np.bincount(numbers, minlength=count)[:count].tolist()):
                self.chunks[number] += chunks
            for field, name in enumerate(segments.LENGTHS):
                # Sums of whole numbers below 2**53 are exact in any order.
                lengths = part.segment.array(name)[rows].astype(np.float64)
                words[:, field] += np.bincount(numbers, lengths, count)[:count].astype(np.int64)
        self.words: list[list[int]] = words.tolist()
        self.chunks.append(0)
        self.absent = [lexical.idf(chunks, 0) for chunks in self.chunks]

    def measure(self, weights: Weights) -> Measure:
        """The measure of its chunks under some weights."""
        found = self._measures.get(weights)
        if found is None:
            found = self._measures[weights] = Measure(self._state, self, weights)
        return found


class Measure:
    """How long chunks are, and what that does to scores, under some weights."""

    def __init__(self, state: State, readable: Readable, weights: Weights) -> None:
        self.weights = weights
        self.whole = min(weights.body, weights.title, weights.trail) > 0
        self.readable = readable
        self.averages = [
            lexical.average(lexical.weighed([float(count) for count in words], weights), chunks)
            for words, chunks in zip(readable.words, readable.chunks[:-1], strict=True)
        ]
        self.tables = [lexical.weighed(list(part.segment.counts.T.astype(np.float64)), weights) for part in state.parts]
        self.damps = [self._damp(state, at) for at in range(len(state.parts))]

    def _damp(self, state: State, at: int) -> NDArray[np.float64]:
        """What the length of each row of a part adds below the line."""
        columns = [state.parts[at].segment.array(name).astype(np.float64) for name in segments.LENGTHS]
        lengths: NDArray[np.float64] = lexical.weighed(columns, self.weights)
        # Where nothing can be read there is nothing to score: any average does.
        averages = np.array([average or 1.0 for average in self.averages] or [1.0])
        tongue = state.tongue_of(at)
        return lexical.damping(lengths, averages[0] if tongue is None else averages[tongue], self.weights)
