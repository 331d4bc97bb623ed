"""A back end as a set of functions, and the pipeline of the contract that is made of it.

What a back end cannot do has no function, and the pipeline's class then has no method of its own for it: the inherited
one refuses. So ``supports`` tells the truth of every single pipeline, whatever library stands behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from estante.contract.checks.attempts import cause, told
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    ContractValueError,
)
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    ConnectorHealth,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    RetrievedChunk,
)
from estante.contract.paging import PAGE_SIZE, page_limit
from estante.contract.pipeline import RagPipeline
from estante.contract.scores import SCORE_CONVENTION
from estante.serve.adapters.advice import advice_of
from estante.serve.adapters.records import Layout, Row
from estante.serve.adapters.scales import Scale

T = TypeVar("T")

MOST_EMPTY: Final = 1_000
"""Pages without a row, one after another; with more of them a corpus is taken for endless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A row that a search found, the number that the back end gave it, and the one that it converted, if it did."""

    row: Row
    number: float | None = None
    raw: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """What a library or a server can do. Any of its functions may raise anything when it fails.

    The corpus is given one way: ``rows`` gives all of it, ``page`` a part and the cursor of the next, ``frozen`` has
    it as chunks by their ids. ``by_id`` and ``vectors`` take the back end's own ids; an unknown one is absent.
    """

    kind: str
    """The type of the connector."""
    search: Callable[[str, int], Sequence[Found]]
    layout: Layout = field(default_factory=Layout)
    scale: Scale
    mode: str = ""
    """The retrieval mode, where the numbers do not decide it."""
    rows: Callable[[], Iterable[Row]] | None = None
    page: Callable[[str | None, int], tuple[Sequence[Row], str | None]] | None = None
    frozen: Mapping[str, ChunkRecord] | None = None
    by_id: Callable[[Sequence[str]], Iterable[Row]] | None = None
    vectors: Callable[[Sequence[str]], Mapping[str, Sequence[float]]] | None = None
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None = None
    space: EmbeddingSpaceDescriptor | None = None
    health: Callable[[], str] | None = None
    """Gives what is told of good health; raises when it is not good."""
    close: Callable[[], None] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What ``info()`` tells besides; strict JSON."""


def pipeline_of(backend: Backend) -> RagPipeline:
    """The pipeline of a back end, of a class that has a method for each thing that it can do and for no other."""
    offered = {
        _Frozen: backend.frozen is not None,
        _Paged: backend.page is not None and backend.frozen is None,
        _Bulk: backend.rows is not None and backend.page is None and backend.frozen is None,
        _ById: backend.by_id is not None and backend.frozen is None and backend.layout.own_ids,
        _Vectors: backend.vectors is not None,
        _Embedding: backend.embed is not None,
        _Health: backend.health is not None,
    }
    # The reads by id come first, because they fall back on the others.
    order: tuple[type[Adapter], ...] = (_ById, _Vectors, _Embedding, _Health, _Frozen, _Paged, _Bulk)
    bases = tuple(one for one in order if offered[one])
    made: type[Adapter] = type(f"{backend.kind.capitalize()}Pipeline", (*bases, Adapter), {"__doc__": Adapter.__doc__})
    return made(backend)


class Adapter(RagPipeline):
    """A back end that can be asked. Its failures are ``ConnectorOperationalError``s."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._closed = False
        self.name = backend.kind
        self.retrieval_mode = backend.mode or backend.scale.mode

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The best chunks, at most ``top_k`` unless the back end bounds the list itself.

        Raises ``ContractValueError`` for a question that is no text and a breadth below 1.
        """
        if not isinstance(text, str):
            raise ContractValueError(f"a question is a text, not a {type(text).__name__}")
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ContractValueError(f"top_k is {top_k!r}; ask for a whole number of hits from 1 on")
        with self._asking("the search"):
            found = list(self._backend.search(text, top_k))
            kept = found if self.retrieval_mode == "complete_set" else found[:top_k]
            return [self._hit(one, rank) for rank, one in enumerate(kept)]

    def info(self) -> dict[str, Any]:
        """What a run should remember: also the measure of the scores and the facts of the back end."""
        distance, space = self._backend.scale.distance, self._backend.space
        told_space = {"embedding_fingerprint": space.fingerprint} if space and space.fingerprint else {}
        return {
            **super().info(),
            "connector_type": self._backend.kind,
            "score_convention": SCORE_CONVENTION,
            **({"distance": distance} if distance else {}),
            **told_space,
            **self._backend.facts,
        }

    def run_snapshot(self) -> dict[str, Any]:
        """How the adapter is set up."""
        settings = {key: value for key, value in self.info().items() if key not in ("name", "type")}
        return {"schema": f"estante.{self._backend.kind}.run-snapshot.v1", "settings": settings, "observations": {}}

    @property
    def check_advice(self) -> Mapping[str, str]:
        """How its user mends what a check finds, by the id of the check."""
        held = self._backend
        corpus = held.frozen is not None or held.page is not None or held.rows is not None
        return advice_of(held.kind, has_corpus=corpus, finds_by_id=held.frozen is not None or held.by_id is not None)

    def close(self) -> None:
        """Gives back what the back end holds; afterwards every call is refused. A second time does nothing."""
        if not self._closed:
            self._closed = True
            if self._backend.close is not None:
                self._backend.close()

    def _hit(self, found: Found, rank: int) -> RetrievedChunk:
        score, raw = self._backend.scale.score(found.number)
        hit = self._backend.layout.hit(found.row, rank, score, found.raw if raw is None else raw)
        frozen = self._backend.frozen
        if frozen is not None and self._backend.layout.named_doc(found.row) is None:
            known = frozen.get(hit.chunk_id or "")
            return replace(hit, doc_id=None if known is None else known.doc_id)
        return hit

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        """Inside, the back end is asked: whatever it raises becomes an error of the contract."""
        if self._closed:
            raise ConnectorOperationalError(f"this {self._backend.kind} pipeline is closed; make another one")
        try:
            yield
        except ConnectorError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a library may raise anything, even what ends programs.
            raise ConnectorOperationalError(
                f"{what} of the {self._backend.kind} back end failed: {told(error)}"
            ) from cause(error)


class _Frozen(Adapter):
    """The corpus is known beforehand."""

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The chunks in the order of their file."""
        return list((self._backend.frozen or {}).values())

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids; an unknown id is absent."""
        frozen = self._backend.frozen or {}
        return {one: frozen[one] for one in _ids(chunk_ids) if one in frozen}


class _Bulk(Adapter):
    """The back end gives its corpus whole."""

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus, each chunk with its place in its document."""
        with self._asking("reading the corpus"):
            return self._backend.layout.records(_there(self._backend.rows)())


class _Paged(Adapter):
    """The back end gives its corpus by pages, and every chunk tells its place in its document."""

    def list_chunks(self, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> ChunkPage:
        """At most ``limit`` chunks, and the cursor of the next page."""
        size = page_limit(limit)
        with self._asking("reading the corpus"):
            rows, following = _there(self._backend.page)(cursor, size)
            return ChunkPage([_placed(self._backend.layout, row) for row in rows], following)


class _ById(Adapter):
    """The back end finds chunks by their ids."""

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids; an unknown id is absent.

        Where only its neighbours tell the place of a chunk, the whole corpus is read for it.
        """
        wanted = _ids(chunk_ids)
        if not wanted:
            return {}
        layout = self._backend.layout
        with self._asking("reading chunks by id"):
            rows = [row for row in _there(self._backend.by_id)(wanted) if row.id in wanted]
            places = [(row, layout.ordinal(row)) for row in rows]
            found = {row.id or "": layout.record(row, place) for row, place in places if place is not None}
        if len(found) < len(places):
            return super().get_chunks(chunk_ids)
        return {one: found[one] for one in wanted if one in found}


class _Vectors(Adapter):
    """The back end shows the vectors that it searches."""

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        """The vectors as they are stored; an unknown id, and a chunk without a vector, is absent."""
        wanted = _ids(ids)
        if not wanted:
            return {}
        with self._asking("reading vectors"):
            own = self._own_ids(wanted)
            found = _there(self._backend.vectors)(list(own.values()))
            return {one: _vector(found[theirs]) for one, theirs in own.items() if theirs in found}

    def _own_ids(self, wanted: list[str]) -> dict[str, str]:
        """The back end's own ids of chunks, which differ where ids stand in the metadata or are made of texts."""
        layout, rows = self._backend.layout, self._backend.rows
        if layout.own_ids:
            return {one: one for one in wanted}
        if rows is None:
            raise ConnectorOperationalError("vectors cannot be found by ids that the back end does not know")
        known = {layout.chunk_id(row): row.id for row in rows()}
        return {one: theirs for one in wanted if (theirs := known.get(one)) is not None}


class _Embedding(Adapter):
    """Questions can be embedded as the search does it."""

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        """What is known of the vector space."""
        space = self._backend.space or EmbeddingSpaceDescriptor(model=None, dimension=None)
        return space if space.metric else replace(space, metric=self._backend.scale.distance or None)

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """One vector a text, in order."""
        asked = list(texts)
        with self._asking("embedding"):
            found = _there(self._backend.embed)(asked) if asked else []
            vectors = [_vector(one) for one in found]
        if len(vectors) != len(asked):
            raise ConnectorContractError(f"the embedding gave {len(vectors)} vectors for {len(asked)} texts")
        return EmbeddingBatch(vectors, self.describe_space())


class _Health(Adapter):
    """The back end tells whether it can answer."""

    def health(self) -> ConnectorHealth:
        """Whether it can, and if not, why; it never raises."""
        try:
            with self._asking("the question for its health"):
                return ConnectorHealth(True, _there(self._backend.health)())
        except ConnectorError as error:
            return ConnectorHealth(False, str(error))


def every_row(page: Callable[[str | None, int], tuple[Sequence[Row], str | None]]) -> Iterator[Row]:
    """The rows of all pages. Raises ``ConnectorContractError`` for pages that go in circles."""
    cursor: str | None = None
    cursors, ids, empty = set[str](), set[str | None](), 0
    while True:
        rows, cursor = page(cursor, PAGE_SIZE)
        before = len(ids)
        ids.update(row.id for row in rows)
        empty = 0 if rows else empty + 1
        circles = cursor in cursors or (rows and len(ids) == before) or empty > MOST_EMPTY
        if cursor is not None and circles:
            raise ConnectorContractError(
                f"the back end gave the cursor {cursor!r} and nothing new, so its corpus would have no end"
            )
        yield from rows
        if cursor is None:
            return
        cursors.add(cursor)


def _vector(found: Any) -> list[float]:
    """A vector as numbers. Raises ``ConnectorContractError`` for what is none: a text has parts that look like some."""
    if isinstance(found, str | bytes | Mapping):
        raise ConnectorContractError(f"the back end gave a {type(found).__name__} for a vector; let it give numbers")
    vector = [float(part) for part in found]
    if not all(map(math.isfinite, vector)):
        raise ConnectorContractError("the back end gave a vector that is not of finite numbers; embed that text again")
    return vector


def _placed(layout: Layout, row: Row) -> ChunkRecord:
    place = layout.ordinal(row)
    if place is None:
        raise ConnectorContractError(
            f"chunk {row.id!r} does not tell its place in its document, and others do; store it with every chunk"
        )
    return layout.record(row, place)


def _ids(ids: Iterable[str]) -> list[str]:
    """The ids, each once, in order."""
    if isinstance(ids, str):
        raise ContractValueError("a string was given for a list of ids; put one id into a list")
    return list(dict.fromkeys(ids))


def _there(function: T | None) -> T:
    """The function of a back end, which is there, because the class that calls it is made only where it is."""
    if function is None:
        raise ConnectorContractError("this back end lacks what its pipeline offers")
    return function


__all__: Final = ["Adapter", "Backend", "Found", "every_row", "pipeline_of"]
