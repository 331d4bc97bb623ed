"""Objects of others are found by name, made with arguments, and blamed by name when they fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.contract.errors import ConnectorRegistrationError
from estante.serve.adapters.objects import given, library, listed, made, reach

SOURCE = """
READY = 7
LIST = [1]
class Holder:
    inner = 8
def make(size=1, key=""):
    return f"{size}{key}"
def fail():
    raise ValueError("no such index")
def leave():
    raise SystemExit("bye")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "their_rag.py").write_text(SOURCE, "utf-8")
    (tmp_path / "their_broken_rag.py").write_text("import a_library_that_nobody_has", "utf-8")
    reach(str(tmp_path))
    yield tmp_path
    sys.modules.pop("their_rag", None)


def is_number(found: object) -> bool:
    return isinstance(found, int)


def make(target: str, kwargs: dict[str, Any] | None = None, secrets: dict[str, str] | None = None) -> Any:
    return made(target, kwargs or {}, secrets or {}, {"KEY": "hush"}, is_number)


def test_an_object_that_is_ready_is_taken_as_it_is() -> None:
    assert make("their_rag:READY") == 7
    assert make("their_rag:Holder.inner") == 8


def test_any_other_is_called_with_the_arguments_and_the_secrets() -> None:
    assert make("their_rag:make", {"size": 3}, {"key": "env:KEY"}) == "3hush"


def test_a_secret_that_is_not_there_is_told_by_its_reference() -> None:
    with pytest.raises(ConnectorRegistrationError, match="env:NADA"):
        make("their_rag:make", {}, {"key": "env:NADA"})


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("their_rag", "is no module and attribute"),
        ("nowhere_at_all:x", "there is no module 'nowhere_at_all'"),
        ("their_rag:nothing", "has no 'nothing'"),
        ("their_rag:LIST", "is a list, which this connector cannot use"),
        ("their_rag:fail", "their_rag:fail failed: ValueError: no such index"),
        ("their_rag:leave", "SystemExit: bye"),
        ("their_broken_rag:x", "their_broken_rag:x failed: ModuleNotFoundError"),
        ("their_rag:make", "unexpected keyword argument"),
    ],
)
def test_what_leads_nowhere_is_told(target: str, message: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=message):
        make(target, {"wrong": 1} if target == "their_rag:make" else {})


def test_arguments_for_what_is_no_maker_are_refused() -> None:
    with pytest.raises(ConnectorRegistrationError, match="takes no arguments"):
        make("their_rag:READY", {"size": 3})


def test_a_folder_comes_behind_all_others_and_once(module: Path) -> None:
    reach(str(module))

    assert sys.path[-1] == str(module)
    assert sys.path.count(str(module)) == 1
    with pytest.raises(ConnectorRegistrationError, match="there is no folder"):
        reach(str(module / "none"))


def test_a_library_that_is_missing_names_its_extra() -> None:
    told = r'needs a_missing_one; run: pip install "estante\[chroma\]"'
    with pytest.raises(ConnectorRegistrationError, match=told), library("chroma"):
        __import__("a_missing_one")


@pytest.mark.parametrize("target", ["their_rag:fail", "their_rag:leave"])
def test_what_fails_when_it_is_called_for_a_list_is_named(target: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=f"{target} failed"):
        given(target)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [(None, "a NoneType"), ("ab", "a str"), ({}, "a dict"), ([1, "a"], "a str among its numbers")],
)
def test_what_is_no_list_of_such_objects_is_refused(found: object, complaint: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match=complaint):
        listed("their_rag:LIST", found, "real", "numbers")


def test_a_list_may_come_from_anything_that_can_be_gone_through() -> None:
    assert listed("their_rag:LIST", iter(given("their_rag:LIST")), "real", "numbers") == [1]
