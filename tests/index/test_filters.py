"""How a filter is written, and what a wrong one is told."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from estante.index.conditions import matches
from estante.index.filters import MAX_CONDITIONS, MAX_DEPTH, accept, parse, read
from estante.model.asking import Condition, Every, Not, Some
from estante.model.errors import QueryError


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        ([], "a filter is an object, got list", "For example"),
        ("x=1", "a filter is an object, got str", "For example"),
        (5, "a filter is an object, got int", "For example"),
        ({"x": {"$foo": 1}}, r"^where\.x\.\$foo: unknown operator '\$foo'", "Known: $eq"),
        ({"x": {"$gtt": 1}}, r"unknown operator '\$gtt'", "Did you mean $gt"),
        ({"x": {"$GTE": 1}}, r"unknown operator '\$GTE'", "Did you mean $gte?"),
        ({"x": {"$regex": "a"}}, r"unknown operator '\$regex'", "Known"),
        ({"x": {"$elemMatch": {}}}, r"unknown operator '\$elemMatch'", "Did you mean $any?"),
        ({"x": {"$nearest": []}}, r"unknown operator '\$nearest'", "Known"),
        ({"$gte": 5}, r"^where: \$gte stands where a field is due", '{"field": {"$gte": ...}}'),
        ({"$price": 5}, r"unknown name '\$price'", "A field of that name is written '$price'."),
        ({"@modified": 5}, "unknown name '@modified'", "Did you mean @added?"),
        ({"@nothing": 5}, "unknown name '@nothing'", "Known: @id, @uri"),
        ({"x": {"$any": {"@id": 1}}}, r"^where\.x\.\$any: unknown name '@id'", "an element has none"),
        ({"'a": 5}, '^where: a quoted name does not end: "\'a"', "write ''"),
        ({"'a'b": 5}, "a quoted name is followed by a dot or by nothing", "write ''"),
        ({"a.'b": 5}, "a quoted name does not end", "write ''"),
        ({"x" * 1_001: 5}, "a field name of 1,001 characters", "the field that is meant"),
        ({"\0": 5}, "a field name is a non-empty text", "Quote"),
        ({"$xor": []}, r"unknown name '\$xor'", "Did you mean $"),
        ({"@lang": "pt"}, "unknown name '@lang'", "Did you mean @language?"),
        ({"nest": {"k": 1}}, r"^where\.nest: it is compared with a mapping", '"nest.k"'),
        ({"x": {"$eq": {"a": 1}}}, "a mapping cannot be an operand", "dotted names"),
        ({"x": {"$in": "12"}}, r"\$in takes a list, got string", '{"$in": [...]}'),
        ({"x": {"$nin": None}}, r"\$nin takes a list, got null", "[...]"),
        ({"x": {"$exists": 1}}, r"\$exists takes true or false, got 1", "true"),
        ({"x": {"$gt": None}}, r"\$gt compares numbers or texts, got null", "a number, a text or a date"),
        ({"x": {"$gt": True}}, r"\$gt compares numbers or texts, got boolean", "a number, a text or a date"),
        ({"x": {"$lt": [1]}}, r"\$lt compares numbers or texts, got list", "a number, a text or a date"),
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
        ({"x": {"$all": "ab"}}, r"^where\.x\.\$all: \$all takes a list, got string", "[...]"),
        ({"x": {"$any": "ab"}}, r"^where\.x\.\$any: \$any takes a list, got string", "[...]"),
        ({"x": {"$size": True}}, r"\$size takes a whole number from 0, got True", '{"$size": 2}'),
        ({"x": {"$size": -1}}, r"\$size takes a whole number from 0, got -1", '{"$size": 2}'),
        ({"x": {"$size": 1.0}}, r"\$size takes a whole number from 0, got 1.0", '{"$size": 2}'),
        ({"x": {"$in": {1, 2}}}, r"\$in takes a list, got set", "[...]"),
        ({"x": {"$in": [1, b"a"]}}, r"^where\.x\.\$in\[1\]: a filter holds JSON values", "ISO"),
        ({"$or": [{"x": 1}, {}, {"year": {"$gt": []}}]}, r"^where\.\$or\[2\]\.year\.\$gt: ", "a number"),
        ({"$not": {"$nor": [{"x": {"$not": {"$lt": None}}}]}}, r"^where\.\$not\.\$nor\[0\]\.x\.\$not\.\$lt: ", "text"),
        ({"x": {"$exists": 10**5_000}}, "got a very large number", "true"),
        ({"x": {"$exists": "a" * 500}}, "got 'a{59}…'", "true"),
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


def test_a_filter_of_too_many_conditions_or_values_is_refused() -> None:
    many = [{"x": at} for at in range(MAX_CONDITIONS)]
    assert parse({"$or": many}) is not None

    with pytest.raises(QueryError, match=r"^where: more than 10,000 conditions"):
        parse({"$or": [*many, {"x": 0}]})
    with pytest.raises(QueryError, match=r"^where: more than 1,000,000 values"):
        parse({"x": {"$in": [0] * 600_000}, "y": {"$in": ["a"] * 400_001}})


def test_names_and_texts_are_read_in_the_spelling_of_metadata() -> None:
    assert parse({"e\u0301": "a\u0301\r\n"}) == Condition("é", "$eq", "á\n")
    assert parse({"x": {"$in": ["a\r\n", "b\0"]}}) == Condition("x", "$in", ("a\n", "b"))


def test_dates_and_numbers_of_other_types_are_read_as_metadata_keep_them() -> None:
    assert parse({"x": {"$gte": datetime.date(2024, 3, 5)}}) == Condition("x", "$gte", "2024-03-05")
    assert parse({"x": {"$in": [np.int64(3), np.float32(0.5)]}}) == Condition("x", "$in", (3, 0.5))
    assert parse({"x": datetime.time(9, 30)}) == Condition("x", "$eq", "09:30:00")


# --- as people type it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("topic!=contratos", Condition("topic", "$ne", "contratos")),
        ("name=João da Silva", Condition("name", "$eq", "João da Silva")),
        ('code="2020"', Condition("code", "$eq", "2020")),
        ("draft=true", Condition("draft", "$eq", True)),
        ("draft=null", Condition("draft", "$eq", None)),
        ("tags=[1, 2]", Condition("tags", "$eq", (1, 2))),
        ("@language=pt", Condition("@language", "$eq", "pt")),
        ("formula=a=b", Condition("formula", "$eq", "a=b")),
        ("note=", Condition("note", "$eq", "")),
        ("'a b'=x", Condition("'a b'", "$eq", "x")),
        ("'a>=b'.c>=x", Condition("'a>=b'.c", "$gte", "x")),
        ("a.'b=c'!=x", Condition("a.'b=c'", "$ne", "x")),
        ("it's=x", Condition("it's", "$eq", "x")),
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


@pytest.mark.parametrize(
    ("held", "passes"),
    [
        ("contratos", True),
        (["férias", "contratos"], True),
        (["rh"], False),
        (5, False),
        (None, False),
    ],
)
def test_a_typed_part_of_a_text_is_looked_for_in_lists_of_texts_too(held: object, passes: bool) -> None:
    assert matches(read("topic~contr"), {"topic": held}) is passes


def test_a_typed_filter_that_is_wrong_is_told_as_it_was_typed() -> None:
    with pytest.raises(QueryError, match=r"^where: unknown name '@pages'"):
        read("@pages=2")


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
        "'a=1",
        "'a' b=1",
    ],
    ids=range(16),
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
    "raw",
    [
        {"x": {"$any": {"$not": {"$gt": 1}}}},
        {"x": {"$any": {"$not": {"y": 1}}}},
        {"x": {"$any": {"$gt": 1, "$lt": 3}}},
        {"x": {"$any": {"y": 1, "$or": [{"z": {"$any": {"$eq": 2}}}]}}},
    ],
)
def test_the_parsed_form_is_read_as_it_is(raw: dict[str, Any]) -> None:
    assert accept(parse(raw)) == parse(raw)


@pytest.mark.parametrize(
    "where",
    [
        Condition("x", "$foo", 1),
        Condition("x", "$gt", None),
        Condition("", "$eq", 1),
        Condition("x", "$in", "ab"),
        Condition("x", "$any", Condition("@id", "$eq", 1)),
        Condition("x", "$any", Condition("y", "$foo", 1)),
        Condition("x", "$all", Condition("y", "$eq", 1)),
        Every((Condition("x", "$eq", float("nan")),)),
        Not(5),  # type: ignore[arg-type]
        [],
        "x=1",
    ],
)
def test_a_parsed_filter_is_held_to_the_same_rules(where: Any) -> None:
    with pytest.raises(QueryError):
        accept(where)
