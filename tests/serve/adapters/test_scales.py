"""Numbers of back ends become scores without inventing anything."""

from __future__ import annotations

import math

import pytest

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.serve.adapters.scales import SCORE_KINDS, Scale


@pytest.mark.parametrize(
    ("kind", "number", "score", "raw"),
    [
        ("similarity", 0.25, 0.25, None),
        ("similarity", -3.0, -3.0, None),
        ("cosine_distance", 0.25, 0.75, 0.25),
        ("inner_product_distance", -4.0, 5.0, -4.0),
        ("l2_distance", 65.0, -65.0, 65.0),
        ("none", 0.25, None, None),
        ("none", None, None, None),
    ],
)
def test_a_number_becomes_a_score_and_is_kept_where_it_was_converted(
    kind: str, number: float | None, score: float | None, raw: float | None
) -> None:
    assert Scale(kind).score(number) == (score, raw)


@pytest.mark.parametrize("kind", SCORE_KINDS)
def test_scores_mean_something_unless_there_are_none(kind: str) -> None:
    assert Scale(kind).mode == ("ordered" if kind == "none" else "scored")
    assert bool(Scale(kind).distance) == (kind != "none")


@pytest.mark.parametrize("kind", [kind for kind in SCORE_KINDS if kind.endswith("distance")])
def test_a_smaller_distance_is_a_larger_score(kind: str) -> None:
    assert (Scale(kind).score(0.1)[0] or 0) > (Scale(kind).score(0.2)[0] or 0)


def test_a_hit_without_a_number_is_refused_with_what_to_declare() -> None:
    with pytest.raises(ConnectorContractError, match="score_kind 'none'"):
        Scale("similarity").score(None)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_is_none_is_a_failure(number: float) -> None:
    with pytest.raises(ConnectorOperationalError):
        Scale("similarity").score(number)
