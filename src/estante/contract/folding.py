"""Texts folded for comparison: one spelling for all that looks the same to a reader.

Accents, full-width signs, letters of other scripts that look Latin, invisible characters and the many line breaks hide
a word from a pattern and not from a model.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_BREAKS: Final = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_NOTHING: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that print nothing and that Unicode nevertheless calls letters or symbols."""

_ALIKE: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеоѕіјрсухһԁԛԝɡ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοιν" + "ıɑ" + "∶꞉ː։׃" + "‹›≫＞",
    "ABESIJKMHOPCTYXaeosijpcyxhdqwg" + "ABEZHIKMNOPTYXaoiv" + "ia" + ":::::" + "<>>>",
)


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text that knows where it came from: character ``i`` of it stands at ``origins[i]`` of ``source``."""

    source: str
    text: str
    origins: tuple[int, ...]

    def original(self, start: int, end: int) -> str:
        """What stands in the source where the folded text has ``[start, end)``."""
        if start >= end:
            return ""
        return self.source[self.origins[start] : self.origins[end - 1] + 1]


def folded(source: str) -> Folded:
    """The text without accents, look-alikes and invisible characters, every line break a line feed; case is kept."""
    pieces: list[str] = []
    origins: list[int] = []
    for at, character in enumerate(source):
        piece = _piece(character)
        pieces.append(piece)
        origins += [at] * len(piece)
    return Folded(source, "".join(pieces), tuple(origins))


@lru_cache(maxsize=4096)
def _piece(character: str) -> str:
    """What one character is folded to: mostly one character, often none."""
    if character in _BREAKS:
        return "\n"
    kept = []
    # One at a time and decomposed, so that an accent before or after its letter makes no difference.
    for part in unicodedata.normalize("NFKD", character):
        category = unicodedata.category(part)
        if part in _NOTHING or category in ("Mn", "Me", "Cf", "Cs") or (category == "Cc" and part not in "\t\n"):
            continue
        kept.append(" " if category == "Zs" else part)
    return "".join(kept).translate(_ALIKE)
