"""An index or a retriever of LlamaIndex as a pipeline of the contract.

The corpus of a vector index is the nodes that its document store holds. A retriever does not say what it searches, so
its nodes are named beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final

from estante.contract.errors import ConnectorContractError
from estante.contract.models import ChunkRecord
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.backends import Backend, Found, pipeline_of
from estante.serve.adapters.objects import given, library, listed, named
from estante.serve.adapters.parameters import (
    CHUNKS,
    EMBEDDING,
    LAYOUT,
    OBJECT,
    document,
    found_object,
    frozen_of,
    layout_of,
    mapping,
    parameters,
    score_kind,
    space_of,
    wrong,
)
from estante.serve.adapters.records import Layout, Row, plain_metadata
from estante.serve.adapters.scales import AUTO, NONE, Scale

KIND: Final = "llamaindex"
CONVENTIONS: Final = Layout(names=("source_file", "file_name", "file_path"))
PARAMS: Final[tuple[ParamField, ...]] = (
    *OBJECT,
    {
        "name": "nodes",
        "label": "Nodes",
        "type": "string",
        "help": "module:attribute of the nodes that a retriever searches, of a document store or an index that holds "
        "them, or of a function that gives one of these",
    },
    CHUNKS,
    score_kind(auto="similarity for an index with a SimpleVectorStore, else none"),
    {
        "name": "search_kwargs",
        "label": "Search arguments",
        "type": "any",
        "help": "an object of further arguments for as_retriever() of an index",
    },
    *LAYOUT,
    EMBEDDING,
)

_BREADTH: Final = "similarity_top_k"

# Objects of LlamaIndex, whose types need not be installed.
Theirs = Any


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document. Raises ``ConnectorRegistrationError`` for what cannot be used."""
    params = parameters(KIND, PARAMS, connection)
    frozen, search_kwargs = frozen_of(params), mapping(params, "search_kwargs")
    with library(KIND):
        from llama_index.core.base.base_retriever import BaseRetriever
        from llama_index.core.indices.base import BaseIndex
    found = found_object(params, lambda one: isinstance(one, BaseIndex | BaseRetriever))
    if isinstance(found, BaseIndex):
        return pipeline_of(_of_index(params, frozen, found, search_kwargs))
    if not isinstance(found, BaseRetriever):
        raise wrong("object", f"{params['object']} leads to a {type(found).__name__}; name an index or a retriever")
    if search_kwargs:
        raise wrong("search_kwargs", f"a {type(found).__name__} takes none; give them when it is made")
    return pipeline_of(_of_retriever(params, frozen, found))


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document."""
    held = document(KIND, PARAMS, params)
    return build(held), held


def _of_index(
    params: Mapping[str, Any],
    frozen: Mapping[str, ChunkRecord] | None,
    index: Theirs,
    search_kwargs: Mapping[str, Any],
) -> Backend:
    scale, nodes = _scale(params, index, search_kwargs), _nodes(params)
    own = None if nodes is not None else _nodes_of(index)
    filters = [
        {"name": name, "description": "an argument of every search", "value": value}
        for name, value in plain_metadata(search_kwargs).items()
    ]
    return Backend(
        kind=KIND,
        search=_search(index.as_retriever(**search_kwargs)),
        layout=layout_of(params, CONVENTIONS),
        scale=scale,
        rows=nodes or own,
        frozen=frozen,
        by_id=_by_id(index) if own is not None else None,
        vectors=_vectors(index) if own is not None and _is_simple(index) else None,
        space=space_of(params),
        facts={"object": type(index).__name__, **({"internal_filters": filters} if filters else {})},
    )


def _of_retriever(params: Mapping[str, Any], frozen: Mapping[str, ChunkRecord] | None, retriever: Theirs) -> Backend:
    return Backend(
        kind=KIND,
        search=_search(retriever),
        layout=layout_of(params, CONVENTIONS),
        scale=Scale(NONE if params["score_kind"] == AUTO else params["score_kind"]),
        rows=_nodes(params),
        frozen=frozen,
        space=space_of(params),
        facts={"object": type(retriever).__name__},
    )


# --- what is asked ------------------------------------------------------------------------------------------------


def _search(retriever: Theirs) -> Callable[[str, int], list[Found]]:
    bounded = hasattr(retriever, _BREADTH)

    def search(text: str, top_k: int) -> list[Found]:
        asked = retriever
        if bounded:
            # A copy, because several threads may ask at a time.
            asked = copy(retriever)
            setattr(asked, _BREADTH, top_k)
        return [Found(row=row_of(one.node), number=one.score) for one in asked.retrieve(text)]

    return search


def _scale(params: Mapping[str, Any], index: Theirs, search_kwargs: Mapping[str, Any]) -> Scale:
    declared = params["score_kind"]
    # Another way to search gives numbers of another kind.
    cosine = _is_simple(index) and "vector_store_query_mode" not in search_kwargs
    if declared in (AUTO, "similarity") and cosine:
        return Scale("similarity", "cosine")
    return Scale(NONE if declared == AUTO else declared)


def _is_simple(index: Theirs) -> bool:
    return type(getattr(index, "vector_store", None)).__name__ == "SimpleVectorStore"


# --- what is read -------------------------------------------------------------------------------------------------


def row_of(node: Theirs) -> Row:
    """The row of a node: its text alone, without the metadata that is put before it for a model."""
    source = node.source_node
    return Row(
        text=node.get_content(),
        id=str(node.node_id),
        metadata=dict(node.metadata or {}),
        doc_id=None if source is None else str(source.node_id),
        start=getattr(node, "start_char_idx", None),
        end=getattr(node, "end_char_idx", None),
    )


def _nodes(params: Mapping[str, Any]) -> Callable[[], Iterable[Row]] | None:
    """The rows of the nodes that the parameters name."""
    target = params.get("nodes")
    if target is None:
        return None
    if "chunks" in params:
        raise wrong("nodes", "cannot be given beside chunks; the corpus stands in one place")
    rows = _nodes_of(named(target))
    made = None if rows is not None else given(target)
    rows = rows or _nodes_of(made)
    if rows is not None:
        return rows
    held = listed(target, made if isinstance(made, Iterable) else [made], "node_id", "nodes of LlamaIndex")
    return lambda: [row_of(one) for one in held]


def _nodes_of(holder: Theirs) -> Callable[[], Iterable[Row]] | None:
    """The rows of an index or a document store, None where it does not hold its nodes."""
    store: Theirs = getattr(holder, "docstore", holder)
    if not hasattr(store, "docs") or not hasattr(store, "get_nodes"):
        return None
    listed = getattr(getattr(holder, "index_struct", None), "nodes_dict", None)
    if listed is None:
        return lambda: [row_of(one) for one in store.docs.values()]
    if not listed:
        # A vector store that keeps the texts itself cannot be listed.
        return None
    return lambda: [row_of(one) for one in store.get_nodes(list(listed.values()))]


def _by_id(index: Theirs) -> Callable[[Sequence[str]], list[Row]]:
    def by_id(ids: Sequence[str]) -> list[Row]:
        listed = set(index.index_struct.nodes_dict.values()) if hasattr(index.index_struct, "nodes_dict") else None
        known = [one for one in ids if listed is None or one in listed]
        return [row_of(one) for one in index.docstore.get_nodes(known, raise_error=False)]

    return by_id


def _vectors(index: Theirs) -> Callable[[Sequence[str]], dict[str, Sequence[float]]]:
    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        held = index.vector_store.data.embedding_dict
        if held is None:
            raise ConnectorContractError("the vector store of the index holds no vectors")
        return {one: held[one] for one in ids if one in held}

    return vectors


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="LlamaIndex",
    description="An index or a retriever of LlamaIndex",
    build=build,
    connect=connect,
    params=list(PARAMS),
)
