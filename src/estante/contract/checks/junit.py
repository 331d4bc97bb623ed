"""A report as JUnit XML, which continuous integration shows."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from estante.contract.checks.report import FAIL, SKIP, WARN, Check, Report, plain

_CLASS: Final = "estante.validate"


def junit(report: Report) -> str:
    """The report as one test suite; a warning is a failure where the report is strict, and a note elsewhere."""
    seconds = sum(check.seconds or 0.0 for check in report.checks)
    failures = len(report.checks) and sum(_blocks(check, report.strict) for check in report.checks)
    skipped = sum(check.status == SKIP for check in report.checks)
    head = (
        f"<testsuite name={_quoted(report.target)} tests={_quoted(str(len(report.checks)))} "
        f'failures="{failures}" errors="0" skipped="{skipped}" time="{seconds:.3f}">'
    )
    cases = [line for check in report.checks for line in _case(check, report.strict)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", head, *cases, "</testsuite>"]) + (
        "\n</testsuites>\n"
    )


def _case(check: Check, strict: bool) -> list[str]:
    head = f"<testcase classname={_quoted(_CLASS)} name={_quoted(check.id or check.name)} time={_time(check)}"
    told = plain_lines([*check.details, *([f"FIX: {check.fix}"] if check.fix else [])])
    if _blocks(check, strict):
        return [f"{head}>", f"<failure message={_quoted(check.name)}>{escape(told)}</failure>", "</testcase>"]
    if check.status == SKIP:
        return [f"{head}>", f"<skipped message={_quoted(told)}/>", "</testcase>"]
    if check.status == WARN:
        return [f"{head}>", f"<system-out>{escape(f'WARN: {told}')}</system-out>", "</testcase>"]
    return [f"{head}/>"]


def plain_lines(lines: list[str]) -> str:
    """The lines without characters that XML cannot hold."""
    return "\n".join(plain(one) for line in lines for one in line.splitlines())


def _blocks(check: Check, strict: bool) -> bool:
    return check.status == FAIL or (strict and check.status == WARN)


def _time(check: Check) -> str:
    return f'"{check.seconds or 0.0:.3f}"'


def _quoted(value: str) -> str:
    return quoteattr(plain_lines([value]))
