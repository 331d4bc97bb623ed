"""The reference pipeline under the names that rag-connector gave it: collections in a folder, asked by meaning alone.

A collection is a bookcase of its own, ``persist_dir/collection_name``, whose documents everyone may read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from estante.contract.errors import ConnectorError, ConnectorRegistrationError
from estante.contract.models import DatasetRef
from estante.contract.params import ParamField, validate_params
from estante.contract.prompts import PromptTemplate
from estante.contract.specs import ConnectorSpec
from estante.shelf import answering
from estante.shelf.binding import Binding
from estante.shelf.border import border
from estante.shelf.opening import absolute, opened
from estante.shelf.pipeline import BookcasePipeline
from estante.shelf.provisioning import Plan, provision
from estante.shelf.settings import FILE, FOLDER

REFERENCE_TYPE: Final = "reference"
DEFAULT_PERSIST_DIR: Final = "./estante_data/reference"
DEFAULT_MODEL: Final = "static"
"""Whatever model made the collection."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_KEYS: Final = frozenset(
    {"type", "contract_version", "persist_dir", "collection_name", "embedding_model", "distance", "normalized"}
)

PARAMS: Final[list[ParamField]] = [
    {
        "name": "persist_dir",
        "label": "Folder",
        "type": "path",
        "required": True,
        "default": DEFAULT_PERSIST_DIR,
        "help": "The folder of the collections.",
    },
    {
        "name": "collection_name",
        "label": "Collection",
        "type": "string",
        "required": True,
        "help": "The collection: letters, digits, dots, hyphens and underscores.",
    },
    {
        "name": "embedding_model",
        "label": "Model",
        "type": "string",
        "required": True,
        "default": DEFAULT_MODEL,
        "help": f"The model that made the collection; {DEFAULT_MODEL!r} is whatever did. Another one is refused.",
    },
]

INFO: Final = """\
# Reference RAG (local)

A known-good pipeline to develop against: documents in a folder, found by the meaning of the question, on this machine
alone.

- `persist_dir` is the folder of the collections.
- `collection_name` is the one to ask. One that is not there is an error; none is ever made by asking.
- `embedding_model` is the model that made it. A collection of another model is refused.
"""
"""Help; hosts look for its heading and for the three names."""


class ReferencePipeline(BookcasePipeline):
    """A collection. Its scores are cosines, and its documents are for everyone."""

    name = "reference-estante"

    def __init__(self, *, persist_dir: str, collection_name: str, normalized: bool | None, **more: Any) -> None:
        super().__init__(connector_type=REFERENCE_TYPE, **more)
        self.persist_dir = persist_dir
        self.collection_name = collection_name
        self.normalized = normalized

    def info(self) -> dict[str, Any]:
        """What a run should remember, with the collection's name."""
        return {**super().info(), "collection": self.collection_name}

    def connection(self) -> dict[str, Any]:
        """The document that builds this pipeline again."""
        return {
            "type": REFERENCE_TYPE,
            "persist_dir": self.persist_dir,
            "collection_name": self.collection_name,
            "embedding_model": self.describe_space().model,
            "distance": "cosine",
            "normalized": self.normalized,
        }

    def list_datasets(self) -> list[DatasetRef]:
        """The collections beside this one, and itself."""
        with self._reading("listing collections"):
            return collections(self.persist_dir)


def collections(persist_dir: str) -> list[DatasetRef]:
    """The collections of a folder by name; one that cannot be counted says why."""
    folder = Path(absolute(persist_dir))
    with border("listing collections", frank=True):
        found = sorted(one.name for one in folder.iterdir() if _NAME.fullmatch(one.name) and (one / FOLDER).is_dir())
    return [_collection(persist_dir, name) for name in found]


def _collection(persist_dir: str, name: str) -> DatasetRef:
    told: dict[str, Any] = {"backend": "estante", "kind": "collection"}
    count: int | None = None
    try:
        pipeline = opened(os.path.join(persist_dir, name), Binding(mode="dense"), BookcasePipeline)
    except ConnectorError as error:
        told["error"] = str(error)
    else:
        try:
            count = next((one.item_count for one in pipeline.list_datasets()), None)
        except ConnectorError as error:
            told["error"] = str(error)
        finally:
            pipeline.close()
    return DatasetRef(name, name, count, {"persist_dir": persist_dir, "collection_name": name}, told)


def build(connection: Mapping[str, Any]) -> ReferencePipeline:
    """The pipeline of a connection document. Raises as that of the bookcase does."""
    unknown = sorted(str(key) for key in connection.keys() - _KEYS)
    if unknown:
        raise ConnectorRegistrationError(f"the connection document says {', '.join(unknown)}, which is not known here")
    normalized = connection.get("normalized")
    if normalized is not None and not isinstance(normalized, bool):
        raise ConnectorRegistrationError(f"normalized is tri-state (true, false or null), not {normalized!r}")
    if normalized is False or connection.get("distance", "cosine") != "cosine":
        raise ConnectorRegistrationError("a collection keeps vectors of unit length and compares them by their cosine")
    name = _checked_name(connection.get("collection_name"))
    persist_dir = absolute(connection.get("persist_dir", DEFAULT_PERSIST_DIR))
    pipeline = opened(
        os.path.join(persist_dir, name),
        Binding(mode="dense"),
        ReferencePipeline,
        persist_dir=persist_dir,
        collection_name=name,
        normalized=normalized,
    )
    wanted, model = connection.get("embedding_model", DEFAULT_MODEL), pipeline.describe_space().model
    if wanted not in (DEFAULT_MODEL, model):
        pipeline.close()
        raise ConnectorRegistrationError(f"collection {name!r} was made with the model {model!r}, not with {wanted!r}")
    return pipeline


def connect(params: Mapping[str, Any]) -> tuple[ReferencePipeline, dict[str, Any]]:
    """A pipeline and its document of parameters."""
    pipeline = build(validate_params(PARAMS, params))
    return pipeline, pipeline.connection()


def list_datasets(params: Mapping[str, Any]) -> list[DatasetRef]:
    """The collections of the folder that the parameters name."""
    return collections(validate_params(PARAMS, params, partial=True)["persist_dir"])


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConnectorRegistrationError(
            f"collection_name is {name!r}; use letters, digits, dots, hyphens and underscores, and begin with a letter"
        )
    return name


def provision_reference_rag(
    folder_path: str | os.PathLike[str],
    *,
    collection_name: str,
    persist_dir: str | os.PathLike[str] = DEFAULT_PERSIST_DIR,
    chunk_size: int = 1000,
    chunk_overlap: int = 200,
    replace_existing: bool = True,
) -> ReferencePipeline:
    """Makes a collection of a folder, in windows of a fixed size, and gives it bound.

    One of that name is replaced when the new one is whole, and not before. With ``replace_existing=False`` it is
    refused (``ConnectorRegistrationError``).
    """
    home = os.path.join(absolute(persist_dir), _checked_name(collection_name))
    if not replace_existing and os.path.exists(os.path.join(home, FILE)):
        raise ConnectorRegistrationError(f"collection {collection_name!r} already holds documents; name another one")
    plan = Plan(
        documents=Path(absolute(folder_path)),
        readers=("*",),
        chunker="windows",
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
    )
    with border("provisioning", frank=True):
        provision(Path(home), plan)
    return build({"persist_dir": absolute(persist_dir), "collection_name": collection_name})


def connector_info() -> str:
    """Help in Markdown."""
    return INFO


def prompt_templates() -> Sequence[PromptTemplate]:
    """The declared prompts."""
    return answering.PROMPTS


REFERENCE_SPEC: Final = ConnectorSpec(
    connector_type=REFERENCE_TYPE,
    label="Reference RAG (local)",
    description="A known-good pipeline to develop against: a folder of documents, found by meaning, on this machine.",
    build=build,
    connect=connect,
    params=PARAMS,
    list_datasets=list_datasets,
    connector_info=connector_info,
    prompt_templates=prompt_templates,
)
