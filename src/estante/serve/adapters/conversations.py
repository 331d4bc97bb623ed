"""A conversation with a server of the Model Context Protocol, held open in a thread of its own.

The protocol's own library is asynchronous and starts the server's program, or speaks to it by HTTP. A conversation that
breaks is begun again by the next call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

from estante.contract.checks.attempts import told
from estante.contract.errors import ConnectorError, ConnectorOperationalError

_LEAVING: Final = 10.0
"""Seconds that a server has for its end, before it is left to its fate."""

# Objects of the protocol's library and of anyio, whose types need not be installed.
Client = Any
Portal = Any
Scope = Any
Event = Any


class Conversation:
    """Calls from any thread, each answered within ``timeout`` seconds.

    ``opened`` gives what is entered to have a client. Every failure is a ``ConnectorOperationalError``.
    """

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Client]], timeout: float) -> None:
        self._opened = opened
        self._timeout = timeout
        self._lock = threading.Lock()
        self._loop: _Loop | None = None

    def ask(self, what: str, call: Callable[[Client], Any]) -> Any:
        """What an awaitable call of the client gives."""
        loop: _Loop | None = None
        try:
            loop = self._running()
            return loop.run(call, self._timeout)
        except ConnectorError:
            raise
        except TimeoutError as error:
            self._end(loop)
            raise ConnectorOperationalError(f"{what} did not end within {self._timeout:g} s") from error
        except Exception as error:  # the library raises errors of its own, of its transports, and groups of them.
            self._end(loop)
            raise ConnectorOperationalError(f"{what} failed: {told(_first(error))}") from error

    def close(self) -> None:
        """Ends the conversation, and with it the program that was started. A second time does nothing."""
        with self._lock:
            loop = self._loop
        self._end(loop)

    def _end(self, loop: _Loop | None) -> None:
        """Ends this one; not the one that another thread has begun since."""
        with self._lock:
            if loop is None or self._loop is not loop:
                return
            self._loop = None
        if loop.process == os.getpid():
            loop.stop()

    def _running(self) -> _Loop:
        with self._lock:
            # The thread of a conversation stays in the process that was forked from.
            if self._loop is None or self._loop.process != os.getpid():
                self._loop = _Loop(self._opened, self._timeout)
            return self._loop


class _Loop:
    """The thread that one client lives in. It ends with the program, whether it was stopped or not."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[Client]], timeout: float) -> None:
        """Raises what opening the client raises, and ``TimeoutError``."""
        import anyio

        self._opened = opened
        self.process = os.getpid()
        self._portal: Future[tuple[Portal, Scope]] = Future()
        self._begun: Future[tuple[Client, Event]] = Future()
        self._thread = threading.Thread(target=anyio.run, args=(self._live,), name="estante-mcp", daemon=True)
        self._thread.start()
        try:
            self._client, self._leave = self._begun.result(timeout)
        except BaseException:
            self._give_up()
            raise

    def run(self, call: Callable[[Client], Any], timeout: float) -> Any:
        """What an awaitable call gives. Raises what it raises, and ``TimeoutError``."""
        import anyio

        async def within() -> Any:
            with anyio.fail_after(timeout):
                return await call(self._client)

        portal, _ = self._portal.result()
        return portal.call(within)

    def stop(self) -> None:
        """Lets the client leave, and waits until it has."""
        portal, _ = self._portal.result()
        # A thread that has ended by itself takes no calls any more.
        with suppress(RuntimeError):
            portal.call(self._leave.set)
        self._thread.join(_LEAVING)
        if self._thread.is_alive():
            self._give_up()

    def _give_up(self) -> None:
        with suppress(RuntimeError, TimeoutError):
            portal, scope = self._portal.result(_LEAVING)
            portal.call(scope.cancel)
        self._thread.join(_LEAVING)

    async def _live(self) -> None:
        import anyio
        from anyio.from_thread import BlockingPortal

        try:
            async with BlockingPortal() as portal:
                with anyio.CancelScope() as scope:
                    self._portal.set_result((portal, scope))
                    leave = anyio.Event()
                    async with self._opened() as client:
                        self._begun.set_result((client, leave))
                        await leave.wait()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller's thread waits for it.
            if self._begun.done():
                return
            self._begun.set_exception(error)


def _first(error: BaseException) -> BaseException:
    """The first error of a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
