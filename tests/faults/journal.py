"""What a process has begun and what it was told is done, in a file that outlives it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Journal:
    """Lines of JSON, each made safe before the next step."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, **told: object) -> None:
        """Writes a line and makes it safe."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, json.dumps(told).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self) -> list[dict[str, Any]]:
        """What was noted; a line that the kill cut short was not."""
        if not self.path.exists():
            return []
        *whole, _ = self.path.read_bytes().split(b"\n")
        return [json.loads(line) for line in whole]

    def progress(self) -> tuple[int, int | None]:
        """How many deeds were reported done, and which one was in flight."""
        lines = self.lines()
        done = sum(1 for line in lines if "done" in line)
        begun = sum(1 for line in lines if "begun" in line)
        return done, done if begun > done else None
