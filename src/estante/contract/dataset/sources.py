"""The list of the sources that a Dataset was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from estante.contract.errors import ContractValueError
from estante.contract.models import ChunkRecord

SOURCE_KEYS: Final = ("source_identity", "source_fingerprint", "relative_path", "filename", "file_type")
"""The keys of a row in the order in which they are written; all are texts."""


def source_manifest_from_chunks(chunks: Iterable[ChunkRecord]) -> list[dict[str, str]]:
    """The sources that the chunks name, sorted by identity; the first chunk of each makes its row.

    A source whose text gave no chunk is not among them. ``source_fingerprint`` is empty where it is not known. Raises
    ``ContractValueError`` for metadata that should be a text and is none.
    """
    rows: dict[str, dict[str, str]] = {}
    for chunk in chunks:
        told = _told(chunk)
        identity = told.get("source_identity") or chunk.doc_id or chunk.source_file
        if identity not in rows:
            rows[identity] = {
                "source_identity": identity,
                "source_fingerprint": told.get("source_fingerprint", ""),
                "relative_path": told.get("relative_path") or chunk.source_file,
                "filename": chunk.source_file,
                "file_type": told.get("file_type", PurePosixPath(chunk.source_file).suffix.removeprefix(".")),
            }
    return [rows[identity] for identity in sorted(rows)]


def _told(chunk: ChunkRecord) -> dict[str, str]:
    """What the chunk's metadata says of its source. Refuses what is no text, in the chunk's own fields too."""
    found = {key: value for key in SOURCE_KEYS if (value := (chunk.metadata or {}).get(key)) is not None}
    for key, value in {"doc_id": chunk.doc_id or "", "source_file": chunk.source_file, **found}.items():
        if not isinstance(value, str):
            raise ContractValueError(
                f"chunk {chunk.chunk_id!r}: {key} must be a text, got {type(value).__name__}; convert it"
            )
    return found


def source_summary(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How many sources there are, and how many of each type; a source without a type counts under an empty one."""
    types = Counter(row.get("file_type") or "" for row in rows)
    return {"source_count": types.total(), "file_types": dict(sorted(types.items()))}


def source_problems(rows: object) -> Iterator[str]:
    """What is wrong with a list of sources; keys beyond ``SOURCE_KEYS`` may hold anything."""
    if isinstance(rows, str | bytes) or not isinstance(rows, Sequence):
        yield "sources must be an array of objects"
        return
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            yield f"sources must be an array of objects, and row {at} is none"
            continue
        for key in SOURCE_KEYS:
            if row.get(key) is not None and not isinstance(row[key], str):
                yield f"row {at} of the sources: {key} must be a text"
