"""What each character is to the analyzer, and how it is folded.

Folding is lower case, compatibility forms to plain ones, and no accents: `Ção` and `cao` are one. It looks at one
character at a time, so that text composed (NFC) or decomposed (NFD) folds alike.
"""

import unicodedata
from enum import IntEnum
from functools import lru_cache
from typing import Final


class Kind(IntEnum):
    """What a folded character does to the word it stands in."""

    BREAK = 0  # ends the word
    LETTER = 1
    DIGIT = 2
    RAISED = 3  # a superscript or encircled digit: "m²" is one word, the note mark of "palavra¹" is not part of it
    CHARACTER = 4  # of a script written without spaces; indexed by pairs
    MARK = 5  # a vowel sign or the like; belongs to the letter before it
    BREVE = 6  # makes й of и, and nothing of other letters
    NOTHING = 7  # an accent or vowel point that is left out


Atom = tuple[Kind, str]

APOSTROPHES: Final = "'\u2019\u02bc\uff07"

_PLAIN: Final = {
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ħ": "h",
    "ŧ": "t",
    "ı": "i",
    "ĸ": "k",
    "ŋ": "n",
    "ƒ": "f",
    "ɓ": "b",
    "ɗ": "d",
    "ƙ": "k",
    "ƴ": "y",
    "ɨ": "i",
    "ʉ": "u",
    "ƶ": "z",
    "ǥ": "g",
    "ẜ": "s",
}
"""Letters that Unicode does not take apart."""

_LEFT_OUT: Final = (
    *(
        (0x0300, 0x036F),
        (0x0483, 0x0489),
        (0x1AB0, 0x1AFF),
        (0x1DC0, 0x1DFF),
        (0x20D0, 0x20FF),
    ),  # Latin, Greek, Cyrillic
    *((0x2DE0, 0x2DFF), (0xA66F, 0xA67D), (0xFE20, 0xFE2F)),
    *((0x0591, 0x05C7), (0xFB1E, 0xFB1E)),  # Hebrew points
    *(
        (0x0610, 0x061A),
        (0x0640, 0x0640),
        (0x064B, 0x065F),
        (0x0670, 0x0670),
        (0x06D6, 0x06ED),
        (0x08D3, 0x08FF),
    ),  # Arabic
    *((0xFE00, 0xFE0F), (0xE0100, 0xE01EF)),  # variation selectors
)

_UNSPACED: Final = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai, Lao, Burmese, Khmer
    *((0x3005, 0x3007), (0x3040, 0x312F), (0x31A0, 0x31BF), (0x31F0, 0x31FF)),  # kana, bopomofo
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF)),  # Han
)

_SQUARED: Final = range(0x3300, 0x3400)  # ㎏, ㎡: units that Unicode calls symbols
_ORDINALS: Final = "ªº"  # letters to Unicode, but "nº8" is n and 8
_NO_LETTERS: Final = _ORDINALS + APOSTROPHES
_BREAKS: Final = _ORDINALS + "\u2044" + APOSTROPHES
BREVE: Final = "\u0306"


def is_word(char: str) -> bool:
    """Whether the character may stand in a word; an invisible one (soft hyphen, zero-width space) may."""
    category = unicodedata.category(char)
    return (category[0] in "LMN" or category == "Cf" or ord(char) in _SQUARED) and char not in _NO_LETTERS


def separators() -> str:
    """The inside of a regular expression's set: all characters up to U+FFFF that end a word.

    The planes above are left to `atoms`: they hold few separators but emoji, and a set of them is slow.
    """
    ranges: list[list[int]] = []
    for code in range(0x10000):
        if is_word(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)


@lru_cache(maxsize=1 << 12)
def atoms(char: str) -> tuple[Atom, ...]:
    """The folded characters of one written character, each with its kind; none for an invisible one."""
    category = unicodedata.category(char)
    if category == "Cf":
        return ()
    if char in _BREAKS or not is_word(char):
        return ((Kind.BREAK, ""),)
    raised = category == "No" and not "₀" <= char <= "₉"
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    if "\u2044" in folded:  # "3½" is 3, 1 and 2
        return ((Kind.BREAK, ""), *(atom for part in folded for atom in _atom(part, False)), (Kind.BREAK, ""))
    return tuple(atom for part in folded for atom in _atom(part, raised))


def _atom(char: str, raised: bool) -> list[Atom]:
    """One character of a folded one; a letter of the table above may become two."""
    code = ord(char)
    if char == BREVE:
        return [(Kind.BREVE, char)]
    if any(first <= code <= last for first, last in _LEFT_OUT):
        return [(Kind.NOTHING, "")]
    if char in _BREAKS or not is_word(char):
        return [(Kind.BREAK, "")]
    category = unicodedata.category(char)
    if category[0] == "M":
        return [(Kind.MARK, char)]
    if category[0] == "N" and char != "〇":
        digit = unicodedata.decimal(char, None)
        return [(Kind.RAISED if raised else Kind.DIGIT, char if digit is None else str(digit))]
    if any(first <= code <= last for first, last in _UNSPACED):
        return [(Kind.CHARACTER, char)]
    return [(Kind.LETTER, part) for part in _PLAIN.get(char, char)]


def unaccented(word: str) -> str:
    """A lower-case Latin word without its accents, for what a stemmer returns that reads or writes some."""
    if word.isascii():
        return word
    return "".join(part for char in word for kind, part in atoms(char) if kind not in (Kind.NOTHING, Kind.BREVE))
