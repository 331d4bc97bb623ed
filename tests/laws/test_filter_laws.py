"""Whatever the records and the filter: columns answer as the definition does, and reading never fails badly."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from estante.index import dates
from estante.index.columns import Columns
from estante.index.conditions import OPERATORS, conditions, matches, prepared
from estante.index.filters import MAX_DEPTH, parse
from estante.model.asking import Every, Not, Some, Where
from estante.model.errors import QueryError

NAMES = st.sampled_from(["x", "y", "a", "a.b", "a.b.c", "b", "é", "@id"])
DATES = st.sampled_from(
    [
        "2024",
        "2024-03",
        "2024-03-05",
        "2024-03-05T12:00Z",
        "2024-03-05T09:00:00-03:00",
        "2024-02-30",
        "2023-12-31 23:59",
    ]
)
# Few values, so that conditions are met: 1, 1.0 and True are one key to a dict and three values to a filter.
SCALARS = st.one_of(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2, 0.5, -0.0, "", "a", "ab", "1", "é", 2**70, 2.0**53, 2**53 + 1]),
    DATES,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["b", "c", "b.c"]), inner, max_size=2),
    max_leaves=5,
)
FIELDS = NAMES | st.sampled_from(["'a.b'", "'a'.b", "a.'b.c'", "'@id'", "y.b"])
RECORDS = st.dictionaries(NAMES, VALUES, max_size=5)
OPERANDS = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.lists(st.lists(SCALARS, max_size=2), max_size=2))


@st.composite
def asked(draw: st.DrawFn) -> dict[str, Any]:
    """An object of operators and operands that fit."""
    operator = draw(st.sampled_from(sorted(OPERATORS)))
    if operator in ("$in", "$nin", "$all", "$any"):
        return {operator: draw(st.lists(OPERANDS, max_size=4))}
    if operator == "$size":
        return {operator: draw(st.integers(0, 3))}
    if operator == "$exists":
        return {operator: draw(st.booleans())}
    if operator in ("$gt", "$gte", "$lt", "$lte"):
        return {operator: draw(st.sampled_from([0, 1, 1.0, 0.5, 2**70, 2**53, 2.0**53, "", "a", "ab"]) | DATES)}
    if operator in ("$startswith", "$endswith"):
        return {operator: draw(st.sampled_from(["", "a", "b", "é"]))}
    return {operator: draw(OPERANDS)}


def filters() -> st.SearchStrategy[dict[str, Any]]:
    inner = st.one_of(
        asked(),
        st.dictionaries(st.sampled_from(["b", "c", "'b.c'"]), OPERANDS | asked(), max_size=2),
        st.builds(lambda test: {"$not": test}, asked()),
    )
    one = st.dictionaries(
        FIELDS, st.one_of(OPERANDS, asked(), st.builds(lambda test: {"$any": test}, inner)), max_size=2
    )
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


def fields_of(where: Where) -> set[str]:
    return {one.field for one in conditions(where)}


@given(st.lists(RECORDS, max_size=8), filters())
def test_columns_answer_as_the_definition(records: list[dict[str, Any]], raw: dict[str, Any]) -> None:
    where = parse(raw) or Every(())
    columns = Columns().fork(1, fields_of(where), enumerate(records))

    answers = [matches(where, record) for record in records]
    assert columns.decide(where).tolist() == answers
    assert list(map(prepared(where), records)) == answers


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), RECORDS), max_size=5), max_size=4), filters(), filters())
def test_columns_answer_so_after_changes_and_for_other_filters(
    changes: list[list[tuple[int, dict[str, Any]]]], raw: dict[str, Any], later: dict[str, Any]
) -> None:
    where, other = parse(raw) or Every(()), parse(later) or Every(())
    columns, held = Columns(), dict[int, dict[str, Any]]()
    seen: list[tuple[Columns, list[bool]]] = []
    for version, changed in enumerate(changes):
        held |= dict(changed)
        columns = columns.fork(version, fields_of(where), changed if version else list(held.items()))
        seen.append((columns, columns.decide(where).tolist()))
        assert {number: seen[-1][1][at] for number, at in columns.positions.items()} == {
            number: matches(where, record) for number, record in held.items()
        }
    columns = columns.fork(9, fields_of(other), held.items())

    assert {number: columns.decide(other).tolist()[at] for number, at in columns.positions.items()} == {
        number: matches(other, record) for number, record in held.items()
    }
    for one, answers in seen:
        assert one.decide(where).tolist() == answers


MOMENTS = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 28))


@given(MOMENTS, MOMENTS, st.booleans(), st.booleans())
@example(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1), True, False)
def test_dates_compare_as_the_calendar_does(
    left: datetime.datetime, right: datetime.datetime, whole: bool, other: bool
) -> None:
    texts = [(one.date() if days else one).isoformat() for one, days in ((left, whole), (right, other))]
    first, second = [one.date() if whole or other else one for one in (left, right)]
    read = [dates.read(text) for text in texts]

    assert read[0] is not None
    assert read[1] is not None
    assert read[0].against(read[1]) == (first > second) - (first < second)
    assert matches(parse({"x": {"$lte": texts[1]}}), {"x": texts[0]}) is (first <= second)


@given(MOMENTS, st.integers(-1_439, 1_439), MOMENTS, st.integers(-1_439, 1_439))
def test_moments_compare_in_utc(left: datetime.datetime, east: int, right: datetime.datetime, west: int) -> None:
    zones = [datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in (east, west)]
    first, second = left.replace(tzinfo=zones[0]), right.replace(tzinfo=zones[1])

    assert matches(parse({"x": {"$gt": second}}), {"x": first.isoformat()}) is (first > second)


@given(st.text("0123456789-T: Z+.,", max_size=24))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = dates.read(text)

    assert found is None or found.against(found) == 0


@given(RECORDS, filters())
def test_not_is_the_exact_opposite(record: dict[str, Any], raw: dict[str, Any]) -> None:
    assert matches(parse({"$not": raw}), record) is not matches(parse(raw), record)


@given(RECORDS, NAMES, st.lists(OPERANDS, max_size=3))
def test_all_is_every_eq_and_any_is_some_eq(record: dict[str, Any], name: str, operands: list[Any]) -> None:
    each = [matches(parse({name: {"$eq": operand}}), record) for operand in operands]

    assert matches(parse({name: {"$all": operands}}), record) is all(each)
    assert matches(parse({name: {"$any": operands}}), record) is any(each)


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
    assert passes("$any", [operand]) is passes("$all", [operand]) is passes("$eq", operand)


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
