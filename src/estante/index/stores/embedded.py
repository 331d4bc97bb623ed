"""The embedded store: a folder that holds a catalog and segments. One writer, any number of readers.

The catalog's commit is the commit point: a segment is written and made safe first, then the transaction that names it
commits. A reader sees one whole state from the first byte of its view to the last.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index import catalog, dense, lexical, manifest, segments
from estante.index.boundary import bounds, missing, refuse_foreign, refuse_stale, space_to_text, taken, unwritable
from estante.index.catalog import Catalog, DocumentRow
from estante.index.columns import Columns
from estante.index.lock import WriterLock
from estante.index.ranking import best, ordered
from estante.index.states import Part, Readable, State, Weighed
from estante.model.access import Grant, Scope
from estante.model.asking import Where
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.errors import CorruptShelf, Denied, EstanteError, FullDisk, NameTaken, NotFound, StaleShelf
from estante.model.ports import (
    Deposit,
    Entry,
    Found,
    LedgerRow,
    Lexical,
    Listing,
    Quantised,
    Space,
    Statistics,
    Word,
)
from estante.security.paths import private_directory

ROW_BITS: Final = 40
ROW_MASK: Final = (1 << ROW_BITS) - 1
MASKS: Final = 32
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
        self._open: dict[str, segments.Segment] = {}
        self._columns: Columns | None = None
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
        with self._catalog.reading() as connection:
            yield EmbeddedView(self, connection, self._settled(connection))

    def _settled(self, connection: sqlite3.Connection) -> State:
        """The state of the connection's snapshot, or of a newer one when a writer has swept its segments meanwhile."""
        while True:
            try:
                return self._current(connection)
            except CorruptShelf:
                before = self._version(connection)
                connection.execute("COMMIT")
                connection.execute("BEGIN")
                if self._version(connection) == before:
                    raise

    def _current(self, connection: sqlite3.Connection) -> State:
        generation = self._version(connection) - 1
        with self._guard:
            if self._state is None or self._state.generation != generation:
                self._state = self._load(connection, generation)
            return self._state

    def _load(self, connection: sqlite3.Connection, generation: int) -> State:
        dead: dict[int, set[int]] = {}
        for number, document in connection.execute("SELECT segment, doc FROM dead"):
            dead.setdefault(number, set()).add(document)
        known = {part.number: part for part in self._state.parts} if self._state else {}
        parts = []
        rows = connection.execute("SELECT segment, name, size, footer FROM segments ORDER BY segment").fetchall()
        for number, name, size, footer in rows:
            gone = frozenset(dead.get(number, ()))
            part = known.get(number)
            if part is None or part.dead != gone:
                part = Part(number, self._segment(name, size, footer), gone)
            parts.append(part)
        self._open = {name: part.segment for (_, name, _, _), part in zip(rows, parts, strict=True)}
        # Another process may have rebuilt the shelf with another encoder since this one looked.
        refuse_stale(dict(connection.execute("SELECT key, value FROM meta")), self._expected, "estante rebuild")
        state = State(
            generation, tuple(parts), catalog.Scopes(connection, self.broken).by_number, manifest.languages(connection)
        )
        if manifest.tally(connection) != state.tally:
            raise self.broken("its documents are not those of its segments")
        return state

    def _segment(self, name: str, size: int, footer: int) -> segments.Segment:
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = segments.Segment(self.path / "segments" / name, size, footer)
        return found

    def columns(self, connection: sqlite3.Connection, state: State) -> Columns:
        """The metadata columns of a state: those of an earlier one with what has changed since."""
        with self._guard:
            if state.columns is None:
                base = self._columns
                crowded = base is not None and len(base.positions) > 2 * state.tally[0] + 1_000
                if base is None or crowded or base.version > state.generation:
                    base = Columns()
                state.columns = self._columns = self._caught_up(connection, base.fork(state.generation), base.version)
            return state.columns

    def _caught_up(self, connection: sqlite3.Connection, columns: Columns, since: int) -> Columns:
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents WHERE version > ? ORDER BY doc"
        for row in connection.execute(query, (since,)):
            document = DocumentRow(row, self._catalog.broken)
            columns.put(document.number, document.record())
        return columns

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
            rows = [row[0] for row in connection.execute("SELECT rows FROM segments")]
        if len(rows) > 1 and self._written * SETTLING >= sum(rows):
            # What was added is safe: where there is no room to merge it, it stays in more pieces.
            with suppress(FullDisk), self._catalog.changing() as connection:
                some = connection.execute("SELECT segment, name, size, footer FROM segments").fetchall()
                self._merge(connection, some)
            self._sweep()

    def _sweep(self) -> None:
        with self._catalog.reading() as connection:
            named = {name for (name,) in connection.execute("SELECT name FROM segments")}
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
            version = self._version(connection)
            number = manifest.next_segment(connection)
            written: list[tuple[int, str, Sequence[Entry]]] = []
            for deposit in deposits:
                self._forget(connection, deposit.source, deposit.item)
                for document, entries in deposit.documents:
                    written.append(self._insert(connection, deposit, document, entries, number, version))
                row = (deposit.source, deposit.item, deposit.revision, deposit.digest, deposit.recipe, deposit.reason)
                connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", row)
            if written:
                rows = segments.gather(written, self._dimensions())
                self._written += len(rows.document)
                self._add_segment(connection, number, rows)
                self._merge_small(connection)

    def _insert(
        self,
        connection: sqlite3.Connection,
        deposit: Deposit,
        document: Document,
        entries: Sequence[Entry],
        number: int,
        version: int,
    ) -> tuple[int, str, Sequence[Entry]]:
        if connection.execute("SELECT 1 FROM documents WHERE id = ?", (document.id,)).fetchone():
            raise taken(document.id)
        key = catalog.insert(connection, deposit, document, [e.chunk for e in entries], number, version)
        return key, document.id, entries

    def _version(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        if row is None or not str(row[0]).isdecimal():
            raise self._catalog.broken("its generation is not a number")
        return int(row[0]) + 1

    def _dimensions(self) -> int:
        return int(self.identity["space"].split()[1])

    def _forget(self, connection: sqlite3.Connection, source: str, item: str) -> int:
        """Takes out what an item brought; returns how many documents that were."""
        query = "SELECT doc, segment FROM documents WHERE source = ? AND item = ?"
        rows = connection.execute(query, (source, item)).fetchall()
        for number, segment in rows:
            catalog.remove(connection, number, segment)
        connection.execute("DELETE FROM items WHERE source = ? AND item = ?", (source, item))
        return len(rows)

    def _add_segment(self, connection: sqlite3.Connection, number: int, rows: segments.Rows) -> None:
        name = f"{number:08d}-{secrets.token_hex(4)}.seg"
        size, footer = segments.write(self.path / "segments" / name, rows)
        row = (number, name, size, footer, len(rows.document))
        connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", row)

    def _merge_small(self, connection: sqlite3.Connection) -> None:
        """Merges segments of one size class once there are ``FAN`` of them, so a shelf keeps few segments."""
        while True:
            classes: dict[int, list[tuple[int, str, int, int]]] = {}
            for row in connection.execute("SELECT segment, name, size, footer, rows FROM segments").fetchall():
                classes.setdefault(segments.size_class(row[4]), []).append(row[:4])
            full = [some for _, some in sorted(classes.items()) if len(some) >= segments.FAN]
            if not full:
                return
            self._merge(connection, full[0])

    def _merge(self, connection: sqlite3.Connection, some: Sequence[tuple[int, str, int, int]]) -> None:
        picked = []
        for number, name, size, footer in some:
            dead = {row[0] for row in connection.execute("SELECT doc FROM dead WHERE segment = ?", (number,))}
            part = Part(number, self._segment(name, size, footer), frozenset(dead))
            live = part.live_documents
            picked.append((part.segment, np.ones(len(part.segment.keys), bool) if live is None else live))
        merged = segments.merge(picked)
        fresh = manifest.next_segment(connection)
        for number, name, *_ in some:
            connection.execute("DELETE FROM segments WHERE segment = ?", (number,))
            connection.execute("DELETE FROM dead WHERE segment = ?", (number,))
            connection.execute("UPDATE documents SET segment = ? WHERE segment = ?", (fresh, number))
            self._open.pop(name, None)  # Its map goes with the last view that uses it, not with the next state.
        if len(merged.keys):
            self._add_segment(connection, fresh, merged)

    def drop(self, items: Iterable[tuple[str, str]]) -> int:
        """Takes away all that these items brought."""
        with self.writing("drop"), self._catalog.changing() as connection:
            return sum(self._forget(connection, source, item) for source, item in items)

    def amend(self, document_id: str, metadata: Metadata) -> None:
        """Replaces the metadata of a document, nothing else."""
        with self.writing("amend"), self._catalog.changing() as connection:
            row = catalog.find(connection, document_id, self.broken)
            catalog.amend(connection, row, metadata, self._version(connection))

    def touch(self, revisions: Sequence[tuple[str, str, str]]) -> None:
        """Notes that items have a new revision and the same content."""
        with self.writing("touch"), self._catalog.changing() as connection:
            connection.executemany(
                "UPDATE items SET revision = ? WHERE source = ? AND item = ?",
                [(revision, source, item) for source, item, revision in revisions],
            )

    def remember(self, key: str, value: str) -> None:
        """Keeps a small named value."""
        with self.writing("remember"), self._catalog.changing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"user:{key}", value))

    def compact(self) -> None:
        """Merges all segments into one and gives the room back. Answers stay the same to the last bit."""
        with self.writing("compact"):
            with self._catalog.changing() as connection:
                some = connection.execute("SELECT segment, name, size, footer FROM segments").fetchall()
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
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(identity.items()))
        self.identity = {**self.identity, **identity}
        connection.execute("DELETE FROM segments")
        connection.execute("DELETE FROM dead")
        scopes = catalog.Scopes(connection, self.broken).by_number
        numbers = [row[0] for row in connection.execute("SELECT doc FROM documents ORDER BY doc").fetchall()]
        for at in range(0, len(numbers), 512):
            batch = numbers[at : at + 512]
            segment = manifest.next_segment(connection)
            gathered = [self._remade(connection, number, scopes, make) for number in batch]
            connection.executemany("UPDATE documents SET segment = ? WHERE doc = ?", [(segment, n) for n in batch])
            self._add_segment(connection, segment, segments.gather(gathered, self._dimensions()))
            self._merge_small(connection)

    def _remade(
        self, connection: sqlite3.Connection, number: int, scopes: Mapping[int, Scope], make: Make
    ) -> tuple[int, str, tuple[Entry, ...]]:
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents WHERE doc = ?"
        row = DocumentRow(connection.execute(query, (number,)).fetchone(), self.broken)
        if row.scope not in scopes:
            raise self.broken(f"the scope of document {row.id!r} is missing")
        document = row.document(connection, scopes[row.scope], self.broken)
        spans = tuple(Span(cut[0], cut[1]) for cut in row.cuts(connection, self.broken))
        return number, row.id, make(document, spans)

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


class EmbeddedView:
    """One whole state of an embedded store."""

    def __init__(self, store: EmbeddedStore, connection: sqlite3.Connection, state: State) -> None:
        self._store = store
        self._connection = connection
        self._state = state
        self._weighed: tuple[tuple[Grant, tuple[Word, ...]], Weighed] | None = None

    def statistics(self) -> Statistics:
        """Counts of the whole shelf."""
        one = self._connection.execute
        documents, redactions = one("SELECT count(*), coalesce(sum(redactions), 0) FROM documents").fetchone()
        skipped = one("SELECT count(*) FROM items WHERE reason <> ''").fetchone()[0]
        size = 0
        for file in self._store.path.rglob("*"):
            with suppress(OSError):  # A writer may take it away meanwhile.
                size += file.stat().st_size if file.is_file() else 0
        return Statistics(
            documents=documents,
            chunks=self._state.rows,
            average=self._state.average,
            languages=self._state.languages,
            redactions=redactions,
            skipped=skipped,
            bytes=size,
        )

    def languages(self, grant: Grant) -> tuple[str, ...]:
        """The languages of the documents that the grant covers."""
        return self._readable(grant).languages

    # --- who may see which rows ----------------------------------------------------------------------------------

    def _masks(self, grant: Grant, where: Where | None) -> list[NDArray[np.bool_] | None]:
        """For each part, which rows count: alive, covered by the grant, passing the filter. None: all of them."""
        # The filter's text is the key: to a dict, the conditions x = 1 and x = true would be one.
        key = (grant, repr(where))
        masks = self._state.masks.get(key)
        if masks is None:
            masks = [self._mask(part, grant, where) for part in self._state.parts]
            if len(self._state.masks) >= MASKS:
                self._state.masks.clear()
            self._state.masks[key] = masks
        return masks

    def _readable(self, grant: Grant) -> Readable:
        found = self._state.readable.get(grant)
        if found is None:
            covered = [number for number, scope in self._state.scopes.items() if grant.covers(scope)]
            whole = len(covered) == len(self._state.scopes)
            languages = self._state.languages if whole else manifest.languages(self._connection, covered)
            found = Readable(self._state, self._masks(grant, None), languages)
            if len(self._state.readable) >= MASKS:
                self._state.readable.clear()
            self._state.readable[grant] = found
        return found

    def _mask(self, part: Part, grant: Grant, where: Where | None) -> NDArray[np.bool_] | None:
        mask = part.live_documents
        scopes = self._state.scopes
        if not all(grant.covers(scope) for scope in scopes.values()):
            covered = {number for number, scope in scopes.items() if grant.covers(scope)}
            scope_of = self._scope_of_documents()
            keys = part.segment.keys.tolist()
            seen = np.fromiter((scope_of.get(key, -1) in covered for key in keys), bool, len(keys))
            mask = seen if mask is None else mask & seen
        if where is not None:
            columns = self._store.columns(self._connection, self._state)
            decided, places = columns.decide(where), part.places(columns)
            passed = (decided[places] if len(decided) else np.zeros(len(places), bool)) & (places >= 0)
            mask = passed if mask is None else mask & passed
        return None if mask is None else mask[part.segment.document]

    def _scope_of_documents(self) -> dict[int, int]:
        if self._state.by_document is None:
            self._state.by_document = dict(self._connection.execute("SELECT doc, scope FROM documents"))
        return self._state.by_document

    # --- the legs ------------------------------------------------------------------------------------------------

    def _weigh(self, words: Sequence[Word], grant: Grant) -> Weighed:
        key = (grant, tuple(words))
        if self._weighed is None or self._weighed[0] != key:
            self._weighed = (key, Weighed(self._state, words, self._readable(grant)))
        return self._weighed[1]

    def lexical(self, words: Sequence[Word], k: int, grant: Grant, where: Where | None) -> Lexical:
        """The k best chunks by BM25 with a score above zero."""
        if not self._readable(grant).average:  # No row to be read has a word; the others' lengths have no measure.
            return Lexical((), 0.0, (False,) * len(words))
        weighed, masks = self._weigh(words, grant), self._masks(grant, where)
        candidates: list[tuple[float, int, int]] = []
        most = 0.0
        for at, part in enumerate(self._state.parts):
            scores, masses = self._scores(part, weighed.postings[at], weighed)
            mask = masks[at]
            rows = np.flatnonzero(scores if mask is None else (scores > 0) & mask)
            if len(rows):
                most = max(most, float(np.max(masses[rows])))
                candidates += [(score, at, row) for row, score in best(rows, scores[rows], k)]
        coverage = most / weighed.total if weighed.total else 0.0
        held = tuple(self._is_held(at, weighed.postings, masks) for at in range(len(words)))
        return Lexical(self._found(candidates, k), coverage, held)

    @staticmethod
    def _is_held(
        word: int,
        postings: list[list[list[tuple[NDArray[Any], NDArray[Any]]]]],
        masks: list[NDArray[np.bool_] | None],
    ) -> bool:
        """Whether an allowed row holds the word."""
        return any(
            len(rows) > 0 if mask is None else bool(mask[rows].any())
            for found, mask in zip(postings, masks, strict=True)
            for rows, _ in found[word]
        )

    def _scores(
        self,
        part: Part,
        postings: list[list[tuple[NDArray[Any], NDArray[Any]]]],
        weighed: Weighed,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The BM25 score of every row of a part, and the weight of the words it holds."""
        scores, masses = np.zeros(part.segment.rows), np.zeros(part.segment.rows)
        for found, weight in zip(postings, weighed.weights, strict=True):
            for rows, counts in found:
                if not len(rows):
                    continue
                damp = lexical.damping(part.lengths[rows].astype(np.float64), weighed.average)
                scores[rows] += lexical.contribution(weight, counts.astype(np.float64), damp)
                masses[rows] += weight
        return scores, masses

    def nearest(self, vector: Quantised, k: int, grant: Grant, where: Where | None) -> tuple[Found, ...]:
        """The k chunks with the greatest cosine."""
        if not vector.scale:
            return ()
        wanted = np.frombuffer(vector.values, np.int8)
        candidates: list[tuple[float, int, int]] = []
        for at, (part, mask) in enumerate(zip(self._state.parts, self._masks(grant, where), strict=True)):
            scales = part.segment.array("scales")
            rows = np.flatnonzero(scales > 0 if mask is None else (scales > 0) & mask)
            vectors = part.segment.array("vectors")
            if len(rows) * 4 < len(scales):
                scores = dense.cosines(vectors[rows], scales[rows], wanted, vector.scale)
            else:
                scores = dense.cosines(vectors, scales, wanted, vector.scale)[rows]
            candidates += [(score, at, row) for row, score in best(rows, scores, k)]
        return self._found(candidates, k)

    def _found(self, candidates: list[tuple[float, int, int]], k: int) -> tuple[Found, ...]:
        """The best over all parts; within a part the row is the tie-break, across parts the id and position."""
        if len(candidates) > k:  # Ties are looked up: only for what can still be among the best.
            edge = sorted((one[0] for one in candidates), reverse=True)[k - 1]
            candidates = [one for one in candidates if one[0] >= edge]
        scored = [(at << ROW_BITS | row, score) for score, at, row in candidates]
        if len(self._state.parts) > 1:
            scored = ordered(scored, self.tie)
        return tuple(Found(ref, score) for ref, score in scored[:k])

    def tie(self, ref: int) -> tuple[str, int]:
        """What settles equal scores: document id and position."""
        segment, row = self._state.parts[ref >> ROW_BITS].segment, ref & ROW_MASK
        return segment.document_id(int(segment.document[row])), segment.position(row)

    def _by_part(self, refs: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """For each part that holds some: where they stand in ``refs``, and their rows."""
        wide = np.array(refs, np.int64)
        for at in sorted(set((wide >> ROW_BITS).tolist())):
            places = np.flatnonzero(wide >> ROW_BITS == at)
            yield at, places, wide[places] & ROW_MASK

    def bm25(self, words: Sequence[Word], refs: Sequence[int], grant: Grant) -> list[float]:
        """The BM25 score of each candidate."""
        weighed, scores = self._weigh(words, grant), np.zeros(len(refs))
        for at, places, wanted in self._by_part(refs if weighed.average else ()):
            damp = lexical.damping(self._state.parts[at].lengths[wanted].astype(np.float64), weighed.average)
            for found, weight in zip(weighed.postings[at], weighed.weights, strict=True):
                for rows, counts in found:
                    if len(rows):
                        near = np.minimum(np.searchsorted(rows, wanted.astype(rows.dtype)), len(rows) - 1)
                        held = rows[near] == wanted
                        added = lexical.contribution(weight, counts[near].astype(np.float64), damp)
                        scores[places[held]] += added[held]
        return [float(score) for score in scores]

    def cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        """The cosine of each candidate."""
        out = np.zeros(len(refs))
        wanted = np.frombuffer(vector.values, np.int8)
        for at, places, rows in self._by_part(refs):
            segment = self._state.parts[at].segment
            vectors, scales = segment.array("vectors")[rows], segment.array("scales")[rows]
            out[places] = dense.cosines(vectors, scales, wanted, vector.scale)
        return [float(score) for score in out]

    # --- texts -----------------------------------------------------------------------------------------------------

    def _whose(self, row: DocumentRow) -> Scope:
        if row.scope not in self._state.scopes:
            raise self._store.broken(f"the scope of document {row.id!r} is missing")
        return self._state.scopes[row.scope]

    def _scope(self, row: DocumentRow, grant: Grant) -> Scope:
        scope = self._whose(row)
        if not grant.covers(scope):
            raise missing(row.id)
        return scope

    def chunks(self, refs: Sequence[int], grant: Grant) -> list[Chunk]:
        """The chunks of candidates, read for these alone."""
        wanted: list[tuple[int, int]] = []
        for ref in refs:
            segment, row = self._state.parts[ref >> ROW_BITS].segment, ref & ROW_MASK
            wanted.append((int(segment.keys[int(segment.document[row])]), segment.position(row)))
        rows = catalog.numbered(self._connection, {number for number, _ in wanted}, self._store.broken)
        scopes = {number: self._scope(row, grant) for number, row in rows.items()}
        cuts = catalog.read_cuts(self._connection, wanted, rows, self._store.broken)
        spans = [(number, cut[0], cut[1]) for (number, _), cut in zip(wanted, cuts, strict=True)]
        texts = catalog.read_texts(self._connection, spans, self._store.broken)
        return [
            rows[number].chunk(scopes[number], index, cut, text)
            for (number, index), cut, text in zip(wanted, cuts, texts, strict=True)
        ]

    def document(self, document_id: str, grant: Grant) -> Document:
        """A document whole."""
        row = catalog.find(self._connection, document_id, self._store.broken)
        return row.document(self._connection, self._scope(row, grant), self._store.broken)

    def slice(self, document_id: str, start: int, end: int | None, grant: Grant) -> tuple[int, int, str]:
        """Part of a document's text, without reading the rest."""
        row = catalog.find(self._connection, document_id, self._store.broken)
        self._scope(row, grant)
        start, end = bounds(document_id, start, end, row.chars)
        if start == end:
            return start, end, ""
        return start, end, catalog.read_text(self._connection, row.number, start, end, self._store.broken)

    def listings(self, grant: Grant, where: Where | None) -> Iterator[Listing]:
        """The documents that the grant covers, by id."""
        allowed: set[int] | None = None
        if where is not None:
            columns = self._store.columns(self._connection, self._state)
            decided = columns.decide(where)
            allowed = {number for number, at in columns.positions.items() if decided[at]}
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents ORDER BY id"
        for fields in self._connection.execute(query):
            row = DocumentRow(fields, self._store.broken)
            scope = self._whose(row)
            if grant.covers(scope) and (allowed is None or row.number in allowed):
                yield row.listing(scope)

    def spans(self, document_id: str, grant: Grant) -> tuple[Span, ...]:
        """The spans of a document's chunks, in order."""
        row = catalog.find(self._connection, document_id, self._store.broken)
        self._scope(row, grant)
        return tuple(Span(cut[0], cut[1]) for cut in row.cuts(self._connection, self._store.broken))

    def entries(self, document_id: str) -> tuple[Entry, ...]:
        """The document's entries, read back from catalog and segment."""
        row = catalog.find(self._connection, document_id, self._store.broken)
        scope = self._whose(row)
        part = next((one for one in self._state.parts if one.number == row.segment), None)
        if part is None or row.number not in part.segment.keys:
            raise self._store.broken(f"document {document_id!r} is not in its segment")
        local = int(np.flatnonzero(part.segment.keys == row.number)[0])
        text = catalog.read_text(self._connection, row.number, 0, row.chars, self._store.broken)
        cuts = row.cuts(self._connection, self._store.broken)
        found = []
        for at in np.flatnonzero(part.segment.document == local).tolist():
            index = part.segment.position(at)
            start, end = cuts[index][:2]
            found.append(Entry(row.chunk(scope, index, cuts[index], text[start:end]), *part.segment.entry(at)))
        return tuple(found)

    def ledger(self, source: str | None = None, items: Sequence[str] | None = None) -> dict[tuple[str, str], LedgerRow]:
        """What is remembered of every item of a source, or of these items."""
        return manifest.read_ledger(self._connection, source, items)

    def item_of(self, document_id: str, grant: Grant) -> tuple[str, str]:
        """The (source, item) that brought a document."""
        row = catalog.find(self._connection, document_id, self._store.broken)
        self._scope(row, grant)
        return row.item

    def recall(self, key: str) -> str | None:
        """A small named value."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (f"user:{key}",)).fetchone()
        return None if row is None else str(row[0])

    def problems(self) -> list[str]:
        """What is wrong with the shelf, read whole."""
        wrong = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        alive: dict[int, int] = {}
        for part in self._state.parts:
            try:
                part.segment.verify()
            except EstanteError as error:
                wrong.append(error.message)
            live = part.live_documents
            keys = part.segment.keys if live is None else part.segment.keys[live]
            alive.update(dict.fromkeys(keys.tolist(), part.number))
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents ORDER BY id"
        for fields in self._connection.execute(query).fetchall():
            wrong += self._document_problems(fields, alive)
        wrong += [f"segment {alive[key]} holds document number {key}, which the catalog does not" for key in alive]
        return wrong

    def _document_problems(self, fields: tuple[Any, ...], alive: dict[int, int]) -> list[str]:
        try:
            row = DocumentRow(fields, self._store.broken)
            if alive.pop(row.number, None) != row.segment:
                return [f"document {row.id!r} is in the catalog but not in its segment"]
            document = row.document(self._connection, self._whose(row), self._store.broken)
            for cut in row.cuts(self._connection, self._store.broken):
                document.cut(0, Span(cut[0], cut[1]))
        except (EstanteError, ValueError, KeyError) as error:
            return [f"document {fields[3]!r}: {error}"]
        return []
