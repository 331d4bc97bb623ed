"""Where the text of a hit stands in the corpus: as the pipeline says, if that is true, else where it stands alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from estante.evaluate.collection import Collection
from estante.evaluate.spans import TextSpan

_BLANKS: Final = re.compile(r"\s+")


class Places:
    """Finds passages in the texts of a collection; without a corpus the pipeline's own spans are taken as they are."""

    def __init__(self, collection: Collection) -> None:
        self._known = collection.sources is not None
        self._wholes = {one.id: one.whole for one in collection.sources or ()}
        self._heads = {one.id: len(one.head) for one in collection.sources or ()}
        self._collapsed: dict[str, tuple[str, list[int]]] = {}

    def place(self, document: str | None, text: str, start: int | None, end: int | None) -> TextSpan | None:
        """The span of a text that came from a document, None where it cannot be told.

        A span that the pipeline gives is checked against the corpus, counted with and without the title before the
        text. Where it is false or missing, the text is looked for: in its document, or in all when that is not known.
        What stands there twice has no place. Runs of blanks count as one where nothing else is found.
        """
        spanned = document is not None and start is not None and end is not None and 0 <= start < end
        if not self._known:
            return TextSpan(document, start, end) if spanned else None  # type: ignore[arg-type]
        if not text:
            return None
        if spanned and document in self._wholes:
            for shift in dict.fromkeys((0, self._heads[document])):
                if self._wholes[document][start + shift : end + shift] == text:  # type: ignore[operator]
                    return TextSpan(document, start + shift, end + shift)  # type: ignore[operator]
        among = [document] if document in self._wholes else list(self._wholes) if document is None else []
        return self._exact(among, text) or self._loose(among, text)

    def _exact(self, among: list[str], text: str) -> TextSpan | None:
        found = [(name, at) for name in among for at in _occurrences(self._wholes[name], text)]
        return TextSpan(found[0][0], found[0][1], found[0][1] + len(text)) if len(found) == 1 else None

    def _loose(self, among: list[str], text: str) -> TextSpan | None:
        wanted = _BLANKS.sub(" ", text).strip()
        if not wanted:
            return None
        found = [(name, at) for name in among for at in _occurrences(self._of(name)[0], wanted)]
        if len(found) != 1:
            return None
        [(name, at)] = found
        places = self._of(name)[1]
        return TextSpan(name, places[at], places[at + len(wanted) - 1] + 1)

    def _of(self, name: str) -> tuple[str, list[int]]:
        """A text with each run of blanks as one, and where each of its characters stands."""
        if name not in self._collapsed:
            self._collapsed[name] = collapsed(self._wholes[name])
        return self._collapsed[name]


def collapsed(text: str) -> tuple[str, list[int]]:
    """The text with each run of blanks as one space, and the place in the text of each character of it."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    for run in _BLANKS.finditer(text):
        pieces += [text[at : run.start()], " "]
        places += [*range(at, run.start()), run.start()]
        at = run.end()
    pieces.append(text[at:])
    places += range(at, len(text))
    return "".join(pieces), places


def _occurrences(text: str, wanted: str) -> list[int]:
    """Where the first two begin; they may overlap."""
    first = text.find(wanted)
    second = text.find(wanted, first + 1) if first >= 0 else -1
    return [at for at in (first, second) if at >= 0]


def spanned(metadata: Mapping[str, object]) -> tuple[int | None, int | None]:
    """The offsets that a hit's metadata tells."""
    start, end = metadata.get("char_start"), metadata.get("char_end")
    whole = type(start) is int and type(end) is int
    return (start, end) if whole else (None, None)  # type: ignore[return-value]
