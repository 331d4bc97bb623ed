"""Whatever is done to them, the store on disk answers as the one in memory, to the last bit."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from estante.model.asking import MODES, Results
from estante.model.errors import NameTaken, NotFound
from estante.security import principals
from tests.parts import bookcase, stores

WORDS = ["licitação", "licitações", "férias", "servidor", "prazo", "budget", "budgets", "leave", "server", "de", "the"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
IDS = st.sampled_from([f"d{n}" for n in range(8)])
READERS = st.sampled_from([None, ["*"], ["finance"], ["legal", "finance"]])
METADATA = st.dictionaries(
    st.sampled_from(["year", "tags", "note"]),
    st.one_of(
        st.integers(0, 3), st.booleans(), st.none(), st.text(max_size=3), st.lists(st.integers(0, 2), max_size=2)
    ),
    max_size=3,
)
FILTERS = [
    None,
    {"year": 1},
    {"year": True},
    {"year": {"$gte": 1}},
    {"tags": {"$in": [1, None]}},
    {"$or": [{"note": {"$exists": True}}, {"@language": "pt"}]},
    {"$not": {"@id": {"$startswith": "d1"}}},
]


def timeless(results: Results) -> Results:
    return replace(results, took_ms=0.0)


class TwinBookcases(RuleBasedStateMachine):
    """The same program run on both."""

    @initialize()
    def open_both(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.disk, self.memory = (
            bookcase(self.folder, max_chars=120, min_chars=10),
            bookcase(max_chars=120, min_chars=10),
        )

    @rule(texts=st.dictionaries(IDS, TEXTS, min_size=1, max_size=4), readers=READERS, data=st.data())
    def add(self, texts: dict[str, str], readers: list[str] | None, data: st.DataObject) -> None:
        metadata = {key: data.draw(METADATA) for key in texts}
        outcomes = [case.add(texts, metadata=metadata, readers=readers) for case in (self.disk, self.memory)]

        assert replace(outcomes[0], seconds=0.0) == replace(outcomes[1], seconds=0.0)

    @rule(key=IDS)
    def delete(self, key: str) -> None:
        gone = []
        for case in (self.disk, self.memory):
            try:
                gone.append(case.delete(key))
            except NotFound as error:
                gone.append(error.message)
        assert gone[0] == gone[1]

    @rule(key=IDS, metadata=METADATA, merge=st.booleans())
    def update(self, key: str, metadata: dict[str, object], merge: bool) -> None:
        for case in (self.disk, self.memory):
            if key in case:
                case.update_metadata(key, metadata, merge=merge)

    @rule()
    def compact(self) -> None:
        self.disk.compact()

    @rule()
    def rebuild(self) -> None:
        assert self.disk.rebuild() == self.memory.rebuild()

    @rule()
    def reopen(self) -> None:
        self.disk.close()
        self.disk = bookcase(self.folder, max_chars=120, min_chars=10)

    @rule(
        query=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        k=st.integers(1, 12),
        mode=st.sampled_from(MODES),
        where=st.sampled_from(FILTERS),
        keys=st.sampled_from([None, [], ["finance"], ["legal"]]),
    )
    def search(self, query: str, k: int, mode: str, where: dict[str, object] | None, keys: list[str] | None) -> None:
        asker = None if keys is None else principals.reader("acme", keys, "someone")
        found = [
            case.search(query, k, mode=mode, where=where, asker=asker)  # type: ignore[arg-type]
            for case in (self.disk, self.memory)
        ]

        assert timeless(found[0]) == timeless(found[1])

    @invariant()
    def the_same_is_held(self) -> None:
        if not hasattr(self, "disk"):
            return
        assert self.disk.documents() == self.memory.documents()
        for name, store in stores(self.disk).items():
            with store.view() as disk, stores(self.memory)[name].view() as memory:
                assert disk.ledger() == memory.ledger()
                one, other = disk.statistics(), memory.statistics()
                assert replace(one, bytes=0) == replace(other, bytes=0)
                for listing in disk.listings(principals.owner("acme"), None):
                    assert disk.entries(listing.document_id) == memory.entries(listing.document_id)
                    whole = disk.document(listing.document_id, principals.owner("acme"))
                    assert whole == memory.document(listing.document_id, principals.owner("acme"))

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            assert self.disk.check() == []
            self.disk.close()
            shutil.rmtree(self.folder)


TwinBookcases.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestTwinBookcases = TwinBookcases.TestCase


def test_an_id_that_two_items_bring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("licitação", encoding="utf-8")
    for case in (bookcase(tmp_path / "case"), bookcase()):
        case.add({"notes/a.txt": "férias"})

        outcome = case.add(tmp_path / "notes")

        assert [one.uri for one in outcome.skipped] == ["a.txt"]
        assert case.text("notes/a.txt")[2] == "férias"
        case.close()


def test_a_taken_id_raises_at_the_store(tmp_path: Path) -> None:
    for case in (bookcase(tmp_path / "case"), bookcase()):
        case.add({"a": "férias"})
        store = stores(case)["private"]
        with store.view() as view:
            document = view.document("a", principals.owner("acme"))
            entries = view.entries("a")
        from estante.model.ports import Deposit

        other = Deposit(source="other", item="a", revision="1", digest="", recipe="", documents=((document, entries),))
        with pytest.raises(NameTaken):
            store.put([other])
        case.close()
