"""The commands that change what stands in a bookcase: ``init``, ``add``, ``refresh`` and ``rm``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from estante.model.errors import NameTaken, NotFound, SettingsError
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, counted, one_line, suffixes, typed
from estante.serve.cli.progress import progress

if TYPE_CHECKING:
    from estante.model.ports import Outcome, Skipped
    from estante.shelf.bookcase import Bookcase

SHOWN: Final = 20
"""Skipped items that are listed unless all are asked for."""

_UNKNOWN: Final = re.compile(r"no extractor for (?:(\.\S+)|a name without suffix)")
_READERS: Final = re.compile(r"source .+: (?:was .+, is now .+|stays .+; to close .+|nothing describes it any more.+)")
"""Notes that say who may read what, or what is gone: nobody may miss them."""

_LASTING: Final = re.compile(r"its earlier text is|folder .*cannot be listed")
"""Reasons that a shelf does not remember of an item, and that call for a person each time."""

Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 1 when an item was skipped.")]


def init(
    call: Call,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where; else the current folder.", show_default=False)
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="What turns texts into vectors.", show_default=False),
    ] = None,
) -> None:
    """Makes a bookcase in a folder.

    An estante.toml is written beside it, unless there is one.

    Example: estante init docs
    """
    from estante.shelf.assemble import create
    from estante.shelf.settings import FILE, load, settings_path
    from estante.shelf.template import template

    if directory is not None and call.given is not None:
        raise SettingsError("the folder is given twice: DIR and --home", hint="Give one of the two.")
    home = Path(directory or call.named() or Path.cwd()).absolute()
    settings = load(home, flags={"encoder.use": encoder})
    standing = settings_path(home)
    if standing is not None and encoder not in (None, load(home).encoder.use):
        # A flag is forgotten when the command ends, and the next one would not know what made the bookcase.
        raise SettingsError(
            f"{standing} is there already, and does not say encoder {encoder!r}",
            hint=f'Write use = "{encoder}" into its table [encoder], and leave --encoder out.',
        )
    try:
        create(home, settings).close()
    except NameTaken as error:
        if not error.message.startswith("there is a bookcase"):
            raise
        raise NameTaken(error.message, hint="Use it: estante add PATH") from error
    written = standing is None
    if written:
        with (home / FILE).open("x", encoding="utf-8", newline="\n") as file:
            file.write(template(encoder))
    if call.out.json:
        call.out.value({"home": str(home), "settings": str(settings_path(home)), "wrote_settings": written})
        return
    call.out.line(f"Made a bookcase in {home}")
    call.out.note(f"  settings: {settings_path(home)}{'' if written else ' (was there already)'}")
    call.out.note("Next:")
    call.out.note("  estante add FOLDER --shared     what everyone may read; without --shared it is private")
    call.out.note('  estante search "a question"     the passages that answer it')
    call.out.note("  estante refresh                 bring everything up to date, later on")


def readers_of(shared: bool, readers: str | None, private: bool = False) -> list[str] | None:
    """The readers that the flags of ``add`` name; None when they say nothing."""
    given = [("--shared", shared), ("--private", private), ("--readers", readers is not None)]
    said = [flag for flag, is_said in given if is_said]
    if len(said) > 1:
        raise SettingsError(
            f"{' and '.join(said)} exclude each other",
            hint="--shared is everyone, --private the owner alone, --readers names some.",
        )
    if shared or private:
        return ["*"] if shared else []
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
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    shared: Annotated[bool, typer.Option("--shared", help="Everyone in the tenant may read it.")] = False,
    private: Annotated[bool, typer.Option("--private", help="The bookcase's owner alone may read it.")] = False,
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
    """Adds files and folders, and remembers the folders.

    A new source is private, a known one stays as it is, unless --shared, --private or --readers says otherwise.
    What is there already and unchanged is not read again; "estante refresh" keeps folders up to date. GLOB is a
    pattern as in .gitignore.

    Example: estante add handbook --shared --exclude "drafts/"
    """
    keys = readers_of(shared, readers, private)
    with call.bookcase() as case, progress(call.out) as told, _nearest(paths):
        outcome = case.add(paths, readers=keys, name=name, include=include or (), exclude=exclude or (), progress=told)
    code = report(call.out, outcome, strict=strict)
    if not (outcome.added or outcome.changed or outcome.unchanged or outcome.removed or outcome.skipped):
        call.out.note(("note:", "bold yellow"), f" nothing to read in {', '.join(one_line(str(one)) for one in paths)}")
    return code


@contextmanager
def _nearest(paths: Sequence[Path]) -> Iterator[None]:
    """Names what stands nearest to a path that is not there."""
    try:
        yield
    except NotFound as error:
        for path in paths:
            near = None if path.exists() else _alike(path)
            if near is not None:
                raise NotFound(error.message, hint=f"Did you mean {str(near)!r}?") from error
        raise


def _alike(path: Path) -> Path | None:
    """What stands in the same folder under the nearest name."""
    try:
        names = {one.name.casefold(): one.name for one in path.parent.iterdir()}
    except OSError:
        return None
    near = get_close_matches(path.name.casefold(), names, n=1, cutoff=0.5)
    return path.with_name(names[near[0]]) if near else None


def refresh(call: Call, strict: Strict = False) -> int:
    """Brings every source up to date.

    It reads what is new or changed and takes away what is gone. With --quiet it prints nothing when nothing changed.

    Example: estante refresh --strict
    """
    with call.bookcase() as case, progress(call.out) as told:
        before = _unread(case)
        outcome = case.refresh(progress=told)
        trouble = _unread(case) > before or any(_LASTING.search(one.reason) for one in outcome.skipped)
    return report(call.out, outcome, strict=strict, news=trouble or _changed(outcome), trouble=trouble)


def _unread(case: Bookcase) -> int:
    """How many items the shelves remember that could not be read."""
    return sum(shelf.skipped for shelf in case.status().shelves)


def _changed(outcome: Outcome) -> bool:
    """Whether anything is other than before."""
    return bool(outcome.added or outcome.changed or outcome.removed or _told(outcome))


def _told(outcome: Outcome) -> list[str]:
    """The notes that nobody may miss."""
    return [note for note in outcome.notes if _READERS.fullmatch(note)]


def rm(
    call: Call,
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="DOC...", help="Ids of documents.", show_default=False)
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="NAME", help="Forget this source, with all it brought.", show_default=False),
    ] = None,
) -> None:
    """Takes documents, or a whole source, out of the bookcase.

    The files themselves are not touched. A document whose file is still in a source comes back with the next refresh,
    unless the source excludes it.

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


def report(out: Output, outcome: Outcome, *, strict: bool = False, news: bool = True, trouble: bool = False) -> int:
    """Prints what was done and what was left out; returns the exit code.

    Without ``news`` quiet is wholly quiet; with ``trouble`` even a quiet command names what calls for a person.
    """
    code = 1 if strict and outcome.skipped else 0
    if out.json:
        from estante.model.wire import outcome_to_json

        value = outcome_to_json(outcome, full=out.verbose)
        if first := _told(outcome):
            value.setdefault("notes", first)
        out.value(value)
        return code
    if news or code or not out.quiet:
        out.line(summary(outcome))
    _left_out(out, outcome, failing=bool(code), trouble=trouble)
    return code


def aside(out: Output, outcome: Outcome) -> None:
    """Prints what was done and what was left out on stderr, for a command whose result is another."""
    out.note(summary(outcome))
    _left_out(out, outcome, failing=bool(outcome.skipped), trouble=False)


def _left_out(out: Output, outcome: Outcome, *, failing: bool, trouble: bool) -> None:
    aloud = Output(verbose=out.verbose)  # What makes a command fail is named, also by a quiet one.
    plain = [one for one in outcome.skipped if _UNKNOWN.fullmatch(one.reason)]
    needing = [one for one in outcome.skipped if not _UNKNOWN.fullmatch(one.reason)]
    _listed(aloud if failing or trouble else out, "skipped", _lines(needing))
    if out.verbose or len(plain) == 1:
        _listed(aloud if failing else out, "skipped", _lines(plain))
    elif plain:
        told = f" {_grouped([one.reason for one in plain])}; --verbose lists them"
        (aloud if failing else out).note(("skipped:", "bold yellow"), told)
    first = _told(outcome)
    for note in first:
        out.note(("note:", "bold yellow"), f" {one_line(note)}")
    _listed(out, "note", [one_line(note) for note in outcome.notes if note not in first])


def _lines(skipped: Sequence[Skipped]) -> list[str]:
    return [f"{one_line(one.uri)}: {one_line(one.reason)}" for one in skipped]


def _grouped(reasons: Sequence[str]) -> str:
    """Files without an extractor by their suffix, the most frequent first."""
    found = [match[1] or "" for match in map(_UNKNOWN.fullmatch, reasons) if match]
    return f"no extractor: {suffixes(found)} ({counted(len(found), 'file')})"


def _listed(out: Output, label: str, lines: list[str]) -> None:
    shown = lines if out.verbose else lines[:SHOWN]
    for line in shown:
        out.note((f"{label}:", "bold yellow"), f" {line}")
    if len(shown) < len(lines):
        out.note(f"and {len(lines) - len(shown):,} more; --verbose lists them all")
