"""Pipelines, retrievers and stores of Haystack keep the contract, as far as they can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import ConnectorOperationalError, ConnectorRegistrationError
from estante.contract.pipeline import RagPipeline
from estante.serve.adapters.haystack import CONNECTOR_SPEC
from tests.serve.adapters.notes import BEST, QUESTION, embedded, examined, listed, places, statuses, told

ROOT = Path(__file__).resolve().parents[3]
MAKERS = "tests.serve.adapters.haystack_makers"


def params(name: str, **others: Any) -> dict[str, Any]:
    return {"object": f"{MAKERS}:{name}", **others}


def connected(name: str, **others: Any) -> RagPipeline:
    return CONNECTOR_SPEC.connect_with(params(name, **others))[0]


def test_haystack_is_kept_from_reporting_and_from_numbering_its_users(tmp_path: Path) -> None:
    code = (
        "from estante.serve.adapters.haystack import CONNECTOR_SPEC\n"
        f"CONNECTOR_SPEC.connect_with({params('store')!r})\n"
        "from haystack.telemetry import _telemetry\n"
        "print(_telemetry.telemetry)"
    )
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environ.pop("HAYSTACK_TELEMETRY_ENABLED")

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)

    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    assert not (tmp_path / ".haystack").exists()


def test_a_pipeline_keeps_the_contract_in_a_fresh_process_too() -> None:
    report = examined(CONNECTOR_SPEC, params("pipeline", vectors=True), fresh=True)

    assert report.ready, told(report)
    assert statuses(report, "fresh-process", "score-direction", "get-chunks", "chunk-vectors") == ["PASS"] * 4


@pytest.mark.parametrize("name", ["by_words", "store"])
def test_a_retriever_or_a_store_alone_keeps_the_contract(name: str) -> None:
    report = examined(CONNECTOR_SPEC, params(name))

    assert report.ready, told(report)
    assert connected(name).info()["distance"] == "bm25"


@pytest.mark.parametrize("name", ["pipeline", "by_words", "store", "hybrid"])
def test_the_corpus_is_what_the_store_holds(name: str) -> None:
    assert listed(connected(name)) == places()


def test_chunks_are_found_by_id_with_their_document() -> None:
    pipeline = connected("store")

    found = pipeline.get_chunks([BEST, "unknown"])
    assert [(key, one.source_file, one.doc_id) for key, one in found.items()] == [(BEST, "ferias.md", "ferias")]


def test_vectors_are_given_when_the_store_is_said_to_have_them() -> None:
    assert connected("store", vectors=True).get_chunk_vectors([BEST, "unknown"]) == {BEST: embedded(places()[0][3])}
    assert not supports(connected("store"), "get_chunk_vectors")


@pytest.mark.parametrize(
    ("kwargs", "distance"),
    [({}, "cosine"), ({"measure": "dot_product"}, "dot_product"), ({"scale_score": True}, "similarity")],
)
def test_the_measure_is_that_of_the_store_unless_scores_are_scaled(kwargs: dict[str, Any], distance: str) -> None:
    assert connected("pipeline", kwargs=kwargs).info()["distance"] == distance


@pytest.mark.parametrize("top_k", [1, 11])
def test_a_pipeline_is_asked_for_as_many_as_are_wanted(top_k: int) -> None:
    assert len(connected("pipeline").query(QUESTION, top_k)) == top_k


def test_the_output_and_the_inputs_can_be_named() -> None:
    pipeline = connected("reranked", output="rerank.ranked", top_k_input="retriever.top_k")
    chosen = connected("apart", output="two.documents", inputs=["one.query", "two.query"], store="two")

    assert (pipeline.retrieval_mode, len(pipeline.query(QUESTION, 2))) == ("ordered", 2)
    assert chosen.query(QUESTION)[0].chunk_id == BEST


def test_lists_that_are_joined_keep_the_contract_by_order() -> None:
    report = examined(CONNECTOR_SPEC, params("hybrid"))

    assert report.ready, told(report)
    assert connected("hybrid").retrieval_mode == "ordered"


def test_a_filter_of_a_retriever_is_told() -> None:
    [told_filter] = connected("filtered").info()["internal_filters"]

    assert told_filter["name"] == "retriever"
    assert told_filter["value"]["value"] == "ferias"


def test_a_retriever_that_is_down_is_an_error_and_not_empty() -> None:
    with pytest.raises(ConnectorOperationalError, match="the index does not answer"):
        connected("broken").query(QUESTION)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (params("by_vectors"), r"retriever\.query_embedding needs a list\[float\], not a text"),
        (params("words"), "no component gives documents"),
        (params("places"), "leads to a list"),
        (params("apart"), r"several give documents; name one of one\.documents, two\.documents"),
        (
            params("pipeline", output="retriever.hits"),
            r"no 'retriever\.hits'; there are: .*retriever\.documents",
        ),
        (params("pipeline", top_k_input="words.top_k"), r"there is no 'words\.top_k'"),
        (params("pipeline", inputs=["text"]), "there is no 'text'"),
        (params("pipeline", inputs="words.text"), "must be a list"),
        (params("hybrid", kwargs={"two_stores": True}), "several document stores; name the component of one"),
        (params("pipeline", store="words"), "'words' has no document store; there are: retriever"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message):
        CONNECTOR_SPEC.connect_with(given)
