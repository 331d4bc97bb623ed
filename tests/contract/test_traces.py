"""Traces of generation, and the usage of tokens that providers tell in many ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.prompts import PromptTemplate, render_prompt
from estante.contract.traces import TRACE_SCHEMA, GenerationTrace
from estante.contract.usage import TokenUsage, token_usage_from_response

EMPTY = TokenUsage()
FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

ALIASES = {
    "input_tokens": "input_tokens prompt_tokens promptTokens inputTokens prompt_token_count",
    "output_tokens": "output_tokens completion_tokens completionTokens outputTokens candidates_token_count",
    "cache_creation_input_tokens": (
        "cache_creation_input_tokens cacheCreationInputTokens cache_creation cache_write_tokens cache_creation_tokens"
        " cacheWriteInputTokens"
    ),
    "cache_read_input_tokens": (
        "cache_read_input_tokens cacheReadInputTokens cache_read cached_tokens cache_read_tokens"
    ),
}
NAMES = [(name, alias) for name, aliases in ALIASES.items() for alias in aliases.split()]


def usage(**counts: int) -> TokenUsage:
    return TokenUsage(**counts)


# --- usage ---------------------------------------------------------------------------------------------------------


def test_nothing_is_reported_until_something_is() -> None:
    assert EMPTY.to_dict() == dict.fromkeys(FIELDS)
    assert tuple(one.name for one in fields(TokenUsage)) == FIELDS


@pytest.mark.parametrize(("name", "alias"), NAMES)
def test_each_name_of_a_number_is_read_from_a_mapping_and_from_an_object(name: str, alias: str) -> None:
    expected = usage(**{name: 7})

    assert TokenUsage.from_mapping({alias: 7}) == expected
    assert TokenUsage.from_mapping(MappingProxyType({alias: 7})) == expected
    assert TokenUsage.from_mapping(SimpleNamespace(**{alias: 7})) == expected


@pytest.mark.parametrize("name", FIELDS)
def test_the_first_name_that_has_a_number_wins(name: str) -> None:
    first, second, third = ALIASES[name].split()[:3]

    assert TokenUsage.from_mapping({third: 3, second: 2, first: 1}) == usage(**{name: 1})
    assert TokenUsage.from_mapping({third: 3, second: 2, first: None}) == usage(**{name: 2})
    assert TokenUsage.from_mapping({third: 3, second: "2", first: True}) == usage(**{name: 3})


def test_zero_is_a_number() -> None:
    assert TokenUsage.from_mapping({"input_tokens": 0, "prompt_tokens": 5}) == usage(input_tokens=0)


def test_a_fraction_is_cut_to_a_whole_number() -> None:
    told = TokenUsage.from_mapping({"input_tokens": 2.9})

    assert told == usage(input_tokens=2)
    assert type(told.input_tokens) is int


@pytest.mark.parametrize(
    "value",
    [None, True, False, "3", b"3", -1, -0.5, float("nan"), float("inf"), float("-inf"), [3], {"n": 3}, 3j, object()],
)
def test_what_is_no_count_is_not_reported(value: object) -> None:
    assert TokenUsage.from_mapping({"input_tokens": value}) == EMPTY
    assert TokenUsage.from_mapping({"input_tokens": value, "prompt_tokens": 4}) == usage(input_tokens=4)


@pytest.mark.parametrize("value", [None, {}, [], (), "text", 5, object(), float("nan")])
def test_what_tells_nothing_is_an_empty_usage(value: object) -> None:
    assert TokenUsage.from_mapping(value) == EMPTY
    assert token_usage_from_response(value) == EMPTY


class Broken(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("closed")

    def __iter__(self) -> Any:
        raise RuntimeError("closed")

    def __len__(self) -> int:
        raise RuntimeError("closed")


class Closed:
    """An object whose attributes cannot be read."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("closed")


@pytest.mark.parametrize("value", [Broken(), Closed()], ids=["mapping", "object"])
def test_a_usage_that_cannot_be_read_raises_nothing(value: object) -> None:
    assert TokenUsage.from_mapping(value) == EMPTY
    assert token_usage_from_response(value) == EMPTY
    assert token_usage_from_response({"usage": value}) == EMPTY
    assert TokenUsage.from_mapping({"prompt_tokens": 3, "prompt_tokens_details": value}) == usage(input_tokens=3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([a for _, a in NAMES]), inner, max_size=4)
    ),
)


@given(st.dictionaries(st.sampled_from([alias for _, alias in NAMES] + ["prompt_tokens_details", "usage"]), JSON))
def test_whatever_is_told_each_number_is_none_or_a_count(told: dict[str, object]) -> None:
    for read in (TokenUsage.from_mapping(told), token_usage_from_response({"usage": told})):
        assert all(value is None or (type(value) is int and value >= 0) for value in read.to_dict().values())


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            usage(input_tokens=9, output_tokens=2, cache_read_input_tokens=4),
        ),
        (
            {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
            usage(input_tokens=9, output_tokens=2, cache_read_input_tokens=4),
        ),
        (
            {"input_tokens": 9, "output_tokens": 2, "input_token_details": {"cache_read": 4, "cache_creation": 3}},
            usage(input_tokens=9, output_tokens=2, cache_creation_input_tokens=3, cache_read_input_tokens=4),
        ),
        (
            {"input_tokens": 9, "output_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4},
            usage(input_tokens=9, output_tokens=2, cache_creation_input_tokens=3, cache_read_input_tokens=4),
        ),
        (
            {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}},
            usage(cache_creation_input_tokens=7),
        ),
        (
            {"cache_creation_input_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 3}},
            usage(cache_creation_input_tokens=5),
        ),
        (
            {"inputTokens": 9, "outputTokens": 2, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3},
            usage(input_tokens=9, output_tokens=2, cache_creation_input_tokens=3, cache_read_input_tokens=4),
        ),
        (
            {"prompt_token_count": 9, "candidates_token_count": 2, "cached_content_token_count": 4},
            usage(input_tokens=9, output_tokens=2, cache_read_input_tokens=4),
        ),
        ({"prompt_eval_count": 9, "eval_count": 2}, usage(input_tokens=9, output_tokens=2)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, usage(input_tokens=9, cache_read_input_tokens=4)),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, usage(input_tokens=9)),
    ],
    ids="openai responses langchain anthropic ages both bedrock gemini ollama deepseek null".split(),
)
def test_the_forms_of_known_providers_are_read(told: dict[str, Any], expected: TokenUsage) -> None:
    as_objects = json.loads(json.dumps(told), object_hook=lambda fields: SimpleNamespace(**fields))

    assert TokenUsage.from_mapping(told) == expected
    assert TokenUsage.from_mapping(as_objects) == expected


# --- usage of a response -------------------------------------------------------------------------------------------

ONE = {"input_tokens": 1}
TWO = {"prompt_tokens": 2}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"usage_metadata": ONE, "usage": TWO}, 1),
        ({"usage_metadata": {}, "usage": TWO}, 2),
        ({"usage_metadata": {"input_tokens": -1}, "usage": TWO}, 2),
        ({"usage": ONE, "response_metadata": {"token_usage": TWO}}, 1),
        ({"response_metadata": {"token_usage": ONE, "usage": TWO}}, 1),
        ({"response_metadata": {"usage": TWO}}, 2),
        ({"response_metadata": {"token_usage": None, "usage": TWO}}, 2),
        ({"input_tokens": 3}, None),
    ],
)
def test_the_first_place_of_a_response_that_tells_a_number_counts(
    response: dict[str, Any], expected: int | None
) -> None:
    assert token_usage_from_response(response) == TokenUsage(expected)
    assert token_usage_from_response(SimpleNamespace(**response)) == TokenUsage(expected)


# --- traces --------------------------------------------------------------------------------------------------------

PROMPT = render_prompt(
    PromptTemplate("plain", "Answers.", "{rag_block} {query}", "Be brief."), query="q", rag_block="b", chunk_ids=["a"]
)


def test_a_trace_needs_a_prompt_alone() -> None:
    trace = GenerationTrace(PROMPT)

    assert (trace.response, trace.model, trace.decoding, trace.usage) == ("", None, {}, EMPTY)
    assert (trace.cache_breakpoint_applied, trace.error, trace.metadata) == (False, None, {})


def test_the_fields_of_a_trace_stand_in_the_order_of_the_contract() -> None:
    names = "prompt response model decoding usage cache_breakpoint_applied error metadata"

    assert [one.name for one in fields(GenerationTrace)] == names.split()


def test_a_trace_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        GenerationTrace(PROMPT).response = "x"  # type: ignore[misc]


def test_a_trace_tells_what_its_prompt_was_made_from() -> None:
    trace = GenerationTrace(PROMPT)

    assert trace.messages == PROMPT.messages
    assert trace.template_id == "plain"
    assert trace.template_sha256 == PROMPT.template_sha256
    assert trace.block_sha256 == PROMPT.block_sha256


def test_a_trace_as_a_dict_begins_with_its_schema_and_is_json() -> None:
    trace = GenerationTrace(PROMPT, "answer", "model", MappingProxyType({"t": 0}), usage(input_tokens=3), True, "late")

    told = trace.to_dict()

    assert list(told) == ["schema", *(one.name for one in fields(GenerationTrace))]
    assert told["schema"] == TRACE_SCHEMA == "rag-connector.generation-trace.v1"
    assert told["prompt"] == PROMPT.to_dict()
    assert told["usage"] == usage(input_tokens=3).to_dict()
    assert json.loads(json.dumps(told)) == told
