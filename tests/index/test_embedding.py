"""Encoders behind their guard: whatever a plug-in does, a wrong vector never reaches a shelf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from estante.index.embedding import vectors
from estante.model.errors import ContractBroken, Unavailable
from tests.parts import TinyEncoder


class Giving(TinyEncoder):
    """Gives what it is told to, and remembers what it was asked."""

    def __init__(self, give: Callable[[Sequence[str]], Any]) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.give = give

    def passages(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return self.give(texts)


def given(give: Callable[[Sequence[str]], Any], *texts: str) -> tuple[list[Any], Giving]:
    encoder = Giving(give)
    return vectors(encoder, encoder.passages, texts), encoder


def raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def give(texts: Sequence[str]) -> Any:
        raise error

    return give


def test_a_blank_text_has_a_zero_vector_and_never_reaches_the_encoder() -> None:
    found, encoder = given(TinyEncoder().passages, "a", "", " \n\t", "b")

    assert encoder.asked == ["a", "b"]
    assert [one.scale > 0 for one in found] == [True, False, False, True]
    assert found[1].values == bytes(16)


def test_nothing_but_blank_texts_asks_the_encoder_nothing() -> None:
    found, encoder = given(raising(AssertionError()), "", " ")

    assert (len(found), encoder.asked) == (2, [])


def test_equal_texts_are_encoded_once() -> None:
    found, encoder = given(TinyEncoder().passages, "a", "b", "a")

    assert encoder.asked == ["a", "b"]
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize(
    "give",
    [
        lambda texts: None,
        lambda texts: [[0.0] * 16 for _ in texts],
        lambda texts: np.zeros((len(texts), 15), np.float32),
        lambda texts: np.zeros((len(texts) + 1, 16), np.float32),
        lambda texts: np.zeros(16, np.float32),
        lambda texts: np.zeros((len(texts), 16), np.int8),
        lambda texts: np.full((len(texts), 16), np.nan, np.float32),
        lambda texts: np.full((len(texts), 16), np.inf, np.float32),
        raising(ValueError("segredo")),
    ],
)
def test_an_encoder_that_breaks_its_promise_is_named(give: Callable[[Sequence[str]], Any]) -> None:
    with pytest.raises(ContractBroken, match="'tiny'") as caught:
        given(give, "a")

    assert "segredo" not in caught.value.message


def test_an_error_of_ours_goes_through() -> None:
    with pytest.raises(Unavailable, match="away"):
        given(raising(Unavailable("away", hint="Wait.")), "a")


def test_double_precision_is_narrowed() -> None:
    found, _ = given(lambda texts: TinyEncoder().passages(texts).astype(np.float64), "a")

    assert found == given(TinyEncoder().passages, "a")[0]
