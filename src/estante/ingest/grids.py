"""Rows of cells as a table of Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def grid(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a table with bars, the first as its head; empty when no cell has text.

    Blank rows are left out, short ones filled up; a bar in a cell is written with a backslash.
    """
    clean = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    clean = [row for row in clean if any(row)]
    width = max(map(len, clean), default=0)
    # A wide row among many short ones must not make the table grow with the product of both.
    if width * len(clean) > 20 * sum(map(len, clean)):
        return "\n".join(" | ".join(filter(None, row)) for row in clean)
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in clean]
    if lines:
        lines.insert(1, f"|{' --- |' * width}")
    return "\n".join(lines)
