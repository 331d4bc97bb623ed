"""What a catalog tells of its shelf as a whole: its segments, the count of its documents, and what is remembered."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from estante.index import records
from estante.index.notes import Broken, note, noted, row_crc
from estante.model import wire
from estante.model.ports import Deposit, LedgerRow


def tally(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many documents there are, and the sum of their numbers, to be compared with those of the segments."""
    row = connection.execute("SELECT count(*), coalesce(sum(doc), 0) FROM documents").fetchone()
    return int(row[0]), int(row[1])


# --- segments -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment that the catalog names: its number, file, size in bytes, the CRC of its footer, and its rows."""

    number: int
    name: str
    size: int
    footer: int
    rows: int


def segment_rows(connection: sqlite3.Connection, broken: Broken) -> list[SegmentRow]:
    """The segments, in the order of their numbers."""
    found = []
    for row in connection.execute("SELECT crc, segment, name, size, footer, rows FROM segments ORDER BY segment"):
        if row_crc(row[1:]) != row[0]:
            raise broken(f"the record of segment {row[1]} does not match its sum")
        found.append(SegmentRow(*row[1:]))
    return found


def add_segment(connection: sqlite3.Connection, row: SegmentRow) -> None:
    """Names a segment."""
    fields = (row.number, row.name, row.size, row.footer, row.rows)
    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", (*fields, row_crc(fields)))


# --- items --------------------------------------------------------------------------------------------------------

_ITEM = "crc, source, item, revision, digest, recipe, reason, docs"


def add_item(connection: sqlite3.Connection, deposit: Deposit, numbers: Sequence[int], broken: Broken) -> None:
    """Remembers an item and the numbers of the documents that it brought."""
    _count(connection, 1, broken)
    told = (deposit.revision, deposit.digest, deposit.recipe, deposit.reason, wire.dumps(list(numbers)))
    _write_item(connection, (deposit.source, deposit.item, *told))


def touch(connection: sqlite3.Connection, source: str, item: str, revision: str, broken: Broken) -> None:
    """Gives an item another revision, if it is remembered."""
    for row in _items(connection, "WHERE source = ? AND item = ?", (source, item), broken):
        _write_item(connection, (*row[:2], revision, *row[3:]))


def forget(connection: sqlite3.Connection, source: str, item: str, broken: Broken) -> int:
    """Takes out an item with the documents that it brought; returns how many those were."""
    rows = list(_items(connection, "WHERE source = ? AND item = ?", (source, item), broken))
    numbers = [number for row in rows for number in json.loads(row[6])]
    for row in records.numbered(connection, numbers, broken).values():
        records.remove(connection, row)
    if rows:
        connection.execute("DELETE FROM items WHERE source = ? AND item = ?", (source, item))
        _count(connection, -len(rows), broken)
    return len(numbers)


def _count(connection: sqlite3.Connection, change: int, broken: Broken) -> None:
    """Keeps how many items there are: that one is missing shows in nothing else."""
    note(connection, "items", str(int(noted(connection, "items", broken) or 0) + change))


def skipped(connection: sqlite3.Connection, broken: Broken) -> int:
    """How many items could not be read."""
    return sum(1 for _ in _items(connection, "WHERE reason <> ''", (), broken))


def read_ledger(
    connection: sqlite3.Connection, source: str | None, items: Sequence[str] | None, broken: Broken
) -> dict[tuple[str, str], LedgerRow]:
    """What is remembered of the items of a source, of some of them, or of all sources."""
    if source is None:
        whole = _ledger(connection, "", (), broken)
        told = sum(len(row.documents) for row in whole.values())
        if len(whole) != int(noted(connection, "items", broken) or 0) or told != tally(connection)[0]:
            raise broken("items that it remembered are missing")
        return whole
    if items is None:
        return _ledger(connection, "WHERE source = ?", (source,), broken)
    found: dict[tuple[str, str], LedgerRow] = {}
    for at in range(0, len(items), 500):
        some = items[at : at + 500]
        marks = ", ".join("?" * len(some))
        found.update(_ledger(connection, f"WHERE source = ? AND item IN ({marks})", (source, *some), broken))
    return found


def _write_item(connection: sqlite3.Connection, row: tuple[str, ...]) -> None:
    connection.execute("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, row_crc(row)))


def _items(
    connection: sqlite3.Connection, where: str, values: tuple[str, ...], broken: Broken
) -> Iterator[tuple[Any, ...]]:
    for row in connection.execute(f"SELECT {_ITEM} FROM items {where}", values).fetchall():
        if row_crc(row[1:]) != row[0]:
            raise broken(f"what is remembered of {row[2]!r} does not match its sum")
        yield row[1:]


def _ledger(
    connection: sqlite3.Connection, where: str, values: tuple[str, ...], broken: Broken
) -> dict[tuple[str, str], LedgerRow]:
    rows = [(*row[:6], json.loads(row[6])) for row in _items(connection, where, values, broken)]
    documents = records.numbered(connection, [number for row in rows for number in row[6]], broken)
    readers = {
        number: wire.readers_to_text(scope.readers)
        for number, scope in records.Scopes(connection, broken).by_number.items()
    }
    found: dict[tuple[str, str], LedgerRow] = {}
    for owner, item, revision, digest, recipe, reason, numbers in rows:
        mine = [documents[number] for number in numbers]
        if any(row.item != (owner, item) or row.scope not in readers for row in mine):
            raise broken(f"what is remembered of {item!r} names documents of another item")
        ids = tuple(sorted(row.id for row in mine))
        shown = readers[mine[-1].scope] if mine else ""
        found[owner, item] = LedgerRow(revision, digest, recipe, reason, ids, shown)
    return found
