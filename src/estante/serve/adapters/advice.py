"""How a user of an adapter mends what a check finds: by its parameters, because they wrote no pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_CORPUS: Final[Mapping[str, str]] = {
    "langchain": "Name the corpus: documents (what gives them, as module:attribute) or chunks (a file of them).",
    "llamaindex": "Name the corpus: nodes (what gives them, as module:attribute) or chunks (a file of them).",
    "haystack": "Name the corpus: store (the document store of the pipeline) or chunks (a file of them).",
    "http": "Name the corpus: chunks_path (where the server lists it) or chunks (a file of it).",
    "mcp": "Name the corpus: chunks_tool (the tool that lists it) or chunks (a file of it).",
}
"""By the type of the connector: how a corpus is given that the back end cannot list."""

_BY_ID: Final[Mapping[str, str]] = {
    "http": "Name where the server gives chunks by their ids: by_id_path. Or give the corpus as a file: chunks.",
    "mcp": "Name the tool that gives chunks by their ids: by_id_tool. Or give the corpus as a file: chunks.",
}
_NOT_BY_ID: Final = (
    "This back end finds nothing by its id. Give the corpus as a file, in which ids are looked up: chunks. Otherwise "
    "reads by id cost a whole read; nothing else is wrong."
)
_OBJECTS: Final = ("langchain", "llamaindex", "haystack")
_SERVERS: Final = ("http", "mcp")

_ANY: Final[Mapping[str, str]] = {
    "info": "Name the embedding, so that a change of it is noticed: embedding, an object with provider, model and "
    "dimensions.",
    "score-direction": "Declare what the numbers of the back end are: score_kind.",
    "recomputed-scores": "Declare what the numbers of the back end are: score_kind. If that is so, its index is stale.",
}
_PAGING: Final = (
    "Let the server give pages that begin where the one before ended. Where it gives its corpus at once, or minds no "
    "limit, say so: count_places: true."
)
_OF_SERVERS: Final[Mapping[str, str]] = {
    "list-chunks": _PAGING,
    "page-limits": _PAGING,
    "query-ids": "Name the field that holds the id of a chunk, in hits and in the corpus: chunk_id in response.",
}
_LASTING: Final = (
    "Give the documents ids that last, where they are stored; where that cannot be, let ids be made of the texts: "
    "text_ids: true."
)
_OF_OBJECTS: Final[Mapping[str, str]] = {
    "query-ids": "Name the entry of the metadata that holds the id: id_key. Or let ids be made of the texts: "
    "text_ids: true.",
    "corpus-stability": _LASTING,
    "build-round-trip": _LASTING,
    "fresh-process": _LASTING,
}


def advice_of(kind: str, *, has_corpus: bool, finds_by_id: bool) -> Mapping[str, str]:
    """How the user of the adapter of this type mends what a check finds, by the id of the check."""
    found = dict(_ANY)
    if kind in _SERVERS:
        found |= _OF_SERVERS
    if kind in _OBJECTS:
        found |= _OF_OBJECTS
    if not has_corpus and kind in _CORPUS:
        found["corpus-pull"] = _CORPUS[kind]
    if not finds_by_id:
        found["get-chunks"] = _BY_ID.get(kind, _NOT_BY_ID)
    return MappingProxyType(found)
