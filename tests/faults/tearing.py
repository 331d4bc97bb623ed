"""Damage to files, and whether a case tells of it: every read is its old answer or an error that says what to do."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from estante.model.errors import CorruptShelf
from estante.shelf.bookcase import Bookcase
from tests.faults.cases import OWNER, SHELVES, STRANGER, case_at
from tests.faults.corpus import QUESTIONS

Damage = Callable[[Path], None]
Reads = dict[str, object]

DAMAGED = "damaged"


def reads(case: Bookcase, ids: list[str]) -> Reads:
    """Every kind of read, each on its own: its answer, or that it told of damage."""
    asked: dict[str, Callable[[], object]] = {"documents": case.documents, "len": lambda: len(case)}
    asked["filtered"] = lambda: case.documents({"year": {"$gte": 2000}})
    for key in ids:
        asked[f"document {key}"] = lambda key=key: case.document(key)
        asked[f"slice {key}"] = lambda key=key: case.text(key, 3, 40)
        asked[f"spans {key}"] = lambda key=key: case.spans(key)
        asked[f"stranger {key}"] = lambda key=key: _hidden(case, key)
    for text in QUESTIONS:
        for asker in (OWNER, STRANGER):
            asked[f"search {text} {asker.subject}"] = lambda text=text, asker=asker: _search(case, text, asker)
    asked["search filtered"] = lambda: _search(case, QUESTIONS[0], OWNER, {"year": {"$gte": 2000}})
    for name, store in case._shelves.named().items():
        asked[f"entries {name}"] = lambda store=store: _entries(store)
        asked[f"ledger {name}"] = lambda store=store: _ledger(store)
    return {name: told(ask) for name, ask in asked.items()}


def told(ask: Callable[[], object]) -> object:
    """The answer, or that it was an error about damage; any other error passes through."""
    try:
        return ask()
    except CorruptShelf as error:
        return DAMAGED if "estante " in error.hint else f"an error without a command: {error.hint}"


def _hidden(case: Bookcase, key: str) -> object:
    from estante.model.errors import NotFound

    try:
        return case.text(key, asker=STRANGER)
    except NotFound:
        return None


def _search(case: Bookcase, text: str, asker: object, where: object = None) -> object:
    found = case.search(text, 8, asker=asker, where=where)  # type: ignore[arg-type]
    if all(report.ok for report in found.shelves):
        return replace(found, took_ms=0.0)
    assert all(report.ok or "damaged" in report.reason for report in found.shelves), found.shelves
    return DAMAGED


def _entries(store: object) -> object:
    with store.view() as view:  # type: ignore[attr-defined]
        return [view.entries(one.document_id) for one in view.listings(OWNER, None)]


def _ledger(store: object) -> object:
    with store.view() as view:  # type: ignore[attr-defined]
        return view.ledger(), replace(view.statistics(), bytes=0)


def after(home: Path, before: Reads) -> tuple[Reads, list[str]]:
    """The same reads of a damaged case, and what its check says."""
    ids = [name.removeprefix("document ") for name in before if name.startswith("document ")]
    opened = told(lambda: case_at(home))
    if opened == DAMAGED:
        return dict.fromkeys(before, DAMAGED), ["it cannot be opened"]
    with opened as case:  # type: ignore[attr-defined]
        found = reads(case, ids)
        checked = told(case.check)
    return found, [DAMAGED] if checked == DAMAGED else checked  # type: ignore[return-value]


def lies(before: Reads, found: Reads) -> dict[str, tuple[object, object]]:
    """The reads that gave another answer than before."""
    return {name: (before[name], found[name]) for name in before if found[name] not in (before[name], DAMAGED)}


# --- damage to one file ------------------------------------------------------------------------------------------


def cut_to(size: int) -> Damage:
    def damage(file: Path) -> None:
        with file.open("r+b") as handle:
            handle.truncate(size)

    return damage


def flipped(at: int, bit: int) -> Damage:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[at] ^= 1 << bit
        file.write_bytes(data)

    return damage


def overwritten(at: int, data: bytes) -> Damage:
    def damage(file: Path) -> None:
        with file.open("r+b") as handle:
            handle.seek(at)
            handle.write(data)

    return damage


def damages_of_a_file(size: int, seed: str) -> Iterator[tuple[str, Damage]]:
    """Cut, grown, emptied, taken away, and with single bits turned over all of it."""
    rng = random.Random(seed)
    for left in (0, 1, 19, size // 3, size // 2, size - 1):
        yield f"cut to {left}", cut_to(left)
    for more in (1, 64, 70_000):
        yield f"grown by {more}", cut_to(size + more)
    yield "missing", Path.unlink
    yield "noise", overwritten(0, rng.randbytes(size))
    for part in range(50):
        at = size * part // 50
        yield f"bit at {at}", flipped(at, rng.randrange(8))
    for _ in range(30):
        at = rng.randrange(size)
        yield f"bit at {at}", flipped(at, rng.randrange(8))
    for at in range(size - 20, size):
        yield f"bit at {at}", flipped(at, rng.randrange(8))


def page_size(catalog: Path) -> int:
    return int.from_bytes(catalog.read_bytes()[16:18], "big")


def edit(sql: str, *values: object) -> Damage:
    """Somebody's own SQL at the catalog."""

    def damage(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            changed = connection.execute(sql, values).rowcount
        assert changed, sql

    return damage


def rest(home: Path) -> None:
    """Brings everything into the catalog, so that nothing stands in its log."""
    for shelf in SHELVES:
        with closing(sqlite3.connect(home / shelf / "catalog.sqlite")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
