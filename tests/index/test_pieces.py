"""The tokenizer with a number for what no piece covers; without one it is tested with the static encoder."""

from __future__ import annotations

import pytest

from estante.index.pieces import Pieces


@pytest.fixture
def pieces() -> Pieces:
    return Pieces(["▁", "a", "▁a", ""], [-3.0, -4.0, -3.5, 0.0], {}, unknown=3)


def test_a_stretch_that_no_piece_covers_is_one_unknown(pieces: Pieces) -> None:
    assert pieces.numbers("a日本a").tolist() == [2, 3, 1]


def test_a_bare_word_start_is_kept(pieces: Pieces) -> None:
    assert pieces.numbers("日").tolist() == [0, 3]


def test_a_piece_has_its_number_and_what_is_none_has_minus_one(pieces: Pieces) -> None:
    assert (pieces.number("▁a"), pieces.number("b"), pieces.number("")) == (2, -1, -1)
