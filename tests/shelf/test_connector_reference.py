"""The reference pipeline under rag-connector's names: collections in a folder, asked by meaning."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from estante.contract.capabilities import supports
from estante.contract.errors import (
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
)
from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.contract.prompts import prompt_template_problems
from estante.contract.registry import get_connector
from estante.contract.specs import spec_problems
from estante.contract.validate import validate_pipeline
from estante.shelf import reference
from estante.shelf.connector import REFERENCE_SPEC
from estante.shelf.reference import (
    ReferenceRagConnector,
    build,
    canonical_persist_dir,
    connect,
    is_cold_segment_read,
    release_store,
)
from estante.shelf.reference_prompts import REFERENCE_PROMPT_TEMPLATES, reference_prompt_template
from estante.shelf.reference_provision import provision_reference_rag
from tests.shelf.bound import documents
from tests.shelf.clients import WordClient

TEXTS = {"ferias": "O servidor tem férias de trinta dias.", "diarias": "As diárias pagam a viagem do servidor."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the collection ``normas``, made with the encoder of every install."""
    texts = documents(tmp_path / "texts", **TEXTS)
    provision_reference_rag(texts, collection_name="normas", persist_dir=tmp_path / "all").close()
    return tmp_path / "all"


def params(folder: Path, **more: Any) -> dict[str, Any]:
    return {"persist_dir": str(folder), "collection_name": "normas", **more}


def opened(folder: Path, **more: Any) -> ReferenceRagConnector:
    return ReferenceRagConnector(**params(folder, **more))


# --- the registered connector ---------------------------------------------------------------------------------------


def test_the_spec_is_the_one_that_tools_know() -> None:
    assert get_connector("reference") is REFERENCE_SPEC
    assert spec_problems(REFERENCE_SPEC) == []
    assert (REFERENCE_SPEC.connector_type, REFERENCE_SPEC.label) == ("reference", "Reference RAG (local)")
    names = [one["name"] for one in REFERENCE_SPEC.params]
    assert names == ["persist_dir", "collection_name", "embedding_model"]
    assert all(one["required"] for one in REFERENCE_SPEC.params)
    assert ["default" in one for one in REFERENCE_SPEC.params] == [True, False, True]
    assert REFERENCE_SPEC.connector_info is not None
    told = REFERENCE_SPEC.connector_info()
    assert told.startswith("# Reference RAG (local)")
    assert all(name in told for name in names)


def test_a_collection_is_ready_without_a_warning_and_its_scores_are_cosines(folder: Path) -> None:
    pipeline, document = REFERENCE_SPEC.connect_with(params(folder))

    report = validate_pipeline(
        pipeline,
        target="reference",
        sample_query="férias do servidor",
        connection=document,
        spec=REFERENCE_SPEC,
        strict=True,
        close=True,
    )

    assert report.ready, report.render()
    [scores] = [row for row in report.checks if row.name == "Reported scores follow from the stored vectors"]
    assert scores.status == "PASS"


def test_the_document_has_the_keys_that_hosts_stored(folder: Path) -> None:
    pipeline, document = connect(params(folder))

    assert document == {
        "type": "reference",
        "persist_dir": str(folder),
        "collection_name": "normas",
        "embedding_model": "static",
        "distance": "cosine",
        "normalized": None,
    }
    del document["normalized"]  # As documents were before it was declared.
    again = build(json.loads(json.dumps(document)))
    assert again.pull_all_chunks() == pipeline.pull_all_chunks()
    assert again.fingerprint() == pipeline.fingerprint()
    assert again.describe_space() == pipeline.describe_space()
    for one in (again, pipeline):
        one.close()


def test_a_relative_folder_is_absolute_in_a_document_and_as_it_was_given_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)

    pipeline, document = connect(params(Path("all")))
    given = opened(Path("./all"))

    assert document["persist_dir"] == str(folder)
    assert given.connection()["persist_dir"] == given.info()["persist_dir"] == "all"
    assert given.pull_all_chunks() == pipeline.pull_all_chunks()
    assert canonical_persist_dir("./all") == canonical_persist_dir(folder)
    assert release_store(folder)


def test_a_collection_that_is_not_there_is_an_error_and_is_not_made(folder: Path) -> None:
    for ask in (
        lambda: opened(folder, collection_name="norma"),
        lambda: connect(params(folder, collection_name="norma")),
    ):
        with pytest.raises(ConnectorOperationalError, match=r"no collection 'norma' .*There are: normas"):
            ask()

    assert sorted(one.name for one in folder.iterdir()) == ["normas"]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"collection_name": "../normas"}, "collection_name is"),
        ({"collection_name": "."}, "collection_name is"),
        ({"collection_name": "a\n"}, "collection_name is"),
        ({"collection_name": " "}, "collection_name is empty"),
        ({"collection_name": None}, "collection_name is"),
        ({"normalized": "yes"}, "tri-state"),
        ({"distance": "l2"}, "by their cosine"),
        ({"tenant": "x"}, "says tenant"),
    ],
)
def test_a_document_that_says_something_else_is_refused(folder: Path, more: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=complaint):
        build(params(folder, **more))


@pytest.mark.parametrize(
    ("client", "complaint"),
    [
        (WordClient("static", 384), "revision"),
        (WordClient("words", 384), "model 'static', not with 'words'"),
        (WordClient("static", 16), "width 384"),
    ],
    ids=["revision", "model", "width"],
)
def test_another_model_is_refused_on_opening_and_on_adding(folder: Path, client: WordClient, complaint: str) -> None:
    new = documents(folder.parent / "new", prazo="O prazo é de dez dias.")

    with pytest.raises(ConnectorRegistrationError, match=complaint):
        opened(folder, embedding_client=client)
    with pytest.raises(ConnectorRegistrationError, match=complaint):
        provision_reference_rag(
            new, collection_name="normas", persist_dir=folder, embedding_client=client, replace_existing=False
        )
    assert len(opened(folder).pull_all_chunks()) == 2


def test_another_normalisation_than_the_declared_one_is_refused(tmp_path: Path) -> None:
    texts = documents(tmp_path / "texts", **TEXTS)
    made = provision_reference_rag(texts, collection_name="normas", persist_dir=tmp_path / "all", normalized=True)

    assert made.describe_space().normalized is True
    assert opened(tmp_path / "all").describe_space().normalized is True
    assert opened(tmp_path / "all", normalized=True).connection()["normalized"] is True
    with pytest.raises(ConnectorRegistrationError, match="normalized=True, not False"):
        opened(tmp_path / "all", normalized=False)


def test_the_tri_state_is_checked_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tri-state"):
        ReferenceRagConnector(collection_name="x", persist_dir=tmp_path / "nowhere", normalized="true")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


# --- reading --------------------------------------------------------------------------------------------------------


def test_scores_are_one_less_the_distance_and_follow_from_the_vectors(folder: Path) -> None:
    pipeline = opened(folder)
    hits = pipeline.query("férias do servidor", top_k=5)
    [asked] = pipeline.embed_queries(["férias do servidor"]).vectors
    vectors = pipeline.get_chunk_vectors([str(hit.chunk_id) for hit in hits])

    assert [hit.rank for hit in hits] == [0, 1]
    assert hits[0].doc_id == "ferias.txt"
    for hit in hits:
        held = vectors[str(hit.chunk_id)]
        cosine = math.sumprod(asked, held) if hasattr(math, "sumprod") else sum(map(float.__mul__, asked, held))
        assert hit.raw_score is not None
        assert hit.score == 1.0 - hit.raw_score
        assert hit.score == pytest.approx(cosine / (math.dist(asked, [0] * 384) * math.dist(held, [0] * 384)), abs=1e-5)


def test_vectors_have_the_length_that_the_model_gave_them(tmp_path: Path) -> None:
    texts = documents(tmp_path / "texts", **TEXTS)
    client = WordClient()
    made = provision_reference_rag(
        texts, collection_name="normas", persist_dir=tmp_path / "all", embedding_client=client, normalized=False
    )

    for chunk in made.pull_all_chunks():
        assert chunk.embedding == pytest.approx(client.embed_query(chunk.text), abs=0.03)
        assert made.get_chunk_vectors([chunk.chunk_id, "nobody"]) == {chunk.chunk_id: chunk.embedding}


def test_pages_are_derived_and_reads_by_id_are_not(folder: Path) -> None:
    pipeline = opened(folder)
    first = pipeline.list_chunks(limit=1)
    rest = pipeline.list_chunks(cursor=first.next_cursor, limit=9)
    whole = pipeline.pull_all_chunks()

    assert [*first.items, *rest.items] == whole
    assert pipeline.get_chunks([whole[1].chunk_id, "nobody", "a\0b"]) == {whole[1].chunk_id: whole[1]}
    assert (pipeline.get_chunks([]), pipeline.get_chunk_vectors([])) == ({}, {})
    assert not supports(ReferenceRagConnector, "list_chunks")
    assert supports(ReferenceRagConnector, "get_chunks")


def test_a_snapshot_tells_settings_from_observations_and_nothing_of_how_chunks_were_cut(folder: Path) -> None:
    pipeline = opened(folder)
    told = pipeline.run_snapshot()

    assert told["schema"] == "reference-rag.run-snapshot.v1"
    assert told["settings"]["backend"] == "estante"
    assert told["settings"]["embedding_fingerprint"] == pipeline.info()["embedding_fingerprint"]
    assert told["observations"] == {"chunk_count": 2}
    assert not [name for name in told["settings"] if "chunk" in name]


def test_a_closed_connector_opens_again_when_it_is_asked(folder: Path) -> None:
    pipeline = opened(folder)

    assert (pipeline.close(), pipeline.close()) == (True, False)
    assert len(pipeline.pull_all_chunks()) == 2
    assert pipeline.close()
    assert pipeline.health().ok
    assert release_store(folder)
    assert not release_store(folder)
    assert pipeline.info()["chunk_count"] == 2


def test_a_connector_reads_on_while_its_collection_is_replaced_and_goes_over_when_it_is_swept(folder: Path) -> None:
    pipeline = opened(folder)
    before = pipeline.pull_all_chunks()
    new = documents(folder.parent / "new", prazo="O prazo é de dez dias.")

    provision_reference_rag(new, collection_name="normas", persist_dir=folder).close()
    assert pipeline.pull_all_chunks() == before
    pipeline.close()

    assert [chunk.text for chunk in pipeline.pull_all_chunks()] == ["O prazo é de dez dias."]


class Passing:
    """A back end that fails a few times and then gives what it was told."""

    def __init__(self, error: Exception, failures: int, found: Any = None) -> None:
        self.error, self.failures, self.found, self.calls = error, failures, found, 0

    def get(self, **_: Any) -> Any:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return self.found

    query = count = get


COLD = RuntimeError("Error creating HNSW segment reader: Nothing found on disk")


def bound_to(folder: Path, held: Any, monkeypatch: pytest.MonkeyPatch) -> ReferenceRagConnector:
    pipeline = opened(folder)
    pipeline.close()
    pipeline._collection = held
    monkeypatch.setattr(pipeline, "_open", lambda: None)
    monkeypatch.setattr(reference, "COLD_READ_RETRY_DELAY_SECONDS", 0)
    return pipeline


@pytest.mark.parametrize(
    ("error", "failures", "calls", "told"),
    [
        (COLD, 99, 2, "also after re-opening"),
        (TimeoutError("backend unavailable"), 99, 1, "corpus read failed: backend unavailable"),
    ],
    ids=["cold", "other"],
)
def test_only_what_passes_is_tried_again_and_only_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, failures: int, calls: int, told: str
) -> None:
    held = Passing(error, failures)

    with pytest.raises(ConnectorOperationalError, match=told) as caught:
        bound_to(folder, held, monkeypatch).pull_all_chunks()

    assert held.calls == calls
    assert caught.value.__cause__ is error


def test_a_read_that_failed_once_is_answered_by_the_second(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"chunk_id": "a", "doc_id": "d", "source_file": "d", "doc_chunk_index": 0}
    found = {"ids": ["a"], "documents": ["alpha"], "metadatas": [row], "embeddings": [[0.5, 0.5]]}

    [chunk] = bound_to(folder, Passing(COLD, 1, found), monkeypatch).pull_all_chunks()

    assert (chunk.chunk_id, chunk.embedding, chunk.global_index) == ("a", [0.5, 0.5], None)


def test_a_row_that_lost_its_place_in_the_document_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"ids": ["a"], "documents": ["alpha"], "metadatas": [{"chunk_id": "a", "doc_id": "d", "source_file": "d"}]}

    with pytest.raises(ValueError, match="doc_chunk_index"):
        bound_to(folder, Passing(COLD, 0, found), monkeypatch).pull_all_chunks()


@pytest.mark.parametrize(
    "near",
    [
        "Error creating hnsw segment writer: Nothing found on disk",
        "Error reading from hnsw segment reader: Error querying knn",
        "Nothing found on disk",
    ],
)
def test_a_failure_that_is_only_like_the_passing_one_is_none(near: str) -> None:
    assert is_cold_segment_read(COLD)
    assert not is_cold_segment_read(RuntimeError(near))


def test_a_damaged_collection_is_an_error_and_no_empty_result(folder: Path) -> None:
    pipeline = opened(folder)
    pipeline.close()
    for file in (folder / "normas" / "builds").glob("*/catalog.sqlite"):
        file.write_bytes(b"nothing")

    for read in (pipeline.pull_all_chunks, lambda: pipeline.query("férias"), lambda: opened(folder)):
        with pytest.raises(ConnectorError):
            read()
    assert not pipeline.health().ok


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_question_finds_nothing_and_no_breadth_is_refused(folder: Path, text: str) -> None:
    assert opened(folder).query(text) == []
    with pytest.raises(ContractValueError, match="top_k is 0"):
        opened(folder).query("férias", top_k=0)


# --- listing --------------------------------------------------------------------------------------------------------


def test_collections_are_listed_and_one_that_cannot_be_counted_says_why(folder: Path, tmp_path: Path) -> None:
    provision_reference_rag(tmp_path / "texts", collection_name="atas", persist_dir=folder).close()
    (folder / "normas" / "collection.json").write_text("{}")
    (folder / "no-collection").mkdir()

    atas, normas = REFERENCE_SPEC.datasets_with({"persist_dir": str(folder)})

    assert (atas.id, atas.item_count) == ("atas", 2)
    assert atas.connect_params == {"persist_dir": str(folder), "collection_name": "atas"}
    assert (normas.id, normas.item_count) == ("normas", None)
    assert "collection.json" in normas.metadata["error"]


def test_listing_leaves_a_connector_bound_to_its_own(folder: Path, tmp_path: Path) -> None:
    provision_reference_rag(tmp_path / "texts", collection_name="atas", persist_dir=folder).close()
    pipeline = opened(folder)
    before = pipeline.fingerprint()

    assert [one.id for one in pipeline.list_datasets()] == ["atas", "normas"]
    assert (pipeline.collection_name, pipeline.fingerprint()) == ("normas", before)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError, match="there is no folder of collections"):
        REFERENCE_SPEC.datasets_with({"persist_dir": str(tmp_path / "nowhere")})


# --- answers --------------------------------------------------------------------------------------------------------


def unbound(*hits: RetrievedChunk) -> ReferenceRagConnector:
    pipeline = object.__new__(ReferenceRagConnector)
    pipeline.query = lambda text, top_k=5: list(hits)  # type: ignore[method-assign]
    return pipeline


def test_an_answer_cites_by_id_and_by_rank_and_keeps_what_was_made_up() -> None:
    pipeline = unbound(RetrievedChunk("chunk-a", "texto", 0.1, 0))
    llm = SimpleNamespace(
        invoke=lambda prompt: SimpleNamespace(content='{"answer": "Sim [1][9]", "citations": ["1", "9", "ghost", ""]}'),
        model_name="m",
    )

    answer = pipeline.generate("q", top_k=1, llm=llm)

    assert (answer.answer, answer.citations, answer.error) == ("Sim [1][9]", ["chunk-a", "9", "ghost"], None)
    assert answer.trace is not None
    assert answer.trace.template_id == "question-first-json-v1"


def test_without_a_model_the_contexts_come_with_the_error() -> None:
    hit = RetrievedChunk("chunk-a", "texto", 0.1, 0)
    answer = unbound(hit).generate("q", top_k=1)

    assert (answer.contexts, answer.error, answer.trace) == ([hit], "Reference RAG generation requires an LLM", None)


def test_the_declared_prompts_are_legal_and_an_unknown_one_is_refused() -> None:
    assert [one.id for one in REFERENCE_PROMPT_TEMPLATES] == ["question-first-json-v1", "context-first-json-v1"]
    assert [prompt_template_problems(one) for one in REFERENCE_PROMPT_TEMPLATES] == [[], []]
    assert REFERENCE_SPEC.prompt_templates is not None
    assert list(REFERENCE_SPEC.prompt_templates()) == list(REFERENCE_PROMPT_TEMPLATES)
    with pytest.raises(KeyError, match="declared ids are"):
        reference_prompt_template("other")


def test_no_name_of_the_pipeline_says_that_it_could_change_anything() -> None:
    words = ("reset", "ingest", "provision", "delete", "drop", "clear", "upsert", "write", "create_from")

    assert [name for name in dir(ReferenceRagConnector) for word in words if word in name.lower()] == []


def test_a_record_is_the_one_that_was_put(folder: Path) -> None:
    texts = [
        ChunkRecord(
            "a:0", "a", "a.md", 0, 0, "Primeiro\u2028trecho. ", None, 0, 19, "mod", {"chunk_id": "other", "n": [1]}
        ),
        ChunkRecord("a:1", "a", "a.md", 1, 1, "Segundo trecho.", None, 19, 34),
    ]
    made = provision_reference_rag(chunks=texts, collection_name="dois", persist_dir=folder)
    pulled = made.pull_all_chunks()

    for one in pulled:
        one.embedding = None
    assert pulled == texts
    assert made.query("segundo trecho", top_k=1)[0].metadata["doc_chunk_index"] == 1
    assert made.get_chunks(["a:0"])["a:0"].metadata == {"chunk_id": "other", "n": [1]}
