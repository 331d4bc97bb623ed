"""The order of a shelf: its chunks by place, counted and marked for who asks; each store is held to the same facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.index.filters import parse
from estante.index.storing import STORES
from estante.model.ports import Holdings, Store
from estante.security import principals
from tests.index.building import OWNER, deposit, document, entries, vector
from tests.index.building import store as build

FINANCE = principals.reader("acme", ["finance"], "ana")
NOBODY = principals.reader("acme", [], "rui")
YEAR = parse({"year": 2024})


@pytest.fixture(params=sorted(STORES.builtins))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = build(tmp_path / "shelf" if request.param == "embedded" else None)
    yield made
    made.close()


def put(store: Store, *documents: tuple[str, int], readers: frozenset[str] = frozenset(), year: int = 2024) -> None:
    """Documents, each with so many chunks, put one by one: several segments on disk."""
    for document_id, chunks in documents:
        one = document(document_id, "x" * max(chunks, 1), readers=readers, metadata={"year": year})
        held = entries(one, [{"a": 1}] * chunks, [vector(1, at) for at in range(chunks)])
        store.put([deposit((one, held))])


def scanned(store: Store, after: tuple[str, int] | None = None, k: int = 100, grant=OWNER, where=None) -> list:
    with store.view() as view:
        return [view.tie(ref) for ref in view.scan(after, k, grant, where)]


def held(store: Store, grant=OWNER, where=None) -> Holdings:
    with store.view() as view:
        return view.holdings(grant, where)


def test_an_empty_shelf_has_nothing_in_order(store: Store) -> None:
    assert scanned(store) == []
    assert (held(store).documents, held(store).chunks) == (0, 0)
    with store.view() as view:
        assert view.locate([("a", 0)], OWNER, None) == [None]
        assert view.preceding(["a"], OWNER, None) == [0]


def test_chunks_are_scanned_by_document_id_and_position(store: Store) -> None:
    put(store, ("b", 2), ("á", 1), ("a", 3), ("B", 1))

    assert scanned(store) == [("B", 0), ("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("á", 0)]


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_scans_that_go_on_give_every_chunk_once(store: Store, k: int) -> None:
    put(store, ("b", 2), ("c", 1), ("a", 3))
    pages, after = [], None
    while page := scanned(store, after, k):
        pages.append(page)
        after = page[-1]

    assert [one for page in pages for one in page] == scanned(store)
    assert all(len(page) == k for page in pages[:-1])


@pytest.mark.parametrize("after", [("", 0), ("a", 0), ("a", 9), ("aa", 5), ("b", 1), ("z", 0)])
def test_a_scan_goes_on_behind_a_place_even_where_nothing_stands(store: Store, after: tuple[str, int]) -> None:
    put(store, ("b", 2), ("a", 2))

    assert scanned(store, after) == [one for one in scanned(store) if one > after]


def test_what_may_not_be_seen_is_neither_scanned_nor_counted_nor_located(store: Store) -> None:
    put(store, ("a", 2), readers=frozenset({"people"}))
    put(store, ("b", 1), readers=frozenset({"finance"}), year=2023)
    put(store, ("c", 1), readers=frozenset({"finance"}))

    assert scanned(store, grant=FINANCE) == [("b", 0), ("c", 0)]
    assert scanned(store, grant=FINANCE, where=YEAR) == [("c", 0)]
    assert scanned(store, grant=NOBODY) == []
    assert (held(store, FINANCE).documents, held(store, FINANCE, YEAR).chunks) == (2, 1)
    with store.view() as view:
        assert view.locate([("a", 0), ("b", 0)], FINANCE, YEAR) == [None, None]
        assert view.preceding(["a", "b", "c", "d"], FINANCE, None) == [0, 0, 1, 2]


def test_a_place_is_located_only_where_a_chunk_stands(store: Store) -> None:
    put(store, ("b", 2), ("a", 1), ("empty", 0))

    with store.view() as view:
        found = view.locate(
            [("b", 1), ("a", 0), ("a", 1), ("b", -1), ("c", 0), ("empty", 0), ("\ud800", 0)], OWNER, None
        )
        assert [None if ref is None else view.tie(ref) for ref in found] == [("b", 1), ("a", 0), *[None] * 5]


def test_a_document_that_was_replaced_stands_where_it_stands_now(store: Store) -> None:
    put(store, ("a", 3), ("b", 1))
    put(store, ("a", 1))

    assert scanned(store) == [("a", 0), ("b", 0)]
    with store.view() as view:
        assert view.locate([("a", 2)], OWNER, None) == [None]
        assert view.preceding(["b"], OWNER, None) == [1]


def test_vectors_are_given_as_they_were_put(store: Store) -> None:
    put(store, ("b", 2), ("a", 3))

    with store.view() as view:
        refs = view.locate([("a", 2), ("b", 1), ("a", 2)], OWNER, None)
        assert view.vectors([ref for ref in refs if ref is not None]) == [vector(1, 2), vector(1, 1), vector(1, 2)]


def test_hundreds_of_documents_without_chunks_behind_one_with_are_no_trouble(store: Store) -> None:
    empty = [(document(f"d{n:03}"), ()) for n in range(300)]
    first = document("a", "x")
    store.put([deposit((first, entries(first, [{"a": 1}], [vector(1)])), *empty, item="many")])

    assert scanned(store, ("d299", 0)) == []
    with store.view() as view:
        assert view.locate([("d299", 0)], OWNER, None) == [None]
        assert view.preceding(["d299", "e"], OWNER, None) == [1, 1]


# --- the mark -------------------------------------------------------------------------------------------------------


def change(store: Store, what: str) -> None:
    if what == "put":
        put(store, ("c", 1), readers=frozenset({"finance"}))
    elif what == "replaced":
        one = document("b", "y", readers=frozenset({"finance"}), metadata={"year": 2024})
        store.put([deposit((one, entries(one, [{"a": 1}], [vector(1)])))])
    elif what == "dropped":
        store.drop([("", "b")])
    else:
        store.amend("b", {"year": 2024, "note": "x"})


@pytest.mark.parametrize("what", ["put", "replaced", "dropped", "amended"])
def test_the_mark_moves_with_what_may_be_seen(store: Store, what: str) -> None:
    put(store, ("b", 1), readers=frozenset({"finance"}))
    before = held(store, FINANCE, YEAR)

    change(store, what)

    assert held(store, FINANCE, YEAR).mark != before.mark


@pytest.mark.parametrize("what", ["put", "replaced", "dropped", "amended"])
def test_the_mark_stays_when_something_else_moves(store: Store, what: str) -> None:
    put(store, ("b", 1), ("c", 1), readers=frozenset({"finance"}))
    put(store, ("a", 1), readers=frozenset({"people"}))
    people = principals.reader("acme", ["people"], "rui")
    before = held(store, people)

    change(store, what)

    assert held(store, people) == before


def test_the_mark_stays_over_compacting_and_reopening(tmp_path: Path) -> None:
    store = build(tmp_path / "shelf")
    put(store, ("a", 2), ("b", 1))
    store.drop([("", "b")])
    before = held(store)

    store.compact()
    store.close()

    opened = STORES.load("embedded")(tmp_path / "shelf", tenant="acme", shared=False)
    assert held(opened) == before
    opened.close()
