"""What a filter means: every operator, decided for one value, and a whole filter, decided for one record.

This is the definition. Whatever is faster answers as it does. The rules, once for all:

- Absent and null are the same.
- Values are equal by kind, then by value: 1 equals 1.0; true equals only true; "2" is not 2. On a list, a condition
  holds when it holds for the list, or for one of its elements. ``$ne`` and ``$nin`` are the opposites of ``$eq`` and
  ``$in``.
- ``$gt $gte $lt $lte`` compare numbers with numbers, exactly, and texts with texts: two dates as ``dates`` says, others
  letter by letter. They never hold across kinds, nor for null, true, false and mappings.
- ``$contains`` is a part of a text, or an element of a list; ``$startswith`` and ``$endswith`` are for texts, and for
  the elements of a list. They compare letter by letter, case and accents included.
- ``$all`` holds when ``$eq`` holds for each of its values. ``$any`` with values is ``$in``; with a filter or operators,
  it holds when one and the same element meets all of them. ``$size`` counts the elements of a list.
- ``a.b`` is the field of that very name, or else ``b`` inside ``a``; inside a list, of each of its mappings. A name in
  single quotes is taken as it stands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from estante.index import dates
from estante.model.asking import Condition, Every, Not, Some, Where
from estante.model.content import LINE, PLACES

ATTRIBUTES: Final = ("@id", "@uri", "@source", "@title", "@language", "@media_type", "@added")
"""What a document says of itself, beside its metadata."""

PASSAGES: Final = ("@heading", "@locator", *(f"@{kind}" for kind in (*PLACES, LINE)))
"""What a passage says of itself."""

ELEMENT: Final = "@"
"""The element itself, in what ``$any`` asks of one."""

NESTED: Final = ("list", "mapping")
ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def kind_of(value: object) -> str:
    """Null, boolean, number, string, list or mapping; the type's own name for what JSON does not know."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list | tuple):
        return "list"
    return "mapping" if isinstance(value, Mapping) else type(value).__name__


def same(left: object, right: object) -> bool:
    """Equality of JSON values: by kind first, then by value."""
    kind = kind_of(left)
    if kind != kind_of(right):
        return False
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def shape(value: object) -> Hashable:
    """A key that is equal for two values exactly when they are the same."""
    kind = kind_of(value)
    if isinstance(value, Mapping):
        return kind, frozenset((name, shape(one)) for name, one in value.items())
    if isinstance(value, list | tuple):
        return kind, tuple(map(shape, value))
    return kind, value if isinstance(value, Hashable) else repr(value)


def _elements(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _equal(value: object, operand: object) -> bool:
    return same(value, operand) or (isinstance(value, list | tuple) and any(same(one, operand) for one in value))


def _in(value: object, operand: object) -> bool:
    return any(_equal(value, one) for one in _elements(operand))


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    def one(value: object, operand: object) -> bool:
        if kind_of(value) != kind_of(operand):
            return False
        if isinstance(value, str) and isinstance(operand, str):
            left, right = dates.read(value), dates.read(operand)
            if left is not None and right is not None:
                return compare(left.against(right), 0)
        return compare(value, operand)

    return lambda value, operand: any(one(element, operand) for element in _elements(value))


def _contains(value: object, operand: object) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and operand in value
    return isinstance(value, list | tuple) and any(same(one, operand) for one in value)


def _starts(value: object, operand: object) -> bool:
    return any(isinstance(one, str) and one.startswith(str(operand)) for one in _elements(value))


def _ends(value: object, operand: object) -> bool:
    return any(isinstance(one, str) and one.endswith(str(operand)) for one in _elements(value))


def _any(value: object, operand: object) -> bool:
    if not isinstance(operand, Where):
        return _in(value, operand)
    return any(matches(operand, _of_element(one)) for one in _elements(value))


def _of_element(one: object) -> dict[str, object]:
    return record(one if isinstance(one, Mapping) else {}, {ELEMENT: one})


OPERATORS: Final[dict[str, Callable[[object, object], bool]]] = {
    "$eq": _equal,
    "$ne": lambda value, operand: not _equal(value, operand),
    **{name: _ordered(compare) for name, compare in ORDERS.items()},
    "$in": _in,
    "$nin": lambda value, operand: not _in(value, operand),
    "$exists": lambda value, operand: (value is not None) == operand,
    "$contains": _contains,
    "$startswith": _starts,
    "$endswith": _ends,
    "$all": lambda value, operand: all(_equal(value, one) for one in _elements(operand)),
    "$any": _any,
    "$size": lambda value, operand: isinstance(value, list | tuple) and len(value) == operand,
}


def holds(name: str, operand: object, value: object) -> bool:
    """Whether one operator holds for one value."""
    return OPERATORS[name](value, operand)


def matches(where: Where | None, held: Mapping[str, object]) -> bool:
    """Whether a record passes."""
    if where is None:
        return True
    if isinstance(where, Condition):
        return holds(where.operator, where.value, lookup(held, where.field))
    if isinstance(where, Every):
        return all(matches(part, held) for part in where.parts)
    if isinstance(where, Some):
        return any(matches(part, held) for part in where.parts)
    return not matches(where.part, held)


def prepared(where: Where | None) -> Callable[[Mapping[str, object]], bool]:
    """``matches`` for one filter, prepared for many records: a long list is looked up, not searched."""
    if where is None:
        return lambda held: True
    if isinstance(where, Condition):
        field, meets = where.field, _prepared(where)
        return lambda held: meets(lookup(held, field))
    if isinstance(where, Not):
        inner = prepared(where.part)
        return lambda held: not inner(held)
    parts, some = [prepared(part) for part in where.parts], any if isinstance(where, Some) else all
    return lambda held: some(part(held) for part in parts)


def _prepared(condition: Condition) -> Callable[[object], bool]:
    name, operand = condition.operator, condition.value
    if name not in ("$in", "$nin", "$any") or not isinstance(operand, list | tuple):
        return lambda value: holds(name, operand, value)
    keys, wanted = frozenset(map(shape, operand)), name != "$nin"

    def decide(value: object) -> bool:
        found = shape(value) in keys or (isinstance(value, list | tuple) and any(shape(one) in keys for one in value))
        return found == wanted

    return decide


def conditions(where: Where | None) -> Iterator[Condition]:
    """Every condition of a filter, in order."""
    if isinstance(where, Condition):
        yield where
    elif isinstance(where, Not):
        yield from conditions(where.part)
    elif where is not None:
        for part in where.parts:
            yield from conditions(part)


def of_passages(where: Where | None) -> bool:
    """Whether a filter asks for what differs from passage to passage of one document."""
    return any(one.field in PASSAGES for one in conditions(where))


# --- records -------------------------------------------------------------------------------------------------------


def record(metadata: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Metadata and attributes as ``matches`` reads them; a field that is named like an attribute makes way for it."""
    return {("'" + name if name[:1] in ("@", "'") else name): value for name, value in metadata.items()} | dict(own)


def passage(trail: Iterable[str], locator: str) -> dict[str, object]:
    """The attributes of a passage: its headings, where it stands, and the number or name of that place."""
    told: dict[str, object] = {"@heading": list(trail) or None, "@locator": locator or None}
    kind, _, label = locator.partition(" ")
    if f"@{kind}" in PASSAGES[2:]:
        told[f"@{kind}"] = int(label) if label.isascii() and label.isdigit() and len(label) < 19 else label
    return told


def lookup(held: Mapping[str, object], field: str) -> object:
    """The value of a field of a record; None when there is none."""
    names = path(field)
    return _unquoted(held, field) if names is None else _along(held, names)


def _unquoted(held: Mapping[str, object], field: str) -> object:
    value = held.get(field)
    if value is not None or "." not in field:
        return value
    root, _, rest = field.partition(".")
    return _inside(held.get(root), lambda inner: _unquoted(inner, rest))


def _along(held: Mapping[str, object], names: tuple[str, ...]) -> object:
    value = held.get(names[0])
    return value if len(names) == 1 else _inside(value, lambda inner: _along(inner, names[1:]))


def _inside(value: object, find: Callable[[Mapping[str, object]], object]) -> object:
    """What is found in a mapping, or in the mappings of a list, as one list."""
    if isinstance(value, Mapping):
        return find(value)
    if not isinstance(value, list | tuple):
        return None
    found = [inner for one in value if isinstance(one, Mapping) and (inner := find(one)) is not None]
    return [one for inner in found for one in _elements(inner)] if found else None


@lru_cache(maxsize=1024)
def path(field: str) -> tuple[str, ...] | None:
    """The names along a path of which one is quoted; None where none is. Raises ``ValueError`` for a lone quote."""
    if not field.startswith("'") and ".'" not in field:
        return None
    names, at = [], 0
    while True:
        name, at = _name(field, at)
        names.append(name)
        if at == len(field):
            break
        at += 1
    if field.startswith("'") and names[0][:1] in ("@", "'"):
        names[0] = "'" + names[0]
    return tuple(names)


def _name(field: str, at: int) -> tuple[str, int]:
    """The name that begins here, and where it ends."""
    if not field.startswith("'", at):
        end = field.find(".", at)
        end = len(field) if end < 0 else end
        return field[at:end], end
    end = at + 1
    while True:
        end = field.find("'", end)
        if end < 0:
            raise ValueError("a quoted name does not end")
        if not field.startswith("''", end):
            break
        end += 2
    if end + 1 < len(field) and field[end + 1] != ".":
        raise ValueError("a quoted name is followed by a dot or by nothing")
    return field[at + 1 : end].replace("''", "'"), end + 1
