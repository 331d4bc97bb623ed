"""The encoder of every install: one row per word piece, and a text is the weighted sum of its pieces' rows.

The rows come from multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) by ``tools/distill_static.py``: the
model's vector of each Portuguese and English piece, whitened and weighted by rarity (SIF, Arora et al. 2017). Words are
cut into pieces by the model's own unigram tokenizer (Kudo 2018, arXiv:1804.10959). Nothing but numpy is needed.

Sums are exact. A weight is a float16 times a count and a row holds integers from -7 to 7, so every partial sum is a
multiple of 2**-24 below 2**29 and fits a float64 without rounding, for texts of up to 70 million pieces. Therefore
neither the order of the pieces, the size of a batch, the number of threads nor the BLAS can change a bit of the result.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estante.model.errors import ContractBroken
from estante.model.ports import Space

WEIGHTS: Final = "static_pten.npz"
SHA256: Final = "4ce684d0813c3bd376ccae3d35e6f2fa27c1a11c1f8dcec999d24f9893b1b011"
DIMENSIONS: Final = 384

WORD_START: Final = "▁"  # the tokenizer's mark of a word's beginning
LONGEST_WORD: Final = 200  # characters; a longer one is cut, or a page of base64 would cost its length squared
LONGEST_KEPT: Final = 64  # characters; longer words seldom come back, and their text would fill the cache
KEPT_WORDS: Final = 1 << 16
BLOCK: Final = 1 << 16  # characters of a text that are in work at one time
ROWS: Final = 1 << 11  # rows that are widened to float64 at one time: 6 MB

_BREAK: Final = re.compile(r"\s")


class Pieces:
    """The tokenizer: words to numbers of pieces, by the likeliest cut under a unigram model.

    ``scores`` are the pieces' natural log probabilities; ``characters`` maps code points to what stands for them, as
    ``str.translate`` does. Safe to use from many threads: a lost race cuts a word twice, with the same result.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], characters: Mapping[int, str]) -> None:
        self._number = {piece: number for number, piece in enumerate(pieces) if piece}
        self._scores = list(scores)
        self._characters = dict(characters)
        self._unknown = min(self._scores) - 10.0  # as in SentencePiece
        self._reach = _reach(self._number)
        self._kept: dict[str, bytes] = {}

    def numbers(self, text: str) -> NDArray[np.uint32]:
        """The numbers of the text's pieces, in order; what no piece covers, and a bare word start, is left out."""
        words = text.split()
        try:
            found = b"".join(map(self._kept.__getitem__, words))
        except KeyError:
            found = b"".join(map(self._word, words))
        return np.frombuffer(found, np.uint32)

    def _word(self, word: str) -> bytes:
        known = self._kept.get(word)
        if known is not None:
            return known
        clean = unicodedata.normalize("NFC", word).translate(self._characters)
        found = np.array([number for part in clean.split() for number in self._part(part)], np.uint32).tobytes()
        if len(word) <= LONGEST_KEPT:
            if len(self._kept) >= KEPT_WORDS:
                self._kept.clear()
            self._kept[word] = found
        return found

    def _part(self, part: str) -> Iterator[int]:
        marked = WORD_START + part
        for start in range(0, len(marked), LONGEST_WORD):
            yield from self._likeliest(marked[start : start + LONGEST_WORD])

    def _likeliest(self, word: str) -> list[int]:
        """Viterbi over the cuts of a word; of two equally likely cuts the one whose last piece is longest."""
        number, scores, reach = self._number, self._scores, self._reach
        size = len(word)
        best = [0.0] + [-math.inf] * size
        came: list[tuple[int, int]] = [(0, -1)] * (size + 1)  # (where the last piece starts, its number)
        for start, first in enumerate(word):
            here = best[start]
            if here + self._unknown > best[start + 1]:
                best[start + 1], came[start + 1] = here + self._unknown, (start, -1)
            for end in range(start + 1, min(size, start + reach.get(first, 0)) + 1):
                piece = number.get(word[start:end])
                if piece is not None and here + scores[piece] > best[end]:
                    best[end], came[end] = here + scores[piece], (start, piece)
        return self._trace(came)

    def _trace(self, came: list[tuple[int, int]]) -> list[int]:
        bare = self._number.get(WORD_START)
        found: list[int] = []
        end = len(came) - 1
        while end > 0:
            end, piece = came[end]
            if piece >= 0 and piece != bare:
                found.append(piece)
        return found[::-1]


class _Table:
    """What the weights file holds: the tokenizer, and for each piece a row of integers and a weight."""

    def __init__(self, data: bytes) -> None:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            nibbles: NDArray[np.uint8] = stored["rows"]
            self.weights: NDArray[np.float64] = stored["weights"].astype(np.float64)
            pieces = bytes(stored["pieces"]).decode("utf-8").split("\n")
            scores: list[float] = stored["scores"].astype(np.float64).tolist()
            characters = bytes(stored["characters"]).decode("utf-8").split("\n")
        self.rows = _unpacked(nibbles)
        self.pieces = Pieces(pieces, scores, {ord(line[0]): line[1:] for line in characters})


class StaticEncoder:
    """Texts to unit rows of 384 numbers; questions and passages alike, so the space is symmetric.

    A text's row does not depend on what else is encoded with it. A text without a known piece gives a zero row.
    The weights (20 MB in memory, shared by all encoders of a process) are read at the first text.
    """

    name: Final = "static"

    @property
    def space(self) -> Space:
        """Its vector space. The revision is the digest of the file that holds weights and tokenizer."""
        return Space(model="estante-static-pten", dimensions=DIMENSIONS, revision=SHA256[:16])

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


def _reach(pieces: Mapping[str, int]) -> dict[str, int]:
    """For each first character the length of the longest piece: where the search for an end can stop."""
    reach: dict[str, int] = {}
    for piece in pieces:
        reach[piece[0]] = max(reach.get(piece[0], 0), len(piece))
    return reach


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
    data = files(__package__).joinpath(WEIGHTS).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ContractBroken(
            f"{WEIGHTS} is not the file that this version of Estante was made with",
            hint="Install Estante again; vectors of other weights cannot be compared with those on a shelf.",
        )
    return _Table(data)
