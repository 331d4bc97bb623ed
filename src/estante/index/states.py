"""A committed state of an embedded shelf, ready to search, and what of it a grant covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estante.index import lexical, segments
from estante.index.columns import Columns
from estante.model.access import Grant, Scope
from estante.model.ports import Holdings, Word


class Part:
    """A segment in a state: which of its documents and rows are alive."""

    def __init__(self, number: int, segment: segments.Segment, dead: frozenset[int]) -> None:
        self.number = number
        self.segment = segment
        self.dead = dead
        self.lengths: NDArray[Any] = segment.array("length")
        self.live_documents: NDArray[np.bool_] | None = None
        self.live_rows: NDArray[np.bool_] | None = None
        if dead:
            self.live_documents = ~np.isin(segment.keys, np.fromiter(dead, np.int64, len(dead)))
            self.live_rows = self.live_documents[segment.document]
        alive = self.lengths if self.live_rows is None else self.lengths[self.live_rows]
        self.rows = len(alive)
        self.words = int(alive.sum(dtype=np.int64))
        keys = self.living(segment.keys)
        self.tally = len(keys), int(keys.sum())
        self.used = self._used()

    def living(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of one value a document, those of the documents that are alive."""
        return values if self.live_documents is None else values[self.live_documents]

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
        self.readable: dict[Grant, Readable] = {}
        self.masks: dict[tuple[Grant, str], list[NDArray[np.bool_] | None]] = {}
        self.holdings: dict[tuple[Grant, str], Holdings] = {}
        self.tally = sum(part.tally[0] for part in parts), sum(part.tally[1] for part in parts)

    def spoken(self, scopes: Iterable[int]) -> tuple[str, ...]:
        """The languages of the documents of these scopes, sorted."""
        return tuple(sorted(set().union(*(self.used.get(scope, ()) for scope in scopes))))


class Readable:
    """What of a state a grant covers, with the statistics of that alone: the hidden must not show in scores."""

    def __init__(self, state: State, masks: list[NDArray[np.bool_] | None], languages: tuple[str, ...]) -> None:
        self.masks = masks
        self.languages = languages
        self.rows = words = 0
        for part, mask in zip(state.parts, masks, strict=True):
            lengths = part.lengths if mask is None else part.lengths[mask]
            self.rows += len(lengths)
            words += int(lengths.sum(dtype=np.int64))
        self.average = words / self.rows if self.rows else 0.0


class Weighed:
    """The words of a question against what is readable: postings a part, and each word's weight."""

    def __init__(self, state: State, words: Sequence[Word], readable: Readable) -> None:
        self.postings = [
            [[part.segment.postings(term) for term in word.terms] for word in words] for part in state.parts
        ]
        self.average = readable.average
        self.weights: list[float] = []
        for at in range(len(words)):
            frequency = 0
            for mask, found in zip(readable.masks, self.postings, strict=True):
                for rows, _ in found[at]:
                    frequency += len(rows) if mask is None else int(np.count_nonzero(mask[rows]))
            self.weights.append(lexical.idf(readable.rows, frequency))
        self.total = sum(self.weights)
