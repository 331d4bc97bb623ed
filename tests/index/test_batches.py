"""Batches by length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from estante.index.batches import by_length

LENGTHS = st.lists(st.integers(1, 512), max_size=80)


@given(LENGTHS, st.integers(1, 4096), st.integers(1, 64))
def test_every_place_is_in_one_batch(lengths: list[int], budget: int, most: int) -> None:
    found = by_length(lengths, budget, most)

    assert sorted(place for batch in found for place in batch) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 4096), st.integers(1, 64))
def test_no_batch_of_several_is_over_the_budget(lengths: list[int], budget: int, most: int) -> None:
    for batch in by_length(lengths, budget, most):
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= budget


@given(LENGTHS)
def test_batches_rise_in_length(lengths: list[int]) -> None:
    found = [lengths[place] for batch in by_length(lengths, 1024, 8) for place in batch]

    assert found == sorted(lengths)
