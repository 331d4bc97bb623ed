"""Runs checks against a pipeline, and lets none of them end the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, Protocol

from estante.contract.checks.attempts import Attempt, Inline, Missing, Worker, attempt, text, told
from estante.contract.checks.catalog import ALL
from estante.contract.checks.probes import Probe
from estante.contract.checks.report import FAIL, SKIP, Check, Report
from estante.contract.checks.rules import Outcome, Rule, failed, skipped
from estante.contract.errors import ContractValueError

_CORPUS: Final = "corpus-pull"
"""The check without which a run goes no further."""

ADVICE: Final = "check_advice"
"""The attribute by which a pipeline gives its own advice: a mapping from the ids of checks to texts."""

_FOUNDATIONS: Final = {_CORPUS: "the corpus", "query-hits": "the hits"}
"""The checks that others stand on, and what is had from the pipeline for them."""

LATE: Final = "timed out"
"""How the detail of a check begins that took too long."""

_TIME_FIX: Final = (
    "Let every call come back or raise within its time: give the back end's client a deadline. If the corpus is so "
    "large that it needs longer, allow more (--timeout)."
)


class Runs(Protocol):
    """What runs a call: a ``Worker`` with a limit of time, or ``Inline`` without one."""

    def run(self, call: Callable[[], Any]) -> Attempt:
        """What the call gives."""

    def close(self) -> None:
        """Gives back what is held."""


def worker(timeout: float | None) -> Worker | Inline:
    """What runs the checks: within the time, or where they stand."""
    return Inline() if timeout is None else Worker(timeout)


class Run:
    """The checks of one pipeline, each done once, when its row is asked for."""

    def __init__(self, probe: Probe, runs: Runs) -> None:
        self.probe = probe
        self._runs = runs
        self._advice: Mapping[Any, Any] | None = None
        self._rows: dict[str, Check | None] = {}

    def row(self, rule: Rule) -> Check | None:
        """The row of a check; None when it has none."""
        if rule.id not in self._rows:
            began = time.perf_counter()
            outcome = self._outcome(rule)
            seconds = round(time.perf_counter() - began, 6)
            self._rows[rule.id] = None if outcome is None else _row(rule, outcome, seconds)
        return self._rows[rule.id]

    def close(self) -> None:
        """Gives back what the checks hold, and the pipeline itself when it is the examiner's own."""
        while self.probe.closing:
            self._runs.run(self.probe.closing.pop())
        if self.probe.setting.owned and "close" not in self._rows:
            self._runs.run(self._close_pipeline)
        self._runs.close()

    def _close_pipeline(self) -> None:
        close = getattr(self.probe.pipeline, "close", None)
        if callable(close):
            close()

    def _outcome(self, rule: Rule) -> Outcome | None:
        probe = self.probe
        done = self._runs.run(lambda: self._advised(rule, rule.run(probe)))
        if done.late:
            where = f" in {probe.pending}()" if probe.pending else ""
            if probe.pending:
                probe.hung.add(probe.pending)
            return failed(f"{LATE} after {probe.setting.timeout:g} s{where}", _TIME_FIX)
        if isinstance(done.error, Missing):
            return skipped(str(done.error))
        if done.error is not None:
            return failed(
                f"the check could not be finished: {told(done.error)}",
                "Give the values that the contract names; one of another kind was met here.",
            )
        outcome: Outcome | None = done.value
        return outcome

    def _advised(self, rule: Rule, outcome: Outcome | None) -> Outcome | None:
        """The outcome with the advice of whoever made the pipeline, where there is some for this check."""
        if outcome is None or not outcome.fix:
            return outcome
        if self._advice is None:
            self._advice = _advice(self.probe)
        given = attempt(self._advice.get, rule.id).value
        return replace(outcome, fix=text(given)) if isinstance(given, str) and given else outcome


def _advice(probe: Probe) -> Mapping[Any, Any]:
    """How to mend what a check finds, by its id: in the words of the pipeline, or else in those of its spec."""
    found: dict[Any, Any] = {}
    for source, name in ((probe.setting.spec, "advice"), (probe.pipeline, ADVICE)):
        given = attempt(getattr, source, name, None).value
        found |= attempt(dict, given).value or {} if isinstance(given, Mapping) else {}
    return found


def _row(rule: Rule, outcome: Outcome, seconds: float) -> Check:
    return Check(rule.name, outcome.status, list(outcome.details), outcome.fix, rule.id, seconds)


def examine(
    probe: Probe,
    rules: Sequence[Rule],
    report: Report,
    runs: Runs,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> Report:
    """Adds a row to the report for each of the rules, or for those asked for, and closes what was opened.

    Without a corpus a whole run ends at the row that says so.
    """
    run = Run(probe, runs)
    if only or skip or probe.setting.skip_stability:
        report.of = len(rules)
    try:
        for rule in rules:
            if only and rule.id not in only:
                continue
            if rule.id in skip:
                report.checks.append(Check(rule.name, SKIP, ["left out on request"], "", rule.id))
                continue
            row = run.row(rule)
            if row is not None:
                report.checks.append(row)
            if rule.id == _CORPUS and row is not None and row.status == FAIL and not only:
                break
        _explain(run, rules, report)
    finally:
        run.close()
    return report


def _explain(run: Run, rules: Sequence[Rule], report: Report) -> None:
    """Puts a check that failed into the report although it was left out, where others were skipped because of it."""
    places = [rule.id for rule in rules]
    for rule in rules:
        shown = next((at for at, check in enumerate(report.checks) if check.id == rule.id), None)
        left_out = shown is None or report.checks[shown].status == SKIP
        if rule.id not in _FOUNDATIONS or not left_out or not run.probe.failed(_FOUNDATIONS[rule.id]):
            continue
        row = run.row(rule)
        if row is None or row.status != FAIL:
            continue
        row.details.append("this check was left out, but others stand on it")
        if shown is not None:
            report.checks[shown] = row
        else:
            before = [at for at, check in enumerate(report.checks) if places.index(check.id) < places.index(rule.id)]
            report.checks.insert(len(before), row)


def known_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """The ids, each of them that of a check; commas part them. Raises ``ContractValueError`` with the nearest one."""
    names = [rule.id for rule in ALL]
    given = [one.strip() for several in ids for one in several.split(",") if one.strip()]
    for one in given:
        if one not in names:
            near = get_close_matches(one, names, n=1)
            hint = f"the nearest is {near[0]!r}" if near else f"the checks are: {', '.join(names)}"
            raise ContractValueError(f"there is no check {one!r}; {hint}")
    return tuple(given)
