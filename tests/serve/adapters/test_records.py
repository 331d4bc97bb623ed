"""Rows of a back end become chunks and hits by one set of rules."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorContractError
from estante.serve.adapters.records import Layout, Row, plain_metadata

PLAIN = Layout()


def row(id: str | None, text: str = "texto", **metadata: object) -> Row:
    return Row(text=text, id=id, metadata=metadata)


def test_a_row_without_a_document_is_one_by_itself() -> None:
    [record] = PLAIN.records([row("a")])

    assert (record.chunk_id, record.doc_id, record.source_file, record.doc_chunk_index) == ("a", "a", "a", 0)


def test_the_names_of_the_contract_are_read_from_the_metadata() -> None:
    [record] = PLAIN.records(
        [
            row(
                "a",
                doc_id="d",
                source_file="d.md",
                doc_chunk_index=0,
                global_index=7,
                char_start=2,
                char_end=9,
                content_module_id="m",
            )
        ]
    )

    assert (record.doc_id, record.source_file, record.global_index) == ("d", "d.md", 7)
    assert (record.char_start, record.char_end, record.content_module_id) == (2, 9, "m")


def test_a_hit_has_the_id_the_document_and_the_metadata_of_its_chunk() -> None:
    layout = Layout(id_key="key", doc_key="of")
    one = row("theirs", key="k", of="d")

    [record], hit = layout.records([one]), layout.hit(one, 0, 0.5, None)

    assert (hit.chunk_id, hit.doc_id, hit.metadata) == (record.chunk_id, record.doc_id, record.metadata)
    assert hit.chunk_id == "k"


def test_a_hit_that_may_be_partial_has_the_document_that_it_names_or_none() -> None:
    layout = Layout(partial_hits=True)

    assert layout.hit(row("a"), 0, None, None).doc_id is None
    assert layout.hit(row("a", doc_id="d"), 0, None, None).doc_id == "d"


def test_a_hit_without_an_id_is_no_chunk() -> None:
    hit = PLAIN.hit(row(None), 0, None, None)

    assert (hit.chunk_id, hit.doc_id) == (None, None)


def test_a_chunk_of_the_corpus_without_an_id_is_refused_with_what_to_declare() -> None:
    with pytest.raises(ConnectorContractError, match=r"has no id.*id_key.*text_ids"):
        PLAIN.records([row(None)])


def test_ids_of_texts_are_the_same_for_the_same_text_alone() -> None:
    layout = Layout(text_ids=True)

    ids = [layout.chunk_id(row(None, text)) for text in ("um", "um", "dois")]

    assert ids[0] == ids[1] != ids[2]
    assert not layout.own_ids


@pytest.mark.parametrize("field", ["id_key", "doc_key", "name_key", "ordinal_key"])
def test_a_declared_key_that_is_not_there_is_named_with_those_that_are(field: str) -> None:
    layout = replace(PLAIN, **{field: "absent"})

    with pytest.raises(ConnectorContractError, match="no metadata 'absent'; it has: one, two"):
        layout.records([row("a", one=1, two=2)])


def test_the_first_convention_that_a_row_keeps_counts() -> None:
    layout = Layout(docs=("doc_id", "source"))

    assert layout.doc_id(row("a", source="s")) == "s"
    assert layout.doc_id(row("a", source="s", doc_id="d")) == "d"


def test_places_that_no_chunk_tells_are_counted_in_the_order_given() -> None:
    records = PLAIN.records([row("b", doc_id="d"), row("a", doc_id="d"), row("c", doc_id="e")])

    assert [(one.chunk_id, one.doc_chunk_index) for one in records] == [("b", 0), ("a", 1), ("c", 0)]


def test_places_are_counted_by_where_chunks_begin_when_all_tell_it() -> None:
    records = PLAIN.records([row("b", doc_id="d", char_start=90), row("a", doc_id="d", char_start=0)])

    assert {one.chunk_id: one.doc_chunk_index for one in records} == {"a": 0, "b": 1}


def test_places_that_chunks_tell_are_theirs_even_when_they_are_wrong() -> None:
    records = PLAIN.records([row("a", doc_id="d", doc_chunk_index=1), row("b", doc_id="d", doc_chunk_index=2)])

    assert [one.doc_chunk_index for one in records] == [1, 2]


def test_a_document_of_which_some_chunks_tell_their_place_is_refused() -> None:
    with pytest.raises(ConnectorContractError, match="1 of 2 chunks of document 'd'"):
        PLAIN.records([row("a", doc_id="d", doc_chunk_index=0), row("b", doc_id="d")])


@pytest.mark.parametrize("place", ["0", 0.0, True])
def test_a_place_that_is_no_whole_number_is_refused(place: object) -> None:
    with pytest.raises(ConnectorContractError, match="whole number"):
        PLAIN.records([row("a", doc_id="d", doc_chunk_index=place)])


class Colour(Enum):
    RED = "red"


def test_metadata_becomes_what_json_can_hold() -> None:
    made = plain_metadata(
        {
            "text": "a",
            "flag": True,
            "none": None,
            "day": date(2025, 6, 2),
            "moment": datetime(2025, 6, 2, 9, 30, tzinfo=UTC),
            "number": np.float32(0.5),
            "vector": np.array([1, 2]),
            "path": PurePosixPath("a/b"),
            "id": uuid.UUID(int=1),
            "colour": Colour.RED,
            "set": {"b", "a"},
            "tuple": (1, 2),
            7: "seven",
            "nan": float("nan"),
            "object": object(),
            "nested": {"keep": 1, "drop": object()},
        }
    )

    assert made == {
        "text": "a",
        "flag": True,
        "none": None,
        "day": "2025-06-02",
        "moment": "2025-06-02T09:30:00+00:00",
        "number": 0.5,
        "vector": [1, 2],
        "path": "a/b",
        "id": "00000000-0000-0000-0000-000000000001",
        "colour": "red",
        "set": ["a", "b"],
        "tuple": [1, 2],
        "7": "seven",
        "nested": {"keep": 1},
    }


def test_metadata_that_holds_itself_ends() -> None:
    metadata: dict[str, object] = {"a": 1}
    metadata["self"] = metadata

    assert plain_metadata(metadata)["a"] == 1


@pytest.mark.parametrize("half", [row("a", "\ud800"), row("\ud800", "texto")], ids=["text", "id"])
def test_half_a_character_is_refused_and_never_told(half: Row) -> None:
    for read in (lambda: Layout().records([half]), lambda: Layout().hit(half, 0, 1.0, None)):
        with pytest.raises(ConnectorContractError, match="half a character"):
            read()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.sets(st.integers()),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES))
def test_whatever_metadata_holds_what_is_made_of_it_is_json(metadata: dict[str, object]) -> None:
    made = plain_metadata(metadata)

    assert json.loads(json.dumps(made, allow_nan=False)) == made
