"""Points at which a process can die, numbered: before and after each sync, rename, unlink and commit.

With ``power``, dying is a power cut: what was not synced is torn, and a rename in a directory that was not synced
did not happen. What SQLite itself writes is taken as safe once a COMMIT has returned.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from estante.shelf import assemble
from tests.faults.cases import case_at, shelf_at
from tests.faults.deeds import Deed
from tests.faults.killing import say

DIED = 77

_fsync, _replace, _unlink, _connect = os.fsync, os.replace, os.unlink, sqlite3.connect


class Points:
    """Counts the points that are passed, and dies at one of them."""

    def __init__(self, last: int | None, power: bool, home: Path) -> None:
        self.passed = 0
        self.trace: list[str] = []
        self._last, self._power, self._home = last, power, home
        self._synced: set[str] = {str(file) for file in home.rglob("*")}
        self._renamed: dict[str, str] = {}

    def arm(self) -> None:
        """From now on every point counts."""
        points = self

        class Connection(sqlite3.Connection):
            _changing = False

            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                begun = super().execute
                self._changing = self._changing or sql == "BEGIN IMMEDIATE"
                if sql in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") or (sql == "COMMIT" and self._changing):
                    self._changing = False
                    return points.around(sql.lower(), lambda: begun(sql, *values))
                return begun(sql, *values)

        def connect(*given: Any, **named: Any) -> sqlite3.Connection:
            return _connect(*given, **{**named, "factory": Connection})

        def replace(source: Any, target: Any, **named: Any) -> None:
            self.around(f"rename {Path(target).name}", lambda: _replace(source, target, **named))
            self._renamed[str(target)] = str(source)
            if str(source) in self._synced:
                self._synced.add(str(target))

        def fsync(descriptor: int) -> None:
            name = os.readlink(f"/proc/self/fd/{descriptor}")
            self.around(f"sync {Path(name).name}", lambda: _fsync(descriptor))
            self._synced.add(name)
            self._renamed = {to: of for to, of in self._renamed.items() if os.path.dirname(to) != name}

        def unlink(path: Any, **named: Any) -> None:
            self.around(f"unlink {Path(path).name}", lambda: _unlink(path, **named))

        os.fsync, os.replace, os.unlink = fsync, replace, unlink  # type: ignore[assignment]
        sqlite3.connect = connect  # type: ignore[assignment]

    def begin(self, last: int | None) -> None:
        """Forgets what was passed, and dies at this point from now on."""
        self.passed, self.trace, self._last = 0, [], last

    def end(self) -> None:
        """Dies no more."""
        self._last = -1

    def around(self, name: str, step: Callable[[], Any]) -> Any:
        self._point(name)
        made = step()
        self._point(f"{name} done")
        return made

    def _point(self, name: str) -> None:
        if self._last == -1:
            return
        self.trace.append(name)
        if self.passed == self._last:
            if self._power:
                self._cut()
            os._exit(DIED)
        self.passed += 1

    def _cut(self) -> None:
        """What the disk holds after a power cut."""
        for file in self._home.glob("*/segments/*"):
            if str(file) not in self._synced:
                os.truncate(file, file.stat().st_size // 2)
        for target, source in self._renamed.items():
            if os.path.exists(target):
                os.rename(target, source)


def pass_points(home: str, deed: dict[str, Any], last: int | None, power: bool) -> None:
    """Opens a case and does a deed, dying at a point; else tells the points that it passed."""
    points = Points(None, power, Path(home))
    points.arm()
    with case_at(Path(home)) as case:
        points.begin(last)
        Deed.of(deed).do(case)
        points.end()
    say(trace=points.trace)


def make_shelf(home: str, last: int | None, power: bool) -> None:
    """Makes one shelf, dying at a point; else tells the points that it passed."""
    points = Points(None, power, Path(home))
    points.arm()
    points.begin(last)
    shelf_at(Path(home) / "private", make=True).close()
    points.end()
    say(trace=points.trace)


def make_bookcase(home: str, last: int | None, power: bool) -> None:
    """Makes a bookcase with the settings' own parts, dying at a point; else tells the points that it passed."""
    points = Points(None, power, Path(home) / ".estante")
    points.arm()
    points.begin(last)
    assemble.create(home).close()
    points.end()
    say(trace=points.trace)
