"""The embedded store: a folder that holds a catalog and segments. One writer, any number of readers.

The catalog's commit is the commit point: a segment is written and made safe first, then the transaction that names it
commits. A reader sees one whole state from the first byte of its view to the last.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from estante.index import catalog, manifest, passages, records, segments
from estante.index.boundary import refuse_foreign, refuse_stale, space_to_text, taken, unwritable
from estante.index.catalog import Catalog
from estante.index.columns import Columns
from estante.index.lock import WriterLock
from estante.index.manifest import SegmentRow
from estante.index.notes import generation, note, notes, reserve
from estante.index.passages import Passages
from estante.index.records import Place
from estante.index.states import Part, State
from estante.index.views import EmbeddedView, find
from estante.model.access import Scope
from estante.model.content import Document, Metadata, Span
from estante.model.errors import CorruptShelf, Denied, EstanteError, FullDisk, NameTaken, NotFound, StaleShelf
from estante.model.ports import Deposit, Entry, Space
from estante.security.paths import private_directory

SETTLING: Final = 16
"""A writing that brought at least one row in so many is followed by a merge of all: few segments, quick questions."""

Make = Callable[[Document, tuple[Span, ...]], tuple[Entry, ...]]


class EmbeddedStore:
    """One shelf in a folder. Safe to use from several threads and processes."""

    def __init__(self, path: Path, *, tenant: str, shared: bool, wait: float = 10.0) -> None:
        """Opens a shelf that exists. Raises ``NotFound`` where there is none, ``StaleShelf`` on another format."""
        self.path = path
        self.tenant = tenant
        self.shared = shared
        file = path / "catalog.sqlite"
        if file.is_symlink():
            raise Denied(f"{file} is a link", hint="A shelf's own files are never links: remove it.")
        if not file.exists():
            self._refuse_absent(file)
        writable = os.access(path, os.W_OK) and os.access(file, os.W_OK)
        self._catalog = Catalog(file, read_only=not writable)
        self._lock = WriterLock(path, wait)
        self._guard = threading.RLock()
        self._state: State | None = None
        self._held = threading.local()
        self._open: dict[str, segments.Segment] = {}
        self._columns: Columns | None = None
        self._passages: WeakKeyDictionary[segments.Segment, Passages] = WeakKeyDictionary()
        self._written = 0
        self._expected: dict[str, str] = {}
        try:
            self.identity = self._catalog.meta()
        except EstanteError:
            self._catalog.close()
            raise
        self._refuse_foreign_shelf()

    @staticmethod
    def _refuse_absent(file: Path) -> None:
        if (file.parent / "segments").is_dir() and any((file.parent / "segments").iterdir()):
            raise CorruptShelf(
                f"{file} is missing beside its segments",
                hint="Restore it from a backup, or run: estante rebuild --from-sources",
            )
        raise NotFound(f"there is no shelf at {file.parent}", hint="Make one with: estante init")

    def _refuse_foreign_shelf(self) -> None:
        told = self.identity
        if not told.keys() >= {"format", "tenant", "kind", "space", "analyzer"}:
            raise self.broken("what it notes of itself is missing")
        if told.get("format") != catalog.FORMAT:
            raise StaleShelf(
                f"the shelf has format {told.get('format')!r}, this version reads {catalog.FORMAT!r}",
                hint="Use the version of Estante that made it, or run: estante rebuild --from-sources",
            )
        kind = "shared" if self.shared else "private"
        if told.get("tenant") != self.tenant or told.get("kind") != kind:
            raise NameTaken(
                f"{self.path} is the {told.get('kind')} shelf of tenant {told.get('tenant')!r}, "
                f"not the {kind} shelf of {self.tenant!r}",
                hint="Give each shelf a folder of its own in the settings.",
            )

    @classmethod
    def create(
        cls, path: Path, *, tenant: str, shared: bool, space: Space, analyzer: str, wait: float = 10.0
    ) -> EmbeddedStore:
        """A new, empty shelf. Raises ``NameTaken`` where there is one already."""
        file = path / "catalog.sqlite"
        try:
            with WriterLock(private_directory(path), wait).held("create"):
                if file.exists():
                    raise NameTaken(f"there is a shelf at {path} already", hint="Open it instead of creating it.")
                private_directory(path / "segments")
                meta = {"tenant": tenant, "kind": "shared" if shared else "private"}
                Catalog.create(file, {**meta, "space": space_to_text(space), "analyzer": analyzer}).close()
                for made in (path, path.parent):
                    segments.sync_directory(made)
        except OSError as error:
            raise unwritable(file, error) from error
        return cls(path, tenant=tenant, shared=shared, wait=wait)

    def expect(self, *, space: Space, analyzer: str) -> None:
        """Raises ``StaleShelf`` unless the shelf was made with this vector space and analyzer."""
        self._expected = {"space": space_to_text(space), "analyzer": analyzer}
        refuse_stale(self.identity, self._expected, "estante rebuild")

    # --- reading -----------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[EmbeddedView]:
        """The state as it is now, held until the block ends."""
        nested = self._catalog.in_use()
        with self._catalog.reading() as connection:
            # What other threads see may be newer by now, and the segments of this state swept.
            outer = getattr(self._held, "state", None) if nested else None
            self._held.state = outer or (self._current if nested else self._settled)(connection)
            try:
                yield EmbeddedView(self, connection, self._held.state)
            finally:
                self._held.state = outer

    def _settled(self, connection: sqlite3.Connection) -> State:
        """The state of the connection's snapshot, or of a newer one when a writer has swept its segments meanwhile."""
        while True:
            try:
                return self._current(connection)
            except CorruptShelf:
                before = generation(connection, self.broken)
                connection.execute("COMMIT")
                connection.execute("BEGIN")
                if generation(connection, self.broken) == before:
                    raise

    def _current(self, connection: sqlite3.Connection) -> State:
        now = generation(connection, self.broken)
        with self._guard:
            if self._state is None or self._state.generation != now:
                self._state = self._load(connection, now)
            return self._state

    def _load(self, connection: sqlite3.Connection, now: int) -> State:
        dead: dict[int, set[int]] = {}
        for number, document in connection.execute("SELECT segment, doc FROM dead"):
            dead.setdefault(number, set()).add(document)
        known = {part.number: part for part in self._state.parts} if self._state else {}
        parts = []
        rows = manifest.segment_rows(connection, self.broken)
        for row in rows:
            gone = frozenset(dead.get(row.number, ()))
            part = known.get(row.number)
            if part is None or part.dead != gone:
                part = Part(row.number, self._segment(row), gone)
            parts.append(part)
        self._open = {row.name: part.segment for row, part in zip(rows, parts, strict=True)}
        # Another process may have rebuilt the shelf with another encoder since this one looked.
        refuse_stale(notes(connection, self.broken), self._expected, "estante rebuild")
        state = State(now, tuple(parts), records.Scopes(connection, self.broken).by_number)
        if manifest.tally(connection) != state.tally:
            raise self.broken("its documents are not those of its segments")
        if not state.used.keys() <= state.scopes.keys():
            raise self.broken("a scope of its documents is missing")
        return state

    def _segment(self, row: SegmentRow) -> segments.Segment:
        found = self._open.get(row.name)
        if found is None:
            path = self.path / "segments" / row.name
            found = self._open[row.name] = segments.Segment(path, row.size, row.footer)
        return found

    def columns(self, connection: sqlite3.Connection, state: State, fields: Collection[str]) -> Columns:
        """The columns of a state with these fields: those of an earlier one with what has changed since."""
        with self._guard:
            if state.columns is None or not state.columns.fields.issuperset(fields):
                base = state.columns or self._columns
                if base is None or base.version > state.generation or _crowded(base, state):
                    base = Columns()
                # What is new to the columns is read of all documents, else of those that have changed.
                since = base.version if base.fields.issuperset(fields) else -1
                changed = records.every(connection, since, self.broken)
                columns = base.fork(state.generation, fields, ((row.number, row.record()) for row in changed))
                places = [part.places(columns) for part in state.parts]
                if any((part.living(at) < 0).any() for part, at in zip(state.parts, places, strict=True)):
                    raise self.broken("the record of a document is missing")
                state.columns, state.places, self._columns = columns, places, columns
            return state.columns

    def passages(self, connection: sqlite3.Connection, state: State, fields: Collection[str]) -> list[Passages]:
        """The columns of the passages of each part with these fields, read once in the life of a segment."""
        with self._guard:
            held = [self._passages.get(part.segment) for part in state.parts]
            pairs = zip(state.parts, held, strict=True)
            lacking = [part for part, one in pairs if one is None or not one.serves(part, fields)]
            if lacking:
                found = passages.read(connection, lacking, fields, self.broken)
                for part, one in zip(lacking, found, strict=True):
                    before = self._passages.get(part.segment)
                    self._passages[part.segment] = one if before is None else before.beside(one)
            return [self._passages[part.segment] for part in state.parts]

    def broken(self, what: str) -> CorruptShelf:
        """The error for a catalog that is not what was written."""
        return self._catalog.broken(what)

    # --- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, purpose: str) -> Iterator[None]:
        """Holds the one writer's place, and sweeps what a killed writer left behind."""
        with self._lock.held(purpose) as outermost:
            if outermost:
                self._sweep()
                self._written = 0
            yield
            if outermost:
                self._settle()

    def _settle(self) -> None:
        """After a large addition, one segment: a merge that costs a fraction of what was just written."""
        with self._catalog.reading() as connection:
            rows = [row.rows for row in manifest.segment_rows(connection, self.broken)]
        if len(rows) > 1 and self._written * SETTLING >= sum(rows):
            # What was added is safe: where there is no room to merge it, it stays in more pieces.
            with suppress(FullDisk), self._catalog.changing() as connection:
                self._merge(connection, manifest.segment_rows(connection, self.broken))
            self._sweep()

    def _sweep(self) -> None:
        with self._catalog.reading() as connection:
            named = {row.name for row in manifest.segment_rows(connection, self.broken)}
        for file in (self.path / "segments").iterdir():
            if file.name not in named:
                with suppress(OSError):  # Where a file in use cannot be removed, the next writer does it.
                    file.unlink()

    def put(self, deposits: Sequence[Deposit]) -> None:
        """Puts all of them, or none, and only returns when they are safe."""
        for deposit in deposits:
            for document, _ in deposit.documents:
                refuse_foreign(document, tenant=self.tenant, shared=self.shared)
        with self.writing("put"), self._catalog.changing() as connection:
            version = generation(connection, self.broken) + 1
            segment = reserve(connection, "segment", 1, self.broken)[0]
            brought = sum(len(deposit.documents) for deposit in deposits)
            numbers = iter(reserve(connection, "document", brought, self.broken))
            written: list[segments.Shelved] = []
            for deposit in deposits:
                manifest.forget(connection, deposit.source, deposit.item, self.broken)
                mine = [
                    self._insert(connection, deposit, document, entries, Place(next(numbers), version, segment))
                    for document, entries in deposit.documents
                ]
                manifest.add_item(connection, deposit, [one.key for one in mine], self.broken)
                written += mine
            # What an item brought that was named again in the same breath is gone before it stands in a segment.
            gone = {one[0] for one in connection.execute("SELECT doc FROM dead WHERE segment = ?", (segment,))}
            connection.execute("DELETE FROM dead WHERE segment = ?", (segment,))
            written = [one for one in written if one.key not in gone]
            if written:
                rows = segments.gather(written, self._dimensions())
                self._written += len(rows.document)
                self._add_segment(connection, segment, rows)
                self._merge_small(connection)

    def _insert(
        self,
        connection: sqlite3.Connection,
        deposit: Deposit,
        document: Document,
        entries: Sequence[Entry],
        place: Place,
    ) -> segments.Shelved:
        if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
            raise taken(document.id)
        chunks = [entry.chunk for entry in entries]
        scope = records.insert(connection, deposit, document, chunks, place, self.broken)
        return segments.Shelved(place.number, document.id, scope, document.language, entries)

    def _dimensions(self) -> int:
        return int(self.identity["space"].split()[1])

    def _add_segment(self, connection: sqlite3.Connection, number: int, rows: segments.Rows) -> None:
        name = f"{number:08d}-{secrets.token_hex(4)}.seg"
        size, footer = segments.write(self.path / "segments" / name, rows)
        manifest.add_segment(connection, SegmentRow(number, name, size, footer, len(rows.document)))

    def _merge_small(self, connection: sqlite3.Connection) -> None:
        """Merges segments of one size class once there are ``FAN`` of them, so a shelf keeps few segments."""
        while True:
            classes: dict[int, list[SegmentRow]] = {}
            for row in manifest.segment_rows(connection, self.broken):
                classes.setdefault(segments.size_class(row.rows), []).append(row)
            full = [some for _, some in sorted(classes.items()) if len(some) >= segments.FAN]
            if not full:
                return
            self._merge(connection, full[0])

    def _merge(self, connection: sqlite3.Connection, some: Sequence[SegmentRow]) -> None:
        picked = []
        for row in some:
            dead = {one[0] for one in connection.execute("SELECT doc FROM dead WHERE segment = ?", (row.number,))}
            part = Part(row.number, self._segment(row), frozenset(dead))
            live = part.live_documents
            picked.append((part.segment, np.ones(len(part.segment.keys), bool) if live is None else live))
        merged = segments.merge(picked)
        fresh = reserve(connection, "segment", 1, self.broken)[0]
        for row in some:
            connection.execute("DELETE FROM segments WHERE segment = ?", (row.number,))
            connection.execute("DELETE FROM dead WHERE segment = ?", (row.number,))
            connection.execute("UPDATE documents SET segment = ? WHERE segment = ?", (fresh, row.number))
            self._open.pop(row.name, None)  # Its map goes with the last view that uses it, not with the next state.
        if len(merged.keys):
            self._add_segment(connection, fresh, merged)

    def drop(self, items: Iterable[tuple[str, str]]) -> int:
        """Takes away all that these items brought."""
        with self.writing("drop"), self._catalog.changing() as connection:
            return sum(manifest.forget(connection, source, item, self.broken) for source, item in items)

    def amend(self, document_id: str, metadata: Metadata) -> None:
        """Replaces the metadata of a document, nothing else."""
        with self.writing("amend"), self._catalog.changing() as connection:
            row = find(connection, self._current(connection), document_id, self.broken)
            records.amend(connection, row, metadata, generation(connection, self.broken) + 1)

    def touch(self, revisions: Sequence[tuple[str, str, str]]) -> None:
        """Notes that items have a new revision and the same content."""
        with self.writing("touch"), self._catalog.changing() as connection:
            for source, item, revision in revisions:
                manifest.touch(connection, source, item, revision, self.broken)

    def remember(self, key: str, value: str) -> None:
        """Keeps a small named value."""
        with self.writing("remember"), self._catalog.changing() as connection:
            note(connection, f"user:{key}", value)

    def compact(self) -> None:
        """Merges all segments into one and gives the room back. Answers stay the same to the last bit."""
        with self.writing("compact"):
            with self._catalog.changing() as connection:
                some = manifest.segment_rows(connection, self.broken)
                dead = connection.execute("SELECT count(*) FROM dead").fetchone()[0]
                if len(some) > 1 or dead:
                    self._merge(connection, some)
            self._sweep()
            with self._catalog.using(writing=True) as connection:
                connection.execute("VACUUM")
                # Where a reader holds an older state, the log is emptied another time.
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA busy_timeout = 10000")

    def rebuild(self, make: Make, identity: Mapping[str, str]) -> None:
        """Makes the segments anew from the documents in the catalog, and notes the new identity."""
        with self.writing("rebuild"):
            before = self.identity
            try:
                with self._catalog.changing() as connection:
                    self._rebuild(connection, make, identity)
            except BaseException:
                self.identity = before
                raise
            self.identity = self._catalog.meta()
            self._expected = {key: self.identity[key] for key in self._expected}
            with self._guard:
                self._state = None
            self._sweep()

    def _rebuild(self, connection: sqlite3.Connection, make: Make, identity: Mapping[str, str]) -> None:
        self._state = None
        for key, value in identity.items():
            note(connection, key, value)
        self.identity = {**self.identity, **identity}
        connection.execute("DELETE FROM segments")
        connection.execute("DELETE FROM dead")
        scopes = records.Scopes(connection, self.broken).by_number
        numbers = [row[0] for row in connection.execute("SELECT doc FROM documents ORDER BY doc").fetchall()]
        for at in range(0, len(numbers), 512):
            batch = numbers[at : at + 512]
            segment = reserve(connection, "segment", 1, self.broken)[0]
            gathered = [self._remade(connection, number, scopes, make) for number in batch]
            connection.executemany("UPDATE documents SET segment = ? WHERE doc = ?", [(segment, n) for n in batch])
            self._add_segment(connection, segment, segments.gather(gathered, self._dimensions()))
            self._merge_small(connection)

    def _remade(
        self, connection: sqlite3.Connection, number: int, scopes: Mapping[int, Scope], make: Make
    ) -> segments.Shelved:
        row = records.numbered(connection, [number], self.broken)[number]
        if row.scope not in scopes:
            raise self.broken(f"the scope of document {row.id!r} is missing")
        document = row.document(connection, scopes[row.scope], self.broken)
        spans = tuple(Span(cut[0], cut[1]) for cut in row.cuts(connection, self.broken))
        return segments.Shelved(number, row.id, row.scope, row.language, make(document, spans))

    # --- care --------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Reads everything and returns what is wrong."""
        wrong: list[str] = []
        try:
            with self.view() as view:
                wrong += view.problems()
                view.ledger()  # Answers no question, but is read whole by the next refresh.
        except EstanteError as error:
            wrong.append(error.message)
        return wrong

    def close(self) -> None:
        """Gives back files and memory."""
        with self._guard:
            self._state = None
            self._open = {}  # A view that is still being read keeps its segments until it ends.
        self._catalog.close()


def _crowded(columns: Columns, state: State) -> bool:
    """Whether most of what columns remember is of documents and values that are gone."""
    return max(len(columns.positions), columns.distinct) > 2 * state.tally[0] + 1_000
