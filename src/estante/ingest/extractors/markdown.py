"""Markdown: the source as it stands, with its headings, code and tables marked."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from itertools import accumulate
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from estante.ingest.decoding import decode
from estante.ingest.frontmatter import front_matter
from estante.ingest.language import primary
from estante.ingest.manuscript import draft, in_order, refuse_empty
from estante.ingest.titles import LONGEST_LINE, from_property, stem
from estante.model.content import CODE, HEADING, TABLE, Draft, Item, Mark, canonical, line_marks

_LONGEST_HEADING: Final = 1000
_LONGEST_PARSED: Final = 20_000_000
_PAYLOAD: Final = re.compile(
    r"(data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4};base64,)([A-Za-z0-9+/=_-]{32,})"
)
_HIDING: Final = re.compile(r"<!--|<script\b|<style\b", re.IGNORECASE)
_SHOWING: Final = {
    "<!--": re.compile("-->"),
    "<script": re.compile("</script[^>\n]{0,20}>", re.IGNORECASE),
    "<style": re.compile("</style[^>\n]{0,20}>", re.IGNORECASE),
}
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_BLOCKS: Final = MarkdownIt("commonmark").enable("table")
# Only the blocks of a page are parsed; the words within are looked at where they are headings.
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE: Final = MarkdownIt("commonmark").enable("strikethrough")


class MarkdownExtractor:
    """The source after the front matter; headings, code, tables and lines are marked.

    What a reader of the page does not see (comments, scripts) and embedded files are cut out, and reported.
    """

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is not text or has none."""
        refuse_empty(data)
        decoded = decode(data)
        source = canonical(decoded.text)
        front = front_matter(source)
        text, losses = _visible(source[front.end :])
        if len(text) > _LONGEST_PARSED:
            losses.append("too long for its headings to be told")
        tokens = _parse(text)
        text, marks = _spelt_out(text, list(_block_marks(text, tokens)), tokens)
        yield draft(
            title=from_property(front.values.get("title")) or _first_title(marks) or stem(item.uri),
            text=text,
            marks=in_order([*marks, *line_marks(text, source.count("\n", 0, front.end) + 1)]),
            metadata={**front.values, **decoded.metadata},
            losses=(*decoded.losses, *front.losses, *losses),
            language=_language(front.values),
        )


def _language(values: Mapping[str, object]) -> str:
    tag = values.get("lang") or values.get("language")
    return primary(tag) if isinstance(tag, str) else ""


def _first_title(marks: Sequence[Mark]) -> str:
    headings = [mark for mark in marks if mark.kind == HEADING]
    first = next((mark for mark in headings if mark.level == 1), headings[0] if headings else None)
    return first.label if first is not None and len(first.label) <= 2 * LONGEST_LINE else ""


def _visible(text: str) -> tuple[str, list[str]]:
    """The text without what its reader does not see, each cut keeping its line ends; and what was cut."""
    losses = []
    files = 0
    if "base64," in text:
        text, files = _PAYLOAD.subn(r"\1", text)
        if files:
            losses.append(f"embedded files left out: {files}")
    hidden = list(_hidden(text)) if _HIDING.search(text) else []
    if not hidden:
        return text, losses
    pieces, at = [], 0
    for start, end in hidden:
        pieces += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    count = sum(1 for start, end in hidden for char in text[start:end] if not char.isspace())
    losses.append(f"hidden text left out: {count:,} characters")
    return "".join([*pieces, text[at:]]), losses


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Where comments, scripts and styles stand, except in code, where they are shown."""
    code = _Code(text, _parse(text))
    endless: set[str] = set()
    at = 0
    while (found := _HIDING.search(text, at)) is not None:
        kind = found[0].lower()
        at = code.end(found.start()) or found.end()
        if at > found.end() or kind in endless or code.in_line(found.start()):
            continue
        closing = _SHOWING[kind].search(text, found.end())
        if closing is None:
            endless.add(kind)
        else:
            at = closing.end()
            yield found.start(), at


def _spelt_out(text: str, marks: list[Mark], tokens: Sequence[Token]) -> tuple[str, list[Mark]]:
    """The text with ``&amp;`` and the like as the characters they stand for, except in code; marks moved along."""
    if not _ENTITY.search(text):
        return text, marks
    code = _Code(text, tokens)
    pieces: list[str] = []
    ends, shifts, at, shift = [0], [0], 0, 0
    for found in _ENTITY.finditer(text):
        char = unescape(found[0])
        # A bar would part the cells of a table.
        if (
            char in ("|", found[0])
            or not (char.isprintable() or char == "\xa0")
            or code.end(found.start())
            or code.in_line(found.start())
        ):
            continue
        pieces += [text[at : found.start()], char]
        at = found.end()
        shift += len(char) - len(found[0])
        ends.append(at)
        shifts.append(shift)
    moved = [
        replace(
            mark, start=mark.start + _shift(mark.start, ends, shifts), end=mark.end + _shift(mark.end, ends, shifts)
        )
        for mark in marks
    ]
    return "".join([*pieces, text[at:]]), moved


def _shift(offset: int, ends: Sequence[int], shifts: Sequence[int]) -> int:
    return shifts[bisect_right(ends, offset) - 1]


class _Code:
    """Where the code stands in a text."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        starts = _line_starts(text)
        maps = [token.map for token in tokens if token.type in ("fence", "code_block") and token.map]
        self.begins = [starts[first] for first, _ in maps]
        self.ends = [starts[last] for _, last in maps]

    def end(self, offset: int) -> int:
        """Where the block of code around the offset ends; 0 when there is none."""
        at = bisect_right(self.begins, offset) - 1
        return self.ends[at] if at >= 0 and offset < self.ends[at] else 0

    def in_line(self, offset: int) -> bool:
        """Whether code that began in this line is still open there."""
        line = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("`", max(line, offset - _LONGEST_HEADING), offset) % 2 == 1


def _line_starts(text: str) -> list[int]:
    """Where each line starts, and as many as a parser could ask for past the end."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return [min(start, len(text)) for start in starts] + [len(text)]


def _parse(text: str) -> list[Token]:
    if len(text) > _LONGEST_PARSED:
        return []
    try:
        return _BLOCKS.parse(text)
    except (RecursionError, IndexError, ValueError):
        # The text is whole without its structure.
        return []


def _block_marks(text: str, tokens: Sequence[Token]) -> Iterator[Mark]:
    starts = _line_starts(text)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = starts[token.map[0]], starts[token.map[1]]
        if token.type == "heading_open":
            mark = _heading(text, start, end, token, tokens[at + 1].content)
            if mark is not None:
                yield mark
        elif token.type in ("fence", "code_block", "table_open"):
            words = token.info.split()
            kind = TABLE if token.type == "table_open" else CODE
            block = text[start:end]
            stop = start + len(block.rstrip())
            if start < stop:
                yield Mark(kind, start, stop, words[0][:40] if words else "")


def _heading(text: str, start: int, end: int, token: Token, content: str) -> Mark | None:
    """The mark on the heading's own words, without the signs that make it one."""
    lines = [line.strip() for line in content.split("\n")]
    if not content.strip() or len(content) > _LONGEST_HEADING:
        return None
    if token.markup.startswith("#"):
        signs = re.compile(rf"{token.markup}[ \t]+(?={re.escape(content)})")
        found = signs.search(text, start, end)
        first = found.end() if found else -1
    else:
        first = text.find(lines[0], start, end)
    last = text.find(lines[-1], first, end) if first >= 0 else -1
    if last < 0:
        return None
    level = int(token.tag[1:])
    label = _plain(content)
    return Mark(HEADING, first, last + len(lines[-1]), label, level) if label else None


def _plain(content: str) -> str:
    """The words of a line of Markdown as its reader sees them."""
    try:
        tokens = _INLINE.parseInline(content)
    except (RecursionError, IndexError, ValueError):
        return " ".join(content.split())
    words = "".join(_words(token) for token in tokens[0].children or [])
    return " ".join(words.split())


def _words(token: Token) -> str:
    if token.type in ("text", "code_inline", "text_special"):
        return token.content
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(map(_words, token.children or [])) if token.type == "image" else ""
