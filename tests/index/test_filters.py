"""The one filter engine: each question about its semantics has one answer, on every store."""

from __future__ import annotations

from typing import Any

import pytest

from estante.index.columns import Columns
from estante.index.conditions import OPERATORS, conditions, matches
from estante.index.filters import MAX_DEPTH, accept, parse, read
from estante.model.asking import Condition, Every, Not, Some, Where
from estante.model.errors import QueryError

BIG = 2**63

# (filter, record, whether it passes). Every row is decided by the definition and by the columns of a shelf.
ANSWERS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    # Equality by kind, then by value.
    ({"x": 1}, {"x": 1}, True),
    ({"x": 1}, {"x": 1.0}, True),
    ({"x": 1.0}, {"x": 1}, True),
    ({"x": 1}, {"x": "1"}, False),
    ({"x": "1"}, {"x": 1}, False),
    ({"x": 1}, {"x": True}, False),
    ({"x": True}, {"x": True}, True),
    ({"x": True}, {"x": 1}, False),
    ({"x": False}, {"x": 0}, False),
    ({"x": False}, {"x": None}, False),
    ({"x": 0}, {"x": False}, False),
    ({"x": 0}, {"x": -0.0}, True),
    ({"x": ""}, {}, False),
    ({"x": "Ação"}, {"x": "Ação"}, True),
    ({"x": "acao"}, {"x": "Ação"}, False),
    ({"x": BIG}, {"x": BIG}, True),
    ({"x": BIG}, {"x": BIG + 1}, False),
    ({"x": {"$gt": BIG}}, {"x": BIG + 1}, True),
    ({"x": 10**400}, {"x": 10**400}, True),
    # Absent is null.
    ({"x": None}, {}, True),
    ({"x": None}, {"x": None}, True),
    ({"x": None}, {"x": 0}, False),
    ({"x": {"$eq": None}}, {"x": ""}, False),
    ({"x": {"$ne": None}}, {}, False),
    ({"x": {"$ne": None}}, {"x": 0}, True),
    ({"x": {"$exists": True}}, {"x": False}, True),
    ({"x": {"$exists": True}}, {"x": None}, False),
    ({"x": {"$exists": True}}, {}, False),
    ({"x": {"$exists": False}}, {}, True),
    ({"x": {"$exists": False}}, {"x": []}, False),
    # $ne and $nin are the exact opposites.
    ({"x": {"$ne": 1}}, {}, True),
    ({"x": {"$ne": 1}}, {"x": "1"}, True),
    ({"x": {"$ne": 1}}, {"x": [1, 2]}, False),
    ({"x": {"$in": [1, None]}}, {}, True),
    ({"x": {"$in": [1, None]}}, {"x": 1}, True),
    ({"x": {"$in": [1, None]}}, {"x": 2}, False),
    ({"x": {"$nin": [1, None]}}, {}, False),
    ({"x": {"$nin": [1, None]}}, {"x": 2}, True),
    ({"x": {"$in": []}}, {"x": 1}, False),
    ({"x": {"$in": []}}, {}, False),
    ({"x": {"$nin": []}}, {"x": 1}, True),
    ({"x": {"$in": [1]}}, {"x": True}, False),
    ({"x": {"$in": [True]}}, {"x": 1}, False),
    ({"x": {"$in": [1.0]}}, {"x": 1}, True),
    ({"x": {"$in": ["a"]}}, {"x": ["b", "a"]}, True),
    ({"x": {"$in": [["a", "b"]]}}, {"x": ["a", "b"]}, True),
    ({"x": {"$in": [["a", "b"]]}}, {"x": ["a"]}, False),
    # Order within a kind only.
    ({"x": {"$gt": 1}}, {"x": 2}, True),
    ({"x": {"$gt": 1}}, {"x": 1}, False),
    ({"x": {"$gte": 1}}, {"x": 1.0}, True),
    ({"x": {"$gt": 1}}, {"x": "2"}, False),
    ({"x": {"$lt": "zzz"}}, {"x": 5}, False),
    ({"x": {"$lt": "zzz"}}, {"x": "a"}, True),
    ({"x": {"$gt": 0}}, {"x": True}, False),
    ({"x": {"$gte": 0}}, {}, False),
    ({"x": {"$lt": 5}}, {"x": {"a": 1}}, False),
    ({"x": {"$gt": 3}}, {"x": [1, 5]}, True),
    ({"x": {"$gt": 5}}, {"x": [1, 5]}, False),
    ({"x": {"$lte": 10**400}}, {"x": 1.5}, True),
    ({"date": {"$gte": "2024-02-01"}}, {"date": "2024-10-01"}, True),
    ({"x": {"$gte": 1, "$lt": 3}}, {"x": 2}, True),
    ({"x": {"$gte": 1, "$lt": 3}}, {"x": 3}, False),
    # Texts, letter by letter.
    ({"x": {"$contains": "TRIBUT"}}, {"x": "tributario"}, False),
    ({"x": {"$contains": "tribut"}}, {"x": "tributario"}, True),
    ({"x": {"$contains": "%"}}, {"x": "abc"}, False),
    ({"x": {"$contains": "_"}}, {"x": "a_c"}, True),
    ({"x": {"$contains": ""}}, {"x": "abc"}, True),
    ({"x": {"$contains": "2"}}, {"x": 2}, False),
    ({"x": {"$contains": "a"}}, {"x": ["a", "b"]}, True),
    ({"x": {"$contains": "a"}}, {"x": ["ab"]}, False),
    ({"x": {"$contains": 1}}, {"x": [True]}, False),
    ({"x": {"$contains": 1}}, {"x": [1.0]}, True),
    ({"x": {"$contains": "a"}}, {"x": {"a": 1}}, False),
    ({"x": {"$startswith": "a_"}}, {"x": "abc"}, False),
    ({"x": {"$startswith": "ab"}}, {"x": ["x", "abc"]}, True),
    ({"x": {"$endswith": "%"}}, {"x": "abc"}, False),
    ({"x": {"$endswith": "bc"}}, {"x": "abc"}, True),
    # Lists.
    ({"tags": ["a", "b"]}, {"tags": ["a", "b"]}, True),
    ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, False),
    ({"tags": ["a"]}, {"tags": [["a"], "b"]}, True),
    ({"tags": []}, {"tags": []}, True),
    ({"tags": []}, {}, False),
    ({"tags": "a"}, {"tags": ["a", "b"]}, True),
    ({"tags": 1}, {"tags": [True]}, False),
    # Names: literal first, then along the dots; any letters.
    ({"nest.k": 1}, {"nest": {"k": 1}}, True),
    ({"nest.k.j": 1}, {"nest": {"k": {"j": 1}}}, True),
    ({"nest.k": 1}, {"nest": 1}, False),
    ({"nest.k": None}, {"nest": {"j": 1}}, True),
    ({"a.b": 5}, {"a.b": 5}, True),
    ({"a.b": 5}, {"a.b": 6, "a": {"b": 5}}, False),
    ({"a.b": 5}, {"a.b": None, "a": {"b": 5}}, True),
    ({"número": 1}, {"número": 1}, True),
    ({"a-b": 1}, {"a-b": 1}, True),
    ({"a b": 1}, {"a b": 1}, True),
    ({".x": 1}, {".x": 1}, True),
    ({".x": 1}, {"": {"x": 1}}, True),
    ({"x'; DROP TABLE documents; --": 1}, {"x": 1}, False),
    # Logic.
    ({}, {"x": 1}, True),
    ({"x": {}}, {}, True),
    ({"$and": []}, {}, True),
    ({"$or": []}, {}, False),
    ({"$nor": []}, {}, True),
    ({"$not": {}}, {}, False),
    ({"$and": [{"x": 1}, {"y": 2}]}, {"x": 1, "y": 2}, True),
    ({"$and": [{"x": 1}, {"y": 2}]}, {"x": 1}, False),
    ({"$or": [{"x": 1}, {"y": 2}]}, {"y": 2}, True),
    ({"$nor": [{"x": 1}, {"y": 2}]}, {"x": 2}, True),
    ({"$nor": [{"x": 1}, {"y": 2}]}, {"y": 2}, False),
    ({"$not": {"x": 1}}, {}, True),
    ({"x": {"$not": {"$gt": 1}}}, {}, True),
    ({"x": {"$not": {"$gt": 1}}}, {"x": 2}, False),
    ({"x": {"$not": 1}}, {"x": 1}, False),
    ({"x": 1, "y": 2}, {"x": 1, "y": 3}, False),
    ({"$or": [{"x": at} for at in range(2_000)]}, {"x": 1_999}, True),
    ({"x": {"$in": list(range(40_000))}}, {"x": 39_999}, True),
    ({"@language": "pt"}, {"@language": "pt"}, True),
    ({"@id": {"$startswith": "docs/"}}, {"@id": "docs/a"}, True),
]


def by_columns(where: Where | None, record: dict[str, Any]) -> bool:
    fields = {one.field for one in conditions(where)}
    columns = Columns().fork(1, fields, [(1, {"x": "another", "tags": ["z"]}), (2, record)])
    return where is None or bool(columns.decide(where)[1])


@pytest.mark.parametrize(("raw", "record", "passes"), ANSWERS, ids=[f"{n}" for n in range(len(ANSWERS))])
def test_a_filter_has_one_answer(raw: dict[str, Any], record: dict[str, Any], passes: bool) -> None:
    where = parse(raw)

    assert matches(where, record) is passes
    assert by_columns(where, record) is passes


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_an_answer_here(operator: str) -> None:
    assert any(f"'{operator}'" in repr(raw) or operator == "$eq" for raw, _, _ in ANSWERS)


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        ([], "a filter is an object, got list", "For example"),
        ("x=1", "a filter is an object, got str", "For example"),
        (5, "a filter is an object, got int", "For example"),
        ({"x": {"$foo": 1}}, r"unknown name '\$foo'", "Known: $eq"),
        ({"x": {"$gtt": 1}}, r"unknown name '\$gtt'", "Did you mean $gt"),
        ({"x": {"$regex": "a"}}, r"unknown name '\$regex'", "Known"),
        ({"$xor": []}, r"unknown name '\$xor'", "Did you mean $"),
        ({"@lang": "pt"}, "unknown name '@lang'", "Did you mean @language?"),
        ({"nest": {"k": 1}}, "'nest' is compared with a mapping", '"nest.k"'),
        ({"x": {"$eq": {"a": 1}}}, "a mapping cannot be an operand", "dotted names"),
        ({"x": {"$in": "12"}}, r"\$in takes a list, got string", '{"$in": [...]}'),
        ({"x": {"$nin": None}}, r"\$nin takes a list, got null", "[...]"),
        ({"x": {"$exists": 1}}, r"\$exists takes true or false, got 1", "true"),
        ({"x": {"$gt": None}}, r"\$gt compares numbers or texts, got null", "number or a text"),
        ({"x": {"$gt": True}}, r"\$gt compares numbers or texts, got boolean", "number or a text"),
        ({"x": {"$lt": [1]}}, r"\$lt compares numbers or texts, got list", "number or a text"),
        ({"x": {"$startswith": 1}}, r"\$startswith takes a text, got number", "Quote"),
        ({"x": {"$endswith": None}}, r"\$endswith takes a text, got null", "Quote"),
        ({"x": float("nan")}, "nan is not a JSON number", "Leave it out"),
        ({"x": {"$in": [float("inf")]}}, "inf is not a JSON number", "Leave it out"),
        ({"x": b"a"}, "JSON values, got bytes", "ISO"),
        ({"x": {1, 2}}, "JSON values, got set", "ISO"),
        ({"$and": {"x": 1}}, r"\$and takes a list of filters, got mapping", '{"$and": [...]}'),
        ({"$or": [1]}, "a filter is an object, got number", "For example"),
        ({"$not": 5}, "a filter is an object, got number", "For example"),
        ({"$not": [{"x": 1}]}, "a filter is an object, got list", "For example"),
        ({"": 1}, "a field name is a non-empty text", "Quote"),
        ({1: 1}, "a field name is a non-empty text, got 1", "Quote"),
        ({"x": {5: 1}}, "compared with a mapping", "x.5"),
    ],
)
def test_what_is_no_filter_is_told_with_the_next_step(raw: Any, message: str, hint: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        parse(raw)

    assert hint in caught.value.hint


@pytest.mark.parametrize("raw", [None, {}])
def test_no_filter_lets_everything_pass(raw: dict[str, Any] | None) -> None:
    assert parse(raw) is None
    assert matches(None, {"x": 1})


@pytest.mark.parametrize("around", [lambda inner: {"$not": inner}, lambda inner: {"$and": [inner]}])
@pytest.mark.parametrize("deep", [MAX_DEPTH + 1, 3_000])
def test_a_filter_nested_too_deep_is_refused(around: Any, deep: int) -> None:
    raw: dict[str, Any] = {"x": 1}
    for _ in range(deep):
        raw = around(raw)

    with pytest.raises(QueryError, match="nested more than"):
        parse(raw)


@pytest.mark.parametrize("around", [lambda inner: {"$not": inner}, lambda inner: [inner]])
def test_a_condition_nested_too_deep_is_refused(around: Any) -> None:
    value: Any = 1
    for _ in range(3_000):
        value = around(value)

    with pytest.raises(QueryError, match="nested more than"):
        parse({"x": value})


def test_a_filter_nested_as_deep_as_allowed_is_read() -> None:
    raw: dict[str, Any] = {"x": 1}
    for _ in range(MAX_DEPTH - 1):
        raw = {"$not": raw}

    assert matches(parse(raw), {"x": 2})


# --- as people type it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("topic!=contratos", Condition("topic", "$ne", "contratos")),
        ("topic~contr", Condition("topic", "$contains", "contr")),
        ("name=João da Silva", Condition("name", "$eq", "João da Silva")),
        ('code="2020"', Condition("code", "$eq", "2020")),
        ("draft=true", Condition("draft", "$eq", True)),
        ("draft=null", Condition("draft", "$eq", None)),
        ("tags=[1, 2]", Condition("tags", "$eq", (1, 2))),
        ("@language=pt", Condition("@language", "$eq", "pt")),
        ("formula=a=b", Condition("formula", "$eq", "a=b")),
        ("note=", Condition("note", "$eq", "")),
        ("número=5º", Condition("número", "$eq", "5º")),
        ("n=" + "1" * 5_000, Condition("n", "$eq", "1" * 5_000)),
        ("n=" + "[" * 100_000, Condition("n", "$eq", "[" * 100_000)),
    ],
)
def test_a_short_filter_is_a_condition(text: str, condition: Condition) -> None:
    assert read(text) == condition


@pytest.mark.parametrize(
    ("text", "field", "operator", "number", "written"),
    [
        ("year=2020", "year", "$eq", 2020, "2020"),
        ("year = 2020", "year", "$eq", 2020, "2020"),
        ("  year>=2020  ", "year", "$gte", 2020, "2020"),
        ("year<=2020.5", "year", "$lte", 2020.5, "2020.5"),
        ("year>2020", "year", "$gt", 2020, "2020"),
        ("year<2020", "year", "$lt", 2020, "2020"),
        ("year==2020", "year", "$eq", 2020, "2020"),
        ("a.b=1", "a.b", "$eq", 1, "1"),
        ("code=0010", "code", "$eq", None, "0010"),
    ],
)
def test_a_typed_number_stands_for_the_number_and_for_the_text(
    text: str, field: str, operator: str, number: float | None, written: str
) -> None:
    as_text = Condition(field, operator, written)

    assert read(text) == (as_text if number is None else Some((Condition(field, operator, number), as_text)))


def test_a_typed_number_is_refused_both_ways() -> None:
    assert read("year!=2020") == Every((Condition("year", "$ne", 2020), Condition("year", "$ne", "2020")))


def test_a_filter_may_be_typed_as_json() -> None:
    assert read(' {"year": {"$gte": 2020}}') == Condition("year", "$gte", 2020)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "year",
        "=2020",
        "two words=1",
        "year={}",
        "{",
        '{"x":',
        '{"x": NaN}',
        '{"x": ' + "1" * 5_000 + "}",
        '{"x": ' + "[" * 100_000,
        "year=NaN",
        "year>true",
        "@lang=pt",
        "$and=1",
    ],
    ids=range(14),
)
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(text)

    assert caught.value.hint


def test_a_long_short_filter_costs_no_more_than_its_length() -> None:
    # A pattern that tries every way of sharing out the blanks would take minutes.
    assert read("x=a" + " " * 200_000 + "b") is not None


# --- the parsed form -----------------------------------------------------------------------------------------------


def test_a_filter_may_be_given_parsed() -> None:
    where = Every((Condition("x", "$gte", 1), Some((Not(Condition("y", "$in", [1, 2])),))))

    assert accept(where) == Every((Condition("x", "$gte", 1), Some((Not(Condition("y", "$in", (1, 2))),))))


@pytest.mark.parametrize(
    "where",
    [
        Condition("x", "$foo", 1),
        Condition("x", "$gt", None),
        Condition("", "$eq", 1),
        Condition("x", "$in", "ab"),
        Every((Condition("x", "$eq", float("nan")),)),
        Not(5),  # type: ignore[arg-type]
        [],
        "x=1",
    ],
)
def test_a_parsed_filter_is_held_to_the_same_rules(where: Any) -> None:
    with pytest.raises(QueryError):
        accept(where)
