"""Windows of a fixed size that overlap: the cutting of the contract, exact to the character."""

from __future__ import annotations

from typing import Final

from estante.contract.errors import ContractValueError

_CUTS: Final = ("\n\n", "\n", ". ", "? ", "! ", " ")


def window_spans(text: str, chunk_size: int, chunk_overlap: int) -> list[tuple[int, int]]:
    """The bounds of the windows of ``text``, in order, without blank space at their ends; code points.

    A window holds at most ``chunk_size`` characters and ends at the best boundary of its last fifth; the next one
    begins ``chunk_overlap`` characters before that end. A window that lies wholly within the one before it is left
    out, so ends strictly increase; so do starts, where no run of blanks is as long as a step. Raises as
    ``check_windows`` does.
    """
    check_windows(chunk_size, chunk_overlap)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = _end(text, start, chunk_size)
        window = text[start:end]
        kept = window.strip()
        if kept:
            first = start + len(window) - len(window.lstrip())
            span = (first, first + len(kept))
            if not spans or span[0] < spans[-1][0] or span[1] > spans[-1][1]:
                spans.append(span)
        # Where a boundary came early, stepping back by the overlap would never get past it.
        start = end - chunk_overlap if end - chunk_overlap > start else end
    return spans


def check_windows(chunk_size: int, chunk_overlap: int) -> None:
    """Raises ``ContractValueError`` unless both are whole numbers, the overlap from 0 to one below the size."""
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (chunk_size, chunk_overlap))
    if not (whole and 0 <= chunk_overlap < chunk_size):
        raise ContractValueError(
            "chunk_size must be a whole number of at least 1 and chunk_overlap one from 0 to chunk_size - 1, "
            f"got chunk_size={chunk_size!r} and chunk_overlap={chunk_overlap!r}; 1000 and 200 are usual"
        )


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
