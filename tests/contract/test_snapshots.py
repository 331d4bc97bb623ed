"""Run snapshots: their shape, that they are strict JSON, small and free of secrets, and their fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorContractError
from estante.contract.snapshots import RUN_SNAPSHOT_MAX_BYTES, run_snapshot_fingerprint, validate_run_snapshot

DEMO = {
    "schema": "demo.run-snapshot.v1",
    "settings": {"strategy": "hybrid"},
    "observations": {"indexed_chunks": 3},
}
DEMO_SHA256 = "9d420388a63475deff290379cec0d5c1d11d21e3028e73e3531dcedde16992c1"


def snapshot(**fields: object) -> dict[str, Any]:
    return {"schema": "demo.v1", "settings": {}, "observations": {}, **fields}


def refused(value: object) -> str:
    """What the check says of a snapshot that it refuses."""
    with pytest.raises(ConnectorContractError) as caught:
        validate_run_snapshot(value)
    with pytest.raises(ConnectorContractError):
        run_snapshot_fingerprint(value)
    return str(caught.value)


# --- shape ---------------------------------------------------------------------------------------------------------


def test_a_snapshot_comes_back_as_it_is() -> None:
    assert validate_run_snapshot(DEMO) == DEMO


def test_what_comes_back_shares_nothing_with_the_original() -> None:
    original = snapshot(settings={"list": [1]})

    checked = validate_run_snapshot(original)
    checked["settings"]["list"].append(2)

    assert original["settings"] == {"list": [1]}


def test_keys_come_back_sorted_tuples_as_lists_and_other_keys_as_texts() -> None:
    checked = validate_run_snapshot(snapshot(extra={2: (1, (2,))}))

    assert list(checked) == ["extra", "observations", "schema", "settings"]
    assert checked["extra"] == {"2": [1, [2]]}


def test_another_kind_of_dict_is_a_dict() -> None:
    assert validate_run_snapshot(OrderedDict(DEMO)) == DEMO


@pytest.mark.parametrize("value", [None, 5, "{}", [], [DEMO], MappingProxyType(DEMO)], ids=repr)
def test_what_is_no_dict_is_refused(value: object) -> None:
    assert "not dict" in refused(value)


@pytest.mark.parametrize("schema", [None, "", " \n", 1, ["a"]], ids=repr)
def test_a_schema_must_be_a_text(schema: object) -> None:
    assert "'schema'" in refused(snapshot(schema=schema))


@pytest.mark.parametrize("section", ["settings", "observations"])
@pytest.mark.parametrize("value", [None, [], "x", 1, MappingProxyType({})], ids=repr)
def test_each_section_must_be_an_object(section: str, value: object) -> None:
    assert repr(section) in refused(snapshot(**{section: value}))


def test_an_empty_snapshot_is_refused_with_all_that_is_missing() -> None:
    told = refused({})

    assert all(name in told for name in ("'schema'", "'settings'", "'observations'"))


def test_all_problems_are_told_at_once() -> None:
    told = refused({"schema": "", "settings": {"api_key": "hunter2"}, "observations": []})

    assert all(name in told for name in ("'schema'", "settings.api_key", "'observations'"))
    assert "hunter2" not in told


# --- secrets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"settings": {"auth": {"api_key": "hunter2"}}}, "settings.auth.api_key"),
        ({"observations": {"headers": [{"x-secret-header": "hunter2"}]}}, "observations.headers[0].x-secret-header"),
        ({"settings": {"senha": "hunter2"}}, "settings.senha"),
        ({"token": "hunter2"}, "token"),
        ({"settings": {"url": "https://app:hunter2@db"}}, "settings.url"),
        ({"observations": {"headers": ["Bearer hunter2"]}}, "observations.headers[0]"),
    ],
)
def test_a_secret_is_refused_with_its_place_and_without_its_value(fields: dict[str, object], path: str) -> None:
    told = refused(snapshot(**fields))

    assert f"'{path}'" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "token_count", "chunk_tokens"])
def test_tokens_that_are_counted_are_no_secrets(name: str) -> None:
    assert validate_run_snapshot(snapshot(settings={name: 512}))["settings"] == {name: 512}


def test_a_reference_to_a_secret_is_none() -> None:
    assert validate_run_snapshot(snapshot(settings={"api_key": "env:API_KEY"}))


# --- strict JSON ---------------------------------------------------------------------------------------------------

CIRCULAR: list[object] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {1, 2},
        b"x",
        object(),
        {(1, 2): 3},
        {1: "a", "b": 2},
        {float("nan"): 1},
        10**5000,
        CIRCULAR,
        "\ud800",
        {"\udfff": 1},
        "a\udc80b",
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_what_is_no_strict_json_is_refused(value: object) -> None:
    assert "strict JSON" in refused(snapshot(observations={"x": value}))


def test_a_snapshot_nested_without_end_is_refused() -> None:
    value: object = 1
    for _ in range(200_000):
        value = [value]

    assert "strict JSON" in refused(snapshot(observations={"x": value}))


def test_a_lone_surrogate_is_told_by_its_number_and_without_the_text() -> None:
    told = refused(snapshot(observations={"name": "private \ud83d"}))

    assert "U+D83D" in told
    assert "private" not in told


# --- size ----------------------------------------------------------------------------------------------------------


def sized(size: int, filler: str = "a") -> dict[str, Any]:
    """A snapshot of that many bytes."""
    room = size - len(json.dumps(snapshot(note=""), separators=(",", ":")))
    return snapshot(note=filler * (room // len(filler.encode())) + "a" * (room % len(filler.encode())))


def test_the_bound_is_64_kib() -> None:
    assert RUN_SNAPSHOT_MAX_BYTES == 65_536


@pytest.mark.parametrize("filler", ["a", "é", "語", "😀"])
def test_a_snapshot_may_have_as_many_bytes_as_the_bound_and_no_more(filler: str) -> None:
    assert validate_run_snapshot(sized(RUN_SNAPSHOT_MAX_BYTES, filler))
    assert str(RUN_SNAPSHOT_MAX_BYTES) in refused(sized(RUN_SNAPSHOT_MAX_BYTES + 1, filler))


# --- fingerprint ---------------------------------------------------------------------------------------------------


def test_the_fingerprint_of_the_demo_is_the_known_one() -> None:
    assert run_snapshot_fingerprint(DEMO) == DEMO_SHA256


def test_the_order_of_keys_is_no_part_of_the_fingerprint() -> None:
    assert run_snapshot_fingerprint(dict(reversed(DEMO.items()))) == DEMO_SHA256


def test_a_snapshot_and_its_checked_form_have_one_fingerprint() -> None:
    original = snapshot(settings={10: "a", 9: ("b",)})

    assert run_snapshot_fingerprint(original) == run_snapshot_fingerprint(validate_run_snapshot(original))


def test_a_change_anywhere_changes_the_fingerprint() -> None:
    assert run_snapshot_fingerprint({**DEMO, "observations": {"indexed_chunks": 4}}) != DEMO_SHA256
    assert run_snapshot_fingerprint({**DEMO, "extra": None}) != DEMO_SHA256


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("aé語 "),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON_VALUES, max_size=4))
def test_any_json_is_kept_and_its_fingerprint_is_that_of_its_canonical_text(value: dict[str, object]) -> None:
    whole = snapshot(observations=value)
    canonical = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    assert validate_run_snapshot(whole) == whole
    assert run_snapshot_fingerprint(whole) == hashlib.sha256(canonical.encode()).hexdigest()
