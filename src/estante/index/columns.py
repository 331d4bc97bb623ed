"""Metadata as columns: each field's distinct values once, and a number a document.

A condition is decided once for each distinct value, by the one filter engine, and spread to the documents by number:
the answer is the definition's, at the price of a table look-up.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estante.index import filters
from estante.model import wire
from estante.model.asking import Condition, Every, Not, Where

ABSENT: Final = 0


class Column:
    """One field: ``values[codes[i]]`` is the value of document i; code 0 is absent, which is the same as null."""

    __slots__ = ("_number", "codes", "values")

    def __init__(self) -> None:
        self.values: list[object] = [None]
        self.codes = array("i")
        self._number: dict[object, int] = {}

    def fork(self) -> Column:
        """A copy to change."""
        other = Column()
        other.values = list(self.values)
        other.codes = array("i", self.codes)
        other._number = dict(self._number)
        return other

    def set(self, position: int, value: object) -> None:
        """Gives document ``position`` a value; documents that have none yet are absent."""
        if len(self.codes) <= position:
            if value is None:
                return
            self.codes.extend([ABSENT] * (position + 1 - len(self.codes)))
        self.codes[position] = ABSENT if value is None else self._code(value)

    def _code(self, value: object) -> int:
        # 1, 1.0 and True are one key to a dict, but three values to a filter.
        key = (type(value).__name__, value if isinstance(value, str | int | float) else wire.dumps(value))
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.values)
            self.values.append(value)
        return number

    def decide(self, condition: Condition, size: int) -> NDArray[np.bool_]:
        """Whether the condition holds, for each document."""
        decided = map(filters.decider(condition.operator, condition.value), self.values)
        table = np.fromiter(decided, bool, len(self.values))
        return table[self.padded(size)]

    def padded(self, size: int) -> NDArray[np.int32]:
        """The codes of ``size`` documents."""
        codes = np.zeros(size, np.int32)
        codes[: len(self.codes)] = np.frombuffer(self.codes, np.int32) if self.codes else 0
        return codes


class Columns:
    """The metadata of all documents of a shelf, to filter by. Documents are added and changed, never moved."""

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}
        self.version = -1
        self._columns: dict[str, Column] = {}

    def fork(self, version: int) -> Columns:
        """A copy to change, so that who reads this one is not disturbed."""
        other = Columns()
        other.version = version
        other.positions = dict(self.positions)
        other._columns = {field: column.fork() for field, column in self._columns.items()}
        return other

    def put(self, number: int, record: Mapping[str, object]) -> None:
        """Sets the record of the document with this catalog number."""
        position = self.positions.get(number)
        if position is None:
            position = self.positions[number] = len(self.positions)
        else:
            for field in self._columns.keys() - record.keys():
                self._columns[field].set(position, None)
        for field, value in record.items():
            column = self._columns.get(field)
            if column is None:
                column = self._columns[field] = Column()
            column.set(position, value)

    def place(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of each document, -1 where it is not known."""
        return np.fromiter((self.positions.get(n, -1) for n in numbers.tolist()), np.int64, len(numbers))

    def decide(self, where: Where) -> NDArray[np.bool_]:
        """Whether each document passes, by position."""
        size = len(self.positions)
        if isinstance(where, Condition):
            return self._condition(where, size)
        if isinstance(where, Not):
            return ~self.decide(where.part)
        every = isinstance(where, Every)
        passed = np.full(size, every)
        for part in where.parts:
            passed = passed & self.decide(part) if every else passed | self.decide(part)
        return passed

    def _condition(self, condition: Condition, size: int) -> NDArray[np.bool_]:
        literal = self._columns.get(condition.field) or Column()
        passed = literal.decide(condition, size)
        root, dot, _ = condition.field.partition(".")
        inner = self._columns.get(root)
        if not dot or inner is None:
            return passed
        # The dotted name itself comes first; where it is absent, the value inside the mapping counts.
        decide = filters.decider(condition.operator, condition.value)
        values = (decide(filters.lookup({root: value}, condition.field)) for value in inner.values)
        nested = np.fromiter(values, bool, len(inner.values))[inner.padded(size)]
        return np.where(literal.padded(size) == ABSENT, nested, passed)
