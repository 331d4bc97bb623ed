"""Areas of tools beside a Dataset: written by their own tool alone, listed for everybody, never part of the core."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.extensions import ExtensionEnvelope, list_extensions, write_extension_envelope
from estante.contract.dataset.layout import EXTENSION_ENVELOPE_FILE
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.errors import DatasetIntegrityError
from tests.contract.datasets import CREATED, change, chunk, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "dataset")
    return tmp_path / "dataset"


def envelop(folder: Path, tool: str = "tool", **options: Any) -> Path:
    told = {"tool_version": "1", "format_version": "2", "created_at": CREATED, **options}
    return write_extension_envelope(folder, tool, **told)


def area(folder: Path, name: str, content: str | bytes) -> None:
    """An area with whatever content in the place of its envelope."""
    (folder / "extensions" / name).mkdir(parents=True)
    path = folder / "extensions" / name / EXTENSION_ENVELOPE_FILE
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def listed(folder: Path) -> ExtensionEnvelope:
    [envelope] = list_extensions(folder)
    return envelope


# --- writing ----------------------------------------------------------------------------------------------------


def test_an_envelope_holds_five_keys_in_order(folder: Path) -> None:
    path = envelop(folder)

    core = read_dataset_folder(folder).core_sha256
    assert path == folder / "extensions/tool"
    assert (path / "extension.json").read_text("utf-8") == (
        '{\n  "tool": "tool",\n  "tool_version": "1",\n  "format_version": "2",\n'
        f'  "core_sha256": "{core}",\n  "created_at": "{CREATED}"\n}}\n'
    )


def test_an_envelope_changes_nothing_of_the_core(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    envelop(folder)

    assert {path: path.read_bytes() for path in before} == before
    assert read_dataset_folder(folder).verified


def test_the_rest_of_an_area_stays(folder: Path) -> None:
    (folder / "extensions/tool").mkdir(parents=True)
    (folder / "extensions/tool/notes.txt").write_text("mine")

    envelop(folder)
    envelop(folder, tool_version="9", overwrite=True)

    assert sorted(os.listdir(folder / "extensions/tool")) == ["extension.json", "notes.txt"]
    assert listed(folder).tool_version == "9"


def test_the_moment_is_now_when_none_is_given(folder: Path) -> None:
    envelop(folder, created_at=None)

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", listed(folder).created_at or "")


def test_an_envelope_is_not_written_over_unasked(folder: Path) -> None:
    envelop(folder)

    with pytest.raises(FileExistsError, match="already exists"):
        envelop(folder, tool_version="9")

    assert listed(folder).tool_version == "1"


@pytest.mark.parametrize("tool", ["a", "7", "a.b-c_d", "x" * 64])
def test_a_tool_may_be_called_so(folder: Path, tool: str) -> None:
    envelop(folder, tool)

    assert listed(folder).problems == ()


@pytest.mark.parametrize(
    "tool", ["", "tool\n", "Tool", "-a", ".a", "..", "a/b", "a\\b", "a b", "é", "x" * 65, "a\0", None, 3]
)
def test_a_tool_may_not_be_called_so(folder: Path, tool: Any) -> None:
    with pytest.raises(ValueError, match="is no name of a tool"):
        envelop(folder, tool)

    assert not (folder / "extensions").exists()


@pytest.mark.parametrize("key", ["tool_version", "format_version", "created_at"])
@pytest.mark.parametrize("value", [" ", 3])
def test_a_text_that_is_none_is_refused(folder: Path, key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{key} must be a non-empty string"):
        envelop(folder, **{key: value})


def test_a_half_of_a_character_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        envelop(folder, tool_version="\ud800")

    assert not (folder / "extensions").exists()


def test_a_dataset_that_was_changed_gets_no_envelope(folder: Path) -> None:
    change(folder, name="other")

    with pytest.raises(DatasetIntegrityError, match="core_sha256"):
        envelop(folder)

    assert not (folder / "extensions").exists()


@pytest.mark.parametrize("linked", ["extensions", "extensions/tool"])
def test_an_area_elsewhere_is_never_written_to(folder: Path, tmp_path: Path, linked: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / linked).parent.mkdir(exist_ok=True)
    (folder / linked).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DatasetIntegrityError, match="leads out of its Dataset"):
        envelop(folder)

    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_link_in_the_place_of_the_envelope_is_replaced_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (folder / "extensions/tool").mkdir(parents=True)
    (folder / "extensions/tool/extension.json").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(FileExistsError):
        envelop(folder)
    envelop(folder, overwrite=True)

    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert listed(folder).problems == ()


@pytest.mark.parametrize("taken", ["extensions", "extensions/tool"])
def test_a_file_in_the_place_of_a_folder_is_named(folder: Path, taken: str) -> None:
    (folder / taken).parent.mkdir(exist_ok=True)
    (folder / taken).write_text("x")

    with pytest.raises(DatasetIntegrityError, match="is no folder"):
        envelop(folder)


def test_a_folder_in_the_place_of_the_envelope_is_named(folder: Path) -> None:
    (folder / "extensions/tool/extension.json").mkdir(parents=True)

    with pytest.raises(DatasetIntegrityError, match="is a folder"):
        envelop(folder, overwrite=True)


def test_a_failure_of_the_disk_leaves_the_envelope_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    envelop(folder)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        envelop(folder, tool_version="9", overwrite=True)

    assert os.listdir(folder / "extensions/tool") == ["extension.json"]
    assert listed(folder).tool_version == "1"


# --- listing ----------------------------------------------------------------------------------------------------


def test_envelopes_are_listed_by_path(folder: Path) -> None:
    for tool in ("b", "a-1", "a"):
        envelop(folder, tool)

    assert [envelope.path for envelope in list_extensions(folder)] == [
        folder / "extensions" / tool for tool in ("a", "a-1", "b")
    ]


def test_an_envelope_says_what_it_was_built_on(folder: Path, tmp_path: Path) -> None:
    envelop(folder)

    assert listed(folder).built_on(read_dataset_folder(folder))
    assert not listed(folder).built_on(write(tmp_path / "other", [chunk(text="other")]))


def test_folders_without_an_envelope_and_files_are_not_listed(folder: Path) -> None:
    assert list_extensions(folder) == []
    (folder / "extensions/empty").mkdir(parents=True)
    (folder / "extensions/file").write_text("x")

    assert list_extensions(folder) == []


def test_extensions_of_nothing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        list_extensions(tmp_path / "nowhere")


GOOD = {"tool": "t", "tool_version": "1", "format_version": "1", "core_sha256": "a" * 64, "created_at": "c"}


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (GOOD, []),
        ({**GOOD, "more": 1}, []),
        ([], ["extension.json must hold a JSON object"]),
        ({**GOOD, "tool": "u"}, ["tool is 'u' but the area is extensions/t"]),
        ({**GOOD, "tool": None}, ["tool is None but the area is extensions/t"]),
        ({**GOOD, "tool_version": ""}, ["tool_version must be a non-empty string"]),
        ({**GOOD, "format_version": 3}, ["format_version must be a non-empty string"]),
        ({**GOOD, "created_at": None}, ["created_at must be a non-empty string"]),
        *[
            ({**GOOD, "core_sha256": wrong}, ["core_sha256 must be a SHA-256 of 64 lower-case hex digits"])
            for wrong in ("", "A" * 64, "a" * 63, "a" * 64 + "\n", 3)
        ],
    ],
)
def test_every_problem_of_an_envelope_is_listed_with_it(folder: Path, content: Any, problems: list[str]) -> None:
    area(folder, "t", json.dumps(content))

    envelope = listed(folder)

    assert list(envelope.problems) == problems
    assert envelope.raw == (content if isinstance(content, dict) else {})


def test_what_is_no_text_in_an_envelope_is_none(folder: Path) -> None:
    area(folder, "t", json.dumps({**GOOD, "tool_version": 3, "core_sha256": None}))

    assert (listed(folder).tool, listed(folder).tool_version, listed(folder).core_sha256) == ("t", None, None)


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff", b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 200_000, b'{"tool": "t", "tool": "u"}'],
    ids=lambda content: repr(content[:12]),
)
def test_an_envelope_that_is_no_strict_json_is_listed_with_that(folder: Path, content: bytes) -> None:
    area(folder, "t", content)

    [problem] = listed(folder).problems
    assert "not valid JSON" in problem


def test_one_malformed_envelope_hides_no_other(folder: Path) -> None:
    area(folder, "a", "{")
    envelop(folder, "b")

    assert [bool(envelope.problems) for envelope in list_extensions(folder)] == [True, False]


def test_an_area_with_a_name_that_is_none_is_listed_with_that(folder: Path) -> None:
    area(folder, "tool\n", json.dumps({**GOOD, "tool": "tool\n"}))

    [problem] = listed(folder).problems
    assert "is no name of a tool" in problem


def test_an_envelope_elsewhere_is_listed_and_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps({**GOOD, "tool": "secret"}))
    (folder / "extensions/t").mkdir(parents=True)
    (folder / "extensions/t/extension.json").symlink_to(tmp_path / "elsewhere.json")

    envelope = listed(folder)

    assert "leads out of its Dataset" in envelope.problems[0]
    assert envelope.raw == {}


def test_a_folder_and_a_link_to_nothing_in_place_of_an_envelope_are_listed(folder: Path) -> None:
    (folder / "extensions/a/extension.json").mkdir(parents=True)
    (folder / "extensions/b").mkdir()
    (folder / "extensions/b/extension.json").symlink_to("nothing")

    assert [bool(envelope.problems) for envelope in list_extensions(folder)] == [True, True]


def test_a_huge_envelope_is_not_read(folder: Path) -> None:
    area(folder, "t", "{}")
    with (folder / "extensions/t/extension.json").open("r+b") as file:
        file.truncate(2**40)

    assert "bytes" in listed(folder).problems[0]


def test_extensions_that_cannot_be_listed_are_an_error(folder: Path, tmp_path: Path) -> None:
    (folder / "extensions").write_text("x")
    with pytest.raises(DatasetIntegrityError, match="cannot be listed"):
        list_extensions(folder)

    (folder / "extensions").unlink()
    (folder / "extensions").symlink_to(tmp_path)
    with pytest.raises(DatasetIntegrityError, match="leads out of its Dataset"):
        list_extensions(folder)
