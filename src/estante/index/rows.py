"""Unit rows out of whatever a model gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estante.model.errors import ContractBroken


def blank(text: str) -> bool:
    """Whether a text holds no sign that can be seen: nothing, white space, control and format characters alone."""
    return not any(sign.isprintable() and not sign.isspace() for sign in text)


def unit_rows(
    name: str, texts: Sequence[str], dimensions: int, encode: Callable[[list[str]], ArrayLike]
) -> NDArray[np.float32]:
    """Unit rows of float32, (len(texts), dimensions); a blank text has a zero row, and ``encode`` never sees it.

    Raises ``ContractBroken`` when ``encode`` gives another shape.
    """
    found = np.zeros((len(texts), dimensions), np.float32)
    told = [place for place, text in enumerate(texts) if not blank(text)]
    if not told:
        return found
    rows = np.asarray(encode([texts[place] for place in told]), np.float64)
    if rows.shape != (len(told), dimensions):
        raise ContractBroken(
            f"the model of the encoder {name!r} gave {rows.shape}, not {(len(told), dimensions)}",
            hint="Check that the folder holds the model it is said to hold.",
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found[told] = rows / np.where(lengths > 0, lengths, 1)
    return found
