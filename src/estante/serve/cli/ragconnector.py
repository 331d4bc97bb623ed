"""The commands of rag-connector's program, with its flags, its output and its exit codes.

For scripts that call ``rag-connector``: they call ``estante-rag-connector`` instead, and nothing else changes. People
have ``estante connectors``, ``estante validate`` and ``estante dataset``, which tell more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from estante.model.errors import EstanteError

if TYPE_CHECKING:
    from estante.contract.dataset.corpus import Dataset

PROGRAM: Final = "rag-connector"
"""As its errors begin, which scripts look for."""

FAILED: Final = 1

_TOLD: Final = (
    "path",
    "dataset_id",
    "name",
    "chunk_count",
    "source_count",
    "chunking",
    "chunk_inventory_sha256",
    "core_sha256",
    "corpus_fingerprint",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code: 0 when it did what it says, 1 when it failed.

    ``validate`` returns what the validator does. ``SystemExit`` (2) for arguments that cannot be used.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["validate"]:
        from estante.contract import validate

        return validate.main(given[1:], prog=f"{PROGRAM} validate")
    told = _parser().parse_args(given)
    run: Callable[[argparse.Namespace], None] = told.run
    try:
        run(told)
    except (EstanteError, OSError, ValueError, TypeError, KeyError, ImportError, RuntimeError) as error:
        # Every error of the contract is a RuntimeError or a ValueError; a script gets one line of it.
        print(f"{PROGRAM} {told.what}: {type(error).__name__}: {_line(error)}", file=sys.stderr)
        return FAILED
    return 0


def _line(error: Exception) -> str:
    said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(said.split())


# --- the commands ---------------------------------------------------------------------------------------------------


def _list(_: argparse.Namespace) -> None:
    from estante.contract.registry import connector_rows

    with redirect_stdout(sys.stderr):
        rows = connector_rows()
    for row in sorted(rows, key=lambda one: one.label.casefold()):
        if row.error and not row.label:
            print(f"{PROGRAM} list: {row.type or row.origin} cannot be loaded: {row.error}", file=sys.stderr)
        else:
            print(f"{row.type}\t{row.label}")


def _provision(told: argparse.Namespace) -> None:
    from estante.shelf import reference_provision

    connector = reference_provision.provision_reference_rag(
        told.folder,
        collection_name=told.collection,
        # The printed document is for other processes, whose working folder is another.
        persist_dir=os.path.abspath(told.persist_dir),
        embedding_model=told.embedding_model,
        chunk_size=told.chunk_size,
        chunk_overlap=told.chunk_overlap,
        replace_existing=not told.append,
        normalized=None if told.normalized is None else told.normalized == "true",
    )
    try:
        made = {"connection": connector.connection(), "info": connector.info()}
    finally:
        connector.close()
    print(json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False))


def _build(told: argparse.Namespace) -> None:
    from estante.contract.dataset.files import refuse_occupied
    from estante.contract.dataset.making import dataset_of_documents, name_of
    from estante.contract.loading import load_documents
    from estante.contract.windows import check_windows

    check_windows(told.chunk_size, told.chunk_overlap)
    refuse_occupied(told.out)
    dataset = dataset_of_documents(
        load_documents(told.folder),
        told.out,
        chunk_size=told.chunk_size,
        chunk_overlap=told.chunk_overlap,
        name=told.name or name_of(told.folder),
    )
    _print(dataset)


def _export(told: argparse.Namespace) -> None:
    from estante.contract.dataset.chunking import exported_chunking
    from estante.contract.dataset.files import refuse_occupied
    from estante.contract.dataset.making import chunks_of
    from estante.contract.dataset.writing import write_dataset_folder
    from estante.contract.registry import require_connector

    refuse_occupied(told.out)
    params = json.loads(told.params)
    if not isinstance(params, dict):
        raise ValueError(f"--params is a {type(params).__name__}; give a JSON object")
    spec = require_connector(told.connector)
    with redirect_stdout(sys.stderr):
        pipeline: Any = spec.connect_with(params)[0] if spec.connect is not None else spec.build(params)
        try:
            chunks = chunks_of(pipeline)
        finally:
            close = getattr(pipeline, "close", None)
            if callable(close):
                close()
    chunking = exported_chunking(told.connector)
    _print(write_dataset_folder(told.out, chunks, name=told.name or told.connector, chunking=chunking))


def _print(dataset: Dataset) -> None:
    from estante.serve.cli.datasets import summary

    whole = summary(dataset)
    print(json.dumps({name: whole[name] for name in _TOLD}, indent=2, sort_keys=True, ensure_ascii=False))


# --- the arguments --------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    from estante.shelf.reference import DEFAULT_EMBEDDING_MODEL, DEFAULT_PERSIST_DIR

    parser = argparse.ArgumentParser(prog=PROGRAM, description="The commands of rag-connector, answered by Estante.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("list", help="the connectors: type and label, parted by a tab")
    one.set_defaults(run=_list, what="list")
    commands.add_parser("validate", help="check a pipeline; its flags are those of the validator", add_help=False)

    reference = commands.add_parser("reference", help="the reference pipeline").add_subparsers(
        required=True, metavar="COMMAND"
    )
    one = reference.add_parser("provision", help="make a collection of a folder, or of the bundled corpus")
    one.set_defaults(run=_provision, what="reference provision")
    one.add_argument("folder", nargs="?", metavar="FOLDER", help="the documents; by default the bundled corpus")
    one.add_argument("--collection", required=True, metavar="NAME", help="what the collection is called")
    one.add_argument("--persist-dir", default=DEFAULT_PERSIST_DIR, metavar="DIR", help="the folder of the collections")
    one.add_argument("--embedding-model", default=DEFAULT_EMBEDDING_MODEL, metavar="NAME", help="the model")
    _windows(one)
    one.add_argument("--append", action="store_true", help="add to a collection of this name; else it is replaced")
    one.add_argument("--normalized", choices=("true", "false"), help="declare the length of the model's vectors")

    dataset = commands.add_parser("dataset", help="frozen corpora").add_subparsers(required=True, metavar="COMMAND")
    one = dataset.add_parser("build", help="freeze the documents of a folder")
    one.set_defaults(run=_build, what="dataset")
    one.add_argument("--folder", required=True, type=Path, metavar="DIR", help="the folder of the documents")
    _out(one)
    _windows(one)
    one = dataset.add_parser("export", help="freeze all chunks of a connector")
    one.set_defaults(run=_export, what="dataset")
    one.add_argument("--connector", required=True, metavar="TYPE", help="the type of the connector")
    one.add_argument("--params", default="{}", metavar="JSON", help="its parameters, an object")
    _out(one)
    return parser


def _windows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunk-size", type=int, default=1000, metavar="N", help="characters of a chunk at most")
    parser.add_argument(
        "--chunk-overlap", type=int, default=200, metavar="N", help="characters in common with the next"
    )


def _out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write; new, or empty")
    parser.add_argument("--name", metavar="TEXT", help="what people call it")


if __name__ == "__main__":
    sys.exit(main())
