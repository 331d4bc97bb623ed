"""The words of one unit, which is written without a space or a joining sign, and how each is folded."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import islice, pairwise
from typing import Final

from estante.index.languages.letters import APOSTROPHES, Atom, Kind, atoms

WORD_LENGTH: Final = 64
"""A longer word is cut to this many folded characters."""

Word = tuple[int, int, str]
"""Start and end of what is written, and the word folded."""

ORDINAL_SIGNS: Final = "ºª°"
ELISION: Final = "(?:[dD]|[sS][aA][nN][tT])"
"""What is joined to the word behind its apostrophe: d'água, Sant'Ana."""


_PARTS: Final = 4 * WORD_LENGTH  # a word is collected up to here; a Hangul syllable takes three
_MARKS: Final = 8  # of a character without spaces
_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_ELISIONS: Final = {"d": "de"}
"""How what stands before an apostrophe is read: `d'água` is `de água`."""

# A lower-case letter before a capital; the last capital of several, before two small letters; a digit before `Ab`.
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|(?<=[0-9])(?=[A-Z][a-z])")
_ELIDED: Final = re.compile(f"{ELISION}[{APOSTROPHES}](?=.)")
_DIGITS: Final = (Kind.DIGIT, Kind.RAISED)
_ORDINAL: Final = re.compile(r"([0-9]{1,4})(?:[oa]s?|st|nd|rd|th)")


def read(unit: str) -> tuple[list[Word], str]:
    """The words of a unit, and the unit as one word; that is empty where it is no word or several.

    `5º` is 5o, as it is typed without the sign; `d'água` is de, agua and dagua.
    """
    if unit.isascii():
        if unit.isalnum():
            word = unit[:WORD_LENGTH].lower()
            return [(0, len(unit), word)], word
        if unit[0].isdigit() and unit[-1].isdigit():  # only digits in groups hold a separator between digits
            number = unit.replace(".", "").replace(",", "")
            return [(0, len(unit), number)], number
    else:
        word = unit.translate(_plain_letters())
        if word.isascii() and word.isalpha():
            word = word[:WORD_LENGTH]
            return [(0, len(unit), word)], word
    if unit[-1] in ORDINAL_SIGNS:
        return _ordinal(unit)
    if unit[-1] in "+#$":
        return _with_sign(unit)
    if len(unit) > 2 and unit[-2] in APOSTROPHES:
        return _with_apostrophe(unit)
    elided = _ELIDED.match(unit)
    if elided:
        return _elided(unit, elided.end())
    words = _Reader().read(unit)
    return words, _one(words)


def _one(words: Sequence[Word]) -> str:
    return words[0][2] if len(words) == 1 else ""


def _ordinal(unit: str) -> tuple[list[Word], str]:
    """`5º`."""
    words, _ = read(unit.rstrip(ORDINAL_SIGNS + "."))
    if words:
        start, _, word = words.pop()
        words.append((start, len(unit), (word + ("a" if unit[-1] == "ª" else "o"))[:WORD_LENGTH]))
    return words, _one(words)


def _with_sign(unit: str) -> tuple[list[Word], str]:
    """`C++`, `C#` and `R$` are words; the sign after anything longer is not."""
    written = unit.rstrip("+#$")
    words, whole = read(written)
    known = whole in _ALPHABET if unit[-1] in "+#" else len(whole) <= 3 and whole.isalpha()
    if whole and known and len(words) == 1 and words[0][1] == len(written):
        start, _, letters = words[0]
        whole = letters + unit[len(written) :]
        return [(start, len(unit), whole)], whole
    return words, whole


def _with_apostrophe(unit: str) -> tuple[list[Word], str]:
    """`council's` is council and `isn't` is isnt; elsewhere an apostrophe separates."""
    written, last = unit[:-2], unit[-1].lower()
    if last == "s":
        return read(written)
    words = _Reader().read(written)
    if words and words[-1][2].endswith("n") and words[-1][1] == len(written):
        start, _, word = words.pop()
        words.append((start, len(unit), (word + last)[:WORD_LENGTH]))
        return words, _one(words)
    return [*words, (len(unit) - 1, len(unit), last)], ""


def _elided(unit: str, at: int) -> tuple[list[Word], str]:
    """`d'água`, whose second word begins at `at`."""
    words, whole = read(unit[at:])
    before = unit[: at - 1].lower()
    found = [(0, at - 1, _ELISIONS.get(before, before)), *((at + start, at + end, word) for start, end, word in words)]
    if not whole:
        return found, ""
    whole = (before + whole)[:WORD_LENGTH]
    return [*found, (0, found[-1][1], whole)], whole


def parts(unit: str, words: list[Word]) -> list[Word]:
    """The parts of a unit's words: get, user and name of `getUserName`, the number of an ordinal."""
    found: list[Word] = []
    if not (unit.islower() or unit[1:].islower() or unit.isupper() or len(unit) > WORD_LENGTH):
        for start, end, _ in words:
            written = unit[start:end]
            cuts = _cuts(written)
            if cuts and set(written).isdisjoint(APOSTROPHES):
                found += [(start + first, start + last, word) for first, last, word in _humps(written, cuts)]
    for start, _, word in words:
        ordinal = _ORDINAL.fullmatch(word) if word[0].isdigit() else None
        if ordinal is not None:
            found.append((start, _end_of_digits(unit, start, ordinal.end(1)), ordinal[1]))
    return found


def _end_of_digits(unit: str, start: int, count: int) -> int:
    digits = (at for at in range(start, len(unit)) for kind, _ in _ATOMS[unit[at]] if kind in _DIGITS)
    return next(islice(digits, count - 1, None)) + 1


def _humps(written: str, cuts: list[int]) -> list[Word]:
    """The parts of one word; none where one of them is a letter alone, as in chemistry and in ciphers."""
    found: list[Word] = []
    for start, end in pairwise((0, *cuts, len(written))):
        part = written[start:end]
        words = [(0, len(part), part.lower())] if part.isascii() else _Reader().read(part)
        if len(words) == 1 and len(words[0][2]) > 1:
            found.append((start + words[0][0], start + words[0][1], words[0][2]))
        elif start:  # but the i of iPhone
            return []
    return found


def _cuts(unit: str) -> list[int]:
    """Where a part of `camelCase` begins, after the first."""
    if unit.isascii():
        return [found.start() for found in _HUMP.finditer(unit)]
    shape, places = [], []
    for place, char in enumerate(unit):
        category = unicodedata.category(char)
        if category[0] == "M" or category == "Cf":
            continue  # so that composed and decomposed text have one shape
        shape.append({"Lu": "A", "Lt": "A", "Ll": "a"}.get(category, "0" if category[0] == "N" else " "))
        places.append(place)
    return [places[found.start()] for found in _HUMP.finditer("".join(shape))]


@cache
def _plain_letters() -> dict[int, str]:
    """What letters of western Europe become; a word that has no other needs no reading, character by character."""
    found = {code: chr(code).lower() for code in range(128)}
    for code in range(0xC0, 0x250):
        folded = atoms(chr(code))
        if all(kind is Kind.LETTER or kind is Kind.NOTHING for kind, _ in folded) and folded[0][0] is Kind.LETTER:
            found[code] = "".join(part for kind, part in folded if kind is Kind.LETTER)
    return found


class _Atoms(dict[str, tuple[Atom, ...]]):
    def __missing__(self, char: str) -> tuple[Atom, ...]:
        found = self[char] = atoms(char)
        return found


_ATOMS: Final = _Atoms()


class _Reader:
    """Reads one unit into words, a character at a time."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.start = self.end = 0
        self.parts: list[str] = []  # the word being read
        self.letter = ""  # its last one, without marks
        self.raised = False  # which is a raised digit
        self.characters: list[Word] = []  # the characters without spaces being read, each with its marks

    def read(self, unit: str) -> list[Word]:
        letter = Kind.LETTER
        for position, char in enumerate(unit):
            for kind, part in _ATOMS[char]:
                if kind is letter:
                    self._letter(part, position)
                else:
                    self._other(kind, part, position)
        self._end()
        return self.words

    def _letter(self, part: str, position: int) -> None:
        if self.characters:
            self._end()
        if not self.parts:
            self.start = position
        if len(self.parts) < _PARTS:
            self.parts.append(part)
        self.end = position + 1
        self.letter = part
        self.raised = False

    def _other(self, kind: Kind, part: str, position: int) -> None:
        match kind:
            case Kind.BREAK:
                self._end()
            case Kind.CHARACTER:
                if self.parts:
                    self._end()
                self.characters.append((position, position + 1, part))
            case Kind.DIGIT:
                self._letter(part, position)
            case Kind.RAISED:
                # Joins a unit, m², and another raised digit; after a longer word it is the number of a note.
                if not self.raised and not (len(self.parts) <= 3 and "".join(self.parts).isalpha()):
                    self._end()
                self._letter(part, position)
                self.raised = True
            case _:
                self._mark(kind, part, position)

    def _mark(self, kind: Kind, part: str, position: int) -> None:
        if self.characters:
            start, _, character = self.characters[-1]
            kept = part if kind is Kind.MARK and len(character) < _MARKS else ""
            self.characters[-1] = (start, position + 1, character + kept)
        elif self.parts:
            wanted = kind is Kind.MARK or (kind is Kind.BREVE and self.letter == "и")
            if wanted and len(self.parts) < _PARTS:
                self.parts.append(part)
            self.end = position + 1

    def _end(self) -> None:
        if self.parts:
            word = unicodedata.normalize("NFC", "".join(self.parts))
            self.words.append((self.start, self.end, word[:WORD_LENGTH]))
        elif len(self.characters) == 1:
            ((start, end, character),) = self.characters
            self.words.append((start, end, unicodedata.normalize("NFC", character)))
        for (start, _, first), (_, end, second) in pairwise(self.characters):
            self.words.append((start, end, unicodedata.normalize("NFC", first + second)))
        self.parts, self.characters, self.raised = [], [], False
