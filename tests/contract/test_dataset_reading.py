"""A Dataset is verified on every read: what its manifest records is computed again, and a mismatch is refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.files import MAX_JSON_BYTES
from estante.contract.dataset.notes import dataset_notes
from estante.contract.dataset.reading import dataset_problems, read_dataset_folder
from estante.contract.errors import ConnectorError, DatasetIntegrityError
from tests.contract.datasets import change, chunk, manifest_of, reseal, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound Dataset of two documents and three chunks."""
    write(tmp_path / "dataset", [chunk(), chunk(1, text="y"), chunk(0, document="b", text="z", global_index=2)])
    return tmp_path / "dataset"


def refusal(folder: Path) -> str:
    """What the reader says of a folder that it refuses; the list of problems says the same."""
    with pytest.raises(DatasetIntegrityError) as caught:
        read_dataset_folder(folder)
    told = str(caught.value)
    assert isinstance(caught.value, ConnectorError | ValueError)
    assert all(problem in told for problem in dataset_problems(folder))
    assert dataset_problems(folder)
    return told


# --- what verifies ----------------------------------------------------------------------------------------------


def test_a_sound_folder_has_no_problems(folder: Path) -> None:
    assert dataset_problems(folder) == []
    assert list(dataset_notes(read_dataset_folder(folder))) == []


def test_another_indent_of_the_manifest_is_harmless(folder: Path) -> None:
    (folder / "dataset.json").write_text(json.dumps(manifest_of(folder), indent=7, sort_keys=True), "utf-8")

    assert read_dataset_folder(folder).verified


def test_a_copy_elsewhere_verifies(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")

    assert read_dataset_folder(tmp_path / "copy").core_sha256 == read_dataset_folder(folder).core_sha256


def test_unknown_keys_that_were_written_together_are_ignored(folder: Path) -> None:
    reseal(folder, lambda manifest: manifest.update(mine={"deep": [1]}))

    assert read_dataset_folder(folder).manifest["mine"] == {"deep": [1]}


@pytest.mark.parametrize("version", ["1", "1.0", "1.7", "1.0.3-x"])
def test_every_minor_version_is_read(folder: Path, version: str) -> None:
    reseal(folder, lambda manifest: manifest.update(spec_version=version))

    assert read_dataset_folder(folder).spec_version == version


def test_test_sets_and_extensions_are_not_read(folder: Path) -> None:
    for area in ("testsets/mine", "extensions/mine"):
        (folder / area).mkdir(parents=True)
        (folder / area / "extension.json").write_bytes(b"\xff not json")

    assert read_dataset_folder(folder).verified


def test_a_manifest_may_lack_its_summary_and_moment(folder: Path) -> None:
    def lacking(manifest: dict[str, Any]) -> None:
        del manifest["sources"], manifest["created_at"]

    reseal(folder, lacking)

    dataset = read_dataset_folder(folder)
    assert (dataset.created_at, dataset.source_summary) == (None, {})


# --- what does not match ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"name": "other"}, "core_sha256 recorded"),
        ({"created_at": "other"}, "core_sha256 recorded"),
        ({"mine": 1}, "core_sha256 recorded"),
        ({"sources": ...}, "core_sha256 recorded"),
        ({"core_sha256": "0" * 64}, "core_sha256 recorded 000"),
        ({"chunk_count": 7}, "chunk_count recorded 7 but there are 3 rows"),
        ({"chunk_inventory_sha256": "0" * 64}, "chunk_inventory_sha256 recorded 000"),
        ({"dataset_id": "ds-1"}, "dataset_id recorded ds-1"),
        ({"corpus_fingerprint": "q"}, "corpus_fingerprint recorded q"),
        ({"spec_version": "1.1"}, "core_sha256 recorded"),
    ],
)
def test_a_key_that_was_changed_later_is_refused(folder: Path, keys: dict[str, Any], told: str) -> None:
    change(folder, **keys)

    assert told in refusal(folder)


def test_every_mismatch_is_told_at_once(folder: Path) -> None:
    change(folder, chunk_count=7, chunk_inventory_sha256="0" * 64, dataset_id="ds-1", corpus_fingerprint="q")

    told = refusal(folder)

    for key in ("chunk_count", "chunk_inventory_sha256", "dataset_id", "corpus_fingerprint", "core_sha256"):
        assert f"{key} recorded" in told


@pytest.mark.parametrize("name", ["data/chunks.jsonl", "data/sources.json"])
def test_one_byte_more_is_noticed(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.write(b"\n")

    assert "core_sha256 recorded" in refusal(folder)


@pytest.mark.parametrize("digest", ["core_sha256", "chunk_inventory_sha256"])
def test_a_digest_with_a_line_feed_behind_it_is_another(folder: Path, digest: str) -> None:
    change(folder, **{digest: manifest_of(folder)[digest] + "\n"})

    assert f"{digest} recorded" in refusal(folder)


def test_an_id_with_a_line_feed_behind_it_is_another(folder: Path) -> None:
    reseal(folder, lambda manifest: manifest.update(dataset_id=manifest["dataset_id"] + "\n"))

    assert "dataset_id recorded" in refusal(folder)


# --- the manifest -----------------------------------------------------------------------------------------------


def test_a_folder_without_a_manifest_is_no_dataset(tmp_path: Path) -> None:
    for call in (read_dataset_folder, dataset_problems):
        with pytest.raises(FileNotFoundError, match=r"holds no dataset\.json"):
            call(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("nowhere", "file"):
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            read_dataset_folder(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"name": "a", "name": "b"}',
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
        "{}\u0085".encode(),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_manifest_that_is_no_strict_json_is_refused(folder: Path, content: bytes) -> None:
    (folder / "dataset.json").write_bytes(content)

    assert "not valid JSON" in refusal(folder)


@pytest.mark.parametrize("content", [b"[]", b"null", b'"x"', b"3"])
def test_a_manifest_that_is_no_object_is_refused(folder: Path, content: bytes) -> None:
    (folder / "dataset.json").write_bytes(content)

    assert "must hold a JSON object" in refusal(folder)


def test_a_manifest_that_is_nested_as_deep_as_a_parser_takes_is_still_an_integrity_error(folder: Path) -> None:
    deep = 900
    (folder / "dataset.json").write_text('{"spec": "rag-connector-dataset", "a": ' + "[" * deep + "]" * deep + "}")

    assert refusal(folder)


def test_a_huge_manifest_is_not_read(folder: Path) -> None:
    with (folder / "dataset.json").open("r+b") as file:
        file.truncate(MAX_JSON_BYTES + 1)

    assert "more than 16,777,216 bytes" in refusal(folder)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"spec": ...}, "its spec is None"),
        ({"spec": "z"}, "its spec is 'z'"),
        ({"spec": ["x" * 1_000]}, "its spec is ['xxx"),
        ({"spec_version": "2.0"}, "major version 1"),
        ({"spec_version": "10.0"}, "major version 1"),
        ({"spec_version": "1\n"}, "major version 1"),
        ({"spec_version": 1}, "major version 1"),
        ({"spec_version": ...}, "major version 1"),
        ({"spec": ..., "id": "old"}, "legacy RAGauge"),
    ],
)
def test_a_manifest_of_something_else_is_refused(folder: Path, keys: dict[str, Any], told: str) -> None:
    change(folder, **keys)

    found = refusal(folder)
    assert told in found
    assert len(found) < 500


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"dataset_id": ...}, "missing or empty dataset_id"),
        ({"name": ""}, "missing or empty name"),
        ({"name": 3}, "missing or empty name"),
        ({"chunk_inventory_sha256": None}, "missing or empty chunk_inventory_sha256"),
        ({"core_sha256": ...}, "missing or empty core_sha256"),
        ({"corpus_fingerprint": ""}, "missing or empty corpus_fingerprint"),
        ({"chunk_count": "3"}, "chunk_count must be an integer"),
        ({"chunk_count": True}, "chunk_count must be an integer"),
        ({"chunk_count": 3.0}, "chunk_count must be an integer"),
        ({"chunking": {}}, "chunking.method"),
        ({"created_at": 3}, "created_at must be a text"),
        ({"sources": []}, "sources must be an object"),
    ],
)
def test_a_manifest_that_lacks_something_is_refused(folder: Path, keys: dict[str, Any], told: str) -> None:
    change(folder, **keys)

    assert told in refusal(folder)


def test_everything_that_a_manifest_lacks_is_told_at_once(folder: Path) -> None:
    change(folder, dataset_id=..., name="", chunk_count=None, chunking=3)

    told = refusal(folder)

    assert all(key in told for key in ("dataset_id", "name", "chunk_count", "chunking"))


# --- the rows ---------------------------------------------------------------------------------------------------

ROW = {"chunk_id": "a:chunk-0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "text": "x"}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name != key}


@pytest.mark.parametrize(
    "row",
    [
        *[json.dumps(without(key)) for key in ROW],
        *[json.dumps({**ROW, key: None}) for key in ROW],
        json.dumps({**ROW, "chunk_id": 3}),
        json.dumps({**ROW, "chunk_id": "a\n"}),
        json.dumps({**ROW, "doc_id": 3}),
        json.dumps({**ROW, "text": ["x"]}),
        json.dumps({**ROW, "text": " "}),
        json.dumps({**ROW, "text": "\ud800"}),
        json.dumps({**ROW, "doc_chunk_index": "0"}),
        json.dumps({**ROW, "doc_chunk_index": True}),
        json.dumps({**ROW, "global_index": 0.5}),
        json.dumps({**ROW, "metadata": []}),
        json.dumps({**ROW, "metadata": {"k": float("nan")}}),
        json.dumps({**ROW, "metadata": {"k": "\udcff"}}),
        json.dumps({**ROW, "embedding": [1]}),
        json.dumps({**ROW, "mine": 1}),
        '{"chunk_id": "a", ' + json.dumps(ROW)[1:],
        json.dumps([ROW]),
        "null",
        "3",
        "{",
        "[" * 200_000,
        json.dumps(ROW) + "\n" + json.dumps(ROW),
    ],
    ids=lambda row: row[:60],
)
def test_a_row_that_is_none_is_an_integrity_error(folder: Path, row: str) -> None:
    (folder / "data/chunks.jsonl").write_text(row + "\n", "utf-8")
    content = (folder / "data/chunks.jsonl").read_bytes()

    told = refusal(folder)

    assert "data/chunks.jsonl: " in told
    assert content == (folder / "data/chunks.jsonl").read_bytes()


def test_the_line_of_a_bad_row_is_told(folder: Path) -> None:
    with (folder / "data/chunks.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")

    assert "data/chunks.jsonl: line 4: " in refusal(folder)


def test_bytes_that_are_no_text_are_told_by_their_line(folder: Path) -> None:
    with (folder / "data/chunks.jsonl").open("ab") as file:
        file.write(b'{"chunk_id": "\xff"}\n')

    assert "line 4: byte 14 is not UTF-8" in refusal(folder)


def test_a_bad_row_does_not_hide_other_mismatches(folder: Path) -> None:
    change(folder, corpus_fingerprint="q")
    with (folder / "data/chunks.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")

    told = refusal(folder)

    assert all(part in told for part in ("line 4", "corpus_fingerprint recorded q", "core_sha256 recorded"))


def test_a_text_is_never_shown(folder: Path) -> None:
    (folder / "data/chunks.jsonl").write_text(json.dumps({**ROW, "text": "segredo", "doc_id": 3}) + "\n", "utf-8")

    assert "segredo" not in refusal(folder)


def test_no_rows_at_all_are_refused(folder: Path) -> None:
    (folder / "data/chunks.jsonl").write_bytes(b"")

    assert "chunk_count recorded 3 but there are 0 rows" in refusal(folder)


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[3]", b"null", b"[", b"\xff", b'[{"source_identity": 3}]', b'[{"file_type": [1]}]', b'[{"a": NaN}]'],
)
def test_sources_that_are_none_are_refused(folder: Path, content: bytes) -> None:
    (folder / "data/sources.json").write_bytes(content)

    assert "sources" in refusal(folder)


# --- hostile folders --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data/chunks.jsonl", "data/sources.json"])
def test_a_data_file_that_is_gone_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    assert f"missing a core file: {name}" in refusal(folder)


def test_all_data_files_that_are_gone_are_named(folder: Path) -> None:
    shutil.rmtree(folder / "data")

    told = refusal(folder)
    assert "missing a core file: data/chunks.jsonl" in told
    assert "missing a core file: data/sources.json" in told


CORE = ["dataset.json", "data/chunks.jsonl", "data/sources.json"]


def spoilt(folder: Path, name: str, spoil: Callable[[Path], None]) -> str:
    kept = (folder / name).rename(folder.parent / "kept")
    spoil(folder / name)
    assert kept.exists()
    return refusal(folder)


@pytest.mark.parametrize("name", CORE)
def test_a_folder_in_the_place_of_a_file_is_refused(folder: Path, name: str) -> None:
    assert "cannot be read" in spoilt(folder, name, lambda path: path.mkdir())


@pytest.mark.parametrize("name", CORE)
def test_a_link_out_of_the_folder_is_refused(folder: Path, name: str) -> None:
    told = spoilt(folder, name, lambda path: path.symlink_to(folder.parent / "kept"))

    assert "leads out of its Dataset" in told


@pytest.mark.parametrize("name", CORE)
def test_a_link_to_nothing_is_refused(folder: Path, name: str) -> None:
    assert "leads nowhere" in spoilt(folder, name, lambda path: path.symlink_to("nothing"))


@pytest.mark.parametrize("name", CORE)
def test_a_link_to_itself_is_refused(folder: Path, name: str) -> None:
    assert "leads nowhere" in spoilt(folder, name, lambda path: path.symlink_to(path.name))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", CORE)
def test_a_pipe_is_refused_and_not_waited_for(folder: Path, name: str) -> None:
    assert "not a regular file" in spoilt(folder, name, lambda path: os.mkfifo(path))


@pytest.mark.parametrize("name", CORE)
def test_a_file_that_may_not_be_read_is_refused(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def guarded(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(name):  # The superuser, who runs many tests, is refused nothing by the system itself.
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return really(path, *arguments, **options)

    really = os.open
    monkeypatch.setattr(os, "open", guarded)

    assert f"{name} cannot be read: Permission denied" in refusal(folder)


def test_a_data_folder_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "data").rename(tmp_path / "elsewhere")
    (folder / "data").symlink_to(tmp_path / "elsewhere")

    assert "leads out of its Dataset" in refusal(folder)


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "data/chunks.jsonl").rename(folder / "data/kept")
    (folder / "data/chunks.jsonl").symlink_to("kept")

    assert read_dataset_folder(folder).verified


def test_a_dataset_may_be_reached_by_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)

    assert read_dataset_folder(tmp_path / "link").path == tmp_path / "link"


def test_an_endless_line_of_zeros_is_not_read(folder: Path) -> None:
    with (folder / "data/chunks.jsonl").open("wb") as file:
        file.truncate(2**40)

    assert "line 1 is not valid JSON" in refusal(folder)


# --- what no hash can hold --------------------------------------------------------------------------------------


def test_ordinals_with_gaps_are_read_and_noted(tmp_path: Path) -> None:
    dataset = write(tmp_path / "dataset", [chunk(0), chunk(2, text="y")])

    [note] = dataset_notes(dataset)

    assert note.startswith("doc_chunk_index does not count 0, 1, 2, ... in 1 of 1 documents, such as 'a'")
    assert dataset.warnings == ()


def test_ordinals_of_the_corpus_are_for_all_chunks_or_none(tmp_path: Path) -> None:
    some = write(tmp_path / "some", [chunk(0), chunk(1, text="y", global_index=None)])
    twice = write(tmp_path / "twice", [chunk(0), chunk(1, text="y", global_index=0)])

    assert [note.split(" ")[:2] for note in dataset_notes(some)] == [["global_index", "is"]]
    assert [note.split(" ")[:2] for note in dataset_notes(twice)] == [["global_index", "repeats:"]]


def test_a_summary_that_is_not_that_of_the_sources_is_noted(folder: Path) -> None:
    reseal(folder, lambda manifest: manifest.update(sources={"source_count": 5, "mine": 1}))

    assert list(dataset_notes(read_dataset_folder(folder))) == [
        "sources.source_count recorded 5 but the list of sources has 2"
    ]
