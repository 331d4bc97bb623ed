"""A server that answers by HTTP with JSON as a pipeline of the contract.

The protocol is of our own (``docs/reference/adapters.md``); a server that names its fields otherwise is told by a
mapping. Proxies and credentials of the environment are not looked at, and redirects are not followed, so nothing goes
anywhere but to the address that was given.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.answers import CHUNKS, HITS, NEXT_CURSOR, RESPONSE, Places, parsed
from estante.serve.adapters.backends import Backend, Found, every_row, pipeline_of
from estante.serve.adapters.deadlines import BoundedBackend, Deadlines
from estante.serve.adapters.objects import library
from estante.serve.adapters.parameters import CHUNKS as CHUNKS_FILE
from estante.serve.adapters.parameters import (
    EMBEDDING,
    TIMEOUT,
    document,
    frozen_of,
    headers_of,
    mapping,
    parameters,
    score_kind,
    space_of,
    texts,
    wrong,
)
from estante.serve.adapters.records import Layout, Row
from estante.serve.adapters.scales import NONE, Scale
from estante.shelf.settings import environment

KIND: Final = "http"
MOST_BYTES: Final = 256_000_000
"""An answer with more is taken for endless."""

GZIP: Final = "gzip"
_GZIP_BITS: Final = 31
_PIECE: Final = 1_048_576

VECTORS: Final = "vectors"
REQUEST_FIELDS: Final = ("text", "top_k", "cursor", "limit", "ids")
"""What is asked, under these names unless another is told."""


def _path(name: str, label: str, what: str, default: str = "") -> ParamField:
    return {
        "name": name,
        "label": label,
        "type": "string",
        "default": default,
        "help": f"the path that {what}; empty when the server has none",
    }


PARAMS: Final[tuple[ParamField, ...]] = (
    {
        "name": "url",
        "label": "Address",
        "type": "string",
        "required": True,
        "pattern": r"https?://[^\s/?#@]+(/[^\s?#]*)?",
        "placeholder": "https://rag.example.org/v1",
        "help": "the address that the paths are beneath",
    },
    {"name": "token", "label": "Token", "type": "secret", "help": "a token, sent as Authorization: Bearer"},
    {
        "name": "headers",
        "label": "Headers",
        "type": "any",
        "help": "an object of headers for every request; one that is a secret as env:NAME or file:/absolute/path",
    },
    {
        "name": "ca_file",
        "label": "Certificates",
        "type": "path",
        "help": "a file of certificates to trust instead of the usual ones",
    },
    TIMEOUT,
    {
        "name": "query_path",
        "label": "Search",
        "type": "string",
        "required": True,
        "default": "query",
        "help": "the path that is asked",
    },
    {
        "name": "query_method",
        "label": "Method of the search",
        "type": "enum",
        "choices": ["POST", "GET"],
        "default": "POST",
        "help": "POST sends JSON, GET sends parameters",
    },
    _path("chunks_path", "Corpus by pages", "gives the corpus by pages", "chunks"),
    _path("by_id_path", "Chunks by id", "gives chunks by their ids"),
    _path("vectors_path", "Vectors", "gives vectors by ids"),
    _path("health_path", "Health", "tells whether the server is well"),
    {
        "name": "request",
        "label": "Names of what is asked",
        "type": "any",
        "help": f"an object that gives {', '.join(REQUEST_FIELDS)} other names, such as {{'text': 'q'}}",
    },
    {
        "name": "constants",
        "label": "Constants",
        "type": "any",
        "help": "an object of further values for every search, such as the name of an index",
    },
    RESPONSE,
    {
        "name": "count_places",
        "label": "Count places",
        "type": "boolean",
        "default": False,
        "help": "true counts the places of chunks in their documents, for a server that does not tell them",
    },
    CHUNKS_FILE,
    score_kind(),
    {
        "name": "complete_set",
        "label": "Bounds its lists",
        "type": "boolean",
        "default": False,
        "help": "true says that the server bounds the list of hits by itself",
    },
    EMBEDDING,
)

# The client of httpx, whose type need not be installed.
Client = Any


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document. Nothing is sent yet. Raises ``ConnectorRegistrationError``."""
    params = parameters(KIND, PARAMS, connection)
    frozen, space = frozen_of(params), space_of(params)
    server = _Server(params)
    whole = params["complete_set"]
    paged = server.page if params["chunks_path"] and frozen is None else None
    return pipeline_of(
        Backend(
            kind=KIND,
            search=server.search,
            layout=Layout(docs=(), names=(), ordinals=(), partial_hits=True),
            scale=Scale(NONE if whole else params["score_kind"]),
            mode="complete_set" if whole else "",
            page=None if params["count_places"] else paged,
            rows=server.every if paged else None,
            frozen=frozen,
            by_id=server.by_id if params["by_id_path"] else None,
            vectors=server.vectors if params["vectors_path"] else None,
            health=server.health if params["health_path"] else None,
            space=space,
            close=server.close,
            facts={"url": params["url"]},
        )
    )


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document."""
    held = document(KIND, PARAMS, params)
    return build(held), held


# --- the server ---------------------------------------------------------------------------------------------------


class _Server:
    """What is asked of the server, and how its answers are read."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._params = params
        self._names = _names(params)
        self._places = Places.of(params, (HITS, CHUNKS, NEXT_CURSOR, VECTORS, "ok", "detail"))
        self._constants = _constants(params)
        self._timeout = float(params["timeout"])
        self._deadlines = Deadlines()
        self._headers, self._trusted = headers_of(params, environment()), _trusted(params)
        self._client, self._process = self._connected(), os.getpid()

    def close(self) -> None:
        """Closes what is open."""
        self._client.close()

    def _connected(self) -> Client:
        """A client, every step of which is held to the deadline of its call."""
        with library(KIND):
            import httpx
        self._url = httpx.URL
        transport = httpx.HTTPTransport(verify=self._trusted, trust_env=False)
        # Not public, and nowhere else can a whole answer be given a time.
        pool: Any = transport._pool
        pool._network_backend = BoundedBackend(pool._network_backend, self._deadlines)
        return httpx.Client(
            headers={"Accept": "application/json", "Accept-Encoding": GZIP, **self._headers},
            timeout=self._timeout,
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )

    def _own(self) -> Client:
        """The client of this process: on a connection of the one it was forked from answers would go astray."""
        if self._process != os.getpid():
            self._client, self._process = self._connected(), os.getpid()
        return self._client

    def search(self, text: str, top_k: int) -> list[Found]:
        """The hits for a question."""
        asked = {**self._constants, **self._named(text=text, top_k=top_k)}
        method = self._params["query_method"]
        return self._places.hits(self._ask(method, "query_path", asked))

    def page(self, cursor: str | None, limit: int) -> tuple[Sequence[Row], str | None]:
        """A part of the corpus, and the cursor of the next."""
        asked = self._named(limit=limit, **({} if cursor is None else {"cursor": cursor}))
        answer = self._ask("GET", "chunks_path", asked)
        rows = self._places.chunks(answer)
        if len(rows) > limit:
            raise ConnectorContractError(f"the server gave {len(rows)} chunks where {limit} were asked for")
        return rows, self._places.next_cursor(answer)

    def every(self) -> Iterator[Row]:
        """The whole corpus."""
        return every_row(self.page)

    def by_id(self, ids: Sequence[str]) -> list[Row]:
        """The chunks of these ids; an unknown id is absent."""
        return self._places.chunks(self._ask("POST", "by_id_path", self._named(ids=list(ids))))

    def vectors(self, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """The vectors of these ids; an unknown id is absent."""
        answer = self._ask("POST", "vectors_path", self._named(ids=list(ids)))
        self._places.refuse_error(answer)
        found = self._places.find(answer, VECTORS)
        if not isinstance(found, dict):
            raise ConnectorContractError("the answer has no object of vectors by id; tell its place (vectors)")
        return found

    def health(self) -> str:
        """What the server tells of its health. Raises when it is not well."""
        answer = self._ask("GET", "health_path", {})
        detail = self._places.find(answer, "detail")
        told = detail if isinstance(detail, str) else ""
        if self._places.find(answer, "ok") is False:
            raise ConnectorOperationalError(f"the server is not well: {told[:200] or 'it does not say why'}")
        return told[:200]

    def _named(self, **values: Any) -> dict[str, Any]:
        return {self._names[name]: value for name, value in values.items()}

    def _ask(self, method: str, path: str, values: Mapping[str, Any]) -> Any:
        """The JSON of the answer. Raises for every answer that is no success, in words without what it holds."""
        url = f"{self._params['url'].rstrip('/')}/{self._params[path].lstrip('/')}"
        who = f"{method} {url}"
        client = self._own()
        # Merged, because the client would put them in the place of those that the path has itself.
        asked = {"url": self._url(url).copy_merge_params(values)} if method == "GET" else {"url": url, "json": values}
        with self._deadlines.within(self._timeout, who), client.stream(method, **asked) as response:
            if not response.is_success:
                moved = "; give the address that it redirects to" if response.is_redirect else ""
                raise ConnectorOperationalError(f"{who} answered {response.status_code}{moved}")
            content = bytearray()
            for part in _unpacked(response.iter_raw(), response.headers.get("Content-Encoding", ""), who):
                content += part
                if len(content) > MOST_BYTES:
                    raise ConnectorOperationalError(f"{who} answered with more than {MOST_BYTES} bytes")
        return parsed(bytes(content), who)


def _unpacked(parts: Iterator[bytes], encoding: str, who: str) -> Iterator[bytes]:
    """The content in pieces of a bounded size: little can unpack to more than there is memory."""
    if encoding.strip().lower() in ("", "identity"):
        yield from parts
        return
    if encoding.strip().lower() not in (GZIP, "x-gzip"):
        raise ConnectorOperationalError(f"{who} answered in an encoding that was not asked for, {encoding[:20]!r}")
    unpacking = zlib.decompressobj(_GZIP_BITS)
    try:
        for part in parts:
            yield unpacking.decompress(part, _PIECE)
            while unpacking.unconsumed_tail:
                yield unpacking.decompress(unpacking.unconsumed_tail, _PIECE)
        yield unpacking.flush()
    except zlib.error as error:
        raise ConnectorOperationalError(f"{who} answered with gzip that is damaged") from error
    if not unpacking.eof or unpacking.unused_data:
        raise ConnectorOperationalError(f"{who} answered with gzip that is not whole")


def _constants(params: Mapping[str, Any]) -> dict[str, Any]:
    """The values of every search. Raises ``ParamsError`` for those that a query of an address cannot say."""
    held = mapping(params, "constants")
    nested = [name for name, value in held.items() if isinstance(value, Mapping)]
    if nested and params["query_method"] == "GET":
        raise wrong("constants", f"{nested[0]} is an object, which only POST can send")
    return held


def _trusted(params: Mapping[str, Any]) -> Any:
    """Whose certificates are trusted: the usual ones, or those of a file."""
    if "ca_file" not in params:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=params["ca_file"])
    except (OSError, ssl.SSLError) as error:
        raise wrong("ca_file", f"{params['ca_file']} cannot be used: {error.strerror or error}") from error


def _names(params: Mapping[str, Any]) -> dict[str, str]:
    told = texts(params, "request")
    unknown = [name for name in told if name not in REQUEST_FIELDS]
    if unknown:
        raise wrong("request", f"there is no {unknown[0]!r}; there are: {', '.join(REQUEST_FIELDS)}")
    return {name: told.get(name, name) for name in REQUEST_FIELDS}


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="HTTP",
    description="A server that answers by HTTP with JSON",
    build=build,
    connect=connect,
    params=list(PARAMS),
)
