"""The circumstances of a run: on what it ran, how long questions took, how much memory the process had."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

LIBRARIES: Final = ("estante", "ir-measures", "pytrec-eval-terrier", "numpy")


def environment() -> dict[str, Any]:
    """Python, the machine and the libraries that a measurement rests on; nothing that names a person or a place."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def peak_memory() -> int | None:
    """The most bytes that the process had in memory so far; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def speed(seconds: Sequence[float], *, calls: int, memory: int | None) -> dict[str, Any]:
    """Latencies in milliseconds of the questions that were answered, questions a second, calls and peak memory."""
    ordered = sorted(seconds)
    total = math.fsum(ordered)
    told: dict[str, Any] = {
        f"p{percent}_ms": round(percentile(ordered, percent) * 1e3, 3) if ordered else None for percent in (50, 95, 99)
    }
    return {
        **told,
        "mean_ms": round(total / len(ordered) * 1e3, 3) if ordered else None,
        "questions_per_second": round(len(ordered) / total, 2) if total > 0 else None,
        "answered": len(ordered),
        "calls": calls,
        "peak_rss_bytes": memory,
    }


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many percent are not above (nearest rank); ``ordered`` ascends."""
    return ordered[max(0, math.ceil(percent * len(ordered) / 100) - 1)]
