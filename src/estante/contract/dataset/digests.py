"""What a Dataset is recognised by: the inventory of its chunks, the id made of it, the digest of its core files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from estante.contract.dataset.jsontext import canonical
from estante.contract.dataset.layout import CHUNKS_FILE, MANIFEST_FILE, SOURCES_FILE
from estante.contract.errors import ContractValueError
from estante.contract.models import ChunkRecord

CORE_DIGEST: Final = "core_sha256"
"""The key of the manifest that holds the digest, and so the one that the digest does not cover."""

_TAG: Final = "rag-connector-dataset-core/1"
_SHA256: Final = re.compile("[0-9a-f]{64}")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f]")


def is_sha256(value: object) -> bool:
    """Whether it is a SHA-256 as 64 lower-case hex digits and nothing else, no line feed either."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def id_problem(chunk_id: object) -> str:
    """Why this cannot be the id of a chunk; empty when it can.

    An inventory has a line for each chunk, so an id with a line feed could pass for two chunks.
    """
    if not isinstance(chunk_id, str):
        return f"chunk_id must be a text, got {type(chunk_id).__name__}"
    if not chunk_id.strip():
        return "chunk_id is empty"
    return f"chunk_id {chunk_id!r} holds a control character" if _CONTROL.search(chunk_id) else ""


def chunk_inventory_sha256(rows: Iterable[ChunkRecord | Mapping[str, Any]]) -> str:
    """The SHA-256, 64 hex digits, of the ids and texts of chunks, in whatever order they come.

    A row is a ``ChunkRecord`` or a mapping; a text that is None counts as an empty one. Raises ``ContractValueError``
    for an id or a text that is none.
    """
    lines = []
    for at, row in enumerate(rows):
        chunk_id, text = _id_and_text(row, at)
        try:
            lines.append((chunk_id, hashlib.sha256(text.encode("utf-8")).hexdigest()))
            chunk_id.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ContractValueError(f"chunk {chunk_id!r} holds a lone surrogate, which UTF-8 cannot hold") from error
    digest = hashlib.sha256()
    for chunk_id, text_digest in sorted(lines):
        digest.update(f"{chunk_id}\t{text_digest}\n".encode())
    return digest.hexdigest()


def _id_and_text(row: ChunkRecord | Mapping[str, Any], at: int) -> tuple[str, str]:
    chunk_id: object
    text: object
    if isinstance(row, ChunkRecord):
        chunk_id, text = row.chunk_id, row.text
    elif isinstance(row, Mapping):
        chunk_id, text = row.get("chunk_id"), row.get("text")
    else:
        raise ContractValueError(f"row {at} must be a ChunkRecord or a mapping, got {type(row).__name__}")
    problem = id_problem(chunk_id)
    if problem:
        raise ContractValueError(f"row {at}: {problem}")
    if text is not None and not isinstance(text, str):
        raise ContractValueError(f"row {at}: text must be a text, got {type(text).__name__}")
    return str(chunk_id), text or ""


def dataset_id_for_inventory(inventory_sha256: str) -> str:
    """The id of the Dataset with this inventory. Raises ``ContractValueError`` for what is no SHA-256."""
    if not is_sha256(inventory_sha256):
        raise ContractValueError(f"{inventory_sha256!r} is not a SHA-256: give its 64 lower-case hex digits")
    return f"ds-{inventory_sha256[:16]}"


def compute_core_sha256(manifest: Mapping[str, Any], chunks_bytes: bytes, sources_bytes: bytes) -> str:
    """The SHA-256, 64 hex digits, of the three core files: the manifest as a value, the others byte by byte.

    So another indent of the manifest changes nothing, and any key does, unknown ones too.
    """
    return core_sha256_of(manifest, hashlib.sha256(chunks_bytes).hexdigest(), hashlib.sha256(sources_bytes).hexdigest())


def core_sha256_of(manifest: Mapping[str, Any], chunks_sha256: str, sources_sha256: str) -> str:
    """The same for files whose digests are known already."""
    covered = {key: value for key, value in manifest.items() if key != CORE_DIGEST}
    files = (
        (MANIFEST_FILE, hashlib.sha256(canonical(covered, MANIFEST_FILE)).hexdigest()),
        (CHUNKS_FILE, chunks_sha256),
        (SOURCES_FILE, sources_sha256),
    )
    lines = [_TAG, *(f"{name}\t{digest}" for name, digest in files)]
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode("utf-8")).hexdigest()
