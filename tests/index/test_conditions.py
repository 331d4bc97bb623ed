"""The meaning of filters: each question about it has one answer, by the definition and by the columns of a shelf."""

from __future__ import annotations

from typing import Any

import pytest

from estante.index.columns import Columns
from estante.index.conditions import (
    OPERATORS,
    conditions,
    lookup,
    matches,
    of_passages,
    passage,
    path,
    prepared,
    record,
)
from estante.index.filters import parse
from estante.model.asking import Where
from tests.index.probes import ANSWERS

NUMBERED = pytest.mark.parametrize(("raw", "held", "passes"), ANSWERS, ids=[f"{n}" for n in range(len(ANSWERS))])


def by_columns(where: Where | None, held: dict[str, Any]) -> bool:
    fields = {one.field for one in conditions(where)}
    columns = Columns().fork(1, fields, [(1, {"x": "another", "tags": ["z"]}), (2, held)])
    return where is None or bool(columns.decide(where)[1])


@NUMBERED
def test_a_filter_has_one_answer(raw: dict[str, Any], held: dict[str, Any], passes: bool) -> None:
    where, told = parse(raw), record(held, {})

    assert matches(where, told) is passes
    assert prepared(where)(told) is passes
    assert by_columns(where, told) is passes


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_an_answer_here(operator: str) -> None:
    assert any(f"'{operator}'" in repr(raw) or operator == "$eq" for raw, _, _ in ANSWERS)


def test_a_field_named_like_an_attribute_is_not_the_attribute() -> None:
    told = record({"@id": "metadata", "'": 1}, {"@id": "own"})

    assert (lookup(told, "@id"), lookup(told, "'@id'"), lookup(told, "''''")) == ("own", "metadata", 1)


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("a", None),
        ("a.b", None),
        ("d'água", None),
        ("'a.b'", ("a.b",)),
        ("'a'.b.'c.d'", ("a", "b", "c.d")),
        ("a.'b'", ("a", "b")),
        ("'a'..b", ("a", "", "b")),
        ("'a'.", ("a", "")),
        ("''", ("",)),
        ("'''a'", ("''a",)),
    ],
)
def test_quotes_keep_a_name_whole(field: str, names: tuple[str, ...] | None) -> None:
    assert path(field) == names


@pytest.mark.parametrize(
    ("locator", "told"),
    [
        ("", {}),
        ("page 3", {"@page": 3}),
        ("page iv", {"@page": "iv"}),
        ("page ²", {"@page": "²"}),
        ("sheet Fees 2024", {"@sheet": "Fees 2024"}),
        ("slide 12", {"@slide": 12}),
        ("row 7", {"@row": 7}),
        ("line 120", {"@line": 120}),
        ("locator x", {}),
        ("heading x", {}),
        ("page " + "9" * 5_000, {"@page": "9" * 5_000}),
    ],
    ids=range(11),
)
def test_a_passage_tells_the_place_it_stands_at(locator: str, told: dict[str, object]) -> None:
    found = passage(("A", "B"), locator)

    assert found == {"@heading": ["A", "B"], "@locator": locator or None, **told}


def test_a_passage_without_headings_has_none() -> None:
    assert passage((), "")["@heading"] is None


def test_only_what_differs_within_a_document_is_of_passages() -> None:
    assert of_passages(parse({"$not": {"$or": [{"x": 1}, {"@page": 3}]}}))
    assert not of_passages(parse({"x": {"$any": {"page": 3}}, "@title": "a"}))
    assert not of_passages(None)


@pytest.mark.parametrize("operator", ["$eq", "$contains", "$in", "$all", "$any"])
def test_columns_of_an_earlier_state_do_not_know_what_came_later(operator: str) -> None:
    first = Columns().fork(1, ["x"], [(1, {"x": ["a"]}), (2, {"x": 1})])
    later = first.fork(2, ["x"], [(2, {"x": ["b"]})])
    where = parse({"x": {operator: ["b"] if operator in ("$in", "$all", "$any") else "b"}})
    assert where is not None

    assert first.decide(where).tolist() == [False, False]
    assert later.decide(where).tolist() == [False, True]


def test_columns_keep_what_fits_beside_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [(number, {"x": f"{number:200}", "y": number, "z": number}) for number in range(50)]
    columns = Columns().fork(1, ["x"], records).fork(1, ["y"], records)
    assert columns.fields == {"x", "y"}

    monkeypatch.setattr("estante.index.columns.BUDGET", 10_000)

    assert columns.fork(1, ["z"], records).fields == {"y", "z"}
    assert columns.fork(1, ["x", "z"], records).fields == {"x", "y", "z"}
