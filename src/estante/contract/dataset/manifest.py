"""The manifest of a Dataset folder: what it records, and whether a reader can go by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from estante.contract.dataset.chunking import chunking_problems
from estante.contract.dataset.files import MAX_JSON_BYTES, read_bytes
from estante.contract.dataset.jsontext import canonical, parse
from estante.contract.dataset.layout import (
    DATASET_SPEC_ID,
    DATASET_SPEC_VERSION,
    MANIFEST_FILE,
    SUPPORTED_MAJOR,
)
from estante.contract.dataset.sources import source_summary
from estante.contract.errors import ContractValueError, DatasetIntegrityError

_TEXTS: Final = ("dataset_id", "name", "chunk_inventory_sha256", "core_sha256", "corpus_fingerprint")


def read_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a folder as it stands there.

    Raises ``FileNotFoundError`` where there is none, ``DatasetIntegrityError`` for one that is no JSON object.
    """
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}; check the path")
    try:
        content = read_bytes(root, MANIFEST_FILE, MAX_JSON_BYTES)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{root} holds no {MANIFEST_FILE}; it is not a Dataset, check the path") from error
    try:
        manifest = parse(content)
        canonical(manifest, "what it holds")
    except ContractValueError as error:
        raise DatasetIntegrityError(f"{root / MANIFEST_FILE} is {error}") from error
    if not isinstance(manifest, dict):
        raise DatasetIntegrityError(f"{root / MANIFEST_FILE} must hold a JSON object")
    return manifest


def is_legacy(manifest: Mapping[str, Any]) -> bool:
    """Whether it is a manifest from before the specification."""
    return "spec" not in manifest and isinstance(manifest.get("id"), str)


def check_manifest(root: Path, manifest: Mapping[str, Any]) -> None:
    """Raises ``DatasetIntegrityError`` for another specification, another major version, and what it does not say."""
    path = root / MANIFEST_FILE
    if manifest.get("spec") != DATASET_SPEC_ID:
        told = _shown(manifest.get("spec"))
        raise DatasetIntegrityError(f"{path} is not a manifest of {DATASET_SPEC_ID!r}: its spec is {told}")
    version = manifest.get("spec_version")
    if not isinstance(version, str) or version.split(".")[0] != SUPPORTED_MAJOR:
        raise DatasetIntegrityError(
            f"{path} is of version {_shown(version)}, and this reader understands major version {SUPPORTED_MAJOR} "
            "alone; read it with a newer one"
        )
    problems = manifest_problems(manifest)
    if problems:
        raise DatasetIntegrityError(f"{path}: {'; '.join(problems)}")


def manifest_problems(manifest: Mapping[str, Any]) -> list[str]:
    """What a manifest does not say, or says wrongly, each naming its key."""
    problems = [f"missing or empty {key}" for key in _TEXTS if not _is_name(manifest.get(key))]
    count = manifest.get("chunk_count")
    if not isinstance(count, int) or isinstance(count, bool):
        problems.append("chunk_count must be an integer")
    problems += chunking_problems(manifest.get("chunking"))
    created_at = manifest.get("created_at")
    if created_at is not None and not isinstance(created_at, str):
        problems.append("created_at must be a text")
    if not isinstance(manifest.get("sources", {}), dict):
        problems.append("sources must be an object")
    return problems


def new_manifest(
    *,
    dataset_id: str,
    name: str,
    created_at: str,
    chunking: Mapping[str, Any],
    sources: Sequence[Mapping[str, Any]],
    chunk_count: int,
    inventory: str,
    corpus: str,
) -> dict[str, Any]:
    """A manifest with its keys in the order in which they are written, all but the core digest."""
    return {
        "spec": DATASET_SPEC_ID,
        "spec_version": DATASET_SPEC_VERSION,
        "dataset_id": dataset_id,
        "name": name,
        "created_at": created_at,
        "chunking": dict(chunking),
        "sources": source_summary(sources),
        "chunk_count": chunk_count,
        "chunk_inventory_sha256": inventory,
        "corpus_fingerprint": corpus,
    }


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _shown(value: object) -> str:
    """A value of a manifest that nobody vouches for, for a message."""
    return repr(value)[:80]
