"""The one filter engine: reads a filter, and decides it for one record of metadata.

A filter is JSON: ``{"field": value}``, ``{"field": {"$op": value, ...}}``, ``{"$and": [...]}``, ``{"$or": [...]}``,
``{"$nor": [...]}``, ``{"$not": {...}}``; all entries of one object must hold. Every store gives the same answers,
because every store asks ``holds``. The rules, once for all:

- A field that is absent and a field that is null are the same.
- ``$eq`` compares JSON values: 1 equals 1.0; true equals only true; "2" is not 2. On a list it also holds when one
  of the elements is equal. ``$ne`` and ``$nin`` are the exact opposites of ``$eq`` and ``$in``.
- ``$gt $gte $lt $lte`` compare numbers with numbers and strings with strings (so ISO dates compare as dates), never
  across kinds, and never null, booleans or mappings. On a list one element is enough.
- ``$contains`` is a substring of a string or an element of a list; ``$startswith`` and ``$endswith`` are for
  strings, or for one element of a list. All compare letter by letter, case and accents included.
- ``a.b`` is the field of that very name, or else ``b`` inside the mapping ``a``.
- ``@id @uri @source @title @language @media_type @added`` are the document's own attributes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from estante.model.asking import Condition, Every, Not, Some, Where
from estante.model.errors import QueryError

MAX_DEPTH: Final = 40
MAX_WHOLE: Final = 10**4_000
_NESTED: Final = ("list", "mapping")
ATTRIBUTES: Final = ("@id", "@uri", "@source", "@title", "@language", "@media_type", "@added")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, list | tuple) else "mapping"


def same(left: object, right: object) -> bool:
    """Equality of JSON values: by kind first, then by value."""
    kind = _kind(left)
    if kind != _kind(right):
        return False
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def _elements(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _equal(value: object, operand: object) -> bool:
    return same(value, operand) or (isinstance(value, list | tuple) and any(same(one, operand) for one in value))


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def decide(value: object, operand: object) -> bool:
        kind = _kind(operand)
        return any(_kind(one) == kind and compare(one, operand) for one in _elements(value))  # type: ignore[arg-type]

    return decide


def _contains(value: object, operand: object) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, list | tuple) and any(same(one, operand) for one in value)


def _starts(value: object, operand: object) -> bool:
    return any(isinstance(one, str) and one.startswith(str(operand)) for one in _elements(value))


def _ends(value: object, operand: object) -> bool:
    return any(isinstance(one, str) and one.endswith(str(operand)) for one in _elements(value))


def _in(value: object, operand: object) -> bool:
    return any(_equal(value, one) for one in _elements(operand))


OPERATORS: Final[dict[str, Callable[[object, object], bool]]] = {
    "$eq": _equal,
    "$ne": lambda value, operand: not _equal(value, operand),
    "$gt": _ordered(lambda left, right: left > right),
    "$gte": _ordered(lambda left, right: left >= right),
    "$lt": _ordered(lambda left, right: left < right),
    "$lte": _ordered(lambda left, right: left <= right),
    "$in": _in,
    "$nin": lambda value, operand: not _in(value, operand),
    "$exists": lambda value, operand: (value is not None) == operand,
    "$contains": _contains,
    "$startswith": _starts,
    "$endswith": _ends,
}


def holds(operator: str, operand: object, value: object) -> bool:
    """Whether one condition holds for one value."""
    return OPERATORS[operator](value, operand)


def decider(operator: str, operand: object) -> Callable[[object], bool]:
    """``holds`` for one operator and operand, prepared for many values: a long list is looked up, not searched."""
    if operator not in ("$in", "$nin"):
        return lambda value: holds(operator, operand, value)
    plain = frozenset((_kind(one), one) for one in _elements(operand) if _kind(one) not in _NESTED)
    nested = tuple(one for one in _elements(operand) if _kind(one) in _NESTED)
    wanted = operator == "$in"

    def decide(value: object) -> bool:
        known = any(_kind(one) not in _NESTED and (_kind(one), one) in plain for one in _elements(value))
        return (known or any(_equal(value, one) for one in nested)) == wanted

    return decide


def lookup(record: Mapping[str, object], field: str) -> object:
    """The value of a field: of that very name, or else along its dots; None when there is none."""
    value = record.get(field)
    if value is not None or "." not in field:
        return value
    root, _, rest = field.partition(".")
    inner = record.get(root)
    return lookup(inner, rest) if isinstance(inner, Mapping) else None


def matches(where: Where | None, record: Mapping[str, object]) -> bool:
    """Whether a record passes. This is the definition; whatever is faster must agree with it."""
    if where is None:
        return True
    if isinstance(where, Condition):
        return holds(where.operator, where.value, lookup(record, where.field))
    if isinstance(where, Every):
        return all(matches(part, record) for part in where.parts)
    if isinstance(where, Some):
        return any(matches(part, record) for part in where.parts)
    return not matches(where.part, record)


def parse(raw: Mapping[str, object] | None) -> Where | None:
    """A filter from its JSON form; None when there is none. Raises ``QueryError``, which says what to write."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise QueryError(
            f"a filter is an object, got {type(raw).__name__}", hint='For example {"year": {"$gte": 2020}}.'
        )
    return _object(raw, 1) if raw else None


def accept(where: object) -> Where | None:
    """A filter in any form that a caller may give: none, JSON, or the parsed form, which is checked as JSON is."""
    if where is None or isinstance(where, Mapping):
        return parse(where)
    return _checked(where, 1)


def _checked(where: object, depth: int) -> Where:
    _refuse_deep(depth)
    if isinstance(where, Every | Some):
        return type(where)(tuple(_checked(part, depth + 1) for part in where.parts))
    if isinstance(where, Not):
        return Not(_checked(where.part, depth + 1))
    if not isinstance(where, Condition):
        raise QueryError(
            f"a filter is an object, got {type(where).__name__}", hint='For example {"year": {"$gte": 2020}}.'
        )
    return _entry(where.field, {where.operator: where.value}, depth)


def _refuse_deep(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise QueryError(f"the filter is nested more than {MAX_DEPTH} deep", hint="Flatten it with $in or one $and.")


def _object(raw: object, depth: int) -> Where:
    _refuse_deep(depth)
    if not isinstance(raw, Mapping):
        raise QueryError(f"a filter is an object, got {_kind(raw)}", hint='For example {"year": 2020}.')
    parts = tuple(_entry(key, value, depth) for key, value in raw.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _entry(key: object, value: object, depth: int) -> Where:
    if not isinstance(key, str) or not key:
        raise QueryError(f"a field name is a non-empty text, got {key!r}", hint="Quote the field's name.")
    if key in ("$and", "$or", "$nor"):
        if not isinstance(value, list | tuple):
            raise QueryError(f"{key} takes a list of filters, got {_kind(value)}", hint=f'Write {{"{key}": [...]}}.')
        parts = tuple(_object(part, depth + 1) for part in value)
        return Every(parts) if key == "$and" else Some(parts) if key == "$or" else Not(Some(parts))
    if key == "$not":
        return Not(_object(value, depth + 1))
    if key.startswith("$"):
        _unknown(key, ["$and", "$or", "$nor", "$not"])
    if key.startswith("@") and key not in ATTRIBUTES:
        _unknown(key, list(ATTRIBUTES))
    return _field(key, value, depth)


def _field(field: str, value: object, depth: int) -> Where:
    _refuse_deep(depth)
    if not isinstance(value, Mapping):
        return Condition(field, "$eq", _operand("$eq", value))
    tests: list[Where] = []
    for operator, operand in value.items():
        if operator == "$not":
            tests.append(Not(_field(field, operand, depth + 1)))
        elif operator in OPERATORS:
            tests.append(Condition(field, operator, _operand(operator, operand)))
        elif str(operator).startswith("$"):
            _unknown(str(operator), [*OPERATORS, "$not"])
        else:
            raise QueryError(
                f"{field!r} is compared with a mapping", hint=f'To look inside, write {{"{field}.{operator}": ...}}.'
            )
    return tests[0] if len(tests) == 1 else Every(tuple(tests))


def _unknown(name: str, known: list[str]) -> None:
    near = get_close_matches(name, known, n=1, cutoff=0.65)
    raise QueryError(
        f"unknown name {name!r} in the filter",
        hint=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}.",
    )


def _operand(operator: str, value: object) -> object:
    """The operand, checked and frozen."""
    kind = _kind(value)
    if operator in ("$in", "$nin") and kind != "list":
        raise QueryError(f"{operator} takes a list, got {kind}", hint=f'Write {{"{operator}": [...]}}.')
    if operator == "$exists" and kind != "boolean":
        raise QueryError(f"$exists takes true or false, got {value!r}", hint='Write {"$exists": true}.')
    if operator in ("$gt", "$gte", "$lt", "$lte") and kind not in ("number", "string"):
        raise QueryError(f"{operator} compares numbers or texts, got {kind}", hint="Give a number or a text.")
    if operator in ("$startswith", "$endswith") and kind != "string":
        raise QueryError(f"{operator} takes a text, got {kind}", hint="Quote the value.")
    return _frozen(value, 1)


def _frozen(value: object, depth: int) -> object:
    if isinstance(value, int) and not -MAX_WHOLE <= value <= MAX_WHOLE:
        raise QueryError("a number of more than 4,000 digits is in no document", hint="Compare it as a text.")
    _refuse_deep(depth)
    if isinstance(value, float) and not math.isfinite(value):
        raise QueryError(f"{value!r} is not a JSON number", hint="Leave it out, or use $exists.")
    if isinstance(value, list | tuple):
        return tuple(_frozen(one, depth + 1) for one in value)
    if isinstance(value, Mapping):
        raise QueryError("a mapping cannot be an operand", hint="Compare its fields with dotted names.")
    if value is None or isinstance(value, str | int | float):
        return value
    raise QueryError(f"a filter holds JSON values, got {type(value).__name__}", hint="Dates are written as ISO texts.")


_SHORT: Final = re.compile(r"(@?[^\s=!<>~]+)\s*(>=|<=|!=|==?|>|<|~)(.*)", re.DOTALL)
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
    """A filter as people type it: JSON, or ``field=value`` with one of ``= != > >= < <= ~`` (~ is $contains).

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
    short = _SHORT.fullmatch(text.strip())
    if not short:
        raise QueryError(f"cannot read the filter {text!r}", hint="Write field=value, field>=value or JSON.")
    field, sign, value = short.groups()
    operator, value = _SIGNS[sign], value.strip()
    meant = _literal(value)
    if not isinstance(meant, int | float) or isinstance(meant, bool):
        return parse({field: {operator: meant}})
    both = [{field: {operator: meant}}, {field: {operator: value}}]
    return parse({"$and" if operator == "$ne" else "$or": both})


def _literal(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
