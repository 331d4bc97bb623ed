"""The search tool of a server of the Model Context Protocol keeps the contract, as a program and at an address."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    UnsupportedCapability,
)
from estante.contract.jsonl import chunks_to_jsonl
from estante.serve.adapters.mcp import CONNECTOR_SPEC
from tests.serve.adapters.notes import BEST, QUESTION, examined, listed, places, statuses, told

PROGRAM = Path(__file__).with_name("mcp_server.py")
ODD = str(Path(__file__).with_name("mcp_odd_server.py"))
PLACE = {"command": sys.executable, "args": [str(PROGRAM)]}
WHOLE = {"tool": "search", "chunks_tool": "chunks", "by_id_tool": "fetch"}

_OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a test has opened is closed, and no thread of it is left."""
    yield
    while _OPENED:
        _OPENED.pop().close()
    assert "estante-mcp" not in [thread.name for thread in threading.enumerate()]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server on this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with subprocess.Popen([sys.executable, str(PROGRAM), str(port)]) as server:
        try:
            _await(port, server)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the server does not listen")


def connected(**params: Any) -> Any:
    given = params if "url" in params else {**PLACE, **params}
    _OPENED.append(CONNECTOR_SPEC.connect_with(given)[0])
    return _OPENED[-1]


# --- what goes well ---------------------------------------------------------------------------------------------


def test_a_program_keeps_the_contract_in_a_fresh_process_too() -> None:
    report = examined(CONNECTOR_SPEC, {**PLACE, **WHOLE}, fresh=True)

    assert report.ready, told(report)
    assert statuses(report, "fresh-process", "get-chunks", "list-chunks", "health", "close") == ["PASS"] * 5


def test_an_address_keeps_the_contract(url: str) -> None:
    report = examined(CONNECTOR_SPEC, {"url": url, **WHOLE})

    assert report.ready, told(report)


def test_the_corpus_is_what_the_tools_give() -> None:
    pipeline = connected(**WHOLE)

    page = pipeline.list_chunks(limit=5)
    assert listed(pipeline) == places()
    assert (len(page.items), page.next_cursor) == (5, "5")
    assert list(pipeline.get_chunks([BEST, "unknown"])) == [BEST]
    assert pipeline.health().detail == "10 tools"


def test_json_may_stand_in_a_text() -> None:
    assert [hit.chunk_id for hit in connected(tool="as_text").query(QUESTION, 2)] == [
        hit.chunk_id for hit in connected(tool="search").query(QUESTION, 2)
    ]


def test_a_tool_of_another_shape_is_told_what_it_takes_and_where_its_fields_stand() -> None:
    pipeline = connected(
        tool="as_parts",
        query_argument="question",
        top_k_argument="size",
        response={"hits": "", "chunk_id": "id", "text": "snippet"},
        score_kind="none",
    )

    hits = pipeline.query(QUESTION, 3)
    assert pipeline.retrieval_mode == "ordered"
    assert (len(hits), hits[0].score, hits[0].doc_id) == (3, None, None)
    assert BEST in [hit.chunk_id for hit in hits]


def test_a_file_of_chunks_is_the_corpus_of_a_server_that_only_searches(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(chunks_to_jsonl(connected(**WHOLE).pull_all_chunks()), "utf-8", newline="\n")

    report = examined(CONNECTOR_SPEC, {**PLACE, "tool": "search", "chunks": str(corpus)})

    assert report.ready, told(report)


def test_a_server_that_only_searches_offers_no_more() -> None:
    pipeline = connected(tool="search")

    assert not supports(pipeline, "list_chunks")
    with pytest.raises(UnsupportedCapability):
        pipeline.pull_all_chunks()


def test_variables_and_the_folder_are_given_and_secrets_never_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_KEY", "hush-hush")
    given = {**PLACE, "tool": "environment", "top_k_argument": "", "env": {"NOTES_KEY": "env:HOST_KEY"}}

    pipeline, connection = CONNECTOR_SPEC.connect_with({**given, "cwd": str(tmp_path)})
    _OPENED.append(pipeline)

    [hit] = pipeline.query(QUESTION)
    assert (hit.text, hit.doc_id, hit.chunk_id) == ("hush-hush", str(tmp_path.resolve()), None)
    assert "hush-hush" not in json.dumps(connection)


def test_many_threads_may_ask_at_a_time() -> None:
    pipeline = connected(tool="search")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [hit.chunk_id for hit in pipeline.query(QUESTION, 3)], range(40)))

    assert all(one == found[0] for one in found)


# --- what goes wrong --------------------------------------------------------------------------------------------


def test_a_tool_that_fails_is_an_error_and_what_it_says_is_not_told() -> None:
    with pytest.raises(ConnectorOperationalError, match="tool 'failing' says that it failed") as caught:
        connected(tool="failing", top_k_argument="").query(QUESTION)

    assert "nobody shall see" not in str(caught.value)


def test_a_server_that_dies_is_an_error_and_is_started_again() -> None:
    pipeline = connected(tool="dying", top_k_argument="")

    with pytest.raises(ConnectorOperationalError):
        pipeline.query("die")

    assert pipeline.query(QUESTION)


def test_a_server_that_takes_too_long_is_an_error_and_is_started_again() -> None:
    pipeline = connected(tool="slow", top_k_argument="", timeout=5)

    with pytest.raises(ConnectorOperationalError, match="did not end within 5 s"):
        pipeline.query("sleep")

    assert pipeline.query(QUESTION)


def odd(way: str) -> Any:
    place = {"command": sys.executable, "args": [ODD, way], "tool": "search", "top_k_argument": ""}
    _OPENED.append(CONNECTOR_SPEC.connect_with(place)[0])
    return _OPENED[-1]


def test_a_list_of_tools_without_an_end_is_a_failure() -> None:
    with pytest.raises(ConnectorContractError, match="went on after 100 pages"):
        odd("endless")


def test_a_result_of_another_shape_is_an_error_and_what_it_holds_is_not_told() -> None:
    with pytest.raises(ConnectorOperationalError, match="tool 'search' failed: ValidationError") as caught:
        odd("bare").query(QUESTION)

    assert "nobody shall see" not in str(caught.value)


FORKED = """
import os, sys
from estante.serve.adapters.mcp import connect

place = {"command": sys.executable, "args": [sys.argv[1], "well"], "tool": "search", "top_k_argument": ""}
pipeline, _ = connect(place)
child = os.fork()
asked = "parent" if child else "child"
assert [pipeline.query(asked)[0].chunk_id for _ in range(10)] == [asked] * 10
pipeline.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where there is a fork")
def test_two_processes_of_one_pipeline_each_have_a_conversation_of_their_own() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, ODD]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_answer_in_prose_is_a_failure_and_not_an_empty_list() -> None:
    with pytest.raises(ConnectorContractError, match="did not answer with JSON"):
        connected(tool="in_prose", top_k_argument="").query(QUESTION)


def test_an_answer_without_hits_is_a_failure_and_not_an_empty_list() -> None:
    with pytest.raises(ConnectorContractError, match="without a list at 'results'"):
        connected(tool="search", response={"hits": "results"}).query(QUESTION)


def test_a_hit_without_a_score_is_told_to_be_declared() -> None:
    pipeline = connected(
        tool="as_parts", query_argument="question", top_k_argument="size", response={"hits": "", "text": "snippet"}
    )

    with pytest.raises(ConnectorContractError, match="score_kind 'none'"):
        pipeline.query(QUESTION)


def test_a_closed_pipeline_starts_nothing() -> None:
    pipeline = connected(tool="search")

    pipeline.close()
    pipeline.close()

    with pytest.raises(ConnectorOperationalError, match="closed"):
        pipeline.query(QUESTION)
    assert not pipeline.health().ok


def test_a_program_that_never_closes_its_pipeline_ends() -> None:
    code = (
        "from estante.serve.adapters.mcp import CONNECTOR_SPEC\n"
        f"pipeline, _ = CONNECTOR_SPEC.connect_with({ {**PLACE, 'tool': 'search'}!r})\n"
        "print(len(pipeline.query('dias')))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tool": "nothing"}, "there is no tool 'nothing'; there are: as_parts, as_text"),
        ({"tool": "search", "query_argument": "q"}, "tool 'search' takes no 'q'; it takes: query, top_k"),
        ({"tool": "search", "chunks_tool": "chunk"}, "chunks_tool: there is no tool 'chunk'"),
        ({"tool": "search", "url": "http://127.0.0.1:9/mcp", "command": "x"}, "not both"),
        ({"tool": "search", "token": "env:TOKEN"}, "token: does not go with command"),
        ({"tool": "search", "args": "--help"}, "must be a list"),
        ({"tool": "search", "env": {"KEY": "env:KEY_OF_NOBODY"}}, "set the variable KEY_OF_NOBODY"),
        ({"tool": "search", "env": {"API_KEY": "hunter2"}}, "looks like a credential"),
        ({}, "tool: is required"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message) as caught:
        connected(**params)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "params",
    [
        {"command": "/nowhere/at/all", "args": []},
        {"args": ["-c", "print('no protocol')"]},
        {"args": ["-c", "import time; time.sleep(60)"]},
        {"url": "http://127.0.0.1:9/mcp"},
    ],
)
def test_a_server_that_is_none_is_an_error(params: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectorOperationalError, match="listing the tools"):
        connected(tool="search", timeout=1, **params)
