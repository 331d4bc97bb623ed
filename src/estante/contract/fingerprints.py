"""Fingerprints of sources, of a corpus and of a vector space, the same on every machine.

Each answers one question and they are never merged: which file is it (identity), has its text changed (source), is it
the same corpus, are two vectors comparable (embedding).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from estante.contract.errors import ContractValueError


def document_source_identity(dataset_folder: str | PathLike[str], filepath: str | PathLike[str]) -> str:
    """The name of a file within its folder: relative, with ``/``, case folded; its base name alone when outside.

    Links are followed first, so two files that differ only by case, or are one file by two links, have one identity.
    A link that leads out of the folder keeps its own base name.
    """
    root, path = Path(dataset_folder).resolve(), Path(filepath).resolve()
    name = str(path.relative_to(root)) if path.is_relative_to(root) else Path(filepath).name
    return name.replace("\\", "/").casefold()


def document_source_fingerprint(file_type: str | None, content: str | None) -> str:
    """The SHA-256, 64 hex digits, of a file's type (its suffix without the dot) and its text."""
    digest = hashlib.sha256(_utf8(file_type, "file type"))
    digest.update(b"\0")
    digest.update(_utf8(content, "text"))
    return digest.hexdigest()


def corpus_fingerprint(source_manifest: Iterable[Mapping[str, Any]]) -> str:
    """The SHA-256, 64 hex digits, of the sources of a corpus, in whatever order they are listed.

    Of each row ``relative_path``, ``file_type`` and ``source_fingerprint`` count; ``source_identity`` orders the rows.
    What is missing or None is empty.
    """
    digest = hashlib.sha256()
    for row in sorted(source_manifest, key=lambda row: _utf8(row.get("source_identity"), "source_identity")):
        for name in ("relative_path", "file_type", "source_fingerprint"):
            digest.update(_utf8(row.get(name), name))
            digest.update(b"\0")
    return digest.hexdigest()


def embedding_fingerprint_payload(
    *,
    provider: str,
    model: str,
    dimensions: int | None,
    normalize: bool | None = True,
    model_version: str | None = None,
) -> dict[str, Any]:
    """What the identity of a vector space is made of; None is "unknown".

    These keys and values change only together with ``version``, because stored fingerprints are compared with them.
    """
    return {
        "version": 1,
        "provider": provider,
        "model": model,
        "model_version": model_version,
        "configured_dimension": dimensions,
        "vector_dimension": dimensions,
        "normalize": normalize,
        "adapter": "rag-eval.embedding_client.v1",
        "query_purpose": "query",
        "document_purpose": "document",
    }


def embedding_fingerprint(
    *,
    provider: str,
    model: str,
    dimensions: int | None,
    normalize: bool | None = True,
    model_version: str | None = None,
) -> str:
    """The SHA-256, 64 hex digits, of ``embedding_fingerprint_payload`` as canonical JSON."""
    payload = embedding_fingerprint_payload(
        provider=provider, model=model, dimensions=dimensions, normalize=normalize, model_version=model_version
    )
    canonical = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _utf8(value: object, what: str) -> bytes:
    text = value or ""
    if not isinstance(text, str):
        raise ContractValueError(f"the {what} of a source must be a string, not {type(text).__name__}; convert it")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ContractValueError(
            f"the {what} of a source has a lone surrogate at character {error.start}, which is no text; "
            "decode the file's bytes or name again, or leave it out"
        ) from error
