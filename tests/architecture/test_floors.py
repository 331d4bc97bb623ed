"""The floors: import-linter holds them, and these tests hold import-linter to its word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CONTRACTS: dict[str, tuple[str, str]] = {
    "floors": ("model/access.py", "from estante.security import scrub"),
    "shelf": ("shelf/local.py", "from estante.shelf import shelving"),
    "serve": ("serve/attic.py", "x = 1"),
    "cycles": ("security/values.py", "from estante.security import scrub"),
    "evaluate": ("evaluate/__init__.py", "from estante.model import content"),
    "door": ("ingest/titles.py", "from estante.ingest import gate"),
    "plugins": ("shelf/assemble.py", "from estante.index.stores import memory"),
    "network": ("index/lock.py", "import socket"),
    "standard": ("model/wire.py", "import numpy"),
}
"""The contracts of pyproject.toml by their ids, and for each a line in a module that breaks it."""


def lint(source: Path, *options: str) -> str:
    """What lint-imports says of the package in ``source``."""
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", *options],
        cwd=source.parent,
        env={**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package's modules in a folder of their own, with the same contracts."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("demo", "*.npz", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path / "src"


def test_every_contract_is_known_here() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]

    assert [contract["id"] for contract in told] == list(CONTRACTS)


def test_every_contract_is_kept() -> None:
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in lint(ROOT / "src", "--no-cache")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_line_that_breaks_the_contract_is_caught(copy: Path, contract: str) -> None:
    path, line = CONTRACTS[contract]
    module = copy / "estante" / path
    before = module.read_text("utf-8") if module.exists() else '"""A module more."""'
    module.write_text(f"{before}\n{line}\n", "utf-8")

    assert "Contracts: 0 kept, 1 broken." in lint(copy, "--no-cache", "--contract", contract)


def test_a_folder_that_declares_no_floor_is_refused(copy: Path) -> None:
    (copy / "estante/attic").mkdir()
    (copy / "estante/attic/__init__.py").write_text('"""Where things go that have no floor."""\n', "utf-8")

    assert "estante.attic" in lint(copy, "--no-cache", "--contract", "floors")
