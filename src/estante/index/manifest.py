"""What a catalog tells of its shelf as a whole: segments' numbers, languages, and what is remembered of items."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from estante.model.ports import LedgerRow


def next_segment(connection: sqlite3.Connection) -> int:
    """A number for a segment that no other had before."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'segment'").fetchone()
    number = int(row[0]) + 1 if row else 1
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('segment', ?)", (str(number),))
    return number


def tally(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many documents there are, and the sum of their numbers, to be compared with those of the segments."""
    row = connection.execute("SELECT count(*), coalesce(sum(doc), 0) FROM documents").fetchone()
    return int(row[0]), int(row[1])


def languages(connection: sqlite3.Connection, scopes: Sequence[int] | None = None) -> tuple[str, ...]:
    """The distinct languages of documents, of these scopes alone if given, sorted."""
    found: list[str] = []
    if scopes is not None:
        query = f"SELECT DISTINCT language FROM documents WHERE scope IN ({', '.join('?' * len(scopes))}) ORDER BY 1"
        return tuple(str(row[0]) for row in connection.execute(query, list(scopes)))
    # Hops from one to the next in the index.
    row = connection.execute("SELECT min(language) FROM documents").fetchone()
    while row and row[0] is not None:
        found.append(str(row[0]))
        row = connection.execute("SELECT min(language) FROM documents WHERE language > ?", (row[0],)).fetchone()
    return tuple(found)


def read_ledger(
    connection: sqlite3.Connection, source: str | None, items: Sequence[str] | None
) -> dict[tuple[str, str], LedgerRow]:
    """What is remembered of the items of a source, of some of them, or of all sources."""
    if source is None:
        return _ledger(connection, "", ())
    if items is None:
        return _ledger(connection, "WHERE source = ?", (source,))
    found: dict[tuple[str, str], LedgerRow] = {}
    for at in range(0, len(items), 500):
        some = items[at : at + 500]
        marks = ", ".join("?" * len(some))
        found.update(_ledger(connection, f"WHERE source = ? AND item IN ({marks})", (source, *some)))
    return found


def _ledger(connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> dict[tuple[str, str], LedgerRow]:
    documents: dict[tuple[str, str], list[str]] = {}
    readers: dict[tuple[str, str], str] = {}
    query = f"SELECT source, item, id, readers FROM documents JOIN scopes USING (scope) {where}"
    for owner, item, document_id, scope in connection.execute(query, values):
        documents.setdefault((owner, item), []).append(document_id)
        readers[owner, item] = scope
    query = f"SELECT source, item, revision, digest, recipe, reason FROM items {where}"
    return {
        (owner, item): LedgerRow(
            revision,
            digest,
            recipe,
            reason,
            tuple(sorted(documents.get((owner, item), ()))),
            readers.get((owner, item), ""),
        )
        for owner, item, revision, digest, recipe, reason in connection.execute(query, values)
    }
