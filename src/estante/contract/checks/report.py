"""The report of a validation: a row for each check, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

PASS: Final = "PASS"  # noqa: S105 - a status, no password.
WARN: Final = "WARN"
FAIL: Final = "FAIL"
SKIP: Final = "SKIP"

_TAGS: Final = {PASS: "PASS", WARN: "WARN", FAIL: "FAIL", SKIP: "skip"}
_WIDTH: Final = 64
_INDENT: Final = " " * 10


@dataclass
class Check:
    """One row: what was checked and what came of it.

    ``id`` names the check in every run; its place in the report does not. ``seconds`` is how long it took, None when
    it was not measured.
    """

    name: str
    status: str
    details: list[str] = field(default_factory=list)
    fix: str = ""
    id: str = ""
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "details": [plain(line) for line in self.details],
            "fix": plain(self.fix),
            "seconds": self.seconds,
        }


@dataclass
class Report:
    """The rows in the order of the checks. With ``strict`` a warning blocks as a failure does.

    ``of`` is how many checks there are, where some were left out on request, else 0. ``connector_type`` is the type
    under which the pipeline's connector is published already, empty when it is not known to be.
    """

    target: str
    checks: list[Check] = field(default_factory=list)
    strict: bool = False
    of: int = 0
    connector_type: str = ""

    def add(
        self,
        name: str,
        status: str,
        details: list[str] | None = None,
        fix: str = "",
        *,
        id: str = "",
        seconds: float | None = None,
    ) -> None:
        """Appends a row."""
        self.checks.append(Check(name, status, list(details or []), fix, id, seconds))

    @property
    def failures(self) -> list[Check]:
        """The rows that failed."""
        return [check for check in self.checks if check.status == FAIL]

    @property
    def warnings(self) -> list[Check]:
        """The rows that warn."""
        return [check for check in self.checks if check.status == WARN]

    @property
    def ready(self) -> bool:
        """Whether nothing blocks."""
        return not self.failures and not (self.strict and self.warnings)

    @property
    def examined(self) -> int:
        """How many checks had something to look at."""
        return sum(check.status != SKIP for check in self.checks)

    def render(self) -> str:
        """The report as text, without an end of line behind its last line."""
        lines = ["=" * _WIDTH, "Estante contract validator", f"Target: {self.target}", "=" * _WIDTH]
        for number, check in enumerate(self.checks, start=1):
            lines += _row(number, check)
        lines += ["-" * _WIDTH, *self._verdict(), "=" * _WIDTH]
        return "\n".join(plain(line) for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        counts = {status: sum(check.status == status for check in self.checks) for status in _TAGS}
        return {
            "target": plain(self.target),
            "ready": self.ready,
            "strict": self.strict,
            "passed": counts[PASS],
            "warnings": counts[WARN],
            "failures": counts[FAIL],
            "skipped": counts[SKIP],
            "left_out_of": self.of,
            "checks": [check.to_dict() for check in self.checks],
        }

    def _verdict(self) -> list[str]:
        warnings = len(self.warnings)
        if not self.ready:
            told = f"VERDICT: NOT READY -- {len(self.failures)} blocking failure(s), {warnings} warning(s)."
            if not self.failures:
                return [told, "Warnings block because strictness was asked for. Mend what each FIX line names."]
            return [
                told,
                "Numbers measured through this pipeline mean nothing until every FAIL is mended. Begin with the first: "
                "later ones often follow from it.",
            ]
        passed = sum(check.status == PASS for check in self.checks)
        counts = f"{passed} passed, {warnings} warning(s), 0 failures."
        if self.of:
            lines = [
                f"VERDICT: READY as far as examined: {self.examined} of {self.of} checks -- {counts}",
                "Nothing is said about the rest. Run every check before anything is measured through this pipeline.",
            ]
        else:
            lines = [f"VERDICT: READY -- {counts}", f"The pipeline keeps the contract. Next: {self._next()}"]
        if warnings:
            lines.append(
                "Read the warnings: none of them blocks, but each names a way for a number to say less than it seems."
            )
        return lines

    def _next(self) -> str:
        if self.connector_type:
            return f"store its connection: estante connect {self.connector_type} ... --save FILE"
        return (
            "publish its ConnectorSpec under the entry-point group 'estante.connectors', and restart the host that "
            "shall offer it."
        )


def plain(text: str) -> str:
    """The text without what a terminal would obey or no encoding can hold: such characters as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _row(number: int, check: Check) -> list[str]:
    lines = [f"[{_TAGS.get(check.status, check.status)}] {number:2d}. {check.name}"]
    for detail in check.details:
        lines += [f"{_INDENT}{line}" for line in detail.splitlines() or [""]]
    if check.fix and check.status in (FAIL, WARN):
        lines.append(f"{_INDENT}FIX: {check.fix}")
    return lines
