"""A collection of Chroma, in a folder or on a server, as a pipeline of the contract.

Scores are converted by the metric that the collection itself names. Nothing is ever made: neither the folder nor the
collection. Chroma's telemetry is off.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

from estante.contract.checks.attempts import cause, told
from estante.contract.errors import (
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
)
from estante.contract.models import DatasetRef, EmbeddingSpaceDescriptor
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.backends import Backend, Found, every_row, pipeline_of
from estante.serve.adapters.objects import library, made, reach
from estante.serve.adapters.parameters import (
    EMBEDDING,
    LAYOUT,
    document,
    either,
    headers_of,
    layout_of,
    mapping,
    parameters,
    references,
    space_of,
    wrong,
)
from estante.serve.adapters.records import Layout, Row
from estante.serve.adapters.vectorstores import space_scale
from estante.shelf.settings import environment, quieten

KIND: Final = "chroma"
FILE: Final = "chroma.sqlite3"
"""What a folder of Chroma always holds."""
PORT: Final = 8000
SECONDS: Final = 30.0

_CURSOR: Final = re.compile(r"([1-9][0-9]{0,17})\.([0-9a-f]{16})")

_OF_SERVER: Final = ("port", "ssl", "headers", "timeout")

PARAMS: Final[tuple[ParamField, ...]] = (
    {
        "name": "path",
        "label": "Folder",
        "type": "path",
        "help": "the folder of a PersistentClient; give this or host",
    },
    {
        "name": "host",
        "label": "Host",
        "type": "string",
        "pattern": r"(https?://)?[^\s/?#@]+(/[^\s?#@]*)?",
        "help": "the host of a server; give this or path",
    },
    {
        "name": "port",
        "label": "Port",
        "type": "integer",
        "minimum": 1,
        "maximum": 65535,
        "help": "its port, when it is not 8000",
    },
    {
        "name": "ssl",
        "label": "Encrypted",
        "type": "boolean",
        "help": "true when it is spoken to by HTTPS",
    },
    {
        "name": "headers",
        "label": "Headers",
        "type": "any",
        "help": "an object of headers for every request; one that is a secret as env:NAME or file:/absolute/path",
    },
    {
        "name": "timeout",
        "label": "Seconds",
        "type": "number",
        "minimum": 0.1,
        "maximum": 3600,
        "help": "seconds after which a server that does not answer has failed, when not 30; not while it is opened",
    },
    {"name": "tenant", "label": "Tenant", "type": "string", "help": "the tenant, when it is not the default"},
    {"name": "database", "label": "Database", "type": "string", "help": "the database, when it is not the default"},
    {
        "name": "collection",
        "label": "Collection",
        "type": "string",
        "required": True,
        "help": "the name of the collection",
    },
    {
        "name": "embedder",
        "label": "Embedder",
        "type": "string",
        "help": "module:attribute of what embeds questions, where the collection does not know it: an object with "
        "embed_query(input=texts), or a function that is given a list of texts",
    },
    {
        "name": "kwargs",
        "label": "Arguments",
        "type": "any",
        "help": "an object of arguments; with them the embedder is a function that makes the embedder",
    },
    {
        "name": "secrets",
        "label": "Secret arguments",
        "type": "any",
        "help": "an object of arguments that are secrets, each as env:NAME or file:/absolute/path",
    },
    {
        "name": "folder",
        "label": "Folder of the module",
        "type": "path",
        "help": "the folder that the embedder's module stands in, when it is not installed",
    },
    {
        "name": "where",
        "label": "Filter",
        "type": "any",
        "help": "a filter of Chroma, an object, that every search and the corpus are held to",
    },
    *LAYOUT,
    EMBEDDING,
)

# Objects of Chroma, whose types need not be installed.
Theirs = Any
Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document.

    Raises ``ConnectorRegistrationError`` for what cannot be used, a collection that is not there included, and
    ``ConnectorOperationalError`` for a server that does not answer.
    """
    params = parameters(KIND, PARAMS, connection)
    client = _client(params)
    try:
        return pipeline_of(_backend(params, client, _collection(client, params["collection"])))
    except BaseException:
        _close(client)
        raise


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document."""
    held = document(KIND, PARAMS, params)
    return build(held), held


def _backend(params: Mapping[str, Any], client: Theirs, collection: Theirs) -> Backend:
    layout, where = layout_of(params), mapping(params, "where") or None
    scale = space_scale(collection.configuration_json)
    if scale is None:
        raise ConnectorRegistrationError(f"collection {params['collection']!r} has a metric that is not known")
    embed, known = _embedder(params, collection)
    reader = _Reader(collection, where)
    return Backend(
        kind=KIND,
        search=_search(collection, embed, where),
        layout=layout,
        scale=scale,
        rows=reader.every,
        page=reader.page if reader.tells_places(layout) else None,
        by_id=reader.by_id,
        vectors=reader.vectors,
        embed=embed,
        space=space_of(params) or known,
        health=lambda: f"{collection.count()} chunks",
        close=lambda: _close(client),
        facts=_facts(params, where),
    )


def list_datasets(params: dict[str, Any]) -> list[DatasetRef]:
    """The collections, each with how many chunks it holds."""
    client = _client(params)
    try:
        with _reaching("the collections cannot be listed"):
            found = [(one.name, one.count()) for one in client.list_collections()]
    finally:
        _close(client)
    return [
        DatasetRef(id=name, label=name, item_count=count, connect_params={"collection": name})
        for name, count in sorted(found)
    ]


# --- opening ------------------------------------------------------------------------------------------------------


@contextmanager
def _reaching(what: str) -> Iterator[None]:
    """Inside, Chroma is reached for: whatever it raises becomes an error of the contract."""
    try:
        yield
    except ConnectorError:
        raise
    except Exception as error:  # noqa: BLE001 - errors of its bindings, of HTTP and of its own.
        raise ConnectorOperationalError(f"{what}: {told(error)}") from cause(error)


def _client(params: Mapping[str, Any]) -> Theirs:
    tenancy = {name: params[name] for name in ("tenant", "database") if params.get(name)}
    local = either(params, "path", (), "host", _OF_SERVER) == "path"
    path = params.get("path", "")
    if local and not os.path.isfile(os.path.join(path, FILE)):
        raise wrong("path", f"there is no Chroma in {path}; name the folder of a PersistentClient")
    quieten()
    with library(KIND):
        import chromadb
        from chromadb.config import Settings
    settings = Settings(anonymized_telemetry=False)
    if local:
        # By its real path, because Chroma opens a second engine for another spelling of it.
        with _reaching(f"the Chroma in {path} cannot be opened"):
            return chromadb.PersistentClient(os.path.realpath(path), settings=settings, **tenancy)
    server = {"host": params["host"], "port": params.get("port", PORT), "ssl": params.get("ssl", False)}
    headers = headers_of(params, environment())
    with _reaching(f"the Chroma at {server['host']}:{server['port']} cannot be reached"):
        client = chromadb.HttpClient(**server, headers=headers or None, settings=settings, **tenancy)
    for session in _sessions(client):
        session.timeout = float(params.get("timeout", SECONDS))
    return client


def _sessions(client: Theirs) -> list[Theirs]:
    """The connections to a server, none for a folder. Not public, and Chroma neither bounds nor closes them."""
    owners = (client, getattr(client, "_admin_client", None))
    found = [getattr(getattr(one, "_server", None), "_session", None) for one in owners]
    return [one for one in found if hasattr(one, "timeout") and hasattr(one, "close")]


def _close(client: Theirs) -> None:
    sessions = _sessions(client)
    client.close()
    for session in sessions:
        session.close()


def _collection(client: Theirs, name: str) -> Theirs:
    from chromadb.errors import NotFoundError

    with _reaching(f"collection {name!r} cannot be opened"):
        try:
            # Without a function, because Chroma would put its own default in the place of an unknown one.
            return client.get_collection(name, embedding_function=None)
        except NotFoundError as error:
            names = sorted(one.name for one in client.list_collections())
            there = ", ".join(names) or "none"
            raise wrong("collection", f"there is no collection {name!r}; there are: {there}") from error


# --- what is asked ------------------------------------------------------------------------------------------------


def _search(collection: Theirs, embed: Embed, where: Mapping[str, Any] | None) -> Callable[[str, int], list[Found]]:
    def search(text: str, top_k: int) -> list[Found]:
        [vector] = embed([text])
        found = collection.query(
            query_embeddings=[[float(part) for part in vector]],
            n_results=top_k,
            where=where,
            include=["documents", "metadatas", "distances"],
        )
        columns = (found[name][0] for name in ("ids", "documents", "metadatas", "distances"))
        return [
            Found(row=_row(own_id, text, metadata), number=distance)
            for own_id, text, metadata, distance in zip(*columns, strict=True)
        ]

    return search


def _embedder(params: Mapping[str, Any], collection: Theirs) -> tuple[Embed, EmbeddingSpaceDescriptor | None]:
    """What embeds questions, and what the collection says of its space."""
    kwargs, secrets = mapping(params, "kwargs"), references(params, "secrets")
    if "embedder" in params:
        if "folder" in params:
            reach(params["folder"])
        is_made = bool(kwargs or secrets)
        target, environ = params["embedder"], environment()
        return _faced(
            made(target, kwargs, secrets, environ, lambda one: not is_made and not isinstance(one, type))
        ), None
    if kwargs or secrets:
        raise wrong("kwargs" if kwargs else "secrets", "are for an embedder; name it, or leave them out")
    configured = collection.configuration_json.get("embedding_function") or {}
    if configured.get("type") != "known":
        raise wrong("embedder", "the collection does not know what embeds questions; name it")
    try:
        function = collection.configuration["embedding_function"]
    except ValueError as error:
        raise wrong(
            "embedder", f"the embedding function of the collection cannot be made; name one ({told(error)})"
        ) from error
    return _lent(_faced(function), str(configured.get("name"))), _space(configured)


def _lent(embed: Embed, name: str) -> Embed:
    """The function that the collection itself names; when it fails the error says what can be named instead."""
    fetched = ", which fetches its model from the network before its first use," if name == "default" else ""

    def embedding(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with _reaching(f"Chroma's embedding function {name!r}{fetched} failed; name another one (embedder)"):
            return embed(texts)

    return embedding


def _faced(embedder: Theirs) -> Embed:
    """The embedder as a function of texts, whichever of the usual faces it has."""
    if hasattr(embedder, "embed_query") and hasattr(embedder, "embed_documents"):
        # As LangChain has it: a question at a time.
        return lambda texts: [embedder.embed_query(text) for text in texts]
    if hasattr(embedder, "embed_query"):
        return lambda texts: embedder.embed_query(input=list(texts))
    if not callable(embedder):
        raise wrong("embedder", f"a {type(embedder).__name__} embeds nothing; name a function that takes texts")
    return lambda texts: embedder(list(texts))


def _space(configured: Mapping[str, Any]) -> EmbeddingSpaceDescriptor:
    """The space of a function that the collection knows; its identity is what the function was made of."""
    name, config = configured["name"], configured.get("config") or {}
    mark = json.dumps({"embedding_function": name, "config": config}, sort_keys=True, default=str)
    return EmbeddingSpaceDescriptor(
        model=str(config.get("model_name") or name),
        dimension=None,
        fingerprint=sha256(mark.encode()).hexdigest(),
    )


# --- what is read -------------------------------------------------------------------------------------------------


def _row(own_id: str, text: str | None, metadata: Mapping[str, Any] | None) -> Row:
    return Row(text=text or "", id=own_id, metadata=dict(metadata or {}))


def _mark(row: Row) -> str:
    """What a row is recognised by in a cursor."""
    return sha256((row.id or "").encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read_cursor(cursor: str | None) -> tuple[int, str]:
    """The position of a cursor, and the mark of the row before it. Raises ``ContractValueError`` for a foreign one."""
    if cursor is None:
        return 0, ""
    found = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None:
        raise ContractValueError(
            f"the cursor {cursor!r} is none that list_chunks gave; begin with None and follow next_cursor"
        )
    return int(found[1]), found[2]


class _Reader:
    """The rows and vectors of a collection, held to a filter."""

    def __init__(self, collection: Theirs, where: Mapping[str, Any] | None) -> None:
        self._collection = collection
        self._where = where

    def page(self, cursor: str | None, limit: int) -> tuple[list[Row], str | None]:
        """The rows behind those that were read, and the cursor of the next.

        Raises ``ConnectorOperationalError`` when what was read last no longer stands before them: a row that was taken
        away meanwhile moves all others, and some would be passed over.
        """
        start, before = _read_cursor(cursor)
        found = self._rows(limit=limit + 2, offset=start - 1) if start else self._rows(limit=limit + 1)
        if start:
            if not found or _mark(found[0]) != before:
                raise ConnectorOperationalError(
                    "the collection has changed since the cursor was given; begin again with None"
                )
            found = found[1:]
        return found[:limit], f"{start + limit}.{_mark(found[limit - 1])}" if len(found) > limit else None

    def every(self) -> Iterator[Row]:
        """All rows, in the order in which they were added."""
        return every_row(self.page)

    def by_id(self, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids; an unknown id is absent."""
        return self._rows(ids=list(ids))

    def vectors(self, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """The vectors of these ids as the index has them."""
        found = self._collection.get(ids=list(ids), where=self._where, include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    def tells_places(self, layout: Layout) -> bool:
        """Whether chunks tell their places in their documents, as the first of them does; else they are counted."""
        with _reaching("the collection cannot be read"):
            first = self._rows(limit=1)
        return not first or layout.ordinal(first[0]) is not None

    def _rows(self, **asked: Any) -> list[Row]:
        found = self._collection.get(where=self._where, include=["documents", "metadatas"], **asked)
        return list(map(_row, found["ids"], found["documents"], found["metadatas"]))


def _facts(params: Mapping[str, Any], where: Mapping[str, Any] | None) -> dict[str, Any]:
    filters = [{"name": "where", "description": "the filter of every search and of the corpus", "value": where}]
    return {"collection": params["collection"], **({"internal_filters": filters} if where else {})}


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="Chroma",
    description="A collection of Chroma, in a folder or on a server",
    build=build,
    connect=connect,
    params=list(PARAMS),
    list_datasets=list_datasets,
)
