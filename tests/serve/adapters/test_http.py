"""A server that answers by HTTP keeps the contract, and whatever goes wrong on the way is an error."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
)
from estante.serve.adapters import http as adapter
from estante.serve.adapters.http import CONNECTOR_SPEC
from tests.serve.adapters.notes import BEST, QUESTION, embedded, examined, listed, places, row, statuses, told

WHOLE = {
    "by_id_path": "chunks/by-id",
    "vectors_path": "vectors",
    "health_path": "health",
}
"""The paths of the protocol that are not asked for by default."""

ROWS = [
    {
        "chunk_id": chunk_id,
        "doc_id": doc_id,
        "source_file": f"{doc_id}.md",
        "doc_chunk_index": place,
        "text": text,
        "metadata": {"source_fingerprint": doc_id},
    }
    for chunk_id, doc_id, place, text in places()
]


def ranked(text: str, top_k: int) -> list[dict[str, Any]]:
    """The rows that share words with the question, with how many they share."""
    asked = embedded(text)
    scored = [(sum(a * b for a, b in zip(asked, embedded(str(one["text"])), strict=True)), one) for one in ROWS]
    found = sorted(scored, key=lambda pair: (-pair[0], pair[1]["chunk_id"]))
    return [{**one, "score": score} for score, one in found[: max(0, top_k)]]


class Server(ThreadingHTTPServer):
    """The protocol, a server of another shape under ``/theirs``, and one for each way to go wrong."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Nothing is printed of clients that have gone."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.down = False
        self.seen: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    server: Server

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._serve(parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve(self.path, json.loads(content))

    def _serve(self, path: str, asked: Any) -> None:
        self.server.seen.append((self.command, path, asked, dict(self.headers)))
        if self.server.down:
            self._answer({"error": "the index is gone"}, 503)
        elif path == "/packed":
            content = json.dumps({"hits": ranked(asked["text"], asked["top_k"])}).encode()
            self.raw(gzip.compress(content), **{"Content-Encoding": "gzip"})
        elif path in FAILURES:
            FAILURES[path](self)
        else:
            self._answer(*ANSWERS.get(urlsplit(path).path, lambda asked: ({"error": "no such path"}, 404))(asked))

    def _answer(self, value: Any, code: int = 200) -> None:
        self.raw(json.dumps(value).encode(), code)

    def raw(self, content: bytes, code: int = 200, **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _page(asked: Any) -> tuple[Any, int]:
    cursor = asked.get("cursor", "0")
    if not cursor.isdecimal():
        return {"error": "no such cursor"}, 400
    start, limit = int(cursor), int(asked["limit"])
    following = str(start + limit) if start + limit < len(ROWS) else None
    return {"chunks": ROWS[start : start + limit], "next_cursor": following}, 200


ANSWERS: dict[str, Any] = {
    "/query": lambda asked: ({"hits": ranked(asked["text"], int(asked["top_k"]))}, 200),
    "/chunks": _page,
    "/chunks/by-id": lambda asked: ({"chunks": [one for one in ROWS if one["chunk_id"] in asked["ids"]]}, 200),
    "/vectors": lambda asked: (
        {"vectors": {one["chunk_id"]: embedded(one["text"]) for one in ROWS if one["chunk_id"] in asked["ids"]}},
        200,
    ),
    "/health": lambda asked: ({"ok": True, "detail": "12 chunks"}, 200),
    "/ill": lambda asked: ({"ok": False, "detail": "the index is being built"}, 200),
    "/theirs/search": lambda asked: (
        {
            "data": {
                "items": [
                    {"id": one["chunk_id"], "body": {"content": one["text"]}, "distance": 9 - one["score"]}
                    for one in ranked(asked["q"], int(asked["size"]))
                ]
            }
        },
        200,
    ),
    "/theirs/all": lambda asked: (
        [{"id": one["chunk_id"], "body": {"content": one["text"]}, "file": one["doc_id"]} for one in ROWS],
        200,
    ),
    "/endless": lambda asked: ({"chunks": ROWS[:1], "next_cursor": str(int(asked.get("cursor", 0)) + 1)}, 200),
    "/many": lambda asked: ({"chunks": ROWS, "next_cursor": None}, 200),
}


def _drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(40):
        try:
            handler.wfile.write(b"1\r\n \r\n")
            handler.wfile.flush()
        except OSError:
            return
        time.sleep(0.05)


def _cut(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"hits": [')
    handler.close_connection = True


def _drip_of(*pieces: bytes) -> Any:
    """Writes the first piece at once, and the others one after another."""

    def drip(handler: Handler) -> None:
        handler.close_connection = True
        for at, piece in enumerate(pieces):
            try:
                handler.wfile.write(piece)
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.05 if at else 0)

    return drip


BOMB = gzip.compress(b" " * 8_000_000)
"""Few bytes that unpack to many."""

_PACKED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
_NAMED = bytes([0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 255])
"""The begin of gzip with the name of a file, which unpacks to nothing however long it is."""

DRIPS = {
    "/drip": _drip,
    "/drip-headers": _drip_of(b"HTTP/1.1 200 OK\r\nX-Long: ", *[b"a"] * 100),
    "/drip-continue": _drip_of(b"", *[b"HTTP/1.1 100 Continue\r\n\r\n"] * 100),
    "/drip-nothing": _drip_of(_PACKED, *[b"1\r\n%c\r\n" % one for one in _NAMED + b"n" * 90]),
}


FAILURES: dict[str, Any] = {
    "/twice": lambda handler: handler.raw(b'{"hits": [{"text": "a", "score": 1}], "hits": []}'),
    "/half": lambda handler: handler.raw(b'{"hits": [{"text": "\\ud800", "score": 1}]}'),
    "/infinite": lambda handler: handler.raw(b'{"hits": [{"text": "a", "score": 1, "metadata": {"a": 1e999}}]}'),
    "/utf-16": lambda handler: handler.raw('{"hits": []}'.encode("utf-16")),
    "/packed-cut": lambda handler: handler.raw(gzip.compress(b'{"hits": []}')[:-8], **{"Content-Encoding": "gzip"}),
    "/packed-torn": lambda handler: handler.raw(b'{"hits": []}', **{"Content-Encoding": "gzip"}),
    "/packed-oddly": lambda handler: handler.raw(b'{"hits": []}', **{"Content-Encoding": "br"}),
    "/bomb": lambda handler: handler.raw(BOMB, **{"Content-Encoding": "gzip"}),
    "/html": lambda handler: handler.raw(b"<html>Sign in</html>"),
    "/nan": lambda handler: handler.raw(b'{"hits": [{"text": "a", "score": NaN}]}'),
    "/nothing": lambda handler: handler.raw(b""),
    "/empty": lambda handler: handler.raw(b"{}"),
    "/error": lambda handler: handler.raw(b'{"hits": []}', 500),
    "/absent": lambda handler: handler.raw(b'{"hits": []}', 404),
    "/refused": lambda handler: handler.raw(b'{"hits": []}', 401),
    "/moved": lambda handler: handler.raw(b'{"hits": []}', 302, Location="http://192.0.2.1/query"),
    "/slow": lambda handler: time.sleep(1),
    "/beside": lambda handler: handler.raw(b'{"hits": [], "error": {"code": 7, "told": "tr0ub4dor"}}'),
    "/endless-number": lambda handler: handler.raw(b'{"hits": [{"text": "a", "score": 1' + b"0" * 400 + b"}]}"),
    "/no-utf-8": lambda handler: handler.raw(b'{"hits": [{"text": "\xff", "score": 1}]}'),
    "/cut": _cut,
    **DRIPS,
}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


_OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a test has opened is closed."""
    yield
    while _OPENED:
        _OPENED.pop().close()


def connected(server: Server, **others: Any) -> Any:
    _OPENED.append(CONNECTOR_SPEC.connect_with({"url": server.url, **others})[0])
    return _OPENED[-1]


# --- what goes well ---------------------------------------------------------------------------------------------


def test_a_server_of_the_protocol_keeps_the_contract_in_a_fresh_process_too(server: Server) -> None:
    report = examined(CONNECTOR_SPEC, {"url": server.url, **WHOLE}, fresh=True)

    assert report.ready, told(report)
    checks = ("fresh-process", "get-chunks", "list-chunks", "chunk-vectors", "health", "score-direction")
    assert statuses(report, *checks) == ["PASS"] * 6


def test_the_corpus_is_what_the_server_gives_page_by_page(server: Server) -> None:
    pipeline = connected(server, **WHOLE)

    page = pipeline.list_chunks(limit=5)
    assert listed(pipeline) == places()
    assert (len(page.items), page.next_cursor) == (5, "5")
    assert list(pipeline.get_chunks([BEST, "unknown"])) == [BEST]
    assert pipeline.get_chunk_vectors([BEST, "unknown"]) == {BEST: embedded(places()[0][3])}
    assert pipeline.health().detail == "12 chunks"


def test_what_the_server_has_no_path_for_is_not_offered(server: Server) -> None:
    pipeline = connected(server, chunks_path="")

    for name in ("list_chunks", "get_chunks", "get_chunk_vectors", "health"):
        assert not supports(pipeline, name)


def test_a_server_of_another_shape_is_told_where_its_fields_stand(server: Server) -> None:
    params = {
        "url": f"{server.url}/theirs/",
        "query_path": "/search",
        "query_method": "GET",
        "request": {"text": "q", "top_k": "size"},
        "constants": {"index": "notes"},
        "chunks_path": "all",
        "response": {
            "hits": "data.items",
            "chunks": "",
            "chunk_id": "id",
            "text": "body.content",
            "score": "distance",
            "doc_id": "file",
        },
        "score_kind": "l2_distance",
        "count_places": True,
    }

    report = examined(CONNECTOR_SPEC, params)

    assert report.ready, told(report)
    assert ("GET", "/theirs/search") in [(method, path) for method, path, *_ in server.seen]
    assert all(asked["index"] == "notes" for _, path, asked, _ in server.seen if path == "/theirs/search")


def test_what_a_path_asks_by_itself_is_asked_beside_the_question(server: Server) -> None:
    connected(server, query_path="query?index=notes", query_method="GET", chunks_path="chunks?index=notes").query("a")
    connected(server, query_path="query?index=notes").query("a")

    assert server.seen[0][2] == {"index": "notes", "text": "a", "top_k": "5"}
    assert server.seen[1][1] == "/query?index=notes"


def test_an_object_cannot_be_asked_by_an_address(server: Server) -> None:
    with pytest.raises(ConnectorRegistrationError, match="constants: filter is an object, which only POST can send"):
        connected(server, query_method="GET", constants={"filter": {"year": 2024}})


def test_a_distance_becomes_a_score_and_is_kept(server: Server) -> None:
    pipeline = connected(server, query_path="query", score_kind="cosine_distance")

    assert all(hit.score == 1 - hit.raw_score for hit in pipeline.query(QUESTION))


def test_a_server_may_bound_its_lists(server: Server) -> None:
    pipeline = connected(server, complete_set=True)

    assert pipeline.retrieval_mode == "complete_set"


def test_a_token_and_headers_are_sent_and_never_stored(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_TOKEN", "hush-hush")
    headers = {"X-Tenant": "acme", "X-Api-Key": "env:NOTES_TOKEN"}

    pipeline, connection = CONNECTOR_SPEC.connect_with(
        {"url": server.url, "token": "env:NOTES_TOKEN", "headers": headers}
    )
    _OPENED.append(pipeline)
    pipeline.query(QUESTION)

    sent = server.seen[0][3]
    assert (sent["Authorization"], sent["X-Api-Key"], sent["X-Tenant"]) == ("Bearer hush-hush", "hush-hush", "acme")
    assert "hush-hush" not in json.dumps(connection)


def test_the_environment_of_the_machine_sends_nothing_elsewhere(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{taken.getsockname()[1]}")

        assert connected(server).query(QUESTION)[0].chunk_id == BEST


# --- what goes wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FAILURES)
def test_whatever_goes_wrong_is_an_error_and_never_an_empty_list(server: Server, path: str) -> None:
    pipeline = connected(server, query_path=path, timeout=0.3)

    with pytest.raises((ConnectorOperationalError, ConnectorContractError)):
        pipeline.query(QUESTION)


@pytest.mark.parametrize("path", DRIPS)
def test_an_answer_that_comes_drop_by_drop_is_given_up(server: Server, path: str) -> None:
    with pytest.raises(ConnectorOperationalError, match=r"did not end within 0\.5 s"):
        connected(server, query_path=path, timeout=0.5).query(QUESTION)


def test_what_unpacks_to_more_than_an_answer_may_have_is_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST_BYTES", 2_000_000)

    with pytest.raises(ConnectorOperationalError, match="answered with more than 2000000 bytes"):
        connected(server, query_path="bomb").query(QUESTION)


FORKED = """
import os, sys
from estante.serve.adapters.http import build

pipeline = build({"url": sys.argv[1]})
pipeline.query("any", 1)
child = os.fork()
breadth = 2 if child else 4
asked = [len(pipeline.query("any", breadth)) for _ in range(40)]
assert asked == [breadth] * 40, asked
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where there is a fork")
def test_two_processes_of_one_pipeline_each_get_their_own_answers(server: Server) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED, server.url], capture_output=True, text=True, timeout=60)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_packed_answer_is_unpacked(server: Server) -> None:
    assert connected(server, query_path="packed").query(QUESTION)[0].chunk_id == BEST


@pytest.mark.parametrize("url", ["http://me:tr0ub4dor@host/v1", "http://host/v1?key=tr0ub4dor"])
def test_a_credential_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match="of another form, such as https://rag") as caught:
        CONNECTOR_SPEC.connect_with({"url": url})

    assert "tr0ub4dor" not in str(caught.value)


@pytest.mark.parametrize("path", ["/absent", "/error", "/html", "/empty"])
def test_a_failure_is_an_error_on_every_path(server: Server, path: str) -> None:
    paths = dict.fromkeys(("chunks_path", "by_id_path", "vectors_path", "health_path"), path)
    pipeline = connected(server, **paths)

    calls = (pipeline.pull_all_chunks, lambda: pipeline.get_chunks([BEST]), lambda: pipeline.get_chunk_vectors([BEST]))
    for call in calls:
        with pytest.raises(ConnectorError):
            call()
    assert pipeline.health().ok is (path == "/empty")


def test_a_server_that_falls_ill_and_comes_back(server: Server) -> None:
    pipeline = connected(server, **WHOLE)
    before = [hit.chunk_id for hit in pipeline.query(QUESTION)]

    server.down = True
    with pytest.raises(ConnectorOperationalError, match=r"POST http://127\.0\.0\.1:\d+/query answered 503"):
        pipeline.query(QUESTION)
    assert not pipeline.health().ok
    server.down = False

    assert [hit.chunk_id for hit in pipeline.query(QUESTION)] == before


def test_a_server_that_says_it_is_ill_is_believed(server: Server) -> None:
    health = connected(server, health_path="ill").health()

    assert (health.ok, "the index is being built" in health.detail) == (False, True)


def test_a_server_that_is_not_there_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        pipeline, _ = CONNECTOR_SPEC.connect_with({"url": f"http://127.0.0.1:{taken.getsockname()[1]}"})
        _OPENED.append(pipeline)
        with pytest.raises(ConnectorOperationalError) as caught:
            pipeline.query(QUESTION)

    assert caught.value.__cause__ is not None


def test_a_redirect_is_not_followed(server: Server) -> None:
    with pytest.raises(ConnectorOperationalError, match="answered 302; give the address that it redirects to"):
        connected(server, query_path="moved").query(QUESTION)

    assert len(server.seen) == 1


def test_an_answer_without_end_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_BYTES", 100)

    with pytest.raises(ConnectorOperationalError, match="more than 100 bytes"):
        connected(server).query(QUESTION)


def test_what_a_server_says_is_not_told(server: Server) -> None:
    server.down = True

    with pytest.raises(ConnectorOperationalError) as caught:
        connected(server).query(QUESTION)

    assert "the index is gone" not in str(caught.value)
    assert QUESTION not in str(caught.value)


@pytest.mark.parametrize("counted", [True, False])
def test_pages_without_end_are_a_fault(server: Server, counted: bool) -> None:
    with pytest.raises(ConnectorContractError, match="no end"):
        connected(server, chunks_path="endless", count_places=counted).pull_all_chunks()


def test_more_chunks_than_were_asked_for_are_a_fault(server: Server) -> None:
    with pytest.raises(ConnectorContractError, match="12 chunks where 5 were asked for"):
        connected(server, chunks_path="many").list_chunks(limit=5)


def test_a_corpus_of_another_shape_is_found_by_the_validator(server: Server) -> None:
    report = examined(CONNECTOR_SPEC, {"url": server.url, "chunks_path": "theirs/all"})

    assert row(report, "corpus-pull").status == "FAIL"
    assert "list at 'chunks'" in row(report, "corpus-pull").details[0]


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"url": "ftp://example.org"}, "of another form"),
        ({"url": "http://user:hunter2@example.org"}, "url"),
        ({"url": "http://example.org/?key=1"}, "of another form"),
        ({"token": "hunter2"}, "never the secret itself"),
        ({"headers": {"X-Api-Key": "hunter2"}}, "looks like a credential"),
        ({"headers": {"X-Tenant": "a\nb"}}, "cannot be sent"),
        ({"token": "env:TOKEN_OF_NOBODY"}, "set the variable TOKEN_OF_NOBODY"),
        ({"request": {"question": "q"}}, "there is no 'question'"),
        ({"response": {"results": "r"}}, "there is no field 'results'"),
        ({"timeout": 0}, "at least 0.1"),
        ({"ca_file": "/nowhere.pem"}, "ca_file: /nowhere.pem cannot be used"),
    ],
)
def test_parameters_that_cannot_be_used_are_told_without_secrets(
    server: Server, others: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message) as caught:
        connected(server, **others)

    assert "hunter2" not in str(caught.value)
    assert server.seen == []
