"""The order of a state: its chunks by document id and position, part by part.

A place is a document id and a position. Masks say of each part which rows, or which documents, may be seen; None is all
of them.
"""

from __future__ import annotations

import hashlib
import heapq
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from estante.index.segments import Segment
from estante.index.states import Part
from estante.model.ports import Holdings

Masks = Sequence[NDArray[np.bool_] | None]
Place = tuple[str, int]


def holdings(connection: sqlite3.Connection, parts: Sequence[Part], documents: Masks, rows: Masks) -> Holdings:
    """Counts and mark of the documents and rows that may be seen."""
    keys = [np.zeros(0, np.int64)]
    chunks = 0
    for part, whole, seen in zip(parts, documents, rows, strict=True):
        keys.append(part.segment.keys if whole is None else part.segment.keys[whole])
        chunks += part.segment.rows if seen is None else int(np.count_nonzero(seen))
    found = np.concatenate(keys)
    return Holdings(len(found), chunks, _mark(connection, found))


def _mark(connection: sqlite3.Connection, keys: NDArray[np.int64]) -> str:
    """A sum over the numbers of these documents and the sums of their records."""
    rows = connection.execute("SELECT doc, crc FROM documents NOT INDEXED ORDER BY doc").fetchall()
    table = np.array(rows, "<i8").reshape(len(rows), 2)
    return hashlib.sha256(table[np.isin(table[:, 0], keys)].tobytes()).hexdigest()[:32]


def scan(parts: Sequence[Part], masks: Masks, after: Place | None, k: int) -> list[tuple[int, int]]:
    """The first k (part, row) behind a place."""
    pairs = enumerate(zip(parts, masks, strict=True))
    streams = [_stream(at, part.segment, mask, after, k) for at, (part, mask) in pairs]
    return [found for _, found in islice(heapq.merge(*streams), k)]


def _stream(
    at: int, segment: Segment, mask: NDArray[np.bool_] | None, after: Place | None, k: int
) -> Iterator[tuple[Place, tuple[int, int]]]:
    first = 0 if after is None else _behind(segment, after)
    rows = np.arange(first, min(first + k, segment.rows)) if mask is None else first + np.flatnonzero(mask[first:])[:k]
    for row in rows.tolist():
        yield (segment.document_id(int(segment.document[row])), segment.position(row)), (at, row)


def _behind(segment: Segment, after: Place) -> int:
    """The first row behind a place."""
    document_id, position = after
    at = _document_from(segment, document_id)
    start = _row_from(segment, at)
    if at < len(segment.keys) and segment.document_id(at) == document_id:
        return min(start + max(position + 1, 0), _row_from(segment, at + 1))
    return start


def locate(parts: Sequence[Part], masks: Masks, wanted: Sequence[Place]) -> list[tuple[int, int] | None]:
    """The (part, row) at each place."""
    return [_at(parts, masks, document_id, position) for document_id, position in wanted]


def _at(parts: Sequence[Part], masks: Masks, document_id: str, position: int) -> tuple[int, int] | None:
    for at, (part, mask) in enumerate(zip(parts, masks, strict=True)):
        local = part.find(document_id)
        if local >= 0:
            row = _row_from(part.segment, local) + position
            inside = position >= 0 and row < _row_from(part.segment, local + 1)
            return (at, row) if inside and (mask is None or mask[row]) else None
    return None


def preceding(parts: Sequence[Part], masks: Masks, document_ids: Sequence[str]) -> list[int]:
    """How many rows that may be seen stand in documents before each of these."""
    found = [0] * len(document_ids)
    for part, mask in zip(parts, masks, strict=True):
        counts = None if mask is None else np.concatenate([[0], np.cumsum(mask)])
        for at, document_id in enumerate(document_ids):
            row = _row_from(part.segment, _document_from(part.segment, document_id))
            found[at] += row if counts is None else int(counts[row])
    return found


def _document_from(segment: Segment, document_id: str) -> int:
    """The number of the first document whose id is this one or comes behind it."""
    return bisect_left(range(len(segment.keys)), document_id, key=segment.document_id)


def _row_from(segment: Segment, document: int) -> int:
    """The first row of this document or of one behind it."""
    kind = segment.document.dtype
    if document > np.iinfo(kind).max:
        return segment.rows
    # In the type of the rows: for another, numpy would copy them all.
    return int(np.searchsorted(segment.document, kind.type(document)))
