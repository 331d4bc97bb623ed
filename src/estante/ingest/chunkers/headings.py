"""Chunks that follow a document's own structure: sections first, then blocks, lines, sentences and words.

Two steps, each linear in the text. ``_sections`` cuts at headings and places and joins what is too short to stand
alone; ``_Cutter`` cuts a section that is too long where it hurts least.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from estante.model.content import CODE, HEADING, PAGE, TABLE, Document, Mark, Span
from estante.model.errors import SettingsError

_ABBREVIATED: Final = """
    a/c adm ago al ap apto art arts att av ave cap caps cf cia cit co col coord corp cx dec dep dept des desc dez dir
    doc docs dr dra dras drs e.g ed eds eg eng esq etc ex excl exma exmo fev fig figs fl fls flt gal gen gov hon ibid
    id i.e ie ilma ilmo inc incl inf insc jan jr jul jun km lda ltd ltda mar max máx min mín mr mrs ms mt n nº no nos
    nov nr nrs num núm obs op out p p.ex pág págs par parág pe pg pgs ph.d port pp proc prof profa profª profs publ
    qtd ref refs reg rep res resp rev rod s s.a sec séc sen sept set sra sras sr srs srta ss st sta sto supl tab tb
    tel tít trad u.s univ v v.g vide vol vols vs
"""
ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())
"""Words, in lower case, whose full stop does not end a sentence."""

_INK: Final = re.compile(r"\S")
_WORD: Final = re.compile(r"[^\W_]")
_PARAGRAPH: Final = re.compile(r"\n(?=[^\S\n]*\n)")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"[.!?:;…][\"'”’»)\]]{0,3}(?=\s)|[。！？]")
_BLANK: Final = re.compile(r"[^\S\u00a0\u2007\u202f]")
_UNBREAKABLE: Final = re.compile("[\u00a0\u2007\u202f]")
_ENDED: Final = re.compile(r"[.!?:;…。！？][\"'”’»)\]]{0,3}\s*\Z")
_TOKEN: Final = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_RULE: Final = re.compile(r"([=\-~^\"#*+`:.'_])\1{2,}[^\S\n]*")

_STRONG: Final = ("slide", "sheet")
_LOOK: Final = 400


class _Section(NamedTuple):
    """A stretch of the text under one heading and on one place.

    ``parent`` is the level of the section around it, ``bare`` says that it has a heading and nothing under it.
    """

    start: int
    end: int
    level: int
    parent: int
    place: int
    bare: bool


class HeadingsChunker:
    """Sections of at most ``max_chars`` characters; those below ``min_chars`` join a neighbour where they may.

    Without ``min_chars`` it is 200, or an eighth of ``max_chars`` where that is less.
    """

    def __init__(self, max_chars: int = 1600, min_chars: int | None = None) -> None:
        for name, value in (("max_chars", max_chars), ("min_chars", 0 if min_chars is None else min_chars)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise SettingsError(f"{name} must be a whole number, got {value!r}", hint=f"Set {name} to a number.")
        if max_chars < 1:
            raise SettingsError(f"max_chars must be at least 1, got {max_chars}", hint="1600 is a good size.")
        if min_chars is None:
            min_chars = min(200, max_chars // 8)
        if not 0 <= min_chars <= max_chars:
            raise SettingsError(
                f"min_chars must be from 0 to max_chars = {max_chars}, got {min_chars}", hint="200 is a good size."
            )
        self.max_chars = max_chars
        self.min_chars = min_chars

    @property
    def fingerprint(self) -> str:
        """Name, version and settings."""
        return f"headings/1 max={self.max_chars} min={self.min_chars}"

    def spans(self, document: Document) -> Iterator[Span]:
        """Spans of the document's text: in order, apart from one another, without blank space at their ends.

        None is longer than ``max_chars``. A word, a letter with its accents or an emoji of several characters is cut
        only when it alone is longer than that.
        """
        cutter = _Cutter(document.text, document.marks, self.max_chars, self.min_chars)
        for section in self._joined(_sections(document.text, document.marks, self.min_chars)):
            yield from cutter.pieces(section.start, section.end)

    def _joined(self, sections: list[_Section]) -> Iterator[_Section]:
        """The sections with short ones joined to a neighbour of the same parent and place."""
        group: _Section | None = None
        for at, section in enumerate(sections):
            if group is None:
                group = section
                continue
            following = sections[at + 1] if at + 1 < len(sections) else None
            if self._belongs(group, section, following):
                group = group._replace(end=section.end, bare=group.bare and section.bare)
            else:
                yield group
                group = section
        if group is not None:
            yield group

    def _belongs(self, group: _Section, section: _Section, following: _Section | None) -> bool:
        if group.place != section.place:
            return False
        if group.bare:
            return True
        if not self._may_join(group, section):
            # The last heading of all, with nothing under it, has only what stands before it.
            return section.bare and following is None and section.end - group.start <= self.max_chars
        if group.end - group.start < self.min_chars:
            return True
        if section.end - section.start >= self.min_chars:
            return False
        return not (section.bare and following) and not self._leads(section, following)

    def _may_join(self, group: _Section, section: _Section) -> bool:
        return (
            section.place == group.place
            and section.level > group.parent
            and section.end - group.start <= self.max_chars
        )

    def _leads(self, section: _Section, following: _Section | None) -> bool:
        """Whether a short section is better off with what follows: its own first child, or another short one."""
        if following is None or not self._may_join(section, following):
            return False
        return following.level > section.level or following.end - following.start < self.min_chars


def _sections(text: str, marks: Sequence[Mark], least: int) -> list[_Section]:
    """The sections of the text in order; together they hold all that is not blank."""
    starts = _starts(text, marks, least)
    sections: list[_Section] = []
    levels: list[int] = []
    place = 0
    for at, start in enumerate(starts):
        end = starts[at + 1].at if at + 1 < len(starts) else len(text)
        place += start.strong
        if start.level:
            while levels and levels[-1] >= start.level:
                levels.pop()
            levels.append(start.level)
        if _INK.search(text, start.at, end):
            level = levels[-1] if levels else 1
            parent = levels[-2] if len(levels) > 1 else 0
            bare = start.level > 0 and _WORD.search(text, start.words, end) is None
            sections.append(_Section(start.at, end, level, parent, place, bare))
    return sections


class _Start(NamedTuple):
    """Where a section begins: at a heading (``level`` > 0, its words end at ``words``), a place, or a weak page."""

    at: int
    level: int = 0
    words: int = 0
    strong: bool = False
    weak: bool = False


def _starts(text: str, marks: Sequence[Mark], least: int) -> list[_Start]:
    """Where sections begin, in order, the first at 0."""
    starts = [_Start(0)]
    line = seen = 0
    for mark in marks:
        if mark.kind == HEADING:
            # Looking back no further than to the last heading keeps many headings on one line cheap.
            line = text.rfind("\n", seen, mark.start) + 1 or line
            seen = mark.start
            _add(starts, _Start(_above(text, line, mark.end), mark.level, mark.end), least)
        elif mark.kind in _STRONG:
            _add(starts, _Start(mark.start, strong=True), least)
        elif mark.kind == PAGE and mark.start - starts[-1].at >= least and _ended(text, mark.start):
            _add(starts, _Start(mark.start, weak=True), least)
    if starts[-1].weak and len(text) - starts[-1].at < least:
        starts.pop()
    return starts


def _add(starts: list[_Start], new: _Start, least: int) -> None:
    """Appends a start; one at the same place, or before a place already begun, becomes one with the last."""
    if starts[-1].weak and new.at - starts[-1].at < least:
        starts.pop()
    last = starts[-1]
    if new.at > last.at:
        starts.append(new)
    else:
        starts[-1] = _Start(last.at, new.level or last.level, max(new.words, last.words), new.strong or last.strong)


def _above(text: str, line: int, words: int) -> int:
    """The start of a heading's first line: that of the rule above it, if the same rule stands below it too."""
    if line < 2 or text[line - 2] not in "=-~^\"#*+`:.'_":
        return line
    over = text.rfind("\n", max(0, line - _LOOK), line - 1) + 1
    below = text.find("\n", words, words + _LOOK) + 1
    above, under = _RULE.fullmatch(text, over, line - 1), _RULE.match(text, below) if below else None
    blank_before = over == 0 or not text[text.rfind("\n", max(0, over - _LOOK), over - 1) + 1 : over].strip()
    return over if above and under and above[1] == under[1] and blank_before else line


def _ended(text: str, at: int) -> bool:
    """Whether a sentence has ended before ``at``."""
    before = text[max(0, at - 8) : at].rstrip() or text[max(0, at - _LOOK) : at].rstrip()[-8:]
    return not before or _ENDED.search(before) is not None


class _Cutter:
    """Cuts stretches of one text into pieces of at most ``most`` characters."""

    def __init__(self, text: str, marks: Sequence[Mark], most: int, least: int) -> None:
        self.text = text
        self.most = most
        self.least = max(1, min(least, most // 4))
        firm = _apart(mark for mark in marks if mark.kind in (TABLE, CODE))
        self.firm = _Ranges(firm)
        self.whole = _Ranges([(start, end) for start, end in firm if end - start <= most])
        self.rows = [mark.start for mark in marks if mark.kind == "row"]
        pages = [mark.start for mark in marks if mark.kind == PAGE]
        self.run_on = {_ink(text, page, len(text)) for page in pages if not _ended(text, page)}

    def pieces(self, start: int, end: int) -> Iterator[Span]:
        """The pieces of ``[start, end)``, without blank space at their ends."""
        end = start + len(self.text[start:end].rstrip())
        start = _ink(self.text, start, end)
        while end - start > self.most:
            cut = self._cut(start, end)
            yield Span(start, start + len(self.text[start:cut].rstrip()))
            start = _ink(self.text, cut, end)
        if start < end:
            yield Span(start, end)

    def _cut(self, start: int, end: int) -> int:
        """Where the piece that begins at ``start`` ends: at the best kind of boundary there is near the limit."""
        rest = end - start
        limit = start + self.most
        low, high, aim = start + max(1, self.most // 2), limit, limit
        last_two = 2 * rest <= 3 * self.most
        if last_two:
            # What is left makes two pieces, and they should be of like size.
            low, high, aim = max(end - self.most, start + rest // 4), min(limit, end - rest // 4), start + rest // 2
        cut = self._between_blocks(start, end, (low, high, aim))
        if cut is None:
            cut = self._within_block((low, high, aim), self.whole.apart)
        if cut is None and last_two:
            cut = self._within_block((start + max(1, self.most // 2), limit, aim), self.whole.apart)
        if cut is None:
            cut = self._within_block((start + max(1, self.most // 2), limit, aim), lambda at: True)
        return cut if cut is not None else _between_characters(self.text, start, aim, limit)

    def _between_blocks(self, start: int, end: int, window: tuple[int, int, int]) -> int | None:
        """The best cut between two blocks: in the window, or before it when that keeps the next block whole."""
        low, high, aim = window
        floor, limit = start + self.least, min(start + self.most, end - self.least)
        edges = [at for at in self._edges(floor, limit) if self.whole.apart(at)]
        cut = _nearest((at for at in edges if low <= at <= high), aim)
        if cut is not None or not edges:
            return cut
        cut = edges[-1]
        fits = end - cut <= self.most or not self.whole.apart(start + self.most)
        return cut if fits or self._edges(start + self.most, cut + self.most) else None

    def _edges(self, low: int, high: int) -> list[int]:
        """Where blocks begin or end in ``[low, high]``, in order."""
        if low > high:
            return []
        edges = [match.start() for match in _PARAGRAPH.finditer(self.text, low, high + _LOOK) if match.start() <= high]
        if self.run_on:
            edges = [at for at in edges if _ink(self.text, at, at + _LOOK) not in self.run_on]
        edges += self.firm.bounds(low, high)
        edges += self.rows[bisect_left(self.rows, low) : bisect_right(self.rows, high)]
        return sorted(edges)

    def _within_block(self, window: tuple[int, int, int], allowed: Callable[[int], bool]) -> int | None:
        """The best cut in the window that is not between blocks: line, sentence, then word."""
        for places in self._boundaries(window):
            cut = _nearest((at for at in places if allowed(at)), window[2])
            if cut is not None:
                return cut
        return None

    def _boundaries(self, window: tuple[int, int, int]) -> Iterator[Iterable[int]]:
        """The boundaries in the window, a kind at a time, the better kinds first."""
        low, high, _ = window
        lines = [match.start() for match in _LINE.finditer(self.text, low, high + 1)]
        yield (at for at in lines if not self._runs_on(at))
        stops = (match.end() for match in _SENTENCE.finditer(self.text, low, high + 1))
        sentences = [at for at in stops if at <= high and not _abbreviates(self.text, at)]
        yield (at for at in sentences if not self.text[at : at + 80].lstrip()[:1].islower())
        yield sentences
        yield lines
        yield self._spaces(window)
        yield (match.start() for match in _BLANK.finditer(self.text, low, high + 1))
        yield (match.start() for match in _UNBREAKABLE.finditer(self.text, low, high + 1))

    def _spaces(self, window: tuple[int, int, int]) -> Iterator[int]:
        """The plain spaces next to the aim, which is all that prose without any other boundary needs."""
        low, high, aim = window
        for at in (self.text.rfind(" ", low, aim + 1), self.text.find(" ", aim, high + 1)):
            if at >= 0:
                yield at

    def _runs_on(self, at: int) -> bool:
        """Whether the line that ends at ``at`` breaks a sentence in two, as lines of wrapped prose do."""
        after = self.text[at + 1 : at + 2].strip() or self.text[at : at + 80].lstrip()[:1]
        return after.islower() and not _ended(self.text, at) and self.firm.apart(at)


class _Ranges:
    """Stretches of a text, in order and apart from one another."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self.starts = [start for start, _ in ranges]
        self.ends = [end for _, end in ranges]

    def apart(self, at: int) -> bool:
        """Whether a cut at ``at`` leaves every stretch whole."""
        before = bisect_left(self.starts, at) - 1
        return before < 0 or self.ends[before] <= at

    def bounds(self, low: int, high: int) -> list[int]:
        """The starts and ends in ``[low, high]``."""
        return [at for ats in (self.starts, self.ends) for at in ats[bisect_left(ats, low) : bisect_right(ats, high)]]


def _apart(marks: Iterable[Mark]) -> list[tuple[int, int]]:
    """The stretches of marks in order; one that begins within another is left out."""
    ranges: list[tuple[int, int]] = []
    for mark in marks:
        if mark.start < mark.end and (not ranges or mark.start >= ranges[-1][1]):
            ranges.append((mark.start, mark.end))
    return ranges


def _nearest(places: Iterable[int], aim: int) -> int | None:
    """The place nearest to ``aim``; of two as near, the later."""
    best: int | None = None
    for at in places:
        if best is None or abs(at - aim) <= abs(best - aim):
            best = at
    return best


def _ink(text: str, start: int, end: int) -> int:
    """The first character in ``[start, end)`` that is not blank; ``end`` if there is none."""
    found = _INK.search(text, start, end)
    return found.start() if found else end


def _abbreviates(text: str, at: int) -> bool:
    """Whether the full stop before ``at`` ends no sentence but a word: ``art. 5º``, ``J. Silva``, ``1. Escopo``."""
    dot = text.rfind(".", max(0, at - 4), at)
    if dot < 0:
        return False
    before = text[max(0, dot - 24) : dot]
    found = _TOKEN.search(before)
    token = found[0].casefold() if found else ""
    if token.isdigit():
        return not before[: len(before) - len(token)].rpartition("\n")[2].strip()
    return token in ABBREVIATIONS or (len(token) == 1 and token.isalpha())


def _between_characters(text: str, start: int, aim: int, limit: int) -> int:
    """A cut where no boundary is: at ``aim`` or before, or else before ``limit``, between whole characters.

    A letter with its accents or an emoji of several code points that is itself longer than a piece is cut at
    ``limit``: there is no other way to keep to the length.
    """
    for at in chain(range(aim, start, -1), range(limit, aim, -1)):
        if not _in_character(text, start, at):
            return at
    return limit


def _in_character(text: str, start: int, at: int) -> bool:
    """Whether the code points before and after ``at`` belong to one character that people see."""
    if at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if unicodedata.category(after)[0] == "M" or "\u200d" in (before, after) or after == "\u200c":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff":
        return True
    if _is_flag(after) and _is_flag(before):
        return _flags_before(text, start, at) % 2 == 1
    # In the scripts of India a virama binds the next letter to the one before it.
    return unicodedata.combining(before) == 9 and after.isalpha()


def _is_flag(char: str) -> bool:
    """Whether it is half of a flag (a regional indicator)."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, start: int, at: int) -> int:
    """How many halves of flags stand together before ``at``."""
    first = at
    while first > start and _is_flag(text[first - 1]):
        first -= 1
    return at - first
