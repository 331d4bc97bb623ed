"""Hits for people: where a passage stands, why it was found, and the passage with its matching words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from estante.model.asking import LEGS, Hit, Results
from estante.serve.cli.output import Output, Part, one_line

WIDTH: Final = 600
"""Characters of a passage that are shown unless all of it is asked for."""

LITTLE: Final = 0.25
"""With less coverage than this, the words of the question are hardly in the library."""

Piece = tuple[str, bool]
"""A part of a passage, and whether it is a matching word."""

_BLANK: Final = re.compile(r"\s+")


def flattened(pieces: Iterator[Piece]) -> list[Piece]:
    """The pieces on one line, each run of blanks one blank."""
    found: list[Piece] = []
    blank = True
    for text, matched in pieces:
        text = _BLANK.sub(" ", text)
        if blank:
            text = text.lstrip(" ")
        if text:
            blank = text.endswith(" ")
            found.append((text, matched))
    if found and found[-1][0].endswith(" "):
        found[-1] = (found[-1][0].rstrip(" "), found[-1][1])
    return found


def shortened(pieces: Sequence[Piece], width: int = WIDTH) -> list[Piece]:
    """About ``width`` characters around the most different matching words, with ``…`` where something is left out."""
    text = "".join(piece for piece, _ in pieces)
    if len(text) <= width:
        return list(pieces)
    start, end = _window(text, _matches(pieces), width)
    found: list[Piece] = [("…", False)] if start else []
    at = 0
    for piece, matched in pieces:
        part = piece[max(start - at, 0) : max(end - at, 0)]
        if part:
            found.append((part, matched))
        at += len(piece)
    return [*found, ("…", False)] if end < len(text) else found


def _matches(pieces: Sequence[Piece]) -> list[tuple[int, int, str]]:
    """Start, end and word of each match."""
    found, at = [], 0
    for piece, matched in pieces:
        if matched:
            found.append((at, at + len(piece), piece.casefold()))
        at += len(piece)
    return found


def _window(text: str, matches: Sequence[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """The window with the most different matching words, then the most matches, then the first; at word borders."""
    best, start = (0, 0), 0
    first = 0
    for last, (_, end, _) in enumerate(matches):
        while end - matches[first][0] > width:
            first += 1
        inside = matches[first : last + 1]
        weight = (len({word for _, _, word in inside}), len(inside))
        if weight > best:
            spare = max(width - (end - inside[0][0]), 0)
            best, start = weight, max(0, inside[0][0] - spare // 2)
    start = min(start, len(text) - width)
    end = start + width
    return _border(text, start, forward=True), _border(text, end, forward=False)


def _border(text: str, at: int, *, forward: bool) -> int:
    """The nearest border between words inside the window, if there is one close by."""
    if at in (0, len(text)):
        return at
    blank = text.find(" ", at, at + 30) if forward else text.rfind(" ", at - 30, at)
    if blank < 0:
        return at
    return blank + 1 if forward else blank


def place(hit: Hit) -> str:
    """Where a passage stands, as ``show`` takes it."""
    return f"{hit.document_id}:{hit.span.start}-{hit.span.end}"


def reasons(hit: Hit) -> str:
    """Which legs found it, with its rank in each: ``words 1, meaning 3``."""
    return ", ".join(f"{LEGS.get(leg.name, leg.name)} {leg.rank}" for leg in hit.legs)


def explained(hit: Hit) -> str:
    """Rank and score in every leg, and the shelf."""
    legs = [f"{LEGS.get(leg.name, leg.name)}: rank {leg.rank}, score {leg.score:.4f}" for leg in hit.legs]
    return "; ".join([*legs, f"shelf: {hit.shelf}"])


def passage(hit: Hit, *, full: bool, styled: bool) -> list[Part]:
    """The passage: matching words bold where bold shows, else as ``«word»``."""
    pieces = list(hit.pieces()) if full else shortened(flattened(hit.pieces()))
    if styled:
        return [(text, "bold yellow" if matched else "") for text, matched in pieces]
    return [f"«{text}»" if matched else text for text, matched in pieces]


def below_title(hit: Hit) -> Sequence[str]:
    """The headings over the passage, without a first one that is the title again."""
    trail = hit.chunk.trail
    return trail[1:] if trail and one_line(trail[0]) == one_line(hit.title) else trail


def print_hit(out: Output, hit: Hit, *, full: bool, explain: bool) -> None:
    """One hit as a block of lines with an empty one behind it."""
    out.line((f"{hit.rank}", "bold"), f"  {hit.score:.4f}  ", (one_line(hit.title), "bold cyan"))
    if trail := below_title(hit):
        out.line((" › ".join(map(one_line, trail)), "dim"), indent=3)
    where = place(hit) + (f" · {hit.chunk.locator}" if hit.chunk.locator else "")
    out.line((one_line(where), "green"), indent=3)
    out.line(*passage(hit, full=full, styled=out.styled), indent=3)
    told = explained(hit) if explain else reasons(hit)
    if told:
        out.line((told, "dim"), indent=3)
    out.line()


def mending(reason: str) -> str:
    """The command that helps a shelf which did not answer."""
    return "run: estante rebuild" if ".seg is damaged" in reason else "run: estante doctor"


def print_results(out: Output, results: Results, *, full: bool = False, explain: bool = False) -> None:
    """All hits on stdout, and on stderr what puts them in doubt."""
    for hit in results:
        print_hit(out, hit, full=full, explain=explain)
    if explain:
        out.line((f"coverage: {results.coverage:.2f}", "dim"))
    if results.translated:
        out.note(f"note: searched for: {one_line(results.translated)}")
    for shelf in results.shelves:
        if not shelf.ok:
            out.warn(f"the {shelf.name} shelf did not answer: {shelf.reason}; {mending(shelf.reason)}")
    if not results.hits:
        out.note("nothing found")
        return
    if results.absent:
        out.note(f"note: no passage holds: {', '.join(map(one_line, results.absent))}")
    if results.coverage < LITTLE:
        out.note("note: little of the question is found in any passage; what is shown may not answer it")
