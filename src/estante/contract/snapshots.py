"""Run snapshots: what a pipeline says of itself when it is measured, kept beside the numbers.

A snapshot is a JSON object with a text ``schema``, an object ``settings`` (how the pipeline is set) and an object
``observations`` (what it found when it was asked). It is small, holds no secret, and is the same for the same pipeline,
so it has no time of its own.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from estante.contract.errors import ConnectorContractError
from estante.contract.secrecy import secret_paths

RUN_SNAPSHOT_MAX_BYTES: Final = 65_536
"""The most bytes of UTF-8 that a snapshot may have as JSON."""

_SECTIONS: Final = ("settings", "observations")


def validate_run_snapshot(snapshot: Any) -> dict[str, Any]:
    """The snapshot as JSON gives it back: keys sorted and texts, tuples lists, nothing shared with the original.

    Raises ``ConnectorContractError`` with every problem; the value of a secret is never told.
    """
    checked: dict[str, Any] = json.loads(_encoded(snapshot))
    return checked


def run_snapshot_fingerprint(snapshot: Any) -> str:
    """The SHA-256, 64 hex digits, of a snapshot, in whatever order its keys stand. Raises as the check does."""
    # Of the checked snapshot, because a number as a key sorts otherwise than the text that JSON makes of it.
    return hashlib.sha256(_encoded(validate_run_snapshot(snapshot))).hexdigest()


def _encoded(snapshot: object) -> bytes:
    if not isinstance(snapshot, dict):
        raise _invalid(f"returned {type(snapshot).__name__}, not dict; return a plain dict")
    problems = _problems(snapshot)
    if problems:
        raise _invalid("; ".join(problems))
    encoded = _json(snapshot)
    if len(encoded) > RUN_SNAPSHOT_MAX_BYTES:
        raise _invalid(
            f"has {len(encoded)} bytes as JSON, which exceeds the limit of {RUN_SNAPSHOT_MAX_BYTES}; "
            "keep settings and counts, not dumps"
        )
    return encoded


def _problems(snapshot: dict[Any, Any]) -> list[str]:
    problems = []
    schema = snapshot.get("schema")
    if not isinstance(schema, str) or not schema.strip():
        problems.append("'schema' must be a non-empty string, such as 'my-pipeline.run-snapshot.v1'")
    problems += [f"{name!r} must be a JSON object" for name in _SECTIONS if not isinstance(snapshot.get(name), dict)]
    secrets = secret_paths(snapshot)
    if secrets:
        problems.append(f"there are secrets, or keys that look like it, at {secrets}; leave them out")
    return problems


def _json(snapshot: dict[Any, Any]) -> bytes:
    """The canonical JSON. Lone surrogates, endless nesting and numbers that are none are not strict JSON either."""
    try:
        text = json.dumps(snapshot, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        # The error itself would tell the whole document.
        reason = f"a text in it has the lone surrogate U+{ord(error.object[error.start]):04X}"
    except RecursionError:
        reason = "it is nested too deeply"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise _invalid(f"is not strict JSON: {reason}; use texts, finite numbers, true, false, null, lists and objects")


def _invalid(reason: str) -> ConnectorContractError:
    return ConnectorContractError(f"Invalid run_snapshot(): {reason}")


__all__ = ["RUN_SNAPSHOT_MAX_BYTES", "run_snapshot_fingerprint", "validate_run_snapshot"]
