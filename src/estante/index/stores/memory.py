"""The memory store: the obvious implementation. It ships, and every cleverer store is compared with it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from estante.index import filters, lexical
from estante.index.boundary import bounds, missing, refuse_foreign, refuse_stale, space_to_text, taken
from estante.model import wire
from estante.model.access import Grant
from estante.model.asking import Where
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.errors import ContractBroken, LockedShelf
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


@dataclass(frozen=True)
class _Held:
    """A document as it is held."""

    document: Document
    entries: tuple[Entry, ...]
    deposit: Deposit

    def record(self) -> dict[str, object]:
        one = self.document
        own = {"@id": one.id, "@uri": one.uri, "@source": one.source, "@title": one.title, "@language": one.language}
        return {**one.metadata, **own, "@media_type": one.media_type, "@added": self.deposit.added}


_State = tuple[dict[str, _Held], dict[tuple[str, str], Deposit], dict[str, str]]


class MemoryStore:
    """A shelf in memory. A change makes a new state beside the old one, so a view never moves."""

    def __init__(self, *, tenant: str, shared: bool, space: Space, analyzer: str) -> None:
        self.tenant = tenant
        self.shared = shared
        self.space = space
        self.analyzer = analyzer
        self._state: _State = ({}, {}, {})
        self._view: MemoryView | None = None
        self._held = threading.local()
        self._lock = threading.RLock()
        self._purpose = ""

    @contextmanager
    def view(self) -> Iterator[MemoryView]:
        """The state as it is now; inside a view of the same thread, the state of that one."""
        outer: MemoryView | None = getattr(self._held, "view", None)
        view, state = outer or self._view, self._state
        if view is None or (outer is None and view.state is not state):
            view = self._view = MemoryView(state)
        self._held.view = view
        try:
            yield view
        finally:
            self._held.view = outer

    @contextmanager
    def writing(self, purpose: str) -> Iterator[None]:
        """Holds the one writer's place."""
        if not self._lock.acquire(timeout=10):
            raise LockedShelf(f"the shelf is held by another thread: {self._purpose}", hint="Wait for it to end.")
        self._purpose = purpose
        try:
            yield
        finally:
            self._lock.release()

    def put(self, deposits: Sequence[Deposit]) -> None:
        """Puts all of them, or none."""
        with self.writing("put"):
            documents, items = dict(self._state[0]), dict(self._state[1])
            for deposit in deposits:
                key = (deposit.source, deposit.item)
                if key in items:
                    for held in [one for one in documents.values() if _item(one) == key]:
                        del documents[held.document.id]
                for document, entries in deposit.documents:
                    refuse_foreign(document, tenant=self.tenant, shared=self.shared)
                    if document.id in documents:
                        raise taken(document.id)
                    for entry in entries:
                        if len(entry.vector.values) != self.space.dimensions:
                            raise ContractBroken("a vector of another space", hint="Rebuild with one encoder.")
                    documents[document.id] = _Held(document, entries, replace(deposit, documents=()))
                items[key] = replace(deposit, documents=())
            self._state = (documents, items, self._state[2])

    def drop(self, items: Iterable[tuple[str, str]]) -> int:
        """Takes away all that these items brought."""
        with self.writing("drop"):
            gone = set(items)
            documents = {key: one for key, one in self._state[0].items() if _item(one) not in gone}
            ledger = {key: one for key, one in self._state[1].items() if key not in gone}
            dropped = len(self._state[0]) - len(documents)
            self._state = (documents, ledger, self._state[2])
            return dropped

    def amend(self, document_id: str, metadata: Metadata) -> None:
        """Replaces the metadata of a document."""
        with self.writing("amend"):
            documents = dict(self._state[0])
            if document_id not in documents:
                raise missing(document_id)
            held = documents[document_id]
            documents[document_id] = _Held(replace(held.document, metadata=metadata), held.entries, held.deposit)
            self._state = (documents, self._state[1], self._state[2])

    def touch(self, revisions: Sequence[tuple[str, str, str]]) -> None:
        """Notes that items have a new revision and the same content."""
        with self.writing("touch"):
            items = dict(self._state[1])
            for source, item, revision in revisions:
                items[source, item] = replace(items[source, item], revision=revision)
            self._state = (self._state[0], items, self._state[2])

    def remember(self, key: str, value: str) -> None:
        """Keeps a small named value."""
        with self.writing("remember"):
            self._state = (self._state[0], self._state[1], {**self._state[2], key: value})

    def expect(self, *, space: Space, analyzer: str) -> None:
        """Raises ``StaleShelf`` unless the shelf was made with this vector space and analyzer."""
        found = {"space": space_to_text(self.space), "analyzer": self.analyzer}
        refuse_stale(found, {"space": space_to_text(space), "analyzer": analyzer}, "estante rebuild")

    def rebuild(
        self, make: Callable[[Document, tuple[Span, ...]], tuple[Entry, ...]], identity: Mapping[str, str]
    ) -> None:
        """Makes every entry anew from the documents held."""
        with self.writing("rebuild"):
            documents = {
                key: _Held(one.document, make(one.document, tuple(e.chunk.span for e in one.entries)), one.deposit)
                for key, one in self._state[0].items()
            }
            self.analyzer = identity.get("analyzer", self.analyzer)
            self._state = (documents, self._state[1], self._state[2])

    def compact(self) -> None:
        """Nothing to give back."""

    def check(self) -> list[str]:
        """Nothing can be damaged."""
        return []

    def close(self) -> None:
        """Nothing to close."""


def _item(held: _Held) -> tuple[str, str]:
    return held.deposit.source, held.deposit.item


class MemoryView:
    """One state of a memory store. Every method does what its words say, one document after the other."""

    def __init__(self, state: _State) -> None:
        self.state = state
        self._documents = dict(sorted(state[0].items()))
        self._items = state[1]
        self._values = state[2]
        self._rows = [entry for held in self._documents.values() for entry in held.entries]
        self._lengths = [sum(entry.terms.values()) for entry in self._rows]
        self._postings: dict[str, dict[int, int]] = {}
        for ref, entry in enumerate(self._rows):
            for term, count in entry.terms.items():
                self._postings.setdefault(term, {})[ref] = count

    def statistics(self) -> Statistics:
        """Counts of the whole shelf."""
        lengths = self._lengths
        return Statistics(
            documents=len(self._documents),
            chunks=len(self._rows),
            average=sum(lengths) / len(lengths) if lengths else 0.0,
            languages=tuple(sorted({held.document.language for held in self._documents.values()})),
            redactions=sum(len(held.document.redactions) for held in self._documents.values()),
            skipped=sum(1 for deposit in self._items.values() if deposit.reason),
        )

    def languages(self, grant: Grant) -> tuple[str, ...]:
        """The languages of the documents that the grant covers."""
        readable = (held.document for held in self._documents.values() if grant.covers(held.document.scope))
        return tuple(sorted({document.language for document in readable}))

    def _allowed(self, grant: Grant, where: Where | None) -> set[str]:
        return {
            key
            for key, held in self._documents.items()
            if grant.covers(held.document.scope) and filters.matches(where, held.record())
        }

    def _scores(self, words: Sequence[Word], grant: Grant) -> tuple[dict[int, float], dict[int, float], float]:
        """Each readable row's BM25 score, the weight of the words it holds, and the weight of all words.

        Counts are of what the grant covers alone: the hidden must not show in scores.
        """
        scores: dict[int, float] = {}
        masses: dict[int, float] = {}
        allowed = self._allowed(grant, None)
        readable = [ref for ref, row in enumerate(self._rows) if row.chunk.document_id in allowed]
        total, average = 0.0, sum(self._lengths[ref] for ref in readable) / len(readable) if readable else 0.0
        if not average:
            return scores, masses, total
        may = set(readable)
        for word in words:
            postings = [
                {ref: count for ref, count in self._postings.get(term, {}).items() if ref in may} for term in word.terms
            ]
            weight = lexical.idf(len(readable), sum(map(len, postings)))
            total += weight
            for ref, count in (pair for found in postings for pair in found.items()):
                damp = lexical.damping(float(self._lengths[ref]), average)
                scores[ref] = scores.get(ref, 0.0) + lexical.contribution(weight, float(count), damp)
                masses[ref] = masses.get(ref, 0.0) + weight
        return scores, masses, total

    def tie(self, ref: int) -> tuple[str, int]:
        """What settles equal scores: document id and position."""
        chunk = self._rows[ref].chunk
        return chunk.document_id, chunk.index

    def lexical(self, words: Sequence[Word], k: int, grant: Grant, where: Where | None) -> Lexical:
        """The k best chunks by BM25."""
        allowed = self._allowed(grant, where)
        scores, masses, total = self._scores(words, grant)
        touched = [ref for ref in scores if self._rows[ref].chunk.document_id in allowed]
        found = [Found(ref, scores[ref]) for ref in sorted(touched, key=lambda ref: (-scores[ref], self.tie(ref)))]
        most = max((masses[ref] for ref in touched), default=0.0)
        may = set(touched)
        held = tuple(any(ref in may for term in word.terms for ref in self._postings.get(term, ())) for word in words)
        return Lexical(tuple(found[:k]), most / total if total else 0.0, held)

    def _cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        if not refs:
            return []
        rows = np.stack([np.frombuffer(self._rows[ref].vector.values, np.int8) for ref in refs])
        dots = rows.astype(np.int32) @ np.frombuffer(vector.values, np.int8).astype(np.int32)
        scales = [self._rows[ref].vector.scale for ref in refs]
        return [float(dot) * (scale * vector.scale) for dot, scale in zip(dots, scales, strict=True)]

    def nearest(self, vector: Quantised, k: int, grant: Grant, where: Where | None) -> tuple[Found, ...]:
        """The k chunks with the greatest cosine."""
        if not vector.scale:
            return ()
        allowed = self._allowed(grant, where)
        refs = [ref for ref, row in enumerate(self._rows) if row.chunk.document_id in allowed and row.vector.scale]
        scores = zip(refs, self._cosines(vector, refs), strict=True)
        found = [Found(ref, score) for ref, score in scores]
        found.sort(key=lambda one: (-one.score, self.tie(one.ref)))
        return tuple(found[:k])

    def bm25(self, words: Sequence[Word], refs: Sequence[int], grant: Grant) -> list[float]:
        """The BM25 score of each candidate."""
        scores, _, _ = self._scores(words, grant)
        return [scores.get(ref, 0.0) for ref in refs]

    def cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        """The cosine of each candidate."""
        return self._cosines(vector, refs)

    def chunks(self, refs: Sequence[int], grant: Grant) -> list[Chunk]:
        """The chunks of candidates, with the metadata of now."""
        found = []
        for ref in refs:
            chunk = self._rows[ref].chunk
            held = self._documents[chunk.document_id]
            if not grant.covers(held.document.scope):
                raise missing(chunk.document_id)
            found.append(held.document.cut(chunk.index, chunk.span))
        return found

    def vectors(self, refs: Sequence[int]) -> list[Quantised]:
        """The vector of each candidate as it is kept."""
        return [self._rows[ref].vector for ref in refs]

    def holdings(self, grant: Grant, where: Where | None) -> Holdings:
        """Counts and mark of what the grant covers and the filter lets through."""
        held = [self._documents[key] for key in sorted(self._allowed(grant, where))]
        told = [
            (one.record(), one.document.text, one.deposit.added, [entry.chunk.span for entry in one.entries])
            for one in held
        ]
        chunks = sum(len(one.entries) for one in held)
        return Holdings(len(held), chunks, hashlib.sha256(repr(told).encode()).hexdigest()[:32])

    def scan(self, after: tuple[str, int] | None, k: int, grant: Grant, where: Where | None) -> list[int]:
        """The first k candidates behind a place."""
        allowed = self._allowed(grant, where)
        refs = [ref for ref, row in enumerate(self._rows) if row.chunk.document_id in allowed]
        return [ref for ref in refs if after is None or self.tie(ref) > after][:k]

    def locate(self, places: Sequence[tuple[str, int]], grant: Grant, where: Where | None) -> list[int | None]:
        """The candidate at each place."""
        allowed = self._allowed(grant, where)
        refs = {self.tie(ref): ref for ref, row in enumerate(self._rows) if row.chunk.document_id in allowed}
        return [refs.get(place) for place in places]

    def preceding(self, document_ids: Sequence[str], grant: Grant, where: Where | None) -> list[int]:
        """How many chunks that may be seen stand in documents before each."""
        allowed = self._allowed(grant, where)
        seen = [row.chunk.document_id for row in self._rows if row.chunk.document_id in allowed]
        return [sum(one < document_id for one in seen) for document_id in document_ids]

    def _held(self, document_id: str, grant: Grant) -> _Held:
        held = self._documents.get(document_id)
        if held is None or not grant.covers(held.document.scope):
            raise missing(document_id)
        return held

    def document(self, document_id: str, grant: Grant) -> Document:
        """A document whole."""
        return self._held(document_id, grant).document

    def slice(self, document_id: str, start: int, end: int | None, grant: Grant) -> tuple[int, int, str]:
        """Part of a document's text."""
        text = self._held(document_id, grant).document.text
        start, end = bounds(document_id, start, end, len(text))
        return start, end, text[start:end]

    def listings(self, grant: Grant, where: Where | None) -> Iterator[Listing]:
        """The documents that the grant covers, by id."""
        allowed = self._allowed(grant, where)
        for document_id, held in self._documents.items():
            if document_id in allowed:
                one = held.document
                yield Listing(
                    document_id=one.id,
                    uri=one.uri,
                    source=one.source,
                    title=one.title,
                    chars=len(one.text),
                    chunks=len(held.entries),
                    language=one.language,
                    scope=one.scope,
                    media_type=one.media_type,
                    added=held.deposit.added,
                    metadata=one.metadata,
                    redactions=len(one.redactions),
                    losses=held.deposit.losses,
                )

    def spans(self, document_id: str, grant: Grant) -> tuple[Span, ...]:
        """The spans of a document's chunks."""
        return tuple(entry.chunk.span for entry in self._held(document_id, grant).entries)

    def entries(self, document_id: str) -> tuple[Entry, ...]:
        """The document's entries as they were put."""
        held = self._documents.get(document_id)
        if held is None:
            raise missing(document_id)
        cut = (held.document.cut(entry.chunk.index, entry.chunk.span) for entry in held.entries)
        return tuple(replace(entry, chunk=chunk) for entry, chunk in zip(held.entries, cut, strict=True))

    def ledger(self, source: str | None = None, items: Sequence[str] | None = None) -> dict[tuple[str, str], LedgerRow]:
        """What is remembered of every item of a source, or of these items."""
        found: dict[tuple[str, str], LedgerRow] = {}
        brought: dict[tuple[str, str], list[Document]] = {}
        for held in self._documents.values():
            brought.setdefault(_item(held), []).append(held.document)
        wanted = None if items is None else set(items)
        for key, deposit in sorted(self._items.items()):
            if (source is None or key[0] == source) and (wanted is None or key[1] in wanted):
                mine = brought.get(key, [])
                readers = wire.readers_to_text(mine[0].scope.readers) if mine else ""
                found[key] = LedgerRow(
                    deposit.revision,
                    deposit.digest,
                    deposit.recipe,
                    deposit.reason,
                    tuple(document.id for document in mine),
                    readers,
                )
        return found

    def item_of(self, document_id: str, grant: Grant) -> tuple[str, str]:
        """The (source, item) that brought a document."""
        return _item(self._held(document_id, grant))

    def recall(self, key: str) -> str | None:
        """A small named value."""
        return self._values.get(key)
