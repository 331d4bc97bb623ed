"""Measures as values, and names that are none."""

from __future__ import annotations

import pickle

import pytest

from estante.evaluate.errors import EvaluationError, UnknownMeasure
from estante.evaluate.measures import KINDS, Measure, mean, measure_of, measures_of


@pytest.mark.parametrize(
    "text",
    ["nDCG@10", "nDCG", "R@100", "R(rel=2)@10", "RR", "RR@10", "AP", "AP(rel=2)@100", "P@5", "SpanIoU", "SpanR@3"],
)
def test_a_measure_prints_as_it_is_typed(text: str) -> None:
    assert str(measure_of(text)) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ndcg@10", "nDCG@10"),
        ("MRR@10", "RR@10"),
        ("map", "AP"),
        ("Recall@100", "R@100"),
        ("precison@5", "P@5"),
        ("hitrate@3", "Success@3"),
        ("ndgc@10", "nDCG@10"),
        ("spaniou@5", "SpanIoU@5"),
        ("recall", "R@10"),
    ],
)
def test_an_unknown_measure_names_the_nearest_one(text: str, meant: str) -> None:
    with pytest.raises(UnknownMeasure) as caught:
        measure_of(text)

    assert caught.value.hint == f"Did you mean {meant}?"


def test_a_measure_that_is_near_to_none_lists_all() -> None:
    with pytest.raises(UnknownMeasure) as caught:
        measure_of("zzzzzzzz")

    assert all(name in caught.value.hint for name in KINDS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("P", "needs a number of places"),
        ("Rprec@5", "takes no number"),
        ("nDCG(rel=2)@10", "takes no (rel=2)"),
        ("nDCG@", "is no measure"),
        ("nDCG@0", "is no measure"),
        ("", "is no measure"),
        ("R(rel=0)@5", "is no measure"),
    ],
)
def test_a_measure_with_wrong_parameters_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UnknownMeasure) as caught:
        measure_of(text)

    assert complaint in caught.value.message


def test_a_measure_made_by_hand_is_held_to_the_same() -> None:
    with pytest.raises(UnknownMeasure):
        Measure("R", 0)


def test_measures_stand_once_each_in_their_order() -> None:
    assert list(map(str, measures_of(["R@5", "AP", "R@5"]))) == ["R@5", "AP"]


def test_the_mean_of_nothing_is_zero() -> None:
    assert mean({}) == 0.0
    assert mean({"a": 1.0, "b": 0.5}) == 0.75


def test_an_error_survives_being_pickled_with_its_hint() -> None:
    error: EvaluationError = UnknownMeasure("what", hint="Do this.")

    again = pickle.loads(pickle.dumps(error))

    assert (type(again), again.message, again.hint, str(again)) == (UnknownMeasure, "what", "Do this.", "what; do this")
