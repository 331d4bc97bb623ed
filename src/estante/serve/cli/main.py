"""The command line: its commands, and what becomes of every way to fail."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from estante.model.errors import ContractBroken, EstanteError, FullDisk, SettingsError, Unavailable
from estante.serve.cli import (
    borders,
    calls,
    checkup,
    comparing,
    connecting,
    datasets,
    filling,
    finding,
    measuring,
    models,
    tending,
    validating,
)
from estante.serve.cli.output import Output, prepare

PROGRAM: Final = "estante"

COMMANDS: Final[tuple[tuple[str, Callable[..., int | None]], ...]] = (
    ("init", filling.init),
    ("add", filling.add),
    ("refresh", filling.refresh),
    ("search", finding.search),
    ("show", finding.show),
    ("ls", finding.ls),
    ("rm", filling.rm),
    ("status", tending.status),
    ("doctor", checkup.doctor),
    ("compact", tending.compact),
    ("rebuild", tending.rebuild),
    ("validate", validating.validate),
    ("connectors", connecting.connectors),
    ("connect", connecting.connect),
)
CONFIG: Final[tuple[tuple[str, Callable[..., int | None]], ...]] = (("show", tending.config_show),)
DATASET: Final[tuple[tuple[str, Callable[..., int | None]], ...]] = (
    ("build", datasets.build),
    ("export", datasets.export),
    ("verify", datasets.verify),
    ("show", datasets.show),
    ("diff", datasets.diff),
)
MODELS: Final[tuple[tuple[str, Callable[..., int | None]], ...]] = (
    ("list", models.listing),
    ("build", models.build),
    ("verify", models.verify),
    ("path", models.path),
)
EVAL: Final[tuple[tuple[str, Callable[..., int | None]], ...]] = (
    ("run", measuring.run),
    ("compare", comparing.compare),
    ("report", comparing.report),
    ("gen", measuring.gen),
)

INTERRUPTED: Final = 130
TERMINATED: Final = 143
UNEXPECTED: Final = 70


class Terminated(BaseException):
    """The process was asked to end; raised so that every block gives back what it holds."""


class _Command(TyperCommand):
    """A command whose help names its arguments as they are typed, without their types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The line behind ``Usage:``."""
        pieces = [self.options_metavar or ""]
        for one in self.params:
            if one.param_type_name == "argument":
                name = str(one.metavar or one.name).upper()
                pieces.append(name if one.required else f"[{name}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The tables of arguments and options."""
        for one in self.params:
            if one.param_type_name == "argument":
                setattr(one, "display_type_rich", lambda ctx: None)  # noqa: B010 - the library has no other way.
        super().format_options(ctx, formatter)


def _start(
    context: typer.Context,
    json: calls.Json = False,
    quiet: calls.Quiet = False,
    verbose: calls.Verbose = False,
    home: calls.Home = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A bookcase for an organisation's documents: finds the passages that answer a question, offline.

    Example: estante init && estante add handbook --shared && estante search "a question"
    """
    context.obj = {"json": json, "quiet": quiet, "verbose": verbose, "home": home}
    if version:
        from importlib.metadata import version as installed

        number = installed(PROGRAM)
        if json:
            Output(json=True).value({"version": number})
        else:
            typer.echo(f"{PROGRAM} {number}")
        raise typer.Exit
    _help_alone(context)


def _config(
    context: typer.Context,
    json: calls.Json = False,
    quiet: calls.Quiet = False,
    verbose: calls.Verbose = False,
    home: calls.Home = None,
) -> None:
    """Tells the settings.

    Example: estante config show --origin
    """
    _join(context, json=json, quiet=quiet, verbose=verbose, home=home)
    if context.invoked_subcommand is None and context.obj["json"]:
        tending.config_show(calls.Call(Output(json=True), context.obj["home"]))
    else:
        _help_alone(context)


def _group(told: str) -> Callable[..., None]:
    """The callback of a group whose commands do all its work; ``told`` is its help."""

    def callback(
        context: typer.Context,
        json: calls.Json = False,
        quiet: calls.Quiet = False,
        verbose: calls.Verbose = False,
        home: calls.Home = None,
    ) -> None:
        _join(context, json=json, quiet=quiet, verbose=verbose, home=home)
        _help_alone(context)

    callback.__doc__ = told
    return callback


_dataset = _group(
    """Freezes, verifies and compares a corpus of chunks.

    Example: estante dataset build --folder handbook --out frozen/handbook
    """
)
_eval = _group(
    """Measures what pipelines find, and compares measurements.

    Example: estante eval run collection --build --out runs/first
    """
)
_models = _group(
    """Makes, verifies and finds the weights of encoders.

    Example: estante models build e5
    """
)


def _join(context: typer.Context, **own: Any) -> None:
    """Joins the options of a group with those before it."""
    before = context.obj or {}
    context.obj = {name: value or before.get(name) for name, value in own.items()}


def _help_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def build() -> typer.Typer:
    """The application with all its commands."""
    look: dict[str, Any] = {
        "rich_markup_mode": None,
        "add_completion": False,
        "pretty_exceptions_enable": False,
        "invoke_without_command": True,
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }
    app = typer.Typer(name=PROGRAM, callback=_start, **look)
    config = typer.Typer(name="config", callback=_config, **look)
    dataset = typer.Typer(name="dataset", callback=_dataset, **look)
    weights = typer.Typer(name="models", callback=_models, **look)
    evaluation = typer.Typer(name="eval", callback=_eval, **look)
    groups = ((app, COMMANDS), (config, CONFIG), (dataset, DATASET), (evaluation, EVAL), (weights, MODELS))
    for group, table in groups:
        for name, function in table:
            made = group.command(name, cls=_Command, context_settings=look["context_settings"])
            made(calls.command(function))
    app.add_typer(config)
    app.add_typer(dataset)
    app.add_typer(evaluation)
    app.add_typer(weights)
    return app


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code; whatever goes wrong is raised."""
    command = typer.main.get_command(build())
    try:
        with command.make_context(PROGRAM, list(arguments)) as context:
            code = command.invoke(context)
    except typer.Exit as ending:
        code = ending.exit_code
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code. Never raises."""
    return _ended(_main(sys.argv[1:])) if argv is None else _main(list(argv))


def _ended(code: int) -> int:
    """The code of the whole program, unless a validation left something behind that would keep it from ending."""
    attempts = sys.modules.get("estante.contract.checks.attempts")
    return code if attempts is None else int(attempts.end(code))


def _main(arguments: list[str]) -> int:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    out = Output(json="--json" in options, verbose="--verbose" in options or "-v" in options)
    prepare()
    if not sys.warnoptions and not out.verbose:
        warnings.simplefilter("ignore")  # What a library has to say to its programmers is not for people who search.
    try:
        with _ending():
            return run(arguments)
    except BrokenPipeError:
        return _leave_pipe()
    except BaseException as error:  # noqa: BLE001 - the last place where anything can be told to people.
        return _tell(out, error)


def _tell(out: Output, error: BaseException) -> int:
    """Prints what went wrong and returns the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    known, code = _known(error)
    try:
        if out.verbose and (code == UNEXPECTED or isinstance(error, ContractBroken)):
            _traceback(error)
        out.error(known)
        sys.stdout.flush()
    except OSError:
        return _leave_pipe() or code
    return code


def _known(error: BaseException) -> tuple[EstanteError, int]:
    """Any error as one of ours, and its exit code."""
    if isinstance(error, EstanteError):
        return error, error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort | Terminated):
        return (
            EstanteError("interrupted", hint="The shelf is sound; the same command goes on from here."),
            TERMINATED if isinstance(error, Terminated) else INTERRUPTED,
        )
    if isinstance(error, typer.TyperException):
        told = _usage(error)
        return told, told.exit_code
    if isinstance(error, OSError) and error.strerror:
        told = _of_the_system(error)
        return told, told.exit_code
    broken = borders.contract_error(error) or borders.evaluation_error(error)
    if broken is not None:
        return broken, broken.exit_code
    kind = type(error).__name__
    hint = "Please report it; run with --verbose for the traceback."
    return EstanteError(f"unexpected {kind}", hint=hint), UNEXPECTED


def _usage(error: typer.TyperException) -> EstanteError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    message = error.format_message().rstrip(".")
    return SettingsError(message[:1].lower() + message[1:], hint=f"Run: {path} --help")


def _of_the_system(error: OSError) -> EstanteError:
    """A failure of files or of the system, which is no fault of the program."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    message = f"{where}{error.strerror}"
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return FullDisk(message, hint="Make room, then run the same command again.")
    return Unavailable(message, hint="Check the path and its permissions.")


def _traceback(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error, file=sys.stderr)


def _leave_pipe() -> int:
    """Ends quietly when nobody reads on, as in ``estante ls | head``."""
    with suppress(OSError, ValueError):
        # Python flushes stdout once more when it ends, and must not fail then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


@contextmanager
def _ending() -> Iterator[None]:
    """Makes a request to end (SIGTERM) an exception, as Ctrl-C is one already."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # Not the main thread: signals go elsewhere.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
