"""The catalog of a shelf: one SQLite file that is the truth; its commit is the commit point of everything.

Every row carries a CRC of its fields: a row that was edited from outside is an error, never an answer. SQLite's
own indexes carry none, so no answer rests on one: what is found through an index is compared with sums and counts.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from estante.index.notes import generation, note, notes
from estante.model.errors import CorruptShelf, EstanteError, FullDisk, LockedShelf, QueryError, StaleShelf, Unavailable

FORMAT: Final = "3"

FAULTS: Final = (sqlite3.DatabaseError, UnicodeEncodeError, UnicodeDecodeError, zlib.error, json.JSONDecodeError)
"""What reading and writing a catalog raises when something is wrong with it, or with what it was given."""

SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE scopes (scope INTEGER PRIMARY KEY, tenant TEXT NOT NULL, readers TEXT NOT NULL, crc INTEGER NOT NULL,
    UNIQUE (tenant, readers));
CREATE TABLE documents (
    doc INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, uri TEXT NOT NULL, source TEXT NOT NULL,
    item TEXT NOT NULL, title TEXT NOT NULL, language TEXT NOT NULL, media_type TEXT NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes (scope), chars INTEGER NOT NULL, chunks INTEGER NOT NULL,
    metadata TEXT NOT NULL, redactions INTEGER NOT NULL, losses TEXT NOT NULL, added TEXT NOT NULL,
    few TEXT NOT NULL,
    version INTEGER NOT NULL, segment INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX documents_by_version ON documents (version);
CREATE TABLE features (doc INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE cuts (doc INTEGER NOT NULL, page INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (doc, page))
    WITHOUT ROWID;
CREATE TABLE texts (place INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE items (
    source TEXT NOT NULL, item TEXT NOT NULL, revision TEXT NOT NULL, digest TEXT NOT NULL, recipe TEXT NOT NULL,
    reason TEXT NOT NULL, docs TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (source, item)) WITHOUT ROWID;
CREATE TABLE segments (segment INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL,
    footer INTEGER NOT NULL, rows INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE dead (segment INTEGER NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (segment, doc)) WITHOUT ROWID;
"""
# The cuts of a document stand in `few` where they are few, else in pages of their own.
# A page of text stands at the number of its document and its own in one: see `records.place_of`.
# A document's sum leaves out its segment, which every merge changes: the segments themselves say what they hold.
# An item's `docs` are the numbers of its documents; a dead row that is wrong shows in the count of documents.


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
            for key, value in {**meta, "format": FORMAT, "generation": "0"}.items():
                note(connection, key, value)
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
        except FAULTS as error:
            raise self.told(error) from error

    def told(self, error: BaseException) -> EstanteError:
        """The error that says what happened, for one of ``FAULTS``."""
        if isinstance(error, sqlite3.DatabaseError):
            return _told(error, self.path)
        if isinstance(error, UnicodeEncodeError):
            return QueryError("half a character (a lone surrogate) stands in no text here", hint="Leave it out.")
        return self.broken(str(error))

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
            self.hold(connection)
            try:
                yield connection
            finally:
                self.let_go(connection)

    def hold(self, connection: sqlite3.Connection) -> None:
        """Keeps a connection from being closed."""
        with self._guard:
            if self._closed:
                raise _shut()
            self._busy.add(connection)

    def let_go(self, connection: sqlite3.Connection) -> None:
        """The opposite of ``hold``."""
        with self._guard:
            self._busy.discard(connection)
            if self._closed:
                connection.close()

    def in_use(self) -> bool:
        """Whether this thread is inside a block that uses its connection."""
        return getattr(self._local, "connection", None) in self._busy

    def reading(self) -> Reading:
        """One whole state, unmoved by writers, until the block ends."""
        return Reading(self)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """All of the block or nothing of it; the generation goes up by one."""
        if self.read_only:
            raise Unavailable(f"{self.path.parent} cannot be written to", hint="Open it as a user who may write there.")
        with self.using(writing=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                note(connection, "generation", str(generation(connection, self.broken) + 1))
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def meta(self) -> dict[str, str]:
        """All small named values."""
        with self.reading() as connection:
            told = [row[1] for row in connection.execute("PRAGMA table_info(meta)")]
            if told == ["key", "value"]:  # The first format, which had no sum here.
                raise StaleShelf(
                    f"the shelf has another format than {FORMAT!r}, which this version reads",
                    hint="Use the version of Estante that made it, or run: estante rebuild --from-sources",
                )
            return notes(connection, self.broken)


class Reading:
    """A block that reads one state. Every search opens two, so this is no generator."""

    __slots__ = ("_catalog", "_connection", "_nested")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __enter__(self) -> sqlite3.Connection:
        catalog = self._catalog
        try:
            # A view inside a view of the same thread shares its state.
            self._nested = catalog.in_use()
            self._connection = catalog.connection()
            if not self._nested:
                catalog.hold(self._connection)
                try:
                    self._connection.execute("BEGIN")
                except BaseException:
                    catalog.let_go(self._connection)
                    raise
        except FAULTS as error:
            raise catalog.told(error) from error
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if not self._nested:
                try:
                    if self._connection.in_transaction:
                        self._connection.execute("COMMIT")
                finally:
                    self._catalog.let_go(self._connection)
        except FAULTS as failed:
            raise self._catalog.told(failed) from failed
        if isinstance(error, FAULTS):
            raise self._catalog.told(error) from error


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
