"""A Dataset folder written: all of it or nothing, and only what reads back as it was given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from estante.contract.dataset.chunking import chunking_problems
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.digests import (
    CORE_DIGEST,
    chunk_inventory_sha256,
    core_sha256_of,
    dataset_id_for_inventory,
    id_problem,
)
from estante.contract.dataset.files import refuse_occupied, staged, sync, write_file
from estante.contract.dataset.jsontext import pretty
from estante.contract.dataset.layout import CHUNKS_FILE, MANIFEST_FILE, SOURCES_FILE
from estante.contract.dataset.manifest import new_manifest
from estante.contract.dataset.moments import utc_now
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.dataset.sources import source_manifest_from_chunks, source_problems
from estante.contract.errors import ContractValueError
from estante.contract.fingerprints import corpus_fingerprint
from estante.contract.jsonl import jsonl_lines
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline

_LEFT_OUT: Final = ("document_filepath",)
"""Metadata that is true on one machine alone."""


def write_dataset_folder(
    out_dir: str | os.PathLike[str],
    chunks: Iterable[ChunkRecord],
    *,
    name: str,
    chunking: Mapping[str, Any],
    sources: Sequence[Mapping[str, Any]] | None = None,
    created_at: str | None = None,
) -> Dataset:
    """Writes a Dataset into a folder that is not there yet, or is empty, and returns it as it reads back.

    The records stay as they are; written are copies without embedding and ``document_filepath``. ``sources`` are by
    default those that the chunks name. The folder appears whole or not at all. Raises ``FileExistsError`` for a folder
    that is taken, ``TypeError`` for what is no ``ChunkRecord``, and ``ContractValueError``, a ``ValueError``, for a
    blank name, a chunking block, chunks or sources that a reader would refuse.
    """
    if not isinstance(name, str) or not name.strip():
        raise ContractValueError("a Dataset needs a name that is not blank")
    problems = chunking_problems(chunking)
    if problems:
        raise ContractValueError(f"this chunking block cannot be used: {'; '.join(problems)}")
    target = Path(out_dir)
    refuse_occupied(target)
    records = _copies(chunks)
    rows = [dict(row) for row in _checked(source_manifest_from_chunks(records) if sources is None else sources)]
    moment = created_at or utc_now()
    if not isinstance(moment, str):
        raise ContractValueError(f"created_at must be a text, got {type(moment).__name__}")
    inventory = chunk_inventory_sha256(records)
    manifest = new_manifest(
        dataset_id=dataset_id_for_inventory(inventory),
        name=name,
        created_at=moment,
        chunking=chunking,
        sources=rows,
        chunk_count=len(records),
        inventory=inventory,
        corpus=corpus_fingerprint(rows),
    )
    with staged(target) as folder:
        _write(folder, records, rows, manifest)
        # Before it appears: what cannot be read back must never look finished.
        written = read_dataset_folder(folder)
    return replace(written, path=target)


def _write(
    folder: Path, records: Iterable[ChunkRecord], rows: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]
) -> None:
    data = (folder / CHUNKS_FILE).parent
    data.mkdir()
    chunks_sha256 = write_file(folder / CHUNKS_FILE, (f"{line}\n".encode() for line in jsonl_lines(records)))
    sources_sha256 = write_file(folder / SOURCES_FILE, [pretty(rows, SOURCES_FILE)])
    sync(data)
    whole = {**manifest, CORE_DIGEST: core_sha256_of(manifest, chunks_sha256, sources_sha256)}
    write_file(folder / MANIFEST_FILE, [pretty(whole, MANIFEST_FILE)])


def _copies(chunks: Iterable[ChunkRecord]) -> list[ChunkRecord]:
    """Copies of the records as they are written. Refuses what breaks the rules of chunks."""
    given = list(chunks)
    if not given:
        raise ContractValueError("a Dataset needs at least one chunk")
    for chunk in given:
        if not isinstance(chunk, ChunkRecord):
            raise TypeError(f"chunks must be ChunkRecord objects, got {type(chunk).__name__}")
    RagPipeline.validate_chunks(given)
    seen = set[str]()
    for chunk in given:
        problem = id_problem(chunk.chunk_id)
        if problem:
            raise ContractValueError(f"{problem}; give every chunk another id")
        if chunk.chunk_id in seen:
            raise ContractValueError(f"duplicate chunk_id {chunk.chunk_id!r}; give every chunk an id of its own")
        if isinstance(chunk.text, str) and not chunk.text.strip():
            raise ContractValueError(f"chunk {chunk.chunk_id!r} has blank text; leave it out")
        seen.add(chunk.chunk_id)
    return [replace(chunk, embedding=None, metadata=_metadata(chunk)) for chunk in given]


def _metadata(chunk: ChunkRecord) -> dict[str, Any]:
    held: object = {} if chunk.metadata is None else chunk.metadata
    if not isinstance(held, Mapping):
        raise ContractValueError(f"chunk {chunk.chunk_id!r}: metadata must be an object, got {type(held).__name__}")
    return {key: value for key, value in held.items() if key not in _LEFT_OUT}


def _checked(sources: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    problem = next(source_problems(sources), "")
    if problem:
        raise ContractValueError(problem)
    return sources
