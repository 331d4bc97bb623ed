"""BM25: the published formula, and the same bits whatever was done to the shelf before."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estante.index.lexical import contribution, damping, idf
from estante.model.ports import WEIGHTS, Store, Weights, Word
from tests.index.building import OWNER, deposit, document, entries, store, stored, vector

K1, B = WEIGHTS.k1, WEIGHTS.b
TERMS = ["a", "b", "c", "d", "é"]
CHUNK = st.lists(st.sampled_from(TERMS), max_size=12)
CORPORA = st.dictionaries(
    st.sampled_from([f"d{n}" for n in range(9)]), st.lists(CHUNK, min_size=1, max_size=3), min_size=1, max_size=9
)


def naive(corpus: dict[str, list[list[str]]], query: Sequence[str]) -> dict[tuple[str, int], float]:
    """BM25 as Robertson and Zaragoza print it, chunk by chunk."""
    chunks = {(key, at): Counter(words) for key, some in corpus.items() for at, words in enumerate(some)}
    average = sum(sum(words.values()) for words in chunks.values()) / len(chunks)
    found: dict[tuple[str, int], float] = {}
    for key, words in chunks.items():
        score = 0.0
        for term in query:
            df = sum(1 for other in chunks.values() if term in other)
            tf = words[term]
            if tf:
                norm = 1 - B + B * sum(words.values()) / average
                score += math.log(1 + (len(chunks) - df + 0.5) / (df + 0.5)) * tf * (K1 + 1) / (tf + K1 * norm)
        if score > 0:
            found[key] = score
    return found


def fill(made: Store, corpus: dict[str, list[list[str]]]) -> None:
    made.put(stored({key: [Counter(words) for words in chunks] for key, chunks in corpus.items()}))


def ask(made: Store, *terms: str, k: int = 1_000) -> list[tuple[tuple[str, int], float]]:
    """Each chunk that is found, by document and position, with its score."""
    with made.view() as view:
        answer = view.lexical([Word((term,)) for term in terms], k, OWNER, None)
        return [(view.tie(one.ref), one.score) for one in answer.found]


# --- the formula ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chunks", "df"), [(1, 0), (1, 1), (10, 10), (10, 1), (1_000_000, 1)])
def test_idf_is_positive_and_as_published(chunks: int, df: int) -> None:
    assert idf(chunks, df) == math.log(1 + (chunks - df + 0.5) / (df + 0.5))
    assert idf(chunks, df) > 0


@given(st.integers(1, 10_000), st.data())
def test_a_rarer_word_weighs_more(chunks: int, data: st.DataObject) -> None:
    often = data.draw(st.integers(1, chunks))

    assert idf(chunks, often - 1) > idf(chunks, often)


def test_a_chunk_of_average_length_is_damped_by_k1_alone() -> None:
    assert damping(7.0, 7.0, WEIGHTS) == K1
    assert damping(14.0, 7.0, WEIGHTS) > K1 > damping(3.0, 7.0, WEIGHTS)


@given(st.floats(0.1, 10), st.integers(1, 1_000), st.floats(0.3, 20))
def test_a_word_adds_more_the_more_often_it_stands_but_never_more_than_its_ceiling(
    weight: float, count: int, damp: float
) -> None:
    one, more = (contribution(weight, float(count + more), damp, WEIGHTS) for more in (0, 1))

    assert 0 < one <= more <= weight * (K1 + 1)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_an_array_is_scored_as_its_numbers_are(counts: list[int]) -> None:
    lengths = np.array(counts, np.float64) * 3

    whole = contribution(1.5, np.array(counts, np.float64), damping(lengths, 11.0, WEIGHTS), WEIGHTS)

    assert whole.tolist() == [
        contribution(1.5, float(count), damping(float(length), 11.0, WEIGHTS), WEIGHTS)
        for count, length in zip(counts, lengths, strict=True)
    ]


# --- on a shelf ----------------------------------------------------------------------------------------------------


@given(CORPORA, st.lists(st.sampled_from(TERMS), min_size=1, max_size=4, unique=True))
def test_the_memory_store_scores_by_the_formula(corpus: dict[str, list[list[str]]], query: list[str]) -> None:
    made = store()
    fill(made, corpus)

    answer = ask(made, *query)

    expected = naive(corpus, query)
    assert {key for key, _ in answer} == expected.keys()
    assert all(math.isclose(score, expected[key], rel_tol=1e-12) for key, score in answer)
    assert answer == sorted(answer, key=lambda one: (-one[1], one[0]))


@settings(max_examples=8)
@given(CORPORA, CORPORA, st.sets(st.sampled_from([f"d{n}" for n in range(9)])), st.booleans())
def test_a_shelf_that_was_changed_scores_as_a_fresh_one_to_the_last_bit(
    first: dict[str, list[list[str]]], then: dict[str, list[list[str]]], gone: set[str], compacted: bool
) -> None:
    left = {key: chunks for key, chunks in {**first, **then}.items() if key not in gone}
    fresh = store()
    fill(fresh, left)
    with tempfile.TemporaryDirectory() as folder:
        changed = store(Path(folder))
        half = len(first) // 2
        for part in (list(first)[:half], list(first)[half:]):
            fill(changed, {key: first[key] for key in part})
        fill(changed, then)
        changed.drop([("", key) for key in gone])
        if compacted:
            changed.compact()

        answers = [ask(changed, term) for term in TERMS] + [ask(changed, *TERMS, k=3)]

        changed.close()
    assert answers == [ask(fresh, term) for term in TERMS] + [ask(fresh, *TERMS, k=3)]


@pytest.fixture(params=["memory", "embedded"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    found = store(None if request.param == "memory" else tmp_path / "shelf")
    yield found
    found.close()


def test_a_chunk_without_any_word_of_the_question_is_not_found(made: Store) -> None:
    fill(made, {"d0": [["a"], ["b"]], "d1": [["c"]]})

    assert [key for key, _ in ask(made, "a", "zebra")] == [("d0", 0)]
    assert ask(made, "zebra") == []
    assert ask(made) == []


def test_equal_scores_stand_in_the_order_of_id_and_position(made: Store) -> None:
    fill(made, {"d2": [["a"]], "d10": [["a"], ["a"]], "d1": [["a"]]})

    assert [key for key, _ in ask(made, "a")] == [("d1", 0), ("d10", 0), ("d10", 1), ("d2", 0)]
    assert [key for key, _ in ask(made, "a", k=2)] == [("d1", 0), ("d10", 0)]


def test_coverage_is_the_share_of_the_words_weight_in_the_best_chunk(made: Store) -> None:
    fill(made, {"d0": [["a", "b"]], "d1": [["a"]], "d2": [["c"]]})

    with made.view() as view:
        answer = view.lexical([Word((term,)) for term in ("a", "b", "zebra")], 10, OWNER, None)

    weights = [idf(3, 2), idf(3, 1), idf(3, 0)]
    assert answer.coverage == pytest.approx((weights[0] + weights[1]) / sum(weights), rel=1e-12)
    assert answer.held == (True, True, False)


def test_a_word_is_as_rare_as_it_is_among_chunks_of_its_own_language(made: Store) -> None:
    languages = {"d0": "pt-BR", "d1": "pt", "d2": "pt", "d3": "en", "d4": "en"}
    terms = {"d0": "pt:casa", "d1": "c", "d2": "c", "d3": "en:house", "d4": "en:house"}
    for key, language in languages.items():
        one = document(key, language=language)
        made.put([deposit((one, entries(one, [{terms[key]: 1}], [vector()])))])

    with made.view() as view:
        answer = view.lexical([Word(("pt:casa", "en:house"))], 10, OWNER, None)
        bare = view.lexical([Word(("c",))], 10, OWNER, None)

    expected = [idf(3, 1), idf(2, 2), idf(2, 2)]
    assert [one.score for one in answer.found] == [pytest.approx(score, rel=1e-12) for score in expected]
    assert (answer.coverage, answer.held) == (1.0, (True,))
    assert [one.score for one in bare.found] == [pytest.approx(idf(3, 2), rel=1e-12)] * 2


def test_counts_in_title_and_headings_are_weighed_before_they_are_damped(made: Store) -> None:
    one = document("a", "x" * 3)
    plain = entries(one, [{"a": 2, "b": 1}, {"b": 3}, {"b": 1}], [vector()] * 3)
    first = replace(plain[0], title={"a": 1}, trail={"a": 3, "b": 1})
    made.put([deposit((one, (first, *plain[1:])))])
    weights = Weights(k1=1.5, b=0.5, title=3.0, trail=0.25, body=2.0)

    with made.view() as view:
        [found] = view.lexical([Word(("a",))], 10, OWNER, None, weights=weights).found

    count = 2 * 2.0 + 1 * 3.0 + 3 * 0.25
    lengths = [3 * 2.0 + 1 * 3.0 + 4 * 0.25, 3 * 2.0, 1 * 2.0]
    damp = 1.5 * (1 - 0.5 + 0.5 * lengths[0] / (sum(lengths) / 3))
    assert found.score == pytest.approx(idf(3, 1) * count * 2.5 / (count + damp), rel=1e-12)


def test_chunks_without_words_do_no_harm(made: Store) -> None:
    fill(made, {"d0": [[], []]})

    assert ask(made, "a") == []
    with made.view() as view:
        refs = [one.ref for one in view.lexical([Word(("a",))], 5, OWNER, None).found]
        assert view.bm25([Word(("a",))], refs, OWNER) == []


def test_the_score_of_given_candidates_is_the_one_they_are_found_with(made: Store) -> None:
    fill(made, {f"d{n}": [["a"] * (n + 1), ["b"]] for n in range(6)})
    words = [Word(("a",)), Word(("b",))]

    with made.view() as view:
        answer = view.lexical(words, 100, OWNER, None).found

        assert view.bm25(words, [one.ref for one in answer], OWNER) == [one.score for one in answer]
        assert view.bm25([Word(("zebra",))], [one.ref for one in answer], OWNER) == [0.0] * len(answer)
