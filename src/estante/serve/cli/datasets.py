"""The commands of frozen corpora: ``dataset build``, ``export``, ``verify``, ``show`` and ``diff``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from estante.model.errors import SettingsError, Unreadable
from estante.serve.cli.borders import kit, strangers
from estante.serve.cli.calls import Call
from estante.serve.cli.output import Output, Part, counted, one_line, suffixes

if TYPE_CHECKING:
    from estante.contract.dataset.corpus import Dataset
    from estante.contract.dataset.difference import Changes, DatasetDifference
    from estante.contract.dataset.extensions import ExtensionEnvelope
    from estante.contract.loading import LoadedDocuments

SHOWN: Final = 20
"""How many ids of one kind are printed without ``--verbose``."""

DIFFERENT: Final = 1

_CHANGED: Final = (
    "Get an unchanged copy of the folder. A manifest records sums of the whole, so which chunk changed it cannot tell; "
    "to see that, freeze the documents again and compare."
)

Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder to write; new, or empty.", show_default=False)
]
Name = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="What people call it.", show_default=False)]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the Dataset.", show_default=False)]


# --- making -----------------------------------------------------------------------------------------------------


def build(
    call: Call,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="The folder of the documents.", show_default=False)
    ],
    out: Out,
    chunk_size: Annotated[int, typer.Option("--chunk-size", metavar="N", help="Characters of a chunk at most.")] = 1000,
    chunk_overlap: Annotated[
        int, typer.Option("--chunk-overlap", metavar="N", help="Characters that a chunk shares with the one before.")
    ] = 200,
    name: Name = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Leave these paths out; may be repeated.", show_default=False),
    ] = None,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave out what cannot be read, and name it.")
    ] = False,
) -> None:
    """Freezes the documents of a folder, cut into chunks, as a Dataset.

    Nothing is left behind when it fails, and one file that cannot be read makes it fail, unless it is excluded or may
    be skipped: a part of a corpus is not a smaller corpus. Its name is by default that of the folder.

    Example: estante dataset build --folder handbook --out frozen/handbook
    """
    from estante.contract.dataset.files import refuse_occupied
    from estante.contract.dataset.making import dataset_of_documents, name_of

    _check_windows(chunk_size, chunk_overlap)
    with kit("the folders"):
        refuse_occupied(out)
        documents = _loaded(folder, exclude or (), strict=not skip_unreadable)
        dataset = dataset_of_documents(
            documents, out, chunk_size=chunk_size, chunk_overlap=chunk_overlap, name=name or name_of(folder)
        )
    if call.out.json:
        skipped = [{"path": path, "reason": reason} for path, reason in documents.skipped]
        left = {"blank": documents.blank, "passed_over": len(documents.passed_over)}
        call.out.value({**summary(dataset), "skipped": skipped, **left})
        return
    _print(call.out, dataset)
    _print_left_out(call.out, documents)


def _check_windows(chunk_size: int, chunk_overlap: int) -> None:
    from estante.contract.errors import ContractValueError
    from estante.contract.windows import check_windows

    try:
        check_windows(chunk_size, chunk_overlap)
    except ContractValueError as error:
        below = f"Give --chunk-overlap below {chunk_size}, too." if 0 < chunk_size <= chunk_overlap else ""
        raise SettingsError(str(error), hint=below or "Give other lengths, or leave both options out.") from error


def _loaded(folder: Path, exclude: Sequence[str], *, strict: bool) -> LoadedDocuments:
    from estante.contract.loading import UnreadableSources, load_documents

    try:
        return load_documents(folder, exclude=tuple(exclude), strict=strict)
    except UnreadableSources as error:
        told = "; ".join(f"{path}: {reason}" for path, reason in error.skipped[:SHOWN])
        more = f"; and {len(error.skipped) - SHOWN:,} more" if len(error.skipped) > SHOWN else ""
        raise Unreadable(
            f"{counted(len(error.skipped), 'source')} of {folder} cannot be read: {told}{more}",
            hint="Mend them, or leave them out with --exclude GLOB or --skip-unreadable.",
        ) from error


def _print_left_out(out: Output, documents: LoadedDocuments) -> None:
    for path, reason in documents.skipped:
        out.warn(f"skipped {one_line(path)}: {one_line(reason)}")
    for path in documents.blank:
        out.warn(f"{one_line(path)} has no text, so no chunk is of it")
    if documents.passed_over and not out.verbose:
        kinds = suffixes(Path(path).suffix.lower() for path, _ in documents.passed_over)
        held = counted(len(documents.passed_over), "file")
        out.note(("note:", "bold"), f" passed over: {kinds} ({held}); --verbose lists them")
    for path, reason in documents.passed_over if out.verbose else ():
        out.note(("note:", "bold"), f" {one_line(path)}: {one_line(reason)}")


def export(
    call: Call,
    out: Out,
    connector_type: Annotated[
        str | None,
        typer.Option("--connector-type", metavar="TYPE", help="The type of the connector.", show_default=False),
    ] = None,
    connector: Annotated[
        str | None, typer.Option("--connector", metavar="TYPE", help="As --connector-type.", show_default=False)
    ] = None,
    params: Annotated[
        str | None,
        typer.Option("--params", metavar="JSON", help="The connector's parameters, an object.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--import", metavar="MOD:ATTR", help="A pipeline to import and call instead.", show_default=False),
    ] = None,
    kwargs: Annotated[
        str | None,
        typer.Option("--kwargs", metavar="JSON", help="What it is called with, an object.", show_default=False),
    ] = None,
    name: Name = None,
) -> None:
    """Freezes all chunks of a connector as a Dataset.

    The pipeline is named by the type of its connector, or by what makes it. Nothing is left behind when it fails. Its
    name is by default that type.

    Example: estante dataset export --import shop.rag:Connector --out frozen/shop
    """
    from estante.contract.dataset.chunking import exported_chunking
    from estante.contract.dataset.files import refuse_occupied
    from estante.contract.dataset.making import chunks_of
    from estante.contract.dataset.writing import write_dataset_folder
    from estante.serve.cli.pipelines import pipeline_of

    if connector_type is not None and connector is not None and connector_type != connector:
        raise SettingsError("two types are given", hint="Give --connector-type, and leave --connector out.")
    named = connector_type or connector
    with kit("the folder"):
        refuse_occupied(out)
    kind = named or str(target)
    # What a connector prints is no result of this command.
    with redirect_stdout(sys.stderr), pipeline_of(named, params, target, kwargs) as pipeline, strangers(kind):
        chunks = chunks_of(pipeline)
    with kit("the folder"):
        dataset = write_dataset_folder(out, chunks, name=name or kind, chunking=exported_chunking(kind))
    if call.out.json:
        call.out.value(summary(dataset))
    else:
        _print(call.out, dataset)


# --- looking ----------------------------------------------------------------------------------------------------


def verify(call: Call, folder: Folder) -> int:
    """Tells whether a Dataset is what its manifest says.

    Everything recorded is computed again, and every mismatch is told. The exit code is 0 when there is none, else 1.

    Example: estante dataset verify frozen/handbook
    """
    from estante.contract.dataset.extensions import list_extensions
    from estante.contract.dataset.notes import dataset_notes
    from estante.contract.dataset.reading import dataset_problems, read_dataset_folder
    from estante.contract.errors import DatasetIntegrityError

    problems: list[str] = []
    dataset, extensions = None, []
    with kit("the Dataset"):
        try:
            dataset = read_dataset_folder(folder)
            extensions = list_extensions(folder)
        except DatasetIntegrityError as error:
            problems = dataset_problems(folder) or [str(error)]
            dataset = None
    notes = [] if dataset is None else list(dataset_notes(dataset))
    if call.out.json:
        told = {"ok": not problems, "path": str(folder), "dataset_id": dataset.dataset_id if dataset else None}
        shown = [extension_to_json(one, dataset) for one in extensions if dataset is not None]
        call.out.value({**told, "problems": problems, "notes": notes, "extensions": shown})
        return DIFFERENT if problems else 0
    for problem in problems:
        call.out.line(("problem", "bold red"), f"  {one_line(problem)}")
    if problems:
        call.out.note(("hint:", "bold"), f" {_CHANGED}")
    if dataset is not None:
        held = f"{counted(dataset.chunk_count, 'chunk')} of {counted(len(dataset.sources), 'source')}"
        call.out.line(("ok", "green"), f"  {dataset.dataset_id}, {held}, core {dataset.core_sha256}")
        for note in notes:
            call.out.warn(one_line(note))
        _print_extensions(call.out, extensions, dataset, troubled=True)
    return DIFFERENT if problems else 0


def show(call: Call, folder: Folder) -> None:
    """Tells what a Dataset is, and what tools left beside it.

    It is verified first. A folder from before the specification cannot be, and is shown with a warning.

    Example: estante dataset show frozen/handbook
    """
    from estante.contract.dataset.extensions import list_extensions
    from estante.contract.dataset.notes import dataset_notes
    from estante.contract.dataset.reading import read_dataset_folder

    with kit("the Dataset"):
        dataset = read_dataset_folder(folder, allow_legacy=True)
        extensions = list_extensions(folder)
    notes = list(dataset_notes(dataset))
    if call.out.json:
        more: dict[str, Any] = {
            "layout": dataset.layout,
            "verified": dataset.verified,
            "warnings": list(dataset.warnings),
            "notes": notes,
            "manifest": dict(dataset.manifest),
            "extensions": [extension_to_json(one, dataset) for one in extensions],
        }
        call.out.value({**summary(dataset), **more})
        return
    _print(call.out, dataset)
    for warning in (*dataset.warnings, *notes):
        call.out.warn(one_line(warning))
    _print_extensions(call.out, extensions, dataset)


def summary(dataset: Dataset) -> dict[str, object]:
    """What a Dataset is recognised by, as JSON."""
    return {
        "path": str(dataset.path),
        "dataset_id": dataset.dataset_id,
        "name": dataset.name,
        "created_at": dataset.created_at,
        "chunk_count": dataset.chunk_count,
        "source_count": len(dataset.sources),
        "chunking": None if dataset.chunking is None else dict(dataset.chunking),
        "chunk_inventory_sha256": dataset.chunk_inventory_sha256,
        "core_sha256": dataset.core_sha256,
        "corpus_fingerprint": dataset.corpus_fingerprint,
    }


def _print(out: Output, dataset: Dataset) -> None:
    types = dataset.source_summary.get("file_types")
    kinds = ", ".join(f"{count} {kind or 'without a type'}" for kind, count in types.items()) if types else ""
    rows = [
        ("dataset", dataset.dataset_id),
        ("name", dataset.name),
        ("folder", str(dataset.path)),
        ("created", dataset.created_at or "not told"),
        ("chunks", f"{dataset.chunk_count:,}"),
        ("sources", f"{len(dataset.sources):,}" + (f" ({kinds})" if kinds else "")),
        ("chunking", "not told" if dataset.chunking is None else json.dumps(dataset.chunking, ensure_ascii=False)),
        ("inventory", dataset.chunk_inventory_sha256),
        ("corpus", dataset.corpus_fingerprint or "not told"),
        ("core", dataset.core_sha256 or "not told"),
    ]
    for label, told in rows:
        out.line((label.ljust(9), "bold"), f"  {one_line(told)}")


def extension_to_json(envelope: ExtensionEnvelope, dataset: Dataset) -> dict[str, object]:
    """An envelope as JSON; ``current`` says whether the tool looked at this very Dataset."""
    return {
        "tool": envelope.tool,
        "path": str(envelope.path),
        "tool_version": envelope.tool_version,
        "format_version": envelope.format_version,
        "core_sha256": envelope.core_sha256,
        "created_at": envelope.created_at,
        "current": envelope.built_on(dataset),
        "problems": list(envelope.problems),
    }


def _print_extensions(
    out: Output, extensions: Sequence[ExtensionEnvelope], dataset: Dataset, *, troubled: bool = False
) -> None:
    """A line for each; with ``troubled`` for those alone that are malformed or looked at another Dataset."""
    for one in extensions:
        if troubled and not one.problems and one.built_on(dataset):
            continue
        told = f"{one_line(one.tool)} {one_line(one.tool_version or '')}".rstrip()
        if not one.problems:
            told += ", of this Dataset" if one.built_on(dataset) else ", of another Dataset"
        out.line(("extension", "bold"), f"  {told}")
        for problem in one.problems:
            out.line(("problem:", "bold red"), f" {one_line(problem)}", indent=11)


# --- comparing --------------------------------------------------------------------------------------------------


def diff(
    call: Call,
    first: Annotated[Path, typer.Argument(metavar="A", help="The folder of one Dataset.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="The folder of another.", show_default=False)],
    strict: Annotated[
        bool, typer.Option("--strict", help="Count a difference of the manifests, such as the moment, too.")
    ] = False,
) -> int:
    """Tells what Dataset B has otherwise than A.

    Compared are chunks, documents, sources, and the keys of the manifests. The exit code is 0 when chunks and sources
    are equal, and 1 when they are different. Two that were made at different moments can be equal so; with --strict
    they are not.

    Example: estante dataset diff frozen/january frozen/june
    """
    from estante.contract.dataset.difference import dataset_difference
    from estante.contract.dataset.reading import read_dataset_folder

    with kit("both Datasets"):
        mine, theirs = (read_dataset_folder(folder, allow_legacy=True) for folder in (first, second))
    found = dataset_difference(mine, theirs)
    equal = found.same_content and (found.same_core or not strict)
    if call.out.json:
        call.out.value({"equal": equal, "a": _side(mine), "b": _side(theirs), **difference_to_json(found)})
    else:
        _print_difference(call.out, mine, theirs, found)
    return 0 if equal else DIFFERENT


def _side(dataset: Dataset) -> dict[str, object]:
    return {**summary(dataset), "documents": len(_documents(dataset)), "warnings": list(dataset.warnings)}


def _documents(dataset: Dataset) -> set[str]:
    return {chunk.doc_id for chunk in dataset.chunks}


def difference_to_json(found: DatasetDifference) -> dict[str, object]:
    """A difference as JSON; ``moved`` names the fields that differ where the text is the same."""
    kinds = {"chunks": found.chunks, "documents": found.documents, "sources": found.sources}
    told: dict[str, object] = {kind: _changes_to_json(changes) for kind, changes in kinds.items()}
    return told | {
        "moved": {chunk: list(fields) for chunk, fields in found.moved.items()},
        "manifest": list(found.manifest),
        "same_inventory": found.same_inventory,
        "same_core": found.same_core,
    }


def _changes_to_json(changes: Changes) -> dict[str, list[str]]:
    return {"added": list(changes.added), "removed": list(changes.removed), "changed": list(changes.changed)}


def _print_difference(out: Output, mine: Dataset, theirs: Dataset, found: DatasetDifference) -> None:
    for mark, dataset in (("A", mine), ("B", theirs)):
        held = f"{counted(dataset.chunk_count, 'chunk')}, {counted(len(_documents(dataset)), 'document')}"
        out.line((mark, "bold"), f"  {one_line(dataset.dataset_id)}  {one_line(dataset.name)}: {held}")
        for warning in dataset.warnings:
            out.warn(f"{mark}: {one_line(warning)}")
    moved = f", {len(found.moved):,} with the same text at another place or with other metadata" if found.moved else ""
    out.line(("chunks", "bold"), f"     {_counts(found.chunks)}{moved}")
    out.line(("documents", "bold"), f"  {_counts(found.documents)}")
    out.line(("sources", "bold"), f"    {_counts(found.sources)}")
    out.line(("inventory", "bold"), f"  {'the same' if found.same_inventory else 'different'}")
    keys = [key for key in found.manifest if key != "core_sha256"]
    core = "the same" if found.same_core else " in ".join(["different", ", ".join(keys)] if keys else ["different"])
    out.line(("core", "bold"), f"       {one_line(core)}")
    _print_changes(out, "document", found.documents)
    _print_changes(out, "chunk", found.chunks)
    _print_ids(out, ("= ", ""), "chunk", [f"{one} ({', '.join(fields)})" for one, fields in found.moved.items()])


def _counts(changes: Changes) -> str:
    return f"{len(changes.added):,} added, {len(changes.removed):,} removed, {len(changes.changed):,} changed"


def _print_changes(out: Output, noun: str, changes: Changes) -> None:
    _print_ids(out, ("+ ", "green"), noun, changes.added)
    _print_ids(out, ("- ", "red"), noun, changes.removed)
    _print_ids(out, ("~ ", "yellow"), noun, changes.changed)


def _print_ids(out: Output, mark: Part, noun: str, ids: Sequence[str]) -> None:
    shown = ids if out.verbose else ids[:SHOWN]
    for one in shown:
        out.line(mark, f"{noun} {one_line(one)}")
    if len(shown) < len(ids):
        out.note(f"and {len(ids) - len(shown):,} more; --verbose lists them all")
