"""Holds a pipeline to the contract and prints a report: ``python -m estante.contract.validate --help``."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from estante.contract.checks.attempts import end
from estante.contract.checks.catalog import chosen
from estante.contract.checks.junit import junit
from estante.contract.checks.orders import NOT_CONFORMANT, TIMEOUT, UNUSABLE, Order, Refused, carried_out
from estante.contract.checks.probes import MOST_CHUNKS, Probe, Setting
from estante.contract.checks.rebuilding import Origin
from estante.contract.checks.report import FAIL, PASS, SKIP, WARN, Check, Report
from estante.contract.checks.runner import examine, known_ids, worker
from estante.contract.checks.security import SecurityHarness
from estante.contract.foreign import adopted
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec

PROGRAM: Final = "python -m estante.contract.validate"


def validate_pipeline(
    pipeline: RagPipeline,
    *,
    target: str,
    sample_query: str | None = None,
    top_k: int = 5,
    connection: Mapping[str, Any] | None = None,
    spec: ConnectorSpec | None = None,
    skip_stability: bool = False,
    extended: bool = True,
    security: bool = False,
    harness: SecurityHarness | None = None,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    timeout: float | None = None,
    strict: bool = False,
    max_chunks: int = MOST_CHUNKS,
    origin: Origin | None = None,
    close: bool = False,
) -> Report:
    """The report on a pipeline. Whatever the pipeline does, there is one. One written for rag-connector will do.

    - ``extended=False`` leaves out every row that rag-connector's validator does not have.
    - ``security`` adds who is shown what; ``harness`` does, too, and brings the harness that the pipeline lacks.
    - ``only`` and ``skip`` name checks by their ids; ``ContractValueError`` for one that is none.
    - With a ``timeout``, in seconds a check, the checks run in a thread of their own; without one they run in the
      caller's, which a pipeline that is bound to its thread needs.
    - ``strict`` lets warnings block.
    - ``close`` closes the pipeline at the end, if it has ``close()``. By default it stays open: who made it closes it.
    """
    setting = Setting(
        sample_query=sample_query,
        top_k=top_k,
        connection=connection,
        spec=spec,
        skip_stability=skip_stability,
        most_chunks=max_chunks,
        origin=origin,
        harness=harness,
        owned=close,
        timeout=timeout,
    )
    if _is_theirs(pipeline):
        pipeline = adopted(pipeline)
    rules = chosen(extended=extended, with_security=security or harness is not None)
    report = Report(target=target, strict=strict)
    return examine(Probe(pipeline, setting), rules, report, worker(timeout), only=known_ids(only), skip=known_ids(skip))


def _is_theirs(pipeline: object) -> bool:
    """Whether a pipeline was written for rag-connector."""
    return any(cls.__name__ == "RagPipeline" and cls is not RagPipeline for cls in type(pipeline).__mro__)


def main(
    argv: Sequence[str] | None = None,
    *,
    prog: str = PROGRAM,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Runs the command line and returns 0 when the pipeline is ready, 1 when it is not, 2 when nothing could be run.

    ``SystemExit`` for arguments that cannot be used (2), and, with a message, for a target that is no
    ``module:attribute`` or makes no pipeline. ``environ`` is where variables that parameters name are looked up.
    """
    given = vars(_parser(prog).parse_args(argv))
    as_json, named = given.pop("json"), given.pop("junit")
    # What is examined may change the current folder.
    path = None if named is None else Path(named).absolute()
    order = Order(**{**given, "only": tuple(given["only"]), "skip": tuple(given["skip"])})
    try:
        if path is not None:
            claim(path)
        report = carried_out(order, warn=lambda text: _tell(f"{prog}: {text}"), environ=environ)
        _say(sys.stdout, json.dumps(report.to_dict(), indent=2) if as_json else report.render())
        if path is not None:
            write_junit(path, report)
    except Refused as refused:
        if refused.abrupt:
            raise SystemExit(f"{prog}: {refused.message}. {refused.hint}") from None
        _tell(f"{prog}: cannot be run: {refused.message}. {refused.hint}")
        return refused.code
    return 0 if report.ready else NOT_CONFORMANT


def claim(path: str | Path) -> None:
    """Makes sure, before a long run, that a file can be written. Raises ``Refused`` when it cannot."""
    with _writing(path):
        Path(path).open("a", encoding="utf-8").close()


def write_junit(path: str | Path, report: Report) -> None:
    """Writes the report as JUnit XML. Raises ``Refused`` when the file cannot be written."""
    with _writing(path):
        Path(path).write_text(junit(report), encoding="utf-8")


@contextmanager
def _writing(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise Refused(message, "Name a file in a folder that is there.", UNUSABLE) from error


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Holds a pipeline to the contract and prints a report.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--import", dest="target", metavar="MOD:ATTR", help="the class or function that makes it")
    which.add_argument("--connector-type", metavar="TYPE", help="the type of a registered connector")
    parser.add_argument("--kwargs", metavar="JSON", help="arguments for --import")
    parser.add_argument("--params", metavar="JSON", help="parameters for --connector-type")
    parser.add_argument("--query", metavar="TEXT", help="a question that the corpus can answer")
    parser.add_argument("--top-k", metavar="N", type=int, default=5, help="how many hits to ask for (5)")
    parser.add_argument("--skip-stability", action="store_true", help="leave out the second read of the corpus")
    parser.add_argument("--only", metavar="CHECK", action="append", default=[], help="run this check alone; repeat")
    parser.add_argument("--skip", metavar="CHECK", action="append", default=[], help="leave this check out; repeat")
    parser.add_argument("--basic", action="store_true", help="run the checks of rag-connector's validator alone")
    parser.add_argument("--security", action="store_true", help="also check who is shown what")
    parser.add_argument("--harness", metavar="MOD:ATTR", help="what makes the harness for --security")
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, default=TIMEOUT, help="seconds a check may take (300); 0 is no limit"
    )
    parser.add_argument("--max-chunks", metavar="N", type=int, default=MOST_CHUNKS, help="more are taken for endless")
    parser.add_argument("--strict", action="store_true", help="let warnings fail")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--junit", metavar="FILE", help="also write the report as JUnit XML")
    return parser


def seconds(text: str) -> float:
    """The text as seconds that a thread can wait. Raises ``ValueError`` for any other number."""
    read = float(text)
    if not 0 <= read <= threading.TIMEOUT_MAX:
        raise ValueError(text)
    return read


def _tell(text: str) -> None:
    _say(sys.stderr, text)


def _say(stream: Any, text: str) -> None:
    """Prints; what the stream's encoding lacks is written as an escape."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


__all__ = [
    "FAIL",
    "PASS",
    "SKIP",
    "WARN",
    "Check",
    "Report",
    "claim",
    "main",
    "validate_pipeline",
    "write_junit",
]

if __name__ == "__main__":
    sys.exit(end(main()))
