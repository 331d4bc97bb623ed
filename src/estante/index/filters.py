"""Filters as callers write them: JSON, the parsed form, or a line of text, read into one checked form.

A filter is JSON: ``{"field": value}``, ``{"field": {"$op": value, ...}}``, ``{"$and": [...]}``, ``{"$or": [...]}``,
``{"$nor": [...]}``, ``{"$not": {...}}``; all entries of one object must hold. What it means stands in ``conditions``.
An error names the place in the filter, as in ``where.$or[2].year.$gt``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Final, NoReturn

from estante.index.conditions import ATTRIBUTES, ELEMENT, OPERATORS, ORDERS, PASSAGES, kind_of, path
from estante.model.asking import Condition, Every, Not, Some, Where
from estante.model.content import canonical
from estante.model.errors import QueryError

MAX_DEPTH: Final = 40
MAX_CONDITIONS: Final = 10_000
MAX_VALUES: Final = 1_000_000
MAX_NAME: Final = 1_000
MAX_WHOLE: Final = 10**4_000
ROOT: Final = "where"
LOGIC: Final = ("$and", "$or", "$nor", "$not")

_EXAMPLE: Final = 'For example {"year": {"$gte": 2020}}.'


def parse(raw: Mapping[str, object] | None) -> Where | None:
    """A filter from its JSON form; None when there is none. Raises ``QueryError``, which says what to write."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        _refuse(ROOT, f"a filter is an object, got {type(raw).__name__}", _EXAMPLE)
    return _Reading().whole(raw, ROOT, 1) if raw else None


def accept(where: object) -> Where | None:
    """A filter in any form that a caller may give: none, JSON, or the parsed form, which is checked as JSON is."""
    if where is None or isinstance(where, Mapping):
        return parse(where)
    return _Reading().checked(where, ROOT, 1)


def _refuse(place: str, what: str, hint: str) -> NoReturn:
    raise QueryError(f"{place}: {what}", hint=hint)


def _told(value: object) -> str:
    """A value in an error: as much of it as says which one it is."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:59]}…")
    if isinstance(value, int) and abs(value) >= 10**60:  # Python turns no number of thousands of digits into a text.
        return "a very large number"
    return repr(value) if isinstance(value, bool | int | float | None) else f"a {kind_of(value)}"


def _step(name: str) -> str:
    """A name as part of a place."""
    shown = name if name.isprintable() else ascii(name)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


class _Reading:
    """One reading of a filter, which counts as it goes."""

    def __init__(self) -> None:
        self._conditions = 0
        self._values = 0

    # --- the filter ------------------------------------------------------------------------------------------------

    def whole(self, raw: object, place: str, depth: int, *, inside: bool = False) -> Where:
        """An object of fields and logic; ``inside`` an element of a list there are no attributes."""
        _refuse_deep(place, depth)
        if not isinstance(raw, Mapping):
            _refuse(place, f"a filter is an object, got {kind_of(raw)}", _EXAMPLE)
        parts = tuple(self._entry(key, value, place, depth, inside) for key, value in raw.items())
        return parts[0] if len(parts) == 1 else Every(parts)

    def checked(self, where: object, place: str, depth: int, *, inside: bool = False) -> Where:
        """The parsed form, held to the same rules."""
        _refuse_deep(place, depth)
        if isinstance(where, Every | Some):
            sign = "$and" if isinstance(where, Every) else "$or"
            parts = (
                self.checked(part, f"{place}.{sign}[{at}]", depth + 1, inside=inside)
                for at, part in enumerate(where.parts)
            )
            return type(where)(tuple(parts))
        if isinstance(where, Not):
            return Not(self.checked(where.part, f"{place}.$not", depth + 1, inside=inside))
        if not isinstance(where, Condition):
            _refuse(place, f"a filter is an object, got {type(where).__name__}", _EXAMPLE)
        if where.operator == "$any" and isinstance(where.value, Where):
            within = f"{place}.{_step(str(where.field))}.$any"
            return self._condition(where.field, "$any", self.checked(where.value, within, depth + 1, inside=True))
        if inside and where.field == ELEMENT:
            return self._field(ELEMENT, {where.operator: where.value}, place, depth)
        return self._entry(where.field, {where.operator: where.value}, place, depth, inside)

    def _entry(self, key: object, value: object, place: str, depth: int, inside: bool) -> Where:
        if not isinstance(key, str) or not key:
            _refuse(place, f"a field name is a non-empty text, got {_told(key)}", "Quote the field's name.")
        if key in LOGIC:
            return self._logic(key, value, f"{place}.{key}", depth, inside)
        if key.startswith("$"):
            near = _nearest(key, [*LOGIC, *OPERATORS])
            if near in OPERATORS:
                _refuse(place, f"{_step(key)} stands where a field is due", f'Write {{"field": {{"{near}": ...}}}}.')
            hint = f"Did you mean {near}?" if near else f"Known here: {', '.join(LOGIC)}."
            _refuse(place, f"unknown name {_told(key)}", f"{hint} A field of that name is written '{_step(key)}'.")
        if key.startswith("@") and (inside or key not in (*ATTRIBUTES, *PASSAGES)):
            near = _nearest(key, [] if inside else [*ATTRIBUTES, *PASSAGES])
            known = "an element has none" if inside else ", ".join((*ATTRIBUTES, *PASSAGES))
            hint = f"Did you mean {near}?" if near else f"Known: {known}."
            _refuse(place, f"unknown name {_told(key)}", f"{hint} A field of that name is written '{_step(key)}'.")
        return self._field(_named(key, place), value, f"{place}.{_step(key)}", depth)

    def _logic(self, key: str, value: object, place: str, depth: int, inside: bool) -> Where:
        if key == "$not":
            return Not(self.whole(value, place, depth + 1, inside=inside))
        if not isinstance(value, list | tuple):
            _refuse(place, f"{key} takes a list of filters, got {kind_of(value)}", f'Write {{"{key}": [...]}}.')
        given = enumerate(value)
        parts = tuple(self.whole(part, f"{place}[{at}]", depth + 1, inside=inside) for at, part in given)
        return Every(parts) if key == "$and" else Some(parts) if key == "$or" else Not(Some(parts))

    def _field(self, field: str, value: object, place: str, depth: int) -> Where:
        _refuse_deep(place, depth)
        if not isinstance(value, Mapping):
            return self._condition(field, "$eq", self._operand("$eq", value, place))
        tests = tuple(self._test(field, name, operand, place, depth) for name, operand in value.items())
        return tests[0] if len(tests) == 1 else Every(tests)

    def _test(self, field: str, name: object, operand: object, place: str, depth: int) -> Where:
        if name == "$not":
            return Not(self._field(field, operand, f"{place}.$not", depth + 1))
        if name == "$any" and isinstance(operand, Mapping):
            within = f"{place}.$any"
            if _of_operators(operand, 0):
                return self._condition(field, "$any", self._field(ELEMENT, operand, within, depth + 1))
            return self._condition(field, "$any", self.whole(operand, within, depth + 1, inside=True))
        if isinstance(name, str) and name in OPERATORS:
            return self._condition(field, name, self._operand(name, operand, f"{place}.{name}"))
        if not str(name).startswith("$"):
            _refuse(
                place, "it is compared with a mapping", f'To look inside, write {{"{_step(f"{field}.{name}")}": ...}}.'
            )
        near = _nearest(str(name), [*OPERATORS, "$not"])
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join(OPERATORS)}, $not."
        _refuse(f"{place}.{_step(str(name))}", f"unknown operator {_told(name)}", hint)

    def _condition(self, field: str, name: str, value: object) -> Condition:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            _refuse(ROOT, f"more than {MAX_CONDITIONS:,} conditions", "Put many values of one field into one $in.")
        return Condition(field, name, value)

    # --- operands --------------------------------------------------------------------------------------------------

    def _operand(self, name: str, value: object, place: str) -> object:
        """The operand, checked and frozen."""
        value = _simple(value)
        kind = kind_of(value)
        if name in ("$in", "$nin", "$all", "$any") and kind != "list":
            _refuse(place, f"{name} takes a list, got {kind}", f'Write {{"{name}": [...]}}.')
        if name == "$exists" and kind != "boolean":
            _refuse(place, f"$exists takes true or false, got {_told(value)}", 'Write {"$exists": true}.')
        if name in ORDERS and kind not in ("number", "string"):
            _refuse(place, f"{name} compares numbers or texts, got {kind}", "Give a number, a text or a date.")
        if name in ("$startswith", "$endswith") and kind != "string":
            _refuse(place, f"{name} takes a text, got {kind}", "Quote the value.")
        if name == "$size" and (type(value) is not int or value < 0):
            _refuse(place, f"$size takes a whole number from 0, got {_told(value)}", 'Write {"$size": 2}.')
        return self._frozen(value, place, 1)

    def _frozen(self, value: object, place: str, depth: int) -> object:
        if isinstance(value, str):
            return canonical(value)
        if isinstance(value, list | tuple):
            _refuse_deep(place, depth)
            self._count(len(value))
            if _plain(value):
                return tuple(value)
            return tuple(self._frozen(one, f"{place}[{at}]", depth + 1) for at, one in enumerate(value))
        return _scalar(value, place)

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            _refuse(ROOT, f"more than {MAX_VALUES:,} values", "Ask in parts, or for what these have in common.")


def _plain(values: Sequence[Any]) -> bool:
    """Whether a list may stay as it is: texts of plain letters, or whole numbers. Long lists are nearly always such."""
    types = set(map(type, values))
    if types == {str}:
        joined = "".join(values)
        return joined.isascii() and "\r" not in joined and "\0" not in joined
    return types == {int} and min(values) >= -MAX_WHOLE and max(values) <= MAX_WHOLE


def _scalar(value: object, place: str) -> object:
    value = _simple(value)
    if isinstance(value, int) and not -MAX_WHOLE <= value <= MAX_WHOLE:
        _refuse(place, "a number of more than 4,000 digits is in no document", "Compare it as a text.")
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(place, f"{value!r} is not a JSON number", "Leave it out, or use $exists.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        _refuse(place, "a mapping cannot be an operand", "Compare its fields with dotted names.")
    _refuse(place, f"a filter holds JSON values, got {type(value).__name__}", "Dates may be dates or ISO texts.")


def _simple(value: object) -> object:
    """What metadata would hold of a value that JSON does not know; anything else as it is."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return value.isoformat() if isinstance(value, date | time) else value


def _refuse_deep(place: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        start = place if len(place) <= 120 else f"{place[:119]}…"
        _refuse(start, f"the filter is nested more than {MAX_DEPTH} deep", "Flatten it with $in or one $and.")


def _named(key: str, place: str) -> str:
    """A field's name as it is kept: in the spelling that metadata has. Its quotes are looked at."""
    if len(key) > MAX_NAME:
        _refuse(place, f"a field name of {len(key):,} characters is in no document", "Name the field that is meant.")
    field = canonical(key)
    if not field:
        _refuse(place, f"a field name is a non-empty text, got {_told(key)}", "Quote the field's name.")
    try:
        path(field)
    except ValueError as error:
        hint = "A name in quotes ends with one; write '' for a quote within it."
        raise QueryError(f"{place}: {error}: {_told(key)}", hint=hint) from error
    return field


def _of_operators(raw: Mapping[str, object], depth: int) -> bool:
    """Whether an object asks something of the element itself, and not of fields inside it."""
    if not raw or depth > MAX_DEPTH:  # An empty one asks nothing, and one too deep is refused all the same.
        return bool(raw)
    for name, value in raw.items():
        if name == "$not":
            if isinstance(value, Mapping) and not _of_operators(value, depth + 1):
                return False
        elif name in LOGIC or not str(name).startswith("$"):
            return False
    return True


def _nearest(name: str, known: list[str]) -> str | None:
    near = get_close_matches(_OTHERS.get(name.lower(), name.lower()), known, n=1, cutoff=0.65)
    return near[0] if near else None


_OTHERS: Final = {
    "$elemmatch": "$any", "$notin": "$nin", "$prefix": "$startswith", "$suffix": "$endswith", "$like": "$contains",
    "$len": "$size", "$length": "$size", "$ge": "$gte", "$le": "$lte", "$neq": "$ne", "@page_number": "@page",
    "@lang": "@language", "@path": "@uri", "@headings": "@heading", "@trail": "@heading", "@created": "@added",
    "@modified": "@added", "@updated": "@added", "@date": "@added", "@type": "@media_type",
}  # fmt: skip
"""What others call it."""


# --- as people type it -----------------------------------------------------------------------------------------------

_SIGN: Final = re.compile(r"\s*(>=|<=|!=|==?|>|<|~)")
_NAME: Final = re.compile(r"[^\s=!<>~.]*")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'")
_SIGNS: Final = {
    "=": "$eq",
    "==": "$eq",
    "!=": "$ne",
    ">=": "$gte",
    "<=": "$lte",
    ">": "$gt",
    "<": "$lt",
    "~": "$contains",
}


def read(text: str) -> Where | None:
    """A filter as people type it: JSON, or ``field=value`` with one of ``= != > >= < <= ~`` (~ is $contains, of a
    list also of one of its texts).

    A value that reads as a number stands for the number and for the text, so that ``date>=2024`` finds ISO dates;
    in JSON, and between quotes, it is what it is.
    """
    if text.lstrip().startswith("{"):
        try:
            return parse(json.loads(text))
        except (ValueError, RecursionError) as error:  # ValueError: no JSON, or a number of thousands of digits.
            raise QueryError(
                f"the filter is not JSON: {error}", hint='For example {"year": {"$gte": 2020}}.'
            ) from error
    field, rest = _split(text.strip())
    sign = _SIGN.match(rest)
    if not field or not sign:
        raise QueryError(f"cannot read the filter {_told(text)}", hint="Write field=value, field>=value or JSON.")
    operator, value = _SIGNS[sign[1]], rest[sign.end() :].strip()
    meant = _literal(value)
    one = _one(field, operator, meant)
    if not isinstance(meant, int | float) or isinstance(meant, bool):
        return one
    both = one, _one(field, operator, value)
    return Every(both) if operator == "$ne" else Some(both)


def _one(field: str, operator: str, value: object) -> Where:
    """One typed condition; of a list of texts, ``~`` looks into each."""
    found = _Reading().whole({field: {operator: value}}, ROOT, 1)
    if operator != "$contains" or not isinstance(value, str) or not isinstance(found, Condition):
        return found
    return Some((found, Condition(found.field, "$any", Condition(ELEMENT, "$contains", found.value))))


def _split(text: str) -> tuple[str, str]:
    """The name that a line begins with, and the rest; names in quotes may hold blanks and signs."""
    at = 0
    while True:
        found = _QUOTED.match(text, at) or _NAME.match(text, at)
        at = found.end() if found else at
        if not text.startswith(".", at):
            return text[:at], text[at:]
        at += 1


def _literal(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
