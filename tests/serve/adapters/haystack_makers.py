"""What somebody who uses Haystack may have: pipelines, retrievers and stores of the small corpus."""

from __future__ import annotations

from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from tests.serve.adapters.notes import embedded, places


@component
class Words:
    """Counts words."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": embedded(text)}


@component
class Rerank:
    """Turns a list round, and gives no scores."""

    @component.output_types(ranked=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        return {"ranked": [Document(id=one.id, content=one.content, meta=one.meta) for one in reversed(documents)]}


@component
class Broken:
    """A retriever whose back end is down."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        raise ConnectionError("the index does not answer")


def store(measure: str = "cosine") -> InMemoryDocumentStore:
    made = InMemoryDocumentStore(embedding_similarity_function=measure)
    made.write_documents(
        [
            Document(
                id=chunk_id,
                content=text,
                embedding=embedded(text),
                meta={"source_id": doc_id, "split_id": place, "file_path": f"{doc_id}.md"},
            )
            for chunk_id, doc_id, place, text in places()
        ]
    )
    return made


def by_words() -> InMemoryBM25Retriever:
    return InMemoryBM25Retriever(store())


def by_vectors() -> InMemoryEmbeddingRetriever:
    return InMemoryEmbeddingRetriever(store())


def filtered() -> InMemoryBM25Retriever:
    return InMemoryBM25Retriever(store(), filters={"field": "meta.source_id", "operator": "==", "value": "ferias"})


def pipeline(measure: str = "cosine", scale_score: bool = False) -> Pipeline:
    """A question is embedded, chunks are found, and a prompt is made of both."""
    made = Pipeline()
    made.add_component("words", Words())
    made.add_component("retriever", InMemoryEmbeddingRetriever(store(measure), scale_score=scale_score))
    made.add_component("prompt", PromptBuilder("{{ documents | length }} {{ question }}", required_variables="*"))
    made.connect("words.embedding", "retriever.query_embedding")
    made.connect("retriever.documents", "prompt.documents")
    return made


def hybrid(two_stores: bool = False) -> Pipeline:
    """Two retrievers side by side, joined."""
    one = store()
    made = Pipeline()
    made.add_component("words", Words())
    made.add_component("by_vectors", InMemoryEmbeddingRetriever(one))
    made.add_component("by_words", InMemoryBM25Retriever(store() if two_stores else one))
    made.add_component("join", DocumentJoiner())
    made.connect("words.embedding", "by_vectors.query_embedding")
    made.connect("by_vectors.documents", "join.documents")
    made.connect("by_words.documents", "join.documents")
    return made


def apart() -> Pipeline:
    """Two retrievers whose documents are both given."""
    made = Pipeline()
    made.add_component("one", by_words())
    made.add_component("two", by_words())
    return made


def reranked() -> Pipeline:
    made = Pipeline()
    made.add_component("retriever", by_words())
    made.add_component("rerank", Rerank())
    made.connect("retriever.documents", "rerank.documents")
    return made


words = Words()
broken = Broken()
