"""Chunks as lines of JSON: what goes out comes back, and what could not is refused with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorContractError
from estante.contract.jsonl import CHUNK_ROW_KEYS, chunks_from_jsonl, chunks_to_jsonl
from estante.contract.models import ChunkRecord

ROW = {"chunk_id": "a:0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "text": "olá"}

NAMES = st.text(min_size=1, max_size=20).filter(str.strip)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.builds(
    ChunkRecord,
    chunk_id=NAMES,
    doc_id=NAMES,
    source_file=NAMES,
    doc_chunk_index=st.integers(0, 99),
    global_index=st.none() | st.integers(0, 99),
    text=st.text(min_size=1).filter(str.strip),
    char_start=st.none() | st.integers(0, 99),
    char_end=st.none() | st.integers(0, 99),
    content_module_id=st.none() | st.text(max_size=9),
    metadata=st.dictionaries(st.text(max_size=9), VALUES, max_size=3),
)


def record(**changed: Any) -> ChunkRecord:
    return ChunkRecord(**{"global_index": None, **ROW, **changed})


def line(**changed: object) -> str:
    return json.dumps({**ROW, **changed})


# --- the form ---------------------------------------------------------------------------------------------------


def test_a_row_has_ten_keys_in_their_order_and_no_embedding() -> None:
    told = chunks_to_jsonl(
        [record(global_index=7, char_start=1, char_end=4, embedding=[0.5], metadata={"z": 1, "é": 2})]
    )

    assert told == (
        '{"chunk_id": "a:0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "global_index": 7, '
        '"char_start": 1, "char_end": 4, "content_module_id": null, "text": "olá", "metadata": {"z": 1, "é": 2}}\n'
    )
    assert tuple(json.loads(told)) == CHUNK_ROW_KEYS


def test_no_records_are_one_empty_line_that_gives_no_records() -> None:
    assert chunks_to_jsonl([]) == "\n"
    assert chunks_from_jsonl("\n") == chunks_from_jsonl("") == []


def test_missing_metadata_is_an_empty_object() -> None:
    assert '"metadata": {}' in chunks_to_jsonl([record(metadata=None)])


def test_absent_and_null_optional_fields_are_none_and_empty() -> None:
    nulls = dict.fromkeys(("global_index", "char_start", "char_end", "content_module_id", "metadata"))

    for row in (line(), line(**nulls)):
        (one,) = chunks_from_jsonl(row)
        assert (one.global_index, one.char_start, one.char_end, one.content_module_id) == (None, None, None, None)
        assert one.metadata == {}


def test_the_callers_record_is_not_touched() -> None:
    given_one = record(embedding=[1.0], metadata={"a": 1})

    chunks_to_jsonl([given_one])

    assert given_one == record(embedding=[1.0], metadata={"a": 1})


# --- both ways --------------------------------------------------------------------------------------------------


@given(st.lists(RECORDS, max_size=4, unique_by=lambda one: one.chunk_id))
def test_what_is_written_is_read_back_as_it_was(records: list[ChunkRecord]) -> None:
    told = chunks_to_jsonl(records)

    assert chunks_from_jsonl(told) == records
    assert told.encode("utf-8").decode("utf-8").count("\n") == max(1, len(records))


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\u2029", "\r", "\x0b", "\x0c", "\x1c", "\r\n", "\n"])
def test_only_lf_ends_a_line(separator: str) -> None:
    records = [record(text=f"one{separator}two", metadata={"note": separator}), record(chunk_id="a:1")]

    assert chunks_from_jsonl(chunks_to_jsonl(records)) == records


def test_blank_lines_and_carriage_returns_at_line_ends_are_passed_over() -> None:
    assert len(chunks_from_jsonl(f"\n{line()}\r\n \t\n{line(chunk_id='b')}\r\n")) == 2


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("{", "not valid JSON"),
        ('{"chunk_id": "a"} {}', "not valid JSON"),
        ("null", "got null"),
        ("[]", "got an array"),
        ('"text"', "got a text"),
        ("7", "got a number"),
        (line(embedding=[1]), "no key 'embedding'"),
        (line(x=1, y=2), "no key 'x', 'y'"),
        (line(metadata={"score": float("nan")}), "NaN is no JSON value"),
        (line(metadata={"score": float("-inf")}), "-Infinity is no JSON value"),
        (line(metadata={"score": 1}).replace("1}", "1e999}"), "too large"),
        (line()[:-1] + ', "text": "other"}', "one key twice"),
        (line(metadata=[]), "metadata must be an object, got an array"),
        (line(metadata="x"), "metadata must be an object, got a text"),
        (line(chunk_id=5), "chunk_id must be a text, got a number"),
        (line(doc_id=["a"]), "doc_id must be a text, got an array"),
        (line(text={}), "text must be a text, got an object"),
        (line(doc_chunk_index="0"), "doc_chunk_index must be a whole number, got a text"),
        (line(doc_chunk_index=True), "doc_chunk_index must be a whole number, got true or false"),
        (line(global_index=1.5), "global_index must be a whole number, got a fraction"),
        (line(char_start="1"), "char_start must be a whole number"),
        (line(char_end=[]), "char_end must be a whole number"),
        (line(content_module_id=3), "content_module_id must be a text or null"),
        (line(text=" \n\u2028"), "blank text"),
        (line(chunk_id=""), "blank chunk_id"),
        (line(text="\ud800"), "lone surrogate"),
        (line(metadata={"a": ["\udfff"]}), "lone surrogate"),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(wrong: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3: ") as refused:
        chunks_from_jsonl(f"{line(chunk_id='first')}\n\n{wrong}\n")

    assert told in str(refused.value)
    assert isinstance(refused.value, ConnectorContractError)


@pytest.mark.parametrize("wrong", ["[" * 100_000, "1" * 5_000], ids=["too deep", "too many digits"])
def test_a_row_beyond_what_can_be_parsed_is_refused_with_its_line(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2: not valid JSON"):
        chunks_from_jsonl(f"\n{wrong}")


@pytest.mark.parametrize("key", ["chunk_id", "doc_id", "source_file", "doc_chunk_index", "text"])
def test_a_required_key_that_is_missing_or_null_is_named(key: str) -> None:
    without = json.dumps({name: value for name, value in ROW.items() if name != key})

    for row in (without, line(**{key: None})):
        with pytest.raises(ValueError, match=f"^line 1: a row must have {key}$"):
            chunks_from_jsonl(row)


def test_an_id_that_is_there_twice_is_refused_with_both_lines() -> None:
    with pytest.raises(ValueError, match=r"^line 3: duplicate chunk_id 'a:0', which line 1 has too$"):
        chunks_from_jsonl(f"{line()}\n{line(chunk_id='b')}\n{line()}\n")


def test_a_refusal_never_shows_the_text() -> None:
    for wrong in ('{"text": "sigiloso', line(text="sigiloso \ud800"), line(text="sigiloso", doc_id=1)):
        with pytest.raises(ValueError, match=r"^line 1: ") as refused:
            chunks_from_jsonl(wrong)
        assert "sigiloso" not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"metadata": {"score": float("nan")}}, "metadata cannot be written as JSON"),
        ({"metadata": {"score": [float("inf")]}}, "metadata cannot be written as JSON"),
        ({"metadata": {"when": object()}}, "metadata cannot be written as JSON"),
        ({"metadata": {1: "a"}}, "metadata has a key that is not a text"),
        ({"metadata": {"a": [{None: 1}]}}, "metadata has a key that is not a text"),
        ({"metadata": [("a", 1)]}, "metadata must be an object"),
        ({"metadata": {"a": "\ud83d"}}, "metadata holds a lone surrogate"),
        ({"text": "a\udc80"}, "text holds a lone surrogate"),
        ({"text": "  "}, "blank text"),
        ({"text": None}, "a row must have text"),
        ({"chunk_id": 3}, "chunk_id must be a text, got a number"),
        ({"doc_chunk_index": False}, "doc_chunk_index must be a whole number"),
        ({"chunk_id": "first"}, "duplicate chunk_id 'first', which line 1 has too"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_not_written(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2: ") as refused:
        chunks_to_jsonl([record(chunk_id="first"), record(**changed)])

    assert told in str(refused.value)
    assert isinstance(refused.value, ConnectorContractError)


def test_metadata_that_holds_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless

    with pytest.raises(ValueError, match=r"^line 1: metadata cannot be written as JSON"):
        chunks_to_jsonl([record(metadata=endless)])


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^line 1: a ChunkRecord was expected, got dict"):
        chunks_to_jsonl([ROW])  # type: ignore[list-item]
