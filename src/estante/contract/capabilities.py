"""What a pipeline may be able to do, as protocols, and the question whether it really does.

``isinstance`` says whether the methods are there. The base class brings most of them as a refusal or a derivation, so
for its subclasses ask ``supports``, which tells an author's method from an inherited one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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
from estante.contract.pipeline import ASYNC_TWINS, RagPipeline, inherits

if TYPE_CHECKING:
    from estante.contract.prompts import PromptTemplate, RenderedPrompt

DECLARED_PROMPT_METHODS = ("prompt_templates", "render_rag_block", "generate_from_prompt")
"""The three methods that make one capability: whoever offers one offers all."""


@runtime_checkable
class RagConnector(Protocol):
    """What every pipeline has, whether it derives from ``RagPipeline`` or not."""

    retrieval_mode: str

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The best chunks for a question, best first."""

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus."""

    def fingerprint(self) -> str:
        """A short text that changes with the corpus."""

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids; an unknown id is absent."""

    def info(self) -> dict[str, Any]:
        """What a run should remember of the pipeline."""


@runtime_checkable
class PagedCorpusReader(Protocol):
    """Reads its corpus by pages."""

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        """At most ``limit`` chunks, and the cursor of the next page."""


@runtime_checkable
class QueryEmbedder(Protocol):
    """Embeds questions as its own search does."""

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        """What is known of the vector space."""

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """One vector a text, in order."""


@runtime_checkable
class HealthCapability(Protocol):
    """Says whether it can answer now."""

    def health(self) -> ConnectorHealth:
        """Whether it can, and if not, why."""


@runtime_checkable
class ChunkVectorReader(Protocol):
    """Shows the vectors that its index holds."""

    def get_chunk_vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """The vectors of these chunks as they are stored; an unknown id is absent."""


@runtime_checkable
class AnswerGenerator(Protocol):
    """Writes answers."""

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """An answer with what it rests on."""


@runtime_checkable
class DeclaredPromptGenerator(Protocol):
    """Declares the prompts that it answers with, so that others can render and send them."""

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The prompts, at least one."""

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The given chunks as its prompts show them."""

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """An answer to a prompt as it stands, with its trace."""


@runtime_checkable
class DatasetLister(Protocol):
    """Lists the data sets that could be bound."""

    def list_datasets(self) -> Sequence[DatasetRef]:
        """The data sets, each with the parameters that select it."""


@runtime_checkable
class RunSnapshotProvider(Protocol):
    """Says how it is set up, for a run to keep."""

    def run_snapshot(self) -> Mapping[str, Any]:
        """Its settings and what it observes of itself, without secrets."""


@runtime_checkable
class ContentPublisher(Protocol):
    """Takes content in. Reserved: nothing asks for it yet."""

    def upsert(self, items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Adds or replaces items."""

    def delete(self, external_ids: Sequence[str]) -> Mapping[str, Any]:
        """Takes items away."""


@runtime_checkable
class QueryTelemetryReader(Protocol):
    """Shows what was asked. Reserved: nothing asks for it yet."""

    def read_queries(
        self, *, cursor: str | None = None, limit: int = 1000
    ) -> tuple[Sequence[Mapping[str, Any]], str | None]:
        """A page of questions, and the cursor of the next."""


@runtime_checkable
class IndexIntrospector(Protocol):
    """Shows its indexes. Reserved: nothing asks for it yet."""

    def list_indexes(self) -> Sequence[Mapping[str, Any]]:
        """A row an index."""


def supports(pipeline: object, method_name: str) -> bool:
    """Whether the pipeline, an instance or a class, has this method from its author.

    A method inherited from ``RagPipeline`` does not count. An awaitable twin counts when it, or the method that it is
    derived from, is the author's; a method does not count for its twin's sake, because it is not derived from it.
    """
    if getattr(pipeline, method_name, None) is None:
        return False
    if not inherits(pipeline, method_name):
        return True
    return method_name in ASYNC_TWINS and supports(pipeline, ASYNC_TWINS[method_name])


def declared_prompt_methods(pipeline: object) -> tuple[str, ...]:
    """Those of the three methods of declared prompts that are the author's, in their fixed order."""
    return tuple(name for name in DECLARED_PROMPT_METHODS if supports(pipeline, name))


def supports_declared_prompts(pipeline: object) -> bool:
    """Whether all three methods of declared prompts are the author's."""
    return declared_prompt_methods(pipeline) == DECLARED_PROMPT_METHODS


def supports_chunk_vectors(pipeline: object) -> bool:
    """Whether the pipeline shows the vectors of its index."""
    return supports(pipeline, "get_chunk_vectors")


# RagPipeline is named here for readers of rag-connector's module of the same name.
__all__ = [
    "DECLARED_PROMPT_METHODS",
    "AnswerGenerator",
    "ChunkVectorReader",
    "ContentPublisher",
    "DatasetLister",
    "DeclaredPromptGenerator",
    "HealthCapability",
    "IndexIntrospector",
    "PagedCorpusReader",
    "QueryEmbedder",
    "QueryTelemetryReader",
    "RagConnector",
    "RagPipeline",
    "RunSnapshotProvider",
    "declared_prompt_methods",
    "supports",
    "supports_chunk_vectors",
    "supports_declared_prompts",
]
