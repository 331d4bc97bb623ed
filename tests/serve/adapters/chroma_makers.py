"""What somebody who uses Chroma may have: collections of the small corpus, each of another metric or layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from chromadb.config import Settings
from chromadb.utils.embedding_functions import register_embedding_function

from tests.serve.adapters.notes import embed_all, embedded, places


@register_embedding_function
class Words(EmbeddingFunction[Documents]):
    """Counts words; a collection made with it knows it by its name."""

    def __init__(self, model_name: str = "words") -> None:
        self.model_name = model_name

    def __call__(self, input: Documents) -> Embeddings:
        return embed_all(list(input))

    @staticmethod
    def name() -> str:
        return "notes-words"

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> Words:
        return Words(**config)

    def get_config(self) -> dict[str, Any]:
        return {"model_name": self.model_name}


class OneByOne:
    """Embeds as LangChain does: a question at a time."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_all(texts)

    def embed_query(self, text: str) -> list[float]:
        return embedded(text)


def scaled(factor: float) -> Any:
    """An embedder that is made with an argument."""
    return lambda texts: [[factor * part for part in one] for one in embed_all(texts)]


def keyed(key: str) -> Any:
    """An embedder that is made with a secret."""
    if key != "hush-hush":
        raise ValueError("wrong key")
    return embed_all


def failing(texts: Sequence[str]) -> list[list[float]]:
    raise ConnectionError("the model does not answer")


number = 7


def client(path: Path) -> Any:
    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


def filled(path: Path) -> Path:
    """A folder with the collections that the tests name."""
    opened = client(path)
    with_places = [{"doc_id": doc_id, "doc_chunk_index": place} for _, doc_id, place, _ in places()]
    for name, space in (("cosine", "cosine"), ("inner", "ip"), ("squared", "l2")):
        collection = opened.create_collection(name, embedding_function=None, configuration={"hnsw": {"space": space}})
        _fill(collection, with_places)
    uncounted = opened.create_collection("uncounted", embedding_function=None, metadata={"hnsw:space": "cosine"})
    _fill(uncounted, [{"doc_id": doc_id} for _, doc_id, _, _ in places()])
    _fill(opened.create_collection("alone", embedding_function=None), None)
    cosine = {"hnsw": {"space": "cosine"}}
    _fill(opened.create_collection("knowing", embedding_function=Words(), configuration=cosine), with_places)
    opened.create_collection("empty", embedding_function=Words())
    opened.close()
    return path


def _fill(collection: Any, metadatas: list[dict[str, Any]] | None) -> None:
    texts = [text for *_, text in places()]
    collection.add(
        ids=[chunk_id for chunk_id, *_ in places()],
        documents=texts,
        embeddings=embed_all(texts),
        metadatas=metadatas,
    )
