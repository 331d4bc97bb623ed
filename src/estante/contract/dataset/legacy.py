"""Dataset folders from before the specification: read, never written, and never taken for verified."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estante.contract.dataset.content import read_content
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.digests import chunk_inventory_sha256
from estante.contract.dataset.layout import LEGACY_LAYOUT_RAGAUGE_V0, MANIFEST_FILE, SOURCES_FILE
from estante.contract.dataset.manifest import is_legacy, read_manifest
from estante.contract.dataset.sources import source_manifest_from_chunks, source_summary
from estante.contract.errors import DatasetIntegrityError
from estante.contract.fingerprints import corpus_fingerprint


def read_legacy_dataset_folder(path: str | os.PathLike[str]) -> Dataset:
    """The Dataset in a folder whose manifest has an ``id`` and no ``spec``.

    It is not verified, because it records nothing to verify it by; ``warnings`` says so first, and then what does not
    agree. Raises ``FileNotFoundError`` without a manifest, ``DatasetIntegrityError`` for any other folder and for
    chunks that cannot be read.
    """
    root = Path(path)
    manifest = read_manifest(root)
    if not is_legacy(manifest):
        raise DatasetIntegrityError(f"{root / MANIFEST_FILE} is no legacy RAGauge manifest; read it as a Dataset")
    content = read_content(root, sources_may_miss=True)
    if content.problems or content.chunks is None:
        raise DatasetIntegrityError(f"{root} cannot be read: {'; '.join(content.problems)}")
    warnings = ["legacy RAGauge v0 layout: it records no hash of its chunks, so nothing could be verified"]
    sources: list[dict[str, Any]] = []
    if content.sources is None:
        warnings.append(f"{SOURCES_FILE} is missing; the sources are those that the chunks name")
        sources += source_manifest_from_chunks(content.chunks)
    else:
        sources += content.sources
    warnings += _disagreements(manifest, len(content.chunks), corpus_fingerprint(sources))
    dataset_id = str(manifest["id"])
    return Dataset(
        path=root,
        layout=LEGACY_LAYOUT_RAGAUGE_V0,
        spec_version=None,
        dataset_id=dataset_id,
        name=_text(manifest, "name") or dataset_id,
        created_at=_text(manifest, "created_at"),
        chunking=None,
        source_summary=source_summary(sources),
        chunk_count=len(content.chunks),
        chunk_inventory_sha256=chunk_inventory_sha256(content.chunks),
        core_sha256=None,
        corpus_fingerprint=_text(manifest, "corpus_fingerprint"),
        chunks=content.chunks,
        sources=sources,
        manifest=manifest,
        verified=False,
        warnings=tuple(warnings),
    )


def _disagreements(manifest: Mapping[str, Any], rows: int, fingerprint: str) -> list[str]:
    found = []
    count = manifest.get("chunk_count")
    if count is not None and count != rows:
        found.append(f"chunk_count recorded {str(count)[:80]} but there are {rows} rows")
    recorded = manifest.get("corpus_fingerprint")
    if recorded is not None and recorded != fingerprint:
        found.append(f"corpus_fingerprint recorded {str(recorded)[:80]} but the sources hash to {fingerprint}")
    return found


def _text(manifest: Mapping[str, Any], key: str) -> str | None:
    value = manifest.get(key)
    return value if isinstance(value, str) else None
