"""The page on filters has every operator and name there is, and no filter that is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from estante.index.conditions import ATTRIBUTES, OPERATORS, PASSAGES
from estante.index.filters import LOGIC, MAX_CONDITIONS, MAX_DEPTH, MAX_NAME, MAX_VALUES, parse, read
from estante.ingest import gate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "filters.md").read_text("utf-8")
FORMS = re.compile(r"\.\.\.|\b(filter|value|operand)\}")
SHOWN = [one for one in re.findall(r"`(\{[^`]*\})`", PAGE) if not FORMS.search(one)]


@pytest.mark.parametrize("name", [*OPERATORS, *LOGIC, *ATTRIBUTES, *PASSAGES])
def test_every_operator_and_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE or f'"{name}": ' in PAGE


def test_no_operator_or_name_is_on_the_page_that_is_not_there() -> None:
    told = set(re.findall(r"`([$@][a-z_]+)`", PAGE))

    assert told <= {*OPERATORS, *LOGIC, *ATTRIBUTES, *PASSAGES, "$", "@"}


@pytest.mark.parametrize("text", SHOWN)
def test_a_filter_of_the_page_is_one(text: str) -> None:
    where = json.loads(text)

    assert where == {} or parse(where) is not None


def test_the_page_shows_filters() -> None:
    assert len(SHOWN) > 10
    assert read("year>=2020") is not None


def test_the_limits_are_those_of_the_page() -> None:
    for limit in (MAX_DEPTH, MAX_CONDITIONS, MAX_VALUES, MAX_NAME):
        assert f"{limit:,} " in PAGE
    assert f"at most {gate.MAX_DEPTH} levels" in PAGE
