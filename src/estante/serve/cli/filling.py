"""The commands that change what stands in a bookcase: ``init``, ``add``, ``refresh`` and ``rm``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from estante.model.errors import SettingsError
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, counted, one_line, typed
from estante.serve.cli.progress import progress

if TYPE_CHECKING:
    from estante.model.ports import Outcome

SHOWN: Final = 20
"""Skipped items that are listed unless all are asked for."""

Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 1 when an item was skipped.")]


def init(
    call: Call,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where; else the current folder.", show_default=False)
    ] = None,
) -> None:
    """Makes a bookcase in a folder, and an estante.toml beside it unless there is one.

    Example: estante init docs
    """
    from estante.shelf.assemble import create
    from estante.shelf.settings import FILE, TEMPLATE, load, settings_path

    if directory is not None and call.given is not None:
        raise SettingsError("the folder is given twice: DIR and --home", hint="Give one of the two.")
    home = Path(directory or call.named() or Path.cwd()).absolute()
    settings = load(home)
    create(home, settings).close()
    written = settings_path(home) is None
    if written:
        with (home / FILE).open("x", encoding="utf-8", newline="\n") as file:
            file.write(TEMPLATE)
    if call.out.json:
        call.out.value({"home": str(home), "settings": str(settings_path(home)), "wrote_settings": written})
        return
    call.out.line(f"There is a bookcase in {home}")
    call.out.note(f"  settings: {settings_path(home)}{'' if written else ' (was there already)'}")
    call.out.note("Next:")
    call.out.note("  estante add FOLDER --shared     what everyone may read; without --shared it is private")
    call.out.note('  estante search "a question"     the passages that answer it')
    call.out.note("  estante refresh                 bring everything up to date, later on")


def readers_of(shared: bool, readers: str | None) -> list[str] | None:
    """The readers that the flags of ``add`` name; None when they say nothing, which is private."""
    if shared and readers is not None:
        raise SettingsError(
            "--shared and --readers exclude each other", hint="--shared is everyone; --readers names some."
        )
    if shared:
        return ["*"]
    if readers is None:
        return None
    keys = [key.strip() for key in readers.split(",") if key.strip()]
    if not keys or ("*" in keys and len(keys) > 1):
        raise SettingsError(
            f"--readers takes keys with commas between, got {readers!r}", hint="For example --readers finance,board"
        )
    return keys


def add(
    call: Call,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files and folders to add.", show_default=False)],
    shared: Annotated[bool, typer.Option("--shared", help="Everyone in the tenant may read it.")] = False,
    readers: Annotated[
        str | None,
        typer.Option(
            "--readers", metavar="KEY,...", help="Who holds one of these keys may read it.", show_default=False
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="GLOB", help="Take these files alone; repeat it.", show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these files out; repeat it.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The source's name; else its folder's name.", show_default=False),
    ] = None,
    strict: Strict = False,
) -> int:
    """Adds files and folders; what is there already and unchanged is not read again.

    Without --shared or --readers only the bookcase's owner may read them. GLOB is a pattern as in .gitignore.
    Folders are remembered, and "estante refresh" keeps them up to date.

    Example: estante add handbook --shared --exclude "drafts/"
    """
    keys = readers_of(shared, readers)
    with call.bookcase() as case, progress(call.out) as told:
        outcome = case.add(paths, readers=keys, name=name, include=include or (), exclude=exclude or (), progress=told)
    return report(call.out, outcome, strict=strict)


def refresh(call: Call, strict: Strict = False) -> int:
    """Brings every source up to date: reads what is new or changed, takes away what is gone.

    Example: estante refresh --strict
    """
    with call.bookcase() as case, progress(call.out) as told:
        outcome = case.refresh(progress=told)
    return report(call.out, outcome, strict=strict)


def rm(
    call: Call,
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="DOC", help="Ids of documents.", show_default=False)
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="Forget this source, with all it brought.", show_default=False),
    ] = None,
) -> None:
    """Takes documents, or a whole source, out of the bookcase; the files themselves are not touched.

    A document whose file is still in a source comes back with the next refresh, unless the source excludes it.

    Example: estante rm handbook/old-policy.md
    """
    if bool(documents) == (source is not None):
        raise SettingsError("rm takes documents or --source, one of the two", hint="List documents with: estante ls")
    with call.bookcase() as case:
        removed = case.remove_source(typed(source)) if source is not None else case.delete(*map(typed, documents or ()))
    if call.out.json:
        call.out.value({"removed": removed})
        return
    call.out.line(f"{counted(removed, 'document')} removed")


def summary(outcome: Outcome) -> str:
    """What was done, in one line."""
    done = f"{outcome.added:,} added, {outcome.changed:,} changed, {outcome.unchanged:,} unchanged"
    made = f"{counted(outcome.chunks, 'chunk')}, {counted(outcome.masked, 'secret')} masked"
    read = outcome.added + outcome.changed
    rate = f" ({read / outcome.seconds:,.1f} items/s)" if read and outcome.seconds else ""
    return f"{done}, {outcome.removed:,} removed; {made}; {outcome.seconds:.1f} s{rate}"


def report(out: Output, outcome: Outcome, *, strict: bool = False) -> int:
    """Prints what was done and what was left out; returns the exit code."""
    if out.json:
        from estante.model.wire import outcome_to_json

        out.value(outcome_to_json(outcome, full=out.verbose))
    else:
        out.line(summary(outcome))
        _listed(out, "skipped", [f"{one_line(one.uri)}: {one_line(one.reason)}" for one in outcome.skipped])
        _listed(out, "note", [one_line(note) for note in outcome.notes])
    return 1 if strict and outcome.skipped else 0


def _listed(out: Output, label: str, lines: list[str]) -> None:
    shown = lines if out.verbose else lines[:SHOWN]
    for line in shown:
        out.note((f"{label}:", "bold yellow"), f" {line}")
    if len(shown) < len(lines):
        out.note(f"and {len(lines) - len(shown):,} more; --verbose lists them all")
