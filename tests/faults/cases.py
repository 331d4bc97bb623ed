"""Bookcases on disk and in memory whose encoder remembers every word, so that writing outweighs encoding."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from estante.index.engine import Engine
from estante.index.fusion import Blend
from estante.index.stores.embedded import EmbeddedStore
from estante.index.storing import STORES
from estante.ingest.pipeline import River, chunker
from estante.model.asking import Results
from estante.model.ports import Store
from estante.security import principals
from estante.shelf.bookcase import Bookcase
from estante.shelf.local import Shelves
from tests.parts import NOW, TinyEncoder

TENANT = "acme"
OWNER = principals.owner(TENANT)
STRANGER = principals.reader(TENANT, [], "stranger")
SHELVES = ("private", "shared")


@cache
def _direction(word: str) -> NDArray[np.float64]:
    return TinyEncoder._row(TinyEncoder(), word)


class QuickEncoder(TinyEncoder):
    """The tiny encoder, with each word's direction kept."""

    def _row(self, text: str) -> NDArray[np.float64]:
        return np.sum([np.zeros(16), *map(_direction, text.lower().split())], axis=0)


def case_at(path: Path | None = None, *, wait: float = 1.0, max_chars: int = 300) -> Bookcase:
    """A bookcase in a folder, made or opened; in memory without one."""
    engine = Engine(QuickEncoder(), Blend())
    held: list[Store] = []
    for name in ("shared", "private"):
        if path is None:
            identity = {"space": engine.encoder.space, "analyzer": engine.analysis}
            held.append(STORES.load("memory")(tenant=TENANT, shared=name == "shared", **identity))
        else:
            make = not (path / name).exists()
            held.append(shelf_at(path / name, shared=name == "shared", make=make, wait=wait))
    return Bookcase(
        shelves=Shelves(held[0], held[1]),
        engine=engine,
        river=River(chunker("headings", {"max_chars": max_chars, "min_chars": 20})),
        tenant=TENANT,
        owner=OWNER,
        home=path,
        now=lambda: NOW,
    )


def shelf_at(path: Path, *, shared: bool = False, make: bool = False, wait: float = 1.0) -> EmbeddedStore:
    """One shelf on disk, opened or made."""
    engine = Engine(QuickEncoder(), Blend())
    if make:
        identity = {"space": engine.encoder.space, "analyzer": engine.analysis}
        return EmbeddedStore.create(path, tenant=TENANT, shared=shared, wait=wait, **identity)
    return EmbeddedStore(path, tenant=TENANT, shared=shared, wait=wait)


def answers(case: Bookcase, questions: list[str]) -> list[Results]:
    """What the case answers to each question, without the time it took."""
    return [
        replace(case.search(text, 20, mode=mode, asker=asker), took_ms=0.0)  # type: ignore[arg-type]
        for text in questions
        for mode in ("hybrid", "lexical", "dense")
        for asker in (OWNER, STRANGER)
    ]


def contents(case: Bookcase) -> dict[str, object]:
    """All that a case holds: texts, spans, entries, listings and ledgers, by shelf."""
    found: dict[str, object] = {}
    for name, store in case._shelves.named().items():
        with store.view() as view:
            listings = list(view.listings(OWNER, None))
            found[name] = {
                one.document_id: (
                    one,
                    view.document(one.document_id, OWNER),
                    view.spans(one.document_id, OWNER),
                    view.entries(one.document_id),
                )
                for one in listings
            }
            found[f"{name} ledger"] = view.ledger()
            found[f"{name} statistics"] = replace(view.statistics(), bytes=0)
    return found


def named_segments(shelf: Path) -> set[str]:
    """The segments that a shelf's catalog names."""
    with sqlite3.connect(shelf / "catalog.sqlite") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM segments")}
    connection.close()
    return names


def stray_files(home: Path) -> set[str]:
    """Files beside the segments that no catalog names."""
    return {
        f"{shelf}/{file.name}"
        for shelf in SHELVES
        for file in (home / shelf / "segments").iterdir()
        if file.name not in named_segments(home / shelf)
    }


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
