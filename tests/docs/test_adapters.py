"""The page of the adapters says of each parameter what the code says, and its examples are accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from estante.contract.params import validate_params
from estante.serve.adapters import chroma, haystack, http, langchain, llamaindex, mcp
from estante.serve.adapters.answers import ROW_FIELDS
from estante.serve.adapters.scales import SCORE_KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "adapters.md").read_text("utf-8")
ADAPTERS: list[Any] = [langchain, llamaindex, haystack, chroma, http, mcp]
EXAMPLES = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def section(heading: str) -> str:
    """What stands under a heading, up to the next of its level or above."""
    level = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def line(field: Mapping[str, Any]) -> str:
    kind = " or ".join(f"`{one}`" for one in field["choices"]) if field["type"] == "enum" else field["type"]
    default = "" if field.get("default") in (None, "") else f"`{json.dumps(field['default'])}`"
    needed = "required" if field.get("required") and not default else default
    return f"| `{field['name']}` | {kind} | {needed} | {field['help']} |"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda one: one.KIND)
def test_every_parameter_has_its_line_in_order_and_there_is_no_other(adapter: Any) -> None:
    told = [one for one in section(f"## {adapter.KIND}").splitlines() if re.match(r"\| `\w+` \| \S+ ", one)]

    assert told[: len(adapter.PARAMS)] == [line(field) for field in adapter.PARAMS]
    assert len(told) == len(adapter.PARAMS)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda one: one.KIND)
def test_every_adapter_is_in_the_list(adapter: Any) -> None:
    assert f"| [`{adapter.KIND}`](#{adapter.KIND}) |" in PAGE


def test_every_kind_of_score_has_its_line_and_no_other_has() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section("### Scores"), re.MULTILINE)[1:] == list(SCORE_KINDS)


@pytest.mark.parametrize("adapter", [langchain, llamaindex, haystack], ids=lambda one: one.KIND)
def test_the_conventions_are_those_of_the_code(adapter: Any) -> None:
    [row] = [one for one in section("### Ids and places").splitlines() if one.startswith(f"| `{adapter.KIND}` |")]

    for names in (adapter.CONVENTIONS.docs, adapter.CONVENTIONS.names, adapter.CONVENTIONS.ordinals):
        assert ", ".join(f"`{one}`" for one in names)[1:] in row


def test_the_protocol_shows_every_field_of_a_row() -> None:
    shown = set(EXAMPLES[1]) | set(EXAMPLES[2])

    assert shown == set(ROW_FIELDS)


def test_the_examples_of_parameters_are_accepted() -> None:
    embedding, _, _, of_http, of_mcp = EXAMPLES

    assert validate_params(http.PARAMS, {"url": "http://127.0.0.1", **embedding})
    assert validate_params(http.PARAMS, of_http)
    assert validate_params(mcp.PARAMS, of_mcp)
