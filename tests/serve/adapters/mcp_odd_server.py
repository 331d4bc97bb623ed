"""A server of the Model Context Protocol written by hand, for what no library would say.

python mcp_odd_server.py WAY
"""

from __future__ import annotations

import json
import sys
from typing import Any

WAY = sys.argv[1]
TOOL = {"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result; None for a method that there is not."""
    if method == "initialize":
        about = {"name": "odd", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL], **({"nextCursor": "on"} if WAY == "endless" else {})}
    if method != "tools/call":
        return None
    hits = {"hits": [{"chunk_id": params["arguments"]["query"], "text": "nobody shall see", "score": 1}]}
    return hits if WAY == "bare" else {"content": [{"type": "text", "text": json.dumps(hits)}]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        told = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
