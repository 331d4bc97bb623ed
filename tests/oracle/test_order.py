"""Whatever is done to them, the store on disk has its chunks in the order of the one in memory."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from estante.index.filters import parse
from estante.security import principals
from tests.index.building import OWNER, deposit, document, entries, store, vector

IDS = st.sampled_from(["a", "a/b", "a#1", "B", "b", "é", "é/x", "z"])
PLACES = st.tuples(IDS | st.sampled_from(["", "a0", "zz"]), st.integers(-1, 4))
GRANTS = st.sampled_from([OWNER, *(principals.reader("acme", keys, "x") for keys in (["k"], [], ["k", "l"]))])
FILTERS = st.sampled_from([None, parse({"year": 1}), parse({"year": {"$ne": 1}})])


class TwinStores(RuleBasedStateMachine):
    @initialize()
    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.both = (store(self.folder / "shelf"), store())

    @rule(
        key=IDS,
        chunks=st.integers(0, 4),
        readers=st.sampled_from([frozenset(), frozenset({"k"}), frozenset({"l"})]),
        year=st.integers(0, 2),
    )
    def put(self, key: str, chunks: int, readers: frozenset[str], year: int) -> None:
        one = document(key, "x" * max(chunks, 1), readers=readers, metadata={"year": year})
        held = entries(one, [{"a": 1}] * chunks, [vector(1, at, year) for at in range(chunks)])
        for twin in self.both:
            twin.put([deposit((one, held))])

    @rule(key=IDS)
    def drop(self, key: str) -> None:
        assert len({twin.drop([("", key)]) for twin in self.both}) == 1

    @rule()
    def compact(self) -> None:
        self.both[0].compact()

    @rule(
        after=st.none() | PLACES,
        k=st.integers(1, 6),
        grant=GRANTS,
        where=FILTERS,
        wanted=st.lists(PLACES, max_size=5),
    )
    def ask(self, after, k, grant, where, wanted) -> None:
        told = []
        for twin in self.both:
            with twin.view() as view:
                refs = view.scan(after, k, grant, where)
                located = view.locate(wanted, grant, where)
                held = view.holdings(grant, where)
                told.append(
                    (
                        [view.tie(ref) for ref in refs],
                        view.vectors(refs),
                        [None if ref is None else view.tie(ref) for ref in located],
                        view.preceding([key for key, _ in wanted], grant, where),
                        (held.documents, held.chunks),
                    )
                )
        assert told[0] == told[1]

    @invariant()
    def a_scan_gives_as_many_as_are_held(self) -> None:
        if hasattr(self, "both"):
            with self.both[0].view() as view:
                assert len(view.scan(None, 1_000, OWNER, None)) == view.holdings(OWNER, None).chunks

    def teardown(self) -> None:
        if hasattr(self, "both"):
            self.both[0].close()
            shutil.rmtree(self.folder)


TwinStores.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestTwinStores = TwinStores.TestCase
