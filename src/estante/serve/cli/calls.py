"""How a command was called: the options that every command has, and what follows from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from estante.model.errors import NotFound, SettingsError
from estante.serve.cli.output import Output

if TYPE_CHECKING:
    from estante.shelf.bookcase import Bookcase
    from estante.shelf.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value on stdout, errors too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results, warnings and errors alone.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more: everything left out, times, tracebacks.")]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="The bookcase's folder; else ESTANTE_HOME, else the nearest folder upwards that holds one.",
        show_default=False,
    ),
]

COMMON: Final = (("json", Json, False), ("quiet", Quiet, False), ("verbose", Verbose, False), ("home", Home, None))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: where its bookcase stands and where it prints."""

    out: Output
    given: Path | None = None

    def home(self) -> Path:
        """The folder of the bookcase. Raises ``NotFound`` when nothing says where it is."""
        found = self.named() or self._nearest()
        if found is None:
            raise NotFound(
                f"there is no bookcase in {_here()} or above it",
                hint="Make one with: estante init, or say where it is: --home DIR",
            )
        return found

    def named(self) -> Path | None:
        """The folder that the flag or the environment names."""
        from estante.shelf.settings import home_named

        return self.given.expanduser() if self.given is not None else home_named()

    def _nearest(self) -> Path | None:
        from estante.shelf.settings import find_home

        return find_home(_here())

    def settings(self, **flags: object) -> Settings:
        """The settings of the bookcase; ``search_k=5`` stands for the flag of ``search.k``."""
        from estante.shelf.settings import load

        return load(self.home(), flags={key.replace("_", "."): value for key, value in flags.items()})

    def bookcase(self) -> Bookcase:
        """The bookcase, to be closed by a ``with`` block."""
        from estante.shelf.assemble import open_bookcase

        settings = self.settings()
        return open_bookcase(settings.home, settings)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise SettingsError("the current folder is gone", hint="Change to another one, or use --home DIR.") from error


def command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """The function with the options of every command: its first parameter becomes the ``Call``.

    An option may stand before the command's name as well as behind it.
    """
    signature = inspect.signature(function, eval_str=True)
    _, *own = signature.parameters.values()

    def called(context: typer.Context, **given: Any) -> int | None:
        before: dict[str, Any] = context.obj or {}
        common = {name: given.pop(name) or before.get(name) for name, _, _ in COMMON}
        home = common.pop("home")
        return function(Call(Output(**{name: bool(value) for name, value in common.items()}), home), **given)

    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    rest = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in COMMON
    ]
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    called.__signature__ = inspect.Signature([first, *keyword_only, *rest])  # type: ignore[attr-defined]
    called.__annotations__ = {}
    called.__doc__ = function.__doc__
    called.__name__ = function.__name__
    return called
