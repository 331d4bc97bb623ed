"""Small Datasets for tests, and ways to spoil them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from estante.contract.dataset.chunking import chunker_chunking
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.digests import (
    chunk_inventory_sha256,
    compute_core_sha256,
    dataset_id_for_inventory,
)
from estante.contract.dataset.layout import CHUNKS_FILE, MANIFEST_FILE, SOURCES_FILE
from estante.contract.dataset.writing import write_dataset_folder
from estante.contract.models import ChunkRecord

CREATED = "2026-01-01T00:00:00Z"
CHUNKING = chunker_chunking(chunk_size=1000, chunk_overlap=200)


def chunk(number: int = 0, *, document: str = "a", text: str = "x", **fields: Any) -> ChunkRecord:
    """A chunk of a document whose file has the document's name and ``.md``."""
    told: dict[str, Any] = {
        "chunk_id": f"{document}:chunk-{number}",
        "doc_id": document,
        "source_file": f"{document}.md",
        "doc_chunk_index": number,
        "global_index": number,
        "text": text,
    }
    return ChunkRecord(**{**told, **fields})


def write(folder: Path, chunks: list[ChunkRecord] | None = None, **options: Any) -> Dataset:
    """A Dataset of these chunks, or of one, that is the same at any time."""
    told = {"name": "n", "chunking": CHUNKING, "created_at": CREATED, **options}
    return write_dataset_folder(folder, [chunk()] if chunks is None else chunks, **told)


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest as it stands in the folder."""
    held: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
    return held


def change(folder: Path, **keys: Any) -> None:
    """Sets keys of the manifest, or takes those away that are ``...``, and leaves its digest as it was."""
    manifest = {key: value for key, value in {**manifest_of(folder), **keys}.items() if value is not ...}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest), "utf-8")


def reseal(folder: Path, change: Callable[[dict[str, Any]], None] = lambda manifest: None) -> None:
    """Makes the manifest agree with the data files again, as a writer without any checks would."""
    chunks, sources = (folder / CHUNKS_FILE).read_bytes(), (folder / SOURCES_FILE).read_bytes()
    manifest = manifest_of(folder)
    rows = [json.loads(line) for line in chunks.decode("utf-8", "replace").split("\n") if line.strip()]
    inventory = chunk_inventory_sha256(rows)
    manifest |= {"chunk_inventory_sha256": inventory, "dataset_id": dataset_id_for_inventory(inventory)}
    manifest["chunk_count"] = len(rows)
    change(manifest)
    manifest["core_sha256"] = compute_core_sha256(manifest, chunks, sources)
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest), "utf-8")


def copied(folder: Path, to: Path) -> Path:
    """A copy of a Dataset, to be spoilt."""
    shutil.copytree(folder, to)
    return to


def left_beside(folder: Path) -> list[str]:
    """What stands beside a folder, hidden names too."""
    return sorted(entry.name for entry in folder.parent.iterdir() if entry != folder)
