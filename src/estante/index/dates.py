"""Dates in texts: which span of time an ISO date says, and how two of them compare.

A text is a date when the whole of it is ``2024``, ``2024-05``, ``2024-05-31``, or the last of these with a time of
day: ``T`` or a blank, hours and minutes, seconds and their fraction if any, and ``Z`` or an offset such as ``-03:00``
if any. Two dates compare at the coarser precision of the two: a day and a moment compare as days, as they are written.
Two moments compare in UTC, which is also meant where no offset is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

YEAR: Final = 0
MONTH: Final = 1
DAY: Final = 2
MOMENT: Final = 3

_DAY: Final = 86_400_000_000
_FORM: Final = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)


@dataclass(frozen=True, slots=True)
class Date:
    """A date: its precision, and its number at each precision up to that one; zero beyond.

    ``keys`` are the year, the month since year 0, the day since year 1, and the microsecond since then in UTC.
    """

    precision: int
    keys: tuple[int, int, int, int]

    def against(self, other: Date) -> int:
        """Below, at or above zero as this is before, at or behind the other, at the coarser precision of the two."""
        at = min(self.precision, other.precision)
        return (self.keys[at] > other.keys[at]) - (self.keys[at] < other.keys[at])


@lru_cache(maxsize=4096)
def read(text: str) -> Date | None:
    """The date that a text is; None when it is another text."""
    found = _FORM.fullmatch(text) if 4 <= len(text) <= 40 and text[:4].isdigit() else None
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    try:
        ordinal = date(year, month, day).toordinal()
    except ValueError:  # There is no such day.
        return None
    keys = (year, year * 12 + month if found[2] else 0, ordinal if found[3] else 0)
    if found[4] is None:
        return Date(DAY if found[3] else MONTH if found[2] else YEAR, (*keys, 0))
    clock = _microseconds(found)
    return None if clock is None else Date(MOMENT, (*keys, ordinal * _DAY + clock))


def _microseconds(found: re.Match[str]) -> int | None:
    """The time of day in UTC; None when no clock shows it."""
    hour, minute, second = int(found[4]), int(found[5]), int(found[6] or 0)
    offset = _offset(found[8] or "Z")
    if hour > 23 or minute > 59 or second > 59 or offset is None:
        return None
    fraction = int((found[7] or "0")[:6].ljust(6, "0"))
    return ((hour * 60 + minute - offset) * 60 + second) * 1_000_000 + fraction


def _offset(zone: str) -> int | None:
    """Minutes ahead of UTC; None when there is no such offset."""
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
