"""The catalog of a shelf: one SQLite file that is the truth; its commit is the commit point of everything.

Texts are kept in pages of 16,384 characters, compressed, so a passage of a 50 MB text costs as much to read as one of
a page. Every row carries a CRC of its fields: a row that was edited from outside is an error, never an answer.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from estante.index.boundary import missing
from estante.model import wire
from estante.model.access import Scope
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.errors import CorruptShelf, EstanteError, FullDisk, LockedShelf, QueryError, Unavailable
from estante.model.ports import Deposit, Listing

PAGE: Final = 16_384
FORMAT: Final = "1"
CUTS: Final = 256
"""Cuts in a page: what one hit reads of the cuts of its document."""

Broken = Callable[[str], Exception]

SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE scopes (scope INTEGER PRIMARY KEY, tenant TEXT NOT NULL, readers TEXT NOT NULL, crc INTEGER NOT NULL,
    UNIQUE (tenant, readers));
CREATE TABLE documents (
    doc INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, uri TEXT NOT NULL, source TEXT NOT NULL,
    item TEXT NOT NULL, title TEXT NOT NULL, language TEXT NOT NULL, media_type TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes (scope), chars INTEGER NOT NULL, chunks INTEGER NOT NULL,
    metadata TEXT NOT NULL, redactions INTEGER NOT NULL, losses TEXT NOT NULL, added TEXT NOT NULL,
    segment INTEGER NOT NULL, version INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX documents_by_item ON documents (source, item);
CREATE INDEX documents_by_language ON documents (language);
CREATE INDEX documents_by_scope ON documents (scope);
CREATE INDEX documents_by_version ON documents (version);
CREATE TABLE features (doc INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE cuts (doc INTEGER NOT NULL, page INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (doc, page))
    WITHOUT ROWID;
CREATE TABLE texts (doc INTEGER NOT NULL, page INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (doc, page))
    WITHOUT ROWID;
CREATE TABLE items (
    source TEXT NOT NULL, item TEXT NOT NULL, revision TEXT NOT NULL, digest TEXT NOT NULL, recipe TEXT NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (source, item)) WITHOUT ROWID;
CREATE TABLE segments (segment INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, size INTEGER NOT NULL,
    footer INTEGER NOT NULL, rows INTEGER NOT NULL);
CREATE TABLE dead (segment INTEGER NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (segment, doc)) WITHOUT ROWID;
"""

FIELDS: Final = (
    "id, uri, source, item, title, language, media_type, scope, chars, chunks, metadata, redactions, losses, added"
)
_MARKS: Final = ", ".join("?" * len(FIELDS.split(", ")))


def row_crc(fields: tuple[object, ...]) -> int:
    """A sum over the fields of a row, in order."""
    return zlib.crc32("\x1f".join(repr(field) for field in fields).encode("utf-8", "surrogatepass"))


class Catalog:
    """The SQLite file, with one connection a thread. Errors of SQLite become errors of ours."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._local = threading.local()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._busy: set[sqlite3.Connection] = set()
        self._guard = threading.Lock()
        self._closed = False

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, str]) -> Catalog:
        """A new catalog, whole or not at all: it is made beside and moved into place."""
        staged = path.with_suffix(".new")
        staged.unlink(missing_ok=True)
        os.close(os.open(staged, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        catalog = cls(staged)
        with closing(catalog), catalog.mended():
            connection = catalog.connection(writing=True)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.executescript(f"BEGIN; {SCHEMA}")
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)", [*meta.items(), ("format", FORMAT), ("generation", "0")]
            )
            connection.execute("COMMIT")
        staged.replace(path)
        return cls(path)

    def connection(self, *, writing: bool = False) -> sqlite3.Connection:
        """This thread's connection."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is not None:
            alone = self._local.alone
            if found in self._busy or alone is None or (alone == self._alone() and not writing):
                return found
            found.close()
            self._local.connection = None
        found, self._local.alone = self._connect(writing)
        self._local.connection = found
        with self._guard:
            self._all = [*self._living(), (threading.current_thread(), found)]
        return found

    def _alone(self) -> tuple[int, ...] | None:
        """What tells the file from a changed one; None while there is a log beside it that holds commits."""
        with suppress(OSError):
            if self.path.with_name(f"{self.path.name}-wal").stat().st_size:
                return None
        with suppress(OSError):  # A file that is gone is told of when it is opened.
            told = self.path.stat()
            return told.st_ino, told.st_size, told.st_mtime_ns
        return ()

    def _living(self) -> Iterator[tuple[threading.Thread, sqlite3.Connection]]:
        """The connections of threads that still run; those of threads that ended are closed."""
        for thread, connection in self._all:
            if thread.is_alive():
                yield thread, connection
            else:
                connection.close()

    def _connect(self, writing: bool) -> tuple[sqlite3.Connection, tuple[int, ...] | None]:
        """A connection; and, where it reads the file alone, what the file is: then it serves until that changes."""
        if self._closed:
            raise _shut()
        alone = self._alone()
        if alone:
            self._refuse_cut(alone[1])
        if not self.read_only:
            try:
                return self._opened("mode=rw"), None
            except sqlite3.OperationalError as error:
                # On a full disk there is no room for the log's index, and without a log there is no need of one.
                full = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
                if writing or alone is None or not full:
                    raise
        # A log holds commits that the file does not: to pass it over would bring back what was deleted.
        return self._opened("mode=ro" if alone is None else "mode=ro&immutable=1"), alone

    def _refuse_cut(self, size: int) -> None:
        """SQLite reads pages that are missing at the end as empty ones; here they are damage."""
        with self.path.open("rb") as file:
            header = file.read(32)
        page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        if size < (page if page > 1 else 1 << 16) * pages:
            raise self.broken(f"it has {size:,} bytes of {page * pages:,}")

    def _opened(self, how: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?{how}"
        connection = sqlite3.connect(uri, uri=True, timeout=10, check_same_thread=False, isolation_level=None)
        try:
            if how == "mode=rw":
                connection.execute("PRAGMA journal_mode = WAL")
                # FULL: a commit that was reported survives a power cut, not only a kill.
                connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute("PRAGMA cache_size = -4096")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Closes every connection, those in use as soon as they no longer are; closing twice is allowed."""
        with self._guard:
            self._closed = True
            for _, connection in self._all:
                if connection not in self._busy:
                    connection.close()
            self._all.clear()
        self._local = threading.local()

    @contextmanager
    def mended(self) -> Iterator[None]:
        """Turns what SQLite raises into what happened and what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _told(error, self.path) from error
        except UnicodeEncodeError as error:
            raise QueryError(
                "half a character (a lone surrogate) stands in no text here", hint="Leave it out."
            ) from error
        except (zlib.error, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self.broken(str(error)) from error

    def broken(self, what: str) -> CorruptShelf:
        """The error for a catalog that is not what was written."""
        return CorruptShelf(
            f"{self.path.name} is damaged: {what}",
            hint="Restore it from a backup, or run: estante rebuild --from-sources",
        )

    @contextmanager
    def using(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """This thread's connection, which nobody closes before the block ends."""
        with self.mended():
            connection = self.connection(writing=writing)
            with self._guard:
                if self._closed:
                    raise _shut()
                self._busy.add(connection)
            try:
                yield connection
            finally:
                self._let_go(connection)

    def _let_go(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            self._busy.discard(connection)
            if self._closed:
                connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One whole state, unmoved by writers, until the block ends."""
        within: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if within is not None and within in self._busy:  # A view inside a view of the same thread shares its state.
            with self.mended():
                yield within
            return
        with self.using() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """All of the block or nothing of it; the generation goes up by one."""
        if self.read_only:
            raise Unavailable(f"{self.path.parent} cannot be written to", hint="Open it as a user who may write there.")
        with self.using(writing=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def meta(self) -> dict[str, str]:
        """All small named values."""
        with self.reading() as connection:
            return {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def _shut() -> Unavailable:
    return Unavailable("the shelf was closed", hint="Open the bookcase again.")


def _told(error: sqlite3.DatabaseError, path: Path) -> EstanteError:
    text = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or "disk I/O" in text or "is full" in text:
        return FullDisk(f"cannot write {path.name}: {text}", hint="Free some room and run the same command again.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LockedShelf(f"{path.name} is in use: {text}", hint="Wait for the other process and try again.")
    if code == sqlite3.SQLITE_CANTOPEN:
        return Unavailable(f"{path} cannot be opened: {text}", hint="Check that it exists and that you may read it.")
    if code == sqlite3.SQLITE_READONLY:
        return Unavailable(f"{path} cannot be written to", hint="Check its permissions.")
    hint = "Restore it from a backup, or run: estante rebuild --from-sources"
    return CorruptShelf(f"{path.name} is damaged: {text}", hint=hint)


class Scopes:
    """The scopes of a shelf and their numbers."""

    def __init__(self, connection: sqlite3.Connection, broken: Broken) -> None:
        self.by_number: dict[int, Scope] = {}
        for number, tenant, readers, crc in connection.execute("SELECT scope, tenant, readers, crc FROM scopes"):
            if crc != row_crc((tenant, readers)):
                raise broken(f"the record of scope {number} does not match its sum")
            self.by_number[int(number)] = Scope(tenant, wire.readers_from_text(readers))

    @staticmethod
    def number(connection: sqlite3.Connection, scope: Scope) -> int:
        """The number of a scope, given one if it is new."""
        key = (scope.tenant, wire.readers_to_text(scope.readers))
        row = (*key, row_crc(key))
        connection.execute("INSERT OR IGNORE INTO scopes (tenant, readers, crc) VALUES (?, ?, ?)", row)
        found = connection.execute("SELECT scope FROM scopes WHERE tenant = ? AND readers = ?", key).fetchone()
        return int(found[0])


def insert(
    connection: sqlite3.Connection,
    deposit: Deposit,
    document: Document,
    chunks: Sequence[Chunk],
    segment: int,
    version: int,
) -> int:
    """Writes a document, its text and its cuts; returns its number."""
    fields = (
        document.id,
        document.uri,
        document.source,
        deposit.item,
        document.title,
        document.language,
        document.media_type,
        Scopes.number(connection, document.scope),
        len(document.text),
        len(chunks),
        wire.dumps(wire.plain(document.metadata)),
        len(document.redactions),
        wire.dumps(list(deposit.losses)),
        deposit.added,
    )
    cursor = connection.execute(
        f"INSERT INTO documents ({FIELDS}, segment, version, crc) VALUES ({_MARKS}, ?, ?, ?)",
        (*fields, segment, version, row_crc(fields)),
    )
    number = int(cursor.lastrowid or 0)
    features = [wire.marks_to_json(document.marks), wire.redactions_to_json(document.redactions)]
    connection.execute("INSERT INTO features VALUES (?, ?)", (number, _packed(features, "features", number)))
    connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", _pages(number, document.text))
    cuts = [[chunk.span.start, chunk.span.end, chunk.locator, *chunk.trail] for chunk in chunks]
    parts = [(at // CUTS, cuts[at : at + CUTS]) for at in range(0, len(cuts), CUTS)]
    pages = [(number, page, _packed(part, "cuts", number, page)) for page, part in parts]
    connection.executemany("INSERT INTO cuts VALUES (?, ?, ?)", pages)
    return number


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


def remove(connection: sqlite3.Connection, number: int, segment: int) -> None:
    """Takes a document out; its rows in the segment are dead from now on."""
    connection.execute("DELETE FROM documents WHERE doc = ?", (number,))
    for table in ("texts", "cuts", "features"):
        connection.execute(f"DELETE FROM {table} WHERE doc = ?", (number,))
    connection.execute("INSERT INTO dead VALUES (?, ?)", (segment, number))


def read_text(connection: sqlite3.Connection, number: int, start: int, end: int, broken: Broken) -> str:
    """Characters ``[start, end)`` of a document's text, from the pages that hold them."""
    first, last = start // PAGE, max(start, end - 1) // PAGE
    rows = connection.execute(
        "SELECT page, data FROM texts WHERE doc = ? AND page BETWEEN ? AND ? ORDER BY page", (number, first, last)
    ).fetchall()
    text = "".join(_unsealed(data, broken, "texts", number, page).decode("utf-8") for page, data in rows)
    found = text[start - first * PAGE : end - first * PAGE]
    if len(found) != end - start:
        raise broken("a page of text is missing")
    return found


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
            found[row[0]] = DocumentRow(row, broken)
    for number in wanted:
        if number not in found:
            raise broken(f"document number {number} is in a segment but not in the catalog")
    return found


class DocumentRow:
    """A row of the documents table, checked, with its parts read when they are asked for."""

    __slots__ = ("_fields", "number", "segment")

    COLUMNS: Final = f"doc, segment, crc, {FIELDS}"

    def __init__(self, row: tuple[Any, ...], broken: Broken) -> None:
        self.number: int = row[0]
        self.segment: int = row[1]
        self._fields = row[3:]
        if row_crc(self._fields) != row[2]:
            raise broken(f"the record of document {row[3]!r} does not match its sum")

    @property
    def id(self) -> str:
        """The document's id."""
        return str(self._fields[0])

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
        id_, uri, _, _, title, language, _ = self._fields[:7]
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
    connection.execute(
        "UPDATE documents SET metadata = ?, version = ?, crc = ? WHERE doc = ?",
        (fields[10], version, row_crc(tuple(fields)), row.number),
    )


def find(connection: sqlite3.Connection, document_id: str, broken: Broken) -> DocumentRow:
    """The row of a document. Raises ``NotFound``."""
    row = connection.execute(
        f"SELECT {DocumentRow.COLUMNS} FROM documents WHERE id = ?",
        (document_id,),
    ).fetchone()
    if row is None:
        raise missing(document_id)
    return DocumentRow(row, broken)
