"""Embedding clients, as rag-connector knows them: texts to vectors, documents and questions apart.

Two kinds come with the package: the encoders of Estante by their name, which need nothing, and the models of fastembed,
which need the extra ``fastembed`` and fetch their weights at first use. Any object with the protocol's names serves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from estante.contract.errors import ConnectorOperationalError, ContractValueError
from estante.index.encoding import ENCODERS
from estante.model.ports import Encoder, Space

BUILT_IN: Final = "estante"
FASTEMBED: Final = "fastembed"
PROVIDERS: Final = (FASTEMBED, BUILT_IN)

DEFAULT_FASTEMBED_MODEL: Final = "BAAI/bge-small-en-v1.5"

_WIDTHS: Final = {
    "BAAI/bge-small-en-v1.5": 384,
    "BAAI/bge-base-en-v1.5": 768,
    "sentence-transformers/all-MiniLM-L6-v2": 384,
}
"""Components of the vectors of well-known models; what is not here is measured and never guessed."""


@runtime_checkable
class EmbeddingClient(Protocol):
    """Texts to vectors of one model."""

    @property
    def model_id(self) -> str:
        """The name of the model."""

    @property
    def dimensions(self) -> int:
        """Components of a vector."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a passage."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""


class FastEmbedEmbeddingClient:
    """A model of fastembed. Its weights are fetched when it is first asked, unless they are in fastembed's cache."""

    provider: Final = FASTEMBED

    def __init__(
        self, model_id: str = DEFAULT_FASTEMBED_MODEL, *, dimensions: int | None = None, model: Any = None
    ) -> None:
        """``model`` is used instead of one of fastembed's; ``dimensions`` is believed, where it is given.

        Raises ``ImportError`` naming the extra where fastembed is missing and no model is given.
        """
        self.model_id = model_id
        self._dimensions = dimensions if dimensions is not None else _WIDTHS.get(model_id)
        self._model = model if model is not None else _text_embedding(model_id)

    @property
    def dimensions(self) -> int:
        """Components of a vector: as it was told or is well known, or else measured once."""
        if self._dimensions is None:
            self._dimensions = len(_floats(next(iter(self._model.embed(["dimensions"])))))
        return self._dimensions

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a passage."""
        return [_floats(one) for one in self._model.embed(list(texts))] if texts else []

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, by the model's own way of questions where it has one."""
        ask = getattr(self._model, "query_embed", None)
        found = ask(text) if callable(ask) else self._model.embed([text])
        return _floats(next(iter(found)))


class BuiltInEmbeddingClient:
    """An encoder of Estante, a plug-in's too, by its name."""

    provider: Final = BUILT_IN

    def __init__(self, model_id: str = "static") -> None:
        """Raises ``UnknownName`` where there is no encoder of this name."""
        self.model_id = model_id
        kind = ENCODERS.load(model_id)
        try:
            self._encoder: Encoder = kind()
        except TypeError as error:
            raise ContractValueError(
                f"the encoder {model_id!r} needs options, and a client has none: {error}"
            ) from error

    @property
    def dimensions(self) -> int:
        """Components of a vector."""
        return self._encoder.space.dimensions

    @property
    def revision(self) -> str:
        """What tells this encoder's weights from others of the same name."""
        return self._encoder.space.revision

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a passage."""
        return [_floats(row) for row in self._encoder.passages(list(texts))] if texts else []

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return _floats(self._encoder.queries([text])[0])


def get_embedding_client(
    provider: str = FASTEMBED, *, model: str, dimensions: int | None = None, _model: Any = None
) -> EmbeddingClient:
    """The client of a model. Raises ``ContractValueError`` for a provider that is not known here."""
    if provider == FASTEMBED:
        return FastEmbedEmbeddingClient(model, dimensions=dimensions, model=_model)
    if provider == BUILT_IN:
        return BuiltInEmbeddingClient(model)
    raise ContractValueError(f"there is no embedding provider {provider!r}; known: {', '.join(PROVIDERS)}")


def provider_of(model: str) -> str:
    """Who offers a model of this name: Estante for the names of its encoders, fastembed for any other."""
    return BUILT_IN if model in ENCODERS.names() else FASTEMBED


def space_of(client: EmbeddingClient) -> Space:
    """The vector space of a client, as a shelf notes it."""
    provider = getattr(client, "provider", "custom")
    return Space(client.model_id, client.dimensions, f"{provider}:{getattr(client, 'revision', '')}")


def vectors_of(client: EmbeddingClient, texts: Sequence[str]) -> NDArray[np.float64]:
    """The vectors of passages as an array (n, dimensions). Raises ``ConnectorOperationalError`` for what is none."""
    try:
        found = client.embed_documents(list(texts))
    except Exception as error:
        raise ConnectorOperationalError(f"embedding {len(texts):,} passages failed: {error}") from error
    return _array(client, found, len(texts))


def vector_of(client: EmbeddingClient, text: str) -> NDArray[np.float64]:
    """The vector of a question as an array (dimensions,). Raises ``ConnectorOperationalError`` for what is none."""
    try:
        found = client.embed_query(text)
    except Exception as error:
        raise ConnectorOperationalError(f"embedding the question failed: {error}") from error
    row: NDArray[np.float64] = _array(client, [found], 1)[0]
    return row


def _array(client: EmbeddingClient, rows: object, count: int) -> NDArray[np.float64]:
    try:
        found = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConnectorOperationalError(
            f"the model {client.model_id!r} gave what is no list of vectors of one length"
        ) from error
    if found.shape != (count, client.dimensions):
        raise ConnectorOperationalError(
            f"the model {client.model_id!r} gave an array {found.shape} where {(count, client.dimensions)} was due"
        )
    if not np.isfinite(found).all():
        raise ConnectorOperationalError(f"the model {client.model_id!r} gave a vector that is not finite")
    return found


def norm_of(vector: Iterable[float]) -> float:
    """The length of a vector."""
    return math.sqrt(math.fsum(one * one for one in vector))


def _floats(vector: Iterable[Any]) -> list[float]:
    return [float(one) for one in vector]


def _text_embedding(model_id: str) -> Any:
    try:
        library = import_module("fastembed")
    except ImportError as error:
        raise ImportError(
            f"the model {model_id!r} needs fastembed; run: pip install 'estante[fastembed]', or name an encoder of "
            "Estante's, such as 'static'"
        ) from error
    return library.TextEmbedding(model_name=model_id)
