"""The commands that read: ``search``, ``show`` and ``ls``."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated, Final

import typer

from estante.model.errors import EstanteError, QueryError
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, counted, one_line, typed

if TYPE_CHECKING:
    from estante.model.asking import Where
    from estante.model.ports import Listing
    from estante.shelf.bookcase import Bookcase

Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Only documents of which this holds, e.g. year>=2020, or JSON. Repeat it: all must hold.",
        show_default=False,
    ),
]

FIELDS: Final = 8
"""Names of fields that are told when one is in no document."""

_BARE: Final = re.compile(r"@?[\w.-]+")
_RANGE: Final = re.compile(r"(.+):(\d{1,15})-(\d{1,15})", re.DOTALL)


def where_of(filters: Sequence[str] | None) -> Where | None:
    """All filters as one; None when there is none. Raises ``QueryError``."""
    from estante.index.filters import read
    from estante.model.asking import Every

    parts = []
    for text in map(typed, filters or ()):
        if _BARE.fullmatch(text.strip()):  # What a shell leaves of an unquoted year>=2020.
            raise QueryError(
                f"cannot read the filter {text!r}", hint=f'In a shell, quote it: --where "{text.strip()}>=2020"'
            )
        parts.append(read(text))
    found = tuple(part for part in parts if part is not None)
    return found[0] if len(found) == 1 else Every(found) if found else None


def fields_of(where: Where | None) -> Iterator[str]:
    """The metadata fields that a filter asks for, in order."""
    from estante.model.asking import Condition, Not

    if isinstance(where, Condition):
        if not where.field.startswith("@"):
            yield where.field
    elif isinstance(where, Not):
        yield from fields_of(where.part)
    elif where is not None:
        for part in where.parts:
            yield from fields_of(part)


def missing_fields(where: Where | None, records: Sequence[Mapping[str, object]]) -> list[str]:
    """A line for each field of a filter that no document has, with those there are, the nearest first."""
    from estante.index.conditions import lookup, record

    known = sorted({name for one in records for name in one})
    told = []
    for name in dict.fromkeys(fields_of(where)):
        if records and all(lookup(record(one, {}), name) is None for one in records):
            near = sorted(known, key=lambda one: -SequenceMatcher(None, name.casefold(), one.casefold()).ratio())
            rest = ", ..." if len(near) > FIELDS else ""
            there = f"there are: {', '.join(map(one_line, near[:FIELDS]))}{rest}" if near else "there are none"
            told.append(f"no document has a field {one_line(name)!r}; {there}")
    return told


def _why_nothing(case: Bookcase, where: Where | None) -> list[str]:
    """What explains that nothing was found, as far as the bookcase knows."""
    with suppress(EstanteError):  # A shelf that does not answer has been told of already.
        if not len(case):
            return ["the bookcase is empty: add documents with: estante add PATH"]
        if where is not None:
            return missing_fields(where, [one.metadata for one in case.documents()])
    return []


def count_of(k: str | None) -> int | None:
    """The number behind ``-k``. Raises ``QueryError``."""
    from estante.model.asking import MAX_K

    if k is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", k.strip()) or not 1 <= int(k) <= MAX_K:
        raise QueryError(f"-k takes a whole number from 1 to {MAX_K:,}, got {typed(k)!r}", hint="For example: -k 5")
    return int(k)


def question_of(words: Sequence[str], options: Sequence[tuple[str, str | None]] = ()) -> str:
    """The question; more than one word of the shell is one that was not quoted. Raises ``QueryError``."""
    if len(words) == 1:
        return typed(words[0])
    told = " ".join(map(typed, words)).replace('"', '\\"')
    given = "".join(f" {flag} {_quoted(typed(value))}" for flag, value in options if value is not None)
    raise QueryError(
        f"the question is {len(words)} arguments and must be one",
        hint=f'Put it in quotes: estante search "{told}"{given}',
    )


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w@=.:/-]+", text) else '"' + text.replace('"', '\\"') + '"'


def search(
    call: Call,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="The question, in quotes.", show_default=False)],
    k: Annotated[
        str | None, typer.Option("-k", metavar="N", help="How many passages; else search.k (10).", show_default=False)
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
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="Also find what misspelt words may mean.")] = False,
    literal: Annotated[bool, typer.Option("--literal", help="Take quotes, -, * and title: as text.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each passage was found and scored.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print passages whole, line by line.")] = False,
) -> None:
    """Finds the passages that answer a question, best first.

    Matching words are bold on a terminal and stand in «» elsewhere. Long passages are shortened around them.
    In the question, "two words" is a phrase, -word leaves out, begin* is any word that begins so, and title:word must
    stand in a title.

    Example: estante search "quantos dias de férias" -k 3 --where "year>=2020"
    """
    from estante.model.asking import refuse_mode
    from estante.shelf.assemble import open_bookcase

    started = time.perf_counter()
    options = [("-k", k), ("--mode", mode), *(("--where", one) for one in where or ())]
    text, count = question_of(query, options), count_of(k)
    if mode is not None:
        refuse_mode(mode)
    settings = call.settings(search_k=count, search_mode=mode)
    condition = where_of(where)
    with open_bookcase(settings.home, settings) as case:
        results = case.search(
            text,
            settings.k,
            where=condition,
            mode=settings.mode,  # type: ignore[arg-type]
            fuzzy=fuzzy,
            literal=literal,
        )
        why = [] if results.hits or call.out.json or not text.strip() else _why_nothing(case, condition)
    if call.out.json:
        from estante.model.wire import results_to_json

        call.out.value(results_to_json(results, full=call.out.verbose))
        return
    from estante.serve.cli.passages import print_results

    print_results(call.out, results, full=full, explain=explain)
    if not text.strip():
        why = ["the question is empty"]
    for line in why:
        call.out.note(f"note: {line}")
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

    Only a final :digits-digits is a range, so an id may hold colons and spaces. Ids are in lower case; any case
    finds them.

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
    """Lists the documents by id.

    It tells title, size, language and readers. Ids are in lower case, and any case finds them. To a pipe it prints
    one document a line, its columns parted by tabs.

    Example: estante ls --where @language=pt
    """
    condition = where_of(where)
    with call.bookcase() as case:
        found = case.documents(condition)
        why = [] if found or call.out.json else _why_nothing(case, condition)
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
    for line in why:
        call.out.note(f"note: {line}")


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
