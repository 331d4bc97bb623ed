"""Searching in the language of the library: a question in another one is translated first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from estante.index.engine import QUERY_CHARACTERS, Engine
from estante.index.fusion import Blend
from estante.index.translating import Translator
from estante.ingest.language import language_of
from estante.model.asking import Query, Results
from estante.model.errors import ContractBroken, EstanteError
from estante.model.ports import Encoder, Store


class TranslatingEngine(Engine):
    """An engine that translates a question which is in none of the languages of what its asker may read.

    Only the question is translated, never a document. Where the library holds the question's language too, or the
    translator does not know both, it is asked as it was.
    """

    def __init__(self, encoder: Encoder, trust: Blend, translator: Translator, name: str) -> None:
        super().__init__(encoder, trust)
        self._translator = translator
        self.translator = name

    def search(self, query: Query, shelves: Mapping[str, Store]) -> Results:
        """As ``Engine.search``; ``translated`` of the results is the question that was asked in its place, if any."""
        told = self._translated(query, shelves)
        if not told:
            return super().search(query, shelves)
        found = super().search(replace(query, text=told), shelves)
        return replace(found, query=query.text, translated=told)

    def _translated(self, query: Query, shelves: Mapping[str, Store]) -> str:
        text = query.text[:QUERY_CHARACTERS]
        source = language_of(text)
        if not any(source == one for one, _ in self._translator.pairs):
            return ""
        held = _languages(query, shelves)
        targets = sorted(to for one, to in self._translator.pairs if one == source and to in held)
        if source in held or not targets:
            return ""
        try:
            told = self._translator.translate(text, source, targets[0])
        except EstanteError:
            raise
        except Exception as error:  # Another's code may fail in any way; a question may stand in its message.
            raise ContractBroken(
                f"the translator {self.translator!r} failed: {type(error).__name__}",
                hint='Report it to its author, and write translate = "none" into [search] meanwhile.',
            ) from error
        return told.strip() if isinstance(told, str) else ""


def _languages(query: Query, shelves: Mapping[str, Store]) -> set[str]:
    """The languages of what the asker may read; a shelf that does not answer says so when it is searched."""
    held: set[str] = set()
    for store in shelves.values():
        try:
            with store.view() as view:
                held.update(view.languages(query.grant))
        except EstanteError:
            continue
    return held
