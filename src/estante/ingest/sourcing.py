"""The sources by name."""

from __future__ import annotations

from typing import Final

from estante.model.plugins import Builtin, Plugins

SOURCES: Final = Plugins(
    "source",
    "estante.sources",
    {
        "folder": Builtin("estante.ingest.sources.folder:FolderSource"),
    },
)
