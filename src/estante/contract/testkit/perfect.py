"""A pipeline that offers everything and keeps every promise: the measure of the checks, and an example to read."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from estante.contract.checks.security import FILTERS, READERS, TENANTS, Asker, Canary
from estante.contract.checks.truth import EXACT_SPANS_KEY
from estante.contract.errors import ConnectorOperationalError, ContractValueError
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
from estante.contract.paging import PAGE_SIZE
from estante.contract.pipeline import RagPipeline
from estante.contract.prompts import (
    GenerationTrace,
    PromptTemplate,
    RenderedPrompt,
    render_numbered_rag_block,
    render_prompt,
)
from estante.contract.specs import ConnectorSpec

DIMENSION: Final = 64
QUESTION: Final = "Who keeps the keys of the lighthouse?"
TENANT: Final = "north"

TEMPLATES: Final = (
    PromptTemplate(
        id="block-first",
        description="The chunks, then the question, so that the chunks can be cached.",
        system="Answer from the numbered texts alone.",
        template="Texts:\n{rag_block}\n\nQuestion: {query}",
        cache_breakpoint="after_rag_block",
    ),
    PromptTemplate(
        id="question-first", description="The question, then the chunks.", template="{query}\n\n{rag_block}"
    ),
)
"""One constant, served by the spec and by the instance."""

_TEXTS: Final = {
    "lighthouse": (
        "The keeper of the lighthouse has the keys of the lamp room and of the store.\n\n"
        "At dusk the lamp is lit, and at dawn it is put out.\n\n"
        "When fog comes the horn is sounded every two minutes."
    ),
    "market": (
        "The market opens at seven, and on Sundays it stays closed.\n\n"
        "Fish is sold on the eastern side, fruit on the western side.\n\n"
        "Whoever wants a stall writes to the council before March."
    ),
    "ferry": (
        "The ferry leaves every hour from the northern pier.\n\n"
        "Bicycles travel free of charge, and dogs on a lead may come along.\n\n"
        "In a storm no ferry leaves, and tickets are paid back."
    ),
    "school": (
        "Lessons begin at eight and end at one.\n\n"
        "The library of the school lends three books for two weeks.\n\n"
        "In July there are no lessons, and the yard stays open to children."
    ),
}


@dataclass(frozen=True, slots=True)
class Text:
    """A document, who may read it, and what is known of it. Without readers everyone of the tenant may."""

    name: str
    text: str
    tenant: str = TENANT
    readers: frozenset[str] = frozenset()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def open_to(self, asker: Asker) -> bool:
        """Whether this asker may see it."""
        own = self.tenant == asker.tenant and (not self.readers or bool(self.readers & asker.keys))
        return own and all(self.metadata.get(name) == value for name, value in asker.where.items())


@dataclass
class Shelf:
    """Documents by name, and whether their store can be reached."""

    texts: dict[str, Text] = field(default_factory=dict)
    reachable: bool = True

    def seen_by(self, asker: Asker) -> list[Text]:
        """The documents that the asker may see, by name. Raises ``ConnectionError`` when they cannot be reached."""
        if not self.reachable:
            raise ConnectionError("the store does not answer")
        return [text for _, text in sorted(self.texts.items()) if text.open_to(asker)]


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk and its vector, as the index holds them."""

    record: ChunkRecord
    vector: tuple[float, ...]


def library() -> Shelf:
    """A shelf of four short documents."""
    return Shelf({name: Text(name, text) for name, text in _TEXTS.items()})


def embedded(text: str) -> tuple[float, ...]:
    """The words of a text as a vector of length 1, the same in every process; of zeros when there are no words."""
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.casefold()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % DIMENSION] += 1.0
    length = math.hypot(*vector)
    return tuple(one / length for one in vector) if length else tuple(vector)


class PerfectPipeline(RagPipeline):
    """Every operation of the contract over a small shelf in memory, for one asker."""

    name = "perfect"

    def __init__(self, shelf: Shelf | None = None, asker: Asker | None = None) -> None:
        self.shelf = library() if shelf is None else shelf
        self.asker = Asker(TENANT) if asker is None else asker

    # --- search -----------------------------------------------------------------------------------------------------

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The chunks whose words are nearest to those of the question."""
        asked = embedded(text)
        scored = [(math.fsum(a * b for a, b in zip(asked, row.vector, strict=True)), row) for row in self.rows()]
        found = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1].record.chunk_id))
        return [self.hit(row.record, score, rank) for rank, (score, row) in enumerate(found[: max(0, top_k)])]

    def hit(self, record: ChunkRecord, score: float, rank: int) -> RetrievedChunk:
        """The chunk as a hit."""
        return RetrievedChunk(
            record.chunk_id, record.text, score, rank, record.doc_id, metadata={"source_file": record.source_file}
        )

    def info(self) -> dict[str, Any]:
        """What a run should remember."""
        return {**super().info(), "embedding_fingerprint": _FINGERPRINT, "distance": "cosine", EXACT_SPANS_KEY: True}

    # --- the corpus -------------------------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """The chunks of what the asker may see. Raises ``ConnectorOperationalError`` when the store fails."""
        try:
            texts = self.shelf.seen_by(self.asker)
        except ConnectionError as error:
            raise ConnectorOperationalError(f"{self.name}: {error}; try again when it does") from error
        return [Row(record, embedded(record.text)) for record in _records(texts)]

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """A part of the corpus; the cursor is a position."""
        if limit < 1 or not (cursor is None or cursor.isdecimal()):
            raise ContractValueError("a page begins at a cursor that was given, and holds one chunk or more")
        records = [row.record for row in self.rows()]
        start = int(cursor or 0)
        end = start + limit
        return ChunkPage(records[start:end], str(end) if end < len(records) else None)

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids."""
        held = {row.record.chunk_id: row.record for row in self.rows()}
        return {one: held[one] for one in chunk_ids if one in held}

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """The vectors of these ids."""
        held = {row.record.chunk_id: row.vector for row in self.rows()} if ids else {}
        return {one: list(held[one]) for one in ids if one in held}

    # --- what else can be offered -----------------------------------------------------------------------------------

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        """The space of words by their digests."""
        return EmbeddingSpaceDescriptor("words", DIMENSION, True, "cosine", _FINGERPRINT)

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """The questions in that space."""
        return EmbeddingBatch([list(embedded(one)) for one in texts], self.describe_space())

    def health(self) -> ConnectorHealth:
        """Whether the store answers."""
        return ConnectorHealth(self.shelf.reachable, "" if self.shelf.reachable else "the store does not answer")

    def list_datasets(self) -> list[DatasetRef]:
        """The one shelf."""
        return [DatasetRef("shelf", "The shelf", len(self.rows()), {"shelf": "shelf"})]

    def run_snapshot(self) -> dict[str, Any]:
        """How it is set up, and what it holds."""
        return {
            "schema": "perfect.run-snapshot.v1",
            "settings": {"embedding": "words", "dimension": DIMENSION},
            "observations": {"chunks": len(self.rows())},
        }

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """The best chunk as the answer."""
        hits = self.query(text, top_k)
        block = self.render_rag_block(hits) if hits else "nothing"
        ids = [hit.chunk_id or "" for hit in hits]
        prompt = render_prompt(TEMPLATES[0], query=text, rag_block=block, chunk_ids=ids)
        return self.generate_from_prompt(prompt, contexts=hits)

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The prompts."""
        return list(TEMPLATES)

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The chunks, numbered."""
        return render_numbered_rag_block(chunks)

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """The first context as the answer."""
        answer = contexts[0].text if contexts else "The shelf does not say."
        trace = GenerationTrace(prompt=prompt, response=answer, model="first-context", decoding=dict(decoding or {}))
        return GeneratedAnswer(
            query=prompt.query,
            answer=answer,
            contexts=list(contexts),
            citations=[one.chunk_id for one in contexts[:1] if one.chunk_id is not None],
            hydrated_prompt=prompt.text,
            trace=trace,
        )

    def close(self) -> None:
        """Nothing is held."""

    # --- for those who examine it -----------------------------------------------------------------------------------

    @contextmanager
    def break_backend(self) -> Iterator[None]:
        """Inside, the store does not answer."""
        self.shelf.reachable = False
        try:
            yield
        finally:
            self.shelf.reachable = True

    def security_harness(self) -> PerfectHarness:
        """An empty shelf with walls."""
        return PerfectHarness(type(self))


class PerfectHarness:
    """A shelf with tenants, readers and filters, behind pipelines of one class."""

    walls = frozenset({TENANTS, READERS, FILTERS})

    def __init__(self, kind: type[PerfectPipeline] = PerfectPipeline) -> None:
        self.kind = kind
        self.shelf = Shelf()

    def plant(self, canary: Canary) -> None:
        """Puts the canary on the shelf."""
        self.shelf.texts[canary.key] = Text(
            canary.key, canary.text, canary.tenant, canary.readers, dict(canary.metadata)
        )

    def bind(self, asker: Asker) -> RagPipeline:
        """A pipeline for the asker."""
        return self.kind(self.shelf, asker)

    def delete(self, canary: Canary) -> None:
        """Takes the canary off the shelf."""
        del self.shelf.texts[canary.key]


def build_perfect(connection: dict[str, Any]) -> PerfectPipeline:
    """The pipeline of a stored document."""
    return PerfectPipeline(asker=Asker(str(connection["tenant"])))


def connect_perfect(params: dict[str, Any]) -> tuple[PerfectPipeline, dict[str, Any]]:
    """A pipeline and the document to store."""
    connection = {"type": "perfect", "tenant": params.get("tenant", TENANT)}
    return build_perfect(connection), connection


def perfect_templates() -> Sequence[PromptTemplate]:
    """The prompts, before anything is bound."""
    return TEMPLATES


PERFECT_SPEC: Final = ConnectorSpec(
    connector_type="perfect",
    label="Perfect",
    description="Four short documents in memory, with every operation of the contract.",
    build=build_perfect,
    connect=connect_perfect,
    prompt_templates=perfect_templates,
)
PERFECT_CONNECTION: Final[Mapping[str, Any]] = {"type": "perfect", "tenant": TENANT}

_FINGERPRINT: Final = embedding_fingerprint(provider="estante", model="words", dimensions=DIMENSION)


def _records(texts: Sequence[Text]) -> Iterator[ChunkRecord]:
    """The paragraphs of the documents, each where it stands."""
    number = 0
    for document in texts:
        mark = document_source_fingerprint("txt", document.text)
        for ordinal, found in enumerate(re.finditer(r"[^\n]+", document.text)):
            yield ChunkRecord(
                chunk_id=f"{document.name}:chunk-{ordinal}",
                doc_id=document.name,
                source_file=f"{document.name}.txt",
                doc_chunk_index=ordinal,
                global_index=number,
                text=found[0],
                char_start=found.start(),
                char_end=found.end(),
                metadata={"source_fingerprint": mark, **document.metadata},
            )
            number += 1
