"""Rows of a collection as the contract knows chunks: records of the corpus, and hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estante.contract.models import ChunkRecord, RetrievedChunk


def hit(rank: int, name: str, text: str, told: Mapping[str, Any], distance: float) -> RetrievedChunk:
    """A row as a hit; its score is 1 - ``distance``, and ``rank`` counts from 0."""
    return RetrievedChunk(
        chunk_id=told.get("chunk_id", name),
        text=text,
        score=1.0 - distance,
        rank=rank,
        raw_score=distance,
        doc_id=told.get("doc_id"),
        metadata=_flat(told),
    )


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    """A row's own metadata, overridden by what the contract says of the chunk."""
    return {**told.get("metadata", {}), **{name: value for name, value in told.items() if name != "metadata"}}


def records(found: Mapping[str, Any]) -> list[ChunkRecord]:
    """Rows as records, in their order; with vectors, where there are any."""
    vectors = found.get("embeddings")
    columns = (
        found["ids"],
        found["documents"],
        found["metadatas"],
        vectors if vectors is not None else [None] * len(found["ids"]),
    )
    return [_record(*row) for row in zip(*columns, strict=True)]


def _record(name: str, text: str, told: Mapping[str, Any], vector: Sequence[float] | None) -> ChunkRecord:
    return ChunkRecord(
        chunk_id=told.get("chunk_id", name),
        doc_id=told.get("doc_id", ""),
        source_file=told.get("source_file", ""),
        doc_chunk_index=told.get("doc_chunk_index"),  # type: ignore[arg-type]  # A row that lost it is refused below.
        global_index=told.get("global_index"),
        text=text,
        embedding=None if vector is None else [float(value) for value in vector],
        char_start=told.get("char_start"),
        char_end=told.get("char_end"),
        content_module_id=told.get("content_module_id"),
        metadata=dict(told.get("metadata", {})),
    )


def order(record: ChunkRecord) -> tuple[bool, int, str, int]:
    """The place of a record in the corpus; those without a number come last."""
    place = -1 if record.doc_chunk_index is None else record.doc_chunk_index
    return record.global_index is None, record.global_index or 0, record.doc_id, place
