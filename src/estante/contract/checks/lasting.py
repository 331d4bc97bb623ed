"""The check that what was handed over stays as it was: a host keeps hits and chunks while it asks for others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from estante.contract.checks.attempts import attempt, listed
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import again, corpus
from estante.contract.checks.retrieval import search
from estante.contract.checks.rules import Outcome, Rule, failed, passed
from estante.contract.checks.views import ChunkView, HitView, chunk_view, hit_view
from estante.contract.models import ChunkRecord, RetrievedChunk

_OTHER: Final = "something else altogether"
_LOOKED_AT: Final = 10_000
"""Chunks that are looked at again; of a larger corpus every so many-th."""


def _lasting(probe: Probe) -> Outcome:
    first, found = corpus(probe), search(probe)
    problems = []
    if found.hits:
        probe.call("query", _OTHER, max(1, probe.setting.top_k - 1))
        if _hits(attempt(listed, found.given).value or ()) != [_hit(one) for one in found.hits]:
            problems.append("the hits of a question changed when another was asked")
    if not probe.setting.skip_stability:
        # That it failed, or gave another corpus, is told by another row.
        attempt(again, probe)
        step = max(1, len(first.chunks) // _LOOKED_AT)
        now = attempt(lambda: list(first.given)).value or []
        if len(now) != len(first.chunks) or _chunks(now[::step]) != [_chunk(one) for one in first.chunks[::step]]:
            problems.append("the chunks of the first reading changed with the second")
    if problems:
        return failed(problems, "Make a new list, and new hits and chunks, for every call.")
    return passed()


def _hits(given: Iterable[object]) -> list[Any]:
    return [_hit(hit_view(one)) if isinstance(one, RetrievedChunk) else None for one in given]


def _hit(hit: HitView) -> tuple[object, ...]:
    return hit.chunk_id, hit.text, hit.rank, hit.doc_id


def _chunks(given: Iterable[object]) -> list[Any]:
    return [_chunk(chunk_view(one)) if isinstance(one, ChunkRecord) else None for one in given]


def _chunk(chunk: ChunkView) -> tuple[object, ...]:
    return chunk.chunk_id, chunk.text, chunk.doc_id, chunk.ordinal


RULES: Final = (
    Rule(
        "results-last",
        "What was handed over stays as it was",
        "Hits and chunks that a host holds do not change when it asks for others.",
        "Make a new list, and new hits and chunks, for every call.",
        _lasting,
    ),
)
