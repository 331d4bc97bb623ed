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

from estante.index import catalog, dense, lexical, manifest, order, records, segments
from estante.index.boundary import bounds, missing, refuse_foreign, refuse_stale, space_to_text, taken, unwritable
from estante.index.catalog import Catalog
from estante.index.columns import Columns
from estante.index.lock import WriterLock
from estante.index.manifest import SegmentRow
from estante.index.notes import Broken, generation, note, noted, notes, reserve
from estante.index.ranking import best, ordered
from estante.index.records import DocumentRow, Place
from estante.index.states import Part, Readable, State, Weighed
from estante.model.access import Grant, Scope
from estante.model.asking import Where
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.errors import CorruptShelf, Denied, EstanteError, FullDisk, NameTaken, NotFound, StaleShelf
from estante.model.ports import (
    Deposit,
    Entry,
    Found,
    Holdings,
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
        self._held = threading.local()
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

    def columns(self, connection: sqlite3.Connection, state: State) -> Columns:
        """The metadata columns of a state: those of an earlier one with what has changed since."""
        with self._guard:
            if state.columns is None:
                base = self._columns
                crowded = base is not None and len(base.positions) > 2 * state.tally[0] + 1_000
                if base is None or crowded or base.version > state.generation:
                    base = Columns()
                columns = base.fork(state.generation)
                for row in records.every(connection, base.version, self.broken):
                    columns.put(row.number, row.record())
                places = [part.places(columns) for part in state.parts]
                if any((part.living(at) < 0).any() for part, at in zip(state.parts, places, strict=True)):
                    raise self.broken("the record of a document is missing")
                state.columns, state.places, self._columns = columns, places, columns
            return state.columns

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


class EmbeddedView:
    """One whole state of an embedded store."""

    def __init__(self, store: EmbeddedStore, connection: sqlite3.Connection, state: State) -> None:
        self._store = store
        self._connection = connection
        self._state = state
        self._weighed: tuple[tuple[Grant, tuple[Word, ...]], Weighed] | None = None

    def statistics(self) -> Statistics:
        """Counts of the whole shelf."""
        query = "SELECT count(*), coalesce(sum(redactions), 0) FROM documents NOT INDEXED"
        documents, redactions = self._connection.execute(query).fetchone()
        if documents != self._state.tally[0]:
            raise self._store.broken("its documents are not those of its segments")
        skipped = manifest.skipped(self._connection, self._store.broken)
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
            masks = [self._mask(at, part, grant, where) for at, part in enumerate(self._state.parts)]
            if len(self._state.masks) >= MASKS:
                self._state.masks.clear()
            self._state.masks[key] = masks
        return masks

    def _readable(self, grant: Grant) -> Readable:
        found = self._state.readable.get(grant)
        if found is None:
            covered = [number for number, scope in self._state.scopes.items() if grant.covers(scope)]
            languages = self._state.spoken(covered)
            found = Readable(self._state, self._masks(grant, None), languages)
            if len(self._state.readable) >= MASKS:
                self._state.readable.clear()
            self._state.readable[grant] = found
        return found

    def _mask(self, at: int, part: Part, grant: Grant, where: Where | None) -> NDArray[np.bool_] | None:
        mask = self._documents(at, part, grant, where)
        return None if mask is None else mask[part.segment.document]

    def _documents(self, at: int, part: Part, grant: Grant, where: Where | None) -> NDArray[np.bool_] | None:
        mask = part.live_documents
        scopes = self._state.scopes
        if not all(grant.covers(scope) for scope in scopes.values()):
            covered = [number for number, scope in scopes.items() if grant.covers(scope)]
            seen = np.isin(part.segment.array("scopes"), np.array(covered, np.int64))
            mask = seen if mask is None else mask & seen
        if where is not None:
            columns = self._store.columns(self._connection, self._state)
            decided, places = columns.decide(where), self._state.places[at]
            passed = (decided[places] if len(decided) else np.zeros(len(places), bool)) & (places >= 0)
            mask = passed if mask is None else mask & passed
        return mask

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

    def _row(self, document_id: str) -> DocumentRow:
        return find(self._connection, self._state, document_id, self._store.broken)

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
        rows = records.numbered(self._connection, {number for number, _ in wanted}, self._store.broken)
        scopes = {number: self._scope(row, grant) for number, row in rows.items()}
        cuts = records.read_cuts(self._connection, wanted, rows, self._store.broken)
        spans = [(number, cut[0], cut[1]) for (number, _), cut in zip(wanted, cuts, strict=True)]
        texts = records.read_texts(self._connection, spans, self._store.broken)
        return [
            rows[number].chunk(scopes[number], index, cut, text)
            for (number, index), cut, text in zip(wanted, cuts, texts, strict=True)
        ]

    def vectors(self, refs: Sequence[int]) -> list[Quantised]:
        """The vector of each candidate as it is kept."""
        return [self._state.parts[ref >> ROW_BITS].segment.vector(ref & ROW_MASK) for ref in refs]

    def holdings(self, grant: Grant, where: Where | None) -> Holdings:
        """Counts and mark of what the grant covers and the filter lets through."""
        key = (grant, repr(where))
        if key not in self._state.holdings:
            seen = [self._documents(at, part, grant, where) for at, part in enumerate(self._state.parts)]
            found = order.holdings(self._connection, self._state.parts, seen, self._masks(grant, where))
            if len(self._state.holdings) >= MASKS:
                self._state.holdings.clear()
            self._state.holdings[key] = found
        return self._state.holdings[key]

    def scan(self, after: tuple[str, int] | None, k: int, grant: Grant, where: Where | None) -> list[int]:
        """The first k candidates behind a place."""
        found = order.scan(self._state.parts, self._masks(grant, where), after, k)
        return [at << ROW_BITS | row for at, row in found]

    def locate(self, places: Sequence[tuple[str, int]], grant: Grant, where: Where | None) -> list[int | None]:
        """The candidate at each place."""
        found = order.locate(self._state.parts, self._masks(grant, where), places)
        return [None if one is None else one[0] << ROW_BITS | one[1] for one in found]

    def preceding(self, document_ids: Sequence[str], grant: Grant, where: Where | None) -> list[int]:
        """How many chunks that may be seen stand in documents before each."""
        return order.preceding(self._state.parts, self._masks(grant, where), document_ids)

    def document(self, document_id: str, grant: Grant) -> Document:
        """A document whole."""
        row = self._row(document_id)
        return row.document(self._connection, self._scope(row, grant), self._store.broken)

    def slice(self, document_id: str, start: int, end: int | None, grant: Grant) -> tuple[int, int, str]:
        """Part of a document's text, without reading the rest."""
        row = self._row(document_id)
        self._scope(row, grant)
        start, end = bounds(document_id, start, end, row.chars)
        if start == end:
            return start, end, ""
        return start, end, records.read_text(self._connection, row.number, start, end, self._store.broken)

    def listings(self, grant: Grant, where: Where | None) -> Iterator[Listing]:
        """The documents that the grant covers, by id."""
        allowed: set[int] | None = None
        if where is not None:
            columns = self._store.columns(self._connection, self._state)
            decided = columns.decide(where)
            allowed = {number for number, at in columns.positions.items() if decided[at]}
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents ORDER BY id"
        count, last = 0, ""
        for fields in self._connection.execute(query):
            row = DocumentRow(fields, self._store.broken)
            if count and row.id <= last:
                raise self._store.broken("its list of documents is not in order")
            count, last = count + 1, row.id
            scope = self._whose(row)
            if grant.covers(scope) and (allowed is None or row.number in allowed):
                yield row.listing(scope)
        if count != self._state.tally[0]:
            raise self._store.broken("its list of documents is not whole")

    def spans(self, document_id: str, grant: Grant) -> tuple[Span, ...]:
        """The spans of a document's chunks, in order."""
        row = self._row(document_id)
        self._scope(row, grant)
        return tuple(Span(cut[0], cut[1]) for cut in row.cuts(self._connection, self._store.broken))

    def entries(self, document_id: str) -> tuple[Entry, ...]:
        """The document's entries, read back from catalog and segment."""
        row = self._row(document_id)
        scope = self._whose(row)
        part = next(part for part in self._state.parts if part.find(document_id) >= 0)
        local = part.find(document_id)
        text = records.read_text(self._connection, row.number, 0, row.chars, self._store.broken)
        cuts = row.cuts(self._connection, self._store.broken)
        found = []
        for at in np.flatnonzero(part.segment.document == local).tolist():
            index = part.segment.position(at)
            start, end = cuts[index][:2]
            found.append(Entry(row.chunk(scope, index, cuts[index], text[start:end]), *part.segment.entry(at)))
        return tuple(found)

    def ledger(self, source: str | None = None, items: Sequence[str] | None = None) -> dict[tuple[str, str], LedgerRow]:
        """What is remembered of every item of a source, or of these items."""
        return manifest.read_ledger(self._connection, source, items, self._store.broken)

    def item_of(self, document_id: str, grant: Grant) -> tuple[str, str]:
        """The (source, item) that brought a document."""
        row = self._row(document_id)
        self._scope(row, grant)
        return row.item

    def recall(self, key: str) -> str | None:
        """A small named value."""
        return noted(self._connection, f"user:{key}", self._store.broken)

    def problems(self) -> list[str]:
        """What is wrong with the shelf, read whole."""
        wrong = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        alive: dict[int, tuple[int, int, str]] = {}
        for part in self._state.parts:
            try:
                part.segment.verify()
            except EstanteError as error:
                wrong.append(error.message)
                continue
            keys, scopes = part.segment.keys.tolist(), part.segment.array("scopes").tolist()
            rows = zip(keys, scopes, part.segment.language_of_documents(), strict=True)
            alive |= {key: (part.number, scope, language) for key, scope, language in rows if key not in part.dead}
        query = f"SELECT {DocumentRow.COLUMNS} FROM documents NOT INDEXED"
        for fields in self._connection.execute(query).fetchall():
            wrong += self._document_problems(fields, alive)
        wrong += [f"segment {alive[key][0]} holds document number {key}, which the catalog does not" for key in alive]
        return wrong

    def _document_problems(self, fields: tuple[Any, ...], alive: dict[int, tuple[int, int, str]]) -> list[str]:
        try:
            row = DocumentRow(fields, self._store.broken)
            if alive.pop(row.number, None) != (row.segment, row.scope, row.language):
                return [f"document {row.id!r} is in the catalog but not in its segment"]
            document = row.document(self._connection, self._whose(row), self._store.broken)
            for cut in row.cuts(self._connection, self._store.broken):
                document.cut(0, Span(cut[0], cut[1]))
        except (EstanteError, ValueError, KeyError) as error:
            return [f"document {fields[3]!r}: {error}"]
        return []


def find(connection: sqlite3.Connection, state: State, document_id: str, broken: Broken) -> DocumentRow:
    """The row of a document, by the ids of the segments, which carry sums. Raises ``NotFound``."""
    for part in state.parts:
        local = part.find(document_id)
        if local >= 0:
            number = int(part.segment.keys[local])
            row = records.numbered(connection, [number], broken)[number]
            if row.id != document_id:
                raise broken(f"the record of document {document_id!r} is not where it should be")
            return row
    raise missing(document_id)
