"""The search tool of a server of the Model Context Protocol as a pipeline of the contract.

The server is a program that the protocol's library starts, or an address that it speaks to by HTTP. The hits are read
from the structured content of a result, or from its text as JSON.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from typing import Any, Final

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.secrecy import secret_paths
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.answers import CHUNKS, HITS, NEXT_CURSOR, RESPONSE, Places, parsed
from estante.serve.adapters.backends import Backend, Found, every_row, pipeline_of
from estante.serve.adapters.conversations import Client, Conversation
from estante.serve.adapters.objects import library
from estante.serve.adapters.parameters import CHUNKS as CHUNKS_FILE
from estante.serve.adapters.parameters import (
    EMBEDDING,
    TIMEOUT,
    document,
    either,
    frozen_of,
    headers_of,
    mapping,
    parameters,
    resolved,
    score_kind,
    space_of,
    wrong,
)
from estante.serve.adapters.records import Layout, Row
from estante.serve.adapters.scales import NONE, Scale
from estante.shelf.settings import environment

KIND: Final = "mcp"

MOST_PAGES: Final = 100
"""A list of tools with more is taken for endless."""

_OF_PROGRAM: Final = ("args", "env", "cwd")
_OF_SERVER: Final = ("token", "headers")


def _argument(name: str, label: str, what: str, default: str) -> ParamField:
    return {"name": name, "label": label, "type": "string", "default": default, "help": f"the argument that {what}"}


PARAMS: Final[tuple[ParamField, ...]] = (
    {
        "name": "command",
        "label": "Program",
        "type": "string",
        "help": "the program that is the server; give this or url",
    },
    {"name": "args", "label": "Arguments", "type": "any", "help": "a list of its arguments"},
    {
        "name": "env",
        "label": "Variables",
        "type": "any",
        "help": "an object of variables for it; one that is a secret as env:NAME or file:/absolute/path",
    },
    {"name": "cwd", "label": "Folder", "type": "path", "help": "the folder that it is started in"},
    {
        "name": "url",
        "label": "Address",
        "type": "string",
        "pattern": r"https?://[^\s/?#@]+(/[^\s?#]*)?",
        "placeholder": "https://rag.example.org/mcp",
        "help": "the address of a server by streamable HTTP; give this or command",
    },
    {
        "name": "token",
        "label": "Token",
        "type": "secret",
        "help": "a token, sent as Authorization: Bearer",
    },
    {
        "name": "headers",
        "label": "Headers",
        "type": "any",
        "help": "an object of headers for every request; one that is a secret as env:NAME or file:/absolute/path",
    },
    TIMEOUT,
    {"name": "tool", "label": "Search", "type": "string", "required": True, "help": "the tool that searches"},
    _argument("query_argument", "Question", "takes the question", "query"),
    _argument("top_k_argument", "Breadth", "bounds the list of hits; empty when there is none", "top_k"),
    {
        "name": "constants",
        "label": "Constants",
        "type": "any",
        "help": "an object of further arguments for every search",
    },
    {
        "name": "chunks_tool",
        "label": "Corpus by pages",
        "type": "string",
        "help": "the tool that gives the corpus by pages, when there is one",
    },
    _argument("cursor_argument", "Cursor", "takes the cursor of a page", "cursor"),
    _argument("limit_argument", "Size of a page", "bounds a page; empty when there is none", "limit"),
    {"name": "by_id_tool", "label": "Chunks by id", "type": "string", "help": "the tool that gives chunks by ids"},
    _argument("ids_argument", "Ids", "takes a list of ids", "ids"),
    RESPONSE,
    {
        "name": "count_places",
        "label": "Count places",
        "type": "boolean",
        "default": False,
        "help": "true counts the places of chunks in their documents, for a tool that does not tell them",
    },
    CHUNKS_FILE,
    score_kind(),
    {
        "name": "complete_set",
        "label": "Bounds its lists",
        "type": "boolean",
        "default": False,
        "help": "true says that the tool bounds the list of hits by itself",
    },
    EMBEDDING,
)


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document. Nothing is started yet. Raises ``ConnectorRegistrationError``."""
    return _built(parameters(KIND, PARAMS, connection))[0]


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document, once the server was asked for its tools.

    Raises ``ConnectorRegistrationError`` for a tool or an argument that is not there, and
    ``ConnectorOperationalError`` for a server that does not answer.
    """
    held = document(KIND, PARAMS, params)
    pipeline, tools = _built(parameters(KIND, PARAMS, held))
    try:
        tools.expect()
    except BaseException:
        tools.close()
        raise
    return pipeline, held


def _built(params: Mapping[str, Any]) -> tuple[RagPipeline, _Tools]:
    frozen, space = frozen_of(params), space_of(params)
    tools = _Tools(params)
    whole = params["complete_set"]
    paged = tools.page if params.get("chunks_tool") and frozen is None else None
    backend = Backend(
        kind=KIND,
        search=tools.search,
        layout=Layout(docs=(), names=(), ordinals=(), partial_hits=True),
        scale=Scale(NONE if whole else params["score_kind"]),
        mode="complete_set" if whole else "",
        page=None if params["count_places"] else paged,
        rows=tools.every if paged else None,
        frozen=frozen,
        by_id=tools.by_id if params.get("by_id_tool") else None,
        health=tools.health,
        space=space,
        close=tools.close,
        facts={"tool": params["tool"]},
    )
    return pipeline_of(backend), tools


# --- the tools ----------------------------------------------------------------------------------------------------


class _Tools:
    """What the tools are asked, and how their results are read."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._params = params
        self._places = Places.of(params, (HITS, CHUNKS, NEXT_CURSOR))
        self._constants = mapping(params, "constants")
        self._conversation = Conversation(_opening(params), float(params["timeout"]))
        self.close = self._conversation.close

    def search(self, text: str, top_k: int) -> list[Found]:
        """The hits for a question."""
        return self._places.hits(self._call("tool", {**self._constants, **self._asked(query=text, top_k=top_k)}))

    def page(self, cursor: str | None, limit: int) -> tuple[Sequence[Row], str | None]:
        """A part of the corpus, and the cursor of the next."""
        asked = self._asked(limit=limit, **({} if cursor is None else {"cursor": cursor}))
        answer = self._call("chunks_tool", asked)
        rows = self._places.chunks(answer)
        if len(rows) > limit:
            raise ConnectorContractError(f"the tool gave {len(rows)} chunks where {limit} were asked for")
        return rows, self._places.next_cursor(answer)

    def every(self) -> Iterator[Row]:
        """The whole corpus."""
        return every_row(self.page)

    def by_id(self, ids: Sequence[str]) -> list[Row]:
        """The chunks of these ids; an unknown id is absent."""
        return self._places.chunks(self._call("by_id_tool", self._asked(ids=list(ids))))

    def health(self) -> str:
        """How many tools the server has. Raises when it does not answer, and when the search is not among them."""
        tools = self._tools()
        if self._params["tool"] not in tools:
            raise ConnectorOperationalError(f"the server has no tool {self._params['tool']!r} any more")
        return f"{len(tools)} tools"

    def expect(self) -> None:
        """Raises ``ParamsError`` for a tool that the server does not have, or an argument that the tool does not."""
        tools = self._tools()
        for param, arguments in _ARGUMENTS.items():
            name = self._params.get(param)
            if not name:
                continue
            if name not in tools:
                raise wrong(param, f"there is no tool {name!r}; there are: {', '.join(sorted(tools)) or 'none'}")
            known = tools[name]
            for one in arguments:
                given = self._params[one]
                if given and known is not None and given not in known:
                    raise wrong(one, f"tool {name!r} takes no {given!r}; it takes: {', '.join(known) or 'nothing'}")

    def _tools(self) -> dict[str, list[str] | None]:
        """The tools, and the names of what each takes; None where it takes anything."""
        found: dict[str, list[str] | None] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = self._conversation.ask("listing the tools", _listing(cursor))
            for tool in page.tools:
                schema = tool.input_schema or {}
                free = "properties" not in schema or schema.get("additionalProperties")
                found[tool.name] = None if free else list(schema["properties"])
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ConnectorContractError(f"the server's list of tools went on after {MOST_PAGES} pages; ask its author")

    def _asked(self, **values: Any) -> dict[str, Any]:
        """The arguments under their names in the tool; one without a name is left out."""
        names = {one: self._params[f"{one}_argument"] for one in values}
        return {names[one]: value for one, value in values.items() if names[one]}

    def _call(self, param: str, arguments: Mapping[str, Any]) -> Any:
        """The JSON of a result. Raises for a result that says that the tool failed."""
        name = self._params[param]
        result = self._conversation.ask(f"tool {name!r}", _calling(name, dict(arguments)))
        if result.is_error:
            # What the tool says may hold anything, so it is not told.
            raise ConnectorOperationalError(f"tool {name!r} says that it failed; see what its server tells")
        if result.structured_content is not None:
            return result.structured_content
        parts = [one.text for one in result.content if getattr(one, "type", "") == "text"]
        read = [parsed(one, f"tool {name!r}") for one in parts]
        if not read:
            raise ConnectorContractError(f"tool {name!r} gave neither structured content nor text")
        return read[0] if len(read) == 1 else read


_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tool": ("query_argument", "top_k_argument"),
    "chunks_tool": ("cursor_argument", "limit_argument"),
    "by_id_tool": ("ids_argument",),
}
"""By the parameter of each tool, those of its arguments."""


def _listing(cursor: str | None) -> Any:
    return lambda client: client.list_tools(cursor=cursor)


def _calling(name: str, arguments: dict[str, Any]) -> Any:
    return lambda client: client.call_tool(name, arguments)


# --- the server ---------------------------------------------------------------------------------------------------


def _opening(params: Mapping[str, Any]) -> Any:
    """What opens a client: of the program that is started, or of the address."""
    if either(params, "command", _OF_PROGRAM, "url", _OF_SERVER) == "url":
        headers = headers_of(params, environment())
        _expect_library()
        return lambda: _speaking(params["url"], headers, float(params["timeout"]))
    args = params.get("args", [])
    if not isinstance(args, list | tuple) or not all(isinstance(one, str) for one in args):
        raise wrong("args", 'must be a list of texts such as ["--port", "8000"]')
    for flag, value in pairwise(args):
        if flag.startswith("-") and not value.startswith("-") and secret_paths({flag.lstrip("-"): value}):
            # Every user of the machine can see the arguments of a program.
            raise wrong("args", f"what stands behind {flag!r} looks like a credential; give it by env, as env:NAME")
    env = resolved(params, "env", environment())
    _expect_library()
    return lambda: _starting(params["command"], list(args), env, params.get("cwd"))


def _expect_library() -> None:
    with library(KIND):
        import mcp  # noqa: F401 - here, so that a missing library is told before anything is started.


def _starting(
    command: str, args: list[str], env: dict[str, str], cwd: str | None
) -> AbstractAsyncContextManager[Client]:
    from mcp import Client as McpClient
    from mcp import StdioServerParameters

    client: AbstractAsyncContextManager[Client] = McpClient(
        StdioServerParameters(command=command, args=args, env=env, cwd=cwd)
    )
    return client


@asynccontextmanager
async def _speaking(url: str, headers: dict[str, str], timeout: float) -> AsyncIterator[Client]:
    import httpx2
    from mcp import Client as McpClient
    from mcp.client.streamable_http import streamable_http_client

    # Neither proxies nor credentials of the environment.
    http = httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False)
    async with http, McpClient(streamable_http_client(url, http_client=http)) as client:
        yield client


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="MCP",
    description="The search tool of a server of the Model Context Protocol",
    build=build,
    connect=connect,
    params=list(PARAMS),
)
