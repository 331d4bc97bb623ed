"""What holds of every run, whatever was asked and found."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate.asking import Asked, Found
from estante.evaluate.collection import Collection, Question
from estante.evaluate.compare import Trial, compare
from estante.evaluate.keeping import MANIFEST, files_of, read, write
from estante.evaluate.measures import measures_of
from estante.evaluate.results import results_of, rows_of
from estante.evaluate.runs import Run
from estante.evaluate.spans import TextSpan

MEASURES = measures_of(["nDCG@3", "R@2", "AP", "SpanR@2", "SpanIoU"])
IDS = ["q1", "q2", "q3"]

NAMES = st.one_of(st.sampled_from("abcd"), st.text(st.characters(), min_size=1, max_size=4))
SPANS = st.builds(
    lambda name, start, size: TextSpan(name, start, start + size), NAMES, st.integers(0, 9), st.integers(1, 9)
)
HITS = st.builds(
    Found,
    name=st.none() | NAMES,
    chunk=st.none() | NAMES,
    document=st.none() | NAMES,
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    span=st.none() | SPANS,
    length=st.integers(0, 20),
)
QUESTIONS = st.tuples(
    *(
        st.builds(
            Question,
            id=st.just(name),
            text=st.text(max_size=9),
            judged=st.dictionaries(NAMES, st.integers(-1, 3), max_size=4),
            gold=st.lists(SPANS, max_size=2, unique=True).map(lambda spans: tuple(sorted(spans))),
        )
        for name in IDS
    )
)
ASKED = st.tuples(
    *(
        st.builds(Asked, question=st.just(name), hits=st.lists(HITS, max_size=4).map(tuple))
        | st.builds(Asked, question=st.just(name), error=st.text(max_size=9))
        for name in IDS
    )
)


def run(questions: tuple[Question, ...], asked: tuple[Asked, ...], name: str = "run") -> Run:
    collection = Collection(name="c", questions=questions)
    results = results_of(name, MEASURES, collection, asked, settings={"by": "chunk", "top_k": 4}, pipeline={})
    return Run(results=results, questions=questions, asked=asked, circumstances={"seconds": {}})


@given(QUESTIONS, ASKED)
def test_a_run_is_read_as_it_was_written_whatever_its_names_are(
    tmp_path_factory: pytest.TempPathFactory, questions: tuple[Question, ...], asked: tuple[Asked, ...]
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "run"
    made = run(questions, asked)

    write(folder, made)

    assert read(folder) == made


@given(QUESTIONS, ASKED)
def test_every_question_has_a_value_between_0_and_1_for_every_measure(
    questions: tuple[Question, ...], asked: tuple[Asked, ...]
) -> None:
    rows = rows_of(MEASURES, questions, asked)

    assert [row.id for row in rows] == IDS
    assert all(0 <= value <= 1 + 1e-12 for row in rows for value in row.values)


@given(QUESTIONS, ASKED)
def test_an_error_counts_as_an_error_and_an_empty_result_does_not(
    questions: tuple[Question, ...], asked: tuple[Asked, ...]
) -> None:
    counts = run(questions, asked).results.counts

    assert counts["errors"] == sum(one.error is not None for one in asked)
    assert counts["errors"] + counts["without_results"] == sum(not one.hits for one in asked)


@given(QUESTIONS, ASKED)
def test_the_order_of_the_questions_changes_no_value(questions: tuple[Question, ...], asked: tuple[Asked, ...]) -> None:
    first = {row.id: row for row in rows_of(MEASURES, questions, asked)}

    for order in permutations(range(len(IDS))):
        again = rows_of(MEASURES, [questions[at] for at in order], [asked[at] for at in order])
        assert {row.id: row for row in again} == first


@given(QUESTIONS, ASKED, ASKED)
def test_a_run_never_differs_from_itself_and_two_differ_the_same_both_ways(
    questions: tuple[Question, ...], mine: tuple[Asked, ...], theirs: tuple[Asked, ...]
) -> None:
    one, other = run(questions, mine).results, run(questions, theirs).results
    trial = Trial(rounds=100)

    same, there, back = (compare(pair, trial=trial) for pair in ([one, one], [one, other], [other, one]))

    assert all(found.p == 1.0 and found.paired.difference == 0 for found in same.differences)
    assert [found.p for found in there.differences] == [found.p for found in back.differences]


@given(QUESTIONS, ASKED)
def test_the_circumstances_are_the_only_part_that_may_differ(
    questions: tuple[Question, ...], asked: tuple[Asked, ...]
) -> None:
    one, other = (files_of(run(questions, asked)) for _ in range(2))

    assert one == other
    assert set(json.loads(one[MANIFEST])) == {"format", "core_sha256", "core", "circumstances"}
