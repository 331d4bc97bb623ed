"""Stores and retrievers of LangChain keep the contract, as far as they can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import ConnectorOperationalError, ConnectorRegistrationError, UnsupportedCapability
from estante.contract.jsonl import chunks_to_jsonl
from estante.contract.params import ParamsError
from estante.contract.pipeline import RagPipeline
from estante.serve.adapters import vectorstores
from estante.serve.adapters.langchain import CONNECTOR_SPEC
from tests.serve.adapters.notes import BEST, QUESTION, embedded, examined, listed, places, row, statuses, told

MAKERS = "tests.serve.adapters.langchain_makers"

# FAISS was made with SWIG, whose types have no module.
pytestmark = pytest.mark.filterwarnings("ignore:builtin type [sS]wig.*:DeprecationWarning")


def params(name: str, **others: Any) -> dict[str, Any]:
    return {"object": f"{MAKERS}:{name}", **others}


def connected(name: str, **others: Any) -> RagPipeline:
    return CONNECTOR_SPEC.connect_with(params(name, **others))[0]


def test_a_vector_store_in_memory_keeps_the_contract_in_a_fresh_process_too() -> None:
    report = examined(CONNECTOR_SPEC, params("memory"), fresh=True)

    assert report.ready, told(report)
    assert statuses(report, "fresh-process", "recomputed-scores", "get-chunks", "chunk-vectors") == ["PASS"] * 4


@pytest.mark.parametrize(
    ("name", "kwargs", "distance", "recomputed"),
    [
        ("chroma", {"space": "cosine"}, "cosine", "PASS"),
        ("chroma", {"space": "ip"}, "ip", "PASS"),
        ("chroma", {"space": "l2"}, "squared_l2", "skip"),
        ("faiss", {"inner": True}, "ip", "PASS"),
        ("faiss", {}, "squared_l2", "skip"),
    ],
)
def test_a_store_that_is_known_keeps_the_contract_by_its_own_measure(
    name: str, kwargs: dict[str, Any], distance: str, recomputed: str
) -> None:
    report = examined(CONNECTOR_SPEC, params(name, kwargs=kwargs))

    assert report.ready, told(report)
    assert [one.casefold() for one in statuses(report, "recomputed-scores", "chunk-vectors", "get-chunks")] == [
        recomputed.casefold(),
        "pass",
        "pass",
    ]
    assert connected(name, kwargs=kwargs).info()["distance"] == distance


@pytest.mark.parametrize("name", ["memory", "chroma", "faiss"])
def test_the_corpus_is_what_the_store_holds(name: str) -> None:
    kwargs = {"space": "cosine"} if name == "chroma" else {}

    assert listed(connected(name, kwargs=kwargs)) == places()


class Shrinking:
    """A Chroma of five rows whose first one is taken away after the first page."""

    def __init__(self) -> None:
        self.ids = [str(at) for at in range(5)]

    def get(self, limit: int, offset: int) -> dict[str, Any]:
        ids = self.ids[offset : offset + limit]
        self.ids = self.ids[1:] if offset == 0 else self.ids
        return {"ids": ids, "documents": ids, "metadatas": [{} for _ in ids]}


def test_a_row_that_is_taken_away_while_others_are_read_costs_no_row_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectorstores, "PAGE", 2)
    holdings = vectorstores.holdings_of(type("Chroma", (Shrinking,), {})())

    assert holdings is not None
    with pytest.raises(ConnectorOperationalError, match="has changed while it was read"):
        list(holdings.rows())


def test_a_chroma_of_many_pages_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorstores, "PAGE", 5)

    assert listed(connected("chroma", kwargs={"space": "cosine"})) == places()


@pytest.mark.parametrize(("name", "kwargs"), [("memory", {}), ("chroma", {"space": "cosine"}), ("faiss", {})])
def test_vectors_are_those_of_the_index(name: str, kwargs: dict[str, Any]) -> None:
    found = connected(name, kwargs=kwargs).get_chunk_vectors([BEST, "unknown"])

    assert found == {BEST: embedded(places()[0][3])}


def test_a_distance_becomes_a_score_and_is_kept() -> None:
    hits = connected("faiss").query(QUESTION, 3)

    assert all(hit.raw_score is not None and hit.score == -hit.raw_score for hit in hits)


def test_what_the_scores_of_a_strange_store_are_must_be_declared() -> None:
    report = examined(CONNECTOR_SPEC, params("unknown", score_kind="cosine_distance"))

    assert report.ready, told(report)
    assert connected("unknown", score_kind="cosine_distance").query(QUESTION)[0].chunk_id == BEST


def test_a_wrong_declaration_is_found_by_the_validator() -> None:
    report = examined(CONNECTOR_SPEC, params("unknown", score_kind="similarity"))

    assert row(report, "score-direction").status != "PASS"
    assert "down the list" in row(report, "score-direction").details[0]


def test_scores_that_are_declared_to_be_none_are_not_given() -> None:
    pipeline = connected("memory", score_kind="none")

    assert pipeline.retrieval_mode == "ordered"
    assert [hit.score for hit in pipeline.query(QUESTION, 2)] == [None, None]


def test_ids_that_change_with_the_process_are_found_by_the_validator() -> None:
    report = examined(CONNECTOR_SPEC, params("nameless"), fresh=True)

    assert not report.ready
    assert row(report, "fresh-process").status == "FAIL"


def test_ids_of_texts_mend_that() -> None:
    report = examined(CONNECTOR_SPEC, params("nameless", text_ids=True))

    assert report.ready, told(report)
    assert statuses(report, "build-round-trip", "recomputed-scores") == ["PASS", "PASS"]


def test_places_that_no_chunk_tells_are_counted() -> None:
    found = connected("uncounted").pull_all_chunks()

    assert [one.doc_chunk_index for one in found] == list(range(len(places())))
    assert connected("uncounted").get_chunks([found[3].chunk_id])[found[3].chunk_id].doc_chunk_index == 3


# --- retrievers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["by_words", "chain"])
def test_a_retriever_with_its_documents_keeps_the_contract_by_order(name: str) -> None:
    report = examined(CONNECTOR_SPEC, params(name, documents=f"{MAKERS}:documents"))

    assert report.ready, told(report)
    assert connected(name).retrieval_mode == "ordered"


def test_a_retriever_of_a_store_lists_that_store() -> None:
    report = examined(CONNECTOR_SPEC, params("of_store"))

    assert report.ready, told(report)
    assert listed(connected("of_store")) == places()
    assert not supports(connected("of_store"), "get_chunk_vectors")


def test_a_retriever_without_its_documents_cannot_be_read() -> None:
    pipeline = connected("by_words")

    assert len(pipeline.query(QUESTION)) == 5
    with pytest.raises(UnsupportedCapability):
        pipeline.pull_all_chunks()
    assert row(examined(CONNECTOR_SPEC, params("by_words")), "corpus-pull").status == "FAIL"


@pytest.mark.parametrize("name", ["by_words", "of_store"])
@pytest.mark.parametrize("top_k", [1, 7])
def test_a_retriever_is_asked_for_as_many_as_are_wanted(name: str, top_k: int) -> None:
    assert len(connected(name).query(QUESTION, top_k)) == top_k


def test_nothing_that_is_asked_goes_to_a_tracer() -> None:
    assert len(connected("traced").query(QUESTION)) == 5


def test_a_filter_of_a_retriever_is_told() -> None:
    [told_filter] = connected("thresholded").info()["internal_filters"]

    assert (told_filter["name"], told_filter["value"]) == ("score_threshold", 0.1)


def test_a_file_of_chunks_is_the_corpus_of_what_cannot_be_listed(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(chunks_to_jsonl(connected("memory").pull_all_chunks()), "utf-8", newline="\n")

    report = examined(CONNECTOR_SPEC, params("by_words", chunks=str(corpus)))

    assert report.ready, told(report)


def test_what_gives_no_documents_is_no_retriever() -> None:
    with pytest.raises(Exception, match="gave a str for a list of documents"):
        connected("answers").query(QUESTION)


# --- what goes wrong --------------------------------------------------------------------------------------------


def test_a_store_that_is_down_is_an_error_and_not_empty() -> None:
    with pytest.raises(ConnectorOperationalError, match="the index does not answer") as caught:
        connected("broken", score_kind="similarity").query(QUESTION)

    assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (params("unknown"), r"score_kind: what the scores of Unknown are is not known; declare one of similarity"),
        (params("by_words", score_kind="similarity"), "a ByWords tells no scores"),
        (params("by_words", search_kwargs={"k": 3}), "takes none"),
        (params("documents"), "leads to a list"),
        (params("by_words", documents=f"{MAKERS}:QUESTION"), "has no 'QUESTION'"),
        (params("by_words", documents=f"{MAKERS}:places"), "gives a tuple among its documents of"),
        (params("nothing"), "has no 'nothing'"),
        (params("memory", kwargs=[1]), "must be an object"),
        (params("memory", score_kind="percent"), "must be one of"),
        (params("memory", tipo=1), "is no parameter"),
        ({}, "object: is required"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message):
        CONNECTOR_SPEC.connect_with(given)


def test_a_secret_argument_is_resolved_and_never_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_KEY", "hush")

    pipeline, connection = CONNECTOR_SPEC.connect_with(params("with_key", secrets={"key": "env:NOTES_KEY"}))

    assert pipeline.query(QUESTION)[0].chunk_id == BEST
    assert "hush" not in str(connection)
    assert CONNECTOR_SPEC.build(connection).query(QUESTION)[0].chunk_id == BEST


def test_a_secret_given_as_it_is_is_refused() -> None:
    with pytest.raises(ParamsError, match="never the secret itself"):
        CONNECTOR_SPEC.connect_with(params("with_key", secrets={"key": "hush"}))
