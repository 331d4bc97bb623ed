"""Hits that stand for chunks: what they declare, what is malformed in it, what they are credited with."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract import derived
from estante.contract.derived import (
    ITEM_KEYS,
    ITEM_KINDS,
    DerivedResult,
    derived_result_metadata,
    derived_result_problems,
    normalize_item_kind,
    read_derived_result,
)
from estante.contract.errors import ConnectorContractError
from estante.contract.models import RetrievedChunk


def hit(chunk_id: str | None = "x", **metadata: Any) -> RetrievedChunk:
    return RetrievedChunk(chunk_id, "texto", 1.0, 0, metadata=metadata)


def test_the_keys_and_kinds_are_those_that_stores_hold() -> None:
    assert ITEM_KEYS == ("item_index", "item_covered_ids", "item_kind", "item_label", "item_curated")
    assert ITEM_KINDS == ("chunk", "summary", "gap")
    assert {name: getattr(derived, name) for name in dir(derived) if name.endswith("_KEY")} == {
        "ITEM_COVERED_IDS_KEY": "item_covered_ids",
        "ITEM_CURATED_KEY": "item_curated",
        "ITEM_INDEX_KEY": "item_index",
        "ITEM_KIND_KEY": "item_kind",
        "ITEM_LABEL_KEY": "item_label",
    }


# --- kinds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "kind"), [("chunk", "chunk"), ("summary", "summary"), ("gap", "gap"), ("group", "summary")]
)
def test_a_kind_is_known_by_its_name_or_its_synonym(told: str, kind: str) -> None:
    assert normalize_item_kind(told) == kind


@pytest.mark.parametrize("told", [None, "Chunk", "", " gap", 3, ["gap"]])
def test_any_other_kind_is_refused(told: object) -> None:
    with pytest.raises(ValueError, match="is not one of"):
        normalize_item_kind(told)


# --- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_id", ["x", None])
def test_a_hit_that_declares_nothing_is_a_plain_chunk(chunk_id: str | None) -> None:
    assert read_derived_result(hit(chunk_id)) == DerivedResult(chunk_id, "texto", "chunk", None)


@pytest.mark.parametrize("metadata", [None, [1], "item_kind"])
def test_metadata_of_another_shape_declares_nothing(metadata: Any) -> None:
    row = hit()
    row.metadata = metadata

    assert derived_result_problems(row) == []
    assert read_derived_result(row).kind == "chunk"


def test_keys_of_a_vendor_declare_nothing() -> None:
    assert read_derived_result(hit(acme_item_kind="gap")) == read_derived_result(hit())


def test_who_declares_what_is_covered_is_a_summary() -> None:
    read = read_derived_result(hit(None, item_covered_ids=["a", "b"]))

    assert (read.kind, read.covered_ids, read.kind_declared) == ("summary", ("a", "b"), False)


def test_a_declaration_is_read_whole() -> None:
    read = read_derived_result(
        hit("s1", item_kind="group", item_covered_ids=("a",), item_curated="", item_index=0, item_label="L")
    )

    assert read == DerivedResult("s1", "texto", "summary", ("a",), "", 0, "L", True)


def test_a_declaration_that_was_read_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        read_derived_result(hit()).kind = "gap"  # type: ignore[misc]


def test_to_declare_nothing_and_to_declare_nothing_covered_are_two_things() -> None:
    silent, empty = read_derived_result(hit()), read_derived_result(hit(item_covered_ids=[]))

    assert (silent.covered_ids, silent.credited_ids) == (None, ("x",))
    assert (empty.covered_ids, empty.credited_ids) == ((), ())


@pytest.mark.parametrize(
    ("row", "credited"),
    [
        (hit("x"), ("x",)),
        (hit(None), ()),
        (hit("s1", item_covered_ids=["a", "b"]), ("a", "b")),
        (hit(None, item_kind="gap"), ()),
        (hit(None, item_kind="gap", item_covered_ids=[]), ()),
        (hit("x", item_kind="chunk", item_covered_ids=["x"]), ("x",)),
    ],
)
def test_a_hit_is_credited_with_what_it_covers_or_itself(row: RetrievedChunk, credited: tuple[str, ...]) -> None:
    assert read_derived_result(row).credited_ids == credited


def test_a_gap_is_known_by_its_kind_alone() -> None:
    assert read_derived_result(hit(None, item_kind="gap")).is_gap
    assert not read_derived_result(hit(None, item_covered_ids=[])).is_gap


# --- problems ---------------------------------------------------------------------------------------------------

MALFORMED: list[tuple[RetrievedChunk, str]] = [
    (hit(item_covered_ids="abc"), "must be a list of chunk ids, not str"),
    (hit(item_covered_ids=None), "must be a list of chunk ids, not NoneType"),
    (hit(item_covered_ids={"a"}), "must be a list of chunk ids, not set"),
    (hit(item_covered_ids=["a", ""]), "non-empty strings"),
    (hit(item_covered_ids=["a", 1]), "non-empty strings"),
    (hit(item_covered_ids=["a", ["b"]]), "non-empty strings"),
    (hit(item_covered_ids=["a", "b", "a"]), "same chunk id twice"),
    (hit(item_kind=None), "item_kind None is not one of"),
    (hit(item_kind="Chunk"), "item_kind 'Chunk' is not one of"),
    (hit(item_kind=[]), "is not one of"),
    (hit(item_kind="gap", item_covered_ids=["a"]), "a gap covers no chunks"),
    (hit(None, item_kind="chunk"), "its own chunk_id"),
    (hit("", item_kind="chunk"), "its own chunk_id"),
    (hit(item_kind="chunk", item_covered_ids=[]), "covers exactly itself"),
    (hit(item_kind="chunk", item_covered_ids=["y"]), "covers exactly itself"),
    (hit(item_kind="chunk", item_covered_ids=["x", "y"]), "covers exactly itself"),
    (hit(item_curated=1), "item_curated must be a string"),
    (hit(item_curated=None), "item_curated must be a string"),
    (hit(item_label=2), "item_label must be a string"),
    (hit(item_index=-1), "non-negative integer"),
    (hit(item_index=True), "non-negative integer"),
    (hit(item_index=1.0), "non-negative integer"),
    (hit(item_index=None), "non-negative integer"),
]


@pytest.mark.parametrize(("row", "told"), MALFORMED, ids=[str(row.metadata) for row, _ in MALFORMED])
def test_a_malformed_declaration_is_one_problem(row: RetrievedChunk, told: str) -> None:
    [problem] = derived_result_problems(row)

    assert told in problem


@pytest.mark.parametrize(("row", "told"), MALFORMED, ids=[str(row.metadata) for row, _ in MALFORMED])
def test_a_malformed_declaration_is_not_read(row: RetrievedChunk, told: str) -> None:
    with pytest.raises(ValueError, match=f"malformed .*{told}") as caught:
        read_derived_result(row)

    assert isinstance(caught.value, ConnectorContractError)


def test_every_problem_is_told_at_once() -> None:
    row = hit(item_covered_ids="abc", item_kind="x", item_curated=1, item_label=2, item_index=-1)

    problems = derived_result_problems(row)

    assert len(problems) == 5
    with pytest.raises(ValueError, match="malformed") as caught:
        read_derived_result(row)
    assert all(problem in str(caught.value) for problem in problems)


@pytest.mark.parametrize(
    "row",
    [
        hit(item_label=None),
        hit(item_index=0),
        hit(None, item_covered_ids=()),
        hit("own-space", item_kind="summary"),
        hit("x", item_kind="chunk"),
    ],
)
def test_a_sound_declaration_has_no_problem(row: RetrievedChunk) -> None:
    assert derived_result_problems(row) == []


# --- building ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"kind": "chunk"}, {"item_kind": "chunk"}),
        ({"kind": "chunk", "covered_ids": ["a"]}, {"item_kind": "chunk", "item_covered_ids": ["a"]}),
        ({"kind": "summary", "covered_ids": []}, {"item_kind": "summary", "item_covered_ids": []}),
        ({"kind": "group", "covered_ids": ("a", "b")}, {"item_kind": "summary", "item_covered_ids": ["a", "b"]}),
        ({"kind": "gap"}, {"item_kind": "gap", "item_covered_ids": []}),
        ({"kind": "gap", "covered_ids": []}, {"item_kind": "gap", "item_covered_ids": []}),
        (
            {"kind": "chunk", "curated": "c", "index": 0, "label": ""},
            {"item_kind": "chunk", "item_curated": "c", "item_index": 0, "item_label": ""},
        ),
    ],
)
def test_only_what_is_given_is_written(given: dict[str, Any], made: dict[str, Any]) -> None:
    assert derived_result_metadata(**given) == made


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "Chunk"}, "is not one of"),
        ({"kind": None}, "is not one of"),
        ({"kind": "gap", "covered_ids": ["a"]}, "a gap covers no chunks"),
        ({"kind": "summary"}, "must declare the chunk ids"),
        ({"kind": "group"}, "must declare the chunk ids"),
        ({"kind": "summary", "covered_ids": "abc"}, "must be a list of chunk ids, not str"),
        ({"kind": "chunk", "covered_ids": "a"}, "must be a list of chunk ids, not str"),
        ({"kind": "gap", "covered_ids": ""}, "must be a list of chunk ids, not str"),
        ({"kind": "chunk", "covered_ids": ["a", "b"]}, "covers exactly itself"),
        ({"kind": "chunk", "covered_ids": []}, "covers exactly itself"),
        ({"kind": "summary", "covered_ids": ["a", "a"]}, "same chunk id twice"),
        ({"kind": "summary", "covered_ids": ["a", ""]}, "non-empty strings"),
        ({"kind": "chunk", "curated": 1}, "item_curated must be a string"),
        ({"kind": "chunk", "label": 1}, "item_label must be a string"),
        ({"kind": "chunk", "index": -1}, "non-negative integer"),
        ({"kind": "chunk", "index": True}, "non-negative integer"),
    ],
)
def test_what_would_be_malformed_is_not_built(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        derived_result_metadata(**given)

    assert isinstance(caught.value, ConnectorContractError)


def test_the_ids_are_the_hits_own_list() -> None:
    ids = ["a"]

    made = derived_result_metadata(kind="summary", covered_ids=ids)
    ids.append("b")

    assert made["item_covered_ids"] == ["a"]


@given(
    st.sampled_from(["summary", "group"]),
    st.lists(st.text(min_size=1), unique=True),
    st.none() | st.text(),
    st.none() | st.integers(0),
    st.none() | st.text(),
)
def test_what_is_built_is_read_back(
    kind: str, ids: list[str], curated: str | None, index: int | None, label: str | None
) -> None:
    made = derived_result_metadata(kind=kind, covered_ids=ids, curated=curated, index=index, label=label)

    assert read_derived_result(hit(None, **made)) == DerivedResult(
        None, "texto", "summary", tuple(ids), curated, index, label, True
    )
