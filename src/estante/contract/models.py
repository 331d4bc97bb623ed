"""The values that cross the border between a host and a pipeline.

The order of the fields is part of the contract, because they may be given by position. ``None`` says "not reported",
never zero or false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from estante.contract.traces import GenerationTrace


@dataclass
class ChunkRecord:
    """One chunk of a corpus, under the id that retrieval gives it too.

    ``doc_chunk_index`` counts 0, 1, 2, ... within the document; ``global_index`` counts through the corpus, or is
    None for every chunk of it. ``source_file`` is the document's name for people. ``char_start`` and ``char_end`` are
    code points in the document's text.
    """

    chunk_id: str
    doc_id: str
    source_file: str
    doc_chunk_index: int
    # No default on purpose: who builds a record must say whether the corpus has such an order.
    global_index: int | None
    text: str
    embedding: list[float] | None = None
    char_start: int | None = None
    char_end: int | None = None
    content_module_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order; the values are the record's own, not copies."""
        return {
            "chunk_id": self.chunk_id,
            "doc_id": self.doc_id,
            "source_file": self.source_file,
            "doc_chunk_index": self.doc_chunk_index,
            "global_index": self.global_index,
            "text": self.text,
            "embedding": self.embedding,
            "char_start": self.char_start,
            "char_end": self.char_end,
            "content_module_id": self.content_module_id,
            "metadata": self.metadata,
        }


@dataclass
class RetrievedChunk:
    """One row of what a query found. ``rank`` counts from 0, the best first.

    ``chunk_id`` is the id in the corpus, or None for a text that is no chunk of it. Larger scores are better;
    ``raw_score`` is the store's own number, and only when ``score`` was converted from it.
    """

    chunk_id: str | None
    text: str
    score: float | None
    rank: int
    doc_id: str | None = None
    raw_score: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


RetrievedItem = RetrievedChunk
"""The same class under the name for rows that need not be chunks."""


@dataclass
class GeneratedAnswer:
    """An answer and what it rests on. A failure while it was written is ``error``, so that a run records it.

    ``trace`` is None when the pipeline declares no prompts, never an empty trace.
    """

    query: str
    answer: str
    contexts: list[RetrievedChunk]
    citations: list[str] = field(default_factory=list)
    hydrated_prompt: str = ""
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    # Last, so that whoever gives the older fields by position goes on meaning the same.
    trace: GenerationTrace | None = None


@dataclass(frozen=True, slots=True)
class ChunkPage:
    """A part of the corpus, and the cursor of the next part; None after the last."""

    items: Sequence[ChunkRecord]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """A data set that a connector can be bound to.

    ``connect_params`` is what selects it: a host merges it into its own parameters and connects with them.
    """

    id: str
    label: str | None = None
    item_count: int | None = None
    connect_params: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order; the two mappings as new dicts."""
        return {
            "id": self.id,
            "label": self.label,
            "item_count": self.item_count,
            "connect_params": dict(self.connect_params),
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class EmbeddingSpaceDescriptor:
    """What the author asserts of a vector space. None is "unknown": it can neither be verified nor contradicted.

    ``fingerprint`` is the identity of the space; without one, a change of it cannot be noticed.
    """

    model: str | None
    dimension: int | None
    normalized: bool | None = None
    metric: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingBatch:
    """One vector a text, in the order of the texts, and the space they are in."""

    vectors: Sequence[Sequence[float]]
    space: EmbeddingSpaceDescriptor


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """Whether the pipeline can answer now; ``detail`` names the obstacle, for people."""

    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScoreSemantics:
    """How scores are to be read. Reserved: nothing reads it yet."""

    comparable: bool
    higher_is_better: bool | None
    metric: str | None = None
    transform: str | None = None


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What a query found, with facts about the whole list. Reserved: nothing reads it yet."""

    items: Sequence[RetrievedChunk] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnectorDescriptor:
    """A connector's account of itself, with a fingerprint for each thing that can change apart.

    Reserved: nothing reads it yet.
    """

    connector_type: str
    name: str
    contract_version: str = "0.1"
    retrieval_mode: str = "scored"
    score_semantics: ScoreSemantics = field(
        default_factory=lambda: ScoreSemantics(comparable=True, higher_is_better=True)
    )
    capabilities: frozenset[str] = frozenset()
    connector_config_fingerprint: str | None = None
    corpus_fingerprint: str | None = None
    embedding_space_fingerprint: str | None = None
    retrieval_policy_fingerprint: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
