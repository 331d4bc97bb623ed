"""The chunkers by name."""

from __future__ import annotations

from typing import Final

from estante.model.plugins import Builtin, Plugins

CHUNKERS: Final = Plugins(
    "chunker",
    "estante.chunkers",
    {
        "headings": Builtin("estante.ingest.chunkers.headings:HeadingsChunker"),
        "windows": Builtin("estante.ingest.chunkers.windows:WindowsChunker"),
    },
)
