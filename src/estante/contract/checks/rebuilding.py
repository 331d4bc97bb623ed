"""A pipeline made anew by a fresh process, which knows nothing but where to find its maker and a JSON document."""

from __future__ import annotations

import json
import subprocess  # noqa: TID251 - only another process can show that nothing of this one is needed.
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from estante.contract.specs import ConnectorSpec

BY_TYPE: Final = "type"
"""The maker is the ``build`` of a registered connector of this type."""
BY_BUILD: Final = "build"
"""The maker is a function, ``module:qualified.name``, which takes the document."""
BY_IMPORT: Final = "import"
"""The maker is a class or function, ``module:attribute``, which takes the document's entries as arguments."""

QUERY: Final = "query() "
"""How an error begins that is the search's and not the maker's."""

_PATIENCE: Final = 300.0
"""Seconds for a process where no limit was given; it may load a model."""

_PROGRAM: Final = (
    "import json, sys; order = json.load(sys.stdin); sys.path[:] = order['path']; "
    "from estante.contract.checks.fresh import serve; serve(order)"
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fresh process finds the maker of a pipeline, and the document it makes it of."""

    way: str
    target: str
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What the pipeline of a fresh process gave: the ids its hits count for, and the ids it found by id.

    ``error`` tells why there is nothing; ``late`` that the process did not end in time.
    """

    hits: tuple[tuple[str | None, ...], ...] = ()
    found: tuple[str, ...] = ()
    error: str = ""
    late: bool = False


def origin_of(spec: ConnectorSpec, document: Mapping[str, Any]) -> Origin | None:
    """The origin of what a spec builds; None when its ``build`` is no function that another process could import."""
    module, name = getattr(spec.build, "__module__", None), getattr(spec.build, "__qualname__", "")
    if not isinstance(module, str) or module == "__main__" or not name or "<" in name:
        return None
    return Origin(BY_BUILD, f"{module}:{name}", document)


def rebuilt(origin: Origin, question: str, top_k: int, ids: list[str], timeout: float | None) -> Rebuilt:
    """What a fresh process finds for the question and by the ids. Raises nothing for what goes wrong in there."""
    order = {
        "path": [one for one in sys.path if isinstance(one, str)],
        "way": origin.way,
        "target": origin.target,
        "document": dict(origin.document),
        "question": question,
        "top_k": top_k,
        "ids": ids,
    }
    try:
        done = subprocess.run(  # noqa: S603 - this very Python, and a program of constants.
            [sys.executable, "-c", _PROGRAM],
            input=json.dumps(order),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout or _PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Rebuilt(error=f"the process did not end within {timeout or _PATIENCE:g} s", late=True)
    try:
        told = json.loads(done.stdout.splitlines()[-1])
        return Rebuilt(tuple(map(tuple, told["hits"])), tuple(told["found"]), told["error"])
    except (ValueError, IndexError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Rebuilt(error=f"the process ended with {done.returncode}: {last[:200]}")
