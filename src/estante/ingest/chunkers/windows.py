"""Windows of a fixed size that overlap: the chunking of the contract, exact to the character."""

from __future__ import annotations

from collections.abc import Iterator

from estante.contract import windows
from estante.model.content import Document, Span
from estante.model.errors import SettingsError


def window_spans(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """The bounds of the windows of ``text``, as the contract cuts them. Raises ``SettingsError`` for bad numbers."""
    _check(size, overlap)
    return windows.window_spans(text, size, overlap)


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
