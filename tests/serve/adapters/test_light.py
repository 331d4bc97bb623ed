"""The adapters are known by name, and no library is loaded before its adapter is connected."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.registry import BUILTINS, require_connector

LIBRARIES = {
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
    "chroma": "chromadb",
    "http": "httpx",
    "mcp": "mcp",
}
"""By type: the library that is loaded when it is connected."""

LEAST = {
    "langchain": {"object": "os:path"},
    "llamaindex": {"object": "os:path"},
    "haystack": {"object": "os:path"},
    "http": {"url": "http://127.0.0.1"},
    "mcp": {"command": "x", "tool": "x"},
}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_every_adapter_stands_in_the_table_with_its_extra(kind: str) -> None:
    spec = require_connector(kind)

    assert (spec.connector_type, BUILTINS[kind].extra) == (kind, kind)
    assert spec.user_connectable


@pytest.mark.parametrize(
    "code",
    [
        "import estante",
        "import estante.serve.cli.main",
        "from estante.contract.registry import all_connectors; all_connectors()",
    ],
)
def test_nothing_of_them_is_loaded_until_one_is_connected(code: str) -> None:
    told = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)

    assert not set(LIBRARIES.values()) & set(json.loads(done.stdout))


@pytest.mark.parametrize("kind", LEAST)
def test_a_library_that_is_not_there_is_told_with_its_extra(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == LIBRARIES[kind]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, LIBRARIES[kind], None)

    with pytest.raises(ConnectorRegistrationError, match=rf'run: pip install "estante\[{kind}\]"'):
        require_connector(kind).connect_with(LEAST[kind])
