"""Connection documents: strict JSON without credentials, into a text, a file, a folder, and back."""

from __future__ import annotations

import json
import os
import re
from collections import UserDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.connections import (
    CONTRACT_VERSION,
    MOST_DEPTH,
    ConnectionFolder,
    connection_problems,
    dump_connection,
    load_connection,
    plain_connection,
    read_connection,
    save_connection,
    validate_connection,
    version_problem,
)
from estante.contract.errors import ConnectorRegistrationError
from estante.contract.references import SecretText

DOCUMENT = {"type": "estante", "home": "/srv/livros", "title": "Ata nº 1", "depth": 3, "exact": True, "note": None}


def nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels - 1):
        made = {"a": made}
    return made


def ring() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["a"] = [made, made]
    return made


# --- what a document is -----------------------------------------------------------------------------------------


def test_a_number_too_long_to_be_written_is_told_with_its_place() -> None:
    assert connection_problems({"a": [10**5000]}) == ["a[0] is a number of more than 4096 bits"]
    assert connection_problems({"a": 10**1000}) == []


def test_a_version_too_long_to_be_read_is_no_version() -> None:
    assert version_problem(10**5000) == ""


def test_a_document_of_json_values_is_valid() -> None:
    validate_connection({**DOCUMENT, "more": [1, 2.5, {"a": ["b"]}]})


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        ({"a": {1}}, "a is a set, which JSON does not have"),
        ({"a": [b"x"]}, "a[0] is a bytes"),
        ({"a": Path("/srv")}, "a is a PosixPath"),
        ({"a": {"b": float("nan")}}, "a.b is nan, which JSON does not have"),
        ({"a": float("-inf")}, "a is -inf"),
        ({1: "a"}, "the document has the key 1, which is no text"),
        ({"a": {None: 1}}, "a has the key None"),
        ({"a": "\udc80"}, "a has a lone surrogate"),
        ({"\udc80": 1}, "which is no text"),
        (nested(MOST_DEPTH + 1), "is nested too deep"),
        (ring(), "a[0] holds itself"),
        ([], "a connection document is an object, not a list"),
        (None, "a connection document is an object, not a NoneType"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(connection: Any, message: str) -> None:
    with pytest.raises(ConnectorRegistrationError) as caught:
        validate_connection(connection)

    assert message.replace("PosixPath", type(Path()).__name__) in str(caught.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert len(connection_problems({"a": {1}, "b": {2}, 3: 4})) == 3


def test_the_deepest_document_is_valid() -> None:
    assert connection_problems(nested(MOST_DEPTH)) == []


@pytest.mark.parametrize(
    ("connection", "place"),
    [
        ({"auth": {"api_key": "x9"}}, "auth.api_key"),
        ({"headers": [{"x-secret-header": "x9"}]}, "headers[0].x-secret-header"),
        ({"url": "postgres://me:x9y8z7@db.example.org/a"}, "url"),
        ({"x-api-key": "x9"}, "x-api-key"),
    ],
)
def test_a_credential_is_refused_with_its_place_and_not_repeated(connection: dict[str, Any], place: str) -> None:
    with pytest.raises(ConnectorRegistrationError) as caught:
        validate_connection(connection)

    assert f"{place} looks like a credential" in str(caught.value)
    assert "x9" not in str(caught.value)


def test_a_reference_to_a_secret_may_stand_where_the_secret_may_not() -> None:
    validate_connection({"api_key": "env:WIKI_KEY", "auth": {"token": "file:/run/secrets/wiki"}, "max_tokens": 512})


def test_a_secret_that_was_resolved_is_refused_under_any_key() -> None:
    assert connection_problems({"a": [SecretText("x9y8z7")]}) == ["a[0] is a secret; put its reference there"]


def test_the_problems_of_anything_are_told() -> None:
    for value in (object(), {"a": object()}, {object(): 1}, "a", 5):
        assert connection_problems(value)


# --- copies -----------------------------------------------------------------------------------------------------


def test_a_copy_is_what_comes_back_from_a_store() -> None:
    connection = MappingProxyType({"b": UserDict(x=1), "a": (1, 2)})

    found = plain_connection(connection)

    assert found == {"b": {"x": 1}, "a": [1, 2]}
    assert list(found) == ["b", "a"]


def test_a_copy_shares_nothing_with_the_document() -> None:
    connection = {"a": [1]}

    plain_connection(connection)["a"].append(2)

    assert connection == {"a": [1]}


# --- texts ------------------------------------------------------------------------------------------------------


def test_the_text_is_readable_json_with_sorted_keys_and_line_feeds() -> None:
    assert dump_connection({"b": 1, "a": "ação"}) == '{\n  "a": "ação",\n  "b": 1\n}\n'


def test_a_document_comes_back_as_it_was() -> None:
    assert load_connection(dump_connection(DOCUMENT)) == DOCUMENT
    assert load_connection(dump_connection(DOCUMENT).encode()) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not JSON in UTF-8"),
        ("{", "(line 1, column 2)"),
        ("[]", "it is a list, not an object"),
        ('{"a": 1, "a": 2}', "the key 'a' stands there twice"),
        ('{"b": {"a": 1, "a": 1}}', "the key 'a' stands there twice"),
        ('{"a": NaN}', "it holds NaN"),
        ('{"a": -Infinity}', "it holds -Infinity"),
        ('{"a": 1e999}', "a is inf"),
        (b'{"a": "\xff"}', "it is not JSON in UTF-8"),
        (b"\xef\xbb\xbf{}", "it is not JSON in UTF-8"),
        ('{"a": "\\ud800"}', "a has a lone surrogate"),
        ('{"password": "x9"}', "password looks like a credential"),
        ("[" * 100_000, "it is not JSON"),
        ('{"a": ' + "1" * 5_000 + "}", "it is not JSON"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ConnectorRegistrationError) as caught:
        load_connection(text)

    assert message in str(caught.value)


def test_a_refusal_repeats_nothing_of_the_text() -> None:
    with pytest.raises(ConnectorRegistrationError) as caught:
        load_connection('{"password": "tr0ub4dor&3" oops')

    assert "tr0ub4dor&3" not in str(caught.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=9), VALUES, max_size=4))
def test_every_valid_document_comes_back_as_it_was_and_every_other_is_refused(connection: dict[str, Any]) -> None:
    if connection_problems(connection):
        with pytest.raises(ConnectorRegistrationError):
            dump_connection(connection)
    else:
        text = dump_connection(connection)
        assert load_connection(text) == connection
        assert dump_connection(load_connection(text)) == text


# --- files ------------------------------------------------------------------------------------------------------


def test_a_file_holds_the_text_and_gives_the_document(tmp_path: Path) -> None:
    save_connection(tmp_path / "a.json", DOCUMENT)

    assert (tmp_path / "a.json").read_bytes() == dump_connection(DOCUMENT).encode()
    assert read_connection(tmp_path / "a.json") == DOCUMENT


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    save_connection(tmp_path / "a.json", DOCUMENT)

    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    save_connection(tmp_path / "a.json", DOCUMENT)
    save_connection(tmp_path / "a.json", {"b": 1})

    assert read_connection(tmp_path / "a.json") == {"b": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_document_that_cannot_be_stored_leaves_the_old_file(tmp_path: Path) -> None:
    save_connection(tmp_path / "a.json", DOCUMENT)

    with pytest.raises(ConnectorRegistrationError):
        save_connection(tmp_path / "a.json", {"password": "x9"})

    assert read_connection(tmp_path / "a.json") == DOCUMENT


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    save_connection(tmp_path / "a.json", DOCUMENT)
    monkeypatch.setattr(os, "replace", full)

    with pytest.raises(OSError, match="no space"):
        save_connection(tmp_path / "a.json", {"b": 1})

    assert read_connection(tmp_path / "a.json") == DOCUMENT
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("place", ["nowhere/a.json", "folder"])
def test_a_place_that_cannot_be_written_is_named_as_it_was_given(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder" / "full").mkdir(parents=True)

    with pytest.raises(OSError, match=rf": '{re.escape(str(tmp_path / place))}'$"):
        save_connection(tmp_path / place, DOCUMENT)


def test_a_file_that_holds_no_document_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", "utf-8")

    with pytest.raises(ConnectorRegistrationError, match=r"a\.json: this is no connection document"):
        read_connection(tmp_path / "a.json")


# --- versions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, CONTRACT_VERSION, "0.2", "0.9.0a2", 0, 0.1, "0", "", "v1", "new", [], {}])
def test_a_version_that_may_be_understood_is_accepted(version: object) -> None:
    assert version_problem(version) == ""


@pytest.mark.parametrize("version", ["1.0", "1", 2, 1.5, "10.0.0rc1"])
def test_a_later_major_version_is_refused(version: object) -> None:
    assert f"was made for version {version} of the contract, and this is 0.1" in version_problem(version)


# --- a folder ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> ConnectionFolder:
    return ConnectionFolder(tmp_path / "connections")


def test_what_is_put_in_comes_out(folder: ConnectionFolder) -> None:
    folder.put("leis", "estante", DOCUMENT)

    found = folder.get("leis")

    assert (found.name, found.connector_type, found.connection, found.error) == ("leis", "estante", DOCUMENT, "")


def test_the_type_stands_beside_the_document_which_stays_as_it_is(folder: ConnectionFolder) -> None:
    folder.put("leis", "acme", {"type": "postgres"})

    held = json.loads((folder.path / "leis.json").read_text("utf-8"))

    assert held == {"connector_type": "acme", "contract_version": CONTRACT_VERSION, "connection": {"type": "postgres"}}


def test_rows_are_in_the_order_of_their_names(folder: ConnectionFolder) -> None:
    assert folder.rows() == []
    for name in ("b", "a", "c.1"):
        folder.put(name, "estante", DOCUMENT)

    assert [row.name for row in folder.rows()] == ["a", "b", "c.1"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"connector_type": 5, "connection": {}}',
        '{"connector_type": "a", "connection": {"password": "x9"}}',
        '{"connector_type": "a", "contract_version": "7.0", "connection": {}}',
    ],
)
def test_a_broken_file_is_a_row_with_its_error_and_hides_no_other(folder: ConnectionFolder, text: str) -> None:
    folder.put("a", "estante", DOCUMENT)
    (folder.path / "b.json").write_text(text, "utf-8")

    first, second = folder.rows()

    assert (first.name, first.error) == ("a", "")
    assert second.name == "b"
    assert "b.json" in second.error
    with pytest.raises(ConnectorRegistrationError, match=r"b\.json"):
        folder.get("b")


def test_a_name_that_is_taken_is_kept_unless_it_is_to_be_replaced(folder: ConnectionFolder) -> None:
    folder.put("leis", "estante", DOCUMENT)

    with pytest.raises(ConnectorRegistrationError, match="already a connection 'leis'"):
        folder.put("leis", "estante", {})
    folder.put("leis", "estante", {}, replace=True)

    assert folder.get("leis").connection == {}


@pytest.mark.parametrize("name", ["", "A", "../a", "a/b", ".a", "a\n", "é", "a" * 65, "a b"])
def test_a_name_that_is_no_file_name_everywhere_is_refused(folder: ConnectionFolder, name: str) -> None:
    with pytest.raises(ConnectorRegistrationError, match="cannot name a connection"):
        folder.put(name, "estante", DOCUMENT)
    with pytest.raises(ConnectorRegistrationError, match="cannot name a connection"):
        folder.get(name)


def test_a_credential_does_not_enter_the_folder(folder: ConnectionFolder) -> None:
    with pytest.raises(ConnectorRegistrationError, match=r"auth\.api_key looks like"):
        folder.put("leis", "estante", {"auth": {"api_key": "x9"}})

    assert folder.rows() == []


def test_a_connection_that_is_not_there_is_told_with_those_that_are(folder: ConnectionFolder) -> None:
    with pytest.raises(ConnectorRegistrationError, match="there are: none"):
        folder.get("leis")
    folder.put("atas", "estante", DOCUMENT)
    with pytest.raises(ConnectorRegistrationError, match="there are: atas"):
        folder.get("leis")


def test_a_connection_is_forgotten_once(folder: ConnectionFolder) -> None:
    folder.put("leis", "estante", DOCUMENT)

    assert folder.remove("leis") is True
    assert folder.remove("leis") is False
    assert folder.rows() == []
