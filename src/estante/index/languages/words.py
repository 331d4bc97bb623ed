"""Where the words of a text are, in any language, and how each is folded."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from estante.index.languages.letters import APOSTROPHES, Atom, Kind, atoms, separators

WORD_LENGTH: Final = 64
"""A longer word is cut to this many folded characters."""

Word = tuple[int, int, str]
"""Start and end of what is written, and the word folded."""

_PARTS: Final = 4 * WORD_LENGTH  # a word is collected up to here; a Hangul syllable takes three
_MARKS: Final = 8  # of a character without spaces


@cache
def runs() -> re.Pattern[str]:
    """Finds the runs of characters that hold words; `split` says which words.

    Every repetition is bounded or of one set that is never given back, so matching is linear. What a run holds
    depends on its characters alone, so it can be remembered.
    """
    ends = separators()
    return re.compile(
        # 8.112 or 8,112: groups of three digits
        r"[1-9][0-9]{0,2}(?:(?:\.[0-9]{3}){1,6}(?!\.?[0-9])|(?:,[0-9]{3}){1,6}(?!,?[0-9]))"
        # anything between separators, with the end of "council's", "don't", "C++" or "C#"
        rf"|[^{ends}]++(?:[{APOSTROPHES}][sStT](?![^{ends}])|\+\+|\#(?![^{ends}]))?"
    )


def words(text: str) -> Iterator[Word]:
    """The words of a text, by their starts."""
    for run in runs().finditer(text):
        offset = run.start()
        for start, end, word in split(run.group()):
            yield offset + start, offset + end, word


def split(run: str) -> list[Word]:
    """The words of one run."""
    if run.isascii():
        if run.isalnum():
            return [(0, len(run), run[:WORD_LENGTH].lower())]
        if run[-1].isdigit():  # only digits in groups hold a separator and end in a digit
            return [(0, len(run), run.replace(".", "").replace(",", ""))]
    if run[-1] in "+#":
        return _with_sign(run)
    if len(run) > 2 and run[-2] in APOSTROPHES:
        return _with_apostrophe(run)
    return _Reader().read(run)


def _with_sign(run: str) -> list[Word]:
    """`C++` and `C#` are words; the sign after anything longer is not."""
    written = run.rstrip("+#")
    found = _Reader().read(written)
    if len(found) == 1 and found[0][2] in _ALPHABET and found[0][1] == len(written):
        start, _, letter = found[0]
        return [(start, len(run), letter + run[len(written) :])]
    return found


def _with_apostrophe(run: str) -> list[Word]:
    """`council's` is council and `isn't` is isnt; elsewhere an apostrophe separates."""
    written, last = run[:-2], run[-1].lower()
    found = _Reader().read(written)
    if last == "s":
        return found
    if found and found[-1][2].endswith("n") and found[-1][1] == len(written):
        start, _, word = found.pop()
        return [*found, (start, len(run), (word + last)[:WORD_LENGTH])]
    return [*found, (len(run) - 1, len(run), last)]


_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz")


class _Atoms(dict[str, tuple[Atom, ...]]):
    def __missing__(self, char: str) -> tuple[Atom, ...]:
        found = self[char] = atoms(char)
        return found


_ATOMS: Final = _Atoms()


class _Reader:
    """Reads one run into words, a character at a time."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.start = self.end = 0
        self.parts: list[str] = []  # the word being read
        self.letter = ""  # its last one, without marks
        self.raised = False  # which is a raised digit
        self.characters: list[Word] = []  # the characters without spaces being read, each with its marks

    def read(self, run: str) -> list[Word]:
        letter = Kind.LETTER
        for position, char in enumerate(run):
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
