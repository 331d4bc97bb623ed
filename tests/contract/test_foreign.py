"""Connectors written for rag-connector: found, bound, built, and with values and errors that are ours.

The other library is a small one of the same shape, on the import path of each test.
"""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from estante.contract import registry
from estante.contract.capabilities import supports, supports_declared_prompts
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorOperationalError,
    GenerationNotImplemented,
    RetrievalModeError,
    UnsupportedCapability,
)
from estante.contract.foreign import adopted, adopted_spec, is_foreign_spec
from estante.contract.models import ChunkPage, ChunkRecord, DatasetRef, GeneratedAnswer, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.contract.prompts import PromptMessage, PromptTemplate

LIBRARY = {
    "__init__": """
        from rag_connector.base import ChunkRecord, GeneratedAnswer, RagPipeline, RetrievedChunk
        from rag_connector.models import ChunkPage, ConnectorHealth, DatasetRef, PromptMessage, PromptTemplate
        from rag_connector.registry import ConnectorSpec
    """,
    "errors": """
        class ConnectorError(RuntimeError): pass
        class ConnectorOperationalError(ConnectorError): pass
        class UnsupportedCapability(ConnectorError): pass
        class RetrievalModeError(ValueError): pass
    """,
    "base": """
        from abc import ABC, abstractmethod
        from dataclasses import dataclass, field
        from typing import Any
        from rag_connector.errors import UnsupportedCapability

        @dataclass
        class ChunkRecord:
            chunk_id: str
            doc_id: str
            source_file: str
            doc_chunk_index: int
            global_index: Any
            text: str
            embedding: Any = None
            metadata: dict = field(default_factory=dict)

        @dataclass
        class RetrievedChunk:
            chunk_id: Any
            text: str
            score: Any
            rank: int
            metadata: dict = field(default_factory=dict)

        @dataclass
        class GeneratedAnswer:
            query: str
            answer: str
            contexts: list
            citations: list = field(default_factory=list)
            only_theirs: int = 0

        class RagPipeline(ABC):
            name = "rag-pipeline"
            retrieval_mode = "scored"

            @abstractmethod
            def query(self, text, top_k=5): ...
            def pull_all_chunks(self): raise UnsupportedCapability("theirs")
            def list_chunks(self, *, cursor=None, limit=1000): raise UnsupportedCapability("theirs")
            def get_chunks(self, chunk_ids): raise UnsupportedCapability("theirs")
            def get_chunk_vectors(self, ids): raise UnsupportedCapability("theirs")
            def list_datasets(self): raise UnsupportedCapability("theirs")
            def generate(self, text, *, top_k=5, llm=None): raise NotImplementedError
            def prompt_templates(self): raise UnsupportedCapability("theirs")
            def render_rag_block(self, chunks): raise UnsupportedCapability("theirs")
            def generate_from_prompt(self, prompt, *, contexts=(), llm=None, decoding=None):
                raise UnsupportedCapability("theirs")
            def info(self): return {"name": self.name, "type": type(self).__name__}
    """,
    "models": """
        from dataclasses import dataclass, field

        @dataclass(frozen=True, slots=True)
        class ChunkPage:
            items: list
            next_cursor: object = None

        @dataclass(frozen=True, slots=True)
        class DatasetRef:
            id: str
            label: object = None
            connect_params: dict = field(default_factory=dict)

        @dataclass(frozen=True, slots=True)
        class ConnectorHealth:
            state: str

        @dataclass(frozen=True, slots=True)
        class PromptMessage:
            role: str
            content: str

        @dataclass(frozen=True, slots=True)
        class PromptTemplate:
            id: str
            label: str
            description: str
            template: str
    """,
    "registry": """
        from dataclasses import dataclass, field
        from typing import Any

        @dataclass
        class ConnectorSpec:
            connector_type: str
            label: str
            description: str
            build: Any
            connect: Any = None
            params: list = field(default_factory=list)
            list_datasets: Any = None
            connector_info: Any = None
            prompt_templates: Any = None
    """,
}

CONNECTOR = """
    from rag_connector import *
    from rag_connector import ChunkPage, ChunkRecord, ConnectorSpec, DatasetRef, GeneratedAnswer, RagPipeline
    from rag_connector import RetrievedChunk
    from rag_connector.errors import ConnectorOperationalError, RetrievalModeError

    class OldRag(RagPipeline):
        name = "old"
        retrieval_mode = "ordered"
        extra = 7

        def __init__(self, connection):
            self.connection = connection
            self.seen = []

        def query(self, text, top_k=5):
            if text == "down":
                raise ConnectorOperationalError("the store is down")
            if text == "mode":
                raise RetrievalModeError("no such mode")
            if text == "bug":
                raise KeyError("bug")
            return [RetrievedChunk("a", text, None, 0, {"kept": RetrievedChunk})][:top_k]

        def list_chunks(self, *, cursor=None, limit=1000):
            return ChunkPage([ChunkRecord("a", "d", "d.md", 0, None, "text", [0.5])])

        def generate(self, text, *, top_k=5, llm=None):
            return GeneratedAnswer(text, "so", self.query(text), ["a"])

        def render_rag_block(self, chunks):
            self.seen = list(chunks)
            return "block"

        def close(self):
            self.connection = None

    def connect(params):
        return OldRag(params), {"type": "old", **params}

    def datasets(params):
        return [DatasetRef("leis", connect_params={"collection": "leis"})]

    def broken_datasets(params):
        raise ConnectorOperationalError("the store is down")

    CONNECTOR_SPEC = ConnectorSpec(
        "old", "Old RAG", "Older.", build=OldRag, connect=connect, list_datasets=datasets,
        connector_info=lambda: "# Old", params=[
            {"name": "url", "label": "URL", "type": "text", "required": True, "widget": "wide"},
            {"name": "key", "label": "Key", "type": "secret"},
            {"name": "top", "label": "Top", "type": "integer", "default": 5},
        ],
    )
"""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of a connector that was written for the other library, which is installed."""
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "rag_connector"}
    (tmp_path / "rag_connector").mkdir()
    for name, source in LIBRARY.items():
        (tmp_path / "rag_connector" / f"{name}.py").write_text(dedent(source), "utf-8")
    (tmp_path / "old_rag.py").write_text(dedent(CONNECTOR), "utf-8")
    info = tmp_path / "old_rag-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: old-rag\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[rag_connector.connectors]\nold = old_rag:CONNECTOR_SPEC\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("old_rag")
    for name in list(sys.modules):
        if name == "old_rag" or name.partition(".")[0] == "rag_connector":
            del sys.modules[name]
    sys.modules.update(held)


@pytest.fixture
def rag(old: Any) -> RagPipeline:
    return adopted(old.OldRag({"url": "x"}))


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_REGISTRY", "_ORIGINS", "BUILTINS"):
        monkeypatch.setattr(registry, name, {})
    for name in ("_FAILED", "_ADOPTED"):
        monkeypatch.setattr(registry, name, [])
    monkeypatch.setattr(registry, "_LOADED_ENTRY_POINTS", set())
    monkeypatch.setattr(registry, "_DISCOVERY_COMPLETE", False)


# --- specs ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("empty", "old")
def test_a_connector_of_the_other_library_is_found_and_is_as_good_as_ours() -> None:
    [row] = registry.connector_rows()

    offered = ("connect", "list_datasets", "connector_info")
    assert row == registry.ConnectorRow("old", "Old RAG", offered, "old-rag")
    found = registry.get_connector("old")
    assert isinstance(found, registry.ConnectorSpec)
    assert isinstance(registry.rebuild({"type": "old", "url": "x"}), RagPipeline)


@pytest.mark.usefixtures("empty", "old")
def test_a_spec_that_is_loaded_again_is_the_same_one() -> None:
    first = registry.get_connector("old")
    registry._LOADED_ENTRY_POINTS.clear()
    registry._DISCOVERY_COMPLETE = False

    registry.discover_connectors()

    assert registry.connector_errors() == []
    assert registry.get_connector("old") is first


def test_a_field_that_only_the_other_library_understands_is_not_checked(old: Any) -> None:
    made = adopted_spec(old.CONNECTOR_SPEC)

    assert made.params == [
        {"name": "url", "label": "URL", "type": "any", "required": True},
        {"name": "key", "label": "Key", "type": "any"},
        {"name": "top", "label": "Top", "type": "integer", "default": 5},
    ]
    assert registry.spec_problems(made) == []


def test_parameters_that_were_not_declared_reach_a_foreign_connector(old: Any) -> None:
    pipeline, document = adopted_spec(old.CONNECTOR_SPEC).connect_with({"url": "x", "collection": "leis"})

    assert isinstance(pipeline, RagPipeline)
    assert document == {"type": "old", "url": "x", "top": 5, "collection": "leis"}


def test_data_sets_and_help_of_a_foreign_connector_are_ours(old: Any) -> None:
    made = adopted_spec(old.CONNECTOR_SPEC)

    assert made.datasets_with({}) == [DatasetRef("leis", connect_params={"collection": "leis"})]
    assert made.connector_info is not None
    assert made.connector_info() == "# Old"
    old.CONNECTOR_SPEC.list_datasets = old.broken_datasets
    with pytest.raises(ConnectorOperationalError, match="the store is down"):
        adopted_spec(old.CONNECTOR_SPEC).datasets_with({})


def test_prompts_that_a_foreign_connector_declares_are_ours(old: Any) -> None:
    theirs = sys.modules["rag_connector"].PromptTemplate("a-v1", "A", "Says a.", "{rag_block} {user_query}")
    old.CONNECTOR_SPEC.prompt_templates = lambda: (theirs,)
    made = adopted_spec(old.CONNECTOR_SPEC)

    assert made.prompt_templates is not None
    [found] = made.prompt_templates()
    assert isinstance(found, PromptTemplate)
    assert found.id == "a-v1"


def test_only_an_object_of_that_shape_is_a_foreign_spec(old: Any) -> None:
    ours = registry.ConnectorSpec("a", "A", "", build=old.OldRag)

    assert is_foreign_spec(old.CONNECTOR_SPEC)
    assert not any(map(is_foreign_spec, (ours, type(old.CONNECTOR_SPEC), None, 5, old)))


# --- pipelines --------------------------------------------------------------------------------------------------


def test_a_pipeline_of_ours_stays_as_it_is(rag: RagPipeline) -> None:
    assert adopted(rag) is rag


def test_what_cannot_be_asked_is_no_pipeline() -> None:
    with pytest.raises(ConnectorContractError, match="a object, which has no query"):
        adopted(object())


def test_hits_and_chunks_are_ours(rag: RagPipeline) -> None:
    [hit] = rag.query("x")
    page = rag.list_chunks()

    assert isinstance(hit, RetrievedChunk)
    assert (hit.chunk_id, hit.text, hit.rank, hit.doc_id) == ("a", "x", 0, None)
    assert isinstance(page, ChunkPage)
    assert page.items == [ChunkRecord("a", "d", "d.md", 0, None, "text", [0.5])]


def test_a_record_that_the_author_derived_is_ours_too(old: Any) -> None:
    class Hit(old.RetrievedChunk):  # type: ignore[misc]
        pass

    old.OldRag.query = lambda self, text, top_k=5: [Hit("a", text, 0.5, 0)]

    assert adopted(old.OldRag({})).query("x") == [RetrievedChunk("a", "x", 0.5, 0)]


def test_what_the_author_keeps_in_metadata_is_not_touched(rag: RagPipeline) -> None:
    assert rag.query("x")[0].metadata == {"kept": sys.modules["rag_connector"].RetrievedChunk}


def test_an_answer_holds_hits_of_ours(rag: RagPipeline) -> None:
    answer = rag.generate("x", llm=None)

    assert isinstance(answer, GeneratedAnswer)
    assert isinstance(answer.contexts[0], RetrievedChunk)
    assert (answer.answer, answer.citations, answer.trace) == ("so", ["a"], None)


def test_the_foreign_pipeline_is_given_values_of_its_own(old: Any) -> None:
    foreign = old.OldRag({})

    assert adopted(foreign).render_rag_block([RetrievedChunk("a", "x", 1.0, 0)]) == "block"

    assert type(foreign.seen[0]) is old.RetrievedChunk


def test_a_value_that_the_other_library_does_not_know_is_given_as_it_is(old: Any) -> None:
    foreign = old.OldRag({})
    del sys.modules["rag_connector"].PromptMessage

    adopted(foreign).render_rag_block([PromptMessage("user", "x")])  # type: ignore[list-item]

    assert type(foreign.seen[0]) is PromptMessage


def test_a_record_that_lacks_what_ours_needs_is_given_as_it_is(old: Any) -> None:
    theirs = sys.modules["rag_connector"].ConnectorHealth("fine")
    old.OldRag.health = lambda self: theirs

    assert adopted(old.OldRag({})).health() is theirs  # type: ignore[attr-defined]


def test_what_is_inherited_there_is_inherited_here(rag: RagPipeline) -> None:
    assert [chunk.chunk_id for chunk in rag.pull_all_chunks()] == ["a"]
    assert set(rag.get_chunks(["a", "b"])) == {"a"}
    assert len(rag.fingerprint()) == 16
    with pytest.raises(UnsupportedCapability, match="OldRag does not offer get_chunk_vectors"):
        rag.get_chunk_vectors([])


def test_only_what_the_author_wrote_is_supported(rag: RagPipeline) -> None:
    offered = {"query", "list_chunks", "generate", "render_rag_block", "info"}
    asked = [*offered, "pull_all_chunks", "get_chunk_vectors", "list_datasets", "prompt_templates", "health"]

    assert {name for name in asked if supports(rag, name)} == offered
    assert not supports_declared_prompts(rag)


def test_a_pipeline_without_the_base_offers_what_it_has() -> None:
    class Duck:
        retrieval_mode = "ordered"

        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return []

    made = adopted(Duck())

    assert made.query("x") == []
    assert made.retrieval_mode == "ordered"
    assert made.info() == {"name": "rag-pipeline", "type": "Duck", "retrieval_mode": "ordered"}
    with pytest.raises(GenerationNotImplemented):
        made.generate("x")


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("down", ConnectorOperationalError, "the store is down"),
        ("mode", RetrievalModeError, "no such mode"),
        ("bug", KeyError, "bug"),
    ],
)
def test_errors_are_ours_from_theirs(rag: RagPipeline, question: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        rag.query(question)

    if kind is not KeyError:
        assert type(caught.value.__cause__).__module__ == "rag_connector.errors"


def test_name_mode_and_all_else_are_those_of_the_foreign_pipeline(rag: RagPipeline, old: Any) -> None:
    made: Any = rag

    assert (made.name, made.retrieval_mode, made.extra) == ("old", "ordered", 7)
    assert made.info() == {"name": "old", "type": "OldRag"}
    assert isinstance(made.foreign, old.OldRag)
    made.foreign.retrieval_mode = "scored"
    assert made.retrieval_mode == "scored"
    made.close()
    assert made.foreign.connection is None
    with pytest.raises(AttributeError):
        _ = made.nothing


def test_an_adopted_pipeline_can_be_copied(rag: RagPipeline) -> None:
    assert copy.copy(rag).query("x") == rag.query("x")
