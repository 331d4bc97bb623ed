"""Documents as rows of a catalog: their records, texts and cuts, each with its sum.

Texts are kept in pages of 16,384 characters, compressed, so a passage of a 50 MB text costs as much to read as one of
a page.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from estante.index.notes import Broken, reserve, row_crc
from estante.model import wire
from estante.model.access import Scope
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.ports import Deposit, Listing

PAGE: Final = 16_384
CUTS: Final = 256
"""Cuts in a page: what one hit reads of the cuts of its document."""

FIELDS: Final = (
    "id, uri, source, item, title, language, media_type, scope, chars, chunks, metadata, redactions, losses, added"
)
_MARKS: Final = ", ".join("?" * len(FIELDS.split(", ")))


class Scopes:
    """The scopes of a shelf and their numbers."""

    def __init__(self, connection: sqlite3.Connection, broken: Broken) -> None:
        self.by_number: dict[int, Scope] = {}
        for crc, number, tenant, readers in connection.execute("SELECT crc, scope, tenant, readers FROM scopes"):
            if crc != row_crc((number, tenant, readers)):
                raise broken(f"the record of scope {number} does not match its sum")
            self.by_number[int(number)] = Scope(tenant, wire.readers_from_text(readers))

    @staticmethod
    def number(connection: sqlite3.Connection, scope: Scope, broken: Broken) -> int:
        """The number of a scope, given one if it is new."""
        key = (scope.tenant, wire.readers_to_text(scope.readers))
        query = "SELECT scope, tenant, readers FROM scopes WHERE tenant = ? AND readers = ?"
        for number, *found in connection.execute(query, key):
            if tuple(found) != key:
                raise broken("its scopes are not where they should be")
            return int(number)
        number = reserve(connection, "scope", 1, broken)[0]
        connection.execute("INSERT INTO scopes VALUES (?, ?, ?, ?)", (number, *key, row_crc((number, *key))))
        return number


@dataclass(frozen=True, slots=True)
class Place:
    """Where a new document goes: its number, the generation that brings it, and the segment of its rows."""

    number: int
    version: int
    segment: int


def insert(
    connection: sqlite3.Connection,
    deposit: Deposit,
    document: Document,
    chunks: Sequence[Chunk],
    place: Place,
    broken: Broken,
) -> int:
    """Writes a document, its text and its cuts; returns the number of its scope."""
    scope = Scopes.number(connection, document.scope, broken)
    fields = (
        document.id,
        document.uri,
        document.source,
        deposit.item,
        document.title,
        document.language,
        document.media_type,
        scope,
        len(document.text),
        len(chunks),
        wire.dumps(wire.plain(document.metadata)),
        len(document.redactions),
        wire.dumps(list(deposit.losses)),
        deposit.added,
        place.version,
    )
    number = place.number
    connection.execute(
        f"INSERT INTO documents (doc, {FIELDS}, version, segment, crc) VALUES (?, {_MARKS}, ?, ?, ?)",
        (number, *fields, place.segment, row_crc((number, *fields))),
    )
    features = [wire.marks_to_json(document.marks), wire.redactions_to_json(document.redactions)]
    connection.execute("INSERT INTO features VALUES (?, ?)", (number, _packed(features, "features", number)))
    connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", _pages(number, document.text))
    cuts = [[chunk.span.start, chunk.span.end, chunk.locator, *chunk.trail] for chunk in chunks]
    parts = [(at // CUTS, cuts[at : at + CUTS]) for at in range(0, len(cuts), CUTS)]
    pages = [(number, page, _packed(part, "cuts", number, page)) for page, part in parts]
    connection.executemany("INSERT INTO cuts VALUES (?, ?, ?)", pages)
    return scope


def _sum(data: bytes, place: tuple[object, ...]) -> bytes:
    return zlib.crc32(data, zlib.crc32(repr(place).encode())).to_bytes(4, "big")


def _sealed(data: bytes, *place: object) -> bytes:
    """The bytes compressed, after a sum over them and the place where they stand."""
    return _sum(data, place) + zlib.compress(data, 6)


def _unsealed(data: bytes, broken: Broken, *place: object) -> bytes:
    """The opposite. Bytes that were not written to this place are an error, even if they are whole."""
    if isinstance(data, bytes) and _sum(found := zlib.decompress(data[4:]), place) == data[:4]:
        return found
    raise broken(f"what stands at {place} does not match its sum")


def _packed(value: object, *place: object) -> bytes:
    return _sealed(wire.dumps(value).encode("utf-8"), *place)


def _unpacked(data: bytes, broken: Broken, *place: object) -> Any:
    return json.loads(_unsealed(data, broken, *place))


def _pages(number: int, text: str) -> Iterator[tuple[int, int, bytes]]:
    for page, at in enumerate(range(0, len(text), PAGE)):
        yield number, page, _sealed(text[at : at + PAGE].encode("utf-8"), "texts", number, page)


def remove(connection: sqlite3.Connection, row: DocumentRow) -> None:
    """Takes a document out; its rows in its segment are dead from now on."""
    number = row.number
    connection.execute("DELETE FROM documents WHERE doc = ?", (number,))
    for table in ("texts", "cuts", "features"):
        connection.execute(f"DELETE FROM {table} WHERE doc = ?", (number,))
    connection.execute("INSERT INTO dead VALUES (?, ?)", (row.segment, number))


def read_text(connection: sqlite3.Connection, number: int, start: int, end: int, broken: Broken) -> str:
    """Characters ``[start, end)`` of a document's text, from the pages that hold them."""
    return read_texts(connection, [(number, start, end)], broken)[0]


def _paged(
    connection: sqlite3.Connection, table: str, pages: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], bytes]:
    """Pages of a table by (document number, page), in as few questions as can be."""
    found: dict[tuple[int, int], bytes] = {}
    wanted = sorted(set(pages))
    for at in range(0, len(wanted), 256):
        some = wanted[at : at + 256]
        marks = ", ".join(["(?, ?)"] * len(some))
        # A join, not IN: for a list of pairs SQLite would read the whole table.
        query = f"SELECT doc, page, data FROM (VALUES {marks}) JOIN {table} ON doc = column1 AND page = column2"
        for number, page, data in connection.execute(query, [value for one in some for value in one]):
            found[number, page] = data
    return found


def read_texts(connection: sqlite3.Connection, spans: Sequence[tuple[int, int, int]], broken: Broken) -> list[str]:
    """The text of each (document number, start, end), from the pages that hold them."""
    bounds = [(start // PAGE, max(start, end - 1) // PAGE) for _, start, end in spans]
    wanted = ((number, page) for (number, _, _), (a, z) in zip(spans, bounds, strict=True) for page in range(a, z + 1))
    pages = {
        (number, page): _unsealed(data, broken, "texts", number, page).decode("utf-8")
        for (number, page), data in _paged(connection, "texts", wanted).items()
    }
    texts = []
    for (number, start, end), (first, last) in zip(spans, bounds, strict=True):
        text = "".join(pages.get((number, page), "") for page in range(first, last + 1))
        texts.append(text[start - first * PAGE : end - first * PAGE])
        if len(texts[-1]) != end - start:
            raise broken("a page of text is missing")
    return texts


def read_cuts(
    connection: sqlite3.Connection,
    wanted: Sequence[tuple[int, int]],
    rows: Mapping[int, DocumentRow],
    broken: Broken,
) -> list[list[Any]]:
    """The cut of each (document number, position): start, end, locator, and the trail."""
    pages = {
        (number, page): _unpacked(data, broken, "cuts", number, page)
        for (number, page), data in _paged(connection, "cuts", ((n, i // CUTS) for n, i in wanted)).items()
    }
    found = []
    for number, index in wanted:
        cuts = pages.get((number, index // CUTS), [])
        if index % CUTS >= len(cuts):
            raise broken(f"a cut of document {rows[number].id!r} is missing")
        found.append(cuts[index % CUTS])
    return found


def numbered(connection: sqlite3.Connection, numbers: Collection[int], broken: Broken) -> dict[int, DocumentRow]:
    """The rows of documents by their numbers. Raises what ``broken`` makes when one of them is not there."""
    found: dict[int, DocumentRow] = {}
    wanted = sorted(numbers)
    for at in range(0, len(wanted), 500):
        some = wanted[at : at + 500]
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents WHERE doc IN ({', '.join('?' * len(some))})"
        for row in connection.execute(query, some):
            found[row[2]] = DocumentRow(row, broken)
    for number in wanted:
        if number not in found:
            raise broken(f"document number {number} is not where it should be")
    return found


def every(connection: sqlite3.Connection, since: int, broken: Broken) -> Iterator[DocumentRow]:
    """The rows of documents that were added or changed after generation ``since``, by number."""
    # All of them: from the table, which carries sums, not from the index, which does not.
    how = "INDEXED BY documents_by_version" if since >= 0 else "NOT INDEXED"
    query = f"SELECT {DocumentRow.COLUMNS} FROM documents {how} WHERE version > ? ORDER BY doc"
    for row in connection.execute(query, (since,)):
        yield DocumentRow(row, broken)


class DocumentRow:
    """A row of the documents table, checked, with its parts read when they are asked for."""

    __slots__ = ("_fields", "number", "segment")

    COLUMNS: Final = f"segment, crc, doc, {FIELDS}, version"

    def __init__(self, row: tuple[Any, ...], broken: Broken) -> None:
        self.segment: int = row[0]
        if row_crc(row[2:]) != row[1]:
            raise broken(f"the record of document {row[3]!r} does not match its sum")
        self.number: int = row[2]
        self._fields = row[3:]

    @property
    def id(self) -> str:
        """The document's id."""
        return str(self._fields[0])

    @property
    def language(self) -> str:
        """Its language."""
        return str(self._fields[5])

    @property
    def scope(self) -> int:
        """The number of its scope."""
        return int(self._fields[7])

    @property
    def chars(self) -> int:
        """The length of its text."""
        return int(self._fields[8])

    @property
    def item(self) -> tuple[str, str]:
        """The (source, item) that brought it."""
        return self._fields[2], self._fields[3]

    def metadata(self) -> dict[str, object]:
        """Its metadata."""
        found = json.loads(self._fields[10])
        return found if isinstance(found, dict) else {}

    def record(self) -> dict[str, object]:
        """Its metadata with its own attributes, as filters see it."""
        id_, uri, source, _, title, language, media_type = self._fields[:7]
        own = {"@id": id_, "@uri": uri, "@source": source, "@title": title, "@language": language}
        return {**self.metadata(), **own, "@media_type": media_type, "@added": self._fields[13]}

    def document(self, connection: sqlite3.Connection, scope: Scope, broken: Broken) -> Document:
        """The document whole."""
        id_, uri, source, _, title, language, media_type = self._fields[:7]
        found = connection.execute("SELECT data FROM features WHERE doc = ?", (self.number,)).fetchone()
        if found is None:
            raise broken(f"the features of document {id_!r} are missing")
        marks, redactions = _unpacked(found[0], broken, "features", self.number)
        return wire.restore(
            id=id_,
            uri=uri,
            source=source,
            title=title,
            text=read_text(connection, self.number, 0, self.chars, broken),
            scope=scope,
            language=language,
            media_type=media_type,
            marks=wire.marks_from_json(marks),
            metadata=self.metadata(),
            redactions=wire.redactions_from_json(redactions),
        )

    def cuts(self, connection: sqlite3.Connection, broken: Broken) -> list[list[Any]]:
        """Every cut: start, end, locator, and the trail."""
        rows = connection.execute("SELECT page, data FROM cuts WHERE doc = ? ORDER BY page", (self.number,))
        found = [cut for page, data in rows for cut in _unpacked(data, broken, "cuts", self.number, page)]
        if len(found) != self._fields[9]:
            raise broken(f"cuts of document {self.id!r} are missing")
        return found

    def chunk(self, scope: Scope, index: int, cut: list[Any], text: str) -> Chunk:
        """One chunk, out of its cut and its text."""
        start, end, locator, *trail = cut
        id_, uri, _, _, title, language = self._fields[:6]
        return wire.restore_chunk(
            document_id=id_,
            index=index,
            span=Span(start, end),
            text=text,
            scope=scope,
            title=title,
            trail=tuple(trail),
            uri=uri,
            locator=locator,
            language=language,
            metadata=self.metadata(),
        )

    def listing(self, scope: Scope) -> Listing:
        """The document as lists show it."""
        return Listing(
            document_id=self.id,
            uri=self._fields[1],
            source=self._fields[2],
            title=self._fields[4],
            chars=self.chars,
            chunks=int(self._fields[9]),
            language=self._fields[5],
            scope=scope,
            media_type=self._fields[6],
            added=self._fields[13],
            metadata=self.metadata(),
            redactions=int(self._fields[11]),
            losses=tuple(json.loads(self._fields[12])),
        )


def amend(connection: sqlite3.Connection, row: DocumentRow, metadata: Metadata, version: int) -> None:
    """Replaces a document's metadata."""
    fields = list(row._fields)
    fields[10] = wire.dumps(wire.plain(metadata))
    fields[14] = version
    connection.execute(
        "UPDATE documents SET metadata = ?, version = ?, crc = ? WHERE doc = ?",
        (fields[10], version, row_crc((row.number, *fields)), row.number),
    )
