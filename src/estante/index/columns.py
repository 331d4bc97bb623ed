"""Fields as columns: each field's distinct values once, and a number a document or a passage.

A condition is decided for the distinct values, by arrays over them, and spread to the rows by number: the answer is
that of ``conditions``, at the price of a table look-up. Columns are made of the fields that filters ask for, and no
others.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index import dates
from estante.index.conditions import ORDERS, holds, lookup, shape
from estante.model.asking import Condition, Every, Not, Where

ABSENT: Final = 0
EXACT: Final = 2**53
"""Whole numbers up to this one are the same as floats."""

BUDGET: Final = 128_000_000
"""About as many bytes of columns are kept beside those that a filter needs."""

WEIGHT: Final = 160
"""About as many bytes a distinct value takes beside its letters."""


class Values:
    """The distinct values of a field, numbered; 0 is absent, which is the same as null.

    Values are only ever added, by one thread at a time, so that the columns of several states share them: each sees, in
    its ``Tables``, those that there were when it was made. The elements of a list are values, too.
    """

    def __init__(self) -> None:
        self.items: list[object] = [None]
        self.texts: list[str] = []
        self.text_codes: list[int] = []
        self.numbers: list[int | float] = []
        self.number_codes: list[int] = []
        self.owners: list[int] = []
        self.elements: list[int] = []
        self.weight = 0
        self._of_text: dict[str, int] = {}
        self._of_number: dict[int | float, int] = {}
        self._of_other: dict[object, int] = {}
        self._tables: Tables | None = None

    def code(self, value: object) -> int:
        """The number of a value, given one if it is new."""
        found = self.known(value)
        if found is not None:
            return found
        code = len(self.items)
        self.items.append(value)
        self.weight += WEIGHT
        if isinstance(value, str):
            self.weight += len(value)
            self._of_text[value] = code
            self.texts.append(value)
            self.text_codes.append(code)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._of_number[value] = code
            self.numbers.append(value)
            self.number_codes.append(code)
        else:
            self._of_other[shape(value)] = code
            for element in value if isinstance(value, list | tuple) else ():
                inner = self.code(element)
                self.owners.append(code)
                self.elements.append(inner)
        return code

    def known(self, value: object) -> int | None:
        """The number of a value; None when it is in no row."""
        if value is None:
            return ABSENT
        # 1 and True are one key to a dict, but two values to a filter; 1 and 1.0 are one to both.
        if isinstance(value, str):
            return self._of_text.get(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._of_number.get(value)
        return self._of_other.get(shape(value))

    def many(self, wanted: Sequence[Any]) -> list[int]:
        """The numbers of those of these values that are in rows."""
        # Of one kind, they are looked up without a step of Python each: there may be ten thousands.
        types = set(map(type, wanted))
        if types == {str}:
            return [self._of_text[one] for one in self._of_text.keys() & wanted]
        if types and types <= {int, float}:
            return [self._of_number[one] for one in self._of_number.keys() & wanted]
        return [code for code in map(self.known, wanted) if code is not None]

    def tables(self) -> Tables:
        """The values that there are now, to decide conditions for."""
        if self._tables is None or self._tables.size != len(self.items):
            self._tables = Tables(self)
        return self._tables


class Tables:
    """The values of a field at one time, and for a condition whether it holds, value by value."""

    def __init__(self, values: Values) -> None:
        self.size = len(values.items)
        self._values = values
        self._texts = len(values.texts)
        self._numbers = len(values.numbers)
        self._pairs = len(values.owners)

    # --- what the values are, as arrays made when they are first asked for -------------------------------------------

    @cached_property
    def _text_codes(self) -> NDArray[np.int32]:
        return np.array(self._values.text_codes[: self._texts], np.int32)

    @cached_property
    def _owners(self) -> NDArray[np.int32]:
        return np.array(self._values.owners[: self._pairs], np.int32)

    @cached_property
    def _elements(self) -> NDArray[np.int32]:
        return np.array(self._values.elements[: self._pairs], np.int32)

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """The number of elements of each list, -1 for what is none."""
        items = islice(self._values.items, self.size)
        lengths = (len(one) if isinstance(one, list | tuple) else -1 for one in items)
        return np.fromiter(lengths, np.int64, self.size)

    @cached_property
    def _sorted(self) -> tuple[list[str], NDArray[np.int32]]:
        """The texts in order, and the number of each."""
        texts = self._values.texts
        order = sorted(range(self._texts), key=texts.__getitem__)
        return [texts[at] for at in order], self._text_codes[np.array(order, np.int64)]

    @cached_property
    def _dates(self) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
        """Of the texts that are dates: their numbers, precisions and keys."""
        read = zip(self._values.text_codes, map(dates.read, islice(self._values.texts, self._texts)), strict=False)
        found = [(code, one) for code, one in read if one is not None]
        codes = np.array([code for code, _ in found], np.int32)
        keys = np.array([one.keys for _, one in found], np.int64).reshape(len(found), 4)
        return codes, np.array([one.precision for _, one in found], np.int8), keys

    @cached_property
    def _exact(self) -> tuple[NDArray[np.int32], NDArray[np.float64], list[tuple[int, int]]]:
        """The numbers that a float holds exactly, with their codes; and the others."""
        pairs = list(zip(self._values.number_codes, islice(self._values.numbers, self._numbers), strict=False))
        plain = [(code, one) for code, one in pairs if isinstance(one, float) or abs(one) <= EXACT]
        others = [(code, one) for code, one in pairs if isinstance(one, int) and abs(one) > EXACT]
        codes = np.array([code for code, _ in plain], np.int32)
        return codes, np.array([one for _, one in plain], np.float64), others

    # --- deciding --------------------------------------------------------------------------------------------------

    def decide(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether a condition holds, for each value."""
        name, operand = condition.operator, condition.value
        plain = _PLAIN.get(name)
        if plain is not None and not isinstance(operand, Where):
            return plain(self, operand)
        if name in ORDERS:
            return self._spread(self._ordered(name, operand))
        if name in ("$ne", "$nin"):
            return ~self.decide(Condition("", "$eq" if name == "$ne" else "$in", operand))
        decided = (holds(name, operand, one) for one in islice(self._values.items, self.size))
        return np.fromiter(decided, bool, self.size)

    def _none(self) -> NDArray[np.bool_]:
        return np.zeros(self.size, bool)

    def _spread(self, table: NDArray[np.bool_], onto: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """A list holds what one of its elements holds: from their table, onto itself or another."""
        onto = table if onto is None else onto
        if self._pairs:
            onto[self._owners[table[self._elements]]] = True
        return onto

    def _exists(self, operand: object) -> NDArray[np.bool_]:
        table = np.full(self.size, bool(operand))
        table[ABSENT] = not operand
        return table

    def _one_of(self, wanted: Sequence[object]) -> NDArray[np.bool_]:
        table = self._none()
        codes = [code for code in self._values.many(wanted) if code < self.size]
        table[codes] = True
        return self._spread(table)

    def _all_of(self, wanted: Sequence[object]) -> NDArray[np.bool_]:
        table = ~self._none()
        for one in wanted:
            table &= self._one_of((one,))
        return table

    def _contains(self, operand: object) -> NDArray[np.bool_]:
        table = self._none()
        if isinstance(operand, str):
            table[self._text_codes] = self._of_texts(str.__contains__, operand)
        same = self._none()
        code = self._values.known(operand)
        if code is not None and code < self.size:
            same[code] = True
        return self._spread(same, table)

    def _of_texts(self, decide: Callable[[str, str], bool], operand: str) -> NDArray[np.bool_]:
        return np.fromiter(map(decide, islice(self._values.texts, self._texts), repeat(operand)), bool, self._texts)

    def _starts(self, operand: str) -> NDArray[np.bool_]:
        table = self._none()
        texts, codes = self._sorted
        first = bisect_left(texts, operand)
        table[codes[first : bisect_left(texts, True, first, key=lambda text: not text.startswith(operand))]] = True
        return self._spread(table)

    def _ends(self, operand: str) -> NDArray[np.bool_]:
        table = self._none()
        table[self._text_codes] = self._of_texts(str.endswith, operand)
        return self._spread(table)

    def _ordered(self, name: str, operand: object) -> NDArray[np.bool_]:
        table = self._none()
        if isinstance(operand, str):
            texts, codes = self._sorted
            below = bisect_left(texts, operand) if name in ("$gte", "$lt") else bisect_right(texts, operand)
            table[codes[below:] if name in ("$gt", "$gte") else codes[:below]] = True
            date = dates.read(operand)
            if date is not None:
                self._dated(table, name, date)
        elif isinstance(operand, int | float):
            self._numbered(table, name, operand)
        return table

    def _dated(self, table: NDArray[np.bool_], name: str, date: dates.Date) -> None:
        """What dates say, beside a date, in place of what their letters say."""
        codes, precisions, keys = self._dates
        at = np.minimum(precisions, date.precision).astype(np.int64)
        table[codes] = ORDERS[name](keys[np.arange(len(keys)), at], np.array(date.keys)[at])

    def _numbered(self, table: NDArray[np.bool_], name: str, operand: int | float) -> None:
        compare: Callable[[Any, Any], Any] = ORDERS[name]
        codes, numbers, others = self._exact
        if abs(operand) <= EXACT:
            table[codes] = compare(numbers, float(operand))
        else:
            table[codes] = [compare(one, operand) for one in numbers.tolist()]
        for code, one in others:
            table[code] = compare(one, operand)


_PLAIN: Final[Mapping[str, Callable[[Tables, Any], NDArray[np.bool_]]]] = {
    "$eq": lambda tables, operand: tables._one_of((operand,)),
    "$in": Tables._one_of,
    "$any": Tables._one_of,
    "$all": Tables._all_of,
    "$exists": Tables._exists,
    "$contains": Tables._contains,
    "$startswith": Tables._starts,
    "$endswith": Tables._ends,
    "$size": lambda tables, operand: operator.eq(tables._sizes, operand),
}


class Column:
    """One field of rows: ``codes[i]`` is the number of row i's value."""

    __slots__ = ("codes", "tables")

    def __init__(self, codes: NDArray[np.int32], tables: Tables) -> None:
        self.codes = codes
        self.tables = tables

    def decide(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether the condition holds, for each row."""
        return self.tables.decide(condition)[self.codes]


def combined(where: Where, size: int, leaf: Callable[[Condition], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Whether each of so many rows passes a filter whose conditions ``leaf`` decides."""
    if isinstance(where, Condition):
        return leaf(where)
    if isinstance(where, Not):
        return ~combined(where.part, size, leaf)
    every = isinstance(where, Every)
    passed = np.full(size, every)
    for part in where.parts:
        found = combined(part, size, leaf)
        passed = passed & found if every else passed | found
    return passed


class Columns:
    """The documents of a shelf by those fields that filters asked for. A state is forked into the next, never changed.

    Documents are added and changed, and keep their positions. ``version`` is the generation that this is of.
    """

    def __init__(self) -> None:
        self.positions: dict[int, int] = {}
        self.version = -1
        self._values: dict[str, Values] = {}
        self._codes: dict[str, NDArray[np.int32]] = {}
        self._columns: dict[str, Column] = {}

    @property
    def fields(self) -> frozenset[str]:
        """The fields that it holds."""
        return frozenset(self._codes)

    @property
    def distinct(self) -> int:
        """How many values its fullest field ever had."""
        return max((len(values.items) for values in self._values.values()), default=0)

    def fork(
        self, version: int, fields: Collection[str], changed: Iterable[tuple[int, Mapping[str, object]]]
    ) -> Columns:
        """The columns of another state, with these fields and as many of the others as there is room for.

        ``changed`` are the records, by the catalog's number, of all documents when a field is new to the columns, else
        of those that have changed since.
        """
        other = Columns()
        other.version = version
        other.positions = dict(self.positions)
        kept = self._kept(fields)
        other._values = {field: self._values.get(field) or Values() for field in kept}
        places: list[int] = []
        written: dict[str, list[int]] = {field: [] for field in kept}
        for number, record in changed:
            places.append(other.positions.setdefault(number, len(other.positions)))
            for field, codes in written.items():
                codes.append(other._values[field].code(lookup(record, field)))
        at = np.array(places, np.int64)
        for field, found in written.items():
            codes_of = np.zeros(len(other.positions), np.int32)
            before = self._codes.get(field)
            if before is not None:
                codes_of[: len(before)] = before
            codes_of[at] = found
            other._codes[field] = codes_of
            other._columns[field] = Column(codes_of, other._values[field].tables())
        return other

    def _kept(self, fields: Collection[str]) -> list[str]:
        """The fields asked for, and before them the others that fit beside them, the latest asked for first."""
        kept, room = list(fields), BUDGET
        for field in reversed(self._codes):
            if field not in fields:
                room -= self._values[field].weight + 4 * len(self.positions)
                if room > 0:
                    kept.insert(0, field)
        return kept

    def place(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of each document, -1 where it is not known."""
        return np.fromiter((self.positions.get(n, -1) for n in numbers.tolist()), np.int64, len(numbers))

    def condition(self, condition: Condition) -> NDArray[np.bool_]:
        """Whether each document meets a condition, by position."""
        return self._columns[condition.field].decide(condition)

    def decide(self, where: Where) -> NDArray[np.bool_]:
        """Whether each document passes, by position."""
        return combined(where, len(self.positions), self.condition)
