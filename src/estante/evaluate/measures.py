"""Measures as values: a measure prints as it is typed, ``nDCG@10``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import fsum
from typing import Final, Literal

from estante.evaluate.errors import UnknownMeasure

Cutoff = Literal["must", "may", "never"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a name stands for: whether it takes ``@k`` and ``(rel=n)``, and what it says."""

    cutoff: Cutoff
    rel: bool
    says: str


KINDS: Final[Mapping[str, Kind]] = {
    "nDCG": Kind("may", False, "gain of what was found, less the lower it stands, as a share of the best order"),
    "R": Kind("must", True, "share of the relevant that was found"),
    "RR": Kind("may", True, "one by the place of the first relevant"),
    "P": Kind("must", True, "share of the k places that is relevant"),
    "AP": Kind("may", True, "mean of the precision at each relevant, an absent one counting 0"),
    "Success": Kind("must", True, "1 when anything relevant was found, else 0"),
    "Rprec": Kind("never", True, "precision at as many places as there are relevant"),
    "Bpref": Kind("never", True, "how seldom what was judged not relevant stands above the relevant"),
    "Judged": Kind("must", False, "share of what was found that anybody judged"),
    "SpanR": Kind("may", False, "share of the characters of the gold spans that the passages hold"),
    "SpanP": Kind("may", False, "share of the characters of the passages that is in gold spans"),
    "SpanIoU": Kind("may", False, "characters in both by characters in either"),
}
"""Every measure there is, by its name."""

SPAN_KINDS: Final = frozenset({"SpanR", "SpanP", "SpanIoU"})
"""Those that look at characters instead of judged names."""

_OTHERS: Final = {
    "mrr": "RR",
    "map": "AP",
    "recall": "R",
    "precision": "P",
    "hit": "Success",
    "hits": "Success",
    "hitrate": "Success",
    "spanrecall": "SpanR",
    "spanprecision": "SpanP",
    "iou": "SpanIoU",
}
"""What others call them."""

_TYPED: Final = re.compile(r"([A-Za-z]+)(?:\(rel=([1-9][0-9]{0,3})\))?(?:@([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure; ``cutoff`` is the k of ``@k``, ``rel`` the least grade that counts as relevant.

    Raises ``UnknownMeasure`` for a name that is none, and for parameters that it does not take.
    """

    name: str
    cutoff: int | None = None
    rel: int | None = None

    def __post_init__(self) -> None:
        kind = KINDS.get(self.name)
        if kind is None:
            raise UnknownMeasure(f"there is no measure {self.name!r}", hint=_nearest(self.name))
        if kind.cutoff == "must" and self.cutoff is None:
            raise UnknownMeasure(f"{self.name} needs a number of places", hint=f"Write {self.name}@10.")
        if kind.cutoff == "never" and self.cutoff is not None:
            raise UnknownMeasure(f"{self.name} takes no number of places", hint=f"Write {self.name}.")
        if self.rel is not None and not kind.rel:
            raise UnknownMeasure(f"{self.name} takes no (rel={self.rel})", hint=f"Write {Measure(self.name, 10)}.")
        if any(one is not None and one < 1 for one in (self.cutoff, self.rel)):
            raise UnknownMeasure(f"{self.name} with {self.cutoff}, {self.rel}", hint="Numbers begin at 1.")

    def __str__(self) -> str:
        rel = "" if self.rel is None else f"(rel={self.rel})"
        return f"{self.name}{rel}" if self.cutoff is None else f"{self.name}{rel}@{self.cutoff}"

    @property
    def of_spans(self) -> bool:
        """Whether it looks at characters."""
        return self.name in SPAN_KINDS


def measure_of(text: str) -> Measure:
    """The measure that is typed so; ``str`` of it is the text again. Raises ``UnknownMeasure``."""
    found = _TYPED.fullmatch(text.strip())
    if found is None:
        raise UnknownMeasure(f"{text!r} is no measure", hint="Write one as nDCG@10, R@100 or R(rel=2)@10.")
    name, rel, cutoff = found.groups()
    if name not in KINDS:
        raise UnknownMeasure(f"there is no measure {name!r}", hint=_nearest(name, rel, cutoff))
    return Measure(name, None if cutoff is None else int(cutoff), None if rel is None else int(rel))


def measures_of(texts: Iterable[str]) -> tuple[Measure, ...]:
    """The measures, each once, in their order."""
    return tuple(dict.fromkeys(measure_of(text) for text in texts))


RANKED: Final = measures_of(("nDCG@10", "R@100", "RR@10"))
"""What is measured unless something else is asked for."""
SPANNED: Final = measures_of(("SpanR@5", "SpanP@5", "SpanIoU@5"))
"""What is measured besides where there are gold spans."""


def mean(values: Mapping[str, float]) -> float:
    """The mean over the questions; 0 where there is none."""
    return fsum(values.values()) / len(values) if values else 0.0


def _nearest(name: str, rel: str | None = None, cutoff: str | None = None) -> str:
    lower = {one.casefold(): one for one in KINDS} | _OTHERS
    near = lower.get(name.casefold()) or next((lower[one] for one in get_close_matches(name.casefold(), lower, 1)), "")
    if not near:
        return f"There are: {', '.join(KINDS)}."
    kind = KINDS[near]
    told = near + (f"(rel={rel})" if rel and kind.rel else "")
    number = cutoff or ("10" if kind.cutoff == "must" else "")
    return f"Did you mean {told}{f'@{number}' if number and kind.cutoff != 'never' else ''}?"
