"""What two Datasets differ in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from estante.contract.dataset.corpus import Dataset
from estante.contract.models import ChunkRecord

_PLACE: Final = ("doc_id", "source_file", "doc_chunk_index", "global_index", "char_start", "char_end")
_FIELDS: Final = (*_PLACE, "content_module_id", "metadata")
"""All that a row holds beside the id and the text."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids, sorted: what the second has and the first has not, the opposite, and what both have with another content."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class DatasetDifference:
    """What the second of two Datasets has otherwise than the first.

    A chunk is changed when another text stands under its id; it is in ``moved``, with the fields that differ, when the
    text is the same and its place or its metadata are not. A document is changed when its chunks are not the same in
    the same order. ``sources`` compares the rows of the two lists of sources, ``manifest`` names the keys that
    differ in the two manifests, which is the whole of what can differ beside the content.
    """

    chunks: Changes
    moved: Mapping[str, tuple[str, ...]]
    documents: Changes
    sources: Changes
    manifest: tuple[str, ...]
    same_inventory: bool
    same_core: bool

    @property
    def same_content(self) -> bool:
        """Whether chunks and sources are the same, whatever the manifests say."""
        return not (self.chunks or self.moved or self.documents or self.sources)


def dataset_difference(first: Dataset, second: Dataset) -> DatasetDifference:
    """What the second has otherwise than the first."""
    mine, theirs = _by_id(first.chunks), _by_id(second.chunks)
    both = mine.keys() & theirs.keys()
    moved = {one: fields for one in sorted(both) if (fields := _moved(mine[one], theirs[one]))}
    keys = first.manifest.keys() | second.manifest.keys()
    return DatasetDifference(
        chunks=_changes(
            {key: chunk.text for key, chunk in mine.items()}, {key: chunk.text for key, chunk in theirs.items()}
        ),
        moved=moved,
        documents=_changes(_documents(first.chunks), _documents(second.chunks)),
        sources=_changes(_sources(first.sources), _sources(second.sources)),
        manifest=tuple(sorted(key for key in keys if _differ(first.manifest, second.manifest, key))),
        same_inventory=first.chunk_inventory_sha256 == second.chunk_inventory_sha256,
        same_core=first.core_sha256 is not None and first.core_sha256 == second.core_sha256,
    )


def _changes(mine: Mapping[str, object], theirs: Mapping[str, object]) -> Changes:
    both = mine.keys() & theirs.keys()
    return Changes(
        added=tuple(sorted(theirs.keys() - mine.keys())),
        removed=tuple(sorted(mine.keys() - theirs.keys())),
        changed=tuple(sorted(one for one in both if not _same(mine[one], theirs[one]))),
    )


def _moved(mine: ChunkRecord, theirs: ChunkRecord) -> tuple[str, ...]:
    """The fields that differ in two chunks of one id and one text."""
    if mine.text != theirs.text:
        return ()
    return tuple(name for name in _FIELDS if not _same(getattr(mine, name), getattr(theirs, name)))


def _same(mine: object, theirs: object) -> bool:
    """Whether two values of JSON are one: for Python, 1, 1.0 and true are equal."""
    if isinstance(mine, dict | list) and mine == theirs:
        return json.dumps(mine, sort_keys=True) == json.dumps(theirs, sort_keys=True)
    return mine == theirs and type(mine) is type(theirs)


def _by_id(chunks: Iterable[ChunkRecord]) -> dict[str, ChunkRecord]:
    return {chunk.chunk_id: chunk for chunk in chunks}


def _documents(chunks: Iterable[ChunkRecord]) -> dict[str, list[tuple[int, str, str]]]:
    """The chunks of each document in order."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for chunk in chunks:
        found.setdefault(chunk.doc_id, []).append((chunk.doc_chunk_index, chunk.chunk_id, chunk.text))
    return {document: sorted(rows) for document, rows in found.items()}


def _sources(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The rows of each identity: nothing forbids a list of somebody else's to have one twice."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.get("source_identity") or "", []).append(row)
    return found


def _differ(first: Mapping[str, Any], second: Mapping[str, Any], key: str) -> bool:
    return (key in first) != (key in second) or not _same(first.get(key), second.get(key))
