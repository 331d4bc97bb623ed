"""Freezing, verifying and comparing corpora from the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.extensions import write_extension_envelope
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    DatasetIntegrityError,
    UnsupportedCapability,
)
from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import register_connector, unregister_connector
from estante.contract.specs import ConnectorSpec
from estante.serve.cli.borders import contract_error
from estante.serve.cli.main import main
from estante.serve.cli.pipelines import object_of
from tests.contract.datasets import change, chunk, write

SUMMARY = {
    "path",
    "dataset_id",
    "name",
    "chunk_count",
    "source_count",
    "chunking",
    "chunk_inventory_sha256",
    "core_sha256",
    "corpus_fingerprint",
}
"""The keys of the summary in the contract."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a few documents and nothing of anybody's settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ESTANTE_HOME", raising=False)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook/leave.md").write_text("# Leave\n\nThirty days a year.\n", "utf-8")
    (tmp_path / "handbook/fees.txt").write_text("A certidão custa doze reais.\u2028A segunda via é grátis.\n", "utf-8")
    return tmp_path


Run = Callable[..., Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command and gives what it printed: on stdout, on stderr."""

    def call(*words: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        ended = main(["dataset", *words])
        found = capsys.readouterr()
        assert ended == code, f"{words} ended with {ended}:\n{found.out}{found.err}"
        assert "Traceback" not in found.err
        return found.out, found.err

    return call


@pytest.fixture
def told(run: Run) -> Run:
    """Runs a command with ``--json`` and gives the value; stderr must be silent."""

    def call(*words: str, code: int = 0) -> Any:
        out, err = run(*words, "--json", code=code)
        assert err == ""
        return json.loads(out)

    return call


# --- build ------------------------------------------------------------------------------------------------------


def test_a_folder_is_frozen(told: Run) -> None:
    found = told("build", "--folder", "handbook", "--out", "frozen")

    dataset = read_dataset_folder("frozen")
    assert set(found) > SUMMARY
    assert (found["path"], found["name"], found["source_count"]) == ("frozen", "handbook", 2)
    assert found["core_sha256"] == dataset.core_sha256
    assert found["chunking"]["chunk_size"] == 1000


def test_people_are_told_the_same(run: Run) -> None:
    out, err = run("build", "--folder", "handbook", "--out", "frozen")

    rows = dict(line.split(None, 1) for line in out.splitlines())
    dataset = read_dataset_folder("frozen")
    assert rows["dataset"] == dataset.dataset_id
    assert rows["sources"] == "2 (1 md, 1 txt)"
    assert rows["core"] == dataset.core_sha256
    assert err == ""


def test_sizes_and_the_name_can_be_chosen(told: Run) -> None:
    found = told(
        "build", "--folder", "handbook", "--out", "f", "--chunk-size", "20", "--chunk-overlap", "5", "--name", "mine"
    )

    assert found["name"] == "mine"
    assert (found["chunking"]["chunk_size"], found["chunking"]["chunk_overlap"]) == (20, 5)
    assert found["chunk_count"] > 2


def test_documents_without_text_and_files_passed_over_are_told(here: Path, run: Run, told: Run) -> None:
    (here / "handbook/scan.md").write_text(" \n")
    (here / "handbook/photo.png").write_bytes(b"\x89PNG")

    _, err = run("build", "--folder", "handbook", "--out", "a")
    assert "warning: scan.md has no text" in err
    assert "passed over: 1 .png (1 file); --verbose lists them" in err
    assert "photo.png: " in run("build", "--folder", "handbook", "--out", "b", "--verbose")[1]

    found = told("build", "--folder", "handbook", "--out", "c")
    assert (found["blank"], found["passed_over"]) == (["scan.md"], 1)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--folder", "nowhere", "--out", "o"], 5, "does not exist"),
        (["--folder", "handbook", "--out", "handbook"], 2, "not empty"),
        (["--folder", "handbook", "--out", "handbook/leave.md"], 2, "is no folder"),
        (["--folder", "handbook", "--out", "o", "--chunk-size", "0"], 2, "chunk_size=0"),
        (["--folder", "handbook", "--out", "o", "--chunk-overlap", "1000"], 2, "chunk_overlap=1000"),
        (["--folder", "handbook", "--out", "o", "--chunk-overlap", "-1"], 2, "chunk_overlap=-1"),
        (["--folder", "handbook", "--out", "o", "--chunk-size", "many"], 2, "--chunk-size"),
        (["--folder", "handbook", "--out", "o", "--name", " "], 1, "name that is not blank"),
        (["--folder", "handbook"], 2, "--out"),
        (["--out", "o"], 2, "--folder"),
        (["--folder", "empty", "--out", "o"], 1, "holds no supported documents"),
    ],
)
def test_a_build_that_cannot_be_says_why(here: Path, run: Run, words: list[str], code: int, message: str) -> None:
    (here / "empty").mkdir()

    out, err = run("build", *words, code=code)

    assert out == ""
    assert message in err
    assert "hint: " in err
    assert not (here / "o").exists()


def test_a_file_that_cannot_be_read_stops_the_build(here: Path, run: Run) -> None:
    (here / "handbook/bad.md").write_bytes(b"\xff\xfe")

    _, err = run("build", "--folder", "handbook", "--out", "o", code=1)

    assert "bad.md: not UTF-8" in err
    assert "--skip-unreadable" in err
    assert sorted(os.listdir(here)) == ["handbook"]


def test_what_cannot_be_read_is_left_out_when_that_is_asked_for(here: Path, run: Run, told: Run) -> None:
    (here / "handbook/bad.md").write_bytes(b"\xff\xfe")

    assert told("build", "--folder", "handbook", "--out", "a", "--exclude", "b*.md")["source_count"] == 2
    found = told("build", "--folder", "handbook", "--out", "b", "--skip-unreadable")
    _, err = run("build", "--folder", "handbook", "--out", "c", "--skip-unreadable")

    assert [one["path"] for one in found["skipped"]] == ["bad.md"]
    assert "warning: skipped bad.md: not UTF-8" in err


# --- export -----------------------------------------------------------------------------------------------------


class Shop(RagPipeline):
    """A pipeline with one chunk; says when it is closed."""

    closed = 0

    def __init__(self, text: str = "x", failing: bool = False) -> None:
        self.text = text
        self.failing = failing

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []

    def pull_all_chunks(self) -> list[ChunkRecord]:
        if self.failing:
            raise ConnectorOperationalError("the shop is shut")
        return [chunk(text=self.text)]

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def shop() -> Iterator[ConnectorSpec]:
    """A connector of the type ``shop`` that can be connected."""

    def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
        return Shop(**params), params

    yield register_connector(ConnectorSpec("shop", "Shop", "A shop.", lambda document: Shop(**document), connect))
    unregister_connector("shop")


@pytest.fixture
def module(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in the current folder that makes pipelines, and what is none."""
    (here / "rag_of_test.py").write_text(
        "from tests.serve.cli import test_datasets\n"
        "from tests.contract.datasets import chunk\n"
        "class Shop(test_datasets.Shop):\n    pass\n"
        "class Away(Shop):\n    def pull_all_chunks(self):\n        raise KeyError('row')\n"
        "class Wrong(Shop):\n    def pull_all_chunks(self):\n        return [{'chunk_id': 'a'}]\n"
        "class Twice(Shop):\n    def pull_all_chunks(self):\n        return [chunk(), chunk()]\n"
        "class Loud(Shop):\n    def pull_all_chunks(self):\n        print('hello')\n        return [chunk()]\n"
        "class Stuck(Shop):\n    def close(self):\n        raise KeyError('lock')\n"
        "class Exits(Shop):\n    def __init__(self):\n        raise SystemExit(3)\n"
        "class Nothing:\n    pass\n"
        "VALUE = 3\n",
        "utf-8",
    )
    (here / "broken_of_test.py").write_text("import there_is_no_such_module\n", "utf-8")
    yield "rag_of_test"
    for name in ("rag_of_test", "broken_of_test"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("option", ["--connector", "--connector-type"])
def test_a_registered_connector_is_frozen(told: Run, shop: ConnectorSpec, option: str) -> None:
    before = Shop.closed

    found = told("export", option, "shop", "--params", '{"text": "olá"}', "--out", "frozen")

    assert (found["name"], found["chunking"]) == (
        "shop",
        {"method": "exported-from-connector", "connector_type": "shop"},
    )
    assert set(found) >= SUMMARY
    assert [one.text for one in read_dataset_folder("frozen").chunks] == ["olá"]
    assert Shop.closed == before + 1


def test_a_connector_that_only_builds_is_built(told: Run) -> None:
    register_connector(ConnectorSpec("plain", "Plain", "Builds.", lambda document: Shop(**document)))
    try:
        assert told("export", "--connector", "plain", "--params", '{"text": "y"}', "--out", "o")["chunk_count"] == 1
    finally:
        unregister_connector("plain")


def test_a_pipeline_is_imported_from_the_current_folder(told: Run, module: str) -> None:
    found = told("export", "--import", f"{module}:Shop", "--kwargs", '{"text": "z"}', "--out", "o", "--name", "mine")

    assert found["name"] == "mine"
    assert found["chunking"]["connector_type"] == f"{module}:Shop"
    assert [one.text for one in read_dataset_folder("o").chunks] == ["z"]


def test_a_pipeline_that_fails_is_closed_all_the_same(run: Run, shop: ConnectorSpec) -> None:
    before = Shop.closed

    _, err = run("export", "--connector", "shop", "--params", '{"failing": true}', "--out", "o", code=1)

    assert "error: the shop is shut" in err
    assert Shop.closed == before + 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "name one pipeline"),
        (["--connector", "shop", "--import", "a:b"], 2, "name one pipeline"),
        (["--connector", "shop", "--connector-type", "other"], 2, "two types are given"),
        (["--connector", "shop", "--kwargs", "{}"], 2, "--kwargs goes with --import"),
        (["--import", "a:b", "--params", "{}"], 2, "--params goes with --connector-type"),
        (["--connector", "shop", "--params", "[]"], 2, "--params is no JSON object"),
        (["--connector", "shop", "--params", "{"], 2, "--params is not JSON at character 1"),
        (["--connector", "shop", "--params", "[" * 100_000], 2, "--params is not JSON"),
        (["--connector", "shop", "--params", '{"colour": "red"}'], 1, "connector 'shop' failed: TypeError"),
        (["--connector", "shp"], 2, "is not registered"),
        (["--import", "rag_of_test"], 2, "is no module and attribute"),
        (["--import", ":x"], 2, "is no module and attribute"),
        (["--import", "there_is_none:x"], 5, "there is no module 'there_is_none'"),
        (["--import", "rag_of_test:Absent"], 5, "rag_of_test has no 'Absent'"),
        (["--import", "broken_of_test:x"], 1, "ModuleNotFoundError"),
        (["--import", "rag_of_test:VALUE"], 1, "TypeError"),
        (["--import", "rag_of_test:Nothing"], 1, "which is no RagPipeline"),
        (["--import", "rag_of_test:Exits"], 1, "rag_of_test:Exits failed: SystemExit: 3"),
        (["--import", "rag_of_test:Away"], 1, "rag_of_test:Away failed: KeyError: 'row'"),
        (["--import", "rag_of_test:Wrong"], 1, "no ChunkRecord of estante.contract"),
        (["--import", "rag_of_test:Twice"], 1, "duplicate chunk_id"),
        (["--import", "rag_of_test:Stuck"], 1, "close of Stuck failed: KeyError: 'lock'"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_an_export_that_cannot_be_says_why(
    here: Path, run: Run, shop: ConnectorSpec, module: str, words: list[str], code: int, message: str
) -> None:
    out, err = run("export", *words, "--out", "o", code=code)

    assert out == ""
    assert message in err
    assert "hint: " in err
    assert not (here / "o").exists()


def test_parameters_that_are_wrong_are_a_wrong_call(run: Run) -> None:
    field = {"name": "text", "label": "Text", "type": "string", "required": True}
    register_connector(ConnectorSpec("strict", "Strict", "A.", Shop, lambda params: (Shop(), params), [field]))
    try:
        _, err = run("export", "--connector", "strict", "--params", '{"texto": "x"}', "--out", "o", code=2)
    finally:
        unregister_connector("strict")

    assert "text" in err
    assert "hint: Run: estante connectors strict" in err


def test_what_a_connector_prints_is_no_result(run: Run, module: str) -> None:
    out, err = run("export", "--import", f"{module}:Loud", "--out", "o", "--json")

    assert json.loads(out)["chunk_count"] == 1
    assert err == "hello\n"


def test_a_type_that_is_nearly_right_is_named(run: Run, shop: ConnectorSpec) -> None:
    assert "Did you mean 'shop'?" in run("export", "--connector", "shp", "--out", "o", code=2)[1]


def test_the_place_is_looked_at_before_anything_is_connected(run: Run, shop: ConnectorSpec) -> None:
    words = ["--connector", "shop", "--params", '{"failing": true}', "--out", "handbook"]

    assert "not empty" in run("export", *words, code=2)[1]


def test_parameters_are_never_shown() -> None:
    with pytest.raises(Exception, match="--params is not JSON") as caught:
        object_of('{"token": "s3cr3t"', "--params")

    assert "s3cr3t" not in f"{caught.value}{caught.value.__dict__}"


def test_the_traceback_of_a_connector_is_there_for_its_author(
    here: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dataset", "export", "--import", f"{module}:Away", "--out", "o", "--verbose"]) == 1

    assert "KeyError: 'row'\n" in capsys.readouterr().err


# --- verify -----------------------------------------------------------------------------------------------------


@pytest.fixture
def frozen(here: Path) -> Path:
    write(here / "frozen", [chunk(), chunk(1, text="y")])
    return here / "frozen"


def test_a_sound_dataset_verifies(frozen: Path, run: Run, told: Run) -> None:
    core = read_dataset_folder(frozen).core_sha256

    assert run("verify", "frozen")[0] == f"ok  ds-{_inventory(frozen)[:16]}, 2 chunks of 1 source, core {core}\n"
    assert told("verify", "frozen") == {
        "ok": True,
        "path": "frozen",
        "dataset_id": f"ds-{_inventory(frozen)[:16]}",
        "problems": [],
        "notes": [],
        "extensions": [],
    }


def _inventory(folder: Path) -> str:
    return read_dataset_folder(folder).chunk_inventory_sha256


def test_every_mismatch_is_told(frozen: Path, run: Run, told: Run) -> None:
    change(frozen, chunk_count=7, corpus_fingerprint="q")

    out, _ = run("verify", "frozen", code=1)
    found = told("verify", "frozen", code=1)

    assert [line.split()[:2] for line in out.splitlines()] == [
        ["problem", "core_sha256"],
        ["problem", "chunk_count"],
        ["problem", "corpus_fingerprint"],
    ]
    assert (found["ok"], found["dataset_id"], len(found["problems"])) == (False, None, 3)


def test_what_no_hash_holds_is_a_warning(here: Path, run: Run, told: Run) -> None:
    write(here / "gaps", [chunk(0), chunk(2, text="y")])

    assert "warning: doc_chunk_index does not count" in run("verify", "gaps")[1]
    assert len(told("verify", "gaps")["notes"]) == 1


def test_an_area_that_is_malformed_or_of_another_dataset_is_told(frozen: Path, run: Run, told: Run) -> None:
    for tool in ("good", "other"):
        write_extension_envelope(frozen, tool, tool_version="1", format_version="1")
    path = frozen / "extensions/other/extension.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "core_sha256": "0" * 64}))
    (frozen / "extensions/bad").mkdir()
    (frozen / "extensions/bad/extension.json").write_text("{")

    out, _ = run("verify", "frozen")
    found = told("verify", "frozen")["extensions"]

    assert "extension  bad\n" in out
    assert "problem: extension.json is not valid JSON" in out
    assert "extension  other 1, of another Dataset" in out
    assert "good" not in out
    assert [(one["tool"], one["current"], bool(one["problems"])) for one in found] == [
        ("bad", False, True),
        ("good", True, False),
        ("other", False, False),
    ]


def test_extensions_elsewhere_are_a_problem(frozen: Path, here: Path, run: Run) -> None:
    (frozen / "extensions").symlink_to(here)

    out, _ = run("verify", "frozen", code=1)

    assert "leads out of its Dataset" in out
    assert "ok" not in out.split()


@pytest.mark.parametrize("command", ["verify", "show"])
@pytest.mark.parametrize("name", ["nowhere", "handbook", "handbook/leave.md"])
def test_what_is_no_dataset_is_not_found(run: Run, told: Run, command: str, name: str) -> None:
    assert "error: " in run(command, name, code=5)[1]
    assert set(told(command, name, code=5)) == {"error", "hint"}


def legacy(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    (folder / "dataset.json").write_text('{"id": "old"}')
    row = {"chunk_id": "a:chunk-0", "doc_id": "a", "source_file": "a.md", "doc_chunk_index": 0, "text": "x"}
    (folder / "data/chunks.jsonl").write_text(json.dumps(row) + "\n")


def test_a_legacy_folder_cannot_be_verified(here: Path, run: Run) -> None:
    legacy(here / "old")

    assert "problem  a legacy RAGauge Dataset" in run("verify", "old", code=1)[0]


# --- show -------------------------------------------------------------------------------------------------------


def test_a_dataset_is_shown_with_its_manifest_and_extensions(frozen: Path, run: Run, told: Run) -> None:
    write_extension_envelope(frozen, "scan", tool_version="2.1", format_version="1")

    found = told("show", "frozen")
    out, _ = run("show", "frozen")

    assert set(found) > SUMMARY
    assert found["manifest"] == json.loads((frozen / "dataset.json").read_text("utf-8"))
    assert (found["layout"], found["verified"], found["warnings"]) == ("rag-connector-dataset", True, [])
    assert found["extensions"][0]["path"] == "frozen/extensions/scan"
    assert "name       n\n" in out
    assert "extension  scan 2.1, of this Dataset\n" in out


def test_a_legacy_folder_is_shown_with_a_warning(here: Path, run: Run, told: Run) -> None:
    legacy(here / "old")

    out, err = run("show", "old")
    found = told("show", "old")

    assert "core       not told" in out
    assert "warning: legacy RAGauge v0 layout" in err
    assert (found["verified"], found["core_sha256"], found["layout"]) == (False, None, "ragauge-v0")


def test_a_dataset_that_was_changed_is_not_shown(frozen: Path, run: Run, told: Run) -> None:
    change(frozen, name="other")

    _, err = run("show", "frozen", code=1)

    assert "core_sha256 recorded" in err
    assert "estante dataset verify" in err
    assert "core_sha256 recorded" in told("show", "frozen", code=1)["error"]


def test_a_name_that_orders_a_terminal_about_is_made_harmless(here: Path, run: Run) -> None:
    write(here / "evil", name="\x1b[2J\u202egood")

    out, _ = run("show", "evil")

    assert "␛[2J" in out
    assert not set("\x1b\u202e") & set(out)


# --- diff -------------------------------------------------------------------------------------------------------


def test_equal_datasets_end_with_0(here: Path, frozen: Path, run: Run, told: Run) -> None:
    write(here / "later", [chunk(), chunk(1, text="y")], created_at="later")

    out, err = run("diff", "frozen", "later")
    found = told("diff", "frozen", "later")

    assert "core       different in created_at\n" in out
    assert err == ""
    assert (found["equal"], found["same_inventory"], found["same_core"]) == (True, True, False)
    assert found["manifest"] == ["core_sha256", "created_at"]


def test_a_strict_comparison_counts_the_manifests(here: Path, frozen: Path, run: Run) -> None:
    write(here / "later", [chunk(), chunk(1, text="y")], created_at="later")

    run("diff", "frozen", "later", "--strict", code=1)
    run("diff", "frozen", "frozen", "--strict")


def test_different_datasets_end_with_1_and_every_difference(here: Path, frozen: Path, run: Run, told: Run) -> None:
    write(here / "b", [chunk(text="other"), chunk(1, text="y", metadata={"p": 1}), chunk(document="c", global_index=2)])

    out, _ = run("diff", "frozen", "b", code=1)
    found = told("diff", "frozen", "b", code=1)

    assert found["chunks"] == {"added": ["c:chunk-0"], "removed": [], "changed": ["a:chunk-0"]}
    assert found["documents"] == {"added": ["c"], "removed": [], "changed": ["a"]}
    assert found["moved"] == {"a:chunk-1": ["metadata"]}
    assert (found["equal"], found["a"]["chunk_count"], found["b"]["documents"]) == (False, 2, 2)
    for line in (
        "+ document c",
        "~ document a",
        "+ chunk c:chunk-0",
        "~ chunk a:chunk-0",
        "= chunk a:chunk-1 (metadata)",
    ):
        assert f"\n{line}\n" in out


def test_a_long_list_is_cut_unless_all_is_asked_for(here: Path, frozen: Path, run: Run) -> None:
    write(here / "many", [chunk(number, text=str(number)) for number in range(60)])

    out, err = run("diff", "frozen", "many", code=1)
    full, _ = run("diff", "frozen", "many", "--verbose", code=1)

    assert (out.count("+ chunk"), full.count("+ chunk")) == (20, 58)
    assert "and 38 more; --verbose lists them all" in err


def test_a_dataset_that_was_changed_is_not_compared(here: Path, frozen: Path, run: Run) -> None:
    write(here / "b")
    change(frozen, name="other")

    for pair in (("frozen", "b"), ("b", "frozen")):
        assert "frozen does not match its manifest" in run("diff", *pair, code=1)[1]


def test_a_legacy_folder_is_compared_with_a_warning(here: Path, run: Run, told: Run) -> None:
    legacy(here / "old")
    write(here / "new", [chunk(global_index=None)])

    _, err = run("diff", "old", "new")

    assert "warning: A: legacy RAGauge v0 layout" in err
    assert told("diff", "old", "new")["a"]["warnings"][0].startswith("legacy RAGauge v0 layout")


# --- the group and the border -----------------------------------------------------------------------------------


def test_the_group_alone_tells_its_commands(run: Run) -> None:
    out, _ = run()

    lines = out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == ["build", "export", "verify", "show", "diff"]
    assert not any(line.endswith("...") for line in lines)


def test_an_option_may_stand_before_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "dataset", "verify", "nowhere"]) == 5
    assert set(json.loads(capsys.readouterr().out)) == {"error", "hint"}
    assert main(["dataset", "--json", "verify", "nowhere"]) == 5
    assert set(json.loads(capsys.readouterr().out)) == {"error", "hint"}


@pytest.mark.parametrize(
    "kind",
    [ConnectorError, ConnectorOperationalError, ConnectorContractError, UnsupportedCapability, DatasetIntegrityError],
)
def test_every_failure_of_the_contract_ends_with_1_and_a_hint(kind: type[ConnectorError]) -> None:
    found = contract_error(kind("what happened"))

    assert found is not None
    assert (found.message, found.exit_code) == ("what happened", 1)
    assert found.hint


def test_another_failure_is_not_one_of_the_contract() -> None:
    assert contract_error(ValueError("x")) is None


def test_an_overlap_that_a_smaller_size_leaves_behind_is_the_hint(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dataset", "build", "--folder", "handbook", "--out", "a", "--chunk-size", "60"]) == 2
    assert "Give --chunk-overlap below 60, too." in capsys.readouterr().err
