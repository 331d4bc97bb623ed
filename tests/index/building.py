"""Documents, entries and deposits made by hand, for tests that need to know every word and every vector."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estante.index.dense import quantise
from estante.index.storing import STORES
from estante.model.access import ANYONE, Readers, Scope
from estante.model.content import Document, Mark, Span
from estante.model.ports import Deposit, Entry, Quantised, Space, Store
from estante.model.wire import restore
from estante.security import principals
from tests.parts import template

DIMENSIONS = 8
SPACE = Space("by hand", DIMENSIONS, "1")
OWNER = principals.owner("acme")


def document(
    document_id: str,
    text: str = "texto",
    *,
    readers: Readers = frozenset(),
    metadata: Mapping[str, Any] | None = None,
    marks: Sequence[Mark] = (),
    tenant: str = "acme",
    language: str = "pt",
    title: str = "",
    source: str = "",
) -> Document:
    return restore(
        id=document_id,
        uri=document_id,
        source=source,
        title=title,
        text=text,
        scope=Scope(tenant, readers),
        language=language,
        media_type="text/plain",
        marks=tuple(marks),
        metadata=dict(metadata or {}),
        redactions=(),
    )


def vector(*values: float) -> Quantised:
    """A vector that begins with these values."""
    row = np.zeros((1, DIMENSIONS), np.float32)
    row[0, : len(values)] = values
    return quantise(row)[0]


def entries(one: Document, counts: Sequence[Mapping[str, int]], vectors: Sequence[Quantised]) -> tuple[Entry, ...]:
    """One entry of one character for each mapping of counts."""
    return tuple(
        Entry(one.cut(at, Span(at, at + 1)), dict(terms), near)
        for at, (terms, near) in enumerate(zip(counts, vectors, strict=True))
    )


def deposit(*documents: tuple[Document, tuple[Entry, ...]], item: str = "", **told: Any) -> Deposit:
    item = item or documents[0][0].id
    return Deposit(
        source=documents[0][0].source, item=item, revision="1", digest="", recipe="", documents=documents, **told
    )


def stored(
    counts: Mapping[str, Sequence[Mapping[str, int]]], near: Mapping[str, Sequence[Quantised]] | None = None
) -> list[Deposit]:
    """A deposit for each document id, whose chunks hold these terms so many times."""
    made = []
    for key, chunks in counts.items():
        one = document(key, "x" * max(len(chunks), 1))
        vectors = near[key] if near else [vector()] * len(chunks)
        made.append(deposit((one, entries(one, chunks, vectors))))
    return made


def store(path: Path | None = None, *, shared: bool = False, space: Space = SPACE) -> Store:
    """A new store: in memory, or in a folder."""
    made: Store
    if path is None:
        made = STORES.load("memory")(tenant="acme", shared=shared, space=space, analyzer="by hand")
    else:
        shutil.copytree(template(shared, "acme", space, "by hand"), path, dirs_exist_ok=True)
        made = STORES.load("embedded")(path, tenant="acme", shared=shared)
    return made


def unit_rows(seed: int, count: int, dimensions: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


__all__ = [
    "ANYONE",
    "DIMENSIONS",
    "OWNER",
    "SPACE",
    "deposit",
    "document",
    "entries",
    "store",
    "stored",
    "unit_rows",
    "vector",
]
