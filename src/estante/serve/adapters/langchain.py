"""A vector store or a retriever of LangChain as a pipeline of the contract.

A vector store is asked with its scores; what they are is known of some stores and declared of the others. A retriever
tells no scores, so its order counts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from estante.contract.errors import ConnectorContractError
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.backends import Backend, Found, pipeline_of
from estante.serve.adapters.objects import given, library, listed
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
from estante.serve.adapters.scales import AUTO, NONE, SCORE_KINDS, Scale
from estante.serve.adapters.vectorstores import holdings_of, row_of, scale_of
from estante.shelf.settings import quieten

KIND: Final = "langchain"
CONVENTIONS: Final = Layout(docs=("doc_id", "source"), names=("source_file", "source"))
PARAMS: Final[tuple[ParamField, ...]] = (
    *OBJECT,
    {
        "name": "documents",
        "label": "Documents",
        "type": "string",
        "help": "module:attribute of the documents that a retriever was made of, or of a function that gives them",
    },
    CHUNKS,
    score_kind(auto="known of InMemoryVectorStore, Chroma and FAISS; of a retriever none"),
    {
        "name": "search_kwargs",
        "label": "Search arguments",
        "type": "any",
        "help": "an object of further arguments for the search of a vector store, such as filter",
    },
    *LAYOUT,
    EMBEDDING,
)

_BREADTHS: Final = ("k", "top_k")
"""Fields by which retrievers bound their lists."""
_NO_FILTERS: Final = frozenset({"k", "fetch_k", "lambda_mult"})

# Objects of LangChain, whose types need not be installed.
Theirs = Any


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document. Raises ``ConnectorRegistrationError`` for what cannot be used."""
    params = parameters(KIND, PARAMS, connection)
    held = _Held(params)
    quieten()
    with library(KIND):
        from langchain_core.runnables import Runnable
        from langchain_core.vectorstores import VectorStore
    found = found_object(params, lambda one: isinstance(one, VectorStore | Runnable))
    if isinstance(found, VectorStore):
        return pipeline_of(_of_store(held, found))
    if isinstance(found, Runnable):
        return pipeline_of(_of_retriever(held, found))
    raise wrong("object", f"{params['object']} leads to a {type(found).__name__}; name a vector store or a retriever")


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document."""
    held = document(KIND, PARAMS, params)
    return build(held), held


class _Held:
    """What the parameters say by themselves, without the object that they name."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params = params
        self.space = space_of(params)
        self.layout = layout_of(params, CONVENTIONS)
        self.frozen = frozen_of(params)
        self.search_kwargs = mapping(params, "search_kwargs")


def _of_store(held: _Held, store: Theirs) -> Backend:
    scale, holdings, documents = _scale(held.params, store), holdings_of(store), _documents(held.params)
    own = holdings if documents is None else None
    return Backend(
        kind=KIND,
        search=_store_search(store, held.search_kwargs, scale),
        layout=held.layout,
        scale=scale,
        rows=documents or (own.rows if own else None),
        frozen=held.frozen,
        by_id=own.by_id if own else None,
        vectors=own.vectors if own else None,
        embed=_embedder(store),
        space=held.space,
        facts=_facts(store, held.search_kwargs),
    )


def _of_retriever(held: _Held, retriever: Theirs) -> Backend:
    if held.params["score_kind"] not in (AUTO, NONE):
        raise wrong(
            "score_kind",
            f"a {type(retriever).__name__} tells no scores; name its vector store as the object, or leave this out",
        )
    if held.search_kwargs:
        raise wrong("search_kwargs", f"a {type(retriever).__name__} takes none; give them when it is made")
    store, documents = getattr(retriever, "vectorstore", None), _documents(held.params)
    own = holdings_of(store) if store is not None and documents is None else None
    return Backend(
        kind=KIND,
        search=_retriever_search(retriever),
        layout=held.layout,
        scale=Scale(NONE),
        rows=documents or (own.rows if own else None),
        frozen=held.frozen,
        by_id=own.by_id if own else None,
        space=held.space,
        facts=_facts(retriever, getattr(retriever, "search_kwargs", None) or {}),
    )


# --- what is asked ------------------------------------------------------------------------------------------------


@contextmanager
def _untraced() -> Iterator[None]:
    """Inside, nothing of a call is sent to LangSmith, whatever the environment says."""
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        yield


def _store_search(store: Theirs, search_kwargs: Mapping[str, Any], scale: Scale) -> Callable[[str, int], list[Found]]:
    # Vector stores are not traced, unlike everything that is invoked.
    def search(text: str, top_k: int) -> list[Found]:
        if scale.kind == NONE:
            return [Found(row=row_of(one)) for one in store.similarity_search(text, k=top_k, **search_kwargs)]
        found = store.similarity_search_with_score(text, k=top_k, **search_kwargs)
        return [Found(row=row_of(one), number=number) for one, number in found]

    return search


def _retriever_search(retriever: Theirs) -> Callable[[str, int], list[Found]]:
    field = next((one for one in _BREADTHS if one in getattr(type(retriever), "model_fields", {})), None)
    by_argument = hasattr(retriever, "vectorstore") and hasattr(retriever, "search_kwargs")

    def search(text: str, top_k: int) -> list[Found]:
        with _untraced():
            if by_argument:
                found = retriever.invoke(text, k=top_k)
            elif field is not None:
                # A copy, because several threads may ask at a time.
                found = retriever.model_copy(update={field: top_k}).invoke(text)
            else:
                found = retriever.invoke(text)
        strange = found if not isinstance(found, list) else next((one for one in found if not _is_document(one)), None)
        if not isinstance(found, list) or strange is not None:
            among = "among its documents" if isinstance(found, list) else "for a list of documents"
            raise ConnectorContractError(
                f"{type(retriever).__name__} gave a {type(strange).__name__} {among}; name a retriever"
            )
        return [Found(row=row_of(one)) for one in found]

    return search


def _is_document(one: object) -> bool:
    return hasattr(one, "page_content")


def _scale(params: Mapping[str, Any], store: Theirs) -> Scale:
    declared = params["score_kind"]
    known = scale_of(store)
    if declared != AUTO:
        # The store knows its metric by name, unless the declaration contradicts it.
        return known if known is not None and known.kind == declared else Scale(declared)
    if known is None:
        raise wrong(
            "score_kind",
            f"what the scores of {type(store).__name__} are is not known; declare one of {', '.join(SCORE_KINDS)}",
        )
    return known


def _embedder(store: Theirs) -> Callable[[Sequence[str]], list[Sequence[float]]] | None:
    embeddings = getattr(store, "embeddings", None)
    if embeddings is None:
        return None
    return lambda texts: [embeddings.embed_query(text) for text in texts]


# --- what is read -------------------------------------------------------------------------------------------------


def _documents(params: Mapping[str, Any]) -> Callable[[], list[Row]] | None:
    """The rows of the documents that the parameters name."""
    target = params.get("documents")
    if target is None:
        return None
    if "chunks" in params:
        raise wrong("documents", "cannot be given beside chunks; the corpus stands in one place")
    held = listed(target, given(target), "page_content", "documents of LangChain")
    return lambda: [row_of(one) for one in held]


def _facts(found: Theirs, search_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    filters = [
        {"name": name, "description": "an argument of every search", "value": value}
        for name, value in plain_metadata(search_kwargs).items()
        if name not in _NO_FILTERS
    ]
    return {"object": type(found).__name__, **({"internal_filters": filters} if filters else {})}


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="LangChain",
    description="A vector store or a retriever of LangChain",
    build=build,
    connect=connect,
    params=list(PARAMS),
)
