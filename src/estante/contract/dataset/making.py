"""Datasets made of a folder of documents, or of what a connector holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from estante.contract.dataset.chunking import chunker_chunking, exported_chunking
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.files import refuse_occupied
from estante.contract.dataset.writing import write_dataset_folder
from estante.contract.errors import ConnectorContractError, ContractValueError
from estante.contract.loading import LoadedDocument, chunk_loaded_documents, load_documents
from estante.contract.models import ChunkRecord, ConnectorHealth
from estante.contract.pipeline import RagPipeline
from estante.contract.windows import check_windows


def build_dataset_from_folder(
    folder: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    chunk_size: int = 1000,
    chunk_overlap: int = 200,
    name: str | None = None,
    created_at: str | None = None,
) -> Dataset:
    """The documents of a folder, cut into windows and written as a Dataset; its name is by default the folder's.

    Raises what ``load_documents`` raises, ``ContractValueError`` for a folder without documents or without text, and
    what ``write_dataset_folder`` raises. Then nothing is written.
    """
    check_windows(chunk_size, chunk_overlap)
    refuse_occupied(Path(out_dir))
    documents = load_documents(folder)
    return dataset_of_documents(
        documents,
        out_dir,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        name=name or name_of(folder),
        created_at=created_at,
    )


def name_of(folder: str | os.PathLike[str]) -> str:
    """The name that a Dataset of this folder gets by default."""
    return Path(folder).resolve().name or "dataset"


def dataset_of_documents(
    documents: Sequence[LoadedDocument],
    out_dir: str | os.PathLike[str],
    *,
    chunk_size: int,
    chunk_overlap: int,
    name: str,
    created_at: str | None = None,
) -> Dataset:
    """The same of documents that are loaded already."""
    chunking = chunker_chunking(chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    if not documents:
        raise ContractValueError("the folder holds no supported documents; check the path and the suffixes")
    chunks = chunk_loaded_documents(documents, chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    return write_dataset_folder(out_dir, chunks, name=name, chunking=chunking, created_at=created_at)


def export_dataset_from_connector(
    pipeline: RagPipeline,
    out_dir: str | os.PathLike[str],
    *,
    connector_type: str,
    name: str,
    created_at: str | None = None,
) -> Dataset:
    """All chunks of a connector, written as a Dataset.

    What the pull raises comes through, and then nothing is written. Raises ``ConnectorContractError`` for a pull that
    does not give chunks, and what ``write_dataset_folder`` raises.
    """
    chunking = exported_chunking(connector_type)
    refuse_occupied(Path(out_dir))
    return write_dataset_folder(out_dir, chunks_of(pipeline), name=name, chunking=chunking, created_at=created_at)


def chunks_of(pipeline: RagPipeline) -> list[ChunkRecord]:
    """All chunks that a pipeline holds; what the pull raises comes through.

    Raises ``ConnectorContractError`` for a pull that gives anything else.
    """
    pulled: object = pipeline.pull_all_chunks()
    kind = type(pipeline).__name__
    if not isinstance(pulled, Iterable):
        raise ConnectorContractError(f"pull_all_chunks() of {kind} gave no list: {type(pulled).__name__}")
    chunks = list(pulled)
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, ChunkRecord):
            given = f"{type(chunk).__module__}.{type(chunk).__qualname__}"
            raise ConnectorContractError(
                f"pull_all_chunks() of {kind} gave a {given} at {at}, which is no ChunkRecord of estante.contract"
            )
    if not chunks and (obstacle := _obstacle(pipeline)):
        raise ContractValueError(f"{kind} holds no chunks, and a Dataset needs at least one chunk: {obstacle}")
    return chunks


def _obstacle(pipeline: RagPipeline) -> str:
    """What the pipeline names as the reason why it is not well; empty when it names none."""
    health = getattr(pipeline, "health", None)
    try:
        found = health() if callable(health) else None
    except Exception:  # noqa: BLE001 - that there are no chunks is told in any case, whatever its author's code does.
        return ""
    return str(found.detail) if isinstance(found, ConnectorHealth) and not found.ok else ""
