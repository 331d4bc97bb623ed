"""A collection of Chroma keeps the contract, in a folder and on a server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from estante.contract.capabilities import supports
from estante.contract.errors import ConnectorOperationalError, ConnectorRegistrationError, ContractValueError
from estante.serve.adapters import chroma
from estante.serve.adapters.chroma import CONNECTOR_SPEC
from tests.serve.adapters import chroma_makers
from tests.serve.adapters.notes import BEST, QUESTION, embedded, examined, listed, places, row, statuses, told

MAKERS = "tests.serve.adapters.chroma_makers"
EMBEDDER = "tests.serve.adapters.notes:embed_all"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return chroma_makers.filled(tmp_path_factory.mktemp("chroma"))


@pytest.fixture
def params(folder: Path) -> dict[str, Any]:
    return {"path": str(folder), "collection": "cosine", "embedder": EMBEDDER}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server of Chroma's own, on this machine."""
    path = chroma_makers.filled(tmp_path_factory.mktemp("server"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        free = taken.getsockname()[1]
    program = Path(sys.executable).parent / "chroma"
    command = [str(program), "run", "--path", str(path), "--host", "127.0.0.1", "--port", str(free)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _await(free, server)
            yield free
        finally:
            server.send_signal(signal.SIGTERM)


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the server does not listen")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a test has opened is closed."""
    yield
    while _OPENED:
        _OPENED.pop().close()


_OPENED: list[Any] = []


def connected(params: dict[str, Any], **others: Any) -> Any:
    _OPENED.append(CONNECTOR_SPEC.connect_with({**params, **others})[0])
    return _OPENED[-1]


def test_a_collection_keeps_the_contract_in_a_fresh_process_too(params: dict[str, Any]) -> None:
    report = examined(CONNECTOR_SPEC, params, fresh=True)

    assert report.ready, told(report)
    checks = ("fresh-process", "recomputed-scores", "get-chunks", "list-chunks", "chunk-vectors", "health")
    assert statuses(report, *checks) == ["PASS"] * 6


@pytest.mark.parametrize(
    ("collection", "distance", "recomputed"), [("inner", "ip", "PASS"), ("squared", "squared_l2", "SKIP")]
)
def test_scores_follow_from_the_metric_that_the_collection_names(
    params: dict[str, Any], collection: str, distance: str, recomputed: str
) -> None:
    report = examined(CONNECTOR_SPEC, {**params, "collection": collection})

    assert report.ready, told(report)
    assert row(report, "recomputed-scores").status == recomputed
    assert connected(params, collection=collection).info()["distance"] == distance


@pytest.mark.parametrize(
    ("collection", "score"),
    [("cosine", lambda raw: 1 - raw), ("inner", lambda raw: 1 - raw), ("squared", lambda raw: -raw)],
)
def test_a_distance_becomes_a_score_and_is_kept(params: dict[str, Any], collection: str, score: Any) -> None:
    hits = connected(params, collection=collection).query(QUESTION, 4)

    assert len(hits) == 4
    assert all(hit.raw_score is not None and hit.score == score(hit.raw_score) for hit in hits)


def test_the_corpus_is_read_by_pages(params: dict[str, Any]) -> None:
    pipeline = connected(params)

    first = pipeline.list_chunks(limit=5)
    second = pipeline.list_chunks(cursor=first.next_cursor, limit=5)
    last = pipeline.list_chunks(cursor=second.next_cursor, limit=5)
    assert listed(pipeline) == places()
    assert [one.chunk_id for one in (*first.items, *second.items)] == [place[0] for place in places()[:10]]
    assert ([one.chunk_id for one in last.items], last.next_cursor) == ([place[0] for place in places()[10:]], None)


def test_a_row_that_is_taken_away_while_others_are_read_costs_no_row_in_silence(tmp_path: Path) -> None:
    pipeline = connected({"path": str(chroma_makers.filled(tmp_path)), "collection": "cosine", "embedder": EMBEDDER})
    collection = chromadb.PersistentClient(
        os.path.realpath(tmp_path), settings=Settings(anonymized_telemetry=False)
    ).get_collection("cosine", embedding_function=None)
    first = pipeline.list_chunks(limit=5)

    collection.delete(ids=[first.items[0].chunk_id])

    with pytest.raises(ConnectorOperationalError, match="has changed since the cursor was given"):
        pipeline.list_chunks(cursor=first.next_cursor, limit=5)
    assert [chunk.chunk_id for chunk in pipeline.pull_all_chunks()] == [place[0] for place in places()[1:]]


@pytest.mark.parametrize("cursor", ["", "5", "0.0123456789abcdef", "-1.0123456789abcdef", "5.0123456789ABCDEF", 5])
def test_a_cursor_that_was_not_given_is_refused(params: dict[str, Any], cursor: Any) -> None:
    with pytest.raises(ContractValueError, match="is none that list_chunks gave"):
        connected(params).list_chunks(cursor=cursor)


def test_chunks_and_vectors_are_found_by_id(params: dict[str, Any]) -> None:
    pipeline = connected(params)

    assert list(pipeline.get_chunks([BEST, "unknown"])) == [BEST]
    assert pipeline.get_chunk_vectors([BEST, "unknown"]) == {BEST: embedded(places()[0][3])}


def test_places_that_no_chunk_tells_are_counted(params: dict[str, Any]) -> None:
    pipeline = connected(params, collection="uncounted")

    assert listed(pipeline) == places()
    assert not supports(pipeline, "list_chunks")
    assert pipeline.get_chunks(["ferias:2"])["ferias:2"].doc_chunk_index == 2


def test_chunks_without_metadata_are_documents_by_themselves(params: dict[str, Any]) -> None:
    found = connected(params, collection="alone").pull_all_chunks()

    assert {(one.doc_id == one.chunk_id, one.doc_chunk_index) for one in found} == {(True, 0)}


def test_a_collection_that_knows_its_embedding_needs_none(params: dict[str, Any]) -> None:
    pipeline = connected({"path": params["path"], "collection": "knowing"})
    other = connected({"path": params["path"], "collection": "knowing"})

    assert pipeline.query(QUESTION)[0].chunk_id == BEST
    assert pipeline.info()["embedding_fingerprint"] == other.info()["embedding_fingerprint"]
    assert examined(CONNECTOR_SPEC, {"path": params["path"], "collection": "knowing"}).ready


@pytest.mark.parametrize(
    ("embedder", "others"),
    [(f"{MAKERS}:OneByOne", {}), (f"{MAKERS}:Words", {}), (f"{MAKERS}:scaled", {"kwargs": {"factor": 2.0}})],
)
def test_an_embedder_may_have_any_of_the_usual_faces(
    params: dict[str, Any], embedder: str, others: dict[str, Any]
) -> None:
    assert connected(params, embedder=embedder, **others).query(QUESTION)[0].chunk_id == BEST


def test_an_embedder_may_need_a_secret_which_is_never_stored(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDER_KEY", "hush-hush")
    given = {**params, "embedder": f"{MAKERS}:keyed", "secrets": {"key": "env:EMBEDDER_KEY"}}

    pipeline, connection = CONNECTOR_SPEC.connect_with(given)
    _OPENED.append(pipeline)

    assert pipeline.query(QUESTION)[0].chunk_id == BEST
    assert "hush-hush" not in str(connection)


def test_a_filter_holds_for_the_search_and_for_the_corpus_and_is_told(params: dict[str, Any]) -> None:
    where = {"doc_id": "diarias"}
    pipeline = connected(params, where=where)

    assert {hit.doc_id for hit in pipeline.query(QUESTION, 10)} == {"diarias"}
    assert {one.doc_id for one in pipeline.pull_all_chunks()} == {"diarias"}
    assert pipeline.get_chunks([BEST]) == {}
    assert pipeline.get_chunk_vectors([BEST]) == {}
    assert pipeline.info()["internal_filters"][0]["value"] == where


def test_an_empty_collection_is_empty_and_not_broken(params: dict[str, Any]) -> None:
    pipeline = connected({"path": params["path"], "collection": "empty"})

    assert pipeline.query(QUESTION) == []
    assert pipeline.pull_all_chunks() == []
    assert pipeline.health().detail == "0 chunks"


def test_collections_are_listed_with_what_selects_them(params: dict[str, Any]) -> None:
    found = {one.id: one for one in CONNECTOR_SPEC.datasets_with({"path": params["path"]})}

    assert (found["cosine"].item_count, found["empty"].item_count) == (len(places()), 0)
    assert connected(params, **found["squared"].connect_params).info()["collection"] == "squared"


def test_a_server_keeps_the_contract(port: int) -> None:
    server = {"host": "127.0.0.1", "port": port, "collection": "cosine", "embedder": EMBEDDER}

    report = examined(CONNECTOR_SPEC, server)

    assert report.ready, told(report)
    assert listed(connected(server)) == places()
    assert len(CONNECTOR_SPEC.datasets_with({"host": "127.0.0.1", "port": port})) == 7


# --- what goes wrong --------------------------------------------------------------------------------------------


def test_a_folder_that_is_none_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(ConnectorRegistrationError, match="there is no Chroma in"):
        connected({"path": str(tmp_path / "typo"), "collection": "cosine"})

    assert os.listdir(tmp_path) == []


def test_a_collection_that_is_not_there_is_refused_and_not_made(params: dict[str, Any]) -> None:
    before = CONNECTOR_SPEC.datasets_with({"path": params["path"]})

    with pytest.raises(ConnectorRegistrationError, match=r"there is no collection 'cosin'; there are: alone, cosine"):
        connected(params, collection="cosin")

    assert CONNECTOR_SPEC.datasets_with({"path": params["path"]}) == before


def test_a_collection_that_is_gone_is_an_error_and_not_empty(tmp_path: Path) -> None:
    path = chroma_makers.filled(tmp_path / "gone")
    pipeline = connected({"path": str(path), "collection": "cosine", "embedder": EMBEDDER})
    other = chroma_makers.client(path)
    other.delete_collection("cosine")

    for call in (lambda: pipeline.query(QUESTION), pipeline.pull_all_chunks, lambda: pipeline.get_chunks([BEST])):
        with pytest.raises(ConnectorOperationalError):
            call()
    assert not pipeline.health().ok
    other.close()


def test_a_server_that_is_not_there_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = {"host": "127.0.0.1", "port": taken.getsockname()[1], "collection": "cosine", "embedder": EMBEDDER}
        with pytest.raises(ConnectorOperationalError, match=r"the Chroma at 127\.0\.0\.1:\d+ cannot be reached"):
            connected(closed)


def test_an_embedding_that_fails_is_an_error_and_not_empty(params: dict[str, Any]) -> None:
    with pytest.raises(ConnectorOperationalError, match="the model does not answer"):
        connected(params, embedder=f"{MAKERS}:failing").query(QUESTION)


def test_an_embedding_of_another_width_is_an_error(params: dict[str, Any]) -> None:
    with pytest.raises(ConnectorOperationalError, match="dimension"):
        connected(params, embedder="tests.serve.adapters.test_chroma:two").query(QUESTION)


def two(texts: list[str]) -> list[list[float]]:
    return [[1.0, 2.0] for _ in texts]


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"embedder": None}, "embedder: the collection does not know what embeds questions"),
        ({"embedder": f"{MAKERS}:number"}, "a int embeds nothing"),
        ({"embedder": None, "kwargs": {"a": 1}}, "kwargs: are for an embedder"),
        ({"host": "127.0.0.1"}, "not both"),
        ({"port": 8000}, "port: does not go with path"),
        ({"where": ["a"]}, "must be an object"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(params: dict[str, Any], others: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message):
        connected(params, **others)


def test_headers_are_for_a_server_and_secrets_in_them_are_never_stored(port: int, monkeypatch: Any) -> None:
    monkeypatch.setenv("CHROMA_KEY", "hush-hush")
    given = {"host": "127.0.0.1", "port": port, "collection": "cosine", "embedder": EMBEDDER}

    pipeline, connection = CONNECTOR_SPEC.connect_with({**given, "headers": {"X-Chroma-Token": "env:CHROMA_KEY"}})
    _OPENED.append(pipeline)

    assert pipeline.query(QUESTION)[0].chunk_id == BEST
    assert "hush-hush" not in str(connection)
    with pytest.raises(ConnectorRegistrationError, match="CHROMA_KEY_OF_NOBODY"):
        connected(given, headers={"X-Chroma-Token": "env:CHROMA_KEY_OF_NOBODY"})


def test_the_failure_of_the_collection_s_own_function_says_what_to_name_instead() -> None:
    def offline(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise ConnectionError("no such host")

    with pytest.raises(ConnectorOperationalError, match=r"fetches its model from the network .* \(embedder\)"):
        chroma._lent(offline, "default")(["a"])
