"""A pipeline has a method for each thing that its back end can do, and for no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorOperationalError,
    ContractValueError,
    UnsupportedCapability,
)
from estante.contract.models import ChunkRecord, EmbeddingSpaceDescriptor
from estante.contract.validate import validate_pipeline
from estante.serve.adapters.backends import Backend, Found, every_row, pipeline_of
from estante.serve.adapters.records import Layout, Row
from estante.serve.adapters.scales import Scale

ROWS = [Row(text=f"texto {at}", id=f"d:{at}", doc_id="d", ordinal=at) for at in range(5)]
OPTIONAL = {
    "rows": "pull_all_chunks",
    "page": "list_chunks",
    "by_id": "get_chunks",
    "vectors": "get_chunk_vectors",
    "embed": "embed_queries",
    "health": "health",
}


def found(text: str, top_k: int) -> list[Found]:
    return [Found(row=one, number=float(-at)) for at, one in enumerate(ROWS)]


def page(cursor: str | None, limit: int) -> tuple[list[Row], str | None]:
    start = int(cursor or 0)
    return ROWS[start : start + limit], str(start + limit) if start + limit < len(ROWS) else None


def by_id(ids: Sequence[str]) -> list[Row]:
    return [one for one in ROWS if one.id in ids]


FUNCTIONS: dict[str, Any] = {
    "rows": lambda: ROWS,
    "page": page,
    "by_id": by_id,
    "vectors": lambda ids: {one: [1, 2] for one in ids if one != "unknown"},
    "embed": lambda texts: [[1.0, 2.0] for _ in texts],
    "health": lambda: "well",
}


def pipeline(**functions: Any) -> Any:
    return pipeline_of(Backend(**{"kind": "try", "search": found, "scale": Scale("similarity"), **functions}))


def broken(*_: object) -> Any:
    raise OSError("the disk is gone")


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_the_back_end_can_do_is_offered(name: str) -> None:
    assert supports(pipeline(**{name: FUNCTIONS[name]}), OPTIONAL[name])


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_it_cannot_do_is_not_offered(name: str) -> None:
    others = {key: value for key, value in FUNCTIONS.items() if key != name}

    assert not supports(pipeline(**others), OPTIONAL[name])


def test_a_back_end_that_is_only_asked_refuses_the_rest() -> None:
    made = pipeline()

    for call in (made.pull_all_chunks, made.list_chunks, lambda: made.get_chunk_vectors([])):
        with pytest.raises(UnsupportedCapability):
            call()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("search", lambda made: made.query("texto")),
        ("rows", lambda made: made.pull_all_chunks()),
        ("page", lambda made: made.list_chunks()),
        ("by_id", lambda made: made.get_chunks(["d:1"])),
        ("vectors", lambda made: made.get_chunk_vectors(["d:1"])),
        ("embed", lambda made: made.embed_queries(["texto"])),
    ],
)
def test_a_failure_is_an_error_from_its_cause_and_never_empty(name: str, call: Any) -> None:
    with pytest.raises(ConnectorOperationalError, match="the disk is gone") as caught:
        call(pipeline(**{name: broken}))

    assert isinstance(caught.value.__cause__, OSError)


def test_what_fails_while_rows_come_is_an_error_and_no_smaller_corpus() -> None:
    def rows() -> Any:
        yield ROWS[0]
        raise OSError("the disk is gone")

    with pytest.raises(ConnectorOperationalError):
        pipeline(rows=rows).pull_all_chunks()


def test_an_error_that_looks_like_a_secret_is_not_told() -> None:
    def failing(text: str, top_k: int) -> list[Found]:
        raise OSError("postgres://user:hunter2hunter2@db/x is gone")

    with pytest.raises(ConnectorOperationalError) as caught:
        pipeline(search=failing).query("texto")

    assert "hunter2" not in str(caught.value)


def test_hits_are_bounded_and_ranked() -> None:
    hits = pipeline().query("texto", 3)

    assert [(hit.rank, hit.chunk_id, hit.score) for hit in hits] == [
        (0, "d:0", 0.0),
        (1, "d:1", -1.0),
        (2, "d:2", -2.0),
    ]


def test_a_back_end_that_bounds_its_lists_is_not_cut() -> None:
    made = pipeline(mode="complete_set", scale=Scale("none"))

    assert (made.retrieval_mode, len(made.query("texto", 1))) == ("complete_set", 5)


@pytest.mark.parametrize("top_k", [0, -1, True, 2.0, None])
def test_a_breadth_that_is_none_is_refused(top_k: Any) -> None:
    with pytest.raises(ContractValueError, match="top_k"):
        pipeline().query("texto", top_k)


def test_a_question_that_is_no_text_is_refused() -> None:
    with pytest.raises(ContractValueError, match="NoneType"):
        pipeline().query(None)


def test_pages_are_followed_to_the_whole_corpus() -> None:
    made = pipeline(page=page)

    assert [one.chunk_id for one in made.pull_all_chunks()] == [one.id for one in ROWS]
    assert [one.chunk_id for one in made.list_chunks(cursor="2", limit=2).items] == ["d:2", "d:3"]


def test_a_page_with_a_chunk_that_tells_no_place_is_refused() -> None:
    with pytest.raises(ConnectorContractError, match="does not tell its place"):
        pipeline(page=lambda cursor, limit: ([Row(text="a", id="a", doc_id="d")], None)).list_chunks()


def test_chunks_by_id_are_those_asked_for_even_when_more_come() -> None:
    made = pipeline(rows=lambda: ROWS, by_id=lambda ids: ROWS)

    assert list(made.get_chunks(["d:3", "unknown", "d:1", "d:3"])) == ["d:3", "d:1"]
    assert made.get_chunks([]) == {}


def test_the_place_of_a_chunk_by_id_is_the_one_it_has_in_the_corpus() -> None:
    rows = [Row(text=f"texto {at}", id=f"d:{at}", doc_id="d") for at in range(3)]
    made = pipeline(rows=lambda: rows, by_id=lambda ids: [one for one in rows if one.id in ids])

    assert made.get_chunks(["d:2"])["d:2"].doc_chunk_index == 2


def test_ids_that_the_back_end_does_not_know_lead_to_its_vectors() -> None:
    rows = [Row(text="a", id="7", metadata={"key": "k"})]
    made = pipeline(layout=Layout(id_key="key"), rows=lambda: rows, vectors=lambda ids: {one: [1, 2] for one in ids})

    assert made.get_chunk_vectors(["k", "7"]) == {"k": [1.0, 2.0]}


def test_no_ids_ask_the_back_end_nothing() -> None:
    assert pipeline(vectors=broken).get_chunk_vectors([]) == {}


@pytest.mark.parametrize("name", ["get_chunks", "get_chunk_vectors"])
def test_a_text_for_a_list_of_ids_is_refused(name: str) -> None:
    with pytest.raises(ContractValueError, match="list"):
        getattr(pipeline(**FUNCTIONS), name)("d:1")


def test_a_known_corpus_gives_hits_their_documents() -> None:
    records = {"d:0": ChunkRecord("d:0", "the document", "d", 0, None, "texto 0")}
    rows = [Row(text="texto 0", id="d:0"), Row(text="outro", id="other")]
    made = pipeline(frozen=records, search=lambda text, top_k: [Found(row=one, number=0.5) for one in rows])

    assert [hit.doc_id for hit in made.query("texto")] == ["the document", None]
    assert made.pull_all_chunks() == list(records.values())
    assert made.get_chunks(["d:0", "other"]) == records


def test_the_space_is_told_with_the_measure_of_the_scores() -> None:
    space = EmbeddingSpaceDescriptor(model="m", dimension=2, fingerprint="f")
    made = pipeline(embed=FUNCTIONS["embed"], space=space, scale=Scale("cosine_distance"))

    assert (made.describe_space().model, made.describe_space().metric) == ("m", "cosine")
    assert made.embed_queries(["a", "b"]).space == made.describe_space()
    assert made.info()["embedding_fingerprint"] == "f"


def test_fewer_vectors_than_texts_are_a_fault() -> None:
    with pytest.raises(ConnectorContractError, match="1 vectors for 2 texts"):
        pipeline(embed=lambda texts: [[1.0]]).embed_queries(["a", "b"])


def test_health_tells_what_is_wrong_instead_of_raising() -> None:
    assert pipeline(health=lambda: "5 chunks").health().detail == "5 chunks"
    assert not pipeline(health=broken).health().ok
    assert "the disk is gone" in pipeline(health=broken).health().detail


def test_a_closed_pipeline_is_refused_and_closed_once() -> None:
    closed = list[int]()
    made = pipeline(close=lambda: closed.append(1), health=FUNCTIONS["health"])

    made.close()
    made.close()

    assert closed == [1]
    assert not made.health().ok
    with pytest.raises(ConnectorOperationalError, match="closed"):
        made.query("texto")


def test_pages_that_go_in_circles_are_a_fault() -> None:
    with pytest.raises(ConnectorContractError, match="no end"):
        list(every_row(lambda cursor, limit: (ROWS, "1")))
    with pytest.raises(ConnectorContractError, match="no end"):
        list(every_row(lambda cursor, limit: (ROWS, str(int(cursor or 0) + 1))))


@pytest.mark.parametrize(
    ("kind", "parameter"), [("langchain", "documents"), ("llamaindex", "nodes"), ("http", "chunks_path")]
)
def test_without_a_corpus_the_advice_names_the_parameter_that_gives_one(kind: str, parameter: str) -> None:
    assert parameter in pipeline(kind=kind).check_advice["corpus-pull"]
    assert "corpus-pull" not in pipeline(kind=kind, rows=FUNCTIONS["rows"]).check_advice


def test_a_back_end_that_finds_nothing_by_id_is_not_told_to_look_ids_up() -> None:
    report = validate_pipeline(pipeline(rows=FUNCTIONS["rows"]), target="x", sample_query="texto")

    [row] = [check for check in report.checks if check.id == "get-chunks"]
    assert "back end finds nothing by its id" in row.fix


def test_an_error_that_iteration_would_take_for_its_end_is_an_error() -> None:
    def searched(text: str, top_k: int) -> list[Found]:
        raise StopIteration

    asked = map(pipeline(search=searched).query, ["prazo", "taxa"])

    with pytest.raises(ConnectorOperationalError, match="StopIteration"):
        list(asked)


def test_empty_pages_without_an_end_are_a_fault() -> None:
    with pytest.raises(ConnectorContractError, match="no end"):
        list(every_row(lambda cursor, limit: ([], str(int(cursor or 0) + 1))))


@pytest.mark.parametrize("vector", ["12", b"12", {"0": 1}, [1.0, float("nan")], [float("inf")]], ids=repr)
def test_what_is_no_vector_of_finite_numbers_is_a_fault(vector: Any) -> None:
    with pytest.raises(ConnectorContractError, match="vector"):
        pipeline(vectors=lambda ids: dict.fromkeys(ids, vector)).get_chunk_vectors(["d:1"])
    with pytest.raises(ConnectorContractError, match="vector"):
        pipeline(embed=lambda texts: [vector]).embed_queries(["a"])


def test_a_back_end_that_would_end_the_program_has_failed() -> None:
    def leaving(text: str, top_k: int) -> list[Found]:
        raise SystemExit(3)

    with pytest.raises(ConnectorOperationalError, match="SystemExit"):
        pipeline(search=leaving).query("texto")
