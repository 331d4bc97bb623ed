"""The bookcase as a connector: who asks, what a document holds, what opening refuses, what it says of itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import estante
from estante.contract.capabilities import (
    AnswerGenerator,
    ChunkVectorReader,
    DatasetLister,
    DeclaredPromptGenerator,
    HealthCapability,
    PagedCorpusReader,
    QueryEmbedder,
    RagConnector,
    RunSnapshotProvider,
    supports,
)
from estante.contract.connections import validate_connection
from estante.contract.errors import (
    ConnectorOperationalError,
    ConnectorRegistrationError,
    UnsupportedCapability,
)
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import connector_rows, get_connector, rebuild
from estante.contract.snapshots import validate_run_snapshot
from estante.contract.specs import spec_problems
from estante.model.errors import NotFound, StaleShelf
from estante.shelf.binding import Binding
from estante.shelf.bookcase import parts_of
from estante.shelf.connector import CONNECTOR_SPEC, as_pipeline, build, connect, connector_info
from estante.shelf.pipeline import BookcasePipeline
from tests.parts import TinyEncoder
from tests.shelf.bound import QUESTION, asking, documents, filled, know_the_tiny_encoder, provisioned


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A provisioned bookcase of two texts that everyone may read."""
    know_the_tiny_encoder(monkeypatch)
    folder = documents(tmp_path / "texts", ferias="O servidor tem férias.", diarias="As diárias pagam a viagem.")
    return provisioned(tmp_path / "home", folder)


@pytest.fixture
def pipeline(home: Path) -> Iterator[BookcasePipeline]:
    found, _ = connect({"path": str(home)})
    yield found
    found.close()


# --- what it offers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "capability",
    [
        RagConnector,
        PagedCorpusReader,
        QueryEmbedder,
        HealthCapability,
        ChunkVectorReader,
        AnswerGenerator,
        DeclaredPromptGenerator,
        DatasetLister,
        RunSnapshotProvider,
    ],
    ids=lambda one: one.__name__,
)
def test_every_capability_of_the_contract_is_offered(pipeline: BookcasePipeline, capability: Any) -> None:
    names = [name for name in vars(capability) if not name.startswith("_") and name != "retrieval_mode"]

    assert isinstance(pipeline, capability)
    assert all(supports(pipeline, name) for name in names)


def test_the_awaitable_twins_are_inherited(pipeline: BookcasePipeline) -> None:
    async def ask() -> Any:
        return await asyncio.gather(pipeline.aquery("férias"), pipeline.ahealth(), pipeline.afingerprint())

    hits, health, fingerprint = asyncio.run(ask())

    assert (hits, health, fingerprint) == (pipeline.query("férias"), pipeline.health(), pipeline.fingerprint())


def test_the_spec_has_no_problems_and_is_found_under_its_type() -> None:
    assert spec_problems(CONNECTOR_SPEC) == []
    assert get_connector("estante") is CONNECTOR_SPEC
    assert [(row.error, row.origin) for row in connector_rows() if row.type == "estante"] == [("", "estante")]


def test_the_spec_declares_the_prompts_of_the_pipeline(pipeline: BookcasePipeline) -> None:
    assert CONNECTOR_SPEC.prompt_templates is not None
    assert CONNECTOR_SPEC.prompt_templates() == pipeline.prompt_templates()


def test_the_help_names_every_parameter() -> None:
    assert connector_info().startswith("# ")
    assert [one["name"] for one in CONNECTOR_SPEC.params if f"`{one['name']}`" not in connector_info()] == []
    assert all(one["help"] for one in CONNECTOR_SPEC.params)


# --- who asks -------------------------------------------------------------------------------------------------------


def seen(pipeline: RagPipeline) -> set[str]:
    return {chunk.doc_id for chunk in pipeline.pull_all_chunks()}


@pytest.mark.parametrize(
    ("binding", "more"),
    [
        ({}, set()),
        ({"asker": "everyone"}, set()),
        ({"asker": "reader", "keys": ["finance"]}, {"orcamento"}),
        ({"asker": "reader", "keys": ["people"]}, set()),
        ({"asker": "owner"}, {"orcamento", "processo"}),
    ],
)
def test_an_asker_sees_what_is_theirs_and_without_a_word_what_is_shared(
    binding: dict[str, Any], more: set[str]
) -> None:
    with asking(**binding) as pipeline:
        wanted = {"ferias", "diarias", "leave"} | more

        assert seen(pipeline) == wanted
        assert {hit.doc_id for hit in pipeline.query(QUESTION, 100)} <= wanted
        assert pipeline.health().detail == f"{2 * len(wanted)} chunks of {len(wanted)} documents"


def test_a_shelf_and_a_filter_narrow_everything() -> None:
    with filled() as case:
        private = as_pipeline(case, asker="owner", shelf="private")
        late = as_pipeline(case, where={"year": {"$gte": 2021}})

        assert seen(private) == {"orcamento", "processo"} == {hit.doc_id for hit in private.query(QUESTION, 100)}
        assert seen(late) == {"diarias", "leave"} == {hit.doc_id for hit in late.query(QUESTION, 100)}
        assert late.get_chunks(["ferias#0", "leave#0"]).keys() == {"leave#0"}
        assert late.get_chunk_vectors(["ferias#0", "leave#0"]).keys() == {"leave#0"}


@pytest.mark.parametrize(
    ("binding", "complaint"),
    [
        ({"asker": "admin"}, "asker is 'admin'; choose one of everyone, reader, owner"),
        ({"asker": "reader"}, "0 keys"),
        ({"asker": "owner", "keys": ["finance"]}, "nobody else, holds keys"),
        ({"keys": ["finance"]}, "holds keys"),
        ({"asker": "reader", "keys": "finance"}, "keys is of type str"),
        ({"asker": "reader", "keys": [5]}, "reader key"),
        ({"shelf": "private"}, "nothing on the private shelf is for everyone"),
        ({"shelf": "top"}, "shelf is 'top'"),
        ({"mode": "denser"}, "Did you mean 'dense'"),
        ({"where": [1]}, "where is of type list"),
        ({"where": {"year": {"$near": 3}}}, "near"),
        ({"who": "me"}, "'who' says nothing"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused(binding: dict[str, Any], complaint: str) -> None:
    with filled() as case, pytest.raises(ConnectorRegistrationError, match=complaint):
        as_pipeline(case, **binding)


def test_a_binding_comes_back_from_its_document() -> None:
    for binding in (
        Binding(),
        Binding(asker="reader", keys=("b", "a"), shelf="private", mode="dense", where={"year": {"$in": [1, None]}}),
        Binding(asker="owner", mode="lexical"),
    ):
        assert Binding.of(json.loads(json.dumps(binding.document()))) == binding


def test_the_everyones_pipeline_does_not_touch_the_private_shelf(tmp_path: Path) -> None:
    with filled(tmp_path / "case") as case:
        everyone, owner = as_pipeline(case), as_pipeline(case, asker="owner")
        parts_of(case)[2].private.close()
        (tmp_path / "case" / "private" / "catalog.sqlite").write_bytes(b"torn")

        assert everyone.query(QUESTION)
        assert everyone.health().ok
        with pytest.raises(ConnectorOperationalError):
            owner.query(QUESTION)


# --- documents ------------------------------------------------------------------------------------------------------


def test_a_document_is_json_without_secrets_and_names_who_asks(home: Path) -> None:
    params = {"path": str(home), "asker": "reader", "keys": ["finance"], "where": {"year": 2024}, "mode": "dense"}

    pipeline, document = CONNECTOR_SPEC.connect_with(params)
    pipeline.close()

    validate_connection(document)
    assert document == {
        "type": "estante",
        "contract_version": "0.1",
        "path": str(home),
        "asker": "reader",
        "shelf": "all",
        "mode": "dense",
        "keys": ["finance"],
        "where": {"year": 2024},
    }


def test_a_document_of_parameters_alone_says_that_everyone_asks(home: Path) -> None:
    pipeline, document = connect({"path": str(home)})
    pipeline.close()

    assert (document["asker"], document["mode"], "keys" in document) == ("everyone", "hybrid", False)


def test_a_document_builds_the_same_pipeline_again(home: Path) -> None:
    first, document = connect({"path": str(home), "asker": "owner", "mode": "lexical"})
    again = rebuild(json.loads(json.dumps(document)))

    assert again.query("férias") == first.query("férias")
    assert again.pull_all_chunks() == first.pull_all_chunks()
    assert again.run_snapshot() == first.run_snapshot()  # type: ignore[attr-defined]
    for one in (first, again):
        one.close()  # type: ignore[attr-defined]


def test_a_path_means_the_same_folder_from_wherever_it_is_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    pipeline, document = connect({"path": "home"})
    pipeline.close()
    monkeypatch.chdir("/")

    assert document["path"] == str(home)
    build(document).close()


def test_a_document_with_something_unknown_is_refused_because_it_may_narrow(home: Path) -> None:
    with pytest.raises(ConnectorRegistrationError, match="says classification, which this version does not know"):
        build({"type": "estante", "path": str(home), "classification": "public"})


@pytest.mark.parametrize(
    "document", [{"type": "reference", "path": "x"}, {"type": "estante"}, {"type": "estante", "path": 5}]
)
def test_a_document_of_another_type_or_without_a_folder_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ConnectorRegistrationError):
        build(document)


def test_a_bookcase_in_memory_has_no_document() -> None:
    with asking() as pipeline, pytest.raises(UnsupportedCapability, match="in memory"):
        pipeline.connection()


# --- opening --------------------------------------------------------------------------------------------------------


def test_opening_what_is_not_there_is_an_error_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError, match="there is no bookcase at") as caught:
        connect({"path": str(tmp_path / "typo")})

    assert isinstance(caught.value.__cause__, NotFound)
    assert not (tmp_path / "typo").exists()


def test_another_model_is_refused_on_opening(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TinyEncoder.__init__, "__defaults__", ("2",))

    with pytest.raises(ConnectorOperationalError, match="tiny 16 1") as caught:
        connect({"path": str(home)})

    assert isinstance(caught.value.__cause__, StaleShelf)


@pytest.mark.parametrize("change", [{"metric": "l2"}, {"normalised": False}, {"dimensions": 8}, {"model": "other"}])
def test_another_metric_normalisation_dimension_or_model_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    from dataclasses import replace

    made = TinyEncoder.__init__

    def other(self: TinyEncoder) -> None:
        made(self)
        self.space = replace(self.space, **change)

    monkeypatch.setattr(TinyEncoder, "__init__", other)

    with pytest.raises(ConnectorOperationalError, match="made another way"):
        connect({"path": str(home)})


def test_another_model_is_refused_by_a_query_when_the_shelf_was_rebuilt_meanwhile(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, _ = connect({"path": str(home)})
    monkeypatch.setattr(TinyEncoder.__init__, "__defaults__", ("2",))
    from estante.shelf.assemble import open_for_rebuild

    with open_for_rebuild(home) as case:
        case.rebuild()

    with pytest.raises(ConnectorOperationalError) as caught:
        pipeline.query("férias")
    assert isinstance(caught.value.__cause__, StaleShelf)
    assert not pipeline.health().ok
    pipeline.close()


def test_another_model_is_refused_when_something_is_to_be_added(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TinyEncoder.__init__, "__defaults__", ("2",))

    with pytest.raises(StaleShelf):
        estante.open(home)


def test_settings_that_cannot_be_used_are_the_registration_s_error(home: Path) -> None:
    with (home / "estante.toml").open("a") as file:
        file.write("\n[search]\nmode = 'denser'\n")

    with pytest.raises(ConnectorRegistrationError, match="denser"):
        connect({"path": str(home)})


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({}, "path"),
        ({"path": "x", "askr": "owner"}, "did you mean 'asker'"),
        ({"path": "x", "keys": ["a"]}, "applies only when 'asker' is 'reader'"),
        ({"path": "x", "asker": "reader"}, "keys: is required"),
        ({"path": "x", "chunk_size": 0}, "at least 1"),
        ({"path": "x", "chunk_size": 10}, "give documents, or leave it out"),
        ({"path": "x", "documents": "."}, "everyone is asking"),
        ({"path": "x", "documents": "y", "readers": "*"}, "readers is no list"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_before_anything_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, params: dict[str, Any], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConnectorRegistrationError, match=complaint):
        connect(params)

    assert list(tmp_path.iterdir()) == []


# --- closing --------------------------------------------------------------------------------------------------------


def test_closing_twice_is_allowed_and_a_closed_pipeline_answers_nothing(home: Path) -> None:
    pipeline, _ = connect({"path": str(home)})
    pipeline.close()
    pipeline.close()

    with pytest.raises(ConnectorOperationalError, match="was closed"):
        pipeline.query("férias")
    assert not pipeline.health().ok


def test_a_bookcase_that_was_open_before_stays_open() -> None:
    with filled() as case:
        as_pipeline(case).close()

        assert case.search(QUESTION)


def test_the_pipeline_of_a_bookcase_that_was_closed_says_so() -> None:
    case = filled()
    case.close()

    with pytest.raises(ConnectorOperationalError, match="the bookcase was closed"):
        as_pipeline(case)


# --- what it says of itself -----------------------------------------------------------------------------------------


def test_info_says_what_scores_are_and_that_spans_are_exact() -> None:
    for mode, distance in (("hybrid", "hybrid"), ("lexical", "bm25"), ("dense", "cosine")):
        with asking(mode=mode) as pipeline:
            told = pipeline.info()

            assert (told["retrieval_mode"], told["mode"], told["distance"]) == ("scored", mode, distance)
            assert (told["exact_spans"], told["dimensions"], told["embedding_model"]) == (True, 16, "tiny")
            assert told["embedding_fingerprint"] == pipeline.describe_space().fingerprint
            json.dumps(told, allow_nan=False)


def test_info_tells_which_filters_always_hold() -> None:
    with asking(asker="reader", keys=["finance"], shelf="private", where={"a": 1}) as pipeline:
        told = {one["name"]: one["value"] for one in pipeline.info()["internal_filters"]}

    assert told == {"asker": "reader", "shelf": "private", "where": '{"a":1}'}


def test_the_fingerprint_of_the_space_changes_with_the_revision_of_the_model() -> None:
    from tests.parts import bookcase

    prints = set()
    for revision in ("1", "2"):
        with bookcase(revision=revision) as case:
            prints.add(as_pipeline(case).describe_space().fingerprint)

    assert len(prints) == 2


def test_a_snapshot_is_valid_and_the_same_for_the_same_pipeline() -> None:
    with asking(asker="owner") as pipeline:
        first = validate_run_snapshot(pipeline.run_snapshot())

        assert first == pipeline.run_snapshot()
        assert first["schema"] == "estante.run-snapshot.v1"
        assert first["observations"]["chunk_count"] == 10
        assert first["observations"]["languages"] == ["en", "pt"]


def test_a_snapshot_moves_with_what_the_asker_may_read_and_with_nothing_else() -> None:
    with filled() as case:
        pipeline = as_pipeline(case)
        before = pipeline.run_snapshot()
        case.add({"outro": "Mais um processo sobre férias."})
        between = pipeline.run_snapshot()
        case.add({"novo": "Mais um texto sobre férias."}, readers=["*"])

        assert between == before
        assert pipeline.run_snapshot()["observations"] != before["observations"]


def test_a_filter_that_looks_like_a_secret_or_is_long_is_a_sum_in_snapshot_and_info() -> None:
    for where in ({"api_key": "abcdef0123456789"}, {"note": "x" * 5_000}):
        with asking(where=where) as pipeline:
            snapshot = validate_run_snapshot(pipeline.run_snapshot())

            assert snapshot["settings"]["where"].startswith("sha256:")
            assert "abcdef" not in json.dumps(pipeline.info())


def test_health_names_what_stands_in_the_way(tmp_path: Path) -> None:
    with filled() as case:
        for one in ("ferias", "diarias", "leave"):
            case.delete(one)
        empty = as_pipeline(case).health()
        broken = as_pipeline(case, asker="owner")

        with broken.break_backend():
            failing = broken.health()

    assert (empty.ok, "nothing that this asker (everyone) may read" in empty.detail) == (False, True)
    assert "--shared" in empty.detail
    assert (failing.ok, "the shelves do not answer" in failing.detail) == (False, True)


# --- data sets ------------------------------------------------------------------------------------------------------


def test_the_shelves_are_listed_that_the_asker_can_be_bound_to() -> None:
    with filled() as case:
        listed = {
            asker: [(one.id, one.item_count) for one in as_pipeline(case, asker=asker, keys=keys).list_datasets()]
            for asker, keys in (("everyone", ()), ("reader", ("finance",)), ("owner", ()))
        }

    assert listed == {
        "everyone": [("shared", 6)],
        "reader": [("shared", 6), ("private", 2)],
        "owner": [("shared", 6), ("private", 4)],
    }


def test_shelves_are_listed_before_one_is_bound_and_what_they_give_binds_them(home: Path) -> None:
    assert CONNECTOR_SPEC.list_datasets is not None
    listed = CONNECTOR_SPEC.list_datasets({"path": str(home), "asker": "owner"})

    assert [one.id for one in listed] == ["shared", "private"]
    pipeline, document = connect({"asker": "owner", **listed[0].connect_params})
    assert (document["shelf"], len(pipeline.pull_all_chunks())) == ("shared", listed[0].item_count)
    pipeline.close()


def test_listing_needs_the_bookcase_and_nothing_more(tmp_path: Path) -> None:
    with pytest.raises(ConnectorRegistrationError, match="give the folder"):
        CONNECTOR_SPEC.datasets_with({})
    with pytest.raises(ConnectorOperationalError, match="there is no bookcase"):
        CONNECTOR_SPEC.datasets_with({"path": str(tmp_path)})


def test_a_shelf_that_cannot_be_counted_is_listed_with_its_error(tmp_path: Path) -> None:
    with filled(tmp_path / "case") as case:
        owner = as_pipeline(case, asker="owner")
        parts_of(case)[2].private.close()
        (tmp_path / "case" / "private" / "catalog.sqlite").write_bytes(b"torn")

        shared, private = owner.list_datasets()

    assert (shared.item_count, private.item_count) == (6, None)
    assert private.metadata["error"]
