"""The class that a connector derives from, and with it all that its author needs from this floor.

A connector must answer ``query`` and read its corpus one way: by pages or in bulk. Everything else is derived from
those or refused in plain words, until it is overridden. Rules that hold for every method:

- A failure of the back end raises ``ConnectorOperationalError``. An empty list says that the search ran and matched
  nothing; part of a corpus is a failure, not a smaller corpus.
- What is not offered raises ``UnsupportedCapability``; it never answers with something empty.
- A chunk has one id, in hits and in every way to read the corpus.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from estante.contract.errors import (
    ConnectorContractError,
    ContractValueError,
    GenerationNotImplemented,
    RetrievalModeError,
    UnsupportedCapability,
)
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
from estante.contract.modes import (
    DEFAULT_RETRIEVAL_MODE,
    RETRIEVAL_MODES,
    refuse_threshold_for_mode,
    resolve_retrieval_mode,
)
from estante.contract.paging import PAGE_SIZE, Walk, offset, page_limit
from estante.contract.scores import (
    SCORE_CONVENTION,
    cosine_distance_to_similarity,
    l2_distance_to_score,
    similarity_passthrough,
)

if TYPE_CHECKING:
    from estante.contract.prompts import PromptTemplate, RenderedPrompt

REQUIRED_CHUNK_FIELDS = ("chunk_id", "doc_id", "source_file", "doc_chunk_index", "text")
"""The fields of a ``ChunkRecord`` that may be neither None nor empty."""

ASYNC_TWINS: Mapping[str, str] = MappingProxyType(
    {
        f"a{name}": name
        for name in (
            "query",
            "pull_all_chunks",
            "list_chunks",
            "fingerprint",
            "get_chunks",
            "get_chunk_vectors",
            "list_datasets",
            "generate",
            "generate_from_prompt",
            "health",
            "describe_space",
            "embed_queries",
            "run_snapshot",
        )
    }
)
"""The awaitable methods by name, and the method that each is derived from."""

P = ParamSpec("P")
R = TypeVar("R")


class RagPipeline(ABC):
    """Any system that retrieves, behind one face.

    A subclass gives ``query`` and one of ``list_chunks`` (better: the bulk read comes with it) and
    ``pull_all_chunks``. Each awaitable twin (``aquery`` for ``query``, and so on) runs its method in a thread; a
    subclass whose back end is asynchronous overrides the twin as well. Cancelling a twin does not stop its thread.
    """

    name: str = "rag-pipeline"
    retrieval_mode: str = DEFAULT_RETRIEVAL_MODE

    max_pull_pages: ClassVar[int] = 1_000_000
    """Beyond so many pages the bulk read takes the cursors for endless; raise it for a larger corpus."""

    max_empty_pages: ClassVar[int] = 1_000
    """Beyond so many pages without a chunk in a row the bulk read takes the cursors for endless."""

    # --- search -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The best chunks for a question, best first; empty only when the search ran and matched nothing."""

    def info(self) -> dict[str, Any]:
        """What a run should remember of this pipeline.

        Hosts read ``retrieval_mode``, ``embedding_fingerprint``, ``distance`` (the name of the metric) and
        ``internal_filters`` (a list of ``{name, description, value}``, filters that the system always applies).
        """
        return {"name": self.name, "type": type(self).__name__, "retrieval_mode": self.retrieval_mode}

    # --- the corpus -------------------------------------------------------------------------------------------------

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus; by default page after page of ``list_chunks``.

        Raises ``ConnectorContractError`` when the pages go in circles: for a cursor seen before, for a page of nothing
        but chunks seen before, and beyond ``max_empty_pages`` or ``max_pull_pages``.
        """
        if inherits(self, "list_chunks"):
            raise _without_corpus(self)
        walk = Walk(
            self.list_chunks,
            who=f"{type(self).__name__}.list_chunks",
            most=self.max_pull_pages,
            most_empty=self.max_empty_pages,
        )
        return [chunk for page in walk.pages() for chunk in page]

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """At most ``limit`` chunks, and the cursor of the next page; by default a slice of ``pull_all_chunks``.

        The default reads the whole corpus for every page. Raises ``ContractValueError`` for a limit below 1 and for a
        cursor that is not one of its own.
        """
        if inherits(self, "pull_all_chunks"):
            raise _without_corpus(self)
        start, size = offset(cursor), page_limit(limit)
        chunks = _pulled(self)
        end = start + size
        return ChunkPage(items=chunks[start:end], next_cursor=str(end) if end < len(chunks) else None)

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids; an unknown id is absent. By default found in a pull of the whole corpus."""
        wanted = _distinct(chunk_ids)
        return {chunk.chunk_id: chunk for chunk in _pulled(self) if chunk.chunk_id in wanted}

    def fingerprint(self) -> str:
        """16 hex digits that change with the corpus: with any id or text, not with their order."""
        chunks = _pulled(self)
        try:
            pairs = sorted([chunk.chunk_id, chunk.text] for chunk in chunks)
            encoded = json.dumps(pairs, ensure_ascii=False).encode("utf-8")
        except (AttributeError, TypeError) as error:
            raise ContractValueError(
                f"a chunk of {type(self).__name__} is no ChunkRecord with texts for its id and its text; "
                "let pull_all_chunks give such records alone"
            ) from error
        except UnicodeEncodeError as error:
            raise ContractValueError(
                f"a chunk of {type(self).__name__} has a lone surrogate in its id or text, which is no text; "
                "decode the source again, or replace it"
            ) from error
        return hashlib.sha256(encoded).hexdigest()[:16]

    @staticmethod
    def validate_chunks(chunks: Iterable[ChunkRecord]) -> None:
        """Raises ``ContractValueError`` for the first chunk that lacks one of ``REQUIRED_CHUNK_FIELDS``."""
        for position, chunk in enumerate(chunks):
            for name in REQUIRED_CHUNK_FIELDS:
                if getattr(chunk, name, None) in (None, ""):
                    told = f"chunk_id={getattr(chunk, 'chunk_id', None)!r}"
                    kind = "" if isinstance(chunk, ChunkRecord) else f", of type {type(chunk).__name__}"
                    raise ContractValueError(f"chunk {position} ({told}{kind}) has no {name!r}; every chunk needs one")

    # --- what a pipeline may offer ----------------------------------------------------------------------------------

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """The vectors that the index really holds; an unknown id is absent. Never embedded anew.

        Raises ``UnsupportedCapability`` unless overridden, for no ids too.
        """
        raise _unsupported(self, "get_chunk_vectors", "its scores can be trusted, but not computed again")

    def list_datasets(self) -> list[DatasetRef]:
        """The data sets that could be bound instead. Raises ``UnsupportedCapability`` unless overridden."""
        raise _unsupported(self, "list_datasets", "name the data set in its parameters")

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """An answer with what it rests on; a failure while it is written is the answer's ``error``.

        Raises ``GenerationNotImplemented`` unless overridden.
        """
        raise GenerationNotImplemented(f"{type(self).__name__} writes no answers; ask it with query()")

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The prompts that the pipeline declares. Raises ``UnsupportedCapability`` unless overridden."""
        raise _unsupported(self, "prompt_templates", "its prompt is known from generate() alone")

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The given chunks as the pipeline's own prompts show them. Raises ``UnsupportedCapability`` by default."""
        raise _unsupported(self, "render_rag_block", "its prompt is known from generate() alone")

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """An answer to a prompt as it stands, without retrieval. Raises ``UnsupportedCapability`` by default."""
        raise _unsupported(self, "generate_from_prompt", "its prompt is known from generate() alone")

    # --- awaitable twins --------------------------------------------------------------------------------------------

    async def aquery(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """``query``, awaitable."""
        return await _in_thread(self.query, text, top_k)

    async def apull_all_chunks(self) -> list[ChunkRecord]:
        """``pull_all_chunks``, awaitable."""
        return await _in_thread(self.pull_all_chunks)

    async def alist_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """``list_chunks``, awaitable."""
        return await _in_thread(self.list_chunks, cursor=cursor, limit=limit)

    async def afingerprint(self) -> str:
        """``fingerprint``, awaitable."""
        return await _in_thread(self.fingerprint)

    async def aget_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """``get_chunks``, awaitable."""
        return await _in_thread(self.get_chunks, chunk_ids)

    async def aget_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """``get_chunk_vectors``, awaitable."""
        return await _in_thread(self.get_chunk_vectors, ids)

    async def alist_datasets(self) -> list[DatasetRef]:
        """``list_datasets``, awaitable."""
        return await _in_thread(self.list_datasets)

    async def agenerate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """``generate``, awaitable."""
        return await _in_thread(self.generate, text, top_k=top_k, llm=llm)

    async def agenerate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """``generate_from_prompt``, awaitable."""
        return await _in_thread(self.generate_from_prompt, prompt, contexts=contexts, llm=llm, decoding=decoding)

    async def ahealth(self) -> ConnectorHealth:
        """``health``, awaitable. Raises ``UnsupportedCapability`` where there is no ``health``."""
        health: Callable[[], ConnectorHealth] = _optional(self, "health")
        return await _in_thread(health)

    async def adescribe_space(self) -> EmbeddingSpaceDescriptor:
        """``describe_space``, awaitable. Raises ``UnsupportedCapability`` where there is no ``describe_space``."""
        describe: Callable[[], EmbeddingSpaceDescriptor] = _optional(self, "describe_space")
        return await _in_thread(describe)

    async def aembed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """``embed_queries``, awaitable. Raises ``UnsupportedCapability`` where there is no ``embed_queries``."""
        embed: Callable[[Sequence[str]], EmbeddingBatch] = _optional(self, "embed_queries")
        return await _in_thread(embed, texts)

    async def arun_snapshot(self) -> Mapping[str, Any]:
        """``run_snapshot``, awaitable. Raises ``UnsupportedCapability`` where there is no ``run_snapshot``."""
        snapshot: Callable[[], Mapping[str, Any]] = _optional(self, "run_snapshot")
        return await _in_thread(snapshot)


def inherits(pipeline: object, method_name: str) -> bool:
    """Whether the method, of an instance or a class, is the very one that ``RagPipeline`` brings."""
    default = getattr(RagPipeline, method_name, None)
    return default is not None and _function(getattr(pipeline, method_name, None)) is _function(default)


# Functions and not methods: a subclass may call an attribute of its own whatever it likes.


def _pulled(pipeline: RagPipeline) -> list[ChunkRecord]:
    pulled: object = pipeline.pull_all_chunks()
    if isinstance(pulled, str) or not isinstance(pulled, Iterable):
        kind = type(pulled).__name__
        raise ConnectorContractError(f"{type(pipeline).__name__}.pull_all_chunks gave a {kind}; let it give a list")
    return pulled if isinstance(pulled, list) else list(pulled)


def _optional(pipeline: RagPipeline, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(pipeline, name, None)
    if method is None:
        raise _unsupported(pipeline, name, f"ask supports(pipeline, {name!r}) first")
    return method


def _unsupported(pipeline: RagPipeline, name: str, hint: str) -> UnsupportedCapability:
    return UnsupportedCapability(f"{type(pipeline).__name__} does not offer {name}; {hint}")


def _without_corpus(pipeline: RagPipeline) -> UnsupportedCapability:
    return UnsupportedCapability(
        f"{type(pipeline).__name__} has neither list_chunks nor pull_all_chunks of its own, so there is no way to "
        "read its corpus; write list_chunks, and pull_all_chunks comes with it"
    )


def _function(attribute: object) -> object:
    return getattr(attribute, "__func__", attribute)


def _distinct(ids: Iterable[str]) -> set[str]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        kind = type(ids).__name__
        raise ContractValueError(f"get_chunks was given a {kind} for its list of ids; put one id into a list")
    # What cannot be in a set is no id of any chunk.
    return {one for one in ids if isinstance(one, Hashable)}


async def _in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    # Imported here, because whoever awaits has it loaded already and everybody else does not need it.
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)


__all__ = [
    "ASYNC_TWINS",
    "DEFAULT_RETRIEVAL_MODE",
    "REQUIRED_CHUNK_FIELDS",
    "RETRIEVAL_MODES",
    "SCORE_CONVENTION",
    "ChunkRecord",
    "ConnectorContractError",
    "GeneratedAnswer",
    "RagPipeline",
    "RetrievalModeError",
    "RetrievedChunk",
    "UnsupportedCapability",
    "cosine_distance_to_similarity",
    "inherits",
    "l2_distance_to_score",
    "refuse_threshold_for_mode",
    "resolve_retrieval_mode",
    "similarity_passthrough",
]
