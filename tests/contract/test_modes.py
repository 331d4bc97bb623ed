"""Retrieval modes: what a data set may change, and where a threshold has no meaning; scores, which only grow."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorError, RetrievalModeError
from estante.contract.modes import (
    DEFAULT_RETRIEVAL_MODE,
    RETRIEVAL_MODES,
    refuse_threshold_for_mode,
    resolve_retrieval_mode,
)
from estante.contract.scores import (
    SCORE_CONVENTION,
    cosine_distance_to_similarity,
    l2_distance_to_score,
    similarity_passthrough,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_there_are_three_modes_and_scored_is_the_one_that_goes_without_saying() -> None:
    assert RETRIEVAL_MODES == ("scored", "ordered", "complete_set")
    assert DEFAULT_RETRIEVAL_MODE == "scored"


@pytest.mark.parametrize("mode", RETRIEVAL_MODES)
def test_without_an_override_the_connector_decides(mode: str) -> None:
    assert resolve_retrieval_mode(mode, None) == (mode, "connector")


@pytest.mark.parametrize("silent", [None, ""])
def test_a_connector_that_says_nothing_is_scored(silent: str | None) -> None:
    assert resolve_retrieval_mode(silent, None) == ("scored", "connector")


@pytest.mark.parametrize("mode", RETRIEVAL_MODES)
def test_an_override_that_changes_nothing_is_the_connectors_word(mode: str) -> None:
    assert resolve_retrieval_mode(mode, mode) == (mode, "connector")


def test_scores_may_be_distrusted() -> None:
    assert resolve_retrieval_mode("scored", "ordered") == ("ordered", "dataset_override")
    assert resolve_retrieval_mode(None, "ordered") == ("ordered", "dataset_override")


@pytest.mark.parametrize(
    ("mode", "override"), sorted({*itertools.permutations(RETRIEVAL_MODES, 2)} - {("scored", "ordered")}), ids=str
)
def test_every_other_override_is_refused(mode: str, override: str) -> None:
    with pytest.raises(RetrievalModeError, match=f"'{mode}' as '{override}'"):
        resolve_retrieval_mode(mode, override)


@pytest.mark.parametrize(("mode", "override"), [("best", None), ("scored", "best"), ("scored", ""), ("Scored", None)])
def test_an_unknown_mode_is_refused_with_the_known_ones(mode: str, override: str | None) -> None:
    with pytest.raises(RetrievalModeError, match="complete_set"):
        resolve_retrieval_mode(mode, override)


@pytest.mark.parametrize("caught", [ConnectorError, ValueError])
def test_a_mode_error_is_caught_either_way(caught: type[Exception]) -> None:
    with pytest.raises(caught):
        resolve_retrieval_mode("best", None)


@pytest.mark.parametrize(("mode", "threshold"), [("scored", 0.5), ("ordered", None), ("complete_set", None)])
def test_a_threshold_passes_where_scores_mean_something_or_where_there_is_none(
    mode: str, threshold: float | None
) -> None:
    assert refuse_threshold_for_mode(mode, threshold) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize("mode", ["ordered", "complete_set"])
@pytest.mark.parametrize("threshold", [0.5, 0.0])
def test_a_threshold_is_refused_where_scores_mean_nothing(mode: str, threshold: float) -> None:
    with pytest.raises(RetrievalModeError, match=mode):
        refuse_threshold_for_mode(mode, threshold)


def test_a_refused_threshold_names_its_data_set() -> None:
    with pytest.raises(RetrievalModeError, match="'handbook'"):
        refuse_threshold_for_mode("ordered", 0.5, dataset_name="handbook")


# --- scores -----------------------------------------------------------------------------------------------------


def test_the_convention_is_the_word_that_runs_record() -> None:
    assert SCORE_CONVENTION == "higher_is_better"


@pytest.mark.parametrize(("distance", "similarity"), [(0, 1.0), (1, 0.0), (2, -1.0), (2.5, -1.5), (-0.5, 1.5)])
def test_a_cosine_distance_is_turned_and_never_clamped(distance: float, similarity: float) -> None:
    assert cosine_distance_to_similarity(distance) == similarity


def test_a_euclidean_distance_is_turned_and_nothing_else() -> None:
    assert l2_distance_to_score(3) == -3.0


def test_a_similarity_passes_as_it_is() -> None:
    assert similarity_passthrough(17) == similarity_passthrough(score=17) == 17.0


@pytest.mark.parametrize("function", [cosine_distance_to_similarity, l2_distance_to_score, similarity_passthrough])
def test_a_score_is_a_float_of_python(function: object) -> None:
    assert type(function(1)) is float  # type: ignore[operator]


@given(finite, finite)
def test_what_is_nearer_never_scores_less(near: float, far: float) -> None:
    near, far = sorted((near, far))

    assert cosine_distance_to_similarity(near) >= cosine_distance_to_similarity(far)
    assert l2_distance_to_score(near) >= l2_distance_to_score(far)


def test_a_distance_that_is_no_number_stays_none() -> None:
    assert math.isnan(cosine_distance_to_similarity(math.nan))
