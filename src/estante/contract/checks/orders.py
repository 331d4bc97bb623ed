"""An order to examine a pipeline, as a command line gives it, and what it takes to carry it out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, attempt, kind, told
from estante.contract.checks.catalog import chosen
from estante.contract.checks.fresh import maker
from estante.contract.checks.probes import MOST_CHUNKS, Probe, Setting
from estante.contract.checks.rebuilding import BY_IMPORT, BY_TYPE, Origin
from estante.contract.checks.report import Report
from estante.contract.checks.runner import Runs, examine, known_ids, worker
from estante.contract.checks.standing import alone
from estante.contract.errors import ConnectorError, ConnectorRegistrationError, ContractValueError
from estante.contract.foreign import adopted, is_pipeline
from estante.contract.params import ParamsError, each_once
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import connector_errors, get_connector, registered_types
from estante.contract.specs import ConnectorSpec

NOT_CONFORMANT: Final = 1
UNUSABLE: Final = 2

TIMEOUT: Final = 300.0
"""Seconds that a check may take unless told otherwise; 0 is without limit."""

NO_DOTENV: Final = "python-dotenv is not installed, so the file .env was not read; pip install python-dotenv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be examined, and how. One of ``target`` (``MOD:ATTR``) and ``connector_type`` is given."""

    target: str | None = None
    connector_type: str | None = None
    kwargs: str | None = None
    params: str | None = None
    query: str | None = None
    top_k: int = 5
    skip_stability: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    strict: bool = False
    basic: bool = False
    security: bool = False
    harness: str | None = None
    max_chunks: int = MOST_CHUNKS


class Refused(Exception):
    """The order cannot be carried out: what happened, what to do next, and the exit code."""

    def __init__(self, message: str, hint: str, code: int, *, abrupt: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code
        self.abrupt = abrupt
        """Whether the program ends by ``SystemExit`` with the message."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A pipeline, and what is known of where it comes from."""

    pipeline: RagPipeline
    origin: Origin
    spec: ConnectorSpec | None = None
    connection: Mapping[str, Any] | None = None


def carried_out(
    order: Order, *, warn: Callable[[str], None], environ: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report. Raises ``Refused`` when there is no pipeline to report on.

    ``environ`` is where the variables that a connector's parameters name are looked up. What the pipeline prints goes
    to stderr.
    """
    runs = worker(None) if order.timeout == 0 else worker(order.timeout)
    with alone():
        _refuse_idle(order)
        rules = chosen(extended=not order.basic, with_security=order.security or order.harness is not None)
        only, skip = _ids(order.only), _ids(order.skip)
        harness = None if order.harness is None else _called(order.harness, {}, runs)
        bound = _bound(order, runs, warn, environ)
        setting = Setting(
            sample_query=order.query,
            top_k=order.top_k,
            connection=bound.connection,
            spec=bound.spec,
            skip_stability=order.skip_stability,
            most_chunks=order.max_chunks,
            origin=bound.origin,
            harness=harness,
            owned=True,
            timeout=order.timeout or None,
        )
        report = Report(
            target=str(order.target or order.connector_type),
            strict=order.strict,
            connector_type=order.connector_type or "",
        )
        return examine(Probe(bound.pipeline, setting), rules, report, runs, only=only, skip=skip)


def _refuse_idle(order: Order) -> None:
    """Refuses what could not have the effect that whoever gave it expects."""
    if order.top_k < 1:
        raise Refused(f"--top-k is {order.top_k}", "Ask for 1 hit or more.", UNUSABLE)
    idle, partner = ("--params", "--connector-type") if order.connector_type is None else ("--kwargs", "--import")
    if (order.params if order.connector_type is None else order.kwargs) is not None:
        raise Refused(f"{idle} goes with {partner}", f"Leave {idle} out.", UNUSABLE)


def _ids(given: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return known_ids(given)
    except ContractValueError as error:
        raise Refused(str(error), "Checks are named by their ids.", UNUSABLE) from error


def _bound(order: Order, runs: Runs, warn: Callable[[str], None], environ: Mapping[str, str]) -> _Bound:
    if order.connector_type is not None:
        return _connected(order.connector_type, order.params, runs, warn, environ)
    target = str(order.target)
    module, colon, attribute = target.partition(":")
    if not (colon and module and attribute):
        raise Refused(
            f"{target!r} is no module and attribute", "Write --import package.module:Class", NOT_CONFORMANT, abrupt=True
        )
    kwargs = _object(order.kwargs, "--kwargs")
    return _Bound(_pipeline(_called(target, kwargs, runs), target, runs), Origin(BY_IMPORT, target, kwargs))


def _connected(
    connector_type: str, params: str | None, runs: Runs, warn: Callable[[str], None], environ: Mapping[str, str]
) -> _Bound:
    _load_dotenv(Path.cwd(), warn)
    spec = _ran(runs, lambda: get_connector(connector_type))
    if spec is None:
        broken = next((row for row in _ran(runs, connector_errors) if row.type == connector_type), None)
        if broken is not None:
            what = f"connector {connector_type!r} of {broken.origin} cannot be loaded: {broken.error}"
            raise Refused(what, "Update or uninstall that package; if it is yours, mend what is told.", UNUSABLE)
        types = _ran(runs, registered_types)
        near = get_close_matches(connector_type, types, n=1)
        also = f" Did you mean {near[0]!r}?" if near else ""
        raise Refused(
            f"no such connector: {connector_type!r} is not registered. Registered types: {', '.join(types) or 'none'}",
            f"Name one of them, or the class itself: --import MOD:ATTR.{also}",
            NOT_CONFORMANT,
        )
    connect = spec.connect
    if connect is None:
        raise Refused(
            f"connector {connector_type!r} has no connect(), so it cannot be bound from parameters",
            "Name its class: --import MOD:ATTR with --kwargs.",
            NOT_CONFORMANT,
        )
    given = _object(params, "--params")
    made = _ran(
        runs, lambda: connect(spec.checked_params(given, environ=environ)), f"estante connectors {connector_type}"
    )
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], Mapping):
        raise Refused(
            f"connect() of {connector_type!r} gave {kind(made)}, not a pipeline and its connection document",
            "Let connect() give both.",
            NOT_CONFORMANT,
        )
    pipeline = _pipeline(made[0], f"connector {connector_type!r}", runs)
    return _Bound(pipeline, Origin(BY_TYPE, connector_type, made[1]), spec, made[1])


def _called(target: str, kwargs: dict[str, Any], runs: Runs) -> Any:
    """What ``module:attribute`` makes of the arguments."""
    here = str(Path.cwd())
    if here not in sys.path:
        # Behind everything else, so that no file of the current folder stands in for a module of Python's.
        sys.path.append(here)
    return _ran(runs, lambda: maker(target)(**kwargs))


def _ran(runs: Runs, call: Callable[[], Any], help: str = "") -> Any:
    """What the call gives, within the time of a check. ``help`` is the command that tells what may be given."""
    done: Attempt = runs.run(call)
    if done.late:
        raise Refused("the pipeline could not be made in time", "Allow more: --timeout SECONDS.", UNUSABLE)
    if done.error is not None:
        raise Refused(told(done.error), _hint(done.error, help), UNUSABLE) from done.error
    return done.value


def _hint(error: BaseException, help: str) -> str:
    """What to do about an error while a pipeline is made."""
    if isinstance(error, ParamsError) and help:
        return f"Run: {help}"
    if isinstance(error, ConnectorRegistrationError | ContractValueError) and help:
        return f"Check the parameters. Run: {help}"
    if isinstance(error, ConnectorError):
        return "See that what stands behind it answers and can be read, then run this again."
    if isinstance(error, ModuleNotFoundError):
        return "Check the name and the folder that this is run in, or install what is missing."
    if isinstance(error, AttributeError):
        return "Check the name behind the colon; if it is there, mend what raises."
    if isinstance(error, TypeError):
        return "Check what is given to it (--kwargs), or mend what raises."
    return "Mend what raises; nothing could be examined."


def _pipeline(made: Any, who: str, runs: Runs) -> RagPipeline:
    """The pipeline, or one that stands for it when it was written for rag-connector."""
    if not is_pipeline(made):
        raise Refused(
            f"{who} gave {kind(made)}, which is no RagPipeline",
            "Derive it from estante.contract.pipeline.RagPipeline.",
            NOT_CONFORMANT,
            abrupt=True,
        )
    pipeline: RagPipeline = _ran(runs, lambda: adopted(made))
    return pipeline


def _object(text: str | None, option: str) -> dict[str, Any]:
    """The JSON object that an option holds. The value is never shown: it may hold a secret."""
    hint = f"""Write {option} '{{"name": "value"}}'."""
    if text is None:
        return {}
    try:
        held = json.loads(text, object_pairs_hook=each_once)
    except ContractValueError as error:
        raise Refused(f"{option}: {error}", "Leave one of the two out.", UNUSABLE) from error
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(f"{kind(error)}: {option} is not JSON{where}", hint, UNUSABLE) from error
    if not isinstance(held, dict):
        raise Refused(f"TypeError: {option} is no JSON object", hint, UNUSABLE)
    return held


def _load_dotenv(folder: Path, warn: Callable[[str], None]) -> None:
    """Loads ``.env`` of this very folder into the environment, where connectors look for their secrets."""
    path = folder / ".env"
    if not path.is_file():
        return
    dotenv = attempt(import_module, "dotenv")
    if dotenv.error is not None:
        warn(NO_DOTENV)
        return
    # A file that cannot be read leaves the environment as it is; what lacks then tells so itself.
    attempt(lambda: dotenv.value.load_dotenv(path))
