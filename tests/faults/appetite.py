"""Work of adding strange folders, with what it costs in memory."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.faults.cases import case_at
from tests.faults.crowd import become
from tests.faults.killing import say


def resident() -> int:
    """The bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def most_resident() -> int:
    """The most bytes of memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def take_in(home: str, folder: str, uid: int | None = None) -> None:
    """Adds a folder; tells what came of it and how much memory it took."""
    if uid is not None:
        become(uid)
    before = resident()
    with case_at(Path(home), max_chars=1_500) as case:
        outcome = case.add(Path(folder))
        say(
            added=outcome.added,
            skipped={one.uri: one.reason for one in outcome.skipped},
            chunks=outcome.chunks,
            documents=[one.document_id for one in case.documents()],
            problems=case.check(),
            took=most_resident() - before,
        )
