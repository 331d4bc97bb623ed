"""Tables as text: CSV and its relatives."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from estante.ingest.decoding import decode
from estante.ingest.formats import suffix
from estante.ingest.manuscript import draft, refuse_empty
from estante.ingest.titles import stem
from estante.model.content import Draft, Item, Mark, canonical

ROW: Final = "row"
_SAMPLE_ROWS: Final = 100
_SAMPLE: Final = 64_000
_MOST_COLUMNS: Final = 500
_LONGEST_NAME: Final = 100
_MOST_LINES: Final = 200


class CsvExtractor:
    """The text of the table as it stands; each row is marked with its number, counted as a spreadsheet does."""

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is not text or has none."""
        refuse_empty(data)
        decoded = decode(data)
        text = canonical(decoded.text)
        delimiter = "\t" if suffix(item.uri) in (".tsv", ".tab") else _delimiter(text)
        losses = list(decoded.losses)
        try:
            marks = list(_rows(text, delimiter))
        except csv.Error:
            # A quote that is never closed swallows the rest of the file.
            marks = list(_lines(text))
            losses.append("quotes are not balanced: each line is taken for a row")
        columns = _columns(text, delimiter)
        metadata = {**decoded.metadata, "columns": columns} if columns else decoded.metadata
        yield draft(title=stem(item.uri), text=text, marks=marks, metadata=metadata, losses=losses)


def _delimiter(text: str) -> str:
    """The delimiter that gives the most rows of one width; a comma when none does.

    Not ``csv.Sniffer``: it takes letters for delimiters, and its patterns can take very long.
    """
    best, delimiter = (0.0, 0), ","
    # Of equals the first: where ; parts cells, the commas in numbers would do as well.
    for candidate in "\t;|,":
        widths = Counter(len(row) for row in _sample(text, candidate) if row)
        width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))
        if width > 1:
            score = (round(count / sum(widths.values()), 1), width)
            if score > best:
                best, delimiter = score, candidate
    return delimiter


def _sample(text: str, delimiter: str) -> list[list[str]]:
    lines = text[:_SAMPLE].split("\n")[:_SAMPLE_ROWS]
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(csv.reader([f"{line}\n" for line in lines], delimiter=delimiter))
    return rows


def _columns(text: str, delimiter: str) -> list[str]:
    """The names in the first row; empty when it looks like data."""
    first = next((row for row in _sample(text, delimiter) if any(cell.strip() for cell in row)), [])
    names = [" ".join(cell.split())[:_LONGEST_NAME] for cell in first]
    while names and not names[-1]:
        names.pop()
    wordy = all(name and any(map(str.isalpha, name)) for name in names)
    return names if wordy and 1 < len(names) <= _MOST_COLUMNS else []


def _rows(text: str, delimiter: str) -> Iterator[Mark]:
    """A mark on each row that is not blank; a row in quotes can span lines."""
    starts = [0]

    def lines() -> Iterator[str]:
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
            yield f"{line}\n"

    reader = csv.reader(lines(), delimiter=delimiter)
    before = 0
    for number, row in enumerate(reader, start=1):
        start, end = starts[before], min(starts[reader.line_num] - 1, len(text))
        if reader.line_num - before > _MOST_LINES:
            raise csv.Error("a row without end")
        if any(row) and start < end:
            yield Mark(ROW, start, end, str(number))
        before = reader.line_num


def _lines(text: str) -> Iterator[Mark]:
    start = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line:
            yield Mark(ROW, start, start + len(line), str(number))
        start += len(line) + 1
