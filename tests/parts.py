"""Real, quick parts for tests: a tiny encoder, and bookcases in memory and on disk made of it."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from estante.index.engine import Engine
from estante.index.fusion import Blend
from estante.index.storing import STORES
from estante.ingest.pipeline import River, chunker
from estante.model.ports import Space, Store
from estante.security import principals
from estante.shelf.bookcase import Bookcase
from estante.shelf.local import Shelves

NOW = "2026-01-02T03:04:05Z"


class TinyEncoder:
    """Sixteen dimensions: each word adds its own fixed direction."""

    def __init__(self, revision: str = "1") -> None:
        self.space = Space("tiny", 16, revision)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.stack([self._row(text) for text in texts]) if texts else np.zeros((0, 16))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)

    queries = passages

    def _row(self, text: str) -> NDArray[np.float64]:
        found = np.zeros(16)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            found += np.random.default_rng(seed).normal(size=16)
        return found


def engine(revision: str = "1") -> Engine:
    return Engine(TinyEncoder(revision), Blend())


@cache
def template(shared: bool, tenant: str, space: Space, analyzer: str) -> Path:
    """An empty shelf, made once: to make one safe takes much longer than to copy it."""
    folder = tempfile.mkdtemp(prefix="estante-template-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "shelf"
    kind = STORES.load("embedded")
    kind.create(path, tenant=tenant, shared=shared, space=space, analyzer=analyzer).close()
    return path


def shelves(path: Path | None, searcher: Engine, tenant: str = "acme") -> Shelves:
    """Both shelves: in memory without a path, else in its folder, made or opened."""
    identity = {"space": searcher.encoder.space, "analyzer": searcher.analysis}
    made: list[Store] = []
    for name in ("shared", "private"):
        shared = name == "shared"
        if path is None:
            made.append(STORES.load("memory")(tenant=tenant, shared=shared, **identity))
            continue
        if not (path / name).exists():
            shutil.copytree(template(shared, tenant, **identity), path / name)
        made.append(STORES.load("embedded")(path / name, tenant=tenant, shared=shared, wait=1.0))
    return Shelves(made[0], made[1])


def bookcase(path: Path | None = None, *, tenant: str = "acme", revision: str = "1", **cutting: object) -> Bookcase:
    """A bookcase of the tiny encoder, in memory or in a folder."""
    searcher = engine(revision)
    return Bookcase(
        shelves=shelves(path, searcher, tenant),
        engine=searcher,
        river=River(chunker("headings", dict(cutting))),
        tenant=tenant,
        owner=principals.owner(tenant),
        home=path,
        now=lambda: NOW,
    )


def stores(case: Bookcase) -> dict[str, Store]:
    return dict(case._shelves.named())
