"""The reference pipeline under rag-connector's names: collections in a folder, asked by meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from estante.contract.errors import ConnectorOperationalError, ConnectorRegistrationError
from estante.contract.registry import get_connector
from estante.contract.specs import spec_problems
from estante.contract.validate import validate_pipeline
from estante.shelf.connector import REFERENCE_SPEC
from estante.shelf.reference import ReferencePipeline, build, connect, provision_reference_rag
from tests.shelf.bound import documents, know_the_tiny_encoder

TEXTS = {"ferias": "O servidor tem férias de trinta dias.", "diarias": "As diárias pagam a viagem do servidor."}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the collection ``normas``."""
    know_the_tiny_encoder(monkeypatch)
    monkeypatch.setenv("ESTANTE_ENCODER", "tiny")
    texts = documents(tmp_path / "texts", **TEXTS)
    provision_reference_rag(texts, collection_name="normas", persist_dir=tmp_path / "all").close()
    return tmp_path / "all"


def params(folder: Path, **more: Any) -> dict[str, Any]:
    return {"persist_dir": str(folder), "collection_name": "normas", **more}


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
        skip=["fresh-process"],  # The tiny encoder is known to this process alone.
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
        "embedding_model": "tiny",
        "distance": "cosine",
        "normalized": None,
    }
    again = build(json.loads(json.dumps(document)))
    assert again.pull_all_chunks() == pipeline.pull_all_chunks()
    for one in (again, pipeline):
        one.close()


def test_a_collection_that_is_not_there_is_an_error_and_is_not_made(folder: Path) -> None:
    with pytest.raises(ConnectorOperationalError, match="there is no bookcase at"):
        connect(params(folder, collection_name="norma"))

    assert sorted(one.name for one in folder.iterdir()) == ["normas"]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"collection_name": "../normas"}, "collection_name is"),
        ({"collection_name": "."}, "collection_name is"),
        ({"collection_name": "a\n"}, "collection_name is"),
        ({"collection_name": None}, "collection_name is"),
        ({"embedding_model": "BAAI/bge-small-en-v1.5"}, "made with the model 'tiny'"),
        ({"normalized": "yes"}, "tri-state"),
        ({"normalized": False}, "unit length"),
        ({"distance": "l2"}, "by their cosine"),
        ({"tenant": "x"}, "says tenant"),
    ],
)
def test_a_document_that_says_something_else_is_refused(folder: Path, more: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=complaint):
        build(params(folder, **more))


def test_collections_are_listed_and_one_that_cannot_be_counted_says_why(folder: Path, tmp_path: Path) -> None:
    assert REFERENCE_SPEC.list_datasets is not None
    provision_reference_rag(tmp_path / "texts", collection_name="atas", persist_dir=folder).close()
    [record] = (folder / "normas" / ".estante" / "builds").glob("*/provision.json")
    record.unlink()
    (folder / "no-collection").mkdir()

    atas, normas = REFERENCE_SPEC.list_datasets({"persist_dir": str(folder)})

    assert (atas.id, atas.item_count, atas.connect_params) == (
        "atas",
        2,
        {"persist_dir": str(folder), "collection_name": "atas"},
    )
    assert (normas.id, normas.item_count) == ("normas", None)
    assert "no completion record" in normas.metadata["error"]


def test_a_collection_lists_those_beside_it(folder: Path, tmp_path: Path) -> None:
    provision_reference_rag(tmp_path / "texts", collection_name="atas", persist_dir=folder).close()
    pipeline = build(params(folder))

    assert [one.id for one in pipeline.list_datasets()] == ["atas", "normas"]
    pipeline.close()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError):
        REFERENCE_SPEC.datasets_with({"persist_dir": str(tmp_path / "nowhere")})


def test_a_collection_is_replaced_when_the_new_one_is_whole_or_refused(folder: Path, tmp_path: Path) -> None:
    new = documents(tmp_path / "new", prazo="O prazo é de dez dias.")

    with pytest.raises(ConnectorRegistrationError, match="already holds"):
        provision_reference_rag(new, collection_name="normas", persist_dir=folder, replace_existing=False)
    with pytest.raises(ConnectorRegistrationError, match="overlap"):
        provision_reference_rag(new, collection_name="normas", persist_dir=folder, chunk_size=5, chunk_overlap=5)
    pipeline = build(params(folder))
    assert len(pipeline.pull_all_chunks()) == 2
    pipeline.close()
    pipeline = provision_reference_rag(new, collection_name="normas", persist_dir=folder)

    assert [chunk.text for chunk in pipeline.pull_all_chunks()] == ["O prazo é de dez dias."]
    pipeline.close()


def test_no_name_of_the_pipeline_says_that_it_could_change_anything() -> None:
    words = ("reset", "ingest", "provision", "delete", "drop", "clear", "upsert", "write", "create_from")

    assert [name for name in dir(ReferencePipeline) for word in words if word in name.lower()] == []
