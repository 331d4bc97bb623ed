"""The memory store: the obvious implementation. It ships, and every cleverer store is compared with it."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from estante.index import lexical, typos
from estante.index.boundary import bounds, missing, refuse_foreign, refuse_stale, space_to_text, taken
from estante.index.conditions import of_passages, passage, prepared, record
from estante.model import wire
from estante.model.access import Grant
from estante.model.asking import Where
from estante.model.content import Chunk, Document, Metadata, Span
from estante.model.errors import ContractBroken, LockedShelf
from estante.model.ports import (
    WEIGHTS,
    Demand,
    Deposit,
    Entry,
    Found,
    Holdings,
    LedgerRow,
    Lexical,
    Listing,
    Quantised,
    Similar,
    Space,
    Statistics,
    Weights,
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
        return record(one.metadata, {**own, "@media_type": one.media_type, "@added": self.deposit.added})


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


def _weighed(counts: Sequence[int], weights: Weights) -> float:
    return lexical.weighed([float(count) for count in counts], weights)


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
        self._lengths = [
            tuple(sum(counts.values()) for counts in (entry.terms, entry.title, entry.trail)) for entry in self._rows
        ]
        self._tongues = [lexical.tongue(entry.chunk.language) for entry in self._rows]
        self._postings: dict[str, dict[int, lexical.Counts]] = {}
        for ref, entry in enumerate(self._rows):
            for term in {**entry.terms, **entry.title, **entry.trail}:
                counts = entry.terms.get(term, 0), entry.title.get(term, 0), entry.trail.get(term, 0)
                self._postings.setdefault(term, {})[ref] = counts

    def statistics(self) -> Statistics:
        """Counts of the whole shelf."""
        lengths = [sum(lengths) for lengths in self._lengths]
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
        """The documents that the grant covers and the filter lets through: as a whole, or one of their passages."""
        covered = {key: held for key, held in self._documents.items() if grant.covers(held.document.scope)}
        if of_passages(where):
            return {self._rows[ref].chunk.document_id for ref in self._passing(grant, where)}
        passes = prepared(where)
        return {key for key, held in covered.items() if passes(held.record())}

    def _passing(self, grant: Grant, where: Where | None) -> set[int]:
        """The rows that the grant covers and the filter lets through."""
        if not of_passages(where):
            allowed = self._allowed(grant, where)
            return {ref for ref, row in enumerate(self._rows) if row.chunk.document_id in allowed}
        covered = {key: held for key, held in self._documents.items() if grant.covers(held.document.scope)}
        told, passes = {key: held.record() for key, held in covered.items()}, prepared(where)
        chunks = ((ref, row.chunk) for ref, row in enumerate(self._rows) if row.chunk.document_id in told)
        return {ref for ref, chunk in chunks if passes(told[chunk.document_id] | passage(chunk.trail, chunk.locator))}

    def _readable(self, grant: Grant) -> list[int]:
        """Counts are of what the grant covers alone: the hidden must not show in scores."""
        return sorted(self._passing(grant, None))

    def _counts(self, group: lexical.Group) -> dict[int, lexical.Counts]:
        """How often each row holds the terms of a group, by field."""
        _, terms, ranges = group
        wanted = set(terms)
        if ranges:
            wanted |= {term for term in self._postings if any(first <= term < last for first, last in ranges)}
        found: dict[int, lexical.Counts] = {}
        for term in wanted:
            for ref, (body, title, trail) in self._postings.get(term, {}).items():
                before = found.get(ref, (0, 0, 0))
                found[ref] = before[0] + body, before[1] + title, before[2] + trail
        return found

    def _averages(self, readable: Sequence[int], weights: Weights) -> dict[str, float]:
        """The average length of the chunks of each language."""
        words: dict[str, list[int]] = {}
        for ref in readable:
            before = words.setdefault(self._tongues[ref], [0, 0, 0])
            words[self._tongues[ref]] = [a + b for a, b in zip(before, self._lengths[ref], strict=True)]
        chunks = Counter(self._tongues[ref] for ref in readable)
        return {tongue: lexical.average(_weighed(counts, weights), chunks[tongue]) for tongue, counts in words.items()}

    def _held(self, word: Word, may: set[int], weights: Weights) -> list[tuple[str, dict[int, float]]]:
        """The weighed counts of a word in the rows that hold it, language by language."""
        found = []
        for group in lexical.groups(word):
            counts = ((ref, _weighed(counts, weights)) for ref, counts in self._counts(group).items() if ref in may)
            found.append((group[0], {ref: count for ref, count in counts if count > 0}))
        return found

    def _scores(
        self, words: Sequence[Word], grant: Grant, weights: Weights
    ) -> tuple[dict[int, float], dict[int, float], list[set[int]]]:
        """Each readable row's BM25 score, the share of the words' weight that it holds, and the rows of each word."""
        readable = self._readable(grant)
        averages, chunks = self._averages(readable, weights), Counter(self._tongues[ref] for ref in readable)
        held = [self._held(word, set(readable), weights) for word in words]
        rarities = [
            Counter(language or self._tongues[ref] for language, counts in some for ref in counts) for some in held
        ]

        def weight(word: int, tongue: str) -> float:
            return lexical.idf(chunks[tongue], min(rarities[word][tongue], chunks[tongue]))

        scores: dict[int, float] = {}
        shares: dict[int, float] = {}
        for at, (word, some) in enumerate(zip(words, held, strict=True)):
            for language, counts in some:
                for ref, count in counts.items():
                    tongue = language or self._tongues[ref]
                    mine = word.share * weight(at, tongue)
                    average = averages[self._tongues[ref]] or 1.0
                    damp = lexical.damping(_weighed(self._lengths[ref], weights), average, weights)
                    scores[ref] = scores.get(ref, 0.0) + lexical.contribution(mine, count, damp, weights)
                    total = sum(weight(other, tongue) for other in range(len(words)))
                    shares[ref] = shares.get(ref, 0.0) + mine / total
        return scores, shares, [{ref for _, counts in some for ref in counts} for some in held]

    def _meets(self, ref: int, demands: Sequence[Demand]) -> bool:
        """Whether a row holds what is demanded, and nothing that must not be."""
        for demand in demands:
            held = [counts for group in lexical.groups(demand.word) if (counts := self._counts(group).get(ref))]
            fields = [sum(field) for field in zip(*held, strict=True)] or [0, 0, 0]
            count = {"any": sum(fields), "title": fields[1], "heading": fields[1] + fields[2]}[demand.field]
            if (count > 0) != demand.held:
                return False
        return True

    def tie(self, ref: int) -> tuple[str, int]:
        """What settles equal scores: document id and position."""
        chunk = self._rows[ref].chunk
        return chunk.document_id, chunk.index

    def lexical(
        self,
        words: Sequence[Word],
        k: int,
        grant: Grant,
        where: Where | None,
        demands: Sequence[Demand] = (),
        weights: Weights = WEIGHTS,
    ) -> Lexical:
        """The k best chunks by BM25."""
        scores, shares, held = self._scores(words, grant, weights)
        may = scores.keys() & self._passing(grant, where)
        met = [ref for ref in may if self._meets(ref, demands)]
        found = [Found(ref, scores[ref]) for ref in sorted(met, key=lambda ref: (-scores[ref], self.tie(ref)))]
        coverage = min(1.0, max((shares[ref] for ref in met), default=0.0))
        return Lexical(tuple(found[:k]), coverage, tuple(bool(refs & may) for refs in held))

    def frequencies(self, words: Sequence[Word], grant: Grant) -> list[int]:
        """How many chunks hold each word, in any field."""
        may = set(self._readable(grant))
        held = ({ref for group in lexical.groups(word) for ref in self._counts(group)} for word in words)
        return [len(refs & may) for refs in held]

    def similar(self, term: str, edits: int, grant: Grant) -> list[Similar]:
        """The terms that become this one by at most so many edits."""
        language = lexical.language_of(term)
        others = sorted(one for one in self._postings if one != term and lexical.language_of(one) == language)
        near = [(one, typos.distance(one, term)) for one in others]
        counts = self.frequencies([Word((one,)) for one, _ in near], grant)
        found = [
            Similar(one, far, chunks)
            for (one, far), chunks in zip(near, counts, strict=True)
            if far <= edits and chunks
        ]
        return sorted(found, key=lambda one: (one.edits, -one.chunks, one.term))

    def _cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        if not refs:
            return []
        rows = np.stack([np.frombuffer(self._rows[ref].vector.values, np.int8) for ref in refs])
        dots = rows.astype(np.int32) @ np.frombuffer(vector.values, np.int8).astype(np.int32)
        scales = [self._rows[ref].vector.scale for ref in refs]
        return [float(dot) * (scale * vector.scale) for dot, scale in zip(dots, scales, strict=True)]

    def nearest(
        self, vector: Quantised, k: int, grant: Grant, where: Where | None, demands: Sequence[Demand] = ()
    ) -> tuple[Found, ...]:
        """The k chunks with the greatest cosine."""
        if not vector.scale:
            return ()
        rows = ((ref, self._rows[ref]) for ref in sorted(self._passing(grant, where)))
        refs = [ref for ref, row in rows if row.vector.scale and self._meets(ref, demands)]
        scores = zip(refs, self._cosines(vector, refs), strict=True)
        found = [Found(ref, score) for ref, score in scores]
        found.sort(key=lambda one: (-one.score, self.tie(one.ref)))
        return tuple(found[:k])

    def bm25(self, words: Sequence[Word], refs: Sequence[int], grant: Grant, weights: Weights = WEIGHTS) -> list[float]:
        """The BM25 score of each candidate."""
        scores, _, _ = self._scores(words, grant, weights)
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
        mark = hashlib.sha256(repr(told).encode()).hexdigest()[:32]
        return Holdings(len(held), len(self._passing(grant, where)), mark)

    def scan(self, after: tuple[str, int] | None, k: int, grant: Grant, where: Where | None) -> list[int]:
        """The first k candidates behind a place."""
        refs = sorted(self._passing(grant, where))
        return [ref for ref in refs if after is None or self.tie(ref) > after][:k]

    def locate(self, places: Sequence[tuple[str, int]], grant: Grant, where: Where | None) -> list[int | None]:
        """The candidate at each place."""
        refs = {self.tie(ref): ref for ref in self._passing(grant, where)}
        return [refs.get(place) for place in places]

    def preceding(self, document_ids: Sequence[str], grant: Grant, where: Where | None) -> list[int]:
        """How many chunks that may be seen stand in documents before each."""
        seen = [self._rows[ref].chunk.document_id for ref in self._passing(grant, where)]
        return [sum(one < document_id for one in seen) for document_id in document_ids]

    def _one(self, document_id: str, grant: Grant) -> _Held:
        held = self._documents.get(document_id)
        if held is None or not grant.covers(held.document.scope):
            raise missing(document_id)
        return held

    def document(self, document_id: str, grant: Grant) -> Document:
        """A document whole."""
        return self._one(document_id, grant).document

    def slice(self, document_id: str, start: int, end: int | None, grant: Grant) -> tuple[int, int, str]:
        """Part of a document's text."""
        text = self._one(document_id, grant).document.text
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
        return tuple(entry.chunk.span for entry in self._one(document_id, grant).entries)

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
        return _item(self._one(document_id, grant))

    def recall(self, key: str) -> str | None:
        """A small named value."""
        return self._values.get(key)
