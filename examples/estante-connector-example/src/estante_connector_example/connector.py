"""What hosts are told: what to ask people for, how to bind a notebook, and how to build it again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from estante.contract import ConnectorRegistrationError, ConnectorSpec, PromptTemplate
from estante.contract.params import ParamField, resolve_secret, validate_params
from estante_connector_example.answers import PROMPTS
from estante_connector_example.pipeline import NotebookPipeline

CONNECTOR_TYPE: Final = "notebook"

PARAMS: Final[list[ParamField]] = [
    {
        "name": "path",
        "label": "Notebook",
        "type": "path",
        "required": True,
        "help": "The SQLite file with the notes. It must be there.",
        "placeholder": "/srv/notes.db",
    },
    {
        "name": "token",
        "label": "Token",
        "type": "secret",
        "env": "NOTEBOOK_TOKEN",
        "help": "Where the token is, for a notebook that wants one: env:NAME or file:/absolute/path.",
    },
    {
        "name": "archived",
        "label": "Archived notes",
        "type": "boolean",
        "default": False,
        "help": "Whether archived notes are searched and read, too.",
    },
]

INFO: Final = """\
# Notebook

Asks a notebook: notes in a SQLite file, found by their words. Accents and capitals do not matter. It runs on this
machine, reads and never writes.

A token is given by reference, and read when the notebook is opened. What is stored holds the reference alone.
"""


def build(connection: dict[str, Any]) -> NotebookPipeline:
    """The pipeline of a stored document, in any process: of the document and the environment alone."""
    known = {name: value for name, value in connection.items() if name not in ("type", "contract_version")}
    if connection.get("type", CONNECTOR_TYPE) != CONNECTOR_TYPE:
        raise ConnectorRegistrationError(f"the document is of type {connection['type']!r}, not {CONNECTOR_TYPE!r}")
    # The document holds the parameters, so it is held to their schema: what is not known might narrow what is shown.
    values = validate_params(PARAMS, known)
    reference = values.get("token")
    token = None if reference is None else resolve_secret(reference, os.environ)
    return NotebookPipeline(values["path"], token=token, archived=values["archived"])


def connect(params: dict[str, Any]) -> tuple[NotebookPipeline, dict[str, Any]]:
    """A pipeline, and the document to store: everything ``build`` needs, and of the token where it is."""
    values = validate_params(PARAMS, params)
    # Whoever builds it again may stand in another folder.
    values["path"] = os.path.abspath(values["path"])
    document = {"type": CONNECTOR_TYPE, **values}
    return build(document), document


def connector_info() -> str:
    """Help in Markdown."""
    return INFO


def prompt_templates() -> Sequence[PromptTemplate]:
    """The prompts, before anything is bound."""
    return PROMPTS


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=CONNECTOR_TYPE,
    label="Notebook (example)",
    description="Notes in a SQLite file, found by their words.",
    build=build,
    connect=connect,
    params=PARAMS,
    connector_info=connector_info,
    prompt_templates=prompt_templates,
)
