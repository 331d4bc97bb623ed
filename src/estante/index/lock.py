"""The one writer's place at a shelf, and the name of who holds it."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from estante.index.boundary import unwritable
from estante.model.errors import Denied, LockedShelf


class WriterLock:
    """A lock across processes that dies with its holder. Taking it twice in one thread is allowed."""

    def __init__(self, directory: Path, wait: float = 10.0) -> None:
        self.path = directory / "lock"
        self.holder = directory / "holder.json"
        self.wait = wait
        self._threads = threading.RLock()
        self._file = FileLock(self.path, mode=0o600, thread_local=False)
        self._depth = 0

    @contextmanager
    def held(self, purpose: str) -> Iterator[bool]:
        """Holds the place until the block ends; gives whether this is the outermost block.

        Raises ``LockedShelf`` that names the holder after ``wait`` seconds.
        """
        if not self._threads.acquire(timeout=self.wait):
            raise LockedShelf("another thread of this process is writing to the shelf", hint="Wait for it to end.")
        try:
            outermost = self._depth == 0
            if outermost:
                self._acquire(purpose)
            self._depth += 1
            try:
                yield outermost
            finally:
                self._depth -= 1
                if outermost:
                    self._file.release()
        finally:
            self._threads.release()

    def _acquire(self, purpose: str) -> None:
        for path in (self.path, self.holder):
            if path.is_symlink():
                raise Denied(f"{path} is a link", hint="Remove it: a shelf's own files are never links.")
        try:
            self._file.acquire(timeout=self.wait, poll_interval=0.02)
        except Timeout:
            raise LockedShelf(
                f"the shelf {self.path.parent.name!r} is being written to by {self._who()}",
                hint="Wait for it to end, then run the same command again.",
            ) from None
        except OSError as error:
            raise unwritable(self.path, error) from error
        who = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
        with suppress(OSError):  # The holder's name is a courtesy; the lock itself is held.
            descriptor = os.open(
                self.holder, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600
            )
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({**who, "purpose": purpose}, file)

    def _who(self) -> str:
        try:
            told = json.loads(self.holder.read_text(encoding="utf-8"))
            return f"process {told['pid']} on {told['host']} ({told['purpose']}, since {told['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"
