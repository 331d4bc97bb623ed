"""Weights of encoders from the command line, and a bookcase that chooses its encoder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estante.index.weights.making import MAKINGS
from estante.serve.cli.main import main

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("ESTANTE_HOME", "ESTANTE_ENCODER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ESTANTE_MODELS_PATH", str(tmp_path / "models"))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command and gives the JSON value that it printed."""

    def call(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        ended = main([*words, "--json"])
        found = capsys.readouterr()
        assert (ended, found.err) == (code, ""), found.out
        return json.loads(found.out)

    return call


def test_weights_are_listed_made_verified_and_found(run: Run, here: Path) -> None:
    [before] = run("models", "list")
    made = run("models", "build", "e5")
    [after] = run("models", "list")

    assert (before["state"], after["state"]) == ("absent", "made")
    assert Path(made["path"]).stat().st_size == after["bytes"]
    assert run("models", "path", "e5")["path"] == made["path"]
    assert run("models", "verify", "e5")["ok"] is True


def test_damaged_weights_are_told_with_what_mends_them(run: Run) -> None:
    Path(run("models", "build", "e5")["path"]).write_bytes(b"damaged")

    error = run("models", "verify", "e5", code=1)

    assert "is damaged" in error["error"]
    assert error["hint"] == "Run: estante models build e5"


def test_unknown_weights_are_refused(run: Run) -> None:
    assert "'e6'" in run("models", "path", "e6", code=2)["error"]


def test_the_path_alone_is_printed_to_a_pipe(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["models", "path", "e5"]) == 0
    assert capsysbinary.readouterr().out == f"{MAKINGS['e5'].path(here / 'models')}\n".encode()


def test_a_new_bookcase_remembers_the_encoder_that_was_chosen(run: Run, here: Path) -> None:
    run("init", "--encoder", "e5")
    (here / "ferias.txt").write_text("O servidor tem trinta dias de descanso por ano.", "utf-8")
    run("add", "ferias.txt")

    assert run("status")["encoder"].startswith("multilingual-e5-small")
    assert run("search", "how long is the vacation?")["hits"][0]["document_id"].endswith("ferias.txt")


def test_an_encoder_beside_a_settings_file_that_names_another_is_refused(run: Run, here: Path) -> None:
    (here / "estante.toml").write_text("", "utf-8")

    error = run("init", "--encoder", "e5", code=2)

    assert 'use = "e5"' in error["hint"]
    assert not (here / ".estante").exists()


def test_an_unknown_encoder_is_refused(run: Run, here: Path) -> None:
    assert "statik" in run("init", "--encoder", "statik", code=2)["error"]
    assert list(here.iterdir()) == []


def test_a_bookcase_made_with_another_encoder_says_both_ways_on(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init")
    monkeypatch.setenv("ESTANTE_ENCODER", "e5")

    for words in (("search", "x"), ("add", "estante.toml"), ("status",)):
        error = run(*words, code=6)
        assert "estante-static-pten" in error["error"]
        assert "estante rebuild" in error["hint"]
        assert "[encoder]" in error["hint"]
