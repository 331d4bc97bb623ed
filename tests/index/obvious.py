"""The obvious reading of a filter: no parsing, no columns, straight from its JSON, one record at a time."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, date, datetime
from typing import Any

FORMS = ("%Y", "%Y-%m", "%Y-%m-%d")


def plain(raw: dict[str, Any]) -> dict[str, Any]:
    """A filter as JSON in the spelling of metadata."""
    text = json.dumps(raw, ensure_ascii=False, default=lambda day: day.isoformat() if isinstance(day, date) else None)
    return dict(json.loads(unicodedata.normalize("NFC", text)))


def passes(raw: dict[str, Any], metadata: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a document or passage with this metadata, and these attributes, passes."""
    return all(_entry(key, value, metadata, own) for key, value in raw.items())


def _entry(key: str, value: Any, metadata: dict[str, Any], own: dict[str, Any]) -> bool:
    if key == "$and":
        return all(passes(part, metadata, own) for part in value)
    if key == "$or":
        return any(passes(part, metadata, own) for part in value)
    if key == "$nor":
        return not any(passes(part, metadata, own) for part in value)
    if key == "$not":
        return not passes(value, metadata, own)
    return _meets(own.get(key) if key.startswith("@") else _at(metadata, key), value)


def _at(value: Any, key: str) -> Any:
    if key[:1] == "'" or ".'" in key:
        names = [
            one[1:-1].replace("''", "'") if one[:1] == "'" else one for one in re.findall(r"'(?:[^']|'')*'|[^.']+", key)
        ]
        for name in names:
            value = value.get(name) if isinstance(value, dict) else _each(value, f"'{name}'")
        return value
    if isinstance(value, list):
        return _each(value, key)
    if not isinstance(value, dict):
        return None
    if value.get(key) is not None or "." not in key:
        return value.get(key)
    root, rest = key.split(".", 1)
    return _at(value.get(root), rest)


def _each(value: Any, key: str) -> Any:
    found = [_at(one, key) for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    found = [one for one in found if one is not None]
    return [part for one in found for part in (one if isinstance(one, list) else [one])] if found else None


def _meets(value: Any, test: Any) -> bool:
    if not isinstance(test, dict):
        return _equal(value, test)
    return all(_holds(value, name, operand) for name, operand in test.items())


def _text(value: Any) -> str:
    """A value as a text that is the same for the same value only."""
    if isinstance(value, dict):
        return json.dumps({key: _text(one) for key, one in value.items()}, sort_keys=True)
    if isinstance(value, list | tuple):
        return json.dumps([_text(one) for one in value])
    if isinstance(value, float) and value == int(value):
        return repr(int(value))
    return repr(value)


def _equal(value: Any, operand: Any) -> bool:
    return _text(value) == _text(operand) or (
        isinstance(value, list) and any(_text(one) == _text(operand) for one in value)
    )


def _holds(value: Any, name: str, operand: Any) -> bool:
    each = value if isinstance(value, list) else [value]
    texts = [one for one in each if isinstance(one, str)]
    if name in ("$gt", "$gte", "$lt", "$lte"):
        return any(_ordered(one, name, operand) for one in each)
    if name == "$any" and isinstance(operand, dict):
        whole = all(key.startswith("$") and key not in ("$and", "$or", "$nor") for key in operand) and operand
        if whole and not (list(operand) == ["$not"] and any(not key.startswith("$") for key in operand["$not"])):
            return any(_meets(one, operand) for one in each)
        return any(passes(operand, one if isinstance(one, dict) else {}, {}) for one in each)
    return {
        "$eq": lambda: _equal(value, operand),
        "$ne": lambda: not _equal(value, operand),
        "$in": lambda: any(_equal(value, one) for one in operand),
        "$any": lambda: any(_equal(value, one) for one in operand),
        "$nin": lambda: not any(_equal(value, one) for one in operand),
        "$all": lambda: all(_equal(value, one) for one in operand),
        "$exists": lambda: (value is not None) == operand,
        "$size": lambda: isinstance(value, list) and len(value) == operand,
        "$startswith": lambda: any(one.startswith(operand) for one in texts),
        "$endswith": lambda: any(one.endswith(operand) for one in texts),
        "$contains": lambda: _contains(value, operand),
        "$not": lambda: not _meets(value, operand),
    }[name]()


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, str):
        return isinstance(operand, str) and value.find(operand) >= 0
    return isinstance(value, list) and any(_text(one) == _text(operand) for one in value)


def _ordered(value: Any, name: str, operand: Any) -> bool:
    numbers = [one for one in (value, operand) if isinstance(one, int | float) and not isinstance(one, bool)]
    texts = [one for one in (value, operand) if isinstance(one, str)]
    if len(numbers) < 2 and len(texts) < 2:
        return False
    left, right = value, operand
    if len(texts) == 2 and None not in (dates := (_date(value), _date(operand))):
        coarse = min(len(dates[0]), len(dates[1]))  # type: ignore[arg-type]
        left, right = dates[0][coarse - 1], dates[1][coarse - 1]  # type: ignore[index]
    return bool({"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[name])


def _date(text: str) -> list[Any] | None:
    """Year, month, day and moment of a date, as many of them as are written."""
    for count, form in enumerate(FORMS, start=1):
        if len(text) == (4, 7, 10)[count - 1]:
            try:
                found = datetime.strptime(text, form)
            except ValueError:
                return None
            return [found.year, (found.year, found.month), found.date()][:count]
    try:
        found = datetime.fromisoformat(text) if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text) else None  # type: ignore[assignment]
    except ValueError:
        return None
    if found is None:
        return None
    moment = found if found.tzinfo else found.replace(tzinfo=UTC)
    return [found.year, (found.year, found.month), found.date(), moment.astimezone(UTC)]
