"""What a command line keeps to itself while code of others runs: its standard output, and when it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Final, NoReturn

from estante.contract.checks.attempts import really_exit

_STDOUT: Final = 1
_STDERR: Final = 2


class Ended(BaseException):
    """Code under test tried to end the process, which would have cost the report."""


@contextmanager
def alone() -> Iterator[None]:
    """Inside, whatever is written to standard output goes to stderr, and the process cannot be ended by ``os._exit``.

    That holds for Python's streams and for what the system writes to the file itself, such as a process that was
    started. A standard output that was closed inside is open again behind the block.
    """
    process, before = os.getpid(), os._exit

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:
            really_exit(status)  # A copy of this process, which holds no report.
        raise Ended(f"it called os._exit({status}); let it raise what went wrong")

    with redirect_stdout(sys.stderr), _aside():
        os._exit = refuse
        try:
            yield
        finally:
            os._exit = before


@contextmanager
def _aside() -> Iterator[None]:
    """Inside, the file of standard output is that of stderr, where both are there."""
    _flush()
    try:
        kept = os.dup(_STDOUT)
    except OSError:  # There is no standard output that could be kept clean.
        yield
        return
    with suppress(OSError):
        os.dup2(_STDERR, _STDOUT)
    try:
        yield
    finally:
        _flush()
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _flush() -> None:
    # What stands in the buffer belongs to where the file leads now. The stream may be closed, or be none.
    with suppress(OSError, ValueError, AttributeError):
        sys.__stdout__.flush()  # type: ignore[union-attr]
