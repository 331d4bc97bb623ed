"""The values at the border: their fields in order, what they leave out, what is never shared."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from typing import Any, get_type_hints

import pytest

from estante.contract import models
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    ConnectorDescriptor,
    ConnectorHealth,
    DatasetRef,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    GeneratedAnswer,
    RetrievalResult,
    RetrievedChunk,
    RetrievedItem,
    ScoreSemantics,
)

REQ = MISSING
RECORD = {
    "chunk_id": REQ,
    "doc_id": REQ,
    "source_file": REQ,
    "doc_chunk_index": REQ,
    "global_index": REQ,
    "text": REQ,
    "embedding": None,
    "char_start": None,
    "char_end": None,
    "content_module_id": None,
    "metadata": {},
}
MUTABLE: dict[type[Any], dict[str, object]] = {
    ChunkRecord: RECORD,
    RetrievedChunk: {
        "chunk_id": REQ,
        "text": REQ,
        "score": REQ,
        "rank": REQ,
        "doc_id": None,
        "raw_score": None,
        "metadata": {},
    },
    GeneratedAnswer: {
        "query": REQ,
        "answer": REQ,
        "contexts": REQ,
        "citations": [],
        "hydrated_prompt": "",
        "error": None,
        "metadata": {},
        "trace": None,
    },
}
FROZEN: dict[type[Any], dict[str, object]] = {
    ChunkPage: {"items": REQ, "next_cursor": None},
    DatasetRef: {"id": REQ, "label": None, "item_count": None, "connect_params": {}, "metadata": {}},
    EmbeddingSpaceDescriptor: {
        "model": REQ,
        "dimension": REQ,
        "normalized": None,
        "metric": None,
        "fingerprint": None,
    },
    EmbeddingBatch: {"vectors": REQ, "space": REQ},
    ConnectorHealth: {"ok": REQ, "detail": ""},
    ScoreSemantics: {"comparable": REQ, "higher_is_better": REQ, "metric": None, "transform": None},
    RetrievalResult: {"items": (), "metadata": {}},
    ConnectorDescriptor: {
        "connector_type": REQ,
        "name": REQ,
        "contract_version": "0.1",
        "retrieval_mode": "scored",
        "score_semantics": ScoreSemantics(comparable=True, higher_is_better=True),
        "capabilities": frozenset(),
        "connector_config_fingerprint": None,
        "corpus_fingerprint": None,
        "embedding_space_fingerprint": None,
        "retrieval_policy_fingerprint": None,
        "metadata": {},
    },
}
ALL = {**MUTABLE, **FROZEN}


def defaults(kind: type[Any]) -> dict[str, object]:
    """The fields of a type in order, each with what it is when it is not given."""
    return {
        one.name: one.default_factory() if one.default_factory is not MISSING else one.default for one in fields(kind)
    }


def made(kind: type[Any]) -> Any:
    return kind(*[name for name, default in ALL[kind].items() if default is REQ])


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_the_fields_stand_in_the_order_of_the_contract(kind: type[Any]) -> None:
    assert list(defaults(kind).items()) == list(ALL[kind].items())


@pytest.mark.parametrize("kind", MUTABLE, ids=lambda kind: kind.__name__)
def test_a_value_of_a_pipeline_can_be_changed(kind: type[Any]) -> None:
    value = made(kind)

    value.metadata = {"a": 1}
    value.more = 1

    assert value.metadata == {"a": 1}


@pytest.mark.parametrize("kind", FROZEN, ids=lambda kind: kind.__name__)
def test_a_value_of_a_connector_is_frozen_and_takes_no_field_more(kind: type[Any]) -> None:
    value = made(kind)

    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(kind)[0].name, None)
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_default_that_can_be_changed_is_never_shared(kind: type[Any]) -> None:
    one, other = made(kind), made(kind)

    for name, default in ALL[kind].items():
        if isinstance(default, dict | list):
            assert getattr(one, name) is not getattr(other, name)


def test_a_record_without_a_word_on_its_place_in_the_corpus_is_refused() -> None:
    with pytest.raises(TypeError, match="global_index"):
        ChunkRecord(  # type: ignore[call-arg]
            chunk_id="c", doc_id="d", source_file="s", doc_chunk_index=0, text="t"
        )


def test_a_record_as_a_dict_has_its_fields_in_order() -> None:
    assert list(ChunkRecord("c", "d", "s", 0, None, "t").to_dict()) == list(RECORD)


def test_a_record_as_a_dict_holds_the_values_themselves() -> None:
    record = ChunkRecord("c", "d", "s", 0, 7, "t", [0.5], 1, 2, "m", {"k": ["v"]})

    made = record.to_dict()

    assert all(made[name] is getattr(record, name) for name in RECORD)


def test_an_answer_of_six_values_by_position_means_what_it_meant() -> None:
    answer = GeneratedAnswer("q", "a", [], ["c"], "p", "boom")

    assert (answer.citations, answer.hydrated_prompt, answer.error, answer.trace) == (["c"], "p", "boom", None)


def test_a_dataset_as_a_dict_has_copies_of_its_mappings() -> None:
    ref = DatasetRef("d", connect_params={"collection": "c"})

    made = ref.to_dict()
    made["connect_params"]["collection"] = "other"

    assert made == {
        "id": "d",
        "label": None,
        "item_count": None,
        "connect_params": {"collection": "other"},
        "metadata": {},
    }
    assert ref.connect_params == {"collection": "c"}


def test_a_count_that_is_not_reported_is_none_and_never_zero() -> None:
    assert DatasetRef("d").item_count is None


def test_a_space_that_says_nothing_asserts_nothing() -> None:
    space = EmbeddingSpaceDescriptor("m", 3)

    assert (space.normalized, space.metric, space.fingerprint) == (None, None, None)


def test_unknown_and_denied_are_two_different_spaces() -> None:
    unknown, denied = EmbeddingSpaceDescriptor("m", 3), EmbeddingSpaceDescriptor("m", 3, normalized=False)

    assert unknown != denied


def test_an_item_is_a_chunk_by_another_name() -> None:
    assert RetrievedItem is RetrievedChunk


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_the_types_of_the_fields_can_be_asked_for(kind: type[Any]) -> None:
    assert list(get_type_hints(kind)) == list(ALL[kind])


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_type_says_what_it_is(kind: type[Any]) -> None:
    doc = vars(models)[kind.__name__].__doc__

    # A dataclass without a docstring is given its signature.
    assert doc
    assert not doc.startswith(f"{kind.__name__}(")
