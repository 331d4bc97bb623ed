"""Embedding clients: widths that are told, known or measured, and models that give what is none."""

from __future__ import annotations

import sys

import pytest

from estante.contract.errors import ConnectorOperationalError, ContractValueError
from estante.model.errors import UnknownName
from estante.shelf.embedding import (
    BuiltInEmbeddingClient,
    EmbeddingClient,
    FastEmbedEmbeddingClient,
    get_embedding_client,
    provider_of,
    vectors_of,
)
from tests.shelf.clients import OddClient, WordClient


class Wide:
    """Stands where a model of fastembed would, and counts how often it is asked."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.calls = 0

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        return [[0.5] * self.width for _ in texts]


class Asymmetric(Wide):
    def query_embed(self, text: str) -> list[list[float]]:
        return [[0.25] * self.width]


def test_the_width_of_an_unknown_model_is_measured_once() -> None:
    model = Wide(1024)
    client = FastEmbedEmbeddingClient("acme/other", model=model)

    assert (client.dimensions, client.dimensions, model.calls) == (1024, 1024, 1)


@pytest.mark.parametrize(("name", "told", "width"), [("BAAI/bge-base-en-v1.5", None, 768), ("acme/other", 256, 256)])
def test_the_width_of_a_known_model_or_one_that_was_told_costs_no_call(name: str, told: int | None, width: int) -> None:
    model = Wide(1024)
    client = FastEmbedEmbeddingClient(name, dimensions=told, model=model)

    assert (client.dimensions, model.calls) == (width, 0)


def test_questions_are_asked_in_the_models_own_way_where_it_has_one() -> None:
    assert FastEmbedEmbeddingClient("m", model=Wide(2)).embed_query("x") == [0.5, 0.5]
    assert FastEmbedEmbeddingClient("m", model=Asymmetric(2)).embed_query("x") == [0.25, 0.25]
    assert FastEmbedEmbeddingClient("m", model=Asymmetric(2)).embed_documents(["x", "y"]) == [[0.5, 0.5]] * 2


def test_without_fastembed_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)

    with pytest.raises(ImportError, match=r"estante\[fastembed\]"):
        get_embedding_client(model="BAAI/bge-small-en-v1.5")


def test_an_encoder_of_estantes_is_a_client_by_its_name() -> None:
    client = get_embedding_client("estante", model="static")

    assert isinstance(client, BuiltInEmbeddingClient)
    assert isinstance(client, EmbeddingClient)
    assert (client.model_id, client.dimensions, len(client.revision) > 8) == ("static", 384, True)
    assert len(client.embed_query("férias")) == 384
    assert client.embed_documents([]) == []
    assert (provider_of("static"), provider_of("BAAI/bge-small-en-v1.5")) == ("estante", "fastembed")


def test_an_unknown_provider_or_encoder_is_refused() -> None:
    with pytest.raises(ContractValueError, match="no embedding provider 'nobody'; known: fastembed, estante"):
        get_embedding_client("nobody", model="m")
    with pytest.raises(UnknownName, match="statik"):
        get_embedding_client("estante", model="statik")


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([[1.0] * 16], "array"),
        ([[1.0] * 16, [1.0] * 15], "no list of vectors of one length"),
        ([[float("nan")] * 16] * 2, "not finite"),
        (None, "gave an array"),
        (OSError("gone away"), "gone away"),
    ],
)
def test_a_model_that_gives_what_is_no_vector_is_an_error(rows: object, complaint: str) -> None:
    with pytest.raises(ConnectorOperationalError, match=complaint):
        vectors_of(OddClient(rows), ["a", "b"])


def test_vectors_are_those_of_the_client() -> None:
    client = WordClient()

    assert vectors_of(client, ["a b", "c"]).tolist() == [client.embed_query("a b"), client.embed_query("c")]
