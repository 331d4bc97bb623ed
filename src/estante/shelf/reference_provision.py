"""Making the collections that the reference pipeline reads: of a folder, of chunks, of the bundled corpus.

A collection is built beside the one that stands and put in its place when it is whole and was read back. A provisioning
that fails or is killed leaves what stood before as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from estante.contract.errors import ConnectorOperationalError, ContractValueError
from estante.contract.loading import chunk_loaded_documents, load_documents
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline
from estante.ingest.frozen import load_bundled_chunks, load_bundled_corpus
from estante.shelf.border import border
from estante.shelf.collection import Collections, chunk_metadata
from estante.shelf.embedding import EmbeddingClient, get_embedding_client, provider_of
from estante.shelf.reference import (
    DEFAULT_EMBEDDING_MODEL,
    DEFAULT_PERSIST_DIR,
    DISTANCE,
    ReferenceRagConnector,
    canonical_persist_dir,
    refuse_declaration,
)

CHUNK_SIZE: Final = 1000
CHUNK_OVERLAP: Final = 200

_chunk_metadata = chunk_metadata


def provision_reference_rag(
    folder_path: str | os.PathLike[str] | None = None,
    *,
    chunks: Iterable[ChunkRecord] | None = None,
    collection_name: str,
    persist_dir: str | os.PathLike[str] = DEFAULT_PERSIST_DIR,
    embedding_client: EmbeddingClient | None = None,
    embedding_model: str = DEFAULT_EMBEDDING_MODEL,
    distance: str = DISTANCE,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    replace_existing: bool = True,
    normalized: bool | None = None,
) -> ReferenceRagConnector:
    """Makes a collection of a folder, or of ``chunks`` as they are, or of the bundled corpus, and opens it.

    Chunks of a folder are windows of 1,000 characters with 200 in common unless it is said. One of that name is
    replaced; with ``replace_existing=False`` the new chunks are added to it, behind those that are there. Raises
    ``ContractValueError`` for what makes no sense together, for nothing to provision and for ids that the collection
    already holds; ``ConnectorRegistrationError`` for a metric or normalisation that cannot be, or a collection of
    another model; ``ConnectorOperationalError`` when the model or the disk fails. Then all is as it was before.
    """
    refuse_declaration(distance, normalized)
    records = _records(folder_path, chunks, chunk_size, chunk_overlap)
    client = embedding_client or get_embedding_client(provider_of(embedding_model), model=embedding_model)
    told: dict[str, Any] = {"collection_name": collection_name, "embedding_client": client, "distance": distance}
    keep = not replace_existing and _stands(persist_dir, collection_name)
    if keep:
        # Opened and closed: another model, metric or normalisation is refused before anything is copied.
        with border("opening the collection", frank=True):
            standing = ReferenceRagConnector(persist_dir=persist_dir, normalized=normalized, **told)
        normalized = standing.normalized
        standing.close()
    there = Collections(Path(canonical_persist_dir(persist_dir)))
    with (
        border("provisioning", frank=True),
        there.building(collection_name, client, keep=keep, distance=distance, normalized=normalized) as build,
    ):
        build.put(_behind(records, build.held(), collection_name) if keep else records)
    opened = ReferenceRagConnector(persist_dir=persist_dir, normalized=normalized, **told)
    try:
        durability_barrier(opened._held(), len(records))
    except BaseException:
        opened.close()
        raise
    return opened


def provision_reference_rag_from_chunks(
    chunks: Iterable[ChunkRecord] | None = None, **options: Any
) -> ReferenceRagConnector:
    """Makes a collection of chunks as they are, by default the bundled frozen ones; nothing is cut.

    Takes what ``provision_reference_rag`` takes, except what says how a folder is read or cut (``TypeError``).
    """
    for name in ("folder_path", "chunk_size", "chunk_overlap"):
        if name in options:
            raise TypeError(f"{name} says how a folder becomes chunks, and these are chunks; leave {name} out")
    return provision_reference_rag(chunks=load_bundled_chunks() if chunks is None else chunks, **options)


def durability_barrier(collection: Any, expected: int) -> None:
    """Raises ``ConnectorOperationalError`` unless a collection says that it holds what was written, and gives it."""
    name = getattr(collection, "name", "")
    try:
        count = collection.count()
    except Exception as error:
        raise ConnectorOperationalError(f"collection {name!r} cannot be counted after writing: {error}") from error
    if count < expected:
        raise ConnectorOperationalError(f"{expected:,} chunks were written, and collection {name!r} reports {count:,}")
    try:
        # With their vectors: a store may know a text whose vector it cannot read.
        found = collection.get(limit=1, include=["documents", "embeddings"])
    except Exception as error:
        raise ConnectorOperationalError(
            f"the vector segment is not readable in collection {name!r} after writing: {error}"
        ) from error
    if expected and not found["ids"]:
        raise ConnectorOperationalError(f"collection {name!r} reports {count:,} chunks and returned none")


def _records(
    folder_path: str | os.PathLike[str] | None,
    chunks: Iterable[ChunkRecord] | None,
    chunk_size: int | None,
    chunk_overlap: int | None,
) -> list[ChunkRecord]:
    """The chunks to provision. Raises ``ContractValueError`` when there are none, or two ways to them."""
    if chunks is None:
        documents = load_bundled_corpus() if folder_path is None else load_documents(folder_path)
        size = CHUNK_SIZE if chunk_size is None else chunk_size
        overlap = CHUNK_OVERLAP if chunk_overlap is None else chunk_overlap
        records = list(chunk_loaded_documents(documents, chunk_size=size, chunk_overlap=overlap))
        if not records:
            raise ContractValueError(f"there is nothing to provision in {folder_path}; name a folder with documents")
        for record in records:
            # Where a file stood on this machine is nobody's evidence, and every hit would tell it.
            record.metadata.pop("document_filepath", None)
    else:
        if folder_path is not None:
            raise ContractValueError("chunks and a folder are given; give one of both")
        if chunk_size is not None or chunk_overlap is not None:
            raise ContractValueError("chunks are given, and nothing is cut; leave chunk_size and chunk_overlap out")
        records = list(chunks)
        if not records:
            raise ContractValueError("chunks is empty; give at least one")
    RagPipeline.validate_chunks(records)
    return records


def _stands(persist_dir: str | os.PathLike[str], name: str) -> bool:
    there = Collections(Path(canonical_persist_dir(persist_dir)))
    try:
        return name in there.list_collections()
    except OSError:
        return False


def _behind(records: Sequence[ChunkRecord], held: dict[str, int | None], name: str) -> list[ChunkRecord]:
    """The chunks as they stand behind those that are there: counted on, or without numbers where those have none."""
    if known := sorted({one.chunk_id for one in records} & held.keys()):
        raise ContractValueError(
            f"collection {name!r} already holds {len(known):,} of these chunks, {known[0]!r} for one; replace it, or "
            "leave them out"
        )
    numbers = [number for number in held.values() if number is not None]
    if len(numbers) < len(held) or any(one.global_index is None for one in records):
        return [replace(one, global_index=None) for one in records]
    first = max(numbers, default=-1) + 1
    return [replace(one, global_index=first + (one.global_index or 0)) for one in records]
