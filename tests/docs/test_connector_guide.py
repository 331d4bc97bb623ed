"""What the guide for authors of connectors says beyond its blocks is so: its suite, its messages, its other names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from estante.contract import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "write-a-connector.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def rows(header: str) -> list[list[str]]:
    """The rows of the table whose first column has this header, as cells."""
    found = re.search(rf"^\| {re.escape(header)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert found, f"there is no table of {header!r}"
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in found[1].splitlines()]


# --- the suite --------------------------------------------------------------------------------------------------


def test_the_suite_of_the_guide_passes_and_shows_that_failures_raise(tmp_path: Path) -> None:
    [last] = [at for at, block in enumerate(BLOCKS) if "class TestFaq" in block]
    (tmp_path / "test_faq.py").write_text("\n".join(BLOCKS[: last + 1]), "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", "-W", "error", "-v"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"\[broken-backend\] PASSED", done.stdout)


# --- when it does not show up -------------------------------------------------------------------------------------

SPEC = "from estante.contract import ConnectorSpec\nSPEC = ConnectorSpec({!r}, 'Mine', '', build=dict)\n"
MINE = SPEC.format("mine")
BROKEN = {
    "ModuleNotFoundError": [("mine", "import not_there", "mine:SPEC")],
    "is no ConnectorSpec": [("mine", "class Mine: pass", "mine:Mine")],
    "is already registered by": [("mine", MINE, "mine:SPEC"), ("other", MINE, "other:SPEC")],
    "is one of Estante's own": [("mine", SPEC.format("chroma"), "mine:SPEC")],
}


def listed(folder: Path) -> list[dict[str, str]]:
    """The rows of ``estante connectors`` where this folder is on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "estante", "connectors", "--json"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def install(folder: Path, name: str, source: str, target: str) -> None:
    """Puts a package there as an installer would, as far as a registry can tell."""
    (folder / f"{name}.py").write_text(source, "utf-8")
    made = folder / f"{name}_package-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n", "utf-8")
    (made / "entry_points.txt").write_text(f"[{registry.OWN_GROUP}]\n{name} = {target}\n", "utf-8")


def test_the_table_has_five_rows_and_each_message_that_it_names_is_tried_below() -> None:
    table = rows("you see")
    named = {message for row in table for message in re.findall(r"`([^`]+)`", row[0])}

    assert len(table) == 5
    assert all(len(row) == 3 for row in table)
    assert named == set(BROKEN)


@pytest.mark.parametrize("message", BROKEN)
def test_a_package_with_the_fault_is_listed_with_the_message(tmp_path: Path, message: str) -> None:
    for package in BROKEN[message]:
        install(tmp_path, *package)

    told = listed(tmp_path)

    assert any(message in row["error"] for row in told if row["origin"].endswith("-package"))
    assert [row["error"] for row in told if row["origin"] == "estante"] == [""] * len(registry.BUILTINS)


def test_a_package_whose_spec_has_no_connect_is_listed_without_it(tmp_path: Path) -> None:
    install(tmp_path, "mine", MINE, "mine:SPEC")

    [row] = [row for row in listed(tmp_path) if row["origin"] == "mine-package"]

    assert (row["type"], row["error"], row["capabilities"]) == ("mine", "", [])


# --- the other names ------------------------------------------------------------------------------------------------

SAME = "the same names beneath"


def mapped() -> dict[str, str]:
    """The modules of rag-connector, and those of ours in their place."""
    found = {}
    for theirs, ours in ((row[0], row[1]) for row in rows("rag-connector") if "entry-point" not in row[0]):
        names = re.findall(r"`([^`]+)`", theirs)
        root = names[0].partition(".")[0]
        for name in names:
            module = name if name.startswith(root) else f"{root}.{name}"
            target = re.findall(r"`([^`]+)`", ours)[0]
            found[module] = f"{target}.{module.partition('.')[2]}" if SAME in ours else target
    return found


def public(module: ModuleType) -> list[str]:
    """The names that a module offers: those it lists, or else those that it defines."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return list(getattr(module, "__all__", own))


@pytest.mark.parametrize(("theirs", "ours"), mapped().items())
def test_each_name_of_a_module_of_theirs_is_in_the_module_that_is_named_for_it(theirs: str, ours: str) -> None:
    names, there = public(import_module(theirs)), import_module(ours)

    assert names
    assert [name for name in names if not hasattr(there, name)] == []


def test_every_module_of_theirs_is_named() -> None:
    package = Path(import_module("rag_connector").__file__ or "").parent
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}

    assert {name.partition(".")[2] for name in mapped()} - {""} == modules
