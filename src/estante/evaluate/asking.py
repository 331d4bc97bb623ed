"""A pipeline is asked every question: what it found, how long it took, and what went wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.evaluate.collection import Collection, Question
from estante.evaluate.placing import Places, spanned
from estante.evaluate.spans import Passage, TextSpan

By = Literal["document", "chunk", "source"]
WAYS: Final[tuple[By, ...]] = get_args(By)
"""What judgements name: documents, chunks, or files (``source_file``)."""

LONGEST: Final = 300
"""Characters of an error that are kept."""

Heard = Callable[[int, int, str], None]
"""Hears how far it is: done, of how many, at which question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hit: the name that it counts under (None when it told none), and for a question with gold spans its place."""

    name: str | None
    chunk: str | None = None
    document: str | None = None
    score: float | None = None
    span: TextSpan | None = None
    length: int = 0

    @property
    def passage(self) -> Passage:
        """What measures of spans look at."""
        return self.span if self.span is not None else self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of one question. With an ``error`` there are no hits, and it is no empty result."""

    question: str
    hits: tuple[Found, ...] = ()
    error: str | None = None
    seconds: float = 0.0

    def ranking(self) -> list[str]:
        """The names, the best first, each once. A hit without a name takes its place under one that nobody judged."""
        names = (one.name if one.name is not None else nameless(place) for place, one in enumerate(self.hits))
        return list(dict.fromkeys(names))


def nameless(place: int) -> str:
    """The name of a hit that told none; no text of a corpus is called so."""
    return f"\x00{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How to ask: how many hits of each question, what judgements name, and how often to ask beforehand."""

    top_k: int
    by: By = "document"
    warmup: int = 1


@dataclass(frozen=True, slots=True)
class Known:
    """What the pipeline's corpus says of its chunks: the document, file and span of each."""

    chunks: Mapping[str, ChunkRecord] = field(default_factory=dict)

    def names(self, by: By) -> set[str]:
        """Every name of its corpus."""
        return {named for one in self.chunks.values() if (named := _name_of_record(one, by)) is not None}


def ask(
    pipeline: RagPipeline,
    collection: Collection,
    order: Order,
    *,
    known: Known | None = None,
    heard: Heard | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Asked]:
    """What became of each question, in their order. Whatever the pipeline raises is the error of that question."""
    places, chunks = Places(collection), known or Known()
    for question in collection.questions[: order.warmup]:
        _one(pipeline, question, order, places, chunks, clock)
    told = []
    for number, question in enumerate(collection.questions):
        if heard is not None:
            heard(number, len(collection.questions), question.text)
        told.append(_one(pipeline, question, order, places, chunks, clock))
    return told


def _one(
    pipeline: RagPipeline,
    question: Question,
    order: Order,
    places: Places,
    known: Known,
    clock: Callable[[], float],
) -> Asked:
    started = clock()
    try:
        hits = pipeline.query(question.text, order.top_k)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - of others: whatever it is, the question came to that.
        return Asked(question=question.id, error=told_of(error), seconds=clock() - started)
    seconds = clock() - started
    try:
        # Where hits stand matters to gold spans alone, and takes time to find.
        looked = places if question.gold else None
        found = tuple(_found(hit, order.by, looked, known) for hit in _checked(hits, order.top_k))
    except TypeError as error:
        return Asked(question=question.id, error=f"broke its contract: {error}"[:LONGEST], seconds=seconds)
    return Asked(question=question.id, hits=found, seconds=seconds)


def told_of(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {text}' if text else ''}"[:LONGEST]


def _checked(hits: object, top_k: int) -> Sequence[RetrievedChunk]:
    """The hits. Raises ``TypeError`` for what is no list of hits: that is not an empty result."""
    if not isinstance(hits, list | tuple):
        raise TypeError(f"query gave a {type(hits).__name__}, not a list")
    for place, hit in enumerate(hits):
        if not isinstance(hit, RetrievedChunk):
            raise TypeError(f"hit {place} is a {type(hit).__name__}, no RetrievedChunk")
        if not isinstance(hit.text, str) or not isinstance(hit.metadata, Mapping):
            raise TypeError(f"hit {place} has no text, or no mapping of metadata")
        for name in ("chunk_id", "doc_id"):
            if not isinstance(getattr(hit, name), str | None):
                raise TypeError(f"hit {place} has a {name} that is no text")
    if len(hits) > top_k:
        raise TypeError(f"query gave {len(hits)} hits where {top_k} were asked for")
    return hits


def _found(hit: RetrievedChunk, by: By, places: Places | None, known: Known) -> Found:
    record = known.chunks.get(hit.chunk_id) if hit.chunk_id is not None else None
    document = hit.doc_id or (record.doc_id if record is not None else None)
    name, score = _name(hit, document, record, by), _score(hit.score)
    if places is None:
        return Found(name=name, chunk=hit.chunk_id, document=document, score=score)
    start, end = spanned(hit.metadata)
    if start is None and record is not None:
        start, end = record.char_start, record.char_end
    span = places.place(document, hit.text, start, end)
    return Found(name=name, chunk=hit.chunk_id, document=document, score=score, span=span, length=len(hit.text))


def _name(hit: RetrievedChunk, document: str | None, record: ChunkRecord | None, by: By) -> str | None:
    if by == "document":
        return document
    if by == "chunk":
        return hit.chunk_id
    told = hit.metadata.get("source_file")
    return told if isinstance(told, str) and told else record.source_file if record is not None else None


def _name_of_record(record: ChunkRecord, by: By) -> str | None:
    return {"document": record.doc_id, "chunk": record.chunk_id, "source": record.source_file}[by]


def _score(told: object) -> float | None:
    """The score; None for what is no number."""
    usual = isinstance(told, int | float) and not isinstance(told, bool)
    # Through float, because a number of numpy's is one, but nothing that JSON knows.
    value = float(told) if usual else math.nan  # type: ignore[arg-type]
    return value if math.isfinite(value) else None


def corpus_of(pipeline: RagPipeline) -> Known:
    """What the pipeline's corpus says of its chunks. Raises whatever the pipeline raises."""
    return Known({one.chunk_id: one for one in pipeline.pull_all_chunks()})
