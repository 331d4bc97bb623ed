"""Small pipelines that tests of the validator look at."""

from __future__ import annotations

from typing import Any

from estante.contract.models import ChunkPage, ChunkRecord, RetrievedChunk
from estante.contract.pipeline import RagPipeline


def records(count: int = 9) -> list[ChunkRecord]:
    """Three chunks a document."""
    return [
        ChunkRecord(
            chunk_id=f"d{i // 3}:chunk-{i % 3}",
            doc_id=f"d{i // 3}",
            source_file=f"d{i // 3}.md",
            doc_chunk_index=i % 3,
            global_index=i,
            text=f"text number {i} of a small corpus about bananas and figs",
            metadata={"source_fingerprint": "f"},
        )
        for i in range(count)
    ]


class Bulk(RagPipeline):
    """The least that a pipeline can be. Counts how often its corpus was read."""

    name = "bulk"

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.pulls = 0

    def pull_all_chunks(self) -> list[ChunkRecord]:
        self.pulls += 1
        return records()

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return [
            RetrievedChunk(record.chunk_id, record.text, 1.0 - rank / 10, rank, record.doc_id)
            for rank, record in enumerate(records()[: max(0, top_k)])
        ]


class Paged(Bulk):
    """Reads by pages, from which the bulk read is derived. Counts the chunks that were given out."""

    served = 0

    # The default again, which Bulk had replaced.
    pull_all_chunks = RagPipeline.pull_all_chunks

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        start = int(cursor or 0)
        items = records()[start : start + max(0, limit)]
        self.served += len(items)
        return ChunkPage(items, str(start + limit) if start + limit < 9 else None)
