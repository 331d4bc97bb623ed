"""Folders from before the specification: read with warnings, never verified, never written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.digests import chunk_inventory_sha256
from estante.contract.dataset.extensions import write_extension_envelope
from estante.contract.dataset.legacy import read_legacy_dataset_folder
from estante.contract.dataset.reading import dataset_problems, read_dataset_folder
from estante.contract.errors import DatasetIntegrityError
from estante.contract.fingerprints import corpus_fingerprint
from tests.contract.datasets import write

ROW = {"chunk_id": "a:chunk-0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "text": "x"}
SOURCES = [{"source_identity": "a", "relative_path": "a.md", "file_type": "md", "source_fingerprint": "f"}]


def legacy(folder: Path, *, rows: Any = (ROW,), sources: Any = None, **manifest: Any) -> Path:
    """A legacy folder; with no sources, none stand there."""
    (folder / "data").mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"id": "old", **manifest}), "utf-8")
    (folder / "data/chunks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    if sources is not None:
        (folder / "data/sources.json").write_text(json.dumps(sources), "utf-8")
    return folder


def test_a_legacy_folder_is_read_and_not_verified(tmp_path: Path) -> None:
    dataset = read_legacy_dataset_folder(legacy(tmp_path / "old", sources=SOURCES, name="N", created_at="c"))

    assert dataset.legacy
    assert not dataset.verified
    assert (dataset.layout, dataset.spec_version) == ("ragauge-v0", None)
    assert (dataset.dataset_id, dataset.name, dataset.created_at) == ("old", "N", "c")
    assert (dataset.core_sha256, dataset.chunking, dataset.corpus_fingerprint) == (None, None, None)
    assert dataset.chunk_inventory_sha256 == chunk_inventory_sha256([ROW])
    assert dataset.sources == SOURCES
    assert dataset.chunk_count == 1


def test_the_first_warning_names_the_layout(tmp_path: Path) -> None:
    [first] = read_legacy_dataset_folder(legacy(tmp_path / "old", sources=SOURCES)).warnings

    assert first.startswith("legacy RAGauge v0 layout")


def test_without_a_name_the_id_is_the_name(tmp_path: Path) -> None:
    assert read_legacy_dataset_folder(legacy(tmp_path / "old")).name == "old"


def test_missing_sources_are_those_of_the_chunks_and_a_warning(tmp_path: Path) -> None:
    dataset = read_legacy_dataset_folder(legacy(tmp_path / "old"))

    assert [row["source_identity"] for row in dataset.sources] == ["a"]
    assert dataset.source_summary == {"source_count": 1, "file_types": {"md": 1}}
    assert "data/sources.json is missing" in dataset.warnings[1]


def test_another_count_is_a_warning(tmp_path: Path) -> None:
    dataset = read_legacy_dataset_folder(legacy(tmp_path / "old", sources=SOURCES, chunk_count=7))

    assert dataset.warnings[1:] == ("chunk_count recorded 7 but there are 1 rows",)
    assert dataset.chunk_count == 1


def test_another_fingerprint_is_a_warning(tmp_path: Path) -> None:
    dataset = read_legacy_dataset_folder(legacy(tmp_path / "old", sources=SOURCES, corpus_fingerprint="q"))

    assert dataset.corpus_fingerprint == "q"
    assert dataset.warnings[1].startswith("corpus_fingerprint recorded q but")


def test_what_agrees_is_no_warning(tmp_path: Path) -> None:
    found = corpus_fingerprint(SOURCES)

    dataset = read_legacy_dataset_folder(
        legacy(tmp_path / "old", sources=SOURCES, chunk_count=1, corpus_fingerprint=found)
    )

    assert len(dataset.warnings) == 1


def test_the_reader_takes_it_only_when_it_is_allowed_to(tmp_path: Path) -> None:
    folder = legacy(tmp_path / "old")

    with pytest.raises(DatasetIntegrityError, match="legacy RAGauge"):
        read_dataset_folder(folder)

    assert read_dataset_folder(folder, allow_legacy=True) == read_legacy_dataset_folder(folder)
    assert len(dataset_problems(folder)) == 1


def test_a_folder_of_the_specification_is_not_legacy(tmp_path: Path) -> None:
    write(tmp_path / "new")

    with pytest.raises(DatasetIntegrityError, match="no legacy RAGauge manifest"):
        read_legacy_dataset_folder(tmp_path / "new")
    assert read_dataset_folder(tmp_path / "new", allow_legacy=True).verified


@pytest.mark.parametrize("manifest", [{"id": 3}, {"id": None}, {"spec": None}, {"spec": "z"}])
def test_neither_is_any_other_folder(tmp_path: Path, manifest: dict[str, Any]) -> None:
    with pytest.raises(DatasetIntegrityError, match="no legacy RAGauge manifest"):
        read_legacy_dataset_folder(legacy(tmp_path / "old", **manifest))


def test_a_legacy_folder_is_never_written_to(tmp_path: Path) -> None:
    folder = legacy(tmp_path / "old")

    with pytest.raises(DatasetIntegrityError, match="legacy RAGauge"):
        write_extension_envelope(folder, "tool", tool_version="1", format_version="1")

    assert sorted(path.name for path in folder.iterdir()) == ["data", "dataset.json"]


@pytest.mark.parametrize(
    "rows", [[{**ROW, "chunk_id": 3}], [{"text": "x"}], [ROW, ROW], [{**ROW, "mine": 1}], [[]]], ids=repr
)
def test_chunks_that_are_none_are_refused(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(DatasetIntegrityError, match=r"data/chunks\.jsonl: "):
        read_legacy_dataset_folder(legacy(tmp_path / "old", rows=rows))


def test_a_legacy_folder_without_chunks_is_refused(tmp_path: Path) -> None:
    folder = legacy(tmp_path / "old")
    (folder / "data/chunks.jsonl").unlink()

    with pytest.raises(DatasetIntegrityError, match="missing a core file"):
        read_legacy_dataset_folder(folder)


@pytest.mark.parametrize("sources", [{"a": 1}, [3], [{"source_identity": 3}]])
def test_sources_that_are_none_are_refused(tmp_path: Path, sources: Any) -> None:
    with pytest.raises(DatasetIntegrityError, match="sources"):
        read_legacy_dataset_folder(legacy(tmp_path / "old", sources=sources))


def test_texts_of_the_manifest_that_are_none_are_left_out(tmp_path: Path) -> None:
    dataset = read_legacy_dataset_folder(legacy(tmp_path / "old", name=3, created_at=[1], corpus_fingerprint=4))

    assert (dataset.name, dataset.created_at, dataset.corpus_fingerprint) == ("old", None, None)
