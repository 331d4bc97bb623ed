"""Measures of spans: how much of the gold characters the passages hold, and how much else.

The definitions are those of Chroma's technical report on the evaluation of chunking (Smith and Troynikov, 2024), with
characters for tokens: a gold character is found once, however many passages hold it, and every character of every
passage counts as found, so that passages that repeat one another are less precise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from estante.evaluate.measures import Measure


@dataclass(frozen=True, slots=True, order=True)
class TextSpan:
    """Characters ``[start, end)``, code points, of a document. Raises ``ValueError`` for none."""

    document: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span from {self.start} to {self.end} holds no character")

    def __len__(self) -> int:
        return self.end - self.start


Passage = TextSpan | int
"""What was found: a place, or the length of a text that nobody can place, which holds no gold character."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many characters the gold spans have, the passages have (repeated ones again), and both have."""

    gold: int
    found: int
    both: int

    def value(self, name: str) -> float:
        """What the measure of this name says; 0 where it would divide by nothing."""
        below = {"SpanR": self.gold, "SpanP": self.found, "SpanIoU": self.gold + self.found - self.both}[name]
        return self.both / below if below else 0.0


def overlap(gold: Iterable[TextSpan], found: Iterable[Passage]) -> Overlap:
    """The characters of both sides."""
    passages = list(found)
    mine, theirs = merged(gold), merged(one for one in passages if isinstance(one, TextSpan))
    both = sum(_common(spans, theirs.get(document, [])) for document, spans in mine.items())
    length = sum(one if isinstance(one, int) else len(one) for one in passages)
    return Overlap(gold=_length(mine), found=length, both=both)


def span_values(
    measures: Sequence[Measure], gold: Mapping[str, Sequence[TextSpan]], found: Mapping[str, Sequence[Passage]]
) -> dict[Measure, dict[str, float]]:
    """What each measure says of each question with gold spans, in their order.

    ``found`` holds the passages of each question, the best first. A question without passages counts 0.
    """
    told: dict[Measure, dict[str, float]] = {measure: {} for measure in measures}
    for question, spans in gold.items():
        for measure in measures:
            first = found.get(question, ())[: measure.cutoff]
            told[measure][question] = overlap(spans, first).value(measure.name)
    return told


Ranges = list[tuple[int, int]]


def merged(spans: Iterable[TextSpan]) -> dict[str, Ranges]:
    """The same characters as ranges that do not touch, in order, by document."""
    found: dict[str, Ranges] = {}
    for one in sorted(spans):
        ranges = found.setdefault(one.document, [])
        if ranges and one.start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], one.end))
        else:
            ranges.append((one.start, one.end))
    return found


def _length(by_document: Mapping[str, Ranges]) -> int:
    return sum(end - start for ranges in by_document.values() for start, end in ranges)


def _common(mine: Ranges, theirs: Ranges) -> int:
    """How many characters two ordered lists of ranges have in common."""
    total = at = 0
    for start, end in mine:
        while at < len(theirs) and theirs[at][1] <= start:
            at += 1
        step = at
        while step < len(theirs) and theirs[step][0] < end:
            total += min(end, theirs[step][1]) - max(start, theirs[step][0])
            step += 1
    return total
