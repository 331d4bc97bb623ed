"""A broken pipeline for each check: what it must catch, and what else cannot but suffer from the same fault."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from estante.contract.checks.rebuilding import BY_IMPORT, Origin
from estante.contract.checks.report import FAIL, WARN
from estante.contract.errors import ConnectorOperationalError
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    DatasetRef,
    EmbeddingBatch,
    GeneratedAnswer,
    RetrievedChunk,
)
from estante.contract.paging import PAGE_SIZE
from estante.contract.prompts import RenderedPrompt
from estante.contract.specs import ConnectorSpec
from estante.contract.testkit.perfect import (
    PERFECT_CONNECTION,
    PERFECT_SPEC,
    QUESTION,
    PerfectPipeline,
    Row,
    perfect_templates,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A pipeline with one fault. ``also`` are the checks that the same fault must break too.

    ``options`` are the keyword arguments of ``validate_pipeline`` under which the fault shows.
    """

    make: Callable[[], PerfectPipeline]
    status: str = FAIL
    also: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)


def perfect_options() -> dict[str, Any]:
    """The keyword arguments of ``validate_pipeline`` under which the perfect pipeline is shown to be it."""
    return {
        "sample_query": QUESTION,
        "spec": PERFECT_SPEC,
        "connection": dict(PERFECT_CONNECTION),
        "security": True,
        "close": True,
    }


# --- what it says of itself -----------------------------------------------------------------------------------------


class SilentPipeline(PerfectPipeline):
    """Its ``info()`` fails."""

    def info(self) -> dict[str, Any]:
        """Fails."""
        raise KeyError("name")


class TalkativePipeline(PerfectPipeline):
    """Its snapshot holds a credential."""

    def run_snapshot(self) -> dict[str, Any]:
        """With a password among the settings."""
        snapshot = super().run_snapshot()
        return {**snapshot, "settings": {**snapshot["settings"], "password": "not a real one"}}


class ModelessPipeline(PerfectPipeline):
    """Its mode is none of the contract."""

    retrieval_mode = "best"


class StrayPipeline(PerfectPipeline):
    """It has a method that was meant to be another."""

    def pull_chunks(self) -> list[ChunkRecord]:
        """Never called by a host."""
        return []


# --- its corpus -----------------------------------------------------------------------------------------------------


class ChangedRows(PerfectPipeline):
    """Its rows are changed, each way to read in the same way."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """The record as it is served."""
        return record

    def rows(self) -> list[Row]:
        """The rows with their records changed."""
        return [Row(self.changed(at, row.record), row.vector) for at, row in enumerate(super().rows())]


class UnreadablePipeline(PerfectPipeline):
    """Its corpus cannot be read."""

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """Fails."""
        raise ConnectorOperationalError("the store does not answer; try again")


class NamelessPipeline(ChangedRows):
    """A chunk lacks the name of its document."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """Without ``source_file`` for one chunk."""
        return replace(record, source_file="") if at == 1 else record


class GappedPipeline(ChangedRows):
    """Its chunks are numbered from 1."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """One further on."""
        return replace(record, doc_chunk_index=record.doc_chunk_index + 1)


class CountlessPipeline(ChangedRows):
    """Two chunks have one number in the corpus."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """Number 0 twice."""
        return replace(record, global_index=0) if at == 1 else record


class UnmarkedPipeline(ChangedRows):
    """Its chunks say nothing of the state of their source."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """Without metadata."""
        return replace(record, metadata={})


class RestlessPipeline(PerfectPipeline):
    """Its fingerprint changes with every call."""

    _calls = itertools.count()

    def fingerprint(self) -> str:
        """A number."""
        return str(next(self._calls))


class HalfSpannedPipeline(ChangedRows):
    """A span has a start and no end."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """Without ``char_end`` for one chunk."""
        return replace(record, char_end=None) if at == 1 else record


class UnwritablePipeline(ChangedRows):
    """Metadata holds what JSON does not have."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """With a set in one chunk."""
        return replace(record, metadata={**record.metadata, "words": {"a", "b"}}) if at == 1 else record


# --- its hits -------------------------------------------------------------------------------------------------------


class ChangedHits(PerfectPipeline):
    """Its hits are changed."""

    def hit(self, record: ChunkRecord, score: float, rank: int) -> RetrievedChunk:
        """The hit, changed."""
        return self.changed_hit(super().hit(record, score, rank))

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """The hit as it is served."""
        return hit


class TuplePipeline(PerfectPipeline):
    """It gives a tuple for a list."""

    def query(self, text: str, top_k: int = 5) -> Any:
        """The hits as a tuple."""
        return tuple(super().query(text, top_k))


class ElsewherePipeline(PerfectPipeline):
    """It searches another index than the one that its corpus stands in."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """Nothing."""
        super().query(text, top_k)
        return []


class TwoNamesPipeline(ChangedHits):
    """A chunk has one id in hits and another in the corpus."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With an id of the index."""
        return replace(hit, chunk_id=f"index/{hit.chunk_id}")


class UnkindPipeline(ChangedHits):
    """Its hits declare a kind that there is not."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With an unknown kind."""
        return replace(hit, metadata={**hit.metadata, "item_kind": "paragraph"})


class MoodyPipeline(PerfectPipeline):
    """Every second time it answers in another order."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._calls = itertools.count()

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The hits, every second time from behind."""
        hits = super().query(text, top_k)
        if next(self._calls) % 2:
            hits.reverse()
        return [replace(hit, rank=rank) for rank, hit in enumerate(hits)]


class DistantPipeline(ChangedHits):
    """Its scores are distances."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With the distance for a score."""
        return replace(hit, score=1.0 - (hit.score or 0.0))


class FieldlessPipeline(ChangedHits):
    """The metadata of its hits is None."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """Without metadata."""
        hit.metadata = None  # type: ignore[assignment]
        return hit


class ParaphrasingPipeline(ChangedHits):
    """Its hits have texts of their own."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With three dots behind the text."""
        return replace(hit, text=f"{hit.text} ...")


class MisfilingPipeline(ChangedHits):
    """Its hits name another document."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With the file for the document."""
        return replace(hit, doc_id=f"{hit.doc_id}.txt")


class RepeatingPipeline(PerfectPipeline):
    """It lists its best hit twice."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The hits with the first one doubled."""
        hits = super().query(text, top_k)
        return [replace(hit, rank=rank) for rank, hit in enumerate([*hits[:1], *hits][: max(0, top_k)])]


class InfinitePipeline(ChangedHits):
    """Its raw scores are no numbers."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With NaN for the store's number."""
        return replace(hit, raw_score=math.nan)


class GreedyPipeline(PerfectPipeline):
    """Asked for nothing it gives five."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """With 5 for 0."""
        return super().query(text, top_k or 5)


class WordlessPipeline(PerfectPipeline):
    """A question without words makes it fail."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """Needs a first word."""
        if text.split()[0]:
            return super().query(text, top_k)
        return []


class RescalingPipeline(ChangedHits):
    """Its scores are the similarity brought between 0 and 1."""

    def changed_hit(self, hit: RetrievedChunk) -> RetrievedChunk:
        """With another scale."""
        return replace(hit, score=(1.0 + (hit.score or 0.0)) / 2)


# --- other ways to read ---------------------------------------------------------------------------------------------


class PlaceholdingPipeline(PerfectPipeline):
    """It gives None for a chunk that it does not have."""

    def get_chunks(self, chunk_ids: list[str]) -> Any:
        """With an entry for every id."""
        found = super().get_chunks(chunk_ids)
        return {one: found.get(one) for one in chunk_ids}


class TornPipeline(PerfectPipeline):
    """Its small pages leave chunks out."""

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus."""
        return list(super().list_chunks().items)

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """A page without its last chunk, when another follows."""
        page = super().list_chunks(cursor=cursor, limit=limit)
        return replace(page, items=page.items[:-1]) if page.next_cursor else page


class InventivePipeline(PerfectPipeline):
    """It has a vector for every id, whatever it is."""

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """With the first vector for what there is not."""
        found = super().get_chunk_vectors(ids)
        return {one: found.get(one, list(self.rows()[0].vector)) for one in ids}


class TwoTextsPipeline(PerfectPipeline):
    """A read by id gives another text."""

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """In capitals."""
        return {one: replace(record, text=record.text.upper()) for one, record in super().get_chunks(chunk_ids).items()}


class LopsidedPipeline(PerfectPipeline):
    """A vector is shorter than the others."""

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """With a component less for one chunk."""
        found = super().get_chunk_vectors(ids)
        first = self.rows()[0].record.chunk_id
        return {one: vector[:-1] if one == first else vector for one, vector in found.items()}


class BottomlessPipeline(PerfectPipeline):
    """A page is the whole corpus, whatever is asked for."""

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """Everything."""
        return super().list_chunks()


# --- answers --------------------------------------------------------------------------------------------------------


class LaconicPipeline(PerfectPipeline):
    """Its answers are texts."""

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> Any:
        """The answer alone."""
        return super().generate(text, top_k=top_k).answer


class TracelessPipeline(PerfectPipeline):
    """Its answers from prompts have no trace."""

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """Without its trace."""
        return replace(super().generate_from_prompt(prompt, contexts=contexts), trace=None)


# --- what else it offers --------------------------------------------------------------------------------------------


class OneVectorPipeline(PerfectPipeline):
    """It embeds the first question alone."""

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """One vector, however many texts."""
        return super().embed_queries(texts[:1])


class HalePipeline(PerfectPipeline):
    """Its health is a word."""

    def health(self) -> Any:
        """The word, when the store answers."""
        self.rows()
        return "ok"


class TwinPipeline(PerfectPipeline):
    """Two of its data sets have one id."""

    def list_datasets(self) -> list[DatasetRef]:
        """One, twice."""
        return super().list_datasets() * 2


class EmptyHandedPipeline(PerfectPipeline):
    """It offers data sets, and has none."""

    def list_datasets(self) -> list[DatasetRef]:
        """None, though one is bound; the store is asked all the same."""
        self.rows()
        return []


class SwallowingPipeline(PerfectPipeline):
    """It takes a failure for an empty result."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """Nothing, when the store fails."""
        try:
            return super().query(text, top_k)
        except ConnectorOperationalError:
            return []


class ReusingPipeline(PerfectPipeline):
    """It gives the same list for every question, with other hits in it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._given: list[RetrievedChunk] = []

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The list, filled anew."""
        self._given[:] = super().query(text, top_k)
        return self._given


class StuckPipeline(PerfectPipeline):
    """It cannot be closed."""

    def close(self) -> None:
        """Fails."""
        raise OSError("the store is in use")


class ProcessBoundPipeline(ChangedRows):
    """Its ids hold for one process."""

    def changed(self, at: int, record: ChunkRecord) -> ChunkRecord:
        """With the number of the process in the id."""
        return replace(record, chunk_id=f"{record.chunk_id}@{os.getpid()}")


# --- how it is bound ------------------------------------------------------------------------------------------------


def build_nothing(connection: dict[str, Any]) -> PerfectPipeline:
    """Fails, as a build does that needs what is not in the document."""
    raise KeyError("endpoint")


def first_template() -> Sequence[Any]:
    """One of the two prompts."""
    return perfect_templates()[:1]


def built_from(kind: type[PerfectPipeline]) -> dict[str, Any]:
    """The options under which the pipeline that is built anew has the fault, too."""
    spec = ConnectorSpec(
        connector_type="faulty",
        label="Faulty",
        description="With a fault.",
        build=lambda connection: kind(),
        prompt_templates=perfect_templates,
    )
    return {"spec": spec, "origin": Origin(BY_IMPORT, f"{kind.__module__}:{kind.__qualname__}", {})}


FAULTS: Final[Mapping[str, Fault]] = {
    "info": Fault(SilentPipeline),
    "run-snapshot": Fault(TalkativePipeline),
    "retrieval-mode": Fault(ModelessPipeline),
    "stray-method": Fault(StrayPipeline, WARN),
    "corpus-pull": Fault(UnreadablePipeline),
    "chunk-fields": Fault(NamelessPipeline),
    "chunk-ordinals": Fault(GappedPipeline),
    "global-index": Fault(CountlessPipeline),
    "change-detection": Fault(UnmarkedPipeline, WARN),
    "corpus-stability": Fault(RestlessPipeline),
    "probe-query": Fault(PerfectPipeline, WARN, options={"sample_query": None}),
    "query-hits": Fault(TuplePipeline, options=built_from(TuplePipeline)),
    "query-ids": Fault(
        TwoNamesPipeline, also=frozenset({"build-round-trip", "fresh-process"}), options=built_from(TwoNamesPipeline)
    ),
    "derived-results": Fault(UnkindPipeline),
    "query-determinism": Fault(MoodyPipeline, WARN),
    "score-direction": Fault(DistantPipeline, also=frozenset({"recomputed-scores"})),
    "get-chunks": Fault(PlaceholdingPipeline),
    "list-chunks": Fault(TornPipeline),
    "chunk-vectors": Fault(InventivePipeline),
    "generate": Fault(LaconicPipeline),
    "declared-prompts": Fault(TracelessPipeline),
    "spec-prompts": Fault(PerfectPipeline, options={"spec": replace(PERFECT_SPEC, prompt_templates=first_template)}),
    "connection-document": Fault(
        PerfectPipeline, options={"connection": {**PERFECT_CONNECTION, "password": "not a real one"}}
    ),
    "build-round-trip": Fault(
        PerfectPipeline,
        options={**built_from(PerfectPipeline), "spec": replace(PERFECT_SPEC, build=build_nothing)},
    ),
    "own-words": Fault(ElsewherePipeline, also=frozenset({"query-hits"})),
    "hit-fields": Fault(FieldlessPipeline),
    "hit-texts": Fault(ParaphrasingPipeline),
    "hit-documents": Fault(MisfilingPipeline),
    "hit-duplicates": Fault(RepeatingPipeline, options=built_from(RepeatingPipeline)),
    "finite-scores": Fault(InfinitePipeline),
    "read-agreement": Fault(TwoTextsPipeline),
    "char-spans": Fault(HalfSpannedPipeline),
    "metadata-json": Fault(UnwritablePipeline),
    "page-limits": Fault(BottomlessPipeline, WARN),
    "top-k-edges": Fault(GreedyPipeline),
    "odd-questions": Fault(WordlessPipeline),
    "query-embedding": Fault(OneVectorPipeline),
    "vector-dimensions": Fault(LopsidedPipeline),
    "recomputed-scores": Fault(RescalingPipeline),
    "health": Fault(HalePipeline),
    "datasets": Fault(TwinPipeline),
    "unsupported-raises": Fault(EmptyHandedPipeline),
    "broken-backend": Fault(SwallowingPipeline),
    "results-last": Fault(ReusingPipeline),
    "close": Fault(StuckPipeline),
    "fresh-process": Fault(ProcessBoundPipeline, options=built_from(ProcessBoundPipeline)),
}
"""By the id of the check: a pipeline that it must catch. Those of who sees what are ``LEAKS``."""

INFORMATIONAL: Final = frozenset({"complete-set-cardinality", "calls"})
"""Checks that no pipeline can fail."""
