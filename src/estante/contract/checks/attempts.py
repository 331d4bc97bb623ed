"""Calls of code that may do anything: raise what ends programs, hang, or give values that bite."""

from __future__ import annotations

import ctypes
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from estante.contract.secrecy import secret_paths

_LONGEST_ERROR: Final = 300
_MOST: Final = 100_000
_INPUT: Final = re.compile(r"input_value=.*?, (?=input_type=)")
_LEFT: Final = "estante-left-behind"


really_exit: Final = os._exit
"""Ends the process at once, also while ``alone`` keeps code under test from doing so."""


class Missing(Exception):
    """What a check stands on could not be had; the message says what. The check is skipped."""


class Abandoned(BaseException):
    """Raised within a thread whose check took too long, so that a loop in it ends."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a call gave: a value, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None
    late: bool = False
    """Whether the call did not come back in time; it may be running still."""


def attempt(call: Callable[..., Any], *arguments: Any, **named: Any) -> Attempt:
    """What the call gives, whatever it raises; only an interruption from the keyboard goes through.

    Where the call forked and comes back twice, the copy ends here: there is one report.
    """
    process = os.getpid()
    try:
        done = Attempt(call(*arguments, **named))
        if os.getpid() != process:
            raise SystemExit
        return done
    except Abandoned:
        raise
    except BaseException as error:
        if os.getpid() != process:
            really_exit(0)
        # Ctrl-C reaches the main thread alone. Anywhere else the code itself raised it.
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        return Attempt(error=error)


def listed(value: Any, most: int = _MOST) -> list[Any]:
    """The items of anything that can be gone through, the first ``most`` of them: it may have no end."""
    return list(islice(iter(value), most))


class Worker:
    """Runs one call after another in a thread of its own, and leaves a call behind that takes too long.

    All calls share one thread until one is left behind, because some back ends serve only the thread that opened
    them.
    """

    def __init__(self, timeout: float | None = None) -> None:
        self.timeout = timeout
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Attempt]] | None] | None = None
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], Any]) -> Attempt:
        """What the call gives, or that it was late."""
        answers: queue.SimpleQueue[Attempt] = queue.SimpleQueue()
        self._start().put((call, answers))
        try:
            return answers.get(timeout=self.timeout)
        except queue.Empty:
            self._leave()
            return Attempt(late=True)
        except BaseException:
            # Whoever interrupts the wait does not want to wait for the call either.
            self._leave()
            raise

    def close(self) -> None:
        """Ends the thread, if it is idle."""
        if self._orders is not None:
            self._orders.put(None)
            self._orders = None

    def _start(self) -> queue.SimpleQueue[Any]:
        if self._orders is None:
            self._orders = queue.SimpleQueue()
            self._thread = threading.Thread(target=_serve, args=(self._orders,), name="estante-checks", daemon=True)
            self._thread.start()
        return self._orders

    def _leave(self) -> None:
        thread, self._thread, self._orders = self._thread, None, None
        if thread is not None and thread.ident is not None:
            thread.name = _LEFT
            # Python has no other way to stop a thread. One that waits outside of Python goes on, and is a daemon.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Abandoned))


class Inline:
    """Runs each call where it stands, without a limit of time."""

    def run(self, call: Callable[[], Any]) -> Attempt:
        """What the call gives."""
        return attempt(call)

    def close(self) -> None:
        """Nothing is held."""


def end(code: int) -> int:
    """The code; or the end of the program with it, where a call that was left behind would keep it from ending.

    For the last line of a program alone: what is written to standard output from here on, by code that was left
    behind or waits for the end, goes to stderr.
    """
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        os.dup2(2, 1)
    if any(thread.name == _LEFT for thread in threading.enumerate()):
        # A pool of threads that the call waits for is waited for by Python, however its threads were made.
        sys.stdout.flush()
        sys.stderr.flush()
        really_exit(code)
    return code


def _serve(orders: queue.SimpleQueue[tuple[Callable[[], Any], queue.SimpleQueue[Attempt]] | None]) -> None:
    try:
        while (order := orders.get()) is not None:
            call, answers = order
            answers.put(attempt(call))
    except Abandoned:
        return


def told(error: BaseException) -> str:
    """An error in one line: its class and what it says, cut. What looks like a secret is not told.

    Neither are the values that Pydantic repeats: what does not fit its models may be a document.
    """
    said = _INPUT.sub("", " ".join(text(error).split()))
    if attempt(secret_paths, [said]).value != []:
        return f"{kind(error)} (what it says looks like a secret, and is not shown)"
    return f"{kind(error)}: {_cut(said, _LONGEST_ERROR)}"


def cause(error: BaseException) -> BaseException:
    """The error to raise another one from, where a context manager turns errors into others.

    A ``RuntimeError`` that is raised from a ``StopIteration`` is taken by ``contextlib`` for the ``StopIteration``
    itself, which whoever iterates would take for the end: an error would look like nothing found.
    """
    if not isinstance(error, StopIteration):
        return error
    made = ValueError("StopIteration")
    made.__cause__ = error
    return made


def shown(value: object, limit: int = 60) -> str:
    """A value as Python writes it, cut to a limit."""
    written = attempt(repr, value).value
    if not isinstance(written, str):
        return f"<{kind(value)} that cannot be written>"
    return _cut("".join(str.splitlines(written)), limit)


def text(value: object, limit: int | None = None) -> str:
    """A value as a plain string."""
    if type(value) is str:
        return _cut(value, limit)
    written = attempt(str.__str__ if issubclass(type(value), str) else str, value).value
    if not isinstance(written, str):
        return f"<{kind(value)} that cannot be written>"
    return _cut(str.__str__(written), limit)


def kind(value: object) -> str:
    """The name of a value's type."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _cut(written: str, limit: int | None) -> str:
    return written if limit is None or len(written) <= limit else written[: limit - 3] + "..."
