"""The command ``doctor``: looks at everything a bookcase needs, and says what to do about what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from estante.model.errors import CorruptShelf, EstanteError, NotFound
from estante.serve.cli.calls import Call
from estante.serve.cli.output import counted, size

if TYPE_CHECKING:
    from estante.shelf.bookcase import Bookcase
    from estante.shelf.settings import Settings, ShelfSettings

LEAST_FREE: Final = 200_000_000
"""Bytes of free disk below which a large addition may not fit."""

DAMAGED: Final = 6
OTHER: Final = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``hint`` says what to do when it is not well."""

    what: str
    detail: str
    ok: bool = True
    hint: str = ""
    damage: bool = False


def doctor(call: Call) -> int:
    """Looks at everything, and says what to do about it.

    It reads both shelves whole. The exit code is 0 when all is well, 6 when a shelf is damaged, 1 for any other
    problem.

    Example: estante doctor
    """
    found = []
    for finding in findings(call):
        found.append(finding)
        if not call.out.json:
            mark = ("ok     ", "green") if finding.ok else ("problem", "bold red")
            call.out.line(mark, f"  {finding.what}: {finding.detail}")
            if not finding.ok and finding.hint:
                call.out.line(("hint:", "bold"), f" {finding.hint}", indent=9)
    if call.out.json:
        checks = [{"what": one.what, "ok": one.ok, "detail": one.detail, "hint": one.hint} for one in found]
        call.out.value({"ok": all(one.ok for one in found), "checks": checks})
    if any(one.damage for one in found):
        return DAMAGED
    return 0 if all(one.ok for one in found) else OTHER


def findings(call: Call) -> Iterator[Finding]:
    """Everything in order; what rests on a thing that failed is left out."""
    yield from machine()
    try:
        settings = call.settings()
    except NotFound:
        yield Finding("bookcase", "no bookcase here", False, "Make one with: estante init, or say where: --home DIR")
        return
    except EstanteError as error:
        yield _problem("settings", error)
        return
    yield Finding("settings", f"readable, bookcase in {settings.home}")
    yield disk(settings.home)
    yield from locks(settings)
    yield from shelves(settings)


def machine() -> Iterator[Finding]:
    """Python and the libraries that the shelves stand on."""
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    yield Finding("python", f"{platform.python_version()} on {platform.platform()}, {os.cpu_count()} processors")
    yield Finding("sqlite", sqlite3.sqlite_version)
    for name in ("numpy", "simsimd"):
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, "not installed", ok=False, hint="Run: pip install --force-reinstall estante")


def disk(home: Path) -> Finding:
    """Whether there is room to write."""
    import shutil

    try:
        free = shutil.disk_usage(home).free
    except OSError as error:
        return Finding("disk", f"{home}: {error.strerror}", ok=False, hint="Check the folder.")
    detail = f"{size(free)} free"
    return Finding("disk", detail, ok=free >= LEAST_FREE, hint="Make room, or move the bookcase to a larger disk.")


def locks(settings: Settings) -> Iterator[Finding]:
    """Whether somebody is writing."""
    for name, shelf in _both(settings):
        if shelf.store == "embedded" and shelf.path.is_dir():
            yield _lock(name, shelf.path)


def _lock(name: str, path: Path) -> Finding:
    from estante.index.lock import WriterLock

    try:
        with WriterLock(path, wait=0.05).held("doctor"):
            return Finding(f"{name} lock", "free")
    except EstanteError as error:
        return _problem(f"{name} lock", error)


def _both(settings: Settings) -> tuple[tuple[str, ShelfSettings], ...]:
    return (("shared", settings.shared), ("private", settings.private))


def shelves(settings: Settings) -> Iterator[Finding]:
    """Every shelf, read whole, and the sources."""
    from estante.shelf.assemble import open_bookcase

    try:
        case = open_bookcase(settings.home, settings)
    except NotFound:
        yield Finding("bookcase", f"no bookcase in {settings.home}", False, "Make one with: estante init")
        return
    except EstanteError as error:
        yield _problem("bookcase", error)
        return
    with case:
        yield from _held(case, {one.name for one in settings.sources})


def _held(case: Bookcase, settled: set[str]) -> Iterator[Finding]:
    status = case.status()
    told = {f"{shelf.name}: {shelf.reason}" for shelf in status.shelves if not shelf.ok}
    problems = [one for one in dict.fromkeys(case.check()) if one not in told]
    for shelf in status.shelves:
        if not shelf.ok:
            yield Finding(f"{shelf.name} shelf", shelf.reason, False, "Run: estante rebuild", damage=True)
        elif not any(one.startswith(f"{shelf.name}:") for one in problems):
            held = f"{counted(shelf.documents, 'document')}, {counted(shelf.chunks, 'chunk')}, all read"
            yield Finding(f"{shelf.name} shelf", held)
    for problem in problems:
        hint = "Run: estante rebuild, and if that does not mend it: estante rebuild --from-sources"
        yield Finding("shelf", problem, False, hint, damage=True)
    for name, root, _ in status.sources:
        way = "take it out of the settings" if name in settled else f"run: estante rm --source {name}"
        yield _source(name, Path(root), f"Bring the folder back, or {way}")


def _source(name: str, root: Path, hint: str) -> Finding:
    what = f"source {name}"
    try:
        if root.is_dir():
            os.scandir(root).close()
        else:
            root.open("rb").close()
    except OSError as error:
        return Finding(what, f"{root}: {error.strerror}", False, hint)
    return Finding(what, str(root))


def _problem(what: str, error: EstanteError) -> Finding:
    return Finding(what, error.message, False, error.hint, damage=isinstance(error, CorruptShelf))
