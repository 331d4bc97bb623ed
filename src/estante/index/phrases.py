"""Whether the words of a phrase stand one behind the other, in any of the ways in which both can be read.

A text and a phrase are read as the analyzer reads them: `guarda-chuva` is `guarda` and then `chuva`, and also
`guardachuva`. A phrase stands in a text where some reading of it is a part of some reading of the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from estante.index import analyzer
from estante.index.analyzer import Token
from estante.model.content import Chunk
from estante.model.ports import Field

REACH: Final = 64
"""Words behind one that may stand inside of it."""

Steps = Mapping[str, tuple[int, ...]]
"""Each term that may come next, and the places where one stands after it."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must stand in this order in a field, or with ``left_out`` must not."""

    text: str
    field: Field = "any"
    left_out: bool = False

    def meets(self, chunk: Chunk) -> bool:
        """Whether a chunk holds it, or with ``left_out`` does not."""
        wanted = _phrase(self.text, chunk.language)
        return any(stands(wanted, readings(text, chunk.language)) for text in self._texts(chunk)) != self.left_out

    def _texts(self, chunk: Chunk) -> Iterable[str]:
        if self.field == "title":
            return (chunk.title,)
        if self.field == "heading":
            return (chunk.title, *chunk.trail)
        return (chunk.text, chunk.title, *chunk.trail)


def readings(text: str, language: str) -> list[Steps]:
    """For each place of a text at which a word begins, the terms there, and the places at which the next may begin.

    The place behind the last one, at which nothing begins, is the end.
    """
    words = list(analyzer.tokens(text, language))
    starts = sorted({word.start for word in words})
    found: list[dict[str, tuple[int, ...]]] = [{} for _ in starts]
    for at, word in enumerate(words):
        steps = found[bisect_left(starts, word.start)]
        steps[word.term] = *steps.get(word.term, ()), bisect_left(starts, _next(words, at))
    return [*found]


def _next(words: Sequence[Token], at: int) -> int:
    """From where on the word after this one begins."""
    word = words[at]
    for other in words[at + 1 : at + 1 + REACH]:
        if other.start >= word.end:
            break
        # Of characters without spaces each pair shares one with the next.
        if word.start < other.start and other.end > word.end:
            return other.start
    return word.end


@lru_cache(maxsize=64)
def _phrase(text: str, language: str) -> list[Steps]:
    return readings(text, language)


def stands(wanted: list[Steps], text: list[Steps]) -> bool:
    """Whether a way through ``wanted``, from its first place to its end, is a part of a way through ``text``."""
    if not wanted:
        return False
    tried: set[tuple[int, int]] = set()
    open_ = [(0, at) for at, steps in enumerate(text) if not steps.keys().isdisjoint(wanted[0])]
    while open_:
        place, at = open_.pop()
        if place == len(wanted):
            return True
        if at == len(text):
            continue
        for term in wanted[place].keys() & text[at].keys():
            pairs = {(then, there) for then in wanted[place][term] for there in text[at][term]} - tried
            tried |= pairs
            open_ += pairs
    return False
