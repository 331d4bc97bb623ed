"""Datasets made of a folder, or of what a connector holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.making import build_dataset_from_folder, export_dataset_from_connector
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.jsonl import chunks_from_jsonl
from estante.contract.models import ChunkRecord, ConnectorHealth, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from tests.contract.datasets import CREATED, chunk, left_beside


class Pipeline(RagPipeline):
    """Holds what it was given, whatever that is."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []

    def pull_all_chunks(self) -> list[ChunkRecord]:
        if isinstance(self.held, BaseException):
            raise self.held
        pulled: list[ChunkRecord] = self.held
        return pulled


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    (folder / "sub").mkdir(parents=True)
    (folder / "A.md").write_text("olá mundo " * 200, "utf-8")
    (folder / "sub/b.txt").write_text("one\u0085two\u2028three\u2029four\n", "utf-8")
    (folder / "blank.txt").write_text(" \n", "utf-8")
    (folder / "ignored.png").write_bytes(b"\x89PNG")
    return folder


# --- of a folder ------------------------------------------------------------------------------------------------


def test_a_folder_becomes_a_dataset_of_its_name(sources: Path, tmp_path: Path) -> None:
    dataset = build_dataset_from_folder(sources, tmp_path / "out", created_at=CREATED)

    assert dataset.name == "handbook"
    assert dataset.chunking == {
        "method": "rag-connector-chunker",
        "chunker_version": "1",
        "chunk_size": 1000,
        "chunk_overlap": 200,
    }
    assert [row["source_identity"] for row in dataset.sources] == ["a.md", "sub/b.txt"]
    assert dataset == read_dataset_folder(tmp_path / "out")


def test_texts_with_unusual_line_ends_survive(sources: Path, tmp_path: Path) -> None:
    dataset = build_dataset_from_folder(sources, tmp_path / "out")

    assert dataset.chunks[-1].text == "one\u0085two\u2028three\u2029four"


def test_no_row_says_where_the_folder_stood(sources: Path, tmp_path: Path) -> None:
    dataset = build_dataset_from_folder(sources, tmp_path / "out")

    assert {frozenset(one.metadata) for one in dataset.chunks} == {
        frozenset(["source_identity", "source_fingerprint", "relative_path", "filename", "file_type"])
    }
    for path in (tmp_path / "out").rglob("*.json*"):
        assert str(tmp_path) not in path.read_text("utf-8")


def test_the_same_folder_gives_the_same_bytes(sources: Path, tmp_path: Path) -> None:
    one, other = (build_dataset_from_folder(sources, tmp_path / name, created_at=CREATED) for name in ("1", "2"))

    assert one.core_sha256 == other.core_sha256


def test_other_windows_are_another_dataset(sources: Path, tmp_path: Path) -> None:
    one = build_dataset_from_folder(sources, tmp_path / "1")
    other = build_dataset_from_folder(sources, tmp_path / "2", chunk_size=300, chunk_overlap=0, name="mine")

    assert one.dataset_id != other.dataset_id
    assert (other.name, other.chunking and other.chunking["chunk_size"]) == ("mine", 300)


@pytest.mark.parametrize(("size", "overlap"), [(5, 9), (5, 5), (0, 0), (-1, 0), (5, -1), (5.0, 1)])
def test_windows_that_make_no_sense_are_refused(sources: Path, tmp_path: Path, size: Any, overlap: Any) -> None:
    with pytest.raises(ValueError, match="chunk_overlap"):
        build_dataset_from_folder(sources, tmp_path / "out", chunk_size=size, chunk_overlap=overlap)

    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        build_dataset_from_folder(tmp_path / "nowhere", tmp_path / "out")


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(ValueError, match="holds no supported documents"):
        build_dataset_from_folder(tmp_path / "empty", tmp_path / "out")


def test_documents_without_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "blank").mkdir()
    (tmp_path / "blank/a.md").write_text(" \n")

    with pytest.raises(ValueError, match="at least one chunk"):
        build_dataset_from_folder(tmp_path / "blank", tmp_path / "out")


def test_one_file_that_cannot_be_read_stops_all(sources: Path, tmp_path: Path) -> None:
    (sources / "bad.md").write_bytes(b"\xff\xfe")

    with pytest.raises(ValueError, match=r"bad\.md"):
        build_dataset_from_folder(sources, tmp_path / "out")

    assert left_beside(tmp_path / "out") == ["handbook"]


def test_the_place_is_looked_at_before_the_folder_is_read(sources: Path, tmp_path: Path) -> None:
    (sources / "bad.md").write_bytes(b"\xff\xfe")

    with pytest.raises(FileExistsError, match="not empty"):
        build_dataset_from_folder(sources, sources)


@pytest.mark.parametrize(
    ("version", "inventory", "corpus", "digest", "size"),
    [
        (
            "v1",
            "42e45a7af6eda157862c0092b3200e9dd096a19fb54c2f0b3eabcb8c9fe371f7",
            "0aed07788743e873c9e3ff87f16ba9ec79aa742b922067a2ff30041fbb9123c1",
            "290ca86076d9b878e54bdd2d5c1a1c870c4ab20c57edd1a013983e8782ba11fc",
            605,
        ),
        (
            "v2",
            "900cf7746b744988fd4331e42a46977782ddde484a182058d47f1834ec7a9858",
            "b839f4213a2bb0eb52c0d8bb8edf87b0d33b782db1619d57afd3fd621eaa1c9e",
            "5638e7143fe4b664e874d00aa8722cafaf97972debd1fce8b2d1c1914a0548b4",
            426,
        ),
    ],
)
def test_the_pelorus_corpus_has_its_published_digests(
    data: Path, tmp_path: Path, version: str, inventory: str, corpus: str, digest: str, size: int
) -> None:
    folder = data / "pelorus" / version

    dataset = build_dataset_from_folder(folder / "pelorus_space", tmp_path / "out")

    written = (tmp_path / "out/data/chunks.jsonl").read_bytes()
    assert written == (folder / "pelorus_space.chunks.jsonl").read_bytes()
    assert hashlib.sha256(written).hexdigest() == digest
    assert (dataset.chunk_inventory_sha256, dataset.corpus_fingerprint) == (inventory, corpus)
    assert (dataset.dataset_id, dataset.chunk_count) == (f"ds-{inventory[:16]}", size)
    assert dataset.chunks == chunks_from_jsonl(written.decode("utf-8"))


# --- of a connector ---------------------------------------------------------------------------------------------


def export(held: Any, out: Path) -> Any:
    return export_dataset_from_connector(Pipeline(held), out, connector_type="t", name="q", created_at=CREATED)


def test_a_connector_becomes_a_dataset(tmp_path: Path) -> None:
    dataset = export([chunk(embedding=[0.5]), chunk(1, text="y")], tmp_path / "out")

    assert dataset.chunking == {"method": "exported-from-connector", "connector_type": "t"}
    assert dataset.name == "q"
    assert dataset.chunks == [chunk(), chunk(1, text="y")]


def test_a_pull_may_be_an_iterator(tmp_path: Path) -> None:
    def pulled() -> Iterator[ChunkRecord]:
        yield chunk()

    assert export(pulled(), tmp_path / "out").chunk_count == 1


def test_a_pull_that_fails_comes_through_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectorOperationalError, match="away"):
        export(ConnectorOperationalError("the back end is away"), tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (None, "gave no list: NoneType"),
        (3, "gave no list: int"),
        ([chunk(), {"chunk_id": "b"}], "gave a builtins.dict at 1"),
        ("ab", "gave a builtins.str at 0"),
    ],
)
def test_a_pull_that_gives_no_chunks_breaks_the_contract(tmp_path: Path, held: Any, told: str) -> None:
    with pytest.raises(ConnectorContractError, match=told):
        export(held, tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_a_connector_without_chunks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one chunk"):
        export([], tmp_path / "out")


def test_a_connector_without_chunks_is_refused_with_what_its_health_names(tmp_path: Path) -> None:
    class Private(RagPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return []

        def pull_all_chunks(self) -> list[ChunkRecord]:
            return []

        def health(self) -> ConnectorHealth:
            return ConnectorHealth(False, "no document is shared with these readers")

    with pytest.raises(ValueError, match="at least one chunk: no document is shared with these readers"):
        export_dataset_from_connector(Private(), tmp_path / "out", connector_type="x", name="x")


def test_the_place_is_looked_at_before_the_connector_is_asked(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")

    with pytest.raises(FileExistsError, match="not empty"):
        export(AssertionError("asked"), tmp_path)


def test_an_export_must_say_from_where(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="connector_type"):
        export_dataset_from_connector(Pipeline([chunk()]), tmp_path / "out", connector_type="", name="q")
