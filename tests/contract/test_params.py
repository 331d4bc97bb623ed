"""Parameters: what a schema may say, what it accepts, and that no message holds a secret."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.params import (
    PARAM_KEYS,
    PARAM_TYPES,
    ParamField,
    ParamsError,
    param_from_text,
    schema_problems,
    validate_params,
)

SCHEMA: list[ParamField] = [
    {"name": "mode", "label": "Mode", "type": "enum", "choices": ["local", "remote"], "default": "local"},
    {"name": "home", "label": "Folder", "type": "path", "required": True},
    {"name": "top", "type": "integer", "minimum": 1, "maximum": 100, "default": 10},
    {"name": "weight", "type": "number", "minimum": 0},
    {"name": "exact", "type": "boolean"},
    {"name": "collection", "type": "string", "pattern": "[a-z]+"},
    {"name": "url", "type": "string", "required": True, "when": {"mode": "remote"}},
    {"name": "token", "type": "secret", "env": "WIKI_TOKEN", "when": {"mode": ["remote"]}},
    {"name": "headers", "type": "any"},
]


def problems(values: dict[str, Any], schema: list[ParamField] = SCHEMA, **options: Any) -> dict[str, str]:
    with pytest.raises(ParamsError) as caught:
        validate_params(schema, values, **options)
    return {one.name: one.message for one in caught.value.problems}


def faults(*fields: Any) -> list[str]:
    return [str(one) for one in schema_problems(list(fields))]


# --- values -----------------------------------------------------------------------------------------------------


def test_values_of_the_right_types_are_given_back_in_the_order_of_the_schema() -> None:
    values = {"headers": [1], "exact": False, "weight": 0.5, "collection": "leis", "top": 7, "home": "/srv"}

    found = validate_params(SCHEMA, values)

    assert list(found) == ["mode", "home", "top", "weight", "exact", "collection", "headers"]
    assert found == {**values, "mode": "local"}


def test_defaults_are_filled_in_and_nothing_else_is() -> None:
    assert validate_params(SCHEMA, {"home": "/srv"}) == {"mode": "local", "home": "/srv", "top": 10}


def test_a_default_is_a_copy() -> None:
    schema: list[ParamField] = [{"name": "headers", "type": "any", "default": {"a": [1]}}]

    validate_params(schema, {})["headers"]["a"].append(2)

    assert schema[0]["default"] == {"a": [1]}


def test_none_counts_as_not_given() -> None:
    assert validate_params(SCHEMA, {"home": "/srv", "top": None})["top"] == 10
    assert problems({"home": None}) == {"home": "is required"}


def test_all_problems_are_told_at_once() -> None:
    found = problems({"top": 0, "weight": -1, "exact": 1, "collection": "Leis", "mode": "lokal", "tpo": 5})

    assert set(found) == {"mode", "home", "top", "weight", "exact", "collection", "tpo"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("top", "7", "must be a whole number, not '7'"),
        ("top", 7.0, "must be a whole number, not 7.0"),
        ("top", True, "must be a whole number, not True"),
        ("top", 101, "is 101, and must be at most 100"),
        ("top", 0, "is 0, and must be at least 1"),
        ("weight", float("nan"), "must be a number, not nan"),
        ("weight", float("inf"), "must be a number, not inf"),
        ("weight", False, "must be a number, not False"),
        ("exact", 1, "must be true or false, not 1"),
        ("exact", "true", "must be true or false, not 'true'"),
        ("collection", 5, "must be a text, not 5"),
        ("collection", "leis\n", "is 'leis\\n', and must be of another form, by the pattern [a-z]+"),
        ("collection", "\ud800", "must be a text, not '\\ud800'"),
        ("home", "a\0b", "must be a path as text, not 'a\\x00b'"),
        ("mode", "remoto", "is 'remoto', and must be one of 'local', 'remote'; did you mean 'remote'?"),
        ("mode", ["local"], "must be one of its choices, not ['local']"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_would(name: str, value: object, message: str) -> None:
    assert problems({"home": "/srv", name: value})[name] == message


def test_a_long_value_is_told_in_part() -> None:
    assert len(problems({"home": "/srv", "collection": "X" * 10_000})["collection"]) < 120


def test_an_unknown_parameter_is_told_with_the_nearest_one() -> None:
    found = problems({"home": "/srv", "colection": "leis", "zzz": 1})

    assert found == {"colection": "is no parameter; did you mean 'collection'?", "zzz": "is no parameter"}


def test_unknown_parameters_are_handed_on_where_they_may_be() -> None:
    found = validate_params(SCHEMA, {"home": "/srv", "other": 1}, unknown=True)

    assert (list(found)[-1], found["other"]) == ("other", 1)


def test_a_required_text_may_not_be_blank() -> None:
    assert problems({"home": " \t"}) == {"home": "is required"}


def test_an_optional_text_may_be_blank() -> None:
    assert validate_params([{"name": "note"}], {"note": ""}) == {"note": ""}


def test_a_required_parameter_with_a_default_need_not_be_given() -> None:
    assert validate_params([{"name": "a", "required": True, "default": "x"}], {}) == {"a": "x"}


def test_a_blank_default_does_not_fill_in_what_is_required() -> None:
    assert problems({}, [{"name": "a", "required": True, "default": ""}]) == {"a": "is required"}


def test_before_a_data_set_is_chosen_a_required_parameter_may_be_missing() -> None:
    assert validate_params(SCHEMA, {}, partial=True) == {"mode": "local", "top": 10}


def test_a_path_may_be_given_as_one_and_comes_out_as_text() -> None:
    assert validate_params(SCHEMA, {"home": Path("/srv/docs")})["home"] == str(Path("/srv/docs"))


def test_true_is_not_the_choice_one() -> None:
    schema: list[ParamField] = [{"name": "bits", "type": "enum", "choices": [1, 8]}]

    assert validate_params(schema, {"bits": 1}) == {"bits": 1}
    assert "bits" in problems({"bits": True}, schema)


def test_parameters_that_are_no_object_are_refused() -> None:
    with pytest.raises(ParamsError, match="not a list"):
        validate_params(SCHEMA, [])  # type: ignore[arg-type]


def test_the_values_given_are_not_changed() -> None:
    values = {"home": "/srv"}

    validate_params(SCHEMA, values)

    assert values == {"home": "/srv"}


# --- conditions -------------------------------------------------------------------------------------------------


def test_a_parameter_that_applies_is_required() -> None:
    assert problems({"home": "/srv", "mode": "remote"}) == {"url": "is required"}


def test_a_parameter_that_does_not_apply_must_be_left_out() -> None:
    found = problems({"home": "/srv", "url": "https://example.org"})

    assert found == {"url": "applies only when 'mode' is 'remote'; leave it out"}


def test_a_default_counts_when_a_condition_is_decided() -> None:
    schema: list[ParamField] = [
        {"name": "exact", "type": "boolean", "default": True},
        {"name": "depth", "type": "integer", "default": 3, "when": {"exact": True}},
    ]

    assert validate_params(schema, {}) == {"exact": True, "depth": 3}
    assert validate_params(schema, {"exact": False}) == {"exact": False}


def test_nothing_is_said_about_a_parameter_whose_condition_is_faulty() -> None:
    assert set(problems({"home": "/srv", "mode": "remoto", "url": "https://example.org"})) == {"mode"}


# --- secrets ----------------------------------------------------------------------------------------------------

REMOTE = {"home": "/srv", "mode": "remote", "url": "https://example.org"}


@pytest.mark.parametrize("reference", ["env:WIKI_TOKEN", "file:/run/secrets/wiki"])
def test_a_secret_is_given_as_a_reference(reference: str) -> None:
    assert validate_params(SCHEMA, {**REMOTE, "token": reference})["token"] == reference


@pytest.mark.parametrize(
    "given", ["env:", "env:A-B", "env:WIKI_TOKEN\n", "env:É", "file:relative", "file:", "file:/a\n"]
)
def test_what_only_looks_like_a_reference_is_refused(given: str) -> None:
    assert problems({**REMOTE, "token": given})["token"].startswith("must be a reference, env:NAME")


@pytest.mark.parametrize("given", ["tr0ub4dor&3", 471147, ["tr0ub4dor&3"]])
def test_a_secret_itself_is_refused_and_not_repeated(given: object) -> None:
    message = problems({**REMOTE, "token": given})["token"]

    assert message == "must be a reference, env:NAME or file:/absolute/path, never the secret itself"


def test_a_value_that_may_be_a_secret_is_not_repeated() -> None:
    schema: list[ParamField] = [
        {"name": "api_key", "type": "string", "pattern": "[0-9]+"},
        {"name": "pin_password", "type": "integer", "maximum": 9},
        {"name": "url", "type": "string", "pattern": "https:.*"},
    ]

    with pytest.raises(ParamsError) as caught:
        validate_params(
            schema, {"api_key": "hunter2", "pin_password": 471147, "url": "postgres://me:s3cr3tpw@db.example.org"}
        )

    assert len(caught.value.problems) == 3
    for secret in ("hunter2", "471147", "s3cr3tpw"):
        assert secret not in str(caught.value)


# --- variables --------------------------------------------------------------------------------------------------


def test_a_variable_stands_in_for_a_value_that_is_not_given() -> None:
    schema: list[ParamField] = [
        {"name": "top", "type": "integer", "env": "TOP", "default": 10},
        {"name": "exact", "type": "boolean", "env": "EXACT"},
    ]
    environ = {"TOP": "7", "EXACT": "true"}

    assert validate_params(schema, {}, environ=environ) == {"top": 7, "exact": True}
    assert validate_params(schema, {"top": 3}, environ=environ)["top"] == 3
    assert validate_params(schema, {}, environ={"TOP": ""}) == {"top": 10}


def test_the_variable_of_a_secret_becomes_a_reference() -> None:
    found = validate_params(SCHEMA, REMOTE, environ={"WIKI_TOKEN": "hunter2"})

    assert found["token"] == "env:WIKI_TOKEN"


def test_a_variable_that_does_not_fit_is_named() -> None:
    schema: list[ParamField] = [{"name": "top", "type": "integer", "env": "TOP"}]

    assert problems({}, schema, environ={"TOP": "many"})["top"].endswith("not 'many' (from the variable TOP)")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "7", "7"),
        ("integer", "-7", -7),
        ("number", "7", 7),
        ("number", "-0.5e3", -500.0),
        ("boolean", "False", False),
        ("path", "/srv", "/srv"),
        ("secret", "env:A", "env:A"),
        ("any", '{"a": 1}', {"a": 1}),
        ("enum", "8", 8),
    ],
)
def test_a_text_is_read_by_the_type(kind: str, text: str, value: object) -> None:
    assert param_from_text({"name": "a", "type": kind, "choices": [1, 8]}, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [("integer", "7.0"), ("integer", "٧"), ("integer", "1_0"), ("number", "nan"), ("boolean", "1"), ("any", "{")],
)
def test_a_text_that_means_no_value_of_the_type_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ParamsError, match="must be"):
        param_from_text({"name": "a", "type": kind}, text)


# --- schemas ----------------------------------------------------------------------------------------------------


def test_the_old_five_keys_are_a_schema() -> None:
    old = {"name": "a", "label": "A", "type": "string", "required": True, "default": ""}

    assert faults(old, {"name": "b"}) == []


def test_every_key_and_every_type_has_a_use_here() -> None:
    assert {key for field in SCHEMA for key in field} | {"help", "placeholder"} == set(PARAM_KEYS)
    assert {field["type"] for field in SCHEMA} == set(PARAM_TYPES)
    assert faults(*SCHEMA) == []


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("a", "field 0: is no object with a name"),
        ({}, "field 0: is no object with a name"),
        ({"name": "a b"}, "field 0: is no object with a name"),
        ({"name": "a\n"}, "field 0: is no object with a name"),
        ({"name": "a", "type": "strin"}, "did you mean 'string'?"),
        ({"name": "a", "type": ["string"]}, "must have one of"),
        ({"name": "a", "requird": True}, "has the unknown key 'requird'; did you mean 'required'?"),
        ({"name": "a", "required": "yes"}, "neither true nor false"),
        ({"name": "a", "label": 5}, "has a label that is no text"),
        ({"name": "a", "type": "enum"}, "has no choices"),
        ({"name": "a", "type": "enum", "choices": []}, "has no choices"),
        ({"name": "a", "type": "enum", "choices": "ab"}, "has no choices"),
        ({"name": "a", "type": "enum", "choices": ["x", 1.5]}, "has the choice 1.5"),
        ({"name": "a", "type": "enum", "choices": ["1", 1]}, "has a choice twice"),
        ({"name": "a", "choices": ["x"]}, "'choices', which a parameter of type 'string' cannot have"),
        ({"name": "a", "minimum": 1}, "'minimum', which a parameter of type 'string' cannot have"),
        ({"name": "a", "type": "integer", "pattern": "x"}, "'pattern', which"),
        ({"name": "a", "type": "integer", "minimum": True}, "is no number"),
        ({"name": "a", "type": "integer", "minimum": 2, "maximum": 1}, "has a minimum above its maximum"),
        ({"name": "a", "pattern": "("}, "no regular expression"),
        ({"name": "a", "env": "A-B"}, "no variable can be named"),
        ({"name": "a", "type": "integer", "default": "1"}, "has a default that must be a whole number"),
        ({"name": "a", "type": "secret", "default": "hunter2"}, "has a default that must be a reference"),
        ({"name": "a", "when": "b"}, "has a when that is no object"),
        ({"name": "a", "when": {"b": 1}}, "names 'b', which is no parameter above it"),
        ({"name": "a", "when": {"a": 1}}, "names 'a', which is no parameter above it"),
    ],
)
def test_a_fault_of_a_field_is_found(field: Any, message: str) -> None:
    [told] = faults(field)

    assert message in told


def test_a_key_of_the_authors_own_is_no_fault() -> None:
    assert faults({"name": "a", "x_widget": "slider"}) == []


def test_a_name_declared_twice_is_a_fault() -> None:
    assert faults({"name": "a"}, {"name": "a"}) == ["a: is declared twice"]


@pytest.mark.parametrize("wanted", ["lokal", [], ["local", 5]])
def test_a_condition_that_can_never_be_is_a_fault(wanted: object) -> None:
    [told] = faults({"name": "mode", "type": "enum", "choices": ["local"]}, {"name": "a", "when": {"mode": wanted}})

    assert "a when that can never be" in told


@pytest.mark.parametrize("schema", [None, "a", 5, {"name": "a"}])
def test_a_schema_that_is_no_list_is_a_fault(schema: object) -> None:
    assert "a schema is a list of fields" in str(schema_problems(schema)[0])


def test_values_are_not_checked_against_a_faulty_schema() -> None:
    with pytest.raises(ParamsError, match="their schema is faulty: a: has no choices"):
        validate_params([{"name": "a", "type": "enum"}], {"a": 1})


def test_the_error_is_a_registration_error_and_survives_pickling() -> None:
    with pytest.raises(ParamsError) as caught:
        validate_params(SCHEMA, {})

    assert isinstance(caught.value, ConnectorRegistrationError)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


# --- laws -------------------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.sampled_from([*PARAM_KEYS, "x_", "q"]), JUNK, max_size=8) | JUNK, max_size=4))
def test_no_schema_makes_the_check_of_it_fail(schema: list[Any]) -> None:
    schema_problems(schema)


@given(st.dictionaries(st.sampled_from([*(field["name"] for field in SCHEMA), "q"]), JUNK))
def test_values_are_accepted_as_they_are_or_refused_with_problems(values: dict[str, Any]) -> None:
    try:
        found = validate_params(SCHEMA, values)
    except ParamsError:
        assert problems(values)
    else:
        assert all(found[name] is value for name, value in values.items() if value is not None)
        assert validate_params(SCHEMA, found) == found


@pytest.mark.parametrize(("given_", "meant"), [("cosine", "cosine_distance"), ("l2", "l2_distance"), ("nome", "none")])
def test_a_word_that_is_cut_short_means_what_begins_with_it(given_: str, meant: str) -> None:
    choices = ["similarity", "cosine_distance", "l2_distance", "none"]

    with pytest.raises(ParamsError, match=f"did you mean '{meant}'"):
        validate_params([{"name": "kind", "type": "enum", "choices": choices}], {"kind": given_})
