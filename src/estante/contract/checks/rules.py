"""A rule: one thing that a pipeline is held to, and what looking at it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from estante.contract.checks.probes import Probe
from estante.contract.checks.report import FAIL, PASS, SKIP, WARN


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of looking: a status, what was seen, and how to mend it."""

    status: str
    details: tuple[str, ...] = ()
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One check. ``run`` gives its outcome, or None when the report shall have no row for it.

    ``id`` is stable and is what people name a check by; ``name`` is the row's; ``proves`` and ``mend`` are a sentence
    each, for the reference.
    """

    id: str
    name: str
    proves: str
    mend: str
    run: Callable[[Probe], Outcome | None]


def passed(*details: str) -> Outcome:
    """The rule is kept."""
    return Outcome(PASS, details)


def skipped(*details: str) -> Outcome:
    """There is nothing to look at, for the reason given."""
    return Outcome(SKIP, details)


def warned(details: str | Iterable[str], fix: str) -> Outcome:
    """The rule is kept, but numbers may say less than they seem."""
    return Outcome(WARN, _lines(details), fix)


def failed(details: str | Iterable[str], fix: str) -> Outcome:
    """The rule is broken."""
    return Outcome(FAIL, _lines(details), fix)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 chunk``, ``2 chunks``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _lines(details: str | Iterable[str]) -> tuple[str, ...]:
    return (details,) if isinstance(details, str) else tuple(details)
