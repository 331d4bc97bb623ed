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
from estante.model.asking import Where
from estante.model.content import Mark, Span
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
PASSAGES: dict[str, dict[str, Any]] = {
    "@heading": {"@heading": "Chapter 3"},
    "@page and a field": {"@page": {"$lte": 50}, "kind": "lei"},
}


def median(run: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        took.append((time.perf_counter() - started) * 1e3)
    return statistics.median(took)


def marks(number: int) -> tuple[Mark, ...]:
    page = Mark("page", 0, 1, f"{number % 100 + 1}")
    return Mark("heading", 0, 1, f"Chapter {number % 7}", 1), page


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
            media_type="text/plain", marks=marks(number), metadata=held, redactions=(),
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
        first = median(lambda: search(parse({"year": 2024}), store), 1)
        for name, raw in FILTERS.items():
            row(name, raw, held, store)
        print(f"\nThe first filter on a shelf that was just opened: {first:,.0f} ms")
        of_passages(store)
        memory(held)
        store.close()


def row(name: str, raw: dict[str, Any], held: list[dict[str, Any]], store: Any) -> None:
    where = parse(raw)
    assert where is not None
    columns = Columns().fork(1, {one.field for one in conditions(where)}, enumerate(held))
    passed = columns.decide(where)
    # The obvious way searches a list value by value: of a long one a part is measured.
    step = max(1, len(held) // 50) if len(repr(raw)) > 1_000 else 1
    obvious = median(lambda: [matches(where, one) for one in held[::step]], 1) * step
    assert [matches(where, one) for one in held[::step]] == passed[::step].tolist()
    read, decide = median(lambda: parse(raw), 21), median(lambda: columns.decide(where), 21)
    more = beyond(where, store)
    print(f"| {name} | {int(passed.sum()):,} | {read:.2f} | {decide:.2f} | {obvious:,.0f} | {more:+.2f} |")


def search(where: Where | None, store: Any) -> int:
    """Asks what nobody asked before; how many hits there are."""
    with store.view() as view:
        view._state.masks.clear()
        return len(view.lexical([Word(("imposto",)), Word(("prazo",))], 10, OWNER, where).found)


def beyond(where: Where | None, store: Any) -> float:
    """What a search takes with a filter, less what it takes without."""
    search(where, store)
    return median(lambda: search(where, store), 41) - median(lambda: search(None, store), 41)


def of_passages(store: Any) -> None:
    """Filters on headings and places: what the first takes, which reads them, and what each takes after that."""
    print("\n| filter of passages | first, once for a segment | search, more than without |")
    print("|---|---|---|")
    for name, raw in PASSAGES.items():
        where = parse(raw)
        first = median(lambda where=where: search(where, store), 1)  # type: ignore[misc]
        print(f"| {name} | {first:,.0f} | {beyond(where, store):+.2f} |")


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
