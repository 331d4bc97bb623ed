"""The page of Python names lists what the package has: every call with its parameters, every value with its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import estante

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md").read_text("utf-8")

METHODS = [method for name, method in inspect.getmembers(estante.Bookcase, inspect.isfunction) if name[0] != "_"]
VALUES = [estante.Hit, estante.Results, estante.Document, estante.Span, estante.Grant]

INTERNAL = {"adopt"}
"""Methods that serve the composition root alone."""


def call(owner: str, name: str, function: Callable[..., Any]) -> str:
    """How a function is called: its parameters and their defaults, without types."""
    plain = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in inspect.signature(function).parameters.values()
        if one.name != "self"
    ]
    return f"{owner}.{name}{inspect.Signature(plain)}"


CALLS = [call("estante", name, getattr(estante, name)) for name in ("create", "open", "memory")] + [
    call("case", method.__name__, method) for method in METHODS if method.__name__ not in INTERNAL
]


@pytest.mark.parametrize("called", CALLS)
def test_the_page_shows_how_it_is_called(called: str) -> None:
    assert f"### `{called}`" in PAGE


def test_the_page_shows_nothing_that_is_not_there() -> None:
    shown = [line.removeprefix("### `").removesuffix("`") for line in PAGE.splitlines() if line.startswith("### `")]

    assert len(CALLS) > 15
    assert sorted(shown) == sorted(CALLS)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_the_page_names_every_field(value: Any) -> None:
    section = PAGE.partition(f"## {value.__name__}\n")[2].partition("\n## ")[0]
    names = [field.name for field in fields(value) if field.name[0] != "_"]
    names += [name for name, member in vars(value).items() if isinstance(member, property)]

    assert names
    assert [name for name in names if f"`{name}`" not in section] == []


def test_the_page_names_every_export() -> None:
    assert [name for name in estante.__all__ if name not in PAGE] == []
