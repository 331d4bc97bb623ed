"""What two Datasets differ in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.difference import Changes, DatasetDifference, dataset_difference
from estante.contract.models import ChunkRecord
from tests.contract.datasets import chunk, write

CHUNKS = [chunk(0, text="one"), chunk(1, text="two"), chunk(0, document="b", text="three", global_index=2)]


@pytest.fixture
def difference(tmp_path: Path) -> Any:
    """What another list of chunks has otherwise than ``CHUNKS``."""

    def compare(chunks: list[ChunkRecord], **options: Any) -> DatasetDifference:
        return dataset_difference(write(tmp_path / "a", CHUNKS), write(tmp_path / "b", chunks, **options))

    return compare


def test_a_dataset_differs_from_itself_in_nothing(difference: Any) -> None:
    found = difference(CHUNKS)

    assert found.same_content
    assert (found.same_inventory, found.same_core, found.manifest) == (True, True, ())


def test_another_moment_is_the_same_content_and_another_core(difference: Any) -> None:
    found = difference(CHUNKS, created_at="later")

    assert found.same_content
    assert found.same_inventory
    assert not found.same_core
    assert found.manifest == ("core_sha256", "created_at")


def test_chunks_and_documents_that_came_and_went_are_told(difference: Any) -> None:
    found = difference([*CHUNKS[:1], chunk(0, document="c", text="four")])

    assert found.chunks == Changes(added=("c:chunk-0",), removed=("a:chunk-1", "b:chunk-0"))
    assert found.documents == Changes(added=("c",), removed=("b",), changed=("a",))
    assert found.sources == Changes(added=("c",), removed=("b",))
    assert not found.same_content
    assert not found.same_inventory


def test_another_text_under_an_id_is_a_change(difference: Any) -> None:
    found = difference([chunk(0, text="other"), *CHUNKS[1:]])

    assert found.chunks == Changes(changed=("a:chunk-0",))
    assert found.documents == Changes(changed=("a",))
    assert found.sources == Changes()
    assert found.moved == {}


def test_the_same_text_in_another_place_is_told_apart(difference: Any) -> None:
    moved = chunk(0, text="one", global_index=9, metadata={"page": 2})

    found = difference([moved, *CHUNKS[1:]])

    assert found.chunks == Changes()
    assert found.moved == {"a:chunk-0": ("global_index", "metadata")}
    assert found.same_inventory
    assert not found.same_content


@pytest.mark.parametrize("other", [True, 1.0, "1"])
def test_metadata_that_json_tells_apart_is_a_difference(tmp_path: Path, other: object) -> None:
    one, two = (replace(CHUNKS[0], metadata={"page": [value]}) for value in (1, other))

    found = dataset_difference(write(tmp_path / "a", [one, *CHUNKS[1:]]), write(tmp_path / "b", [two, *CHUNKS[1:]]))

    assert found.moved == {CHUNKS[0].chunk_id: ("metadata",)}
    assert not found.same_content


def test_other_sources_of_the_same_chunks_are_a_difference(difference: Any) -> None:
    rows = [{"source_identity": "a", "file_type": "txt"}, {"source_identity": "z"}]

    found = difference(CHUNKS, sources=rows)

    assert found.sources == Changes(added=("z",), removed=("b",), changed=("a",))
    assert not found.same_content


def test_the_order_of_lines_is_no_difference_of_content(difference: Any) -> None:
    found = difference(CHUNKS[::-1])

    assert found.same_content
    assert not found.same_core


def renamed(names: dict[str, str], folder: Path) -> Dataset:
    return write(folder, [chunk(0, document=key, text=text, global_index=None) for key, text in names.items()])


DOCUMENTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["x", "y"]), min_size=1)


@given(DOCUMENTS, DOCUMENTS)
def test_a_difference_read_backwards_is_its_opposite(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, str], other: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    mine, theirs = renamed(one, folder / "a"), renamed(other, folder / "b")

    there, back = dataset_difference(mine, theirs), dataset_difference(theirs, mine)

    assert (there.chunks.added, there.chunks.removed) == (back.chunks.removed, back.chunks.added)
    assert there.chunks.changed == back.chunks.changed
    assert there.same_content == back.same_content == (one == other)
    assert there.same_inventory == (one == other)
