"""Answers are read from the places that are told, and an answer without them is a failure."""

from __future__ import annotations

from typing import Any

import pytest

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.params import ParamsError
from estante.serve.adapters.answers import Places, parsed

OWN = Places({}, ["hits", "chunks", "next_cursor"])


def test_fields_stand_under_their_own_names() -> None:
    [hit] = OWN.hits(
        {"hits": [{"chunk_id": "d:0", "text": "a", "score": 1, "raw_score": 0.5, "doc_id": "d", "metadata": {"x": 1}}]}
    )

    assert (hit.row.id, hit.row.text, hit.number, hit.raw, hit.row.doc_id) == ("d:0", "a", 1.0, 0.5, "d")
    assert hit.row.metadata == {"x": 1}


def test_or_in_the_places_that_are_told() -> None:
    places = Places({"hits": "data.0.results", "chunk_id": "meta.id", "text": "body"}, ["hits"])

    [hit] = places.hits({"data": [{"results": [{"body": "a", "meta": {"id": 7}}]}]})

    assert (hit.row.id, hit.row.text, hit.number) == ("7", "a", None)


def test_the_whole_answer_is_a_place() -> None:
    [row] = Places({"chunks": ""}, ["chunks"]).chunks([{"text": "a", "chunk_id": "x", "doc_chunk_index": 3}])

    assert (row.id, row.ordinal) == ("x", 3)


@pytest.mark.parametrize(("answer", "cursor"), [({"next_cursor": "a"}, "a"), ({"next_cursor": None}, None), ({}, None)])
def test_the_next_cursor_is_a_text_or_none(answer: Any, cursor: str | None) -> None:
    assert OWN.next_cursor(answer) == cursor
    assert OWN.next_cursor({"next_cursor": 0}) == "0"


@pytest.mark.parametrize(
    "answer", [{}, {"hits": None}, {"hits": {}}, {"results": []}, [], "text", None, {"error": None}]
)
def test_an_answer_without_a_list_is_a_failure_and_not_empty(answer: Any) -> None:
    with pytest.raises(ConnectorContractError, match="without a list at 'hits'"):
        OWN.hits(answer)


def test_an_empty_list_is_an_empty_result() -> None:
    assert OWN.hits({"hits": []}) == []
    assert OWN.hits({"hits": [], "error": None}) == []


def test_a_list_beside_an_error_is_no_result_and_the_error_is_not_repeated() -> None:
    with pytest.raises(ConnectorOperationalError, match="tells an error at 'error'") as caught:
        OWN.hits({"hits": [], "error": "tr0ub4dor"})

    assert "tr0ub4dor" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"chunk_id": "a"}, "no text at 'text'"),
        ({"text": None}, "no text"),
        ({"text": 7}, "a int for its text"),
        ({"text": "a", "score": "0.5"}, "score.* must be a number"),
        ({"text": "a", "score": True}, "score.* must be a number"),
        ({"text": "a", "chunk_id": ["x"]}, "chunk_id.* must be a text"),
        ({"text": "a", "doc_chunk_index": "0"}, "doc_chunk_index.* must be a whole number"),
        ("a text", "no text"),
    ],
)
def test_a_row_of_another_shape_is_told_with_its_field(row: Any, message: str) -> None:
    with pytest.raises(ConnectorContractError, match=message):
        OWN.hits({"hits": [row]})


def test_a_field_of_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(ParamsError, match="no field 'hit'"):
        Places({"hit": "x"}, ["hits"])


@pytest.mark.parametrize("content", ["", "<html>", '{"a": NaN}', b"\xff\xfe", "[" * 100_000])
def test_what_is_not_strict_json_is_a_failure_whose_text_is_not_told(content: str | bytes) -> None:
    with pytest.raises(ConnectorContractError, match=r"^GET x did not answer with JSON"):
        parsed(content, "GET x")
