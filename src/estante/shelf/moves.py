"""Texts on their way from one shelf to the other, noted on the private shelf so that a stop in between costs nothing.

A text that is closed leaves the shared shelf before it stands on the private one, so that it is never on both. A file
can be read again; a text that was given directly cannot, so it is noted whole until it has arrived. A text that is
opened comes to the shared shelf first; the note tells that its private copy is to go.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Final

MOVING: Final = "moving"


@dataclass(frozen=True, slots=True)
class MovingText:
    """A text given directly, as it is given again: scrubbed, with its metadata, readers and format."""

    id: str
    text: str
    metadata: dict[str, object]
    readers: str
    format: str


@dataclass(frozen=True, slots=True)
class Moves:
    """What was moving: (source, item) pairs that were opened, and direct texts that were closed."""

    opening: tuple[tuple[str, str], ...] = ()
    closing: tuple[MovingText, ...] = field(default_factory=tuple)

    def to_text(self) -> str:
        """As it is noted."""
        return json.dumps({"opening": self.opening, "closing": [asdict(one) for one in self.closing]})

    @classmethod
    def from_text(cls, told: str | None) -> Moves:
        """As it was noted; nothing when there is no note."""
        if not told:
            return cls()
        raw = json.loads(told)
        closing = tuple(MovingText(**one) for one in raw["closing"])
        return cls(tuple((source, item) for source, item in raw["opening"]), closing)
