"""Parameters that several adapters have, and what is made of their values.

A connection document of an adapter is its parameters, checked, with every path absolute, and the type beside them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from estante.contract.connections import CONTRACT_VERSION
from estante.contract.errors import ConnectorRegistrationError, ContractValueError
from estante.contract.fingerprints import embedding_fingerprint
from estante.contract.jsonl import chunks_from_jsonl
from estante.contract.models import ChunkRecord, EmbeddingSpaceDescriptor
from estante.contract.params import ParamField, ParamProblem, ParamsError, validate_params
from estante.contract.references import is_secret_reference, resolve_secret
from estante.contract.secrecy import secret_paths
from estante.serve.adapters.objects import made, reach
from estante.serve.adapters.records import Layout
from estante.serve.adapters.scales import AUTO, NONE, SCORE_KINDS
from estante.shelf.settings import environment

OBJECT: Final[tuple[ParamField, ...]] = (
    {
        "name": "object",
        "label": "Object",
        "type": "string",
        "required": True,
        "placeholder": "my_rag:make_index",
        "help": "module:attribute of the object, or of a function that makes it",
    },
    {"name": "kwargs", "label": "Arguments", "type": "any", "help": "an object of arguments for the function"},
    {
        "name": "secrets",
        "label": "Secret arguments",
        "type": "any",
        "help": "an object of arguments for the function that are secrets, each as env:NAME or file:/absolute/path",
    },
    {
        "name": "folder",
        "label": "Folder",
        "type": "path",
        "help": "the folder that the module stands in, when it is not installed",
    },
)

LAYOUT: Final[tuple[ParamField, ...]] = (
    {
        "name": "id_key",
        "label": "Id",
        "type": "string",
        "help": "the metadata that holds the id of a chunk, when it is not the library's own",
    },
    {
        "name": "text_ids",
        "label": "Ids of texts",
        "type": "boolean",
        "default": False,
        "help": "true makes the id of a chunk of its text (SHA-256), for chunks that have none",
    },
    {
        "name": "doc_key",
        "label": "Document",
        "type": "string",
        "help": "the metadata that holds the id of a chunk's document",
    },
    {
        "name": "name_key",
        "label": "Name of the document",
        "type": "string",
        "help": "the metadata that holds the document's name for people",
    },
    {
        "name": "ordinal_key",
        "label": "Place in the document",
        "type": "string",
        "help": "the metadata that holds the place of a chunk in its document: 0, 1, 2, ...",
    },
)

CHUNKS: Final[ParamField] = {
    "name": "chunks",
    "label": "Corpus",
    "type": "path",
    "help": "a file of chunks as lines of JSON that is the corpus, where the back end cannot list its own",
}

EMBEDDING: Final[ParamField] = {
    "name": "embedding",
    "label": "Embedding",
    "type": "any",
    "help": "an object with provider, model and dimensions of the embedding, by which a change of it is noticed; "
    "also normalize and model_version",
}

TIMEOUT: Final[ParamField] = {
    "name": "timeout",
    "label": "Seconds",
    "type": "number",
    "default": 30,
    "minimum": 0.1,
    "maximum": 3600,
    "help": "seconds after which an unanswered call has failed",
}

_NO_CREDENTIAL: Final = (
    "looks like a credential; put a reference there, env:NAME or file:/absolute/path, never the secret itself"
)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

_EMBEDDING_KEYS: Final = ("provider", "model", "dimensions", "normalize", "model_version")


def score_kind(*, auto: str = "") -> ParamField:
    """The parameter that declares what the numbers of a back end are; ``auto`` says what is done by default."""
    by_default = f"; auto: {auto}" if auto else ""
    return {
        "name": "score_kind",
        "label": "Scores",
        "type": "enum",
        "choices": [*([AUTO] if auto else []), *SCORE_KINDS],
        "default": AUTO if auto else "similarity",
        "help": f"what the numbers of the back end are; {NONE}: the order counts alone{by_default}",
    }


# --- connection documents -----------------------------------------------------------------------------------------


def document(kind: str, fields: Sequence[ParamField], params: Mapping[str, Any]) -> dict[str, Any]:
    """The connection document of an adapter. Raises ``ParamsError``."""
    checked = validate_params(fields, params)
    _refuse_credentials(checked)
    paths = {field["name"] for field in fields if field.get("type") == "path"}
    held = {key: _absolute(value) if key in paths else value for key, value in checked.items()}
    return {"type": kind, "contract_version": CONTRACT_VERSION, **held}


def parameters(kind: str, fields: Sequence[ParamField], connection: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a connection document, checked again. Raises ``ConnectorRegistrationError``."""
    named = connection.get("type", kind)
    if named != kind:
        raise ConnectorRegistrationError(f"the document is of type {named!r}, and this connector is {kind!r}")
    held = {key: value for key, value in connection.items() if key not in ("type", "contract_version")}
    checked = validate_params(fields, held)
    _refuse_credentials(checked)
    return checked


def _refuse_credentials(params: Mapping[str, Any]) -> None:
    """Refuses what could not be stored before anything is reached: an error of a library may repeat what it got."""
    problems = [ParamProblem(path, _NO_CREDENTIAL) for path in secret_paths(params)]
    if problems:
        told = "; ".join(f"{one.name}: {one.message}" for one in problems)
        raise ParamsError(f"these parameters cannot be used: {told}", problems)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


# --- values -------------------------------------------------------------------------------------------------------


def wrong(name: str, message: str) -> ParamsError:
    """The error that says what is wrong with one parameter."""
    return ParamsError(f"these parameters cannot be used: {name}: {message}", [ParamProblem(name, message)])


def either(params: Mapping[str, Any], one: str, of_one: Sequence[str], other: str, of_other: Sequence[str]) -> str:
    """Which of two parameters is given, and with it none of those that belong to the other. Raises ``ParamsError``."""
    given, missing = [name for name in (one, other) if params.get(name)], f"give {one} or {other}"
    if len(given) != 1:
        raise wrong(one, f"{missing}, not both" if given else missing)
    strange = next((name for name in (of_other if given[0] == one else of_one) if params.get(name)), None)
    if strange is not None:
        raise wrong(strange, f"does not go with {given[0]}; leave it out")
    return given[0]


def mapping(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The value of a parameter that is an object, empty where it is not given. Raises ``ParamsError``."""
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(name, f'must be an object such as {{"name": "value"}}, not a {type(value).__name__}')
    return dict(value)


def texts(params: Mapping[str, Any], name: str) -> dict[str, str]:
    """The value of a parameter that is an object of texts. Raises ``ParamsError``."""
    held = mapping(params, name)
    for key, value in held.items():
        if not isinstance(value, str):
            raise wrong(name, f"{key} must be a text, not a {type(value).__name__}")
    return held


def references(params: Mapping[str, Any], name: str) -> dict[str, str]:
    """The value of a parameter that is an object of references to secrets. Raises ``ParamsError``."""
    held = texts(params, name)
    for key, value in held.items():
        if not is_secret_reference(value):
            raise wrong(name, f"{key} must be env:NAME or file:/absolute/path, never the secret itself")
    return held


def resolved(params: Mapping[str, Any], name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The value of a parameter that is an object of texts, with the secrets that references in it stand for."""
    held = texts(params, name)
    return {key: resolve_secret(one, environ) if is_secret_reference(one) else one for key, one in held.items()}


def headers_of(params: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of every request, the token's among them. Raises ``ParamsError`` for what cannot be sent.

    Libraries repeat what they cannot send in their errors, and it may be a secret; here the header alone is named.
    """
    headers = resolved(params, "headers", environ)
    if params.get("token"):
        if any(name.lower() == "authorization" for name in headers):
            raise wrong("token", "cannot be given beside a header Authorization; leave one of the two out")
        headers["Authorization"] = f"Bearer {resolve_secret(params['token'], environ)}"
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise wrong("headers", f"{name!r} is no name of a header")
        if not (value.isascii() and value.isprintable()):
            raise wrong("headers", f"{name!r} cannot be sent; keep to printable ASCII")
        if value != value.strip():
            raise wrong("headers", f"{name!r} cannot be sent; its value begins or ends with a blank")
    return headers


def found_object(params: Mapping[str, Any], ready: Callable[[object], bool]) -> Any:
    """What the parameters of ``OBJECT`` lead to. Raises ``ConnectorRegistrationError``."""
    kwargs, secrets = mapping(params, "kwargs"), references(params, "secrets")
    if "folder" in params:
        reach(params["folder"])
    return made(params["object"], kwargs, secrets, environment(), ready)


def layout_of(params: Mapping[str, Any], conventions: Layout | None = None) -> Layout:
    """The layout that the parameters declare, with the conventions of a library."""
    given = conventions or Layout()
    if params.get("id_key") and params.get("text_ids"):
        raise wrong("text_ids", "cannot be true beside id_key; give one of the two")
    return Layout(
        id_key=params.get("id_key", ""),
        doc_key=params.get("doc_key", ""),
        name_key=params.get("name_key", ""),
        ordinal_key=params.get("ordinal_key", ""),
        text_ids=params.get("text_ids", False),
        docs=given.docs,
        names=given.names,
        ordinals=given.ordinals,
    )


def space_of(params: Mapping[str, Any]) -> EmbeddingSpaceDescriptor | None:
    """The vector space that the parameters declare, None where they declare none. Raises ``ParamsError``."""
    held = mapping(params, "embedding")
    if not held:
        return None
    unknown = [key for key in held if key not in _EMBEDDING_KEYS]
    lacking = [key for key in _EMBEDDING_KEYS[:3] if held.get(key) is None]
    if unknown or lacking:
        what = f"has no {unknown[0]!r}" if unknown else f"needs {', '.join(lacking)}"
        raise wrong("embedding", f"{what}; its keys are {', '.join(_EMBEDDING_KEYS)}")
    if isinstance(held["dimensions"], bool) or not isinstance(held["dimensions"], int):
        raise wrong("embedding", "dimensions must be a whole number")
    return EmbeddingSpaceDescriptor(
        model=str(held["model"]),
        dimension=held["dimensions"],
        normalized=held.get("normalize"),
        fingerprint=embedding_fingerprint(**held),
    )


def frozen_of(params: Mapping[str, Any]) -> dict[str, ChunkRecord] | None:
    """The chunks in the file that the parameters name, by id. Raises ``ParamsError`` for one that cannot be read."""
    path = params.get("chunks")
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8", newline="") as file:
            records = chunks_from_jsonl(file.read())
    except OSError as error:
        raise wrong("chunks", f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise wrong("chunks", f"{path} is not UTF-8") from error
    except ContractValueError as error:
        raise wrong("chunks", f"{path}, {error}") from error
    return {record.chunk_id: record for record in records}
