"""The bookcase in rag-connector itself: its registry finds it, its validator holds it ready, its classes come back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import rag_connector
from rag_connector import registry as theirs
from rag_connector.capabilities import supports, supports_chunk_vectors, supports_declared_prompts
from rag_connector.cli import main as command
from rag_connector.validate import main as validate

from estante.contract import registry
from estante.contract.errors import ConnectorError, ConnectorRegistrationError
from estante.contract.foreign import adopted_spec
from estante.contract.lending import lent, lent_errors, lent_spec
from estante.contract.testkit import PERFECT_CONNECTION, PERFECT_SPEC, PerfectPipeline
from estante.shelf.connector import CONNECTOR_SPEC, rag_connector_spec
from estante.shelf.provisioning import Plan, provision
from tests.conftest import LIBRARY
from tests.shelf.bound import asking

ASKED = "Quantos dias de férias tem o servidor?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lent") / "home"
    provision(made, Plan(documents=LIBRARY, readers=("*",)))
    return made


@pytest.fixture
def pipeline(home: Path) -> Iterator[Any]:
    """The bookcase as rag-connector's registry binds it."""
    spec = theirs.get_connector("estante")
    assert spec is not None
    found, _ = spec.connect({"path": str(home)})
    yield found
    found.close()


# --- its registry and its commands ----------------------------------------------------------------------------------


def test_the_package_publishes_it_in_both_groups() -> None:
    published = {
        point.value
        for group in registry.ENTRY_POINT_GROUPS
        for point in metadata.entry_points(group=group)
        if point.name == "estante"
    }

    assert published == {"estante.shelf.connector:CONNECTOR_SPEC", "estante.shelf.connector:rag_connector_spec"}


def test_our_own_registry_shows_it_once() -> None:
    rows = [row for row in registry.connector_rows() if row.type == "estante"]

    assert [(row.label, row.error) for row in rows] == [("Bookcase (Estante)", "")]


def test_rag_connector_lists_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["list"]) == 0

    assert "estante\tBookcase (Estante)" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("more", [{}, {"mode": "dense"}, {"mode": "lexical", "asker": "owner"}])
def test_rag_connector_s_validator_finds_it_ready_without_a_warning(
    home: Path, capsys: pytest.CaptureFixture[str], more: dict[str, str]
) -> None:
    params = json.dumps({"path": str(home), **more})

    code = validate(["--connector-type", "estante", "--params", params, "--query", ASKED])

    told = capsys.readouterr().out
    assert code == 0
    assert "VERDICT: READY -- 22 passed, 0 warning(s), 0 failures." in told
    assert [line for line in told.splitlines() if line.startswith("[skip]")] == [
        "[skip] 13. Derived-result declarations are well-formed"
    ]


def test_its_fields_are_texts_and_what_depends_on_another_is_not_required() -> None:
    fields = {one["name"]: one for one in rag_connector_spec().params}

    assert {one["type"] for one in fields.values()} == {"string"}
    assert {one for one in fields if fields[one]["required"]} == {"path"}
    assert fields["asker"]["default"] == "everyone"
    assert fields.keys() == {one["name"] for one in CONNECTOR_SPEC.params}


def test_texts_of_a_form_are_read_by_their_types(home: Path) -> None:
    form = {"path": str(home), "asker": "reader", "keys": '["finance"]', "where": "", "chunk_size": ""}

    pipeline, document = rag_connector_spec().connect(form)

    assert document["keys"] == ["finance"]
    pipeline.close()


# --- its classes ----------------------------------------------------------------------------------------------------


def test_every_value_is_of_rag_connector_s_own_class(pipeline: Any) -> None:
    hits = pipeline.query(ASKED, 3)
    chunks = pipeline.pull_all_chunks()
    page = pipeline.list_chunks(limit=2)
    [(name, chunk)] = pipeline.get_chunks([hits[0].chunk_id]).items()

    assert isinstance(pipeline, rag_connector.RagPipeline)
    assert {type(hit) for hit in hits} == {rag_connector.RetrievedChunk}
    assert {type(one) for one in (*chunks, *page.items, chunk)} == {rag_connector.ChunkRecord}
    assert (type(page), name) == (rag_connector.ChunkPage, hits[0].chunk_id)
    assert type(pipeline.health()) is rag_connector.ConnectorHealth
    assert type(pipeline.describe_space()) is rag_connector.EmbeddingSpaceDescriptor
    batch = pipeline.embed_queries(["férias"])
    assert (type(batch), type(batch.space)) == (rag_connector.EmbeddingBatch, rag_connector.EmbeddingSpaceDescriptor)
    assert {type(one) for one in pipeline.list_datasets()} == {rag_connector.DatasetRef}
    assert {type(one) for one in pipeline.prompt_templates()} == {rag_connector.PromptTemplate}


def test_an_answer_and_its_trace_are_of_rag_connector_s_classes(pipeline: Any) -> None:
    template = pipeline.prompt_templates()[1]
    hits = pipeline.query(ASKED, 2)
    prompt = rag_connector.render_prompt(template, query=ASKED, rag_block=pipeline.render_rag_block(hits))

    answer = pipeline.generate_from_prompt(prompt, contexts=hits, llm=lambda text: "Trinta [1].")

    assert type(answer) is rag_connector.GeneratedAnswer
    assert (answer.answer, answer.citations, answer.contexts) == ("Trinta [1].", [hits[0].chunk_id], hits)
    assert type(answer.trace) is rag_connector.GenerationTrace
    assert type(answer.trace.prompt) is rag_connector.RenderedPrompt
    assert answer.trace.to_dict()["prompt"] == prompt.to_dict()
    assert type(pipeline.generate(ASKED, llm=lambda text: "Trinta.")) is rag_connector.GeneratedAnswer


def test_it_says_of_itself_what_ours_does(pipeline: Any, home: Path) -> None:
    ours = CONNECTOR_SPEC.build({"path": str(home)})

    assert (pipeline.name, pipeline.retrieval_mode) == ("estante", "scored")
    assert pipeline.info() == ours.info()
    assert pipeline.run_snapshot() == ours.run_snapshot()  # type: ignore[attr-defined]
    assert pipeline.fingerprint() == ours.fingerprint() == rag_connector.RagPipeline.fingerprint(pipeline)
    assert pipeline.connection() == ours.connection()  # type: ignore[attr-defined]
    ours.close()  # type: ignore[attr-defined]


def test_rag_connector_sees_what_is_offered(pipeline: Any) -> None:
    assert supports_declared_prompts(pipeline)
    assert supports_chunk_vectors(pipeline)
    assert all(supports(pipeline, one) for one in ("list_chunks", "get_chunks", "generate", "list_datasets"))


def test_errors_are_rag_connector_s_from_ours(pipeline: Any, tmp_path: Path) -> None:
    with pytest.raises(rag_connector.ConnectorContractError, match="begin with None") as caught:
        pipeline.list_chunks(cursor="x")
    assert isinstance(caught.value.__cause__, ConnectorError)
    with pipeline.break_backend(), pytest.raises(rag_connector.ConnectorOperationalError):
        pipeline.query(ASKED)
    with pytest.raises(rag_connector.ConnectorOperationalError, match="there is no bookcase"):
        rag_connector_spec().build({"path": str(tmp_path / "nowhere")})
    with pytest.raises(rag_connector.ConnectorRegistrationError, match="did you mean 'asker'"):
        rag_connector_spec().connect({"path": str(tmp_path), "askr": "owner"})
    with pytest.raises(rag_connector.ConnectorRegistrationError, match="give the folder"):
        rag_connector_spec().list_datasets({})


def test_errors_that_are_not_the_contract_s_stay_what_they_are() -> None:
    with pytest.raises(KeyError), lent_errors():
        raise KeyError("x")


# --- any connector of ours ------------------------------------------------------------------------------------------


def test_a_connector_lent_and_adopted_back_answers_as_before() -> None:
    back = adopted_spec(lent_spec(PERFECT_SPEC))
    ours = PERFECT_SPEC.build(dict(PERFECT_CONNECTION))

    pipeline = back.build(dict(PERFECT_CONNECTION))

    assert type(pipeline.foreign).__mro__[1] is rag_connector.RagPipeline  # type: ignore[attr-defined]
    question = ours.pull_all_chunks()[0].text
    assert pipeline.query(question) == ours.query(question)
    assert pipeline.pull_all_chunks() == ours.pull_all_chunks()


def test_only_what_its_author_wrote_is_offered() -> None:
    class Small(PerfectPipeline):
        get_chunk_vectors = None  # type: ignore[assignment]

    made = lent(Small())

    assert not supports_chunk_vectors(made)
    with pytest.raises(rag_connector.UnsupportedCapability):
        made.get_chunk_vectors([])


def test_a_pipeline_over_an_open_bookcase_can_be_lent() -> None:
    with asking() as ours:
        assert [hit.chunk_id for hit in lent(ours).query("férias")] == [hit.chunk_id for hit in ours.query("férias")]


def test_without_rag_connector_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rag_connector", None)

    with pytest.raises(ConnectorRegistrationError, match="pip install rag-connector"):
        rag_connector_spec()
