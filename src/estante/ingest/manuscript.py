"""A text as it is written from front to back, with its marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from estante.model.content import HEADING, Draft, Mark, canonical
from estante.model.errors import Unreadable


class Manuscript:
    """Pieces of text in order, blocks set apart by one blank line, and the marks on them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._marks: list[Mark] = []
        self.length = 0

    def write(self, text: str) -> None:
        """Adds the text as it is."""
        # Canonical at once, so that the offsets of marks hold; a piece never begins within a letter.
        text = canonical(text)
        if text:
            self._pieces.append(text)
            self.length += len(text)

    def block(self, text: str, *, kind: str = "", label: str = "", level: int = 0, gap: str = "\n\n") -> None:
        """Adds a block after ``gap``; with a ``kind``, marked. A blank one is left out."""
        text = canonical(text).strip("\n")
        if not text.strip():
            return
        if self.length:
            self.write(gap)
        start = self.length
        self.write(text)
        if kind:
            self._marks.append(Mark(kind, start, self.length, label, level))

    def heading(self, text: str, level: int) -> None:
        """Adds a heading on a line of its own."""
        label = canonical(" ".join(text.split()))
        self.block(label, kind=HEADING, label=label, level=level)

    def mark(self, kind: str, start: int, label: str = "") -> None:
        """Marks all that was written since ``start``."""
        self._marks.append(Mark(kind, start, self.length, label))

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self._pieces)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks by where they start; the wider first."""
        return in_order(self._marks)


def in_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """The marks by where they start; of two that start together the wider first."""
    return tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end)))


def draft(
    *,
    title: str,
    text: str,
    marks: Sequence[Mark],
    metadata: Mapping[str, object],
    losses: Sequence[str] = (),
    language: str = "",
) -> Draft:
    """The draft of a whole item. Raises ``Unreadable`` when there is no text in it."""
    if not text or text.isspace():
        raise Unreadable("no text in it", hint="If it holds pictures of text, run OCR on it first.")
    return Draft(title=title, text=text, marks=tuple(marks), metadata=metadata, losses=tuple(losses), language=language)


def refuse_empty(data: bytes) -> None:
    """Raises ``Unreadable`` when there is not one byte."""
    if not data:
        raise Unreadable("there is nothing in it", hint="Remove it, or put something in it.")
