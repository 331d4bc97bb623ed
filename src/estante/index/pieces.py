"""Words to word pieces, by the unigram model of SentencePiece (Kudo 2018, arXiv:1804.10959)."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

WORD_START: Final = "▁"
"""The tokenizer's mark of a word's beginning."""

LONGEST_WORD: Final = 200
"""Characters; a longer word is cut, or a page of base64 would cost its length squared."""

LONGEST_KEPT: Final = 64
"""Characters; longer words seldom come back, and their text would fill the cache."""

KEPT_WORDS: Final = 1 << 16


class Pieces:
    """The tokenizer: words to numbers of pieces, by the likeliest cut under a unigram model.

    ``scores`` are the pieces' natural log probabilities; ``characters`` maps code points to what stands for them, as
    ``str.translate`` does. ``unknown`` is the number that stands for a stretch that no piece covers; without one such
    a stretch is left out, and so is a word start by itself. Safe to use from many threads: a lost race cuts a word
    twice, with the same result.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        characters: Mapping[int, str],
        unknown: int | None = None,
    ) -> None:
        self._number = {piece: number for number, piece in enumerate(pieces) if piece}
        self._scores = list(scores)
        self._characters = dict(characters)
        self._unknown = min(self._scores) - 10.0  # as in SentencePiece
        self._stand_in = unknown
        self._reach = _reach(self._number)
        self._kept: dict[str, bytes] = {}

    def number(self, piece: str) -> int:
        """The number of a piece; -1 when there is none."""
        return self._number.get(piece, -1)

    def numbers(self, text: str) -> NDArray[np.uint32]:
        """The numbers of the text's pieces, in order."""
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
        bare = self._number.get(WORD_START) if self._stand_in is None else None
        found: list[int] = []
        end = len(came) - 1
        while end > 0:
            end, piece = came[end]
            if piece < 0 and self._stand_in is not None and found[-1:] != [self._stand_in]:
                found.append(self._stand_in)
            elif piece >= 0 and piece != bare:
                found.append(piece)
        return found[::-1]


def _reach(pieces: Mapping[str, int]) -> dict[str, int]:
    """For each first character the length of the longest piece: where the search for an end can stop."""
    reach: dict[str, int] = {}
    for piece in pieces:
        reach[piece[0]] = max(reach.get(piece[0], 0), len(piece))
    return reach
