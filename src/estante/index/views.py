"""One whole state of an embedded store, to search and read."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from estante.index import dense, manifest, order, records, typos
from estante.index.boundary import bounds, missing
from estante.index.columns import Columns, combined
from estante.index.conditions import PASSAGES, conditions, of_passages
from estante.index.notes import Broken, noted
from estante.index.passages import Passages
from estante.index.ranking import best, ordered
from estante.index.records import DocumentRow
from estante.index.scoring import Weighed, demanded, holding
from estante.index.states import Part, Readable, State
from estante.model.access import Grant, Scope
from estante.model.asking import Condition, Where
from estante.model.content import Chunk, Document, Span
from estante.model.errors import CorruptShelf, EstanteError
from estante.model.ports import (
    WEIGHTS,
    Demand,
    Entry,
    Found,
    Holdings,
    LedgerRow,
    Lexical,
    Listing,
    Quantised,
    Similar,
    Statistics,
    Weights,
    Word,
)

ROW_BITS: Final = 40
ROW_MASK: Final = (1 << ROW_BITS) - 1
MASKS: Final = 32


class Holder(Protocol):
    """What a view asks of the store that it is a state of."""

    path: Path

    def columns(self, connection: sqlite3.Connection, state: State, fields: Collection[str]) -> Columns:
        """The columns of a state with these fields of documents."""

    def passages(self, connection: sqlite3.Connection, state: State, fields: Collection[str]) -> list[Passages]:
        """The columns of a state, part by part, with these fields of passages."""

    def broken(self, what: str) -> CorruptShelf:
        """The error for a catalog that is not what was written."""


class EmbeddedView:
    """One whole state of an embedded store."""

    def __init__(self, store: Holder, connection: sqlite3.Connection, state: State) -> None:
        self._store = store
        self._connection = connection
        self._state = state
        self._weighed: tuple[tuple[Grant, tuple[Word, ...], Weights], Weighed] | None = None
        self._asker: tuple[Grant, Readable] | None = None
        self._told: tuple[Where | None, str] | None = None
        self._near: dict[int, tuple[Quantised, NDArray[np.float64]]] = {}

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
        if where is None and self._asker is not None and self._asker[0] is grant:
            return self._asker[1].masks
        key = (grant, self._text(where))
        masks = self._state.masks.get(key)
        if masks is None:
            masks = [self._mask(at, part, grant, where) for at, part in enumerate(self._state.parts)]
            if len(self._state.masks) >= MASKS:
                self._state.masks.clear()
            self._state.masks[key] = masks
        return masks

    def _text(self, where: Where | None) -> str:
        """The filter as a key: to a dict, the conditions x = 1 and x = true would be one."""
        # One search asks with one filter, several times, and it may be long.
        if self._told is None or self._told[0] is not where:
            self._told = where, hashlib.sha256(repr(where).encode("utf-8", "surrogatepass")).hexdigest()
        return self._told[1]

    def _readable(self, grant: Grant) -> Readable:
        # One search asks with one grant, several times; to hash it takes longer than to look whether it is the same.
        if self._asker is None or self._asker[0] is not grant:
            self._asker = grant, self._covered(grant)
        return self._asker[1]

    def _covered(self, grant: Grant) -> Readable:
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
        if where is None or not of_passages(where):
            mask = self._documents(at, part, grant, where)
            return None if mask is None else mask[part.segment.document]
        seen = self._mask(at, part, grant, None)
        passed = self._rows(at, part, where)
        return passed if seen is None else passed & seen

    def _documents(self, at: int, part: Part, grant: Grant, where: Where | None) -> NDArray[np.bool_] | None:
        """Which documents count: alive, covered, and they or one of their passages pass the filter."""
        if where is not None and of_passages(where):
            rows = self._masks(grant, where)[at]
            passed = np.zeros(len(part.segment.keys), bool)
            passed[part.segment.document if rows is None else part.segment.document[rows]] = True
            return passed
        mask = part.live_documents
        scopes = self._state.scopes
        if not all(grant.covers(scope) for scope in scopes.values()):
            covered = [number for number, scope in scopes.items() if grant.covers(scope)]
            seen = np.isin(part.segment.array("scopes"), np.array(covered, np.int64))
            mask = seen if mask is None else mask & seen
        if where is not None:
            columns = self._columns(where)
            passed = self._placed(columns.decide(where), at)
            if not passed.all():
                mask = passed if mask is None else mask & passed
        return mask

    def _columns(self, where: Where) -> Columns:
        fields = dict.fromkeys(one.field for one in conditions(where) if one.field not in PASSAGES)
        return self._store.columns(self._connection, self._state, fields)

    def _placed(self, decided: NDArray[np.bool_], at: int) -> NDArray[np.bool_]:
        """What is decided by position, for each document of a part; the dead have none."""
        places = self._state.places[at]
        passed: NDArray[np.bool_] = (decided[places] if len(decided) else np.zeros(len(places), bool)) & (places >= 0)
        return passed

    def _rows(self, at: int, part: Part, where: Where) -> NDArray[np.bool_]:
        """Whether each row of a part passes a filter that asks for passages."""
        columns = self._columns(where)
        fields = dict.fromkeys(one.field for one in conditions(where) if one.field in PASSAGES)
        passages = self._store.passages(self._connection, self._state, fields)[at]

        def leaf(one: Condition) -> NDArray[np.bool_]:
            if one.field in PASSAGES:
                return passages.decide(one)
            passed: NDArray[np.bool_] = self._placed(columns.condition(one), at)[part.segment.document]
            return passed

        return combined(where, part.segment.rows, leaf)

    # --- the legs ------------------------------------------------------------------------------------------------

    def _weigh(self, words: Sequence[Word], grant: Grant, weights: Weights) -> Weighed:
        key = (grant, tuple(words), weights)
        if self._weighed is None or self._weighed[0] != key:
            self._weighed = (key, Weighed(self._state, words, self._readable(grant).measure(weights)))
        return self._weighed[1]

    def lexical(
        self,
        words: Sequence[Word],
        k: int,
        grant: Grant,
        where: Where | None,
        demands: Sequence[Demand] = (),
        weights: Weights = WEIGHTS,
    ) -> Lexical:
        """The k best chunks by BM25 with a score above zero."""
        weighed, masks = self._weigh(words, grant, weights), self._masks(grant, where)
        candidates: list[tuple[float, int, int]] = []
        coverage = 0.0
        for at, mask in enumerate(demanded(self._state.parts, masks, demands)):
            scored = weighed.scored(at)
            if mask is not None:
                scored = scored.within(mask)
            if len(scored.shares):
                coverage = max(coverage, float(scored.shares.max()))
                candidates += [(score, at, row) for row, score in best(scored.rows, scored.scores, k) if score > 0]
        if where is None:
            held = tuple(any(found) for found in weighed.frequencies)
        else:
            held = tuple(weighed.held(at, masks) for at in range(len(words)))
        return Lexical(self._found(candidates, k), min(1.0, coverage), held)

    def frequencies(self, words: Sequence[Word], grant: Grant) -> list[int]:
        """How many chunks hold each word, in any field."""
        masks, found = self._masks(grant, None), [0] * len(words)
        for part, mask in zip(self._state.parts, masks, strict=True):
            for at, word in enumerate(words):
                rows = holding(part, word, "any")
                found[at] += int(np.count_nonzero(rows if mask is None else rows & mask))
        return found

    def similar(self, term: str, edits: int, grant: Grant) -> list[Similar]:
        """The terms that become this one by at most so many edits."""
        near: dict[str, int] = {}
        for part in self._state.parts:
            near.update(typos.terms_near(part.segment, term, edits))
        counts = self.frequencies([Word((one,)) for one in near], grant)
        found = (Similar(one, near[one], chunks) for one, chunks in zip(near, counts, strict=True) if chunks)
        return sorted(found, key=lambda one: (one.edits, -one.chunks, one.term))

    def nearest(
        self, vector: Quantised, k: int, grant: Grant, where: Where | None, demands: Sequence[Demand] = ()
    ) -> tuple[Found, ...]:
        """The k chunks with the greatest cosine."""
        if not vector.scale:
            return ()
        wanted = np.frombuffer(vector.values, np.int8)
        candidates: list[tuple[float, int, int]] = []
        masks = demanded(self._state.parts, self._masks(grant, where), demands)
        for at, (part, mask) in enumerate(zip(self._state.parts, masks, strict=True)):
            vectors, scales = part.segment.array("vectors"), part.segment.array("scales")
            seen = scales > 0 if mask is None else (scales > 0) & mask
            rows = None if seen.all() else np.flatnonzero(seen)
            if rows is not None and len(rows) * 4 < len(scales):
                scores = dense.cosines(vectors[rows], scales[rows], wanted, vector.scale)
            else:
                scores = dense.cosines(vectors, scales, wanted, vector.scale)
                self._near[at] = vector, scores
                scores = scores if rows is None else scores[rows]
            candidates += [(score, at, row) for row, score in best(rows, scores, k)]
        return self._found(candidates, k)

    def _found(self, candidates: list[tuple[float, int, int]], k: int) -> tuple[Found, ...]:
        """The best over all parts; within a part the row is the tie-break, across parts the id and position."""
        if len(self._state.parts) == 1:
            return tuple([Found(row, score) for score, _, row in candidates])
        scored = [(at << ROW_BITS | row, score) for score, at, row in candidates]
        return tuple(Found(ref, score) for ref, score in ordered(scored, self.tie, k))

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

    def bm25(self, words: Sequence[Word], refs: Sequence[int], grant: Grant, weights: Weights = WEIGHTS) -> list[float]:
        """The BM25 score of each candidate."""
        weighed, found = self._weigh(words, grant, weights), np.zeros(len(refs))
        for at, places, wanted in self._by_part(refs):
            found[places] = weighed.scored(at).of(wanted)
        found_list: list[float] = found.tolist()
        return found_list

    def cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        """The cosine of each candidate."""
        out = np.zeros(len(refs))
        wanted = np.frombuffer(vector.values, np.int8)
        for at, places, rows in self._by_part(refs):
            known, scores = self._near.get(at, (None, None))
            if known is vector and scores is not None:
                out[places] = scores[rows]
                continue
            segment = self._state.parts[at].segment
            vectors, scales = segment.array("vectors")[rows], segment.array("scales")[rows]
            out[places] = dense.cosines(vectors, scales, wanted, vector.scale)
        found: list[float] = out.tolist()
        return found

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
        if not refs:
            return []
        parts = self._state.parts
        wanted = [parts[ref >> ROW_BITS].segment.place(ref & ROW_MASK) for ref in refs]

        def scope_of(document_id: str, number: int) -> Scope:
            scope = self._state.scopes.get(number)
            if scope is None:
                raise self._store.broken(f"the scope of document {document_id!r} is missing")
            if not grant.covers(scope):
                raise missing(document_id)
            return scope

        return records.read_chunks(self._connection, wanted, scope_of, self._store.broken)

    def vectors(self, refs: Sequence[int]) -> list[Quantised]:
        """The vector of each candidate as it is kept."""
        return [self._state.parts[ref >> ROW_BITS].segment.vector(ref & ROW_MASK) for ref in refs]

    def holdings(self, grant: Grant, where: Where | None) -> Holdings:
        """Counts and mark of what the grant covers and the filter lets through."""
        key = (grant, self._text(where))
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

    def _numbers(self, grant: Grant, where: Where) -> set[int]:
        """The catalog's numbers of the documents that pass."""
        passed: set[int] = set()
        for at, part in enumerate(self._state.parts):
            mask = self._documents(at, part, grant, where)
            passed.update((part.segment.keys if mask is None else part.segment.keys[mask]).tolist())
        return passed

    def listings(self, grant: Grant, where: Where | None) -> Iterator[Listing]:
        """The documents that the grant covers, by id."""
        allowed = None if where is None else self._numbers(grant, where)
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
