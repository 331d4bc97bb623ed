"""Whether the time of a task grows with its size or with the square of it, told by ratios and never by seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 8
"""How much larger the large task is."""

BETWEEN = 30
"""Times the small one's cost: a linear task takes about 8 times as long, a squared one 64 times."""

LEAST = 0.01
"""CPU seconds below which a task is too short to be a measure: its cost counts as this."""


def ratio(task: Callable[[int], object], size: int) -> float:
    """How many times as much CPU time the task takes for 8 times the size; each the least of some runs."""
    small = max(min(_cost(task, size) for _ in range(3)), LEAST)
    large = _cost(task, size * TIMES)
    if large > BETWEEN * small:  # Perhaps somebody else's work was counted in: once more.
        large = min(large, _cost(task, size * TIMES))
    return large / small


def _cost(task: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    task(size)
    return time.process_time() - start
