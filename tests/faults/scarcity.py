"""Disks that are full: a small one of its own, or a limit on how large a file may grow."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from estante.model.errors import EstanteError
from tests.faults.cases import case_at
from tests.faults.corpus import Writer
from tests.faults.killing import say


class SmallDisk:
    """A file system in memory with so many bytes and no more."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        path.mkdir()
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.mounted = made.returncode == 0
        self.why_not = made.stderr.strip()

    def unmount(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)

    def grow(self, size: int) -> None:
        """Makes it larger."""
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)

    def room(self) -> int:
        told = os.statvfs(self.path)
        return told.f_bavail * told.f_frsize

    @contextmanager
    def filled(self, but: int = 0) -> Iterator[None]:
        """With no more room than this."""
        filler = self.path / "filler"
        with filler.open("wb", buffering=0) as file:
            left = self.room() - but
            while left > 0:
                left -= file.write(b"\0" * min(left, 1 << 16))
        try:
            yield
        finally:
            filler.unlink()


def add_until_full(home: str, limit: int) -> None:
    """Adds texts until a file would have to grow beyond the limit; then tells what it was told, and adds no more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    writer, done = Writer("limit"), []
    with case_at(Path(home)) as case:
        for _ in range(400):
            texts = writer.texts(8)
            try:
                case.add(texts)
            except EstanteError as error:
                say(done=done, error=type(error).__name__, hint=error.hint, documents=len(case), problems=case.check())
                return
            done += texts
    say(done=done, error=None)
