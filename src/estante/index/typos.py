"""Words that are almost another one: terms a few edits away, and how words are misspelt.

An edit is a letter too many, one missing, one wrong, or two neighbours that changed places; no letter is edited twice
(the *optimal string alignment* distance).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.lexical import language_of
from estante.index.segments import Segment

SHORTEST: Final = 4
"""Letters that a word must have to be taken for misspelt: shorter ones are all like many others."""

LONG: Final = 8
"""Letters from which a word may have two edits."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def edits_of(word: str) -> int:
    """How many edits a word that is nowhere may be away from another one; none for numbers and codes."""
    if len(word) < SHORTEST or not word.isalpha():
        return 0
    return 2 if len(word) >= LONG else 1


def distance(one: str, other: str) -> int:
    """How many edits make one of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        last, row, earlier = row, [i], before
        for j, wanted in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]


def misspellings(word: str) -> Iterator[str]:
    """Every word that one edit makes of this one, over the plain letters; some come twice."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        for letter in _LETTERS:
            yield f"{head}{letter}{tail}"
            if tail:
                yield f"{head}{letter}{tail[1:]}"
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]


def terms_near(segment: Segment, term: str, edits: int) -> dict[str, int]:
    """The terms of a segment in the language of this one that are at most so many edits away, itself left out."""
    language = language_of(term)
    prefix = f"{language}:" if language else ""
    found: dict[str, int] = {}
    for first, last in _of_language(segment, prefix):
        letters, offsets = _characters(segment, first, last)
        sizes = offsets[1:] - offsets[:-1]
        for size in range(max(len(term) - edits, len(prefix) + 1), len(term) + edits + 1):
            numbers = np.flatnonzero(sizes == size)
            words = letters[offsets[numbers][:, None] + np.arange(size)]
            far = _distances(words, np.frombuffer(term.encode("utf-32-le"), "<u4"), edits)
            for word, edit in zip(words[far <= edits], far[far <= edits].tolist(), strict=True):
                name = word.astype("<u4").tobytes().decode("utf-32-le")
                if edit and language_of(name) == language:
                    found[name] = edit
    return found


def _of_language(segment: Segment, prefix: str) -> list[tuple[int, int]]:
    """The numbers of the terms that begin like this; of all terms where the language is none."""
    if not prefix:
        return [(0, len(segment.array("term_at")) - 1)]
    return [(segment.terms_from(prefix), segment.terms_from(f"{prefix[:-1]};"))]


def _characters(segment: Segment, first: int, last: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The characters of terms number first to last, and where each term begins in them."""
    at = segment.array("term_at")[first : last + 1].astype(np.int64)
    data = segment.array("terms")[at[0] : at[-1]]
    begins = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    return np.frombuffer(data.tobytes().decode("utf-8").encode("utf-32-le"), "<u4"), begins[at - at[0]]


def _distances(words: NDArray[Any], wanted: NDArray[Any], edits: int) -> NDArray[np.int64]:
    """The distance of each row of letters from the wanted word, as far as it is at most ``edits``."""
    count, size = words.shape
    far = np.full((3, size + 1, count), edits + 1, np.int64)
    far[1] = np.minimum(np.arange(size + 1), edits + 1)[:, None]
    for i in range(1, len(wanted) + 1):
        before, last, row = far[(i - 1) % 3], far[i % 3], far[(i + 1) % 3]
        row[:] = edits + 1
        row[0] = min(i, edits + 1)
        for j in range(max(1, i - edits), min(size, i + edits) + 1):
            same = words[:, j - 1] == wanted[i - 1]
            best = np.minimum(np.minimum(last[j], row[j - 1]) + 1, last[j - 1] + ~same)
            if i > 1 and j > 1:
                swapped = (words[:, j - 2] == wanted[i - 1]) & (words[:, j - 1] == wanted[i - 2])
                best = np.where(swapped, np.minimum(best, before[j - 2] + 1), best)
            row[j] = np.minimum(best, edits + 1)
    found: NDArray[np.int64] = far[(len(wanted) + 1) % 3, size]
    return found
