"""What a fresh process does: it makes a pipeline of a document, asks it, and prints the ids it found as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import reduce
from importlib import import_module
from typing import Any

from estante.contract.checks.attempts import attempt, told
from estante.contract.checks.rebuilding import BY_BUILD, BY_TYPE, QUERY
from estante.contract.checks.retrieval import credited, read_hits
from estante.contract.foreign import adopted
from estante.contract.pipeline import RagPipeline


def serve(order: Mapping[str, Any]) -> None:
    """Carries out the order, and prints one line of JSON on stdout."""
    # What a connector prints must not end up beside the answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    done = attempt(_found, order)
    answer = done.value if done.error is None else {"hits": [], "found": [], "error": told(done.error)}
    # On a line of its own, whatever was written past the stream before it.
    answers.write(f"\n{json.dumps(answer)}\n")
    answers.flush()
    sys.stderr.flush()
    # Threads of a back end must not keep the process from ending.
    os._exit(0)


def maker(target: str) -> Any:
    """What ``module:qualified.name`` leads to."""
    module, _, name = target.partition(":")
    return reduce(getattr, name.split("."), import_module(module))


def made(order: Mapping[str, Any]) -> RagPipeline:
    """The pipeline of the document."""
    document = dict(order["document"])
    if order["way"] == BY_TYPE:
        # Imported here, because not every process looks a connector up.
        from estante.contract.registry import require_connector

        return require_connector(order["target"]).build(document)
    found = maker(order["target"])
    return adopted(found(document) if order["way"] == BY_BUILD else found(**document))


def _found(order: Mapping[str, Any]) -> dict[str, Any]:
    pipeline = made(order)
    hits, problem = read_hits(attempt(pipeline.query, order["question"], order["top_k"]))
    if problem:
        return {"hits": [], "found": [], "error": f"{QUERY}{problem}"}
    found = list(pipeline.get_chunks(list(order["ids"]))) if order["ids"] else []
    close = getattr(pipeline, "close", None)
    if callable(close):
        attempt(close)
    return {"hits": [credited(hit) for hit in hits], "found": found, "error": ""}
