"""The commands that look after a bookcase: ``status``, ``config show``, ``compact`` and ``rebuild``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estante.serve.cli.calls import Call
from estante.serve.cli.filling import report
from estante.serve.cli.output import Output, counted, one_line, size
from estante.serve.cli.progress import progress

if TYPE_CHECKING:
    from estante.shelf.status import ShelfStatus, Status


def status(call: Call) -> None:
    """Tells what the bookcase holds, where from, and how.

    On each shelf "skipped" counts the files that could be read by their suffix, and were not.

    Example: estante status
    """
    with call.bookcase() as case:
        found = case.status()
    if call.out.json:
        sources = [{"name": name, "root": root, "readers": readers} for name, root, readers in found.sources]
        call.out.value({**asdict(found), "sources": sources})
    else:
        _print_status(call.out, found)


def _print_status(out: Output, found: Status) -> None:
    out.line(("bookcase", "bold"), f"  {one_line(found.home)}")
    out.line(("tenant", "bold"), f"    {one_line(found.tenant)}")
    for shelf in found.shelves:
        out.line((shelf.name.ljust(8), "bold"), f"  {_shelf(shelf)}")
    for name, root, readers in found.sources:
        out.line(("source", "bold"), f"    {one_line(name)}  ({one_line(readers)})  {one_line(root)}")
    if not found.sources:
        out.line(("source", "bold"), "    none; add one with: estante add FOLDER")
    out.line(("encoder", "bold"), f"   {found.encoder}")
    out.line(("analyzer", "bold"), f"  {found.analyzer}")
    out.line(("chunker", "bold"), f"   {found.chunker}")


def _shelf(shelf: ShelfStatus) -> str:
    if not shelf.ok:
        return f"does not answer: {one_line(shelf.reason)}"
    told = [counted(shelf.documents, "document"), counted(shelf.chunks, "chunk"), size(shelf.bytes)]
    if shelf.languages:
        told.append(" ".join(shelf.languages))
    if shelf.skipped:
        told.append(f"{shelf.skipped:,} skipped")
    if shelf.masked:
        told.append(f"{counted(shelf.masked, 'secret')} masked")
    return ", ".join(told)


def config_show(
    call: Call,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
) -> None:
    """Prints every setting in force.

    Example: estante config show --origin
    """
    from estante.shelf.settings import HOME_VARIABLE, find_home, load

    named, nearest = call.named(), find_home(Path.cwd())
    if named is not None:
        where = "flag --home" if call.given is not None else f"environment {HOME_VARIABLE}"
    else:
        where = "the nearest folder upwards with .estante or estante.toml" if nearest else "the current folder"
    settings = load(named or nearest or Path.cwd())
    rows: list[tuple[str, object, str]] = [("home", str(settings.home), where)]
    rows += [(row.key, row.value, row.origin) for row in settings.rows]
    if call.out.json:
        call.out.value([{"key": key, "value": value, "origin": where} for key, value, where in rows])
        return
    for key, value, where in rows:
        told = json.dumps(value, ensure_ascii=False, default=str)
        call.out.line((key, "bold"), f" = {told}", (f"  # {where}" if origin else "", "dim"))


def compact(call: Call) -> None:
    """Gives back the room of what was replaced or removed.

    Answers stay the same.

    Example: estante compact
    """
    with call.bookcase() as case:
        before = sum(shelf.bytes for shelf in case.status().shelves)
        case.compact()
        after = sum(shelf.bytes for shelf in case.status().shelves)
    if call.out.json:
        call.out.value({"bytes_before": before, "bytes_after": after})
    else:
        call.out.line(f"{size(after)}, was {size(before)}")


def rebuild(
    call: Call,
    from_sources: Annotated[
        bool,
        typer.Option("--from-sources", help="Set the shelves aside and read every source again."),
    ] = False,
) -> int:
    """Makes words and vectors anew from the texts held.

    That is for a change of encoder, and for a damaged segment. With --from-sources the shelves themselves are made
    anew, for when they are beyond repair. The old ones are kept.

    Example: estante rebuild
    """
    from estante.shelf.assemble import open_for_rebuild, rebuild_from_sources

    settings = call.settings()
    if from_sources:
        outcome = rebuild_from_sources(settings.home, settings)
        return report(call.out, outcome)
    with open_for_rebuild(settings.home, settings) as case, progress(call.out) as told:
        documents = case.rebuild(told)
    if call.out.json:
        call.out.value({"documents": documents})
    else:
        call.out.line(f"{counted(documents, 'document')} rebuilt")
    return 0
