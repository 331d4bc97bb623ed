"""A Dataset folder is written whole, or not at all; and what was written reads back."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.dataset.sources import source_manifest_from_chunks
from estante.contract.errors import ConnectorError
from estante.contract.models import ChunkRecord
from tests.contract.datasets import chunk, left_beside, manifest_of, write

INVENTORY = "2f58b10d7229302d19f5fc653ec7ef4fd97facb6a175e2dbe776da02912efd1e"
CORPUS = "41567b480b77a9377108ca4d74c8f55599605ade0328838b5dec92934c9693de"
CORE = "4a41ae38ba830c31686a0bddf0ef12d103a15cda1ee866fb0395e8afb391271b"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dataset"


# --- what stands there ------------------------------------------------------------------------------------------


def test_the_digests_are_those_of_the_contract(out: Path) -> None:
    dataset = write(out)

    assert dataset.dataset_id == "ds-2f58b10d7229302d"
    assert (dataset.chunk_inventory_sha256, dataset.corpus_fingerprint, dataset.core_sha256) == (
        INVENTORY,
        CORPUS,
        CORE,
    )


def test_the_three_files_are_exact_to_the_byte(out: Path) -> None:
    write(out)

    assert (out / "data/chunks.jsonl").read_bytes() == (
        b'{"chunk_id": "a:chunk-0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "global_index": 0, '
        b'"char_start": null, "char_end": null, "content_module_id": null, "text": "x", "metadata": {}}\n'
    )
    assert (out / "data/sources.json").read_bytes() == (
        b'[\n  {\n    "source_identity": "a",\n    "source_fingerprint": "",\n    "relative_path": "a.md",\n'
        b'    "filename": "a.md",\n    "file_type": "md"\n  }\n]\n'
    )
    assert (out / "dataset.json").read_text("utf-8") == (
        '{\n  "spec": "rag-connector-dataset",\n  "spec_version": "1.0",\n  "dataset_id": "ds-2f58b10d7229302d",\n'
        '  "name": "n",\n  "created_at": "2026-01-01T00:00:00Z",\n  "chunking": {\n'
        '    "method": "rag-connector-chunker",\n    "chunker_version": "1",\n    "chunk_size": 1000,\n'
        '    "chunk_overlap": 200\n  },\n  "sources": {\n    "source_count": 1,\n    "file_types": {\n      "md": 1\n'
        '    }\n  },\n  "chunk_count": 1,\n'
        f'  "chunk_inventory_sha256": "{INVENTORY}",\n  "corpus_fingerprint": "{CORPUS}",\n  "core_sha256": "{CORE}"\n'
        "}\n"
    )


def test_nothing_else_stands_there(out: Path) -> None:
    write(out)

    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*")) == [
        "data",
        "data/chunks.jsonl",
        "data/sources.json",
        "dataset.json",
    ]
    assert left_beside(out) == []


def test_the_moment_is_utc_to_the_second(out: Path) -> None:
    dataset = write(out, created_at=None)

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", dataset.created_at or "")


def test_a_moment_of_the_callers_own_stands_as_it_is(out: Path) -> None:
    assert write(out, created_at="ontem à tarde").created_at == "ontem à tarde"


def test_the_folder_is_its_owners_alone(out: Path) -> None:
    write(out)

    assert os.name != "posix" or stat.S_IMODE(out.stat().st_mode) == 0o700


def test_what_is_returned_is_what_reads_back(out: Path) -> None:
    dataset = write(out, [chunk(0, text="olá"), chunk(1, text="mundo", metadata={"page": 3})])

    assert dataset.path == out
    assert dataset.verified
    assert dataset.warnings == ()
    assert not dataset.legacy
    assert dataset == read_dataset_folder(out)


def test_a_dataset_can_be_named_by_a_text(out: Path) -> None:
    assert write(Path(str(out))).path == read_dataset_folder(str(out)).path


def test_the_display_of_a_dataset_holds_no_chunk(out: Path) -> None:
    assert "segredo" not in repr(write(out, [chunk(text="segredo")]))


def test_keys_of_a_chunking_block_of_ones_own_are_kept(out: Path) -> None:
    block = {"method": "mine", "options": {"b": [1, 2], "a": None}}

    assert write(out, chunking=MappingProxyType(block)).chunking == block


# --- the records ------------------------------------------------------------------------------------------------


def test_the_callers_records_stay_as_they_were(out: Path) -> None:
    given = [chunk(embedding=[0.5], metadata={"document_filepath": "/home/x/a.md", "kept": [1]})]
    before = deepcopy(given)

    [written] = write(out, given).chunks

    assert given == before
    assert written == replace(before[0], embedding=None, metadata={"kept": [1]})


def test_a_generator_of_records_is_written(out: Path) -> None:
    dataset = write_from(out, (chunk(number) for number in range(3)))

    assert dataset.chunk_count == 3


def write_from(out: Path, chunks: Any) -> Dataset:
    return write(out, chunks)


@pytest.mark.parametrize("sign", ["\u0085", "\u2028", "\u2029", "\x0b", "\x1c", "\ufeff", "\x00", "\r", "\U0001f4da"])
def test_signs_that_end_a_line_for_some_survive(out: Path, sign: str) -> None:
    text = f"one{sign}two{sign}"

    dataset = write(out, [chunk(text=text, metadata={f"k{sign}": sign})])

    assert [(one.text, one.metadata) for one in dataset.chunks] == [(text, {f"k{sign}": sign})]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: bool(text.strip()))
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: bool(text.strip()))
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=6,
)


@given(
    texts=st.dictionaries(NAME, TEXT, min_size=1, max_size=4),
    metadata=st.dictionaries(NAME, VALUE, max_size=3),
)
def test_whatever_was_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], metadata: dict[str, Any]
) -> None:
    kept = {f"x_{key}": value for key, value in metadata.items()}
    given = [
        ChunkRecord(key, key, key, at, at, text, metadata=deepcopy(kept))
        for at, (key, text) in enumerate(texts.items())
    ]

    dataset = write(tmp_path_factory.mktemp("law") / "dataset", given)

    assert dataset.chunks == given


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"chunk_id": ""}, "chunk_id"),
        ({"doc_id": None}, "doc_id"),
        ({"source_file": ""}, "source_file"),
        ({"doc_chunk_index": None}, "doc_chunk_index"),
        ({"text": None}, "text"),
        ({"text": " \n\t"}, "blank text"),
        ({"chunk_id": 3}, "chunk_id must be a text, got int"),
        ({"chunk_id": "a\n"}, "control character"),
        ({"doc_id": 3}, "doc_id"),
        ({"text": 3}, "text"),
        ({"doc_chunk_index": "0"}, "doc_chunk_index"),
        ({"global_index": 1.5}, "global_index"),
        ({"text": "half \ud83d"}, "lone surrogate"),
        ({"metadata": {"k": "\udcff"}}, "lone surrogate"),
        ({"metadata": {"score": float("nan")}}, "metadata"),
        ({"metadata": {"score": [float("inf")]}}, "metadata"),
        ({"metadata": {"when": object()}}, "metadata"),
        ({"metadata": {3: "three"}}, "metadata"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": {"source_identity": 3}}, "source_identity"),
    ],
)
def test_a_chunk_that_no_reader_takes_is_never_written(out: Path, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        write(out, [chunk(0, text="good"), replace(chunk(1), **fields)])

    assert isinstance(caught.value, ConnectorError)
    assert not out.exists()
    assert left_beside(out) == []


def test_an_id_given_twice_is_refused(out: Path) -> None:
    with pytest.raises(ValueError, match="duplicate chunk_id 'a:chunk-0'"):
        write(out, [chunk(), chunk()])


def test_a_dataset_of_nothing_is_refused(out: Path) -> None:
    with pytest.raises(ValueError, match="at least one chunk"):
        write(out, [])


def test_what_is_no_record_is_a_type_error(out: Path) -> None:
    with pytest.raises(TypeError, match="must be ChunkRecord objects, got dict"):
        write_from(out, [chunk().to_dict()])


@pytest.mark.parametrize("name", ["", "  ", None, 3, "half \ud83d"])
def test_a_name_that_is_none_is_refused(out: Path, name: Any) -> None:
    with pytest.raises(ValueError, match=r"name|dataset\.json"):
        write(out, name=name)

    assert left_beside(out) == []


def test_a_chunking_block_that_is_none_is_refused_by_its_key(out: Path) -> None:
    with pytest.raises(ValueError, match=r"chunking\.method"):
        write(out, chunking={})


def test_a_chunking_block_that_is_no_strict_json_is_refused(out: Path) -> None:
    with pytest.raises(ValueError, match=r"dataset\.json"):
        write(out, chunking={"method": "mine", "ratio": float("nan")})

    assert left_beside(out) == []


def test_a_moment_that_is_no_text_is_refused(out: Path) -> None:
    with pytest.raises(ValueError, match="created_at must be a text, got int"):
        write(out, created_at=3)


# --- the sources ------------------------------------------------------------------------------------------------


def test_given_sources_stand_as_they_are(out: Path) -> None:
    rows = [{"source_identity": "z", "file_type": "md", "mine": [1]}, {"source_identity": "b", "file_type": None}]

    dataset = write(out, sources=rows)

    assert dataset.sources == rows
    assert dataset.source_summary == {"source_count": 2, "file_types": {"": 1, "md": 1}}


def test_no_sources_may_be_given(out: Path) -> None:
    assert write(out, sources=[]).source_summary == {"source_count": 0, "file_types": {}}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([3], "array of objects"),
        ({"a": 1}, "array of objects"),
        ("ab", "array of objects"),
        ([{"source_identity": 3}], "source_identity must be a text"),
        ([{"source_identity": "a", "mine": float("nan")}], r"data/sources\.json"),
    ],
)
def test_sources_that_are_none_are_refused(out: Path, rows: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        write(out, sources=rows)

    assert left_beside(out) == []


def test_the_first_chunk_of_a_source_makes_its_row() -> None:
    told: Mapping[str, Any] = {
        "source_fingerprint": "f",
        "relative_path": "d/B.md",
        "file_type": "txt",
        "filename": "B.md",
    }

    rows = source_manifest_from_chunks([chunk(document="b", metadata=dict(told)), chunk(1, document="b"), chunk()])

    assert rows == [
        {
            "source_identity": "a",
            "source_fingerprint": "",
            "relative_path": "a.md",
            "filename": "a.md",
            "file_type": "md",
        },
        {
            "source_identity": "b",
            "source_fingerprint": "f",
            "relative_path": "d/B.md",
            "filename": "b.md",
            "file_type": "txt",
        },
    ]


@pytest.mark.parametrize(
    ("fields", "identity"),
    [
        ({"metadata": {"source_identity": "i"}}, "i"),
        ({"metadata": {"source_identity": ""}}, "a"),
        ({"metadata": {"source_identity": None}}, "a"),
        ({"doc_id": ""}, "a.md"),
    ],
)
def test_a_source_has_the_best_identity_there_is(fields: dict[str, Any], identity: str) -> None:
    assert [row["source_identity"] for row in source_manifest_from_chunks([chunk(**fields)])] == [identity]


@pytest.mark.parametrize(
    ("name", "file_type"),
    [("a.tar.gz", "gz"), ("a.MD", "MD"), (".hidden", ""), ("noext", ""), ("dir.x/file", ""), ("x.", "")],
)
def test_the_type_of_a_source_is_its_suffix(name: str, file_type: str) -> None:
    assert [row["file_type"] for row in source_manifest_from_chunks([chunk(source_file=name)])] == [file_type]


# --- the place --------------------------------------------------------------------------------------------------


def test_parent_folders_are_made(tmp_path: Path) -> None:
    assert write(tmp_path / "a/b/c").verified


def test_an_empty_folder_is_taken(out: Path) -> None:
    out.mkdir()

    assert write(out).verified


def test_a_folder_that_holds_something_is_refused_and_stays(out: Path) -> None:
    out.mkdir()
    (out / "mine").write_text("x")

    with pytest.raises(FileExistsError, match="not empty"):
        write(out)

    assert os.listdir(out) == ["mine"]


def test_a_dataset_is_never_written_over(out: Path) -> None:
    write(out)

    with pytest.raises(FileExistsError, match="not empty"):
        write(out, [chunk(text="other")])

    assert manifest_of(out)["core_sha256"] == CORE


def test_a_file_is_never_written_over(out: Path) -> None:
    out.write_text("mine")

    with pytest.raises(FileExistsError, match="is no folder"):
        write(out)

    assert out.read_text() == "mine"


def test_what_a_link_names_becomes_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    dataset = write(tmp_path / "link")

    assert dataset.path == tmp_path / "link"
    assert read_dataset_folder(tmp_path / "real").dataset_id == dataset.dataset_id


def test_of_two_writers_one_wins_and_the_other_is_told(out: Path) -> None:
    def both() -> Any:
        yield chunk()
        write(out, [chunk(text="quicker")])

    # The second one is ready before the first one has read all its chunks.
    with pytest.raises(FileExistsError, match="not empty"):
        write_from(out, both())

    assert [one.text for one in read_dataset_folder(out).chunks] == ["quicker"]
    assert left_beside(out) == []


@pytest.mark.parametrize("failing", ["fsync", "rename"])
def test_a_failure_of_the_disk_leaves_nothing(out: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if failing == "fsync" else Path, failing, full)

    with pytest.raises(OSError, match="No space left"):
        write(out)

    assert left_beside(out) == []
    assert not out.exists()


def test_a_place_where_nothing_can_be_made_is_named_without_what_would_be_made_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(prefix: str, dir: Path) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/{prefix}0")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)

    with pytest.raises(PermissionError) as caught:
        write(tmp_path / "frozen")

    assert caught.value.filename == str(tmp_path)
