"""A server of the Model Context Protocol with the small corpus: a program, or with a port an address.

python mcp_server.py [PORT]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mcp.server.mcpserver import MCPServer

from tests.serve.adapters.notes import embedded, places

server = MCPServer("notes")

ROWS = [
    {"chunk_id": chunk_id, "doc_id": doc_id, "source_file": doc_id, "doc_chunk_index": place, "text": text}
    for chunk_id, doc_id, place, text in places()
]


def ranked(question: str, most: int) -> list[dict[str, Any]]:
    asked = embedded(question)
    scored = [(sum(a * b for a, b in zip(asked, embedded(str(one["text"])), strict=True)), one) for one in ROWS]
    found = sorted(scored, key=lambda pair: (-pair[0], pair[1]["chunk_id"]))
    return [{**one, "score": score} for score, one in found[:most]]


@server.tool()
def search(query: str, top_k: int = 5) -> dict[str, Any]:
    """Searches."""
    return {"hits": ranked(query, top_k)}


@server.tool(structured_output=False)
def as_text(query: str, top_k: int = 5) -> dict[str, Any]:
    """Searches, and gives JSON as text."""
    return {"hits": ranked(query, top_k)}


@server.tool(structured_output=False)
def as_parts(question: str, size: int = 5) -> list[dict[str, Any]]:
    """Searches, and gives a text for each hit, with fields of other names and without scores."""
    return [{"id": one["chunk_id"], "snippet": one["text"]} for one in ranked(question, size)]


@server.tool(structured_output=False)
def in_prose(query: str) -> str:
    """Answers in words."""
    return "Nobody knows."


@server.tool()
def failing(query: str) -> dict[str, Any]:
    """Fails."""
    raise ConnectionError("a text that nobody shall see")


@server.tool()
def dying(query: str) -> dict[str, Any]:
    """Ends the program at the first question that says so."""
    if query == "die":
        os._exit(3)
    return {"hits": ranked(query, 5)}


@server.tool()
def slow(query: str) -> dict[str, Any]:
    """Takes its time when it is asked to."""
    time.sleep(30 if query == "sleep" else 0)
    return {"hits": ranked(query, 5)}


@server.tool()
def environment(query: str) -> dict[str, Any]:
    """Tells a variable and the folder."""
    return {"hits": [{"text": os.environ.get("NOTES_KEY", "none"), "score": 1, "doc_id": os.getcwd()}]}


@server.tool()
def chunks(cursor: str = "0", limit: int = 1000) -> dict[str, Any]:
    """The corpus by pages."""
    if not cursor.isdecimal():
        raise ValueError("no such cursor")
    start = int(cursor)
    following = str(start + limit) if start + limit < len(ROWS) else None
    return {"chunks": ROWS[start : start + limit], "next_cursor": following}


@server.tool()
def fetch(ids: list[str]) -> dict[str, Any]:
    """Chunks by id."""
    return {"chunks": [one for one in ROWS if one["chunk_id"] in ids]}


if __name__ == "__main__":
    # What a server says of itself is of no use to a test.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
