"""What a Dataset is recognised by: exact digests, and nothing that could pass for another."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.dataset.chunking import chunker_chunking, chunking_problems, exported_chunking
from estante.contract.dataset.digests import chunk_inventory_sha256, compute_core_sha256, dataset_id_for_inventory
from estante.contract.models import ChunkRecord

ROWS = [
    {"chunk_id": "a.txt:chunk-0", "text": "Alpha beta."},
    {"chunk_id": "b.md:chunk-0", "text": "aaaa bbbb cccc dddd\n\neeee"},
    {"chunk_id": "b.md:chunk-1", "text": "eeee ffff gggg hhhh"},
]
INVENTORY = "bfc47256c82fc7b2a2b0a487d7f2e4603fb41dfc7a2c360c72b24321fc6a8272"

IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: bool(text.strip()))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


# --- the inventory ----------------------------------------------------------------------------------------------


def test_the_inventory_is_the_one_of_the_contract() -> None:
    assert chunk_inventory_sha256(ROWS) == INVENTORY


def test_records_and_mappings_have_one_inventory() -> None:
    records = [ChunkRecord(str(row["chunk_id"]), "d", "d.md", 0, None, str(row["text"])) for row in ROWS]

    assert chunk_inventory_sha256(records) == INVENTORY


def test_no_rows_have_the_digest_of_nothing() -> None:
    assert chunk_inventory_sha256([]) == hashlib.sha256().hexdigest()


def test_ids_are_sorted_by_code_points_not_by_numbers() -> None:
    lines = [f"{name}\t{hashlib.sha256(b'').hexdigest()}\n" for name in ("x:chunk-10", "x:chunk-2")]

    found = chunk_inventory_sha256([{"chunk_id": "x:chunk-2", "text": None}, {"chunk_id": "x:chunk-10"}])

    assert found == hashlib.sha256("".join(lines).encode()).hexdigest()


@given(st.dictionaries(IDS, TEXTS), st.randoms(use_true_random=False))
def test_the_order_of_rows_never_counts(texts: dict[str, str], chance: random.Random) -> None:
    rows = [{"chunk_id": key, "text": text} for key, text in texts.items()]
    mixed = rows.copy()
    chance.shuffle(mixed)

    assert chunk_inventory_sha256(mixed) == chunk_inventory_sha256(rows)


@given(st.dictionaries(IDS, TEXTS), st.dictionaries(IDS, TEXTS))
def test_two_corpora_have_one_inventory_only_when_they_are_one(one: dict[str, str], other: dict[str, str]) -> None:
    mine, theirs = ([{"chunk_id": key, "text": text} for key, text in rows.items()] for rows in (one, other))

    assert (chunk_inventory_sha256(mine) == chunk_inventory_sha256(theirs)) == (one == other)


def test_an_id_that_could_pass_for_two_lines_is_refused() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    forged = {"chunk_id": f"a\t{digest}\nb", "text": "x"}

    with pytest.raises(ValueError, match="control character"):
        chunk_inventory_sha256([forged])


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"chunk_id": 3, "text": "x"}, "must be a text, got int"),
        ({"text": "x"}, "must be a text, got NoneType"),
        ({"chunk_id": " ", "text": "x"}, "is empty"),
        ({"chunk_id": "a\n", "text": "x"}, "control character"),
        ({"chunk_id": "a", "text": 3}, "text must be a text"),
        ({"chunk_id": "a", "text": "\ud800"}, "lone surrogate"),
        ({"chunk_id": "a\ud800", "text": "x"}, "lone surrogate"),
        ("a", "must be a ChunkRecord or a mapping"),
    ],
)
def test_a_row_that_is_none_is_refused(row: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        chunk_inventory_sha256([row])


# --- the id -----------------------------------------------------------------------------------------------------


def test_the_id_is_the_head_of_the_inventory() -> None:
    assert dataset_id_for_inventory(INVENTORY) == "ds-bfc47256c82fc7b2"


@pytest.mark.parametrize("wrong", ["", "ABC", INVENTORY.upper(), INVENTORY + "\n", INVENTORY[:-1], f" {INVENTORY}"])
def test_what_is_no_sha256_has_no_id(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not a SHA-256"):
        dataset_id_for_inventory(wrong)


# --- the core ---------------------------------------------------------------------------------------------------


def test_the_core_digest_is_made_of_three_named_digests() -> None:
    manifest = {"core_sha256": "whatever", "b": 1, "a": "é"}
    parts = [
        "rag-connector-dataset-core/1",
        "dataset.json\t" + hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest(),
        "data/chunks.jsonl\t" + hashlib.sha256(b"chunks").hexdigest(),
        "data/sources.json\t" + hashlib.sha256(b"sources").hexdigest(),
    ]

    found = compute_core_sha256(manifest, b"chunks", b"sources")

    assert found == hashlib.sha256("".join(f"{part}\n" for part in parts).encode()).hexdigest()


def test_the_core_digest_covers_unknown_keys() -> None:
    assert compute_core_sha256({"a": 1}, b"", b"") != compute_core_sha256({"a": 1, "mine": None}, b"", b"")


@pytest.mark.parametrize(
    "manifest", [{"a": float("nan")}, {"a": float("inf")}, {"a": {3: 1}}, {"a": "\ud800"}, {"a": object()}]
)
def test_a_manifest_that_is_no_strict_json_has_no_digest(manifest: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"dataset\.json"):
        compute_core_sha256(manifest, b"", b"")


def test_a_manifest_that_holds_itself_has_no_digest() -> None:
    manifest: dict[str, Any] = {}
    manifest["self"] = [manifest]

    with pytest.raises(ValueError, match=r"dataset\.json"):
        compute_core_sha256({"a": manifest}, b"", b"")


# --- the chunking block -----------------------------------------------------------------------------------------


def test_the_block_of_windows_says_how_to_cut_again() -> None:
    block = chunker_chunking(chunk_size=1000, chunk_overlap=200)

    assert json.dumps(block) == (
        '{"method": "rag-connector-chunker", "chunker_version": "1", "chunk_size": 1000, "chunk_overlap": 200}'
    )


def test_the_block_of_an_export_names_the_connector() -> None:
    assert exported_chunking("t") == {"method": "exported-from-connector", "connector_type": "t"}


@pytest.mark.parametrize("wrong", ["", " "])
def test_an_export_from_nowhere_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"chunking\.connector_type"):
        exported_chunking(wrong)


@pytest.mark.parametrize(("size", "overlap"), [(-1, 0), (10, -1), (True, 0), ("10", 0), (10.0, 0)])
def test_a_length_that_is_none_is_refused(size: Any, overlap: Any) -> None:
    with pytest.raises(ValueError, match=r"chunking\.chunk_"):
        chunker_chunking(chunk_size=size, chunk_overlap=overlap)


@pytest.mark.parametrize(
    ("block", "problems"),
    [
        (None, ["chunking must be an object"]),
        ({}, ["chunking.method must be a non-empty string"]),
        ({"method": 3}, ["chunking.method must be a non-empty string"]),
        ({"method": "mine", "anything": [1]}, []),
        ({"method": "exported-from-connector", "connector_type": "t", "more": 1}, []),
        ({"method": "rag-connector-chunker", "chunker_version": "1", "chunk_size": 5, "chunk_overlap": 9}, []),
    ],
)
def test_a_block_is_held_to_its_method(block: Any, problems: list[str]) -> None:
    assert chunking_problems(block) == problems


def test_every_problem_of_a_block_is_told() -> None:
    problems = chunking_problems({"method": "rag-connector-chunker", "chunk_size": -3})

    assert [problem.split()[0] for problem in problems] == [
        "chunking.chunker_version",
        "chunking.chunk_size",
        "chunking.chunk_overlap",
    ]
