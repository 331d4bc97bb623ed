"""A pipeline, a retriever or a document store of Haystack as a pipeline of the contract.

The question goes to every input that a Haystack pipeline cannot do without, and the hits are the documents of one
output. The corpus is what the document store behind the retriever holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from estante.contract.errors import ConnectorContractError
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.serve.adapters.backends import Backend, Found, pipeline_of
from estante.serve.adapters.objects import library
from estante.serve.adapters.parameters import (
    CHUNKS,
    EMBEDDING,
    LAYOUT,
    OBJECT,
    document,
    found_object,
    frozen_of,
    layout_of,
    parameters,
    score_kind,
    space_of,
    wrong,
)
from estante.serve.adapters.records import Layout, Row, plain
from estante.serve.adapters.scales import AUTO, NONE, Scale
from estante.shelf.settings import quieten

KIND: Final = "haystack"
CONVENTIONS: Final = Layout(
    docs=("doc_id", "source_id"),
    names=("source_file", "file_path", "file_name"),
    ordinals=("doc_chunk_index", "split_id"),
)
PARAMS: Final[tuple[ParamField, ...]] = (
    *OBJECT,
    {
        "name": "inputs",
        "label": "Inputs",
        "type": "any",
        "help": "a list of the inputs, component.name, that the question goes to; by default those that are mandatory",
    },
    {
        "name": "output",
        "label": "Output",
        "type": "string",
        "help": "the output, component.name, that holds the documents found; needed where there are several",
    },
    {
        "name": "top_k_input",
        "label": "Breadth",
        "type": "string",
        "help": "the input, component.name, that bounds the list; by default top_k of the component of the output",
    },
    {
        "name": "store",
        "label": "Component of the store",
        "type": "string",
        "help": "the component whose document store is the corpus; needed where there are several stores",
    },
    {
        "name": "vectors",
        "label": "Vectors",
        "type": "boolean",
        "default": False,
        "help": "true says that the document store gives documents with their vectors",
    },
    CHUNKS,
    score_kind(auto="similarity for the retrievers of InMemoryDocumentStore, else none"),
    *LAYOUT,
    EMBEDDING,
)

_DOCUMENTS: Final = "documents"
_TOP_K: Final = "top_k"
_ALONE: Final = "retriever"

# Objects of Haystack, whose types need not be installed.
Theirs = Any


@dataclass(frozen=True, slots=True)
class Socket:
    """An input or an output of a component."""

    component: str
    name: str

    def __str__(self) -> str:
        return f"{self.component}.{self.name}"


def build(connection: dict[str, Any]) -> RagPipeline:
    """The pipeline of a stored document. Raises ``ConnectorRegistrationError`` for what cannot be used."""
    params = parameters(KIND, PARAMS, connection)
    frozen, layout, space = frozen_of(params), layout_of(params, CONVENTIONS), space_of(params)
    quieten()
    with library(KIND):
        from haystack import Pipeline
        from haystack.core.component import Component
    found = found_object(params, lambda one: isinstance(one, Pipeline | Component) or hasattr(one, "filter_documents"))
    pipeline = found if isinstance(found, Pipeline) else _around(params, found, isinstance(found, Component))
    output = _output(params, pipeline)
    component, store = pipeline.get_component(output.component), _store(params, pipeline)
    return pipeline_of(
        Backend(
            kind=KIND,
            search=_search(pipeline, _inputs(params, pipeline), output, _breadth(params, pipeline, output)),
            layout=layout,
            scale=_scale(params, component),
            rows=None if store is None else lambda: [row_of(one) for one in store.filter_documents()],
            frozen=frozen,
            by_id=None if store is None else _by_id(store),
            vectors=_vectors(store) if store is not None and params["vectors"] else None,
            space=space,
            facts={"object": type(found).__name__, **_filters(pipeline)},
        )
    )


def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
    """The pipeline and its document."""
    held = document(KIND, PARAMS, params)
    return build(held), held


def _around(params: Mapping[str, Any], found: Theirs, is_component: bool) -> Theirs:
    """A Haystack pipeline of a component alone, or of a document store that can be searched by words."""
    from haystack import Pipeline

    if not is_component and not hasattr(found, "bm25_retrieval"):
        raise wrong(
            "object",
            f"{params['object']} leads to a {type(found).__name__}, which nobody can ask; name a pipeline or retriever",
        )
    made = Pipeline()
    if is_component:
        made.add_component(_ALONE, found)
    else:
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

        made.add_component(_ALONE, InMemoryBM25Retriever(document_store=found))
    return made


# --- what is asked ------------------------------------------------------------------------------------------------


def _search(
    pipeline: Theirs, inputs: Sequence[Socket], output: Socket, breadth: Socket | None
) -> Callable[[str, int], list[Found]]:
    def search(text: str, top_k: int) -> list[Found]:
        data: dict[str, dict[str, Any]] = {}
        for one in inputs:
            data.setdefault(one.component, {})[one.name] = text
        if breadth is not None:
            data.setdefault(breadth.component, {})[breadth.name] = top_k
        made = pipeline.run(data, include_outputs_from={output.component})
        found = made.get(output.component, {}).get(output.name)
        if not isinstance(found, list):
            raise ConnectorContractError(f"the pipeline gave no documents at {output}; name the output that does")
        return [Found(row=row_of(one), number=one.score) for one in found]

    return search


def _inputs(params: Mapping[str, Any], pipeline: Theirs) -> list[Socket]:
    declared = params.get("inputs")
    if declared is not None:
        if not isinstance(declared, list | tuple) or not declared:
            raise wrong("inputs", 'must be a list such as ["retriever.query"]')
        return [_input(pipeline, one, "inputs") for one in declared]
    found: list[Socket] = []
    for component, sockets in pipeline.inputs().items():
        for name, told in sockets.items():
            if not told["is_mandatory"]:
                continue
            if told["type"] not in (str, Any):
                raise wrong(
                    "object",
                    f"{component}.{name} needs a {told['type']}, not a text; put what makes it of a text before it",
                )
            found.append(Socket(component, name))
    if not found:
        raise wrong("inputs", "no input is mandatory; name the one that the question goes to")
    return found


def _input(pipeline: Theirs, text: object, param: str) -> Socket:
    return _known(text, pipeline.inputs(), param)


def _known(text: object, sockets: Mapping[str, Mapping[str, Any]], param: str) -> Socket:
    """The socket of this name. Raises ``ParamsError`` for one that is not there."""
    component, _, name = str(text).rpartition(".")
    if name not in sockets.get(component, {}):
        there = ", ".join(f"{one}.{socket}" for one, names in sockets.items() for socket in names)
        raise wrong(param, f"there is no {text!r}; there are: {there or 'none'}")
    return Socket(component, name)


def _output(params: Mapping[str, Any], pipeline: Theirs) -> Socket:
    every = pipeline.outputs(include_components_with_connected_outputs=True)
    if "output" in params:
        return _known(params["output"], every, "output")
    for sockets in (pipeline.outputs(), every):
        found = [Socket(component, _DOCUMENTS) for component, names in sockets.items() if _DOCUMENTS in names]
        if len(found) == 1:
            return found[0]
        if found:
            raise wrong("output", f"several give documents; name one of {', '.join(map(str, found))}")
    raise wrong("output", "no component gives documents; name the output that holds the documents found")


def _breadth(params: Mapping[str, Any], pipeline: Theirs, output: Socket) -> Socket | None:
    if "top_k_input" in params:
        return _input(pipeline, params["top_k_input"], "top_k_input")
    return Socket(output.component, _TOP_K) if _TOP_K in pipeline.inputs().get(output.component, {}) else None


def _scale(params: Mapping[str, Any], component: Theirs) -> Scale:
    declared = params["score_kind"]
    if declared not in (AUTO, "similarity"):
        return Scale(declared)
    kind = type(component).__name__
    if kind == "InMemoryBM25Retriever":
        return Scale("similarity", "bm25")
    if kind == "InMemoryEmbeddingRetriever":
        # Scaled scores are no similarity that could be computed again, but larger is better all the same.
        measure = component.document_store.embedding_similarity_function
        return Scale("similarity", "" if component.scale_score else str(measure))
    return Scale(NONE if declared == AUTO else declared)


def _filters(pipeline: Theirs) -> dict[str, Any]:
    """The filters that components always apply, for ``info()``."""
    filters = [
        {"name": name, "description": "a filter of this component", "value": plain(component.filters)}
        for name, component in pipeline.walk()
        if getattr(component, "filters", None)
    ]
    return {"internal_filters": filters} if filters else {}


# --- what is read -------------------------------------------------------------------------------------------------


def row_of(found: Theirs) -> Row:
    """The row of a document of Haystack."""
    meta = dict(found.meta or {})
    start = meta.get("split_idx_start")
    return Row(
        text=found.content or "",
        id=found.id,
        metadata=meta,
        start=start if isinstance(start, int) and not isinstance(start, bool) and start >= 0 else None,
    )


def _store(params: Mapping[str, Any], pipeline: Theirs) -> Theirs | None:
    stores = {
        name: component.document_store
        for name, component in pipeline.walk()
        if hasattr(getattr(component, "document_store", None), "filter_documents")
    }
    if "store" in params:
        if params["store"] not in stores:
            raise wrong("store", f"{params['store']!r} has no document store; there are: {', '.join(stores) or 'none'}")
        return stores[params["store"]]
    different = {id(store): store for store in stores.values()}
    if len(different) > 1 and "chunks" not in params:
        raise wrong("store", f"there are several document stores; name the component of one: {', '.join(stores)}")
    return next(iter(different.values()), None) if len(different) == 1 else None


def _these(ids: Iterable[str]) -> dict[str, Any]:
    return {"field": "id", "operator": "in", "value": list(ids)}


def _by_id(store: Theirs) -> Callable[[Sequence[str]], list[Row]]:
    return lambda ids: [row_of(one) for one in store.filter_documents(filters=_these(ids))]


def _vectors(store: Theirs) -> Callable[[Sequence[str]], dict[str, Sequence[float]]]:
    def vectors(ids: Sequence[str]) -> dict[str, Sequence[float]]:
        found = store.filter_documents(filters=_these(ids))
        return {one.id: one.embedding for one in found if one.embedding is not None}

    return vectors


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=KIND,
    label="Haystack",
    description="A pipeline, a retriever or a document store of Haystack",
    build=build,
    connect=connect,
    params=list(PARAMS),
)
