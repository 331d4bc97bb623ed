"""The bookcase as a connector: what to ask for, how to bind one, and how to build it again from its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.lending import lent_spec
from estante.contract.models import DatasetRef
from estante.contract.params import ParamField, validate_params
from estante.contract.prompts import PromptTemplate
from estante.contract.specs import ConnectorSpec
from estante.model.asking import MODES
from estante.shelf import answering
from estante.shelf.binding import ALL, ASKERS, EVERYONE, READER, SHELVES, Binding
from estante.shelf.border import border
from estante.shelf.opening import absolute, as_pipeline, opened
from estante.shelf.pipeline import CONNECTOR_TYPE, BookcasePipeline
from estante.shelf.provisioning import SIZES, Plan, check, provision
from estante.shelf.reference import REFERENCE_SPEC

PARAMS: Final[list[ParamField]] = [
    {
        "name": "path",
        "label": "Bookcase",
        "type": "path",
        "required": True,
        "help": "The folder of the bookcase: one that is there, or one to be provisioned.",
        "placeholder": "/srv/library",
    },
    {
        "name": "asker",
        "label": "Who asks",
        "type": "enum",
        "choices": list(ASKERS),
        "default": EVERYONE,
        "help": "everyone reads what is shared; a reader also what its keys open; the owner everything.",
    },
    {
        "name": "keys",
        "label": "Reader keys",
        "type": "any",
        "required": True,
        "when": {"asker": READER},
        "help": 'The keys that the reader holds, a list such as ["finance"].',
    },
    {
        "name": "shelf",
        "label": "Shelf",
        "type": "enum",
        "choices": list(SHELVES),
        "default": ALL,
        "help": "Both shelves, or one of them.",
    },
    {
        "name": "mode",
        "label": "Mode",
        "type": "enum",
        "choices": list(MODES),
        "default": MODES[0],
        "help": "hybrid (words and meaning), lexical (words) or dense (meaning; scores are cosines).",
    },
    {
        "name": "where",
        "label": "Filter",
        "type": "any",
        "help": 'A filter of metadata that is always applied, such as {"year": {"$gte": 2024}}.',
    },
    {
        "name": "documents",
        "label": "Documents",
        "type": "path",
        "help": "A folder to provision the bookcase from; what was provisioned at path before is replaced.",
    },
    {
        "name": "readers",
        "label": "Readers",
        "type": "any",
        "help": 'Who may read what is provisioned: ["*"] for everyone, or keys. Left out, the owner alone, and then '
        "the asker must be said.",
    },
    {
        "name": "chunker",
        "label": "Chunker",
        "type": "string",
        "help": f"What cuts the documents that are provisioned, such as {' or '.join(SIZES)}.",
    },
    {
        "name": "chunk_size",
        "label": "Chunk size",
        "type": "integer",
        "minimum": 1,
        "help": "The most characters of a chunk that is provisioned.",
    },
    {
        "name": "chunk_overlap",
        "label": "Chunk overlap",
        "type": "integer",
        "minimum": 0,
        "help": "The characters that a chunk has in common with the next; for the chunker windows.",
    },
]

_PLAN: Final = ("readers", "chunker", "chunk_size", "chunk_overlap")
"""Parameters that say something of what is provisioned."""

_DOCUMENT: Final = frozenset({"type", "contract_version", "path", *Binding.__dataclass_fields__})

INFO: Final = """\
# Bookcase

Asks a bookcase of Estante: a folder that holds an organisation's documents, indexed for search by words and meaning.
Everything runs on this machine, and nothing is sent anywhere.

- `path` is the folder of the bookcase. Make one with `estante init` and `estante add`, or give `documents`, a folder
  that is read into a new one; then `readers`, `chunker`, `chunk_size` and `chunk_overlap` say how.
- `asker` says who asks. Unless it is said, everyone asks, and finds what is shared and nothing else. A `reader` also
  finds what its `keys` open, the `owner` everything.
- `shelf`, `mode` and `where` narrow what is searched, and how.

With the mode `dense` scores are cosines that can be computed again from the stored vectors. In the other modes they
order the hits of one question and compare with nothing else.
"""


def build(connection: dict[str, Any]) -> BookcasePipeline:
    """The pipeline of a connection document.

    Raises ``ConnectorRegistrationError`` for a document with anything that is not known here, because it might narrow
    what may be seen; and as ``opened`` does.
    """
    unknown = sorted(str(key) for key in connection.keys() - _DOCUMENT)
    if unknown:
        raise ConnectorRegistrationError(
            f"the connection document says {', '.join(unknown)}, which this version does not know; connect again"
        )
    if connection.get("type", CONNECTOR_TYPE) != CONNECTOR_TYPE:
        raise ConnectorRegistrationError(f"the connection document is of type {connection['type']!r}; build that one")
    return opened(connection.get("path", ""), Binding.of(connection), BookcasePipeline)


def connect(params: dict[str, Any]) -> tuple[BookcasePipeline, dict[str, Any]]:
    """A pipeline and its connection document of parameters; with ``documents`` the bookcase is provisioned first.

    Raises ``ConnectorRegistrationError`` for parameters that cannot be used, before anything is touched.
    """
    values = validate_params(PARAMS, params)
    home, binding = absolute(values["path"]), Binding.of(values)
    outcome = None
    if "documents" in values:
        plan = _plan(values)
        with border("provisioning", frank=True):
            check(Path(home), plan)
        _refuse_unread(plan, binding)
        with border("provisioning", frank=True):
            outcome = provision(Path(home), plan)
    elif given := [name for name in _PLAN if name in values]:
        raise ConnectorRegistrationError(
            f"{given[0]} says how documents are provisioned; give documents, or leave it out"
        )
    pipeline = opened(home, binding, BookcasePipeline)
    pipeline.outcome = outcome
    return pipeline, pipeline.connection()


def _plan(values: Mapping[str, Any]) -> Plan:
    readers = values.get("readers")
    if readers is not None and not isinstance(readers, list | tuple):
        raise ConnectorRegistrationError('readers is no list; give one, such as ["*"] or ["finance"]')
    return Plan(
        documents=Path(absolute(values["documents"])),
        readers=None if readers is None else tuple(readers),
        chunker=values.get("chunker"),
        chunk_size=values.get("chunk_size"),
        chunk_overlap=values.get("chunk_overlap"),
    )


def _refuse_unread(plan: Plan, binding: Binding) -> None:
    """Raises for what would be provisioned only to be hidden from who asks."""
    if not plan.readers and binding.asker == EVERYONE:
        raise ConnectorRegistrationError(
            "what is provisioned without readers is for the owner alone, and everyone is asking; "
            'give readers, such as ["*"], or say who asks'
        )


def list_datasets(params: dict[str, Any]) -> list[DatasetRef]:
    """The shelves that can be bound, of parameters that lead to the bookcase; which shelf need not be said."""
    values = validate_params(PARAMS, params, partial=True)
    pipeline = opened(absolute(values.get("path", "")), Binding.of({**values, "shelf": ALL}), BookcasePipeline)
    try:
        return pipeline.list_datasets()
    finally:
        pipeline.close()


def connector_info() -> str:
    """Help in Markdown."""
    return INFO


def prompt_templates() -> Sequence[PromptTemplate]:
    """The declared prompts, which are those of every bookcase."""
    return answering.PROMPTS


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=CONNECTOR_TYPE,
    label="Bookcase (Estante)",
    description="An organisation's documents in a folder: offline hybrid search in Portuguese and English.",
    build=build,
    connect=connect,
    params=PARAMS,
    list_datasets=list_datasets,
    connector_info=connector_info,
    prompt_templates=prompt_templates,
)


def rag_connector_spec() -> Any:
    """The connector for rag-connector's registry, in the classes of that library, which must be installed."""
    return lent_spec(CONNECTOR_SPEC)


__all__ = [
    "CONNECTOR_SPEC",
    "REFERENCE_SPEC",
    "Binding",
    "BookcasePipeline",
    "as_pipeline",
    "build",
    "connect",
    "connector_info",
    "list_datasets",
    "prompt_templates",
    "rag_connector_spec",
]
