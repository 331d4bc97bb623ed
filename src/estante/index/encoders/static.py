"""The encoder of every install: one row per word piece, and a text is the weighted sum of its pieces' rows.

The rows come from multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) by ``tools/distill_static.py``: the
model's vector of each Portuguese and English piece, whitened and weighted by rarity (SIF, Arora et al. 2017). Words are
cut into pieces by the model's own unigram tokenizer (Kudo 2018, arXiv:1804.10959). Nothing but numpy is needed.

Sums are exact. A weight is a float16 times a count and a row holds integers from -7 to 7, so every partial sum is a
multiple of 2**-24 below 2**29 and fits a float64 without rounding, for texts of up to 70 million pieces. Therefore
neither the order of the pieces, the size of a batch, the number of threads nor the BLAS can change a bit of the result.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index import vocabulary
from estante.index.pieces import LONGEST_WORD
from estante.model.ports import Space

DIMENSIONS: Final = 384

BLOCK: Final = 1 << 16  # characters of a text that are in work at one time
ROWS: Final = 1 << 11  # rows that are widened to float64 at one time: 6 MB

_BREAK: Final = re.compile(r"\s")


class _Table:
    """What the weights file holds: the tokenizer, and for each piece a row of integers and a weight."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.weights: NDArray[np.float64] = arrays["weights"].astype(np.float64)
        self.pieces = vocabulary.pieces_of(arrays)
        self.rows = _unpacked(arrays["rows"])


class StaticEncoder:
    """Texts to unit rows of 384 numbers; questions and passages alike, so the space is symmetric.

    A text's row does not depend on what else is encoded with it. A text without a known piece gives a zero row.
    The weights (20 MB in memory, shared by all encoders of a process) are read at the first text.
    """

    name: Final = "static"

    @property
    def space(self) -> Space:
        """Its vector space. The revision is the digest of the file that holds weights and tokenizer."""
        return Space(model="estante-static-pten", dimensions=DIMENSIONS, revision=vocabulary.SHA256[:16])

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), 384)."""
        table = _table()
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(found, texts, strict=True):
            total = _total(table, text)
            length = math.sqrt(np.square(total).sum())
            if length > 0.0:
                row[:] = total / length
        return found

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``."""
        return self.passages(texts)


def _total(table: _Table, text: str) -> NDArray[np.float64]:
    """The exact weighted sum of the rows of a text's pieces, shape (384,)."""
    total = np.zeros(DIMENSIONS, np.float64)
    for block in _blocks(text):
        numbers, counts = np.unique(table.pieces.numbers(block), return_counts=True)
        for start in range(0, len(numbers), ROWS):
            some = numbers[start : start + ROWS]
            weights = counts[start : start + ROWS] * table.weights[some]
            total += weights @ table.rows.take(some, axis=0).astype(np.float64)
    return total


def _blocks(text: str) -> Iterator[str]:
    """The text in blocks that end between words; inside a word only when more than ``LONGEST_WORD`` of it remain."""
    start = 0
    while len(text) - start > BLOCK:
        gap = _BREAK.search(text, start + BLOCK, start + BLOCK + LONGEST_WORD)
        end = gap.start() if gap else start + BLOCK + LONGEST_WORD
        yield text[start:end]
        start = end
    yield text[start:]


def _unpacked(nibbles: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Rows (n, 384) from -7 to 7 out of bytes (n, 192) that hold two of them, the even one low, each plus 8."""
    rows = np.empty((len(nibbles), 2 * nibbles.shape[1]), np.int8)
    rows[:, 0::2] = nibbles & 15
    rows[:, 1::2] = nibbles >> 4
    rows -= 8
    return rows


_READING: Final = threading.Lock()


def _table() -> _Table:
    with _READING:  # two threads that start together must not read the weights twice
        return _read()


@cache
def _read() -> _Table:
    return _Table(vocabulary.stored())
