"""A corpus that is none is a breach with the name of whoever gave it, in every read that is derived from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from estante.contract.errors import ConnectorContractError, ContractValueError, UnsupportedCapability
from estante.contract.models import ChunkPage, ChunkRecord, RetrievedChunk
from estante.contract.pipeline import RagPipeline


def record(chunk_id: Any = "c", text: Any = "texto") -> ChunkRecord:
    return ChunkRecord(chunk_id, "d", "d.md", 0, None, text)


class Bulk(RagPipeline):
    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []

    def pull_all_chunks(self) -> list[ChunkRecord]:
        given: list[ChunkRecord] = self.chunks
        return given


class Paged(RagPipeline):
    def __init__(self, page: Any) -> None:
        self.page = page

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        given: ChunkPage = self.page
        return given


READS: list[Callable[[RagPipeline], object]] = [
    lambda pipeline: pipeline.list_chunks(),
    lambda pipeline: pipeline.get_chunks(["c"]),
    lambda pipeline: pipeline.fingerprint(),
]


@pytest.mark.parametrize("read", READS, ids=["list_chunks", "get_chunks", "fingerprint"])
@pytest.mark.parametrize("chunks", [None, 3, "c"])
def test_a_pull_that_gives_no_list_is_a_breach(read: Callable[[RagPipeline], object], chunks: object) -> None:
    with pytest.raises(ConnectorContractError, match=r"Bulk\.pull_all_chunks gave a"):
        read(Bulk(chunks))


def test_a_pull_that_gives_one_chunk_after_the_other_is_read_all_the_same() -> None:
    assert Bulk(iter([record()])).list_chunks().items == [record()]


@pytest.mark.parametrize("items", [None, 3, "abc", b"abc"])
def test_a_page_that_holds_no_chunks_is_a_breach(items: Any) -> None:
    with pytest.raises(ConnectorContractError, match=r"Paged\.list_chunks gave a page of a"):
        Paged(ChunkPage(items)).pull_all_chunks()


@pytest.mark.parametrize("cursor", [["x"], {"after": 3}])
def test_a_cursor_that_cannot_be_remembered_is_a_breach(cursor: Any) -> None:
    with pytest.raises(ConnectorContractError, match=r"Paged\.list_chunks gave a \w+ as its cursor"):
        Paged(ChunkPage([record()], cursor)).pull_all_chunks()


@pytest.mark.parametrize(
    "chunks",
    [[record(1), record("c")], [record("c", None), record("c", "x")], [{"chunk_id": "c", "text": "x"}], [None]],
    ids=["a number for an id", "no text", "a dict", "nothing"],
)
def test_a_corpus_of_what_is_no_chunk_has_no_fingerprint(chunks: list[Any]) -> None:
    with pytest.raises(ContractValueError, match="a chunk of Bulk is no ChunkRecord"):
        Bulk(chunks).fingerprint()


@pytest.mark.parametrize(("chunk", "kind"), [({"chunk_id": "c"}, "dict"), (None, "NoneType"), ("c", "str")])
def test_what_is_no_chunk_is_not_valid_and_its_type_is_told(chunk: Any, kind: str) -> None:
    with pytest.raises(ContractValueError, match=rf"chunk 0 \(chunk_id=None, of type {kind}\) has no 'chunk_id'"):
        RagPipeline.validate_chunks([chunk])


def test_what_can_be_no_id_is_found_as_little_as_an_unknown_one() -> None:
    ids: list[Any] = ["c", ["c"], {}]

    assert Bulk([record()]).get_chunks(ids) == {"c": record()}


def test_no_list_of_ids_is_refused_before_anything_is_read() -> None:
    ids: Any = None

    with pytest.raises(ContractValueError, match="was given a NoneType"):
        Bulk(None).get_chunks(ids)


def test_a_subclass_may_have_attributes_of_any_name() -> None:
    case = Bulk([record()])
    for name in ("_pulled", "_optional", "_unsupported", "_without_corpus", "_walk", "_function", "_distinct"):
        setattr(case, name, 3)

    assert case.get_chunks(["c"]) == {"c": record()}
    with pytest.raises(UnsupportedCapability, match="does not offer list_datasets"):
        case.list_datasets()


def test_the_class_brings_no_private_names() -> None:
    assert [name for name in vars(RagPipeline) if name.startswith("_") and not name.startswith(("__", "_abc"))] == []
