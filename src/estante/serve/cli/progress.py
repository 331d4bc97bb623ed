"""A progress bar on stderr, for terminals only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from estante.serve.cli.output import Output, one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from estante.model.ports import Progress

WIDTH: Final = 32
"""As much of an item's name as is shown beside the bar; its end tells more than its beginning."""


class Bar:
    """Moves a bar as a long job goes on. The bar appears with the first item."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, visible=False, rate="")

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """``done`` items of ``total``, now at ``what``."""
        speed = self._bars.tasks[0].speed
        self._bars.update(
            self._task,
            completed=done,
            total=total,
            description=_short(what),
            visible=True,
            rate="" if speed is None else f"{speed:,.0f}/s",
        )


def _short(what: str) -> str:
    what = one_line(what)
    return (what if len(what) <= WIDTH else "…" + what[1 - WIDTH :]).ljust(WIDTH)


@contextmanager
def progress(output: Output) -> Iterator[Progress | None]:
    """What a long job tells how far it is; None where nobody would see it."""
    if output.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(file=sys.stderr)
    if console.is_dumb_terminal:
        yield None
        return
    bars = Bars(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bars:
        yield Bar(bars)
