"""Whatever the records and the filter: columns answer as the definition does, and reading never fails badly."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from estante.index.columns import Columns
from estante.index.conditions import OPERATORS, conditions, matches
from estante.index.filters import MAX_DEPTH, parse
from estante.model.asking import Every, Not, Some
from estante.model.errors import QueryError

NAMES = st.sampled_from(["x", "y", "a", "a.b", "a.b.c", "b", "é", "@id"])
# Few values, so that conditions are met: 1, 1.0 and True are one key to a dict and three values to a filter.
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, 0.5, -0.0, "", "a", "ab", "1", "é", 2**70])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["b", "c", "b.c"]), inner, max_size=2),
    max_leaves=5,
)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=5)
OPERANDS = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.lists(st.lists(SCALARS, max_size=2), max_size=2))


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    """An object of operators and operands that fit."""
    operator = draw(st.sampled_from(sorted(OPERATORS)))
    if operator in ("$in", "$nin"):
        return {operator: draw(st.lists(OPERANDS, max_size=4))}
    if operator == "$exists":
        return {operator: draw(st.booleans())}
    if operator in ("$gt", "$gte", "$lt", "$lte"):
        return {operator: draw(st.sampled_from([0, 1, 1.0, 0.5, 2**70, "", "a", "ab"]))}
    if operator in ("$startswith", "$endswith"):
        return {operator: draw(st.sampled_from(["", "a", "b", "é"]))}
    return {operator: draw(OPERANDS)}


def filters() -> st.SearchStrategy[dict[str, Any]]:
    one = st.dictionaries(NAMES, st.one_of(OPERANDS, conditions(), st.builds(dict, conditions())), max_size=2)
    return st.recursive(
        one,
        lambda inner: st.one_of(
            st.builds(
                lambda op, parts: {op: parts}, st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, max_size=3)
            ),
            st.builds(lambda part: {"$not": part}, inner),
        ),
        max_leaves=6,
    )


@given(st.lists(RECORDS, max_size=8), filters())
def test_columns_answer_as_the_definition(records: list[dict[str, Any]], raw: dict[str, Any]) -> None:
    where = parse(raw) or Every(())
    columns = Columns()
    for number, record in enumerate(records):
        columns.put(number, record)

    assert columns.decide(where).tolist() == [matches(where, record) for record in records]


@given(st.lists(st.tuples(st.integers(0, 4), RECORDS), max_size=12), st.integers(0, 12), filters())
def test_columns_answer_so_after_replacing_and_forking(
    puts: list[tuple[int, dict[str, Any]]], fork: int, raw: dict[str, Any]
) -> None:
    where = parse(raw) or Every(())
    columns, held, before = Columns(), dict[int, dict[str, Any]](), list[bool]()
    for at, (number, record) in enumerate(puts):
        if at == fork:
            first, columns = columns, columns.fork(1)
            before = first.decide(where).tolist()
        columns.put(number, record)
        held[number] = record

    decided = columns.decide(where)

    assert {number: bool(decided[at]) for number, at in columns.positions.items()} == {
        number: matches(where, record) for number, record in held.items()
    }
    if fork < len(puts):
        assert first.decide(where).tolist() == before


@given(RECORDS, filters())
def test_not_is_the_exact_opposite(record: dict[str, Any], raw: dict[str, Any]) -> None:
    assert matches(parse({"$not": raw}), record) is not matches(parse(raw), record)


@given(RECORDS, st.lists(filters(), max_size=3))
def test_nor_is_not_or_and_or_is_not_all_not(record: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    some = matches(parse({"$or": parts}), record)

    assert matches(parse({"$nor": parts}), record) is not some
    assert matches(parse({"$and": [{"$not": part} for part in parts]}), record) is not some


@given(RECORDS, NAMES, OPERANDS)
def test_ne_and_nin_are_the_opposites_of_eq_and_in(record: dict[str, Any], name: str, operand: object) -> None:
    def passes(operator: str, value: object) -> bool:
        return matches(parse({name: {operator: value}}), record)

    assert passes("$ne", operand) is not passes("$eq", operand)
    assert passes("$nin", [operand]) is not passes("$in", [operand])
    assert passes("$in", [operand]) is passes("$eq", operand)


JSON = st.recursive(
    st.one_of(SCALARS, st.floats(), st.text(max_size=4), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(NAMES, st.text(max_size=3), st.sampled_from(["$and", "$or", "$nor", "$not", *OPERATORS])),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=12,
)


@given(JSON, RECORDS)
def test_any_json_is_a_filter_that_answers_or_a_query_error(raw: Any, record: dict[str, Any]) -> None:
    try:
        where = parse(raw)
    except QueryError:
        return  # The other of the two that are allowed.

    assert matches(where, record) in (True, False)


@given(st.integers(1, 5_000), st.sampled_from(["$and", "$not", "value $not", "list"]))
def test_depth_is_refused_and_never_overflows(depth: int, kind: str) -> None:
    raw: Any = {"x": 1} if kind in ("$and", "$not") else 1
    for _ in range(depth):
        raw = {"$and": {"$and": [raw]}, "$not": {"$not": raw}, "value $not": {"$not": raw}, "list": [raw]}[kind]
    raw = raw if kind in ("$and", "$not") else {"x": raw}

    try:
        found = parse(raw)
    except QueryError:
        assert depth >= MAX_DEPTH - 1
    else:
        assert depth <= MAX_DEPTH
        assert matches(found, {"x": 1}) in (True, False)


@given(st.lists(st.one_of(st.integers(0, 50), st.booleans(), st.text(max_size=1)), max_size=30), RECORDS)
def test_a_condition_of_many_parts_is_that_of_its_parts(values: list[Any], record: dict[str, Any]) -> None:
    one_by_one = Some(tuple(parse({"x": value}) for value in values))  # type: ignore[misc]

    assert matches(parse({"x": {"$in": values}}), record) is matches(one_by_one, record)
    assert matches(Not(one_by_one), record) is matches(parse({"x": {"$nin": values}}), record)
