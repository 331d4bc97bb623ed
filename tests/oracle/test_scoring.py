"""Scores and demands: every store gives what the plain one gives, to the last bit, whatever was done to it before."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from estante.index.filters import parse
from estante.model.ports import WEIGHTS, Demand, Deposit, Found, Store, View, Weights, Word
from estante.security import principals
from tests.index.building import OWNER, deposit, document, entries, store, vector

FINANCE = principals.reader("acme", ["finance"], "ana")
TERMS = ["pt:casa", "pt:cas", "pt:prazo", "en:house", "en:cas", "casa", "c++", "2024", "é"]
WORD = st.sampled_from(TERMS)
COUNTS = st.dictionaries(WORD, st.integers(1, 9), max_size=4)
CHUNK = st.tuples(COUNTS, COUNTS | st.just({}), COUNTS | st.just({}))
IDS = st.sampled_from([f"d{n}" for n in range(8)])
RANGES = st.sampled_from([("pt:ca", "pt:ca\U0010ffff"), ("en:", "en;"), ("c", "c\U0010ffff"), ("pt:x", "pt:a")])


@dataclass(frozen=True)
class Case:
    """A document as it is put: its language, its readers, its year, and the counts of its chunks by field."""

    language: str
    readers: frozenset[str]
    year: int
    chunks: list[tuple[dict[str, int], dict[str, int], dict[str, int]]]


CASES = st.builds(
    Case,
    st.sampled_from(["pt", "pt-BR", "en", "und", ""]),
    st.sampled_from([frozenset(), frozenset({"finance"})]),
    st.sampled_from([2023, 2024]),
    st.lists(CHUNK, max_size=3),
)
WORDS = st.lists(
    st.builds(
        Word,
        st.lists(WORD, max_size=3, unique=True).map(tuple),
        st.lists(RANGES, max_size=2, unique=True).map(tuple),
        st.sampled_from([1.0, 0.5]),
    ),
    min_size=1,
    max_size=4,
)
DEMANDS = st.lists(
    st.builds(
        Demand,
        st.builds(Word, WORD.map(lambda one: (one,))),
        st.sampled_from(["any", "title", "heading"]),
        st.booleans(),
    ),
    max_size=2,
)
WEIGHINGS = st.just(WEIGHTS) | st.builds(
    Weights,
    st.sampled_from([0.5, 1.2]),
    st.sampled_from([0.0, 1.0]),
    st.just(3.0),
    st.just(0.0),
    st.sampled_from([1.0, 0.0]),
)


def made(key: str, case: Case) -> Deposit:
    one = document(
        key, "x" * max(len(case.chunks), 1), readers=case.readers, metadata={"year": case.year}, language=case.language
    )
    bodies = [body for body, _, _ in case.chunks]
    plain = entries(one, bodies, [vector(1, at) for at in range(len(bodies))])
    told = [
        replace(entry, title=title, trail=trail) for entry, (_, title, trail) in zip(plain, case.chunks, strict=True)
    ]
    return deposit((one, tuple(told)))


def answers(view: View, words: list[Word], demands: list[Demand], weights: Weights) -> list[object]:
    """All that a view says of some words, with candidates by their places."""

    def placed(found: tuple[Found, ...]) -> list[tuple[tuple[str, int], float]]:
        return [(view.tie(one.ref), one.score) for one in found]

    told: list[object] = []
    for grant in (OWNER, FINANCE):
        for where in (None, parse({"year": 2024})):
            for k in (1, 100):
                found = view.lexical(words, k, grant, where, demands, weights)
                told += [placed(found.found), found.coverage, found.held]
            told.append(placed(view.nearest(vector(1, 1), 5, grant, where, demands)))
        told.append(view.frequencies(words, grant))
        told.append([view.similar(term, 2, grant) for term in TERMS])
        refs = [one.ref for one in view.lexical(words, 100, grant, None, (), weights).found]
        told.append(view.bm25(words, refs, grant, weights))
    return told


def fill(target: Store, cases: dict[str, Case], parts: int = 1) -> None:
    items = list(cases.items())
    for part in range(parts):
        target.put([made(key, case) for key, case in items[part::parts]])


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(IDS, CASES, max_size=8),
    st.dictionaries(IDS, CASES, max_size=4),
    st.sets(IDS, max_size=3),
    WORDS,
    DEMANDS,
    WEIGHINGS,
    st.integers(1, 3),
)
def test_a_shelf_on_disk_that_was_changed_answers_as_a_fresh_one_in_memory(
    first: dict[str, Case],
    then: dict[str, Case],
    gone: set[str],
    words: list[Word],
    demands: list[Demand],
    weights: Weights,
    parts: int,
) -> None:
    plain = store()
    fill(plain, {key: case for key, case in {**first, **then}.items() if key not in gone})
    with tempfile.TemporaryDirectory() as folder:
        changed = store(Path(folder))
        fill(changed, first, parts)
        fill(changed, then)
        changed.drop([("", key) for key in gone])
        with plain.view() as wanted, changed.view() as found:
            assert answers(found, words, demands, weights) == answers(wanted, words, demands, weights)
        changed.compact()
        with plain.view() as wanted, changed.view() as found:
            assert answers(found, words, demands, weights) == answers(wanted, words, demands, weights)
        changed.close()
