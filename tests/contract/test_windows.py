"""Windows of the contract: what they always hold, and what is refused before anything is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorContractError
from estante.contract.windows import check_windows, window_spans

TEXTS = st.text(st.sampled_from("ab. ?!\n\t\u00a0\u0085\u2028é😀"), max_size=300) | st.text(max_size=120)
CUTTINGS = st.integers(1, 60).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def test_the_worked_example_gives_its_two_windows() -> None:
    assert window_spans("aaaa bbbb cccc dddd\n\neeee ffff gggg hhhh", 30, 5) == [(0, 25), (21, 40)]


@pytest.mark.parametrize(
    ("stronger", "weaker", "end"),
    [("\n\n", "\n", 33), ("\n", ". ", 33), (". ", "? ", 34), ("? ", "! ", 34), ("! ", " ", 34), (" ", "-", 33)],
)
def test_the_stronger_boundary_wins_over_a_weaker_one_behind_it(stronger: str, weaker: str, end: int) -> None:
    text = f"{'x' * 33}{stronger}{weaker:_>4}{'x' * 40}"

    assert window_spans(text, 40, 0)[0] == (0, end)


def test_a_boundary_exactly_where_the_search_begins_is_passed_over() -> None:
    assert window_spans("aaaaaaaa bb cc", 10, 0) == [(0, 10), (10, 14)]


def test_a_text_without_boundaries_is_cut_hard() -> None:
    assert window_spans("x" * 25, 10, 2) == [(0, 10), (8, 18), (16, 25)]


def test_positions_are_code_points() -> None:
    assert window_spans("😀" * 5, 2, 0) == [(0, 2), (2, 4), (4, 5)]


def test_the_tail_inside_its_predecessor_is_left_out() -> None:
    assert window_spans("abcdefghij", 10, 4) == [(0, 10)]


def test_a_blank_run_longer_than_a_step_gives_one_start_twice() -> None:
    assert window_spans(f"{' ' * 8}abcdefgh", 10, 8) == [(8, 10), (8, 12), (8, 14), (8, 16)]


@given(TEXTS, CUTTINGS)
def test_a_window_is_at_most_its_size_and_has_no_blanks_at_its_ends(text: str, cutting: tuple[int, int]) -> None:
    for start, end in window_spans(text, *cutting):
        assert 0 <= start < end <= min(len(text), start + cutting[0])
        assert text[start:end] == text[start:end].strip()


@given(TEXTS, CUTTINGS)
def test_no_window_lies_inside_its_predecessor(text: str, cutting: tuple[int, int]) -> None:
    for before, after in pairwise(window_spans(text, *cutting)):
        assert before[0] <= after[0]
        assert before[1] < after[1]


@given(st.text(st.sampled_from("abcé😀.?!"), min_size=1, max_size=300), CUTTINGS)
def test_starts_strictly_increase_where_no_blank_run_is_as_long_as_a_step(text: str, cutting: tuple[int, int]) -> None:
    starts = [start for start, _ in window_spans(text, *cutting)]

    assert all(before < after for before, after in pairwise(starts))


@given(TEXTS, CUTTINGS)
def test_every_character_that_is_not_blank_lies_in_a_window(text: str, cutting: tuple[int, int]) -> None:
    covered = {at for start, end in window_spans(text, *cutting) for at in range(start, end)}

    assert [at for at, character in enumerate(text) if not character.isspace() and at not in covered] == []


@pytest.mark.parametrize(
    ("size", "overlap"), [(0, 0), (-5, 0), (10, -1), (10, 10), (10, 11), (10.0, 2), (10, 2.5), (True, 0), ("10", 2)]
)
def test_lengths_that_make_no_sense_are_refused_before_anything_is_cut(size: object, overlap: object) -> None:
    for call in (lambda: check_windows(size, overlap), lambda: window_spans("", size, overlap)):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"chunk_size.*chunk_overlap") as told:
            call()
        assert isinstance(told.value, ConnectorContractError)


def test_an_overlap_of_all_but_one_character_is_legal_and_ends() -> None:
    assert window_spans("um dois tres quatro", 5, 4)[-1] == (14, 19)
