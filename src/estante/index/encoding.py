"""The encoders by name."""

from __future__ import annotations

from typing import Final

from estante.index.fusion import Blend
from estante.model.plugins import Builtin, Plugins

ENCODERS: Final = Plugins(
    "encoder",
    "estante.encoders",
    {
        "static": Builtin("estante.index.encoders.static:StaticEncoder"),
    },
)

BLENDS: Final = {"static": Blend(most=0.7, enough=0.4)}
"""How far words are trusted beside each encoder's vectors; measured, see docs/measurements.md."""


def blend_of(encoder: str) -> Blend:
    """The blend measured for an encoder, or a careful one."""
    return BLENDS.get(encoder, Blend())
