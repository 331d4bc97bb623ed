"""Putting what a source offers onto the shelves: only what is new or changed is read, and nothing is left twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from estante.index.boundary import taken
from estante.index.engine import Engine
from estante.ingest.pipeline import Reading, River
from estante.model.access import Claim, Scope, meet
from estante.model.content import Document, Item
from estante.model.errors import EstanteError, NameTaken, NotFound
from estante.model.ports import Deposit, Entry, LedgerRow, Outcome, Progress, Skipped
from estante.model.wire import plain, readers_from_text, readers_to_text
from estante.security.principals import owner
from estante.security.resolver import resolve
from estante.security.scrub import scrub
from estante.shelf.local import PRIVATE, SHARED, Shelves
from estante.shelf.moves import MOVING, Moves, MovingText

BATCH_ITEMS: Final = 1_024
BATCH_CHUNKS: Final = 2_048
BATCH_CHARACTERS: Final = 4_000_000
"""A batch is committed at any of these: what is kept in memory, and what a kill can cost, stays bounded."""

SLOW_CHUNKS: Final = 256
"""As ``BATCH_CHUNKS`` for a slow encoder: what was encoded in the last seconds is what a kill costs."""

Ledger = dict[tuple[str, str], dict[str, LedgerRow]]
"""What each shelf remembers of items: (source, item) to shelf name to row."""


@dataclass
class _Batch:
    """Items that were read and wait for their commit."""

    readings: list[tuple[Item, Scope, Reading, frozenset[str]]] = field(default_factory=list)
    revisions: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    most: int = BATCH_CHUNKS
    chunks: int = 0
    characters: int = 0

    def put(self, item: Item, scope: Scope, reading: Reading, known: frozenset[str]) -> None:
        self.readings.append((item, scope, reading, known))
        for document, spans in reading.documents:
            self.chunks += len(spans)
            self.characters += len(document.text)

    def full(self) -> bool:
        return len(self.readings) >= BATCH_ITEMS or self.chunks >= self.most or self.characters >= BATCH_CHARACTERS


class Shelving:
    """One run of adding or refreshing. Counts what it did; ``outcome`` gives the sum."""

    def __init__(
        self, shelves: Shelves, river: River, engine: Engine, tenant: str, now: str, progress: Progress | None = None
    ) -> None:
        self.shelves = shelves
        self.river = river
        self.engine = engine
        self.tenant = tenant
        self.now = now
        self.progress = progress
        self.added = self.changed = self.unchanged = self.removed = self.chunks = self.masked = 0
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        self._batch = self._empty()
        self._done = 0
        self._extractor: str | None = None

    def _empty(self) -> _Batch:
        return _Batch(most=SLOW_CHUNKS if self._slow() else BATCH_CHUNKS)

    def _slow(self) -> bool:
        return bool(getattr(self.engine.encoder, "slow", False))

    def outcome(self, seconds: float) -> Outcome:
        """What was done."""
        return Outcome(
            added=self.added,
            changed=self.changed,
            unchanged=self.unchanged,
            removed=self.removed,
            skipped=tuple(self.skipped),
            chunks=self.chunks,
            masked=self.masked,
            seconds=seconds,
            notes=tuple(self.notes),
        )

    def run(
        self,
        source: str,
        listing: Callable[[], Iterable[Item | Skipped]],
        *,
        covers: Callable[[str], bool] | None = None,
        claims: Sequence[Claim] = (),
        only: Sequence[str] | None = None,
        extractor: str | None = None,
    ) -> int:
        """Puts every item of a source on its shelf; returns how many things the source listed.

        ``covers`` tells which remembered items this run covers: those of them that are not in the listing are gone
        from the source and are taken away first, so that their ids are free. Without it nothing is taken away.
        ``claims`` say who may read what is listed but cannot be read now. ``only`` names the items, where they are
        few. ``listing`` may be called twice and is not kept.
        """
        self._extractor = extractor
        ledger = self.shelves.ledger(source, None if only is None else [ledger_key(uri) for uri in only])
        total: int | None = None
        if covers is not None:
            present = {ledger_key(item.uri) for item in listing()}
            total = len(present)
            # What is listed but cannot be read now may be readable tomorrow: what it brought before stays.
            folders = tuple(uri for uri in present if uri.endswith("/"))
            gone = {
                key: rows
                for key, rows in ledger.items()
                if key[1] not in present and covers(key[1]) and not (folders and key[1].startswith(folders))
            }
            self._prune(gone)
        self._done = 0
        for item in listing():
            key = ledger_key(item.uri)
            self._tell(total, key)
            if isinstance(item, Skipped):
                self._leave(source, Skipped(key, scrub(item.reason)[0]), claims, ledger)
            else:
                self._take(item, key, ledger.get((item.source, key), {}))
        self.flush()
        return self._done

    def forget(self, source: str) -> int:
        """Takes away all that a source brought; returns how many documents went."""
        ledger = self.shelves.ledger(source)
        self._prune(ledger)
        return sum(len(row.documents) for rows in ledger.values() for row in rows.values())

    def lost(self, source: str, reason: str, claims: Sequence[Claim]) -> None:
        """Notes a source that could not be listed. What it brought stays, as far as its readers are still the same."""
        scope = resolve(_ghost(source, "", claims), self.tenant)
        self._keep(Skipped(source, reason), self.shelves.ledger(source), scope)

    def _leave(
        self,
        source: str,
        skipped: Skipped,
        claims: Sequence[Claim],
        ledger: Ledger,
    ) -> None:
        """Notes what is listed but cannot be read now: an item, or a folder, whose uri ends with a slash."""
        uri = skipped.uri
        if uri.endswith("/"):
            known = {key: rows for key, rows in ledger.items() if key[1].startswith(uri)}
        else:
            known = {(source, uri): ledger.get((source, uri), {})}
        self._keep(skipped, known, resolve(_ghost(source, uri, claims), self.tenant))

    def _keep(self, skipped: Skipped, known: Ledger, scope: Scope) -> None:
        """Keeps the earlier texts of what cannot be read now, but not for anyone who may no longer read them."""
        wide = 0
        for name, store in self.shelves.named().items():
            keys = [key for key, rows in known.items() if name in rows and not _within(rows[name], scope)]
            wide += store.drop(keys) if keys else 0
        told = "; its earlier text is taken away, for its readers have changed" if wide else ""
        self.skipped.append(Skipped(skipped.uri, skipped.reason + told))

    def _tell(self, total: int | None, what: str) -> None:
        if self.progress is not None:
            self.progress(self._done, total, what)
        self._done += 1

    def _take(self, item: Item, key: str, known: dict[str, LedgerRow]) -> None:
        """Reads an item if it is new or changed."""
        scope = resolve(item, self.tenant)
        shelf, _ = self.shelves.of(scope)
        row = known.get(shelf)
        if row is not None and not (len(known) == 1 and _same_readers(row, scope)):
            row = None
        settled = row is not None and row.recipe == self.river.recipe(item, self._extractor)
        if row is not None and settled and row.revision == item.revision:
            self._unchanged(key, row)
            return
        try:
            data = item.read()
        except EstanteError as error:
            self._keep(Skipped(key, error.message), {(item.source, key): known}, scope)
            return
        reading = self.river.read(item, data, scope, self._extractor)
        if row is not None and settled and row.digest == reading.digest:
            self._batch.revisions.setdefault(shelf, []).append((item.source, key, item.revision))
            self._unchanged(key, row)
        elif reading.reason and row is not None and row.documents:
            # A file that is broken for a moment must not cost what was read of it before; it is tried again.
            self.skipped.append(Skipped(key, f"{reading.reason}; its earlier text is kept"))
        else:
            if reading.reason:
                self.skipped.append(Skipped(key, reading.reason))
            self._batch.put(item, scope, reading, frozenset(known))
        if self._batch.full():
            self.flush()

    def _unchanged(self, key: str, row: LedgerRow) -> None:
        if row.reason:
            self.skipped.append(Skipped(key, row.reason))
        else:
            self.unchanged += 1

    def flush(self) -> None:
        """Commits what waits.

        A text that is for fewer readers now leaves the wider shelf first; one that is for more comes to the wider
        shelf first. What moves is noted before, so a stop in between costs nothing (see ``moves``).
        """
        batch, self._batch = self._batch, self._empty()
        for name, revisions in batch.revisions.items():
            self.shelves.named()[name].touch(revisions)
        if not batch.readings:
            return
        pairs = [pair for _, _, reading, _ in batch.readings for pair in reading.documents]
        entries = iter(self.engine.entries(pairs, self._before(batch)))
        deposits: dict[str, list[Deposit]] = {}
        leaving: dict[str, list[tuple[str, str]]] = {SHARED: [], PRIVATE: []}
        for item, scope, reading, known in batch.readings:
            shelf = self.shelves.of(scope)[0]
            documents = tuple((document, next(entries)) for document, _ in reading.documents)
            deposits.setdefault(shelf, []).append(self._deposit(item, reading, documents))
            for other in known - {shelf}:
                leaving[other].append((item.source, ledger_key(item.uri)))
        moving = any(leaving.values())
        if moving:
            self.shelves.private.remember(MOVING, self._moves(batch, leaving).to_text())
        if leaving[SHARED]:
            self.shelves.shared.drop(leaving[SHARED])
        refused: set[tuple[str, str]] = set()
        for name, some in sorted(deposits.items()):
            refused |= self._put(name, some)
        if leaving[PRIVATE]:
            self.shelves.private.drop([key for key in leaving[PRIVATE] if key not in refused])
        if moving:
            self.shelves.private.remember(MOVING, "")
        self._count(batch, refused)

    def _before(self, batch: _Batch) -> Iterator[Entry]:
        """What the shelves hold of the items of a batch: a passage that stayed the same keeps its vector.

        Nothing with an encoder that is as quick as reading them would be.
        """
        if not self._slow():
            return
        for item, _, _, known in batch.readings:
            for name in sorted(known):
                with suppress(EstanteError), self.shelves.named()[name].view() as view:
                    for row in view.ledger(item.source, [ledger_key(item.uri)]).values():
                        for document in row.documents:
                            yield from view.entries(document)

    def _moves(self, batch: _Batch, leaving: Mapping[str, Sequence[tuple[str, str]]]) -> Moves:
        """What moves, with the texts that could not be read again from any source."""
        closing = set(leaving[SHARED])
        texts = tuple(
            MovingText(
                item.uri,
                "".join(document.text for document, _ in reading.documents),
                plain(reading.documents[0][0].metadata),
                readers_to_text(scope.readers),
                self._extractor or "plain",
            )
            for item, scope, reading, _ in batch.readings
            if not item.source and reading.documents and (item.source, ledger_key(item.uri)) in closing
        )
        return Moves(tuple(leaving[PRIVATE]), texts)

    def _deposit(
        self, item: Item, reading: Reading, documents: tuple[tuple[Document, tuple[Entry, ...]], ...]
    ) -> Deposit:
        return Deposit(
            source=item.source,
            item=ledger_key(item.uri),
            revision=item.revision,
            digest=reading.digest,
            recipe=self.river.recipe(item, self._extractor),
            documents=documents,
            losses=reading.losses,
            reason=reading.reason,
            added=self.now,
        )

    def _put(self, name: str, deposits: list[Deposit]) -> set[tuple[str, str]]:
        """Puts a batch; when ids collide, item by item, so that one collision costs one item. Returns the refused."""
        store = self.shelves.named()[name]
        refused: set[tuple[str, str]] = set()
        elsewhere = self._elsewhere(name, deposits)
        try:
            if elsewhere:
                raise taken(min(elsewhere))
            store.put(deposits)
        except NameTaken:
            for deposit in deposits:
                try:
                    for document, _ in deposit.documents:
                        if document.id in elsewhere:
                            raise taken(document.id)
                    store.put([deposit])
                except NameTaken as error:
                    refused.add((deposit.source, deposit.item))
                    self.skipped.append(Skipped(deposit.item, error.message))
        return refused

    def _elsewhere(self, name: str, deposits: list[Deposit]) -> set[str]:
        """The ids of these documents that stand on another shelf: one id is one document in the whole bookcase."""
        found: set[str] = set()
        for other, store in self.shelves.named().items():
            if other != name:
                with store.view() as view:
                    for deposit in deposits:
                        for document, _ in deposit.documents:
                            with suppress(NotFound):
                                # The same item on its way to another shelf is no second document.
                                if view.item_of(document.id, owner(self.tenant)) != (deposit.source, deposit.item):
                                    found.add(document.id)
        return found

    def _count(self, batch: _Batch, refused: set[tuple[str, str]]) -> None:
        for item, _, reading, known in batch.readings:
            if reading.reason or (item.source, ledger_key(item.uri)) in refused:
                continue
            if known:
                self.changed += 1
            else:
                self.added += 1
            for document, spans in reading.documents:
                self.chunks += len(spans)
                self.masked += len(document.redactions)
            self.notes += [f"{ledger_key(item.uri)}: {loss}" for loss in reading.losses]

    def _prune(self, gone: Ledger) -> None:
        for name, store in self.shelves.named().items():
            mine = [key for key, rows in gone.items() if name in rows]
            if mine:
                store.drop(mine)
        self.removed += sum(1 for rows in gone.values() if any(row.documents for row in rows.values()))


def ledger_key(uri: str) -> str:
    """The name under which an item is remembered: its uri without secrets, told apart from others so masked."""
    clean, redactions = scrub(uri)
    if not redactions or uri.endswith("/"):
        return clean
    return f"{clean}~{hashlib.sha256(uri.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def _same_readers(row: LedgerRow, scope: Scope) -> bool:
    """Whether what the shelf holds of an item is for these readers."""
    return not row.documents or row.readers == readers_to_text(scope.readers)


def _within(row: LedgerRow, scope: Scope) -> bool:
    """Whether everyone who can read what the shelf holds of an item is among these readers."""
    if not row.documents:
        return True
    before = readers_from_text(row.readers)
    return meet(before, scope.readers) == before


def _ghost(source: str, uri: str, claims: Sequence[Claim]) -> Item:
    """An item that is not there, to learn who might read it."""
    return Item(source=source, uri=uri, media_type="", revision="", read=bytes, claims=tuple(claims))
