"""When something was written: UTC, to the second."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """This second as ``YYYY-MM-DDTHH:MM:SSZ``: the default of the contract where no moment is given."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
