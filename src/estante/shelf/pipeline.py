"""A bookcase as a pipeline of the contract: searched, read, checked and measured as any other."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from estante.contract.connections import CONTRACT_VERSION
from estante.contract.errors import (
    ConnectorError,
    ConnectorOperationalError,
    ContractValueError,
    UnsupportedCapability,
)
from estante.contract.fingerprints import document_source_fingerprint, embedding_fingerprint
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    ConnectorHealth,
    DatasetRef,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    GeneratedAnswer,
    RetrievedChunk,
)
from estante.contract.paging import PAGE_SIZE, page_limit
from estante.contract.pipeline import RagPipeline
from estante.contract.prompts import PromptTemplate, RenderedPrompt, render_numbered_rag_block, render_prompt
from estante.contract.scores import SCORE_CONVENTION
from estante.index.engine import Engine
from estante.model.asking import Hit, Query
from estante.model.content import Chunk
from estante.model.errors import Unavailable
from estante.model.ports import Outcome, Store, View
from estante.shelf import answering, border
from estante.shelf.binding import Binding
from estante.shelf.border import Place
from estante.shelf.local import Shelves

if TYPE_CHECKING:
    from estante.contract.checks.security import SecurityHarness

CONNECTOR_TYPE: Final = "estante"
PROVIDER: Final = "estante"
"""Who encodes, in the fingerprint of the vector space."""

SNAPSHOT_SCHEMA: Final = "estante.run-snapshot.v1"
WIDEST_PAGE: Final = 10_000
"""Chunks of a page, however many are asked for."""

_KEPT: Final = 10_000
"""Documents whose fingerprints are kept."""

_At = tuple[Place, int, int]
"""A candidate: its place, the number of its view, and the view's own handle."""


class BookcasePipeline(RagPipeline):
    """A bookcase bound to one asker. Nothing that the asker may not read shows in any answer, count or mark.

    It reads and never writes. Safe to use from several threads. ``close`` lets go of what was opened for it.
    """

    name = "estante"
    retrieval_mode = "scored"
    skipped_items: int | None = None
    """How many items the provisioning of the bookcase left out, where there was one and the asker may know."""

    outcome: Outcome | None = None
    """What was done by the provisioning that this pipeline was connected by."""

    def __init__(
        self,
        *,
        tenant: str,
        engine: Engine,
        shelves: Shelves,
        binding: Binding,
        path: str | None = None,
        connector_type: str = CONNECTOR_TYPE,
        release: Callable[[], None] | None = None,
        harness: Callable[[], SecurityHarness] | None = None,
    ) -> None:
        """``path`` is where the bookcase stands, None for one in memory; ``release`` closes what was opened."""
        self.binding = binding
        self.path = path
        self._engine = engine
        self._grant = binding.grant(tenant)
        self._where = binding.condition()
        self._open = {name: store for name, store in shelves.named().items() if binding.opens(name)}
        self._type = connector_type
        self._release = release
        self._harness = harness
        self._closed = False
        self._failing = 0
        self._prints: tuple[str, dict[str, str]] = ("", {})
        self._corpus: tuple[str, str] = ("", "")

    # --- search ------------------------------------------------------------------------------------------------------

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The best passages for a question, best first, of those that the asker may read."""
        question, breadth = border.checked_question(text), border.checked_breadth(top_k)
        with self._reading("the search") as views:
            # Any text is a question here: no sign in it may be an error, or mean something to this pipeline alone.
            wanted = Query(
                text=question, grant=self._grant, k=breadth, mode=self.binding.mode, where=self._where, literal=True
            )
            hits = self._hits(wanted)
            found = self._fingerprints(views, [hit.chunk for hit in hits])
            return [border.retrieved(hit, rank, found.get(hit.document_id)) for rank, hit in enumerate(hits)]

    def _hits(self, query: Query) -> list[Hit]:
        """The hits of all shelves that are asked, each chunk once."""
        stores = self._stores()
        # Cosines of one space compare across shelves, so that each stays what it is; other scores do not.
        groups = [{name: store} for name, store in stores.items()] if query.mode == "dense" else [stores]
        found = [hit for group in groups for hit in self._searched(query, group)]
        if len(groups) > 1:
            found.sort(key=lambda hit: (-hit.score, hit.document_id, hit.chunk.index))
        unique: dict[str, Hit] = {}
        for hit in found:
            unique.setdefault(hit.chunk.id, hit)
        return list(unique.values())[: query.k]

    def _searched(self, query: Query, stores: Mapping[str, Store]) -> Sequence[Hit]:
        """The hits of these shelves. Raises what kept one of them from answering: evidence is whole, or missing."""
        results = self._engine.search(query, stores)
        for away in (one for one in results.shelves if not one.ok):
            self._engine.search(query, {away.name: stores[away.name]})
            raise Unavailable(f"the {away.name} shelf did not answer: {away.reason}", hint="Ask again.")
        return results.hits

    def info(self) -> dict[str, Any]:
        """What a run should remember of this pipeline."""
        space = self.describe_space()
        return {
            "name": self.name,
            "type": type(self).__name__,
            "connector_type": self._type,
            "retrieval_mode": self.retrieval_mode,
            "mode": self.binding.mode,
            "distance": self.binding.distance,
            "score_convention": SCORE_CONVENTION,
            "embedding_provider": PROVIDER,
            "embedding_model": space.model,
            "dimensions": space.dimension,
            "embedding_fingerprint": space.fingerprint,
            "analyzer": self._engine.analysis,
            "exact_spans": True,
            "internal_filters": self.binding.filters(),
        }

    # --- the corpus --------------------------------------------------------------------------------------------------

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """The next chunks by document id and position; no others are read.

        A cursor goes on in any process that is bound in the same way, for as long as the corpus stays the same. When
        it has changed, ``ConnectorOperationalError`` says so: a half of this and a half of that is neither.
        """
        size = min(page_limit(limit), WIDEST_PAGE)
        after, before = (None, "") if cursor is None else border.read_cursor(cursor)
        with self._reading("reading the corpus") as views:
            mark = self._mark(views)
            if after is not None and before != mark:
                raise ConnectorOperationalError(
                    "the corpus has changed since the cursor was given, or the cursor is of another binding; "
                    "begin again with None"
                )
            found = self._scan(views, after, size + 1)
            items = self._records(views, found[:size])
        more = len(found) > size
        return ChunkPage(items=items, next_cursor=border.cursor_of(found[size - 1][0], mark) if more else None)

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus, page after page, of one state whatever is written meanwhile."""
        with self._reading("reading the corpus"):
            return super().pull_all_chunks()

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids; one that is absent, or not the asker's to read, is left out."""
        wanted = border.checked_ids(chunk_ids, "get_chunks")
        if not wanted:
            return {}
        with self._reading("reading chunks") as views:
            return {one.chunk_id: one for one in self._records(views, list(self._located(views, wanted).values()))}

    def fingerprint(self) -> str:
        """16 hex digits that change with the corpus as the asker sees it; computed once while it stays the same."""
        with self._reading("the fingerprint") as views:
            mark, known = self._mark(views), self._corpus
            if known[0] != mark:
                # Given as it was computed: another thread may be at another state.
                known = self._corpus = (mark, super().fingerprint())
            return known[1]

    def _scan(self, views: Sequence[View], after: Place | None, k: int) -> list[_At]:
        """The first k candidates behind a place, over all shelves in one order."""
        streams = [
            [(view.tie(ref), at, ref) for ref in view.scan(after, k, self._grant, self._where)]
            for at, view in enumerate(views)
        ]
        found: dict[Place, _At] = {}
        for one in heapq.merge(*streams):
            # Of a text on its way from one shelf to the other the later one, on the private shelf, is the true one.
            found[one[0]] = one
        return list(found.values())[:k]

    def _located(self, views: Sequence[View], wanted: Sequence[str]) -> dict[str, _At]:
        places = {one: found for one in wanted if (found := border.place(one)) is not None}
        located: dict[str, _At] = {}
        for at, view in enumerate(views):
            refs = view.locate(list(places.values()), self._grant, self._where)
            for (name, found), ref in zip(places.items(), refs, strict=True):
                if ref is not None:
                    located[name] = (found, at, ref)
        return located

    def _records(self, views: Sequence[View], found: Sequence[_At]) -> list[ChunkRecord]:
        """The records of candidates, in their order."""
        chunks = self._chunks(views, found)
        documents = border.distinct([place for place, _, _ in found])
        counts = [view.preceding(documents, self._grant, self._where) for view in views]
        first = {document: sum(column) for document, column in zip(documents, zip(*counts, strict=True), strict=True)}
        prints = self._fingerprints(views, chunks)
        return [
            border.record(chunk, first[chunk.document_id] + chunk.index, prints.get(chunk.document_id))
            for chunk in chunks
        ]

    def _chunks(self, views: Sequence[View], found: Sequence[_At]) -> list[Chunk]:
        chunks: dict[Place, Chunk] = {}
        for at, some in groupby(sorted(found, key=lambda one: one[1]), key=lambda one: one[1]):
            group = list(some)
            read = views[at].chunks([ref for _, _, ref in group], self._grant)
            chunks.update(zip((place for place, _, _ in group), read, strict=True))
        return [chunks[place] for place, _, _ in found]

    def _fingerprints(self, views: Sequence[View], chunks: Sequence[Chunk]) -> dict[str, str]:
        """The fingerprints of the chunks' documents, from their texts as they were let in: what is masked has no part.

        A document that went since it was found has none.
        """
        mark = self._mark(views) if chunks else ""
        state, known = self._prints
        if state != mark or len(known) > _KEPT:
            # Filled by what is seen here alone: another thread may be at another state.
            known = {}
            self._prints = (mark, known)
        found: dict[str, str] = {}
        for chunk in chunks:
            name = chunk.document_id
            if name not in known and (text := self._text(views, name)) is not None:
                known[name] = document_source_fingerprint(border.file_type(chunk.uri), text)
            if name in known:
                found[name] = known[name]
        return found

    def _text(self, views: Sequence[View], document_id: str) -> str | None:
        for view in reversed(views):
            if view.locate([(document_id, 0)], self._grant, self._where) != [None]:
                return view.slice(document_id, 0, None, self._grant)[2]
        return None

    # --- vectors -----------------------------------------------------------------------------------------------------

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """The vectors that the index holds, restored from their bytes and of unit length; none is made anew.

        Left out are ids that are absent or not the asker's to read, and chunks that the encoder had nothing to say of.
        """
        wanted = border.checked_ids(ids, "get_chunk_vectors")
        if not wanted:
            return {}
        with self._reading("reading vectors") as views:
            held = {name: views[at].vectors([ref])[0] for name, (_, at, ref) in self._located(views, wanted).items()}
        return {name: vector.floats() for name, vector in held.items() if vector.scale}

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        """The vector space of the encoder. Vectors are kept and compared at unit length, by their cosine."""
        with self._border("describing the vector space"):
            space = self._engine.encoder.space
            return EmbeddingSpaceDescriptor(
                model=space.model,
                dimension=space.dimensions,
                normalized=True,
                metric="cosine",
                fingerprint=embedding_fingerprint(
                    provider=PROVIDER,
                    model=space.model,
                    dimensions=space.dimensions,
                    normalize=True,
                    model_version=space.revision,
                ),
            )

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """The vectors of questions as the search compares them; zeros where the encoder has nothing to say."""
        if isinstance(texts, str | bytes):
            raise ContractValueError("embed_queries was given one text; put it into a list")
        asked = [border.checked_question(text) for text in texts]
        space = self.describe_space()
        with self._border("embedding questions"):
            return EmbeddingBatch([vector.floats() for vector in self._engine.questions(asked)], space)

    # --- what it says of itself --------------------------------------------------------------------------------------

    def health(self) -> ConnectorHealth:
        """Whether it can answer, and if not, what stands in the way."""
        try:
            with self._reading("opening the shelves") as views:
                held = [view.holdings(self._grant, self._where) for view in views]
        except ConnectorError as error:
            return ConnectorHealth(False, str(error))
        documents, chunks = (sum(getattr(one, name) for one in held) for name in ("documents", "chunks"))
        if chunks:
            return ConnectorHealth(True, f"{chunks:,} chunks of {documents:,} documents")
        return ConnectorHealth(False, f"there is nothing that this asker ({self.binding.asker}) may read; {_REMEDY}")

    def list_datasets(self) -> list[DatasetRef]:
        """The shelves that the asker can be bound to, each with what it holds for them."""
        listed: list[DatasetRef] = []
        errors: list[ConnectorError] = []
        for name in self._open:
            told: dict[str, Any] = {"kind": "shelf"}
            count: int | None = None
            try:
                with self._reading("listing shelves", [name]) as views:
                    held = views[0].holdings(self._grant, self._where)
                count, told["documents"] = held.chunks, held.documents
            except ConnectorError as error:
                errors.append(error)
                told["error"] = str(error)
            where = {"path": self.path} if self.path is not None else {}
            listed.append(DatasetRef(name, f"The {name} shelf", count, {**where, "shelf": name}, told))
        if len(errors) == len(listed):
            raise errors[0]
        return listed

    def run_snapshot(self) -> dict[str, Any]:
        """How it is bound and what it holds for the asker, for a run to keep."""
        space = self.describe_space()
        binding = self.binding
        with self._reading("the snapshot") as views:
            held = [view.holdings(self._grant, self._where) for view in views]
            languages = sorted({language for view in views for language in view.languages(self._grant)})
            mark = self._mark(views)
        return {
            "schema": SNAPSHOT_SCHEMA,
            "settings": {
                "retrieval_mode": self.retrieval_mode,
                "mode": binding.mode,
                "distance": binding.distance,
                "score_convention": SCORE_CONVENTION,
                "asker": binding.asker,
                "reader_groups": binding.told_keys(),
                "shelf": binding.shelf,
                "where": binding.told_where(),
                "embedding_model": space.model,
                "embedding_dimensions": space.dimension,
                "embedding_revision": self._engine.encoder.space.revision,
                "embedding_fingerprint": space.fingerprint,
                "normalized": space.normalized,
                "analyzer": self._engine.analysis,
                "translator": self._engine.translator,
                "blend": asdict(self._engine.trust),
                "prompts": {one.id: one.template_sha256 for one in answering.PROMPTS},
            },
            "observations": {
                "document_count": sum(one.documents for one in held),
                "chunk_count": sum(one.chunks for one in held),
                "languages": languages,
                **({} if self.skipped_items is None else {"skipped_items": self.skipped_items}),
                "last_change": mark,
            },
        }

    def connection(self) -> dict[str, Any]:
        """The document that builds this pipeline again. Raises ``UnsupportedCapability`` for one in memory."""
        if self.path is None:
            raise UnsupportedCapability("a bookcase in memory cannot be opened again; make one in a folder")
        told = {"type": self._type, "contract_version": CONTRACT_VERSION, "path": os.path.abspath(self.path)}
        return {**told, **self.binding.document()}

    # --- answers -----------------------------------------------------------------------------------------------------

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """An answer by the model that the caller brings, from what ``query`` finds.

        Every failure is the answer's ``error``. Where nothing was found the answer says so, and no model is asked.
        """
        try:
            hits = self.query(text, top_k)
        except ConnectorError as error:
            return GeneratedAnswer(str(text), "", [], error=str(error))
        if not hits:
            return replace(answering.refusal(text), error=answering.NO_MODEL if llm is None else None)
        prompt = render_prompt(
            answering.prompt_for(text),
            query=text,
            rag_block=self.render_rag_block(hits),
            chunk_ids=[hit.chunk_id for hit in hits if hit.chunk_id is not None],
        )
        return self.generate_from_prompt(prompt, contexts=hits, llm=llm)

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The declared prompts: one in Portuguese, one in English."""
        return answering.PROMPTS

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The chunks as its prompts show them: numbered, each under its id."""
        return render_numbered_rag_block(chunks)

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """The answer of the model that the caller brings to a prompt as it stands, with the trace of that call."""
        return answering.answered(prompt, contexts, llm, decoding)

    # --- for those who examine it ------------------------------------------------------------------------------------

    @contextmanager
    def break_backend(self) -> Iterator[None]:
        """Lets every use of the shelves fail until the block ends, so that it can be seen what happens then."""
        self._failing += 1
        try:
            yield
        finally:
            self._failing -= 1

    def security_harness(self) -> SecurityHarness | None:
        """Bookcases of its kind in a place of their own, to plant documents in; its own is left alone."""
        return None if self._harness is None else self._harness()

    # --- opening and closing -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Lets go of the bookcase, if it was opened for this pipeline; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            if self._release is not None:
                self._release()

    def _stores(self, names: Sequence[str] | None = None) -> dict[str, Store]:
        return {
            name: store
            for name, store in self._open.items()
            if (name in names if names is not None else self.binding.reads(name))
        }

    @contextmanager
    def _reading(self, what: str, names: Sequence[str] | None = None) -> Iterator[list[View]]:
        """The state of each shelf that is asked, the private one last."""
        with self._border(what), ExitStack() as stack:
            if self._closed:
                raise Unavailable("the pipeline was closed", hint="Build it again from its connection document.")
            if self._failing:
                raise Unavailable("the shelves do not answer", hint="They were made to fail; leave break_backend().")
            yield [stack.enter_context(store.view()) for store in self._stores(names).values()]

    def _border(self, what: str) -> AbstractContextManager[None]:
        return border.border(what, frank=self._grant.owner)

    def _mark(self, views: Sequence[View]) -> str:
        """A short text that changes when what the asker sees does."""
        return "-".join(view.holdings(self._grant, self._where).mark for view in views)


_REMEDY: Final = (
    'share something with everyone (estante add FOLDER --shared), or say who asks: asker "owner", or "reader" with keys'
)
