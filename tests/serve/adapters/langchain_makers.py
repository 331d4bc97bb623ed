"""What somebody who uses LangChain may have: stores and retrievers of the small corpus, and some that fail."""

from __future__ import annotations

import warnings
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from tests.serve.adapters.notes import embed_all, embedded, places


class Words(Embeddings):
    """Counts words."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_all(texts)

    def embed_query(self, text: str) -> list[float]:
        return embedded(text)


def documents() -> list[Document]:
    return [
        Document(id=chunk_id, page_content=text, metadata={"source": doc_id, "doc_chunk_index": place})
        for chunk_id, doc_id, place, text in places()
    ]


def memory() -> InMemoryVectorStore:
    store = InMemoryVectorStore(Words())
    store.add_documents(documents())
    return store


def uncounted() -> InMemoryVectorStore:
    """Chunks that do not tell their places."""
    store = InMemoryVectorStore(Words())
    store.add_documents(
        [Document(id=one.id, page_content=one.page_content, metadata={"source": "d"}) for one in documents()]
    )
    return store


def nameless() -> InMemoryVectorStore:
    """Chunks that get another id in every process."""
    store = InMemoryVectorStore(Words())
    store.add_documents([Document(page_content=one.page_content, metadata=one.metadata) for one in documents()])
    return store


def chroma(space: str) -> Any:
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    # One engine in memory for the whole process, so what is there already is what was made before.
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    name = f"notes-{space}"
    is_there = name in [one.name for one in client.list_collections()]
    store = Chroma(name, Words(), client=client, collection_configuration={"hnsw": {"space": space}})
    if not is_there:
        store.add_documents(documents())
    return store


def faiss(inner: bool = False) -> Any:
    with warnings.catch_warnings():
        # The package says that it is at its end; what people have made with it is there all the same.
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.vectorstores import FAISS
        from langchain_community.vectorstores.utils import DistanceStrategy

        strategy = DistanceStrategy.MAX_INNER_PRODUCT if inner else DistanceStrategy.EUCLIDEAN_DISTANCE
        return FAISS.from_documents(
            documents(), Words(), ids=[one.id for one in documents()], distance_strategy=strategy
        )


class Unknown(InMemoryVectorStore):
    """A store whose numbers are distances, though those of the class it derives from are not."""

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        return [(one, 1.0 - score) for one, score in super().similarity_search_with_score(*args, **kwargs)]


def unknown() -> Unknown:
    store = Unknown(Words())
    store.add_documents(documents())
    return store


class Broken(InMemoryVectorStore):
    """A store whose back end is down."""

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        raise ConnectionError("the index does not answer")


def broken() -> Broken:
    return Broken(Words())


class ByWords(BaseRetriever):
    """A retriever that knows how many it shall find, as many do."""

    held: list[Document]
    k: int = 2

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        words = set(query.casefold().split())
        found = sorted(self.held, key=lambda one: (-len(words & set(one.page_content.casefold().split())), one.id))
        return found[: self.k]


def by_words() -> ByWords:
    return ByWords(held=documents())


class Traced(BaseRetriever):
    """A retriever that gives the documents only while nothing is sent to LangSmith."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        from langsmith.run_helpers import get_tracing_context

        return documents() if get_tracing_context()["enabled"] is False else []


def traced() -> Traced:
    return Traced()


def of_store() -> Any:
    return memory().as_retriever(search_kwargs={"k": 2})


def thresholded() -> Any:
    return memory().as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.1})


chain = RunnableLambda(lambda text: by_words().invoke(text))
answers = RunnableLambda(lambda text: "an answer, no documents")


def with_key(key: str) -> InMemoryVectorStore:
    if key != "hush":
        raise ValueError("wrong key")
    return memory()
