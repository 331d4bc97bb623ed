"""The stores by name."""

from __future__ import annotations

from typing import Final

from estante.model.plugins import Builtin, Plugins

STORES: Final = Plugins(
    "store",
    "estante.stores",
    {
        "embedded": Builtin("estante.index.stores.embedded:EmbeddedStore"),
        "memory": Builtin("estante.index.stores.memory:MemoryStore"),
    },
)
