"""Questions and what comes back: query, filter, leg, hit, results."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final, Literal, overload

from estante.model.access import Grant
from estante.model.content import Chunk, Span
from estante.model.errors import QueryError

Mode = Literal["hybrid", "lexical", "dense"]
MODES: Final[tuple[Mode, ...]] = ("hybrid", "lexical", "dense")
MAX_K: Final = 10_000


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on one metadata field, e.g. ``Condition("year", "$gte", 2020)``."""

    field: str
    operator: str
    value: object


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold; with no parts, true."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds; with no parts, false."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Where


Where = Condition | Every | Some | Not
"""A filter, parsed. ``estante.index.filters`` reads one from JSON and decides it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with its asker. There is no query without a grant, and no search without a query.

    ``text`` may hold signs: a phrase in quotation marks, ``-word``, ``begin*``, ``title:word``; with ``literal`` they
    are text as any. With ``fuzzy`` a word that stands nowhere also finds the words that it may be a misspelling of.
    """

    text: str
    grant: Grant
    k: int = 10
    mode: Mode = "hybrid"
    where: Where | None = None
    fuzzy: bool = False
    literal: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise QueryError(f"a query is a text, got {type(self.text).__name__}", hint="Pass a string.")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= MAX_K:
            raise QueryError(f"k must be a whole number from 1 to {MAX_K:,}, got {self.k!r}", hint="Ask for k=10.")
        refuse_mode(self.mode)
        for name in ("fuzzy", "literal"):
            if not isinstance(getattr(self, name), bool):
                raise QueryError(f"{name} is true or false, got {getattr(self, name)!r}", hint=f"Pass {name}=True.")


def refuse_mode(mode: object) -> None:
    """Raises ``QueryError`` with the nearest mode when there is none of this name."""
    if mode not in MODES:
        near = get_close_matches(str(mode), MODES, n=1)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        raise QueryError(f"unknown mode {mode!r}", hint=f"{meant}Choose one of: {', '.join(MODES)}.")


@dataclass(frozen=True, slots=True)
class Leg:
    """One way in which a hit was found: its rank (1 is best) and score there."""

    name: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that answers, with its reasons.

    ``rank`` counts from 1. ``score`` compares hits of one result only, never those of two searches. ``legs`` holds
    what each leg said; a leg that did not find it is missing. ``matches`` are the spans of the question's words
    in the document (not relative to the chunk); those of a search are found when they are first looked at.
    """

    rank: int
    score: float
    chunk: Chunk
    shelf: str
    legs: tuple[Leg, ...] = ()
    matches: Sequence[Span] = ()

    @property
    def text(self) -> str:
        """The exact text of the chunk."""
        return self.chunk.text

    @property
    def span(self) -> Span:
        """Where the chunk stands in its document's canonical text."""
        return self.chunk.span

    @property
    def document_id(self) -> str:
        """The document that the chunk is a slice of."""
        return self.chunk.document_id

    @property
    def title(self) -> str:
        """The document's title."""
        return self.chunk.title

    @property
    def metadata(self) -> Mapping[str, object]:
        """The document's metadata."""
        return self.chunk.metadata

    def __post_init__(self) -> None:
        if not math.isfinite(self.score):
            raise ValueError("a score must be finite")

    def __repr__(self) -> str:
        preview = " ".join(self.text.split())
        preview = preview if len(preview) <= 60 else preview[:59] + "…"
        where = f"{self.document_id}:{self.span.start}-{self.span.end}"
        return f"<Hit {self.rank} score={self.score:.4f} {where} {preview!r}>"

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The text in order, cut into (piece, whether it is a matching word)."""
        at = self.span.start
        for match in self.matches:
            if match.start > at:
                yield self.chunk.text[at - self.span.start : match.start - self.span.start], False
            yield self.chunk.text[match.start - self.span.start : match.end - self.span.start], True
            at = match.end
        if at < self.span.end:
            yield self.chunk.text[at - self.span.start :], False


@dataclass(frozen=True, slots=True)
class ShelfReport:
    """Whether a shelf answered, and why not if it did not."""

    name: str
    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first, and which shelves answered.

    ``coverage`` is the share of the question's weight (by rarity of its words) that stands in the best single
    passage: near 0 means that the words of the question are hardly in the library. ``absent`` are the words of the
    question that no passage holds which the asker may read and the filter lets through. ``translated`` is what was
    searched for in place of a question in another language, and empty where nothing was translated.
    """

    query: str
    hits: tuple[Hit, ...]
    shelves: tuple[ShelfReport, ...]
    took_ms: float = field(compare=False)
    coverage: float = 0.0
    absent: tuple[str, ...] = ()
    translated: str = ""

    def timed(self, took_ms: float) -> Results:
        """The same results, with the time that they took."""
        return replace(self, took_ms=took_ms)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        head = f"<Results for {self.query!r}: {len(self.hits)} hits in {self.took_ms:.1f} ms>"
        return "\n".join([head, *(f"  {hit!r}" for hit in self.hits)])

    def _repr_html_(self) -> str:
        """A table for notebooks: every text escaped, matching words marked, long passages shortened around them."""
        rows = "".join(_row(hit) for hit in self.hits) or '<tr><td colspan="5">nothing found</td></tr>'
        away = "".join(f"<p>{html.escape(s.name)}: {html.escape(s.reason)}</p>" for s in self.shelves if not s.ok)
        head = "<tr><th>#</th><th>score</th><th>document</th><th>passage</th><th>found by</th></tr>"
        lacking = f"<p>no passage holds: {html.escape(', '.join(self.absent))}</p>" if self.absent else ""
        return f"<p><b>{html.escape(self.query)}</b></p>{away}<table>{head}{rows}</table>{lacking}"


SHOWN: Final = 600
"""About as many characters of a passage are shown in a notebook."""

LEGS: Final[Mapping[str, str]] = {"lexical": "words", "dense": "meaning"}
"""What people call the legs."""


def _row(hit: Hit) -> str:
    place = f"{hit.document_id}:{hit.span.start}-{hit.span.end}"
    trail = " › ".join(hit.chunk.trail[1:] if hit.chunk.trail[:1] == (hit.title,) else hit.chunk.trail)
    small = "<br>".join(html.escape(line) for line in (trail, place, hit.chunk.locator) if line)
    legs = ", ".join(f"{LEGS.get(leg.name, leg.name)} {leg.rank}" for leg in hit.legs)
    cells = (
        ("", f"{hit.rank}"),
        ("", f"{hit.score:.3f}"),
        ("text-align:left;", f"{html.escape(hit.title)}<br><small>{small}</small>"),
        ("text-align:left;white-space:pre-wrap;", "".join(_shortened(hit))),
        ("", html.escape(legs)),
    )
    return f"<tr>{''.join(f'<td style={_quoted(style)}>{cell}</td>' for style, cell in cells)}</tr>"


def _quoted(style: str) -> str:
    return f'"{style}vertical-align:top"'


def _shortened(hit: Hit) -> Iterator[str]:
    """The passage, or a part of it around its first matches, with ``…`` where something is left out."""
    length = len(hit.span)
    first = hit.matches[0].start - hit.span.start if hit.matches else 0
    start = max(min(first - SHOWN // 4, length - SHOWN), 0) if length > SHOWN else 0
    end = min(start + SHOWN, length)
    if start:
        yield "…"
    at = 0
    for piece, matched in hit.pieces():
        part = html.escape(piece[max(start - at, 0) : max(end - at, 0)])
        if part:
            yield f"<mark>{part}</mark>" if matched else part
        at += len(piece)
    if end < length:
        yield "…"
