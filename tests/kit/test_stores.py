"""What every store promises: each registered one is held to the same facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from estante.index.filters import parse
from estante.index.storing import STORES
from estante.model.access import ANYONE
from estante.model.content import Document, Mark, Span
from estante.model.errors import ContractBroken, Denied, NameTaken, NotFound, QueryError, StaleShelf
from estante.model.ports import Deposit, Entry, Found, Space, Store, View, Word
from estante.security import principals
from tests.index.building import DIMENSIONS, OWNER, SPACE, deposit, document, entries, vector
from tests.index.building import store as build

FINANCE = principals.reader("acme", ["finance"], "ana")
STRANGER = principals.owner("other")

Make = Callable[[Path, bool], Store]

CASES: dict[str, Make] = {
    "memory": lambda path, shared: build(shared=shared),
    "embedded": lambda path, shared: build(path / f"shelf-{shared}", shared=shared),
}


def test_every_registered_store_is_held_to_these_facts() -> None:
    assert sorted(CASES) == sorted(STORES.builtins)


@pytest.fixture(params=sorted(STORES.builtins))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[bool], Store]]:
    made: list[Store] = []

    def one(shared: bool) -> Store:
        made.append(CASES[request.param](tmp_path, shared))
        return made[-1]

    yield one
    for store in made:
        store.close()


@pytest.fixture
def store(make: Callable[[bool], Store]) -> Store:
    return make(False)


def put(store: Store, one: Document, *chunks: dict[str, int], item: str = "", **told: object) -> Deposit:
    counts = chunks or ({"palavra": 1},)
    made = deposit((one, entries(one, counts, [vector(1)] * len(counts))), item=item, **told)
    store.put([made])
    return made


def listed(store: Store, grant: principals.Grant = OWNER, where: dict[str, object] | None = None) -> list[str]:
    with store.view() as view:
        return [one.document_id for one in view.listings(grant, parse(where))]


def words(view: View, *terms: str, k: int = 10, grant: principals.Grant = OWNER) -> tuple[Found, ...]:
    return view.lexical([Word((term,)) for term in terms], k, grant, None).found


# --- putting and taking away ---------------------------------------------------------------------------------------


def test_a_new_store_is_empty(store: Store) -> None:
    with store.view() as view:
        assert view.statistics().documents == view.statistics().chunks == 0
        assert (view.languages(OWNER), view.ledger()) == ((), {})
        assert (words(view, "a"), view.nearest(vector(1), 5, OWNER, None)) == ((), ())
    assert store.check() == []


def test_what_was_put_comes_back(store: Store) -> None:
    one = document("a", "Ação 🦜 fim", readers=frozenset({"finance"}), metadata={"year": 2024, "tags": ["x", None]})

    made = put(store, one, {"acao": 2}, {"fim": 1})

    with store.view() as view:
        assert view.document("a", OWNER) == one
        assert view.entries("a") == made.documents[0][1]
        assert view.spans("a", OWNER) == (Span(0, 1), Span(1, 2))
        assert view.slice("a", 5, 6, OWNER) == (5, 6, "🦜")
        assert view.item_of("a", OWNER) == ("", "a")


def test_putting_an_item_again_replaces_all_that_it_brought(store: Store) -> None:
    first, second = document("a", "um dois"), document("b", "três")
    both = tuple((one, entries(one, [{"velho": 1}], [vector(1)])) for one in (first, second))
    store.put([deposit(*both, item="item")])

    put(store, document("b", "quatro"), {"novo": 1}, item="item")

    assert listed(store) == ["b"]
    with store.view() as view:
        assert [view.tie(one.ref) for one in words(view, "velho", "novo")] == [("b", 0)]
        assert view.statistics().chunks == 1


def test_the_same_put_twice_is_one(store: Store) -> None:
    for _ in range(2):
        put(store, document("a", "um"), {"a": 1})

    with store.view() as view:
        assert (view.statistics().documents, view.statistics().chunks) == (1, 1)
        assert len(words(view, "a")) == 1


def test_an_item_named_twice_in_one_put_is_there_once_as_the_last(store: Store) -> None:
    deposits = [
        deposit((one, entries(one, [{word: 1}], [vector(1)])), item="item")
        for one, word in ((document("a", "um"), "velho"), (document("a", "dois"), "novo"))
    ]

    store.put(deposits)

    with store.view() as view:
        assert (view.document("a", OWNER).text, len(words(view, "novo")), words(view, "velho")) == ("dois", 1, ())
        assert view.statistics().average == 1.0
    assert store.check() == []


def test_an_id_of_another_item_is_refused_and_nothing_is_put(store: Store) -> None:
    put(store, document("a", "um"))
    new, taken = document("b", "novo"), document("a", "outro")
    deposits = [deposit((one, entries(one, [{"x": 1}], [vector(1)])), item=f"item {one.id}") for one in (new, taken)]

    with pytest.raises(NameTaken, match="already brought a document 'a'") as caught:
        store.put(deposits)

    assert "estante rm" in caught.value.hint
    assert listed(store) == ["a"]
    with store.view() as view:
        assert list(view.ledger()) == [("", "a")]


def test_a_document_without_chunks_is_kept_and_never_found(store: Store) -> None:
    store.put([deposit((document("a", "um"), ()))])

    assert listed(store) == ["a"]
    with store.view() as view:
        assert (view.entries("a"), view.spans("a", OWNER), words(view, "a")) == ((), (), ())
    assert store.check() == []


def test_dropping_takes_what_items_brought_and_counts_the_documents(store: Store) -> None:
    for key in ("a", "b", "c"):
        put(store, document(key), {"x": 1})

    assert store.drop([("", "a"), ("", "c"), ("", "absent")]) == 2
    assert listed(store) == ["b"]
    with store.view() as view:
        assert list(view.ledger()) == [("", "b")]
        with pytest.raises(NotFound):
            view.document("a", OWNER)


def test_a_dropped_id_can_be_put_again(store: Store) -> None:
    put(store, document("a", "um"), {"um": 1})
    store.drop([("", "a")])

    put(store, document("a", "dois"), {"dois": 1}, item="another")

    with store.view() as view:
        assert (view.document("a", OWNER).text, words(view, "um")) == ("dois", ())


def test_a_vector_of_another_space_is_refused_and_nothing_is_put(store: Store) -> None:
    one = document("a", "um")
    wrong = replace(vector(1), values=bytes(DIMENSIONS + 1))

    with pytest.raises(ContractBroken):
        store.put([deposit((one, (Entry(one.cut(0, Span(0, 1)), {"a": 1}, wrong),)))])

    assert listed(store) == []


# --- its own kind of scope -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "one"),
    [
        (True, document("a", readers=frozenset())),
        (True, document("a", readers=frozenset({"finance"}))),
        (True, document("a", readers=ANYONE, tenant="other")),
        (False, document("a", readers=ANYONE)),
        (False, document("a", readers=frozenset(), tenant="other")),
    ],
)
def test_a_document_of_another_kind_is_refused_and_nothing_is_put(
    make: Callable[[bool], Store], shared: bool, one: Document
) -> None:
    store = make(shared)
    right = document("right", readers=ANYONE if shared else frozenset())

    with pytest.raises(Denied, match="does not belong"):
        store.put([deposit((right, ())), deposit((one, ()))])

    assert listed(store) == []


def test_each_kind_takes_its_own(make: Callable[[bool], Store]) -> None:
    put(make(True), document("a", readers=ANYONE))
    put(make(False), document("a", readers=frozenset({"finance"})))


# --- who may read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grant", [STRANGER, *(principals.reader("acme", keys, "x") for keys in (["legal"], []))])
def test_what_is_not_covered_looks_as_if_it_were_absent(store: Store, grant: principals.Grant) -> None:
    put(store, document("a", readers=frozenset({"finance"})), {"palavra": 1})

    with store.view() as view:
        assert words(view, "palavra", grant=grant) == ()
        assert view.lexical([Word(("palavra",))], 5, grant, None).coverage == 0.0
        assert view.lexical([Word(("palavra",))], 5, grant, None).held == (False,)
        assert view.nearest(vector(1), 5, grant, None) == ()
        assert list(view.listings(grant, None)) == []
        for read in (view.document, view.spans, view.item_of, lambda key, who: view.slice(key, 0, 1, who)):
            told = set()
            for key in ("a", "absent"):
                with pytest.raises(NotFound) as caught:
                    read(key, grant)
                told.add((caught.value.message.replace(key, "X"), caught.value.hint))
            assert len(told) == 1


def test_candidates_of_one_grant_are_not_read_with_another(store: Store) -> None:
    put(store, document("a", readers=frozenset({"legal"})), {"palavra": 1})

    with store.view() as view:
        refs = [one.ref for one in words(view, "palavra")]
        with pytest.raises(NotFound):
            view.chunks(refs, FINANCE)


def test_the_grant_and_the_filter_hold_before_the_best_are_taken(store: Store) -> None:
    for n in range(30):
        put(store, document(f"o{n:02}"), {"palavra": 9})
    put(store, document("z", readers=frozenset({"finance"}), metadata={"year": 1}), {"palavra": 1, "outra": 50})

    with store.view() as view:
        assert [view.tie(one.ref) for one in words(view, "palavra", k=1, grant=FINANCE)] == [("z", 0)]
        assert [view.tie(one.ref) for one in view.nearest(vector(1), 1, FINANCE, None)] == [("z", 0)]
        where = parse({"year": 1})
        assert [view.tie(one.ref) for one in view.lexical([Word(("palavra",))], 1, OWNER, where).found] == [("z", 0)]
        assert [view.tie(one.ref) for one in view.nearest(vector(1), 1, OWNER, where)] == [("z", 0)]


def test_what_an_asker_may_not_read_changes_nothing_of_what_they_are_told(store: Store) -> None:
    mine = frozenset({"finance"})
    for n in range(4):
        put(store, document(f"m{n}", readers=mine), {"palavra": n + 1, "outra": 1})

    def told() -> list[object]:
        with store.view() as view:
            answer = view.lexical([Word(("palavra",)), Word(("segredo",))], 10, FINANCE, None)
            refs = [one.ref for one in answer.found]
            ids = [chunk.id for chunk in view.chunks(refs, FINANCE)]
            scores = [one.score for one in answer.found]
            again = view.bm25([Word(("palavra",))], refs, FINANCE)
            return [ids, scores, again, answer.coverage, answer.held, view.languages(FINANCE)]

    before = told()
    for n in range(20):
        put(store, document(f"h{n}", language="en"), {"palavra": 1, "segredo": 9, "longa": 50})

    assert told() == before


# --- searching -----------------------------------------------------------------------------------------------------


def test_the_nearest_are_the_nearest_in_order_with_ties_by_id(store: Store) -> None:
    near = {"far": vector(-1), "b": vector(1), "a": vector(1), "side": vector(0, 1), "nowhere": vector()}
    for key, one in near.items():
        store.put([deposit((document(key), entries(document(key), [{"x": 1}], [one])))])

    with store.view() as view:
        found = view.nearest(vector(1), 10, OWNER, None)

        assert [view.tie(one.ref)[0] for one in found] == ["a", "b", "side", "far"]
        assert [round(one.score, 6) for one in found] == [1.0, 1.0, 0.0, -1.0]
        assert view.nearest(vector(1), 2, OWNER, None) == found[:2]
        assert view.nearest(vector(), 10, OWNER, None) == ()
        assert view.cosines(vector(1), [one.ref for one in found]) == [one.score for one in found]
        assert (view.cosines(vector(1), []), view.bm25([Word(("x",))], [], OWNER)) == ([], [])


def test_candidates_are_read_as_they_were_cut(store: Store) -> None:
    one = document("a", "um dois três", metadata={"year": 2024})
    put(store, one, {"x": 1}, {"x": 2}, {"x": 3})

    with store.view() as view:
        refs = [found.ref for found in words(view, "x")]
        chunks = view.chunks(refs, OWNER)

    assert {chunk.index for chunk in chunks} == {0, 1, 2}
    assert all(chunk == one.cut(chunk.index, chunk.span) for chunk in chunks)


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (0, 9), (3, 2), (9, None)])
def test_a_slice_outside_the_text_is_refused(store: Store, start: int, end: int | None) -> None:
    put(store, document("a", "férias"))

    with store.view() as view, pytest.raises(QueryError, match="has 6 characters"):
        view.slice("a", start, end, OWNER)


def test_listings_stand_by_id_and_pass_the_filter(store: Store) -> None:
    for n, key in enumerate(["b", "é", "a", "Z"]):
        put(store, document(key, metadata={"n": n}))

    assert listed(store) == ["Z", "a", "b", "é"]
    assert listed(store, where={"n": {"$lt": 2}}) == ["b", "é"]
    assert listed(store, where={"@id": {"$in": ["a", "Z"]}}) == ["Z", "a"]


# --- metadata, ledger, values --------------------------------------------------------------------------------------


def test_amending_replaces_the_metadata_and_nothing_else(store: Store) -> None:
    one = document("a", "um", metadata={"year": 2023, "old": True})
    made = put(store, one, {"um": 1})
    assert listed(store, where={"year": 2023}) == ["a"]

    store.amend("a", {"year": 2024})

    with store.view() as view:
        assert view.document("a", OWNER) == replace(one, metadata={"year": 2024})
        assert [entry.terms for entry in view.entries("a")] == [entry.terms for entry in made.documents[0][1]]
        assert [chunk.metadata for chunk in view.chunks([words(view, "um")[0].ref], OWNER)] == [{"year": 2024}]
    assert (listed(store, where={"year": 2023}), listed(store, where={"year": 2024})) == ([], ["a"])
    with pytest.raises(NotFound):
        store.amend("absent", {})


def test_the_ledger_remembers_every_item_and_what_became_of_it(store: Store) -> None:
    put(store, document("s/a", readers=frozenset({"finance"}), source="s"), item="a", losses=("uma imagem",))
    store.put([Deposit(source="s", item="b", revision="2", digest="d", recipe="r", reason="damaged")])
    put(store, document("t"), item="t")

    with store.view() as view:
        whole = view.ledger()
        assert sorted(whole) == [("", "t"), ("s", "a"), ("s", "b")]
        assert (whole["s", "a"].documents, whole["s", "a"].readers) == (("s/a",), '["finance"]')
        assert (whole["s", "b"].reason, whole["s", "b"].revision, whole["s", "b"].documents) == ("damaged", "2", ())
        assert view.ledger("s") == {key: row for key, row in whole.items() if key[0] == "s"}
        assert list(view.ledger("s", ["b", "absent"])) == [("s", "b")]
        assert view.ledger("s", []) == {}
        assert view.statistics().skipped == 1
        assert [one.losses for one in view.listings(FINANCE, None)] == [("uma imagem",)]


def test_a_thousand_items_can_be_asked_for_at_once(store: Store) -> None:
    store.put([Deposit(source="s", item=f"{n}", revision="1", digest="", recipe="", reason="-") for n in range(1_200)])

    with store.view() as view:
        assert len(view.ledger("s", [f"{n}" for n in range(1_200)])) == 1_200


def test_touching_notes_the_revision_and_nothing_else(store: Store) -> None:
    put(store, document("a"), {"x": 1})
    with store.view() as view:
        before = view.ledger()["", "a"]

    store.touch([("", "a", "99")])

    with store.view() as view:
        assert view.ledger()["", "a"] == replace(before, revision="99")


def test_small_values_are_kept_by_name(store: Store) -> None:
    with store.view() as view:
        assert view.recall("sources") is None

    store.remember("sources", "é")
    store.remember("sources", "ã")

    with store.view() as view:
        assert view.recall("sources") == "ã"


# --- views, writers, care ------------------------------------------------------------------------------------------


def test_a_view_inside_a_view_is_of_its_state_whatever_others_wrote_and_read_meanwhile(store: Store) -> None:
    put(store, document("a", "antes"))

    def change() -> None:
        for text in ("durante", "depois"):  # The second writer sweeps what the first one replaced.
            put(store, document("a", text))
        assert read(store) == "depois"

    with store.view() as outer:
        before = outer.slice("a", 0, None, OWNER)[2]
        writer = threading.Thread(target=change)
        writer.start()
        writer.join()

        assert (before, read(store)) == ("antes", "antes")

    assert read(store) == "depois"


def read(store: Store) -> str:
    """The text of document a, once it was found by a search."""
    with store.view() as view:
        assert len(words(view, "palavra")) == 1
        return view.slice("a", 0, None, OWNER)[2]


def test_a_view_is_not_moved_by_a_writer(store: Store) -> None:
    put(store, document("a", "um"), {"um": 1})

    def change() -> None:
        put(store, document("b", "dois"), {"um": 1})
        store.drop([("", "a")])

    with store.view() as view:
        before = (words(view, "um"), [one.document_id for one in view.listings(OWNER, None)])
        writer = threading.Thread(target=change)
        writer.start()
        writer.join()

        assert (words(view, "um"), [one.document_id for one in view.listings(OWNER, None)]) == before
        assert view.document("a", OWNER).text == "um"
    assert listed(store) == ["b"]


def test_threads_can_read_and_write_at_once(store: Store) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(5):
                put(store, document(f"{number}-{n}"), {"x": 1})
                with store.view() as view:
                    assert len(view.chunks([one.ref for one in words(view, "x", k=100)], OWNER)) >= n + 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert len(listed(store)) == 20


def test_the_writers_place_can_be_taken_within_itself(store: Store) -> None:
    with store.writing("outer"), store.writing("inner"):
        put(store, document("a"))

    assert listed(store) == ["a"]


def test_compacting_changes_no_answer(store: Store) -> None:
    for n in range(9):
        put(store, document(f"d{n}", metadata={"n": n}), {"x": n + 1, f"t{n}": 1})
    store.drop([("", "d3")])

    def answers() -> list[object]:
        with store.view() as view:
            found = words(view, "x", "t5")
            near = view.nearest(vector(1), 20, OWNER, parse({"n": {"$gt": 4}}))
            return [[(view.tie(one.ref), one.score) for one in some] for some in (found, near)]

    before = answers()
    store.compact()

    assert answers() == before
    assert store.check() == []


def test_rebuilding_makes_every_entry_anew(store: Store) -> None:
    for key in ("a", "b"):
        put(store, document(key, "um dois"), {"velho": 1}, {"velho": 2})

    def make(one: Document, spans: tuple[Span, ...]) -> tuple[Entry, ...]:
        return tuple(Entry(one.cut(at, span), {"novo": at + 1}, vector(0, 1)) for at, span in enumerate(spans))

    store.rebuild(make, {"space": "by_hand 8 1 cosine", "analyzer": "another"})

    with store.view() as view:
        assert words(view, "velho") == ()
        assert sorted(view.tie(one.ref) for one in words(view, "novo")) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    store.expect(space=SPACE, analyzer="another")


def test_another_space_or_analyzer_is_stale_and_says_what_differs(store: Store) -> None:
    store.expect(space=SPACE, analyzer="by hand")

    for space, analyzer in [(Space("by hand", DIMENSIONS, "2"), "by hand"), (SPACE, "another")]:
        with pytest.raises(StaleShelf, match="was made another way") as caught:
            store.expect(space=space, analyzer=analyzer)
        assert caught.value.hint.startswith("Run: estante rebuild")


def test_closing_twice_is_allowed(store: Store) -> None:
    store.close()
    store.close()


# --- filters of passages -------------------------------------------------------------------------------------------


def headed(store: Store, key: str, *, year: int = 2024) -> None:
    """A document of three passages under two headings, one word in each."""
    marks = (
        Mark("heading", 0, 1, "A", 1),
        Mark("page", 0, 2, "1"),
        Mark("heading", 2, 3, "B", 1),
        Mark("page", 2, 4, "2"),
    )
    one = document(key, "abcd", marks=marks, metadata={"year": year})
    put(store, one, {"x": 1}, {"x": 1}, {"x": 1})


def places(view: View, where: dict[str, object]) -> list[tuple[str, int]]:
    found = view.lexical([Word(("x",))], 50, OWNER, parse(where)).found
    near = view.nearest(vector(1), 50, OWNER, parse(where))
    assert sorted(view.tie(one.ref) for one in near) == sorted(view.tie(one.ref) for one in found)
    return sorted(view.tie(one.ref) for one in found)


def test_a_filter_may_ask_for_passages_of_documents(store: Store) -> None:
    headed(store, "a")
    headed(store, "b", year=2020)

    with store.view() as view:
        assert places(view, {"@heading": "B"}) == [("a", 2), ("b", 2)]
        assert places(view, {"@page": 1, "year": 2020}) == [("b", 0), ("b", 1)]
        assert places(view, {"$or": [{"@page": 2}, {"year": 2020}]}) == [("a", 2), ("b", 0), ("b", 1), ("b", 2)]
        assert places(view, {"$not": {"@locator": "page 1"}}) == [("a", 2), ("b", 2)]
        assert places(view, {"@line": {"$exists": True}}) == []
        where = parse({"@page": 2, "year": {"$gt": 2020}})
        assert [one.document_id for one in view.listings(OWNER, where)] == ["a"]
        assert (view.holdings(OWNER, where).documents, view.holdings(OWNER, where).chunks) == (1, 1)
        assert [view.tie(ref) for ref in view.scan(None, 9, OWNER, where)] == [("a", 2)]
        assert view.locate([("a", 1), ("a", 2)], OWNER, where) == [None, view.scan(None, 1, OWNER, where)[0]]
        assert view.preceding(["a", "b"], OWNER, where) == [0, 1]
        assert [one.document_id for one in view.listings(OWNER, parse({"@page": 3}))] == []
        assert places(view, {"@heading": "B", "@id": {"$ne": "a"}}) == [("b", 2)]
    with store.view() as view:
        assert view.nearest(vector(1), 5, FINANCE, parse({"@heading": "B"})) == ()


def test_a_filter_of_passages_is_of_the_state_of_its_view(store: Store) -> None:
    for key in ("a", "b", *(f"z{number}" for number in range(20))):
        headed(store, key, year=2024 if key in ("a", "b") else 1)
    store.compact()  # One of them must die in a segment that lives on, for it holds many.
    seen: list[list[tuple[str, int]]] = []

    def change() -> None:
        store.drop([("", "a")])
        headed(store, "c")
        with store.view() as after:
            seen.append(places(after, {"@heading": "B", "year": {"$gt": 1}}))
        store.amend("b", {"year": 1999})
        with store.view() as after:
            seen.append(places(after, {"@heading": "B", "year": 1999}))

    with store.view() as before:
        writer = threading.Thread(target=change)
        writer.start()
        writer.join()

        assert places(before, {"@heading": "B", "year": {"$gt": 1}}) == [("a", 2), ("b", 2)]
        assert places(before, {"@page": 2, "year": 2024}) == [("a", 2), ("b", 2)]
    assert seen == [[("b", 2), ("c", 2)], [("b", 2)]]
    store.compact()
    with store.view() as view:
        assert places(view, {"@page": 2, "year": {"$gt": 1}}) == [("b", 2), ("c", 2)]
