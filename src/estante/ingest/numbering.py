"""The numbers and signs that a word processor puts before the items of its lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BULLET: Final = "-"
_LEVELS: Final = 9
_PLACE: Final = re.compile("%([1-9])")
_ROMAN: Final = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"))
_ROMAN_LOW: Final = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


@dataclass(frozen=True, slots=True)
class Level:
    """How one level of a list is numbered: the kind of number, its first one, and the text with ``%1`` to ``%9``."""

    kind: str = "decimal"
    start: int = 1
    text: str = ""


class Counter:
    """The counts of all lists of a document while it is read from front to back."""

    def __init__(self, lists: Mapping[str, Mapping[int, Level]], shared: Mapping[str, str]) -> None:
        self._lists = lists
        self._shared = shared
        self._counts: dict[str, list[int | None]] = {}

    def label(self, number: str, level: int) -> str:
        """What stands before the next item of list ``number`` at ``level`` (from 0); empty for no sign."""
        levels = self._lists.get(number)
        if levels is None or not 0 <= level < _LEVELS:
            return BULLET
        own = levels.get(level, Level())
        counts = self._counts.setdefault(self._shared.get(number, number), [None] * _LEVELS)
        before = counts[level]
        counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.kind == "none":
            return ""
        if own.kind == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: self._written(levels, counts, int(place[1]) - 1), own.text).strip()

    def _written(self, levels: Mapping[int, Level], counts: list[int | None], level: int) -> str:
        own = levels.get(level, Level())
        count = counts[level]
        return numeral(own.start if count is None else count, own.kind)


def numeral(count: int, kind: str) -> str:
    """The count as this kind of number; as digits, when the kind is another or the count is out of its range."""
    if kind == "decimalZero":
        return f"{count:02d}"
    if kind in ("lowerLetter", "upperLetter") and 1 <= count <= 26 * 20:
        letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters.upper() if kind == "upperLetter" else letters
    if kind in ("lowerRoman", "upperRoman") and 1 <= count < 4000:
        roman, rest = "", count
        for value, sign in (*_ROMAN, *_ROMAN_LOW):
            roman += sign * (rest // value)
            rest %= value
        return roman.upper() if kind == "upperRoman" else roman
    return str(count)
