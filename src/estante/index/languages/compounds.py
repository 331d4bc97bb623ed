"""What is written in parts without a space: its parts, and the wholes that they make.

`guarda-chuva` is guarda, chuva and guardachuva. A hyphen and an underscore bind most tightly and leave no trace, so
that all spellings of a compound or an identifier meet; then a period (`os.path.join`, `2.1.3`, `1.234,56`); then all
other joining signs (`8.112/1990`, addresses of mail and web, paths). Numbers of documents that are written with more
than one sign are their digits alone: `12.345.678/0001-95` is 12345678000195.
"""

import re
from collections.abc import Callable
from hashlib import blake2s
from itertools import chain, pairwise
from typing import Final, NamedTuple

from estante.index.languages import citations, clitics
from estante.index.languages.units import units
from estante.index.languages.words import WORD_LENGTH, Word, parts, read

_TIGHT: Final = re.compile("[-\u2010\u2011]|__?")
_DOT: Final = re.compile("[.,]")
_SIGNS: Final = str.maketrans({":": ";", "\\": "/"})
"""A colon would look like the one behind a term's language."""

_CODE: Final = 8
"""Digits from which numbers joined by several signs are one number of a document, an account or a telephone."""

_PLATE: Final = re.compile(r"[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}/[0-9a-z]{4}-?[0-9]{2}")
"""The number of a company's registration, which may hold letters."""

_ABBREVIATION: Final = 4
"""Letters that each part of `TCP/IP` or `km/h` has at most."""

_BEGINNINGS: Final = 4
_VERSION: Final = re.compile("v[0-9]+")


class _Piece(NamedTuple):
    """A part that may join others; `text` is empty where it cannot.

    Its words stand at `start` to `end`, inside of what is written from `first` to `last`: `council` in `council's`.
    """

    start: int
    end: int
    text: str
    first: int
    last: int


def split(written: str, *, fine: bool) -> list[Word]:
    """The words of what stands between two spaces, by their starts; the parts of its units too, if `fine`."""
    compound = _Compound(written, fine)
    for unit in units().finditer(written):
        compound.take(unit.start(), unit.end())
    return compound.words()


class _Compound:
    """Reads the units of a text and binds them, level by level."""

    def __init__(self, written: str, fine: bool) -> None:
        self._written = written
        self._fine = fine
        self._parts: dict[int, list[Word]] = {}  # by the start of their unit
        self._pieces: list[_Piece] = []
        self._wholes: dict[tuple[int, int], str] = {}

    def take(self, first: int, last: int) -> None:
        """Reads one unit."""
        unit = self._written[first:last]
        words, text = read(unit)
        if self._fine:
            words += parts(unit, words)
        placed = [(first + start, first + end, word) for start, end, word in words]
        if text:
            end = placed[0][1] if len(placed) == 1 else max([end for _, end, _ in placed])
            self._put(_Piece(placed[0][0], end, text, first, last), placed)
        elif all(one[1] <= other[0] for one, other in pairwise(placed)):  # an emoji stands between them
            for start, end, word in placed:
                self._put(_Piece(start, end, word, start, end), [(start, end, word)])
        else:
            self._put(_Piece(first, last, "", first, last), placed)

    def _put(self, piece: _Piece, words: list[Word]) -> None:
        self._parts[piece.first] = words
        self._pieces.append(piece)

    def words(self) -> list[Word]:
        """All parts and wholes."""
        pieces = self._pieces
        if _TIGHT.search(self._written):
            pieces = self._bind(pieces, _TIGHT.fullmatch, self._hyphened)
        if "://" in self._written:
            address = self._written.index("://")
            pieces = [piece for piece in pieces if piece.start > address]
        if _DOT.search(self._written):
            pieces = self._bind(pieces, _DOT.fullmatch, self._dotted)
        self._bind(pieces, _links, self._linked)
        for start, end, date in citations.dates(self._written):
            self._wholes[start, end] = date
        wholes = [(start, end, _cut(text)) for (start, end), text in self._wholes.items() if text]
        return sorted({*chain.from_iterable(self._parts.values()), *wholes})

    def _bind(
        self,
        pieces: list[_Piece],
        binds: Callable[[str], object],
        whole: Callable[[list[_Piece], list[str]], _Piece],
    ) -> list[_Piece]:
        """Joins the pieces that stand beside each other with a sign of this level between them."""
        if len(pieces) < 2:
            return pieces
        joined: list[_Piece] = []
        group: list[_Piece] = []
        signs: list[str] = []
        before: _Piece | None = None
        for piece in pieces:
            if before is not None:
                sign = self._written[before.last : piece.first]
                if piece.text and before.text and binds(sign):
                    signs.append(sign)
                else:
                    joined.append(whole(group, signs) if signs else before)
                    group, signs = [], []
            group.append(piece)
            before = piece
        joined.append(whole(group, signs) if signs else group[0])
        return joined

    def _keep(self, group: list[_Piece], text: str, whole: str | None = None) -> _Piece:
        """One piece out of several; `whole` is what is indexed for them, if it is not their text."""
        first, last = group[0], group[-1]
        self._wholes[first.start, last.end] = text if whole is None else whole
        return _Piece(first.start, last.end, text, first.first, last.last)

    def _hyphened(self, group: list[_Piece], signs: list[str]) -> _Piece:
        texts = [piece.text for piece in group]
        text = "".join(texts)
        verb = clitics.unfolded(texts) if len(group) < 4 and "_" not in signs else None
        if verb is not None:
            self._unfold(group, *verb)
            return self._keep(group, text, "")
        short = len(text) < _CODE and text.isdigit()
        return self._keep(group, text, "" if short else text)

    def _unfold(self, group: list[_Piece], verb: str, pronoun: str) -> None:
        """Puts a verb and its pronoun in the place of the parts that they are written in."""
        for piece in group:
            del self._parts[piece.first]
        end = group[0].end if len(group) == 2 else group[-1].end
        self._parts[group[0].first] = [(group[0].start, end, verb), (group[1].start, group[1].end, pronoun)]

    def _dotted(self, group: list[_Piece], signs: list[str]) -> _Piece:
        if group[0].text == "www" and len(group) > 2:
            group = group[1:]
        texts = [piece.text for piece in group]
        digits = "".join(texts)
        if digits.isalpha() and len(digits) == len(texts):
            return self._keep(group, digits)  # S.A.
        if "," in signs and (len(group) > 2 or not digits.isdigit()):
            return self._keep(group, ".".join(texts), "")  # a list of numbers
        if texts[1][0].isdigit() and _VERSION.fullmatch(texts[0]):
            texts[0] = self._version(group[0])
        if len(digits) >= _CODE and digits.isdigit() and self._has(group, "-"):
            return self._keep(group, digits)
        if self._fine:
            self._keep_beginnings(group, texts)
        return self._keep(group, ".".join(texts))

    def _keep_beginnings(self, group: list[_Piece], texts: list[str]) -> None:
        """`3.11.4` is found as 3.11, and an address of a network by its beginning."""
        for count in range(2, min(len(group), _BEGINNINGS)):
            if not "".join(texts[:count]).isdigit():
                break
            self._keep(group[:count], ".".join(texts[:count]))

    def _version(self, piece: _Piece) -> str:
        """Makes the number of `v2` a part beside it."""
        if piece.end - piece.start == len(piece.text):
            self._parts[piece.first].append((piece.start + 1, piece.end, piece.text[1:]))
        return piece.text[1:]

    def _linked(self, group: list[_Piece], signs: list[str]) -> _Piece:
        texts = [piece.text for piece in group]
        digits = "".join(texts).replace(".", "")
        if digits.isdigit():
            if signs == ["/"] and len(texts[1]) in (2, 4) and not self._has(group[1:], "-"):
                return self._keep(group, citations.numbered(*texts))
            if len(digits) >= _CODE and self._has(group, "-./"):
                return self._keep(group, digits)
        if self._alternatives(group, texts, signs):
            return self._keep(group, "".join(texts), "")
        plain = "".join(chain.from_iterable(zip(texts, [*signs, ""], strict=True))).translate(_SIGNS)
        if _PLATE.fullmatch(self._written[group[0].start : group[-1].end].lower()):
            plain = plain.replace(".", "").replace("/", "")
        return self._keep(group, plain)

    def _alternatives(self, group: list[_Piece], texts: list[str], signs: list[str]) -> bool:
        """Whether it is words in a row, as `header/footer`, and no path, unit or abbreviation."""
        if self._written[: group[0].first] or any(sign != "/" for sign in signs):
            return False
        return all(map(str.isalpha, texts)) and max(map(len, texts)) > _ABBREVIATION

    def _has(self, group: list[_Piece], signs: str) -> bool:
        written = self._written[group[0].start : group[-1].end]
        return any(sign in written for sign in signs)


def _links(sign: str) -> bool:
    return sign != "" and sign.isascii()


def _cut(text: str) -> str:
    """A whole that is too long for a term keeps its beginning and a digest, so that no two become one."""
    if len(text) <= WORD_LENGTH:
        return text
    digest = blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[: WORD_LENGTH - 1 - len(digest)]}~{digest}"
