"""The commands that read: ``search``, ``show`` and ``ls``."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from estante.model.errors import QueryError
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, counted, one_line, typed

if TYPE_CHECKING:
    from estante.model.asking import Where
    from estante.model.ports import Listing

Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Only documents of which this holds, e.g. year>=2020, or JSON. Repeat it: all must hold.",
        show_default=False,
    ),
]

_RANGE: Final = re.compile(r"(.+):(\d{1,15})-(\d{1,15})", re.DOTALL)


def where_of(filters: Sequence[str] | None) -> Where | None:
    """All filters as one; None when there is none. Raises ``QueryError``."""
    from estante.index.filters import read
    from estante.model.asking import Every

    parts = tuple(part for part in map(read, map(typed, filters or ())) if part is not None)
    return parts[0] if len(parts) == 1 else Every(parts) if parts else None


def search(
    call: Call,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, in quotes.", show_default=False)],
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many passages; else search.k (10).", show_default=False)
    ] = None,
    where: Filters = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="hybrid (words and meaning), lexical (words) or dense (meaning); else search.mode (hybrid).",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each passage was found and scored.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print passages whole, line by line.")] = False,
) -> None:
    """Finds the passages that answer a question, best first.

    Matching words are bold on a terminal and stand in «» elsewhere. Long passages are shortened around them.

    Example: estante search "quantos dias de férias" -k 3 --where "year>=2020"
    """
    from estante.shelf.assemble import open_bookcase

    started = time.perf_counter()
    settings = call.settings(search_k=k, search_mode=mode)
    condition = where_of(where)
    with open_bookcase(settings.home, settings) as case:
        results = case.search(typed(query), settings.k, where=condition, mode=settings.mode)  # type: ignore[arg-type]
    if call.out.json:
        from estante.model.wire import results_to_json

        call.out.value(results_to_json(results, full=call.out.verbose))
        return
    from estante.serve.cli.passages import print_results

    print_results(call.out, results, full=full, explain=explain)
    if call.out.verbose:
        whole = (time.perf_counter() - started) * 1e3
        call.out.note(f"searched in {results.took_ms:.1f} ms, {whole:.0f} ms with opening and printing")


def split_place(text: str) -> tuple[str, int, int | None]:
    """The document and the range that ``show`` was asked for; only a final ``:digits-digits`` is a range."""
    found = _RANGE.fullmatch(text)
    if not found:
        return text, 0, None
    document_id, start, end = found[1], int(found[2]), int(found[3])
    if start > end:
        raise QueryError(f"the range {start}-{end} ends before it begins", hint=f"Write {document_id}:{end}-{start}.")
    return document_id, start, end


def show(
    call: Call,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOC[:START-END]", help="A document's id, and the characters wanted.", show_default=False
        ),
    ],
) -> None:
    """Prints the text of a document, or a part of it, exactly.

    Only a final :digits-digits is a range, so an id may hold colons and spaces.

    Example: estante show handbook/leave.md:120-480
    """
    document_id, start, end = split_place(typed(document))
    with call.bookcase() as case:
        start, end, text = case.text(document_id, start, end)
    if call.out.json:
        call.out.value({"document_id": document_id, "start": start, "end": end, "text": text})
    else:
        call.out.exact(text)


def ls(call: Call, where: Filters = None) -> None:
    """Lists the documents by id, with title, size, language and readers.

    To a pipe it prints one document a line, its columns parted by tabs.

    Example: estante ls --where @language=pt
    """
    condition = where_of(where)
    with call.bookcase() as case:
        found = case.documents(condition)
    if call.out.json:
        from estante.model.wire import listing_to_json

        call.out.value([listing_to_json(one, full=call.out.verbose) for one in found])
        return
    if call.out.terminal is None:
        for row in map(_row, found):
            call.out.line("\t".join(row))
    elif found:
        _print_table(call.out, found)
    if call.out.terminal is not None or not found:
        call.out.note(counted(len(found), "document"))


COLUMNS: Final = ("document", "title", "chars", "chunks", "language", "scope")
_NUMBERS: Final = ("chars", "chunks")
_NARROW: Final = ((110, COLUMNS), (60, ("document", "title", "scope")), (0, ("document", "scope")))
_GAP: Final = 2
_LEAST: Final = 24
"""Cells of a title below which it says nothing."""


def _row(listing: Listing) -> tuple[str, ...]:
    texts = (listing.document_id, listing.title, str(listing.chars), str(listing.chunks), listing.language)
    return tuple(one_line(text) for text in (*texts, listing.scope.label()))


def _print_table(out: Output, listings: Sequence[Listing]) -> None:
    """A table with as many columns as the terminal has room for; ids may fold but are never cut."""
    from rich.table import Table

    if out.terminal is None:
        return
    width = out.terminal.width
    shown = next(columns for least, columns in _NARROW if width >= least)
    rows = [dict(zip(COLUMNS, _row(listing), strict=True)) for listing in listings]
    for row in rows:
        row.update({name: f"{int(row[name]):,}" for name in _NUMBERS})
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name, cells in column_widths(rows, shown, width).items():
        table.add_column(
            name,
            width=cells,
            justify="right" if name in _NUMBERS else "left",
            overflow="fold" if name == "document" else "ellipsis",
            no_wrap=name != "document",
        )
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    out.terminal.print(table)


def column_widths(rows: Sequence[dict[str, str]], shown: Sequence[str], width: int) -> dict[str, int]:
    """Cells for each column: what numbers and words need, then the ids, and the title has the rest."""
    from rich.cells import cell_len

    needed = {name: max(cell_len(row[name]) for row in [dict(zip(shown, shown, strict=True)), *rows]) for name in shown}
    free = width - sum(needed[name] + _GAP for name in shown if name not in ("document", "title")) - _GAP
    if "title" not in shown:
        return {**needed, "document": max(min(needed["document"], free), 1)}
    free -= _GAP
    ids = max(min(needed["document"], free - min(needed["title"], _LEAST)), 1)
    return {**needed, "document": ids, "title": max(min(needed["title"], free - ids), 1)}
