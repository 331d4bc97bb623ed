"""A Dataset: a frozen corpus of chunks with everything it is recognised by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from estante.contract.dataset.layout import LAYOUT_CORE
from estante.contract.models import ChunkRecord


@dataclass(frozen=True)
class Dataset:
    """A Dataset folder as it was read.

    ``verified`` says that everything its manifest records was computed again and is the same. ``warnings`` tells what
    could not be verified, which only a legacy folder has. ``manifest`` is the whole manifest, unknown keys too.
    """

    path: Path
    layout: str
    spec_version: str | None
    dataset_id: str
    name: str
    created_at: str | None
    chunking: Mapping[str, Any] | None
    source_summary: Mapping[str, Any]
    chunk_count: int
    chunk_inventory_sha256: str
    core_sha256: str | None
    corpus_fingerprint: str | None
    chunks: list[ChunkRecord] = field(repr=False)
    sources: list[dict[str, Any]] = field(repr=False)
    manifest: Mapping[str, Any] = field(repr=False)
    verified: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def legacy(self) -> bool:
        """Whether it is from before the specification, and so cannot be verified."""
        return self.layout != LAYOUT_CORE
