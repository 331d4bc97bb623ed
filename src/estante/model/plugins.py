"""Names to plug-ins: a table of built-ins and one entry-point group a family, loaded one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from estante.model.errors import MissingExtra, NameTaken, SettingsError, UnknownName


@dataclass(frozen=True, slots=True)
class Builtin:
    """Where a plug-in of ours stands (``module:attribute``), and the extra that brings what it needs."""

    target: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A plug-in as lists show it; ``error`` says why it cannot be used."""

    name: str
    origin: str
    error: str = ""


def required(module: str, extra: str) -> Any:
    """A module of an optional package. Raises ``MissingExtra`` with the command that installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(f"{extra!r}", error.name or module, extra) from error


def located(package: str, extra: str) -> Traversable:
    """The folder of an optional package, which is found but not run. Raises ``MissingExtra``."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(f"{extra!r}", package, extra)
    return Path(spec.submodule_search_locations[0])


def _missing(what: str, package: str, extra: str) -> MissingExtra:
    return MissingExtra(
        f"{what} needs the package {package!r}, which is not installed", hint=f'Run: pip install "estante[{extra}]"'
    )


class Plugins:
    """One family of plug-ins. A name is imported when it is asked for, not before."""

    def __init__(self, family: str, group: str, builtins: Mapping[str, Builtin]) -> None:
        self.family = family
        self.group = group
        self.builtins = dict(builtins)

    def names(self) -> list[str]:
        """Every known name, sorted."""
        return sorted({*self.builtins, *(point.name for point in self._points())})

    def load(self, name: str) -> Any:
        """The plug-in of this name: usually a class.

        Raises ``UnknownName`` with the nearest name, ``MissingExtra`` with the command that installs what is
        missing, ``NameTaken`` when an installed package claims a built-in's name or two packages one name.
        """
        points = [point for point in self._points() if point.name == name]
        if points and (name in self.builtins or len(points) > 1):
            who = ", ".join(sorted(_origin(point) for point in points))
            raise NameTaken(
                f"{self.family} {name!r} is claimed by {who}",
                hint="Uninstall one of them, or ask its author to rename it.",
            )
        if name in self.builtins:
            return self._builtin(name)
        if points:
            return self._installed(points[0])
        near = get_close_matches(name, self.names(), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(self.names())}."
        raise UnknownName(f"there is no {self.family} named {name!r}", hint=hint)

    def rows(self) -> list[Row]:
        """Every plug-in with its origin, none of them imported; one whose name is taken is a row that says so."""
        rows = [Row(name, "estante") for name in self.builtins]
        points = self._points()
        claims = Counter(point.name for point in points)
        for point in points:
            own = "claims a name of Estante's own" if point.name in self.builtins else ""
            rows.append(Row(point.name, _origin(point), own or ("claimed twice" if claims[point.name] > 1 else "")))
        return sorted(rows, key=lambda row: (row.name, row.origin))

    def _points(self) -> list[EntryPoint]:
        return sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value))

    def _builtin(self, name: str) -> Any:
        builtin = self.builtins[name]
        module, _, attribute = builtin.target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if not builtin.extra or (error.name or "").partition(".")[0] == "estante":
                raise
            raise _missing(f"{self.family} {name!r}", str(error.name), builtin.extra) from error

    def _installed(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except Exception as error:  # A third party's import may fail in any way; it must not be ours to crash on.
            raise SettingsError(
                f"{self.family} {point.name!r} of {_origin(point)} cannot be loaded: {type(error).__name__}: {error}",
                hint="Update or uninstall that package.",
            ) from error


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
