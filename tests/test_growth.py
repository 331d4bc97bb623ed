"""The measure of growth tells a square from a line."""

from __future__ import annotations

from tests.growth import BETWEEN, ratio


def test_a_task_that_grows_with_its_size_is_below_the_limit() -> None:
    assert ratio(lambda size: sum(range(size)), 2_000_000) < BETWEEN


def test_a_task_that_grows_with_the_square_of_its_size_is_above_the_limit() -> None:
    assert ratio(lambda size: [sum(range(size)) for _ in range(size)], 1_500) > BETWEEN
