"""Ranked measures: against values worked out by hand, and against trec_eval with scores of its own."""

from __future__ import annotations

import math
import sys

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate.errors import MissingLibrary
from estante.evaluate.measures import measure_of, measures_of
from estante.evaluate.ranked import values

NAMES = st.sampled_from("abcdefghij")
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(NAMES, st.integers(0, 3), min_size=1), min_size=1
)
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(NAMES, unique=True))


def value(text: str, judged: dict[str, int], ranking: list[str]) -> float:
    measure = measure_of(text)
    return values([measure], {"q": judged}, {"q": ranking})[measure]["q"]


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        # x has grade 2, y grade 1, u grade 1 and is not found, z was judged not relevant, n by nobody.
        ("nDCG@3", (2 / math.log2(3)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))),
        ("nDCG", (2 / math.log2(3) + 1 / math.log2(5)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))),
        ("R@2", 1 / 3),
        ("R@10", 2 / 3),
        ("R(rel=2)@2", 1.0),
        ("P@2", 1 / 2),
        ("P@10", 2 / 10),
        ("RR", 1 / 2),
        ("RR@1", 0.0),
        ("AP", (1 / 2 + 2 / 4) / 3),
        ("AP@2", (1 / 2) / 3),
        ("Success@1", 0.0),
        ("Success@2", 1.0),
        ("Rprec", 1 / 3),
        ("Judged@4", 3 / 4),
    ],
)
def test_a_measure_has_the_value_that_is_worked_out_by_hand(text: str, worth: float) -> None:
    assert value(text, {"x": 2, "y": 1, "u": 1, "z": 0}, ["z", "x", "n", "y"]) == pytest.approx(worth, abs=1e-6)


def test_a_question_without_results_counts_zero_and_is_there() -> None:
    measures = measures_of(["nDCG@10", "R@5", "RR", "AP", "Bpref", "Judged@5"])

    found = values(measures, {"a": {"x": 1}, "b": {"y": 1}}, {"a": ["x"], "b": []})

    assert all(list(found[measure]) == ["a", "b"] for measure in measures)
    assert [found[measure]["b"] for measure in measures] == [0.0] * len(measures)


def test_a_question_with_nothing_relevant_counts_zero() -> None:
    assert value("nDCG@10", {"x": 0}, ["x"]) == 0.0


def test_questions_without_judgements_are_left_to_the_caller() -> None:
    measure = measure_of("R@5")

    assert values([measure], {"a": {}, "b": {"x": 1}}, {"c": ["x"]})[measure] == {"b": 0.0}


@given(QRELS, RUNS)
def test_every_value_is_that_of_trec_eval(qrels: dict[str, dict[str, int]], run: dict[str, list[str]]) -> None:
    told = {"nDCG@3": "ndcg_cut_3", "R@2": "recall_2", "P@3": "P_3", "RR": "recip_rank", "AP": "map", "Rprec": "Rprec"}
    measures = measures_of(told)
    scored = {name: {one: 1.0 / (place + 1) for place, one in enumerate(names)} for name, names in run.items() if names}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(told.values())).evaluate(scored)

    mine = values(measures, qrels, run)

    for measure in measures:
        for question in qrels:
            expected = theirs.get(question, {}).get(told[str(measure)], 0.0)
            assert mine[measure][question] == pytest.approx(expected, abs=1e-12), (measure, question)


def test_the_measures_are_those_that_the_library_reads_under_the_same_names() -> None:
    for text in ("nDCG@10", "R(rel=2)@10", "AP", "RR@10", "Success@5", "Judged@3"):
        name = measure_of(text).name
        assert name in ir_measures.measures.registry


def test_the_first_of_a_ranking_is_the_first_however_long_it_is() -> None:
    names = [f"n{place:05}" for place in range(20_000)]

    assert value("RR", {"n19999": 1}, names) == pytest.approx(1 / 20_000)


@pytest.mark.parametrize(
    "names", [["\0a", "\0b", "x"], ["\ud800", "\ud801", "x"], ["", " ", "x"], ["a\0", "a\0b", "x"]]
)
def test_names_that_a_text_of_c_cannot_hold_are_told_apart(names: list[str]) -> None:
    assert value("RR", {"x": 1}, names) == pytest.approx(1 / 3)
    assert value("AP", {names[1]: 1}, names) == pytest.approx(1 / 2)


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(MissingLibrary) as caught:
        value("RR", {"x": 1}, ["x"])

    assert 'pip install "estante[eval]"' in caught.value.hint
