"""Vector stores of LangChain that can tell what they hold: their corpus, their vectors, what their numbers are.

LangChain has no common way to list a store, nor to ask what its scores mean, so each store that can is known here by
its class. Of any other neither is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from estante.contract.errors import ConnectorOperationalError
from estante.serve.adapters.records import Row
from estante.serve.adapters.scales import Scale

PAGE: Final = 1000

_SCORED: Final = "similarity_search_with_score"

# Objects of LangChain, whose types need not be installed.
Store = Any


@dataclass(frozen=True, slots=True)
class Holdings:
    """How a store is read: all rows, rows by id, vectors by id; the last is None where it shows none."""

    rows: Callable[[], Iterable[Row]]
    by_id: Callable[[Sequence[str]], Iterable[Row]]
    vectors: Callable[[Sequence[str]], Mapping[str, Sequence[float]]] | None


def row_of(document: Any, own_id: str | None = None) -> Row:
    """The row of a LangChain document."""
    found = getattr(document, "id", None)
    return _row(own_id if found is None else str(found), document.page_content, document.metadata)


def _row(own_id: str | None, text: str | None, metadata: Mapping[str, Any] | None) -> Row:
    held = dict(metadata or {})
    start = held.get("start_index")
    # The text splitters write -1 where they did not find the chunk again.
    known = isinstance(start, int) and not isinstance(start, bool) and start >= 0
    return Row(text=text or "", id=own_id, metadata=held, start=start if known else None)


def holdings_of(store: Store) -> Holdings | None:
    """How a store is read, None for one that cannot be."""
    reader = next((_READERS[kind.__name__] for kind in type(store).__mro__ if kind.__name__ in _READERS), None)
    return None if reader is None else reader(store)


def scale_of(store: Store) -> Scale | None:
    """What the numbers of ``similarity_search_with_score`` are, None for a store that is not known.

    A class that is derived from one that is known and scores in its own way is not known.
    """
    kind = next((kind for kind in type(store).__mro__ if kind.__name__ in _SCALES), None)
    if kind is None or getattr(type(store), _SCORED) is not getattr(kind, _SCORED):
        return None
    return _SCALES[kind.__name__](store)


# --- in memory ----------------------------------------------------------------------------------------------------


def _memory(store: Store) -> Holdings:
    def row(held: Mapping[str, Any]) -> Row:
        return _row(str(held["id"]), held["text"], held["metadata"])

    def held(ids: Iterable[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((one, store.store[one]) for one in ids if one in store.store)

    return Holdings(
        rows=lambda: [row(one) for one in list(store.store.values())],
        by_id=lambda ids: [row(one) for _, one in held(ids)],
        vectors=lambda ids: {name: one["vector"] for name, one in held(ids)},
    )


# --- Chroma -------------------------------------------------------------------------------------------------------


def _chroma(store: Store) -> Holdings:
    def rows(found: Mapping[str, Any]) -> list[Row]:
        return list(map(_row, found["ids"], found["documents"], found["metadatas"]))

    def every() -> Iterator[Row]:
        last: Row | None = None
        read = 0
        while True:
            # The row that was read last comes again: where another stands, rows were taken away, and some passed over.
            found = rows(store.get(limit=PAGE + 1, offset=max(0, read - 1)))
            if last is not None and (not found or found[0].id != last.id):
                raise ConnectorOperationalError("the collection has changed while it was read; read it again")
            fresh = found if last is None else found[1:]
            if not fresh:
                return
            yield from fresh
            read, last = read + len(fresh), fresh[-1]

    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        found = store.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    return Holdings(every, lambda ids: rows(store.get(ids=list(ids))), vectors)


def _chroma_scale(store: Store) -> Scale | None:
    # Not public, and the only place where the metric stands; without it the user is asked.
    configuration = getattr(getattr(store, "_collection", None), "configuration_json", None)
    return space_scale(configuration) if isinstance(configuration, Mapping) else None


def space_scale(configuration: Mapping[str, Any]) -> Scale | None:
    """The scale of a Chroma collection by its configuration, None for a metric that is not known."""
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    return CHROMA_SCALES.get(str(index.get("space", "")))


CHROMA_SCALES: Final[Mapping[str, Scale]] = {
    "cosine": Scale("cosine_distance"),
    "ip": Scale("inner_product_distance"),
    # Chroma leaves the root out.
    "l2": Scale("l2_distance", "squared_l2"),
}
"""By the metric of a collection."""


# --- FAISS --------------------------------------------------------------------------------------------------------


def _faiss(store: Store) -> Holdings:
    def document(own_id: str) -> Any:
        found = store.docstore.search(own_id)
        # A document store answers with a sentence where it has no such document.
        return None if isinstance(found, str) else found

    def rows(ids: Iterable[str]) -> list[Row]:
        return [row_of(found, one) for one in ids if (found := document(one)) is not None]

    def ids() -> list[str]:
        return [own_id for _, own_id in sorted(store.index_to_docstore_id.items())]

    def vectors(wanted: Sequence[str]) -> dict[str, Sequence[float]]:
        places = {own_id: place for place, own_id in store.index_to_docstore_id.items()}
        return {one: store.index.reconstruct(int(places[one])) for one in wanted if one in places}

    return Holdings(lambda: rows(ids()), rows, vectors if _reconstructs(store) else None)


def _reconstructs(store: Store) -> bool:
    """Whether the index gives its vectors back; some kinds of index keep none."""
    if not store.index_to_docstore_id:
        return False
    try:
        store.index.reconstruct(0)
    except RuntimeError:  # what FAISS raises for everything that an index cannot do.
        return False
    return True


def _faiss_scale(store: Store) -> Scale:
    # 0 is METRIC_INNER_PRODUCT of FAISS, whatever the store was told its distances are.
    inner = getattr(store.index, "metric_type", None) == 0
    return Scale("similarity", "ip") if inner else Scale("l2_distance", "squared_l2")


_READERS: Final[Mapping[str, Callable[[Store], Holdings]]] = {
    "InMemoryVectorStore": _memory,
    "Chroma": _chroma,
    "FAISS": _faiss,
}
_SCALES: Final[Mapping[str, Callable[[Store], Scale | None]]] = {
    "InMemoryVectorStore": lambda store: Scale("similarity", "cosine"),
    "Chroma": _chroma_scale,
    "FAISS": _faiss_scale,
}
