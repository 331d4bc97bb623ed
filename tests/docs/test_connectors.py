"""What the page of the contract says of connectors, parameters and documents is what the code has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from estante.contract import connections, params, registry, specs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "contract.md").read_text("utf-8")


def section(heading: str) -> str:
    found = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def told(text: str, header: str) -> list[str]:
    """The names in the first column of the table with this header."""
    rows = re.search(rf"^\| {re.escape(header)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert rows, header
    columns = [row.split(" | ")[0] for row in rows[1].splitlines()]
    return [name for column in columns for name in re.findall(r"`(\w+)", column)]


def test_every_field_of_a_spec_is_told_in_order() -> None:
    assert told(section("Specs"), "field") == [one.name for one in fields(specs.ConnectorSpec)]


def test_every_property_of_a_spec_is_told() -> None:
    for name, value in vars(specs.ConnectorSpec).items():
        if isinstance(value, property):
            assert f"`{name}`" in section("Specs")


def test_every_key_and_type_of_a_parameter_is_told() -> None:
    text = section("Parameters")

    assert sorted(told(text, "key")) == sorted(params.PARAM_KEYS)
    assert told(text, "type") == list(params.PARAM_TYPES)


def test_every_function_of_the_registry_is_told() -> None:
    text = section("The registry")
    names = {name for name in registry.__all__ if name.islower()}

    assert set(told(text, "function")) == names
    assert all(f"`{group}`" in text for group in registry.ENTRY_POINT_GROUPS)


@pytest.mark.parametrize("verb", ["validate", "dump", "load", "save", "read"])
def test_every_function_of_documents_is_told(verb: str) -> None:
    assert callable(getattr(connections, f"{verb}_connection"))
    assert f"`{verb}_connection(" in section("Connection documents")


def test_the_numbers_are_the_true_ones() -> None:
    assert f"more than {connections.MOST_DEPTH} levels" in section("Connection documents")
    assert f'contract_version="{connections.CONTRACT_VERSION}"' in section("Specs")
