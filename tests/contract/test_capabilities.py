"""What a pipeline can do is what its author wrote, not what the base class brings."""

from __future__ import annotations

from typing import Any

import pytest

from estante.contract import capabilities
from estante.contract.capabilities import (
    DECLARED_PROMPT_METHODS,
    AnswerGenerator,
    ChunkVectorReader,
    ContentPublisher,
    DatasetLister,
    DeclaredPromptGenerator,
    HealthCapability,
    IndexIntrospector,
    PagedCorpusReader,
    QueryEmbedder,
    QueryTelemetryReader,
    RagConnector,
    RunSnapshotProvider,
    declared_prompt_methods,
    supports,
    supports_chunk_vectors,
    supports_declared_prompts,
)
from estante.contract.models import RetrievedChunk
from estante.contract.pipeline import ASYNC_TWINS, RagPipeline

MEMBERS: dict[Any, set[str]] = {
    RagConnector: {"retrieval_mode", "query", "pull_all_chunks", "fingerprint", "get_chunks", "info"},
    PagedCorpusReader: {"list_chunks"},
    QueryEmbedder: {"describe_space", "embed_queries"},
    HealthCapability: {"health"},
    ChunkVectorReader: {"get_chunk_vectors"},
    AnswerGenerator: {"generate"},
    DeclaredPromptGenerator: {"prompt_templates", "render_rag_block", "generate_from_prompt"},
    DatasetLister: {"list_datasets"},
    RunSnapshotProvider: {"run_snapshot"},
    ContentPublisher: {"upsert", "delete"},
    QueryTelemetryReader: {"read_queries"},
    IndexIntrospector: {"list_indexes"},
}
BROUGHT = {
    RagConnector, PagedCorpusReader, ChunkVectorReader, AnswerGenerator, DeclaredPromptGenerator, DatasetLister,
}  # fmt: skip
"""The protocols that every subclass of the base class has the methods of, whether they do anything or not."""

INHERITED = [
    "pull_all_chunks", "list_chunks", "get_chunks", "get_chunk_vectors", "list_datasets", "fingerprint", "generate",
    "info", "prompt_templates", "render_rag_block", "generate_from_prompt",
]  # fmt: skip


class Plain(RagPipeline):
    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []


def of(**members: Any) -> Any:
    """A pipeline whose class has these members besides."""
    return type("Made", (Plain,), members)()


# --- protocols --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", MEMBERS, ids=lambda one: one.__name__)
def test_who_has_all_members_has_the_capability(protocol: Any) -> None:
    duck = type("Duck", (), {name: lambda self: None for name in MEMBERS[protocol]})()

    assert isinstance(duck, protocol)


@pytest.mark.parametrize(
    ("protocol", "name"),
    [(protocol, name) for protocol in MEMBERS for name in sorted(MEMBERS[protocol])],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_who_lacks_one_member_lacks_the_capability(protocol: Any, name: str) -> None:
    duck = type("Duck", (), {other: lambda self: None for other in MEMBERS[protocol] - {name}})()

    assert not isinstance(duck, protocol)


@pytest.mark.parametrize("protocol", MEMBERS, ids=lambda one: one.__name__)
def test_the_base_class_alone_answers_isinstance_for_what_it_brings(protocol: Any) -> None:
    assert isinstance(Plain(), protocol) == (protocol in BROUGHT)


@pytest.mark.parametrize("protocol", MEMBERS, ids=lambda one: one.__name__)
def test_every_protocol_says_what_it_is(protocol: Any) -> None:
    assert protocol.__doc__.strip().endswith(".")


def test_the_three_reserved_protocols_say_so() -> None:
    reserved = {one for one in MEMBERS if "Reserved" in one.__doc__}

    assert reserved == {ContentPublisher, QueryTelemetryReader, IndexIntrospector}


# --- supports ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INHERITED)
def test_an_inherited_method_is_not_supported(name: str) -> None:
    assert not supports(Plain(), name)
    assert not supports(Plain, name)


@pytest.mark.parametrize("name", [*INHERITED, "health", "run_snapshot", "describe_space", "embed_queries"])
def test_a_written_method_is_supported_by_instance_and_class(name: str) -> None:
    case = of(**{name: lambda self: None})

    assert supports(case, name)
    assert supports(type(case), name)


def test_a_method_written_by_a_parent_is_supported() -> None:
    case = type("Child", (type(of(list_datasets=lambda self: [])),), {})()

    assert supports(case, "list_datasets")


@pytest.mark.parametrize("wrapped", [staticmethod, classmethod])
def test_a_static_or_class_method_is_supported(wrapped: Any) -> None:
    assert supports(of(list_datasets=wrapped(lambda *_: [])), "list_datasets")


def test_a_callable_of_the_instance_is_supported() -> None:
    case = Plain()
    case.get_chunk_vectors = lambda ids: {}  # type: ignore[method-assign]

    assert supports(case, "get_chunk_vectors")
    assert not supports(Plain(), "get_chunk_vectors")


def test_a_method_taken_away_is_not_supported() -> None:
    assert not supports(of(list_datasets=None), "list_datasets")


def test_the_default_by_another_way_is_still_the_default() -> None:
    assert not supports(of(generate=RagPipeline.generate), "generate")


@pytest.mark.parametrize("name", ["health", "nothing_of_the_kind"])
def test_a_method_that_is_not_there_is_not_supported(name: str) -> None:
    assert not supports(Plain(), name)


def test_whatever_another_class_defines_is_supported() -> None:
    duck = type("Duck", (), {"list_datasets": lambda self: [], "generate": None})()

    assert supports(duck, "list_datasets")
    assert not supports(duck, "generate")
    assert not supports(duck, "query")


def test_the_question_itself_runs_nothing() -> None:
    def explode(self: object) -> None:
        raise AssertionError

    assert supports(of(health=explode), "health")


# --- twins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin", sorted(set(ASYNC_TWINS) - {"aquery"}))
def test_a_twin_of_nothing_is_not_supported(twin: str) -> None:
    assert not supports(Plain(), twin)


@pytest.mark.parametrize("twin", ASYNC_TWINS)
def test_a_twin_is_supported_with_its_method(twin: str) -> None:
    assert supports(of(**{ASYNC_TWINS[twin]: lambda self: None}), twin)


@pytest.mark.parametrize("twin", sorted(set(ASYNC_TWINS) - {"aquery"}))
def test_a_written_twin_does_not_make_its_method_supported(twin: str) -> None:
    case = of(**{twin: lambda self: None})

    assert supports(case, twin)
    assert not supports(case, ASYNC_TWINS[twin])


# --- declared prompts and vectors -------------------------------------------------------------------------------


def test_declared_prompts_are_three_methods() -> None:
    assert DECLARED_PROMPT_METHODS == ("prompt_templates", "render_rag_block", "generate_from_prompt")


def test_the_written_ones_are_told_in_their_order() -> None:
    case = of(generate_from_prompt=lambda self: None, prompt_templates=lambda self: [])

    assert declared_prompt_methods(case) == ("prompt_templates", "generate_from_prompt")
    assert not supports_declared_prompts(case)


def test_who_writes_all_three_declares_prompts() -> None:
    case = of(**{name: lambda self: None for name in DECLARED_PROMPT_METHODS})

    assert supports_declared_prompts(case)
    assert supports_declared_prompts(type(case))


def test_who_writes_none_declares_nothing() -> None:
    assert declared_prompt_methods(Plain()) == ()
    assert not supports_declared_prompts(Plain())


def test_vectors_are_supported_when_they_are_written() -> None:
    assert supports_chunk_vectors(of(get_chunk_vectors=lambda self, ids: {}))
    assert not supports_chunk_vectors(Plain())


def test_every_exported_name_is_there() -> None:
    assert {one.__name__ for one in MEMBERS} <= set(capabilities.__all__)
    assert all(hasattr(capabilities, name) for name in capabilities.__all__)
