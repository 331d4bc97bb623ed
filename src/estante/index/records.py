"""Documents as rows of a catalog: their records, texts and cuts, each with its sum.

Texts are kept in pages of 4,096 characters, compressed, so a passage of a 50 MB text costs as much to read as one of
a page.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from estante.index.conditions import record
from estante.index.notes import Broken, reserve, row_crc
from estante.model import wire
from estante.model.access import Scope
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.ports import Deposit, Listing

PAGE: Final = 4_096
PAGES: Final = 1 << 24
"""The most pages of a text."""

CUTS: Final = 64
"""Cuts in a page: what one hit reads of the cuts of its document."""

FEW: Final = 8
"""Cuts that stand in the record of their document itself."""

WHOLE: Final = b"\0"
"""Stands before bytes that are not compressed; those that are begin with another."""

_VALUE: Final = json.JSONDecoder().raw_decode
"""Reads JSON that this module wrote, whose sum was compared; ``json.loads`` looks at more and takes longer."""

FIELDS: Final = (
    "id, uri, source, item, title, language, media_type, scope, chars, chunks, metadata, redactions, losses, added, few"
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
    cuts = [[chunk.span.start, chunk.span.end, chunk.locator, *chunk.trail] for chunk in chunks]
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
        wire.dumps(cuts) if len(cuts) <= FEW else "",
        place.version,
    )
    number = place.number
    connection.execute(
        f"INSERT INTO documents (doc, {FIELDS}, version, segment, crc) VALUES (?, {_MARKS}, ?, ?, ?)",
        (number, *fields, place.segment, row_crc((number, *fields))),
    )
    features = [wire.marks_to_json(document.marks), wire.redactions_to_json(document.redactions)]
    connection.execute("INSERT INTO features VALUES (?, ?)", (number, _packed(features, "features", number)))
    connection.executemany("INSERT INTO texts VALUES (?, ?)", _pages(number, document.text))
    cuts = cuts if len(cuts) > FEW else []
    parts = [(at // CUTS, cuts[at : at + CUTS]) for at in range(0, len(cuts), CUTS)]
    pages = [(number, page, _packed(part, "cuts", number, page)) for page, part in parts]
    connection.executemany("INSERT INTO cuts VALUES (?, ?, ?)", pages)
    return scope


def _sum(data: bytes, kind: str, number: int, page: int) -> bytes:
    return zlib.crc32(data, zlib.crc32(f"{kind} {number} {page}".encode())).to_bytes(4, "big")


def _sealed(data: bytes, kind: str, number: int, page: int = 0) -> bytes:
    """The bytes after a sum over them and the place where they stand; compressed where that saves half.

    Short texts hardly shrink, and to unpack them takes longer than to read what they would save.
    """
    short = zlib.compress(data, 6)
    return _sum(data, kind, number, page) + (short if 2 * len(short) <= len(data) else WHOLE + data)


def _unsealed(data: bytes, broken: Broken, kind: str, number: int, page: int = 0) -> bytes:
    """The opposite. Bytes that were not written to this place are an error, even if they are whole."""
    if isinstance(data, bytes):
        found = data[5:] if data[4:5] == WHOLE else zlib.decompress(data[4:])
        if zlib.crc32(found, zlib.crc32(f"{kind} {number} {page}".encode())) == int.from_bytes(data[:4], "big"):
            return found
    raise broken(f"what stands at {(kind, number, page)} does not match its sum")


def _packed(value: object, kind: str, number: int, page: int = 0) -> bytes:
    return _sealed(wire.dumps(value).encode("utf-8"), kind, number, page)


def _unpacked(data: bytes, broken: Broken, kind: str, number: int, page: int = 0) -> Any:
    return _VALUE(_unsealed(data, broken, kind, number, page).decode("utf-8"))[0]


def place_of(number: int, page: int) -> int:
    """Where a page of a document's text stands."""
    return number * PAGES + page


def _pages(number: int, text: str) -> Iterator[tuple[int, bytes]]:
    for page, at in enumerate(range(0, len(text), PAGE)):
        yield place_of(number, page), _sealed(text[at : at + PAGE].encode("utf-8"), "texts", number, page)


def remove(connection: sqlite3.Connection, row: DocumentRow) -> None:
    """Takes a document out; its rows in its segment are dead from now on."""
    number = row.number
    connection.execute("DELETE FROM documents WHERE doc = ?", (number,))
    connection.execute("DELETE FROM texts WHERE place BETWEEN ? AND ?", (place_of(number, 0), place_of(number + 1, -1)))
    for table in ("cuts", "features"):
        connection.execute(f"DELETE FROM {table} WHERE doc = ?", (number,))
    connection.execute("INSERT INTO dead VALUES (?, ?)", (row.segment, number))


def read_text(connection: sqlite3.Connection, number: int, start: int, end: int, broken: Broken) -> str:
    """Characters ``[start, end)`` of a document's text, from the pages that hold them."""
    return read_texts(connection, [(number, start, end)], broken)[0]


def _texts(connection: sqlite3.Connection, pages: Iterable[tuple[int, int]], broken: Broken) -> dict[int, str]:
    """Pages of text by their places, in as few questions as can be."""
    found: dict[int, str] = {}
    wanted = sorted({place_of(number, page) for number, page in pages})
    for at in range(0, len(wanted), 256):
        some = wanted[at : at + 256]
        query = f"SELECT place, data FROM texts WHERE place IN ({', '.join('?' * len(some))})"
        for place, data in connection.execute(query, some):
            found[place] = _unsealed(data, broken, "texts", *divmod(place, PAGES)).decode("utf-8")
    return found


def read_texts(connection: sqlite3.Connection, spans: Sequence[tuple[int, int, int]], broken: Broken) -> list[str]:
    """The text of each (document number, start, end), from the pages that hold them."""
    bounds = [(number, range(start // PAGE, max(start, end - 1) // PAGE + 1)) for number, start, end in spans]
    pages = _texts(connection, ((number, page) for number, some in bounds for page in some), broken)
    texts = []
    for (number, start, end), (_, some) in zip(spans, bounds, strict=True):
        text = "".join([pages.get(place_of(number, page), "") for page in some])
        texts.append(text[start - some[0] * PAGE : end - some[0] * PAGE])
        if len(texts[-1]) != end - start:
            raise broken("a page of text is missing")
    return texts


_MARKED: Final = "(?, ?, ?, ?), " * 128
_PASSAGES: Final = (
    f"SELECT segment, crc, documents.doc, {FIELDS}, version, column1, cuts.data, texts.data "
    "FROM (VALUES {}) CROSS JOIN documents ON documents.doc = column2 "
    "LEFT JOIN cuts ON documents.few = '' AND cuts.doc = column2 AND cuts.page = column3 "
    "LEFT JOIN texts ON place = column4"
)


def read_chunks(
    connection: sqlite3.Connection,
    wanted: Sequence[tuple[int, int, int]],
    scope_of: Callable[[str, int], Scope],
    broken: Broken,
) -> list[Chunk]:
    """The chunk at each (document number, position, start), in one question for all that stand on one page.

    ``scope_of`` gives the scope of a document by its id and its scope's number, or raises what an asker is told.
    """
    found: dict[int, Chunk] = {}
    for at in range(0, len(wanted), 128):
        some = wanted[at : at + 128]
        asked = [
            value
            for place, (number, index, start) in enumerate(some, at)
            for value in (place, number, index // CUTS, place_of(number, start // PAGE))
        ]
        for row in connection.execute(_PASSAGES.format(_MARKED[: 14 * len(some) - 2]), asked):
            place = row[-3]
            found[place] = _chunk(connection, row, wanted[place], scope_of, broken)
    for at, (number, _, _) in enumerate(wanted):
        if at not in found:
            raise broken(f"document number {number} is not where it should be")
    return [found[at] for at in range(len(wanted))]


def _chunk(
    connection: sqlite3.Connection,
    row: tuple[Any, ...],
    wanted: tuple[int, int, int],
    scope_of: Callable[[str, int], Scope],
    broken: Broken,
) -> Chunk:
    """A chunk out of a row of the question for passages. Most of the time of a search is spent here and below."""
    number, index, begin = wanted
    crc, document_id, few, page = row[1], row[3], row[17], row[-1]
    if row_crc(row[2:-3]) != crc:
        raise broken(f"the record of document {document_id!r} does not match its sum")
    if few:
        cuts, at = _VALUE(few)[0], index
    else:
        at = index % CUTS
        cuts = [] if row[-2] is None else _unpacked(row[-2], broken, "cuts", number, index // CUTS)
    if at >= len(cuts):
        raise broken(f"a cut of document {document_id!r} is missing")
    start, end, locator, *trail = cuts[at]
    if start != begin:
        raise broken(f"a cut of document {document_id!r} is not where its words are")
    first = start // PAGE
    text = "" if page is None else _unsealed(page, broken, "texts", number, first).decode("utf-8")
    text = text[start - first * PAGE : end - first * PAGE]
    if len(text) < end - start:
        text += read_text(connection, number, start + len(text), end, broken)
    return wire.restore_chunk(
        document_id=document_id,
        index=index,
        span=Span(start, end),
        text=text,
        scope=scope_of(document_id, row[10]),
        title=row[7],
        trail=tuple(trail),
        uri=row[4],
        locator=locator,
        language=row[8],
        metadata=_mapping(row[13]),
    )


def _mapping(text: str) -> dict[str, object]:
    found = {} if text == "{}" else json.loads(text)
    return found if isinstance(found, dict) else {}


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
        fields = row[2:]
        if row_crc(fields) != row[1]:
            raise broken(f"the record of document {row[3]!r} does not match its sum")
        self.number: int = row[2]
        self._fields = fields[1:]

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

    def few(self) -> list[list[Any]] | None:
        """Its cuts, where they are few enough to stand here."""
        found: list[list[Any]] | None = _VALUE(self._fields[14])[0] if self._fields[14] else None
        return found

    def metadata(self) -> dict[str, object]:
        """Its metadata."""
        return _mapping(self._fields[10])

    def record(self) -> dict[str, object]:
        """Its metadata with its own attributes, as filters see it."""
        id_, uri, source, _, title, language, media_type = self._fields[:7]
        own = {"@id": id_, "@uri": uri, "@source": source, "@title": title, "@language": language}
        return record(self.metadata(), {**own, "@media_type": media_type, "@added": self._fields[13]})

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
        few = self.few()
        if few is not None:
            return few
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
    fields[-1] = version
    connection.execute(
        "UPDATE documents SET metadata = ?, version = ?, crc = ? WHERE doc = ?",
        (fields[10], version, row_crc((row.number, *fields)), row.number),
    )
