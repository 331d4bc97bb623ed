"""A Dataset folder read and verified: everything its manifest records is computed again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from estante.contract.dataset.content import Content, read_content
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.digests import chunk_inventory_sha256, core_sha256_of, dataset_id_for_inventory
from estante.contract.dataset.layout import DATASET_SPEC_ID, LAYOUT_CORE
from estante.contract.dataset.legacy import read_legacy_dataset_folder
from estante.contract.dataset.manifest import check_manifest, is_legacy, read_manifest
from estante.contract.errors import DatasetIntegrityError
from estante.contract.fingerprints import corpus_fingerprint

_LEGACY: Final = f"a legacy RAGauge Dataset, without a manifest of {DATASET_SPEC_ID!r}: it records no hash to verify"


def read_dataset_folder(path: str | os.PathLike[str], *, allow_legacy: bool = False) -> Dataset:
    """The Dataset in a folder, verified.

    Raises ``FileNotFoundError`` where there is no manifest, and ``DatasetIntegrityError``, which tells every mismatch,
    for a folder that is not exactly what its manifest records. A legacy folder can only be read unverified, and is
    refused unless ``allow_legacy``. Test sets and extensions are not read.
    """
    root = Path(path)
    manifest = read_manifest(root)
    if is_legacy(manifest):
        if allow_legacy:
            return read_legacy_dataset_folder(root)
        raise DatasetIntegrityError(
            f"{root} is {_LEGACY}. Read it with read_legacy_dataset_folder() or allow_legacy=True, as unverified"
        )
    check_manifest(root, manifest)
    content = read_content(root)
    problems = [*content.problems, *_mismatches(manifest, content)]
    if problems or content.chunks is None or content.sources is None:
        raise DatasetIntegrityError(f"{root} does not match its manifest: {'; '.join(problems)}")
    return Dataset(
        path=root,
        layout=LAYOUT_CORE,
        spec_version=manifest["spec_version"],
        dataset_id=manifest["dataset_id"],
        name=manifest["name"],
        created_at=manifest.get("created_at"),
        chunking=manifest["chunking"],
        source_summary=manifest.get("sources", {}),
        chunk_count=manifest["chunk_count"],
        chunk_inventory_sha256=manifest["chunk_inventory_sha256"],
        core_sha256=manifest["core_sha256"],
        corpus_fingerprint=manifest["corpus_fingerprint"],
        chunks=content.chunks,
        sources=content.sources,
        manifest=manifest,
        verified=True,
    )


def dataset_problems(path: str | os.PathLike[str]) -> list[str]:
    """Everything that keeps a folder from being read as a verified Dataset, one text each; none for a sound one.

    Raises ``FileNotFoundError`` where there is no manifest.
    """
    root = Path(path)
    try:
        manifest = read_manifest(root)
        if is_legacy(manifest):
            return [_LEGACY]
        check_manifest(root, manifest)
    except DatasetIntegrityError as error:
        return [str(error)]
    content = read_content(root)
    return [*content.problems, *_mismatches(manifest, content)]


def _mismatches(manifest: Mapping[str, Any], content: Content) -> Iterator[str]:
    """What the manifest records and is not so, as far as the content could be read."""
    for key, computed, told in _computed(manifest, content):
        if manifest[key] != computed:
            yield f"{key} recorded {str(manifest[key])[:80]} but {told}"


def _computed(manifest: Mapping[str, Any], content: Content) -> Iterator[tuple[str, object, str]]:
    """Keys of the manifest, what they should be, and that in words."""
    chunks, sources = content.chunks, content.sources
    inventory = None if chunks is None else chunk_inventory_sha256(chunks)
    if inventory is not None:
        yield "chunk_inventory_sha256", inventory, f"the chunks hash to {inventory}"
    if content.chunks_sha256 is not None and content.sources_sha256 is not None:
        core = core_sha256_of(manifest, content.chunks_sha256, content.sources_sha256)
        yield "core_sha256", core, f"the core files hash to {core}"
    if chunks is not None and inventory is not None:
        yield "chunk_count", len(chunks), f"there are {len(chunks)} rows"
        dataset_id = dataset_id_for_inventory(inventory)
        yield "dataset_id", dataset_id, f"the id of these chunks is {dataset_id}"
    if sources is not None:
        corpus = corpus_fingerprint(sources)
        yield "corpus_fingerprint", corpus, f"the sources hash to {corpus}"
