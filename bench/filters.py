"""What filters cost: each plain condition over 50,000 documents, beside the obvious way, one record after the other.

    python bench/filters.py
    python bench/filters.py --size 200000

``read`` is the filter read from JSON, ``decide`` the columns' answer for all documents, ``search`` what a question by
words takes with a filter that was not asked before, less what it takes without one. Medians; wall clock.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from estante.index.columns import Columns
from estante.index.conditions import conditions, matches
from estante.index.filters import parse
from estante.index.storing import STORES
from estante.model.access import Scope
from estante.model.content import Span
from estante.model.ports import Deposit, Entry, Quantised, Space, Word
from estante.model.wire import restore
from estante.security import principals

WORDS = "imposto férias licitação prazo servidor edital contrato taxa".split()
OWNER = principals.owner("acme")


def metadata(number: int, chance: random.Random) -> dict[str, Any]:
    day = f"20{chance.randrange(10, 26)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
    return {
        "year": int(day[:4]),
        "number": number,
        "date": f"{day}T{chance.randrange(24):02}:{chance.randrange(60):02}:00Z",
        "code": f"P-{number:06}/{chance.randrange(10_000):04}",
        "kind": chance.choice(["decreto", "lei", "portaria", "memo"]),
        "tags": chance.sample(WORDS, 3),
        "office": {"name": chance.choice(["SETIN", "SEPLAN", "SEFAZ"])},
    }


FILTERS: dict[str, dict[str, Any]] = {
    "all pass: absent field": {"none": {"$exists": False}},
    "all pass: $gte on few values": {"year": {"$gte": 0}},
    "all pass: $gte, each value another": {"number": {"$gte": 0}},
    "all pass: three of $and": {"$and": [{"year": {"$gt": 1}}, {"kind": {"$ne": "x"}}, {"number": {"$lt": 10**9}}]},
    "$eq, few values": {"kind": "lei"},
    "$eq, each value another": {"code": "P-000007/0000"},
    "$eq in lists": {"tags": "prazo"},
    "$all": {"tags": {"$all": ["prazo", "taxa"]}},
    "$size": {"tags": {"$size": 3}},
    "$gte, dates": {"date": {"$gte": "2024-02-01"}},
    "$in, 3 values": {"year": {"$in": [2011, 2015, 2024]}},
    "$in, 40,000 numbers": {"number": {"$in": list(range(5, 200_005, 5))}},
    "$in, 40,000 texts": {"code": {"$in": [f"P-{number:06}/0001" for number in range(40_000)]}},
    "$contains": {"code": {"$contains": "77/"}},
    "$startswith": {"code": {"$startswith": "P-0001"}},
    "$endswith": {"code": {"$endswith": "1"}},
    "nested path": {"office.name": "SEFAZ"},
    "@id": {"@id": {"$gte": "d025"}},
}


def median(run: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        took.append((time.perf_counter() - started) * 1e3)
    return statistics.median(took)


def filled(path: Path, records: list[dict[str, Any]]) -> Any:
    """A shelf on disk, one passage a document."""
    space = Space("none", 8, "1")
    kind = STORES.load("embedded")
    store = kind.create(path, tenant="acme", shared=False, space=space, analyzer="bench")
    chance, vector = random.Random(3), Quantised(bytes(8), 0.0)
    deposits = []
    for number, held in enumerate(records):
        key = f"d{number:06}"
        one = restore(
            id=key, uri=key, source="", title="", text="x", scope=Scope("acme", frozenset()), language="pt",
            media_type="text/plain", marks=(), metadata=held, redactions=(),
        )  # fmt: skip
        entry = Entry(one.cut(0, Span(0, 1)), dict.fromkeys(chance.sample(WORDS, 2), 1), vector)
        deposits.append(
            Deposit(source="", item=key, revision="", digest="", recipe="", documents=((one, (entry,)),), added="2026")
        )
    for at in range(0, len(deposits), 10_000):
        store.put(deposits[at : at + 10_000])
    store.compact()
    return store


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--size", type=int, default=50_000)
    size = asked.parse_args().size
    chance = random.Random(7)
    records = [metadata(number, chance) for number in range(size)]
    print(f"{size:,} documents of one passage each; milliseconds, medians\n")
    print("| filter | passes | read | decide | obvious | search, more than without |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder) / "shelf", records)
        held = [{**one, "@id": f"d{number:06}"} for number, one in enumerate(records)]
        for name, raw in FILTERS.items():
            row(name, raw, held, store)
        memory(held)
        store.close()


def row(name: str, raw: dict[str, Any], held: list[dict[str, Any]], store: Any) -> None:
    where = parse(raw)
    assert where is not None
    columns = Columns().fork(1, {one.field for one in conditions(where)}, enumerate(held))
    passed = int(columns.decide(where).sum())
    # The obvious way searches a list value by value: of a long one a part is measured.
    part = held[:: max(1, len(held) // 50)] if len(repr(raw)) > 1_000 else held
    obvious = median(lambda: [matches(where, one) for one in part], 1) * len(held) / len(part)
    assert sum(matches(where, one) for one in part) == sum(
        columns.decide(where)[:: max(1, len(held) // 50)] if part is not held else columns.decide(where)
    )
    words = [Word(("imposto",)), Word(("prazo",))]

    def search(asked: Any) -> None:
        with store.view() as view:
            view._state.masks.clear()
            view.lexical(words, 10, OWNER, asked)

    search(where)
    plain, filtered = median(lambda: search(None), 41), median(lambda: search(where), 41)
    read, decide = median(lambda: parse(raw), 21), median(lambda: columns.decide(where), 21)
    print(f"| {name} | {passed:,} | {read:.2f} | {decide:.2f} | {obvious:,.0f} | {filtered - plain:+.2f} |")


def memory(held: list[dict[str, Any]]) -> None:
    """What the columns of all fields weigh, and how long they take to make."""
    fields = ["year", "number", "date", "code", "kind", "tags", "office.name", "@id"]
    started = time.perf_counter()
    columns = Columns().fork(1, fields, enumerate(held))
    took = time.perf_counter() - started
    bytes_ = sum(columns._values[field].weight + 4 * len(held) for field in fields)
    print(f"\n{len(fields)} columns: made in {took:.2f} s, about {bytes_ / 1e6:.0f} MB", file=sys.stdout)


if __name__ == "__main__":
    main()
