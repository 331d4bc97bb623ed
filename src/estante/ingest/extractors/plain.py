"""Plain text and what is read like it: logs, light markup, programs, data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from posixpath import basename
from typing import Final

from estante.ingest.decoding import decode
from estante.ingest.formats import SOURCE_SUFFIXES, suffix
from estante.ingest.manuscript import draft, in_order, refuse_empty
from estante.ingest.titles import from_first_line, stem
from estante.model.content import HEADING, Draft, Item, Mark, canonical, line_marks

_UNDERLINE: Final = re.compile(r"^([=\-~^\"'`#*+:.<>_])\1{2,}[ \t]*$", re.MULTILINE)
_ADOC: Final = re.compile(r"^(={1,6})[ \t]+(\S[^\n]*)$|^(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,})[ \t]*$", re.MULTILINE)
_ORG: Final = re.compile(r"^(\*{1,9})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_LONGEST_HEADING: Final = 200


class PlainExtractor:
    """The text of the file as it stands, with its lines and simple headings marked."""

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is not text or has none."""
        refuse_empty(data)
        decoded = decode(data)
        text = canonical(decoded.text)
        ending = suffix(item.uri)
        title = basename(item.uri) if ending in SOURCE_SUFFIXES else from_first_line(text) or stem(item.uri)
        headings = _HEADINGS.get(ending, _no_headings)(text)
        yield draft(
            title=title,
            text=text,
            marks=in_order([*headings, *line_marks(text)]),
            metadata=decoded.metadata,
            losses=decoded.losses,
        )


def _no_headings(text: str) -> Iterator[Mark]:
    yield from ()


def _underlined(text: str) -> Iterator[Mark]:
    """Lines underlined with one sign as long as they are. A sign's level is the order of its first use."""
    levels: dict[str, int] = {}
    for found in _UNDERLINE.finditer(text):
        end = found.start() - 1
        start = text.rfind("\n", 0, max(end, 0)) + 1
        title = text[start : max(end, 0)].rstrip()
        if not 0 < len(title) <= min(len(found[0].rstrip()), _LONGEST_HEADING) or title[0].isspace():
            continue
        above = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)].rstrip()
        overlined = above == found[0].rstrip()
        if (above and not overlined) or _UNDERLINE.fullmatch(title) or not any(map(str.isalnum, title)):
            continue
        style = found[1] * 2 if overlined else found[1]
        level = levels.setdefault(style, len(levels) + 1)
        yield Mark(HEADING, start, start + len(title), title, level)


def _asciidoc(text: str) -> Iterator[Mark]:
    fence = ""
    for found in _ADOC.finditer(text):
        if found[3]:
            # A line of signs opens a block of code, and the same line closes it.
            fence = found[3] if not fence else "" if fence == found[3] else fence
        elif not fence:
            yield from _signed(found)


def _org(text: str) -> Iterator[Mark]:
    for found in _ORG.finditer(text):
        yield from _signed(found)


def _signed(found: re.Match[str]) -> Iterator[Mark]:
    """A heading by the signs before it, as many as its level."""
    words = found[2].rstrip()
    if len(words) <= _LONGEST_HEADING:
        yield Mark(HEADING, found.start(2), found.start(2) + len(words), words, len(found[1]))


_HEADINGS: Final[dict[str, Callable[[str], Iterator[Mark]]]] = {
    ".rst": _underlined,
    ".rest": _underlined,
    ".txt": _underlined,
    ".text": _underlined,
    "": _underlined,
    ".adoc": _asciidoc,
    ".asciidoc": _asciidoc,
    ".org": _org,
}
