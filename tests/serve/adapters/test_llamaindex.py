"""Indexes and retrievers of LlamaIndex keep the contract, as far as they can."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.schema import MetadataMode

from estante.contract.capabilities import supports
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    UnsupportedCapability,
)
from estante.contract.pipeline import RagPipeline
from estante.serve.adapters.llamaindex import CONNECTOR_SPEC
from tests.serve.adapters.llamaindex_makers import nodes
from tests.serve.adapters.notes import BEST, QUESTION, embedded, examined, listed, places, statuses, told

MAKERS = "tests.serve.adapters.llamaindex_makers"


def params(name: str, **others: Any) -> dict[str, Any]:
    return {"object": f"{MAKERS}:{name}", **others}


def connected(name: str, **others: Any) -> RagPipeline:
    return CONNECTOR_SPEC.connect_with(params(name, **others))[0]


def test_a_vector_index_keeps_the_contract_in_a_fresh_process_too() -> None:
    report = examined(CONNECTOR_SPEC, params("index"), fresh=True)

    assert report.ready, told(report)
    assert statuses(report, "fresh-process", "score-direction", "get-chunks", "chunk-vectors") == ["PASS"] * 4


def test_the_corpus_is_the_nodes_that_the_index_holds() -> None:
    pipeline = connected("index")

    assert listed(pipeline) == places()
    assert pipeline.get_chunks([BEST])[BEST].source_file == "ferias.md"


def test_vectors_are_those_of_the_index_which_embeds_the_metadata_too() -> None:
    whole = nodes()[0].get_content(MetadataMode.EMBED)

    assert connected("index").get_chunk_vectors([BEST, "unknown"]) == {BEST: embedded(whole)}
    assert whole != places()[0][3]


def test_the_text_of_a_node_is_its_own_without_its_metadata() -> None:
    assert {hit.text for hit in connected("index").query(QUESTION, 20)} == {text for *_, text in places()}


def test_scores_of_the_simple_store_are_cosines() -> None:
    pipeline = connected("index")
    hits = pipeline.query(QUESTION, 3)

    assert (pipeline.retrieval_mode, pipeline.info()["distance"]) == ("scored", "cosine")
    assert [hit.score for hit in hits] == sorted((hit.score or 0 for hit in hits), reverse=True)
    assert all(hit.raw_score is None for hit in hits)


def test_another_way_to_search_promises_nothing_of_its_scores() -> None:
    pipeline = connected("index", search_kwargs={"vector_store_query_mode": "mmr"})

    assert pipeline.retrieval_mode == "ordered"
    assert pipeline.info()["internal_filters"][0]["value"] == "mmr"


def test_an_index_of_another_kind_is_read_too() -> None:
    assert listed(connected("summary")) == places()
    assert not supports(connected("summary"), "get_chunk_vectors")


@pytest.mark.parametrize("holder", ["nodes", "index", "docstore"])
def test_a_retriever_with_its_nodes_keeps_the_contract_by_order(holder: str) -> None:
    report = examined(CONNECTOR_SPEC, params("retriever", nodes=f"{MAKERS}:{holder}"))

    assert report.ready, told(report)
    assert listed(connected("retriever", nodes=f"{MAKERS}:{holder}")) == places()


def test_a_retriever_without_its_nodes_cannot_be_read() -> None:
    with pytest.raises(UnsupportedCapability):
        connected("retriever").pull_all_chunks()


@pytest.mark.parametrize("top_k", [1, 7])
def test_a_retriever_is_asked_for_as_many_as_are_wanted(top_k: int) -> None:
    assert len(connected("retriever").query(QUESTION, top_k)) == top_k


def test_a_retriever_that_bounds_nothing_is_cut() -> None:
    assert len(connected("Ours", kwargs={"score": 0.5}).query(QUESTION, 3)) == 3


def test_a_retriever_is_scored_when_that_is_declared() -> None:
    pipeline = connected("Ours", kwargs={"score": 0.5}, score_kind="similarity")

    assert pipeline.retrieval_mode == "scored"
    assert pipeline.query(QUESTION, 1)[0].score == 0.5


def test_a_hit_without_the_score_that_was_declared_is_a_fault() -> None:
    with pytest.raises(ConnectorContractError, match="score_kind 'none'"):
        connected("Ours", kwargs={"score": None}, score_kind="similarity").query(QUESTION)


def test_a_node_that_says_where_it_stands_has_a_span() -> None:
    found = connected("retriever", nodes=f"{MAKERS}:spans").pull_all_chunks()

    assert [(one.chunk_id, one.char_start, one.char_end) for one in found] == [("s:1", 5, 9), ("s:0", None, None)]


def test_a_retriever_that_is_down_is_an_error_and_not_empty() -> None:
    with pytest.raises(ConnectorOperationalError, match="the index does not answer"):
        connected("Broken").query(QUESTION)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (params("nodes"), "leads to a list"),
        (params("spans"), "is a list, which this connector cannot use"),
        (params("retriever", search_kwargs={"k": 1}), "takes none"),
        (params("retriever", nodes=f"{MAKERS}:places"), "gives a tuple among its nodes of"),
        (params("retriever", nodes=f"{MAKERS}:nodes", chunks="x.jsonl"), "chunks: .* cannot be read"),
        (params("Ours"), "Ours failed: TypeError"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message):
        CONNECTOR_SPEC.connect_with(given)
