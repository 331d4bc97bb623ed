"""The passages of a segment as columns: their headings and places, for the fields that filters ask for."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from estante.index import records
from estante.index.columns import Column, Values
from estante.index.conditions import passage
from estante.index.notes import Broken
from estante.index.states import Part
from estante.model.asking import Condition


class Passages:
    """The rows of a segment by those fields that filters asked for.

    ``dead`` are the documents that could not be read any more: of the others the rows never change, and so do these.
    """

    def __init__(self, dead: frozenset[int], columns: Mapping[str, Column]) -> None:
        self._dead = dead
        self._columns = dict(columns)

    def serves(self, part: Part, fields: Collection[str]) -> bool:
        """Whether these are all that a state asks of a segment."""
        return self._dead <= part.dead and self._columns.keys() >= set(fields)

    def beside(self, other: Passages) -> Passages:
        """Both together."""
        return Passages(self._dead | other._dead, self._columns | other._columns)

    def decide(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether each row meets a condition; no row of a dead document counts."""
        return self._columns[condition.field].decide(condition)


def read(
    connection: sqlite3.Connection, parts: Sequence[Part], fields: Collection[str], broken: Broken
) -> list[Passages]:
    """The passages of each part, out of the cuts of its documents that are alive."""
    at = {part.number: number for number, part in enumerate(parts)}
    values = [{field: Values() for field in fields} for _ in parts]
    codes = [{field: np.zeros(part.segment.rows, np.int32) for field in fields} for part in parts]
    firsts = [_firsts(part) for part in parts]
    for row in records.every(connection, -1, broken):
        number = at.get(row.segment)
        if number is None:
            continue
        first = firsts[number].get(row.number)
        if first is None:
            raise broken(f"document {row.id!r} is in the catalog but not in its segment")
        for index, (_, _, locator, *trail) in enumerate(row.cuts(connection, broken)):
            told = passage(trail, locator)
            for field in fields:
                codes[number][field][first + index] = values[number][field].code(told.get(field))
    return [
        Passages(part.dead, {field: Column(one[field], known[field].tables()) for field in fields})
        for part, one, known in zip(parts, codes, values, strict=True)
    ]


def _firsts(part: Part) -> dict[int, int]:
    """The first row of each document of a part, by the catalog's number."""
    segment = part.segment
    documents = np.arange(len(segment.keys), dtype=segment.document.dtype)
    return dict(zip(segment.keys.tolist(), np.searchsorted(segment.document, documents).tolist(), strict=True))
