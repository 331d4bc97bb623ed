"""Parameters of adapters are checked, stored without secrets, and read back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.fingerprints import embedding_fingerprint
from estante.contract.jsonl import chunks_to_jsonl
from estante.contract.models import ChunkRecord
from estante.contract.params import ParamsError, schema_problems
from estante.serve.adapters import chroma, haystack, http, langchain, llamaindex, mcp
from estante.serve.adapters.parameters import (
    document,
    either,
    frozen_of,
    headers_of,
    layout_of,
    mapping,
    parameters,
    references,
    resolved,
    space_of,
)

MODULES = [chroma, haystack, http, langchain, llamaindex, mcp]
FIELDS = [{"name": "place", "type": "path"}, {"name": "size", "type": "integer", "default": 3}]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.KIND)
def test_every_schema_is_sound_and_says_what_each_parameter_is(module: Any) -> None:
    assert schema_problems(module.PARAMS) == []
    assert all(field["help"] and field["label"] for field in module.PARAMS)


def test_a_document_has_the_type_the_defaults_and_whole_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    held = document("try", FIELDS, {"place": "here"})

    assert held == {"type": "try", "contract_version": "0.1", "place": os.path.abspath("here"), "size": 3}
    assert parameters("try", FIELDS, held) == {"place": os.path.abspath("here"), "size": 3}


def test_a_document_of_another_type_and_one_with_strange_keys_are_refused() -> None:
    with pytest.raises(ConnectorRegistrationError, match="'other'"):
        parameters("try", FIELDS, {"type": "other"})
    with pytest.raises(ParamsError, match="did you mean 'place'"):
        parameters("try", FIELDS, {"type": "try", "plac": "x"})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "give one or two"),
        ({"one": "a", "two": "b"}, "not both"),
        ({"one": "a", "of_two": "b"}, "does not go with one"),
        ({"two": "a", "of_one": "b"}, "does not go with two"),
    ],
)
def test_one_of_two_is_given_with_what_belongs_to_it(params: Mapping[str, Any], message: str) -> None:
    assert either({"two": "a", "of_two": "b"}, "one", ["of_one"], "two", ["of_two"]) == "two"
    with pytest.raises(ParamsError, match=message):
        either(params, "one", ["of_one"], "two", ["of_two"])


@pytest.mark.parametrize("value", ["text", ["list"], {1: "number"}])
def test_an_object_is_an_object(value: object) -> None:
    with pytest.raises(ParamsError, match="must be an object"):
        mapping({"kwargs": value}, "kwargs")


def test_a_secret_that_is_no_reference_is_refused_and_not_told() -> None:
    with pytest.raises(ParamsError, match="never the secret itself") as caught:
        references({"secrets": {"key": "hunter2"}}, "secrets")

    assert "hunter2" not in str(caught.value)


def test_references_are_resolved_and_texts_are_left() -> None:
    given = {"headers": {"Accept": "a", "X-Token": "env:TOKEN"}}

    assert resolved(given, "headers", {"TOKEN": "hush"}) == {"Accept": "a", "X-Token": "hush"}


def test_ids_are_of_texts_or_of_a_key_and_not_of_both() -> None:
    assert layout_of({"text_ids": True}).text_ids
    with pytest.raises(ParamsError, match="beside id_key"):
        layout_of({"text_ids": True, "id_key": "key"})


def test_a_declared_embedding_has_the_fingerprint_of_the_contract() -> None:
    declared = {"provider": "acme", "model": "m", "dimensions": 384}

    space = space_of({"embedding": declared})

    assert space is not None
    assert (space.model, space.dimension, space.normalized) == ("m", 384, None)
    assert space.fingerprint == embedding_fingerprint(provider="acme", model="m", dimensions=384)
    assert space_of({}) is None


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"provider": "acme", "model": "m"}, "needs dimensions"),
        ({"provider": "acme", "model": "m", "dimensions": "384"}, "whole number"),
        ({"provider": "acme", "model": "m", "dimensions": 384, "dim": 1}, "has no 'dim'"),
    ],
)
def test_a_faulty_embedding_is_refused(declared: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        space_of({"embedding": declared})


def test_a_file_of_chunks_is_the_corpus(tmp_path: Path) -> None:
    record = ChunkRecord("d:0", "d", "d.md", 0, 0, "texto\u2028dois")
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(chunks_to_jsonl([record]).encode())

    assert frozen_of({"chunks": str(path)}) == {"d:0": record}
    assert frozen_of({}) is None


@pytest.mark.parametrize("content", [b"not json", b"\xff", None])
def test_a_file_that_is_none_is_told_with_its_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "corpus.jsonl"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ParamsError, match=r"chunks: .*corpus\.jsonl"):
        frozen_of({"chunks": str(path)})


# --- what must not be told --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "params"),
    [
        (http, {"url": "http://127.0.0.1:9", "query_path": "query?api_key=hunter2secret"}),
        (http, {"url": "http://127.0.0.1:9", "headers": {"X-Api-Key": "hunter2secret"}}),
        (http, {"url": "http://user:hunter2secret@127.0.0.1:9"}),
        (chroma, {"host": "http://user:hunter2secret@127.0.0.1", "port": 9, "collection": "notes"}),
        (chroma, {"host": "user:hunter2secret@127.0.0.1", "port": 9, "collection": "notes"}),
        (mcp, {"command": "nothing --token=hunter2secret", "tool": "search"}),
        (mcp, {"command": "nothing", "args": ["--api-key=hunter2secret"], "tool": "search"}),
        (mcp, {"command": "nothing", "args": ["--token", "hunter2secret"], "tool": "search"}),
        (mcp, {"command": "nothing", "env": {"API_KEY": "hunter2secret"}, "tool": "search"}),
    ],
)
@pytest.mark.parametrize("way", ["connect", "build"])
def test_a_credential_is_refused_before_anything_is_reached_and_never_told(
    module: Any, params: dict[str, Any], way: str
) -> None:
    with pytest.raises(ParamsError) as raised:
        getattr(module, way)(params)

    assert "hunter2secret" not in str(raised.value)


@pytest.mark.parametrize("value", [" hunter2secret", "hunter2secret ", "hunter2\tsecret", "hunter2secret\u00e9"])
@pytest.mark.parametrize("params", [{"headers": {"X-Key": "env:KEY"}}, {"token": "env:KEY"}], ids=["header", "token"])
def test_a_secret_that_cannot_be_sent_is_refused_without_being_told(params: dict[str, Any], value: str) -> None:
    if "token" in params and value.startswith(" "):
        value += " "

    with pytest.raises(ParamsError, match="cannot be sent") as raised:
        headers_of(params, {"KEY": value})

    assert "hunter2" not in str(raised.value)


def test_the_token_is_sent_once() -> None:
    assert headers_of({"token": "env:KEY"}, {"KEY": "k"}) == {"Authorization": "Bearer k"}
    with pytest.raises(ParamsError, match="beside a header Authorization"):
        headers_of({"token": "env:KEY", "headers": {"authorization": "env:KEY"}}, {"KEY": "k"})


def test_a_header_has_the_name_of_one() -> None:
    with pytest.raises(ParamsError, match="is no name of a header"):
        headers_of({"headers": {"X Key": "a"}}, {})
