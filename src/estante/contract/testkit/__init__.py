"""The test kit of the contract: one class to inherit, ready-made pipelines, and a broken one for each check.

``PipelineContract`` and ``SecurityContract`` need pytest, which is imported when one of them is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from estante.contract.testkit.faults import FAULTS, INFORMATIONAL, Fault, perfect_options
    from estante.contract.testkit.leaky import LEAKS
    from estante.contract.testkit.perfect import (
        PERFECT_CONNECTION,
        PERFECT_SPEC,
        PerfectHarness,
        PerfectPipeline,
    )
    from estante.contract.testkit.suite import PipelineContract, SecurityContract

_HOMES: Final = {
    "FAULTS": "faults",
    "INFORMATIONAL": "faults",
    "Fault": "faults",
    "LEAKS": "leaky",
    "PERFECT_CONNECTION": "perfect",
    "PERFECT_SPEC": "perfect",
    "PerfectHarness": "perfect",
    "PerfectPipeline": "perfect",
    "PipelineContract": "suite",
    "SecurityContract": "suite",
    "perfect_options": "faults",
}

__all__ = [
    "FAULTS",
    "INFORMATIONAL",
    "LEAKS",
    "PERFECT_CONNECTION",
    "PERFECT_SPEC",
    "Fault",
    "PerfectHarness",
    "PerfectPipeline",
    "PipelineContract",
    "SecurityContract",
    "perfect_options",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        raise ImportError(f"{name} needs pytest, which is not installed; pip install pytest") from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
