"""What somebody who uses LlamaIndex may have: indexes and retrievers of the small corpus, and some that fail."""

from __future__ import annotations

from typing import Any

from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from tests.serve.adapters.notes import embedded, places


class Words(BaseEmbedding):
    """Counts words."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return embedded(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return embedded(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return embedded(query)


def nodes() -> list[TextNode]:
    made = []
    for chunk_id, doc_id, place, text in places():
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)}
        metadata = {"file_name": f"{doc_id}.md", "doc_chunk_index": place}
        made.append(TextNode(id_=chunk_id, text=text, metadata=metadata, relationships=source))
    return made


def docstore() -> SimpleDocumentStore:
    made = SimpleDocumentStore()
    made.add_documents(nodes())
    return made


def index() -> VectorStoreIndex:
    return VectorStoreIndex(nodes(), embed_model=Words())


def summary() -> SummaryIndex:
    return SummaryIndex(nodes())


def retriever() -> Any:
    return index().as_retriever(similarity_top_k=2)


class Ours(BaseRetriever):
    """A retriever that gives every node, with or without a score."""

    def __init__(self, score: float | None) -> None:
        self.score = score
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=one, score=self.score) for one in nodes()]


class Broken(BaseRetriever):
    """A retriever whose back end is down."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise ConnectionError("the index does not answer")


spans = [TextNode(id_="s:1", text="dois", start_char_idx=5, end_char_idx=9), TextNode(id_="s:0", text="um")]
"""A node that says where it stands in its document, and one that does not."""
