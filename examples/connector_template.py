"""A connector to fill in: copy this file, and mend every place that says YOURS.

It asks the least of a back end: a search, and one call that gives the whole corpus. Where the corpus can be read by
pages write ``list_chunks`` instead of ``pull_all_chunks``; where rows can be looked up by id, ``get_chunks``, too, or a
validation warns, and one with --strict fails. The package in ``estante-connector-example`` has both, and every other
thing that can be offered.

Try it before it is packaged, with the file in the current folder:

    estante validate --import connector_template:TemplateConnector --query "what the corpus can answer" \\
        --kwargs '{"endpoint": "https://search.example.org", "collection": "handbook", "token": "env:MY_TOKEN"}'
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, Protocol

from estante.contract import (
    ChunkRecord,
    ConnectorOperationalError,
    ConnectorSpec,
    RagPipeline,
    RetrievedChunk,
    validate_run_snapshot,
)
from estante.contract.params import resolve_secret

CONNECTOR_TYPE: Final = "my-connector"  # YOURS: small letters and hyphens; stored documents name it, so it stays.
TOKEN_VARIABLE: Final = "MY_CONNECTOR_TOKEN"  # noqa: S105 - YOURS: the name of a variable, not what it holds.

Row = Mapping[str, Any]


class Client(Protocol):
    """What is asked of the back end. YOURS: the class of your client library, instead of this one."""

    def search(self, collection: str, text: str, limit: int) -> list[Row]:
        """The best rows, best first."""

    def everything(self, collection: str) -> list[Row]:
        """Every row that a search can find, and no other."""


def open_client(endpoint: str, token: str | None) -> Client:
    """The client of the back end. YOURS."""
    raise NotImplementedError(f"connect to {endpoint} here")


class BackendError(Exception):
    """What the back end raises when it fails. YOURS: the classes of your client library, as a tuple or alone."""


class TemplateConnector(RagPipeline):
    """YOURS: one line about what is behind it."""

    name = CONNECTOR_TYPE
    # YOURS: "scored" when a larger score is a better hit; "ordered" when only the order counts; "complete_set" when the
    # system gives all it finds, whatever top_k says.
    retrieval_mode = "scored"

    def __init__(self, endpoint: str, collection: str, token: str | None = None) -> None:
        """All that the stored document holds; ``token`` is a reference, such as env:NAME, never the token itself."""
        self.endpoint = endpoint
        self.collection = collection
        self._client = open_client(endpoint, None if token is None else resolve_secret(token, os.environ))

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The best chunks, best first; empty only when the search ran and matched nothing."""
        # YOURS: nothing is asked for 0 hits, unless your back end takes that for "all".
        if top_k < 1:
            return []
        try:
            rows = self._client.search(self.collection, text, top_k)
        except BackendError as error:
            # Never an empty list: that would say that nothing is there.
            raise ConnectorOperationalError(f"the search in {self.collection} failed: {error}") from error
        return [
            RetrievedChunk(
                chunk_id=chunk_id_of(row),
                text=row["text"],
                # YOURS: where the store gives a distance, convert it (cosine_distance_to_similarity,
                # l2_distance_to_score) and keep its number in raw_score. Where nothing is converted that stays None.
                score=float(row["score"]),
                rank=rank,
                doc_id=row["document"],
            )
            for rank, row in enumerate(rows)
        ]

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The whole corpus. A part of it is a failure, and raises."""
        try:
            rows = self._client.everything(self.collection)
        except BackendError as error:
            raise ConnectorOperationalError(f"the corpus of {self.collection} cannot be read: {error}") from error
        chunks = [
            ChunkRecord(
                chunk_id=chunk_id_of(row),
                doc_id=row["document"],
                source_file=row["title"],
                # 0, 1, 2, ... within each document.
                doc_chunk_index=row["position"],
                # YOURS: a number through the whole corpus, each its own; or None for every chunk.
                global_index=None,
                text=row["text"],
                metadata={"source_fingerprint": row["checksum"]},
            )
            for row in rows
        ]
        self.validate_chunks(chunks)
        return chunks

    def info(self) -> dict[str, Any]:
        """What a run should remember. YOURS: what decides the hits and may change."""
        return {
            **super().info(),
            # YOURS: "embedding_fingerprint", by which a run notices another model; make it with the function of this
            # name in estante.contract.fingerprints. Without it a validation warns.
            # YOURS: every filter that the system applies by itself, as {"name": ..., "description": ..., "value": ...}.
            "internal_filters": [],
        }

    def run_snapshot(self) -> dict[str, Any]:
        """How it is set, and what it found when it was asked. YOURS; without secrets and without the time."""
        snapshot = {
            "schema": f"{CONNECTOR_TYPE}.run-snapshot.v1",
            "settings": {"collection": self.collection},
            "observations": {},
        }
        return validate_run_snapshot(snapshot)


def chunk_id_of(row: Row) -> str:
    """The id of a row, the same in hits and in the corpus. YOURS: of lasting keys, never of the order of a listing."""
    return f"{row['document']}:chunk-{row['position']}"


# --- for hosts ------------------------------------------------------------------------------------------------------


def _build(connection: dict[str, Any]) -> TemplateConnector:
    """The pipeline of a stored document, in any process."""
    return TemplateConnector(connection["endpoint"], connection["collection"], connection.get("token"))


def _connect(params: dict[str, Any]) -> tuple[TemplateConnector, dict[str, Any]]:
    """A pipeline, and the document to store; of the token both hold where it is, and not what it is."""
    document = {"type": CONNECTOR_TYPE, **{name: value for name, value in params.items() if value is not None}}
    return _build(document), document


CONNECTOR_SPEC: Final = ConnectorSpec(
    connector_type=CONNECTOR_TYPE,
    label="My connector",  # YOURS
    description="One line about it.",  # YOURS
    build=_build,
    connect=_connect,
    params=[
        {"name": "endpoint", "label": "Endpoint", "type": "string", "required": True},
        {"name": "collection", "label": "Collection", "type": "string", "required": True},
        {"name": "token", "label": "Token", "type": "secret", "env": TOKEN_VARIABLE, "help": "env:NAME or file:/path"},
    ],
)


def smoke_test(connector: RagPipeline, sample_query: str) -> None:
    """The first thing to try: every hit is a chunk of the corpus. Raises ``AssertionError`` when one is not."""
    corpus = {chunk.chunk_id for chunk in connector.pull_all_chunks()}
    hits = connector.query(sample_query)
    assert corpus, "the corpus is empty"
    assert hits, f"nothing was found for {sample_query!r}; ask what the corpus can answer"
    strangers = [hit.chunk_id for hit in hits if hit.chunk_id not in corpus]
    assert not strangers, f"hits that are not in the corpus: {strangers}; one id for a chunk, everywhere"
