"""Runs compared: the family of tests, what is compared with what, what must be known, and what fell."""

from __future__ import annotations

from typing import Any

import pytest

from estante.evaluate.compare import Comparison, Trial, compare, fallen, furthest
from estante.evaluate.errors import Incomparable
from estante.evaluate.measures import Measure, measures_of
from estante.evaluate.results import Results, Row
from estante.evaluate.statistics import holm, paired
from estante.evaluate.words import Words

MEASURES = measures_of(["nDCG@10", "R@100"])
COUNTS = {"errors": 0, "judged_absent": 0}


def results(name: str, values: list[float], **more: Any) -> Results:
    """A run with the same values in both measures, one a question."""
    marks = more.pop("marks", ["m"] * len(values))
    rows = tuple(
        Row(id=f"q{at}", mark=mark, values=(value, value), hits=1)
        for at, (value, mark) in enumerate(zip(values, marks, strict=True))
    )
    return Results(**{"name": name, "measures": MEASURES, "rows": rows, "counts": COUNTS, **more})


def remarks(found: Comparison) -> list[str]:
    words = Words("en")
    return [words(one.key, **one.values) for one in found.warnings]


LOW = results("low", [0.1, 0.2, 0.3, 0.4] * 10)
HIGH = results("high", [0.3, 0.4, 0.4, 0.6] * 10)
SAME = results("same", [0.2, 0.1, 0.4, 0.3] * 10)


def test_each_run_is_compared_with_the_first() -> None:
    found = compare([LOW, HIGH, SAME])

    assert [(one.measure, one.first, one.second) for one in found.differences] == [
        (measure, "low", other) for measure in MEASURES for other in ("high", "same")
    ]
    assert [one.significant for one in found.differences] == [True, False] * 2


def test_all_pairs_can_be_compared() -> None:
    found = compare([LOW, HIGH, SAME], MEASURES[:1], Trial(all_pairs=True))

    assert [(one.first, one.second) for one in found.differences] == [
        ("low", "high"),
        ("low", "same"),
        ("high", "same"),
    ]


def test_holm_is_taken_over_everything_that_was_compared() -> None:
    found = compare([LOW, HIGH, SAME])
    alone = [one.paired.p_randomisation for one in found.differences]

    assert [one.p for one in found.differences] == holm(alone)
    assert found.differences[0].p == pytest.approx(4 * alone[0])


def test_the_statistics_are_those_of_the_pairs() -> None:
    found = compare([LOW, HIGH], MEASURES[:1], Trial(rounds=500, seed=5))

    mine, theirs = (list(run.values(MEASURES[0]).values()) for run in (LOW, HIGH))
    assert found.differences[0].paired == paired(mine, theirs, rounds=500, seed=5)


def test_questions_that_one_run_lacks_are_left_out_and_told() -> None:
    found = compare([LOW, results("few", [0.3, 0.4])])

    assert found.questions == ("q0", "q1")
    assert any(one.startswith("low: 38 of 40 questions are left out") for one in remarks(found))


def test_questions_that_were_judged_otherwise_are_left_out_and_told() -> None:
    other = results("other", [0.1, 0.2], marks=["m", "n"])

    found = compare([results("one", [0.1, 0.2]), other])

    assert found.questions == ("q0",)
    assert sum("1 of 2 questions are left out" in one for one in remarks(found)) == 2


def test_runs_without_a_common_question_cannot_be_compared() -> None:
    with pytest.raises(Incomparable, match="no question with the same judgements"):
        compare([results("one", [0.1]), results("other", [0.1], marks=["n"])])


def test_runs_without_a_common_measure_cannot_be_compared() -> None:
    other = results("other", [0.1], measures=(Measure("AP"), Measure("RR")))

    with pytest.raises(Incomparable, match="no measure in common"):
        compare([results("one", [0.1]), other])


def test_a_measure_that_a_run_lacks_is_named_with_how_to_get_it() -> None:
    with pytest.raises(Incomparable) as caught:
        compare([LOW, HIGH], measures_of(["AP"]))

    assert "-m AP" in caught.value.hint


def test_one_run_is_not_compared() -> None:
    with pytest.raises(Incomparable, match="1 run cannot be compared"):
        compare([LOW])


@pytest.mark.parametrize("more", [{"alpha": 0.0}, {"alpha": 1.0}, {"rounds": 10}])
def test_a_trial_that_makes_no_sense_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Incomparable):
        Trial(**more)


def test_runs_of_one_name_are_numbered() -> None:
    assert compare([LOW, LOW, LOW]).names == ("low", "low (2)", "low (3)")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"pipeline": {"fingerprint": "b"}}, "other: the corpus of the pipeline is another than that of one"),
        ({"collection": {"corpus_sha256": "b"}}, "other: the corpus of the collection is another than that of one"),
        ({"collection": {"questions_sha256": "b"}}, "other: the questions are worded otherwise than those of one"),
        ({"counts": {"errors": 2, "judged_absent": 0}}, "other: the pipeline failed at 2 questions, which count 0"),
        (
            {"counts": {"errors": 0, "judged_absent": 3}},
            "other: 3 names judged relevant are not in the corpus and cannot be found",
        ),
        ({"settings": {"top_k": 5, "by": "document"}}, "other: top_k is 5, and 300 in one"),
    ],
)
def test_what_may_explain_a_difference_is_told(more: dict[str, Any], told: str) -> None:
    same: dict[str, Any] = {
        "pipeline": {"fingerprint": "a"},
        "collection": {"corpus_sha256": "a", "questions_sha256": "a"},
        "settings": {"top_k": 300, "by": "document"},
    }

    found = compare([results("one", [0.1], **same), results("other", [0.1], **{**same, **more})])

    assert remarks(found) == [told]


def test_two_runs_of_one_corpus_have_nothing_to_be_told() -> None:
    assert remarks(compare([LOW, HIGH])) == []


def test_the_furthest_questions_come_first_and_equal_ones_are_not_listed() -> None:
    found = furthest(results("a", [0.1, 0.5, 0.5, 0.9]), results("b", [0.3, 0.0, 0.5, 1.0]), MEASURES[0], 2)

    assert [(one.question, round(one.difference, 6)) for one in found] == [("q1", -0.5), ("q0", 0.2)]


def test_a_significant_drop_falls_and_a_rise_does_not() -> None:
    assert len(fallen(compare([HIGH, LOW]), 0.0)) == 2
    assert fallen(compare([LOW, HIGH]), 0.0) == []


def test_a_drop_within_what_is_allowed_does_not_fall() -> None:
    assert fallen(compare([HIGH, LOW]), 0.3) == []


def test_a_drop_that_chance_explains_does_not_fall() -> None:
    found = compare([results("one", [0.5, 0.4, 0.1]), results("other", [0.4, 0.4, 0.1])])

    assert fallen(found, 0.0) == []
