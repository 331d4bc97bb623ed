"""Texts on their way in: item, draft, document, chunk, and the spans that tie them to their source."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from estante.model.access import Claim, Scope

Metadata = Mapping[str, object]
"""JSON values by name: str, int, finite float, bool, None, and lists and mappings of these."""

HEADING: Final = "heading"
LINE: Final = "line"
PAGE: Final = "page"
TABLE: Final = "table"
CODE: Final = "code"
BLOCK: Final = "block"
PLACES: Final = (PAGE, "slide", "sheet", "row")
"""Kinds of marks that name a place a person can go to; a chunk's locator is the last one before it."""

LINE_REACH: Final = 16_384
LINE_STEP: Final = 64
"""A line mark stands at every so many lines, so that counting to a chunk's line stays cheap."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``[start, end)`` of a canonical text, in code points; never empty."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span needs 0 <= start < end, got [{self.start}, {self.end})")

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Mark:
    """A feature of the text at ``[start, end)``: a heading, a page, a table, a piece of code, a line number.

    A heading covers its own words (without ``##`` and the like) and has ``level`` >= 1. A page, slide or sheet
    mark covers what stands on it and has its number or name as ``label``. A table or code mark covers the whole
    block. A line mark has the 1-based line number at ``start`` as ``label``.
    """

    kind: str
    start: int
    end: int
    label: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Redaction:
    """A secret that was masked: its kind and where it stood. Its value is nowhere."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing a source offers, and a way to read it.

    ``source`` and ``uri`` together are its identity; ``uri`` is relative to the source and names no machine.
    ``revision`` changes when the content may have changed, and is cheap to get (for a file: size and times).
    ``read`` returns the bytes and may raise ``Unreadable``; it is not called for an item that did not change.
    """

    source: str
    uri: str
    media_type: str
    revision: str
    read: Callable[[], bytes] = field(repr=False, compare=False)
    claims: tuple[Claim, ...] = ()
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What an extractor read out of an item: text and structure, not yet let in.

    ``part`` tells the drafts of one item apart (empty when there is one). ``losses`` says what could not be
    read, a line each, for the report.
    """

    title: str
    text: str
    marks: tuple[Mark, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    part: str = ""
    language: str = ""


Trail = tuple[str, ...]


def outline(marks: Sequence[Mark]) -> tuple[tuple[int, Trail], ...]:
    """Where each heading begins and the trail of headings from there on, outermost first."""
    stack: list[tuple[int, str]] = []
    found: list[tuple[int, Trail]] = []
    for mark in marks:
        if mark.kind != HEADING:
            continue
        while stack and stack[-1][0] >= mark.level:
            stack.pop()
        stack.append((mark.level, mark.label))
        found.append((mark.start, tuple(label for _, label in stack)))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text let in. Made by the gate only: it is scoped and scrubbed, because nothing else makes one.

    ``text`` is canonical (see ``canonical``), with every secret masked by as many ``█``.
    """

    id: str
    uri: str
    source: str
    title: str
    text: str
    scope: Scope
    language: str
    media_type: str
    marks: tuple[Mark, ...]
    metadata: Metadata
    redactions: tuple[Redaction, ...]
    _outline: tuple[tuple[int, Trail], ...] = field(init=False, repr=False, compare=False)
    _headings: tuple[Mark, ...] = field(init=False, repr=False, compare=False)
    _places: tuple[Mark, ...] = field(init=False, repr=False, compare=False)
    _lines: tuple[Mark, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_outline", outline(self.marks))
        object.__setattr__(self, "_headings", tuple(m for m in self.marks if m.kind == HEADING))
        object.__setattr__(self, "_places", tuple(m for m in self.marks if m.kind in PLACES))
        object.__setattr__(self, "_lines", tuple(m for m in self.marks if m.kind == LINE))

    def __repr__(self) -> str:
        return f"<Document {self.id!r} {_short(self.title)!r}: {len(self.text):,} characters>"

    def cut(self, index: int, span: Span) -> Chunk:
        """The only way to a chunk: ``chunk.text`` is ``text[span.start:span.end]``, its scope is this one's."""
        if span.end > len(self.text):
            raise ValueError(f"span [{span.start}, {span.end}) leaves a text of {len(self.text)} characters")
        return Chunk(
            id=chunk_id(self.id, index),
            document_id=self.id,
            index=index,
            span=span,
            text=self.text[span.start : span.end],
            scope=self.scope,
            title=self.title,
            trail=self.trail(span),
            uri=self.uri,
            locator=self.locator(span),
            language=self.language,
            metadata=self.metadata,
        )

    def trail(self, span: Span) -> Trail:
        """The headings that the span stands under, outermost first.

        A span that opens with headings of its own stands under the last of those.
        """
        at = bisect_right(self._outline, span.start, key=lambda entry: entry[0]) - 1
        while at + 1 < len(self._outline) and self._outline[at + 1][0] < span.end:
            if self._words_before(at + 1, span.start):
                break
            at += 1
        return self._outline[at][1] if at >= 0 else ()

    def _words_before(self, number: int, start: int) -> bool:
        """Whether words stand between a heading and the one before it, or ``start`` if that comes later."""
        if number and self._headings[number - 1].start >= start:
            start = self._headings[number - 1].end
        between = self.text[start : self._headings[number].start]
        return len(between) > 400 or any(char.isalnum() for char in between)

    def locator(self, span: Span) -> str:
        """A place a person can go to: ``page 3``, ``sheet Fees``, or ``line 12`` of the source file."""
        at = bisect_right(self._places, span.start, key=lambda mark: mark.start) - 1
        if at >= 0:
            return f"{self._places[at].kind} {self._places[at].label}"
        at = bisect_right(self._lines, span.start, key=lambda mark: mark.start) - 1
        if at < 0:
            return ""
        line = int(self._lines[at].label) + self.text.count("\n", self._lines[at].start, span.start)
        return f"line {line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A true slice of a document. Made by ``Document.cut`` only."""

    id: str
    document_id: str
    index: int
    span: Span
    text: str
    scope: Scope
    title: str
    trail: Trail
    uri: str
    locator: str
    language: str
    metadata: Metadata

    def __repr__(self) -> str:
        where = f"{self.document_id}:{self.span.start}-{self.span.end}"
        return f"<Chunk {self.id!r} {where} {_short(self.text)!r}>"


def _short(text: str) -> str:
    """The beginning of a text on one line, for people."""
    text = " ".join(text[:400].split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def chunk_id(document_id: str, index: int) -> str:
    """``<document id>#<position>``; the same on every machine."""
    return f"{document_id}#{index}"


_STRAY: Final = re.compile("[\x00\ufeff\ud800-\udfff]")


def canonical(text: str) -> str:
    """The one form of a text that offsets point into.

    Line endings are ``\\n`` (from ``\\r\\n`` and lone ``\\r``), Unicode is NFC, BOM and NUL are removed, and a
    lone surrogate, which no file can hold, becomes U+FFFD.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _STRAY.search(text):
        text = _STRAY.sub(lambda m: "\ufffd" if "\ud800" <= m[0] <= "\udfff" else "", text)
    # A removed character may have stood between a letter and its accent, so NFC comes last.
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def canonicalise(text: str, marks: Iterable[Mark]) -> tuple[str, tuple[Mark, ...]]:
    """The canonical text, and the marks moved along with it."""
    clean = canonical(text)
    if clean == text:
        return text, tuple(marks)
    marks = tuple(marks)
    moved = _moved(text, clean, sorted({at for mark in marks for at in (mark.start, mark.end)}))
    return clean, tuple(Mark(m.kind, moved[m.start], moved[m.end], canonical(m.label), m.level) for m in marks)


def _moved(text: str, clean: str, offsets: list[int]) -> dict[int, int]:
    """Each offset of ``text`` as an offset of ``clean``, counted piece by piece."""
    moved, last, at = {}, 0, 0
    for offset in offsets:
        here = at + len(canonical(text[last:offset]))
        moved[offset] = min(here, len(clean))
        if not _joins(text, offset):
            last, at = offset, here
    return moved


def _joins(text: str, offset: int) -> bool:
    """Whether the characters on both sides of an offset may become one, so that no piece may end there."""
    if text[offset - 1 : offset + 1] == "\r\n":
        return True
    after = _STRAY.sub("", text[offset : offset + 8])[:1]
    before = _STRAY.sub("", text[max(offset - 8, 0) : offset])[-1:]
    return unicodedata.combining(after or " ") > 0 or canonical(before + after) != canonical(before) + canonical(after)


def line_marks(text: str, first: int = 1) -> Iterator[Mark]:
    """A line mark at every ``LINE_STEP`` lines, and within long lines at every ``LINE_REACH`` characters.

    ``first`` is the number of the first line. From the last mark before it, any place's line is quickly counted.
    """
    start, line = 0, first
    while True:
        yield Mark(LINE, start, start, str(line))
        end, count, limit = start, 0, start + LINE_REACH
        while count < LINE_STEP and (found := text.find("\n", end, limit)) >= 0:
            end, count = found + 1, count + 1
        if count < LINE_STEP:
            if limit >= len(text):
                return
            end = limit
        start, line = end, line + count
