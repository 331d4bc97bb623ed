"""Small named values of a shelf, each with its sum; and the sum itself, which every row of a catalog carries."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from typing import Any

Broken = Callable[[str], Exception]
"""Makes the error for a catalog that is not what was written."""


def row_crc(fields: tuple[object, ...]) -> int:
    """A sum over the fields of a row, in order."""
    return zlib.crc32(repr(fields).encode("utf-8", "surrogatepass"))


def note(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Keeps a small named value."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, row_crc((key, value))))


def noted(connection: sqlite3.Connection, key: str, broken: Broken) -> str | None:
    """A small named value, or None."""
    row = connection.execute("SELECT key, value, crc FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else _checked(row, broken)[1]


def notes(connection: sqlite3.Connection, broken: Broken) -> dict[str, str]:
    """All small named values."""
    return dict(_checked(row, broken) for row in connection.execute("SELECT key, value, crc FROM meta"))


def _checked(row: tuple[Any, Any, Any], broken: Broken) -> tuple[str, str]:
    key, value, crc = row
    if row_crc((key, value)) != crc:
        raise broken(f"what it notes as {key!r} does not match its sum")
    return str(key), str(value)


def generation(connection: sqlite3.Connection, broken: Broken) -> int:
    """How often the shelf was changed."""
    found = noted(connection, "generation", broken)
    if found is None or not found.isdecimal():
        raise broken("its generation is not a number")
    return int(found)


def reserve(connection: sqlite3.Connection, key: str, count: int, broken: Broken) -> range:
    """Numbers that none of the kind had before: of segments or of documents."""
    last = int(noted(connection, key, broken) or 0)
    note(connection, key, str(last + count))
    return range(last + 1, last + count + 1)
