"""Windows of a fixed size that overlap: the chunking of the contract, exact to the character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from estante.model.content import Document, Span
from estante.model.errors import SettingsError

_CUTS: Final = ("\n\n", "\n", ". ", "? ", "! ", " ")


def window_spans(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """The bounds of the windows of ``text``, in order, without blank space at their ends.

    A window holds at most ``size`` characters and ends at the best boundary of its last fifth; the next one begins
    ``overlap`` characters before that end. A window that lies wholly within the one before it is left out.
    """
    _check(size, overlap)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        window = text[start:end]
        kept = window.strip()
        if kept:
            first = start + len(window) - len(window.lstrip())
            span = (first, first + len(kept))
            if not spans or span[0] < spans[-1][0] or span[1] > spans[-1][1]:
                spans.append(span)
        # Where a boundary came early, stepping back by the overlap would never get past it.
        start = end - overlap if end - overlap > start else end
    return spans


def _end(text: str, start: int, size: int) -> int:
    """Where the window that begins at ``start`` ends."""
    end = start + size
    if end >= len(text):
        return len(text)
    low = start + int(size * 0.8)
    for cut in _CUTS:
        at = text.rfind(cut, low, end)
        if at > low:
            return at + len(cut)
    return end


def _check(size: int, overlap: int) -> None:
    for name, value in (("size", size), ("overlap", overlap)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise SettingsError(f"{name} must be a whole number, got {value!r}", hint=f"Set {name} to a number.")
    if size < 1:
        raise SettingsError(f"size must be at least 1, got {size}", hint="1000 is a good size.")
    if not 0 <= overlap < size:
        raise SettingsError(
            f"overlap must be from 0 to size - 1 = {size - 1}, got {overlap}", hint="A fifth of the size is usual."
        )


class WindowsChunker:
    """Overlapping windows of at most ``size`` characters, blind to structure."""

    def __init__(self, size: int = 1000, overlap: int = 200) -> None:
        _check(size, overlap)
        self.size = size
        self.overlap = overlap

    @property
    def fingerprint(self) -> str:
        """Name, version and settings."""
        return f"windows/1 size={self.size} overlap={self.overlap}"

    def spans(self, document: Document) -> Iterator[Span]:
        """The windows of the document's text."""
        for start, end in window_spans(document.text, self.size, self.overlap):
            yield Span(start, end)
