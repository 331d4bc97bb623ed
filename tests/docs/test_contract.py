"""The page of the contract names what the contract has, and its examples run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from estante import contract
from estante.contract import errors, fingerprints, models, pipeline
from estante.contract.errors import ConnectorError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "contract.md").read_text("utf-8")


def kinds(kind: type[Exception] = ConnectorError) -> Iterator[type[Exception]]:
    if kind.__module__ == errors.__name__:
        yield kind
    for one in kind.__subclasses__():
        yield from kinds(one)


def section(heading: str) -> str:
    """What stands under a heading, up to the next of its level or above."""
    level = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


ERRORS = sorted(set(kinds()), key=lambda kind: kind.__name__)
VALUES = [
    models.ChunkRecord,
    models.RetrievedChunk,
    models.GeneratedAnswer,
    models.ChunkPage,
    models.DatasetRef,
    models.EmbeddingSpaceDescriptor,
    models.EmbeddingBatch,
    models.ConnectorHealth,
]


def test_the_page_lists_every_name_and_no_other() -> None:
    listing = re.search(r"```text\n(.*?)```", section("## Names"), re.DOTALL)

    assert listing
    told = [name for line in listing[1].splitlines() for name in line[14:].split()]
    assert sorted(told) == sorted(contract.__all__)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_says_when_and_what_to_do(kind: type[Exception]) -> None:
    text = " ".join(section(f"### {kind.__name__}").split())

    assert "**When:**" in text
    assert "**What to do:**" in text
    assert all(f"`{base.__name__}`" in text for base in kind.__bases__ if base is not ConnectorError)


def test_the_page_has_no_error_that_is_none() -> None:
    told = re.findall(r"^### (.+)$", section("## Errors"), re.MULTILINE)

    assert sorted(told) == [kind.__name__ for kind in ERRORS]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__name__)
def test_every_value_is_shown_with_its_fields_in_order(value: Any) -> None:
    row = re.search(rf"^\| `{value.__name__}` \| (.*) \|$", section("## Values"), re.MULTILINE)

    assert row
    assert [name.strip("`").partition("=")[0] for name in row[1].split(", ")] == [one.name for one in fields(value)]


@pytest.mark.parametrize("name", [name for name in vars(pipeline.RagPipeline) if name[0] != "_"])
def test_every_member_of_a_pipeline_is_told_of(name: str) -> None:
    assert re.search(rf"`{name}\b", section("## The pipeline"))


@pytest.mark.parametrize("twin", pipeline.ASYNC_TWINS)
def test_every_twin_is_told_of(twin: str) -> None:
    assert f"`{twin}`" in section("### Awaitable twins")


@pytest.mark.parametrize("name", [name for name in vars(fingerprints) if name.endswith(("_fingerprint", "_identity"))])
def test_every_fingerprint_is_told_of(name: str) -> None:
    assert f"| `{name}(" in section("## Fingerprints")


def test_the_numbers_of_the_guards_are_the_true_ones() -> None:
    told = section("## The pipeline")

    assert f"{pipeline.RagPipeline.max_empty_pages:,} empty pages in a row (`max_empty_pages`)" in " ".join(
        told.split()
    )
    assert f"{pipeline.RagPipeline.max_pull_pages:,} pages (`max_pull_pages`)" in " ".join(told.split())


def test_the_examples_run() -> None:
    names: dict[str, object] = {}
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    assert len(examples) >= 4
    for example in examples:
        exec(compile(example, "contract.md", "exec"), names)
