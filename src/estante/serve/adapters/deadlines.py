"""The time that a whole answer may take, held at every read and write of its connection.

The client's own limits are for a single read, so a server that drips one byte after another would never run out of
them, neither in its headers nor in what unpacks to nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from estante.contract.errors import ConnectorOperationalError

_PIECE: Final = 65_536

# Objects of httpcore, whose types need not be installed.
Backend = Any
Stream = Any


class Deadlines:
    """When the call of each thread must have ended."""

    def __init__(self) -> None:
        self._own = threading.local()

    @contextmanager
    def within(self, seconds: float, what: str) -> Iterator[None]:
        """Inside, this thread's calls end in time, or with an error that says that ``what`` did not."""
        self._own.call = (time.monotonic() + seconds, f"{what} did not end within {seconds:g} s")
        try:
            yield
        finally:
            self._own.call = None

    @contextmanager
    def step(self, timeout: float | None) -> Iterator[float | None]:
        """Inside, one step is taken in the seconds that are given: no more than it may take, nor than are left."""
        call: tuple[float, str] | None = getattr(self._own, "call", None)
        if call is None:
            yield timeout
            return
        until, complaint = call
        if (rest := until - time.monotonic()) <= 0:
            raise ConnectorOperationalError(complaint)
        try:
            yield rest if timeout is None else min(rest, timeout)
        except Exception as error:  # whatever the step says, when its time is over that is what there is to say.
            if time.monotonic() >= until:
                raise ConnectorOperationalError(complaint) from error
            raise


class BoundedBackend:
    """A network back end of httpcore, every step of which ends in time."""

    def __init__(self, backend: Backend, deadlines: Deadlines) -> None:
        self._backend = backend
        self._deadlines = deadlines

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **named: Any) -> BoundedStream:
        """A stream to a host."""
        with self._deadlines.step(timeout) as seconds:
            return BoundedStream(self._backend.connect_tcp(host, port, timeout=seconds, **named), self._deadlines)

    def sleep(self, seconds: float) -> None:
        """Waits between two attempts."""
        with self._deadlines.step(seconds) as bounded:
            self._backend.sleep(bounded)


class BoundedStream:
    """A network stream of httpcore, every read and write of which ends in time."""

    def __init__(self, stream: Stream, deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next."""
        with self._deadlines.step(timeout) as seconds:
            found: bytes = self._stream.read(max_bytes, timeout=seconds)
        return found

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Sends, piece by piece, because a server can also be slow to take."""
        for start in range(0, len(buffer), _PIECE):
            with self._deadlines.step(timeout) as seconds:
                self._stream.write(buffer[start : start + _PIECE], timeout=seconds)

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> Any:
        """The same connection, encrypted."""
        with self._deadlines.step(timeout) as seconds:
            return BoundedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._deadlines)

    def get_extra_info(self, info: str) -> Any:
        """What the stream tells of itself."""
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        """Closes the connection."""
        self._stream.close()
