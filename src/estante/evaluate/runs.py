"""A run: questions, what a pipeline found, the results, and the circumstances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from estante.contract.capabilities import supports
from estante.contract.errors import ConnectorError, UnsupportedCapability
from estante.contract.pipeline import RagPipeline
from estante.contract.secrecy import secret_paths
from estante.contract.snapshots import run_snapshot_fingerprint, validate_run_snapshot
from estante.evaluate import trec
from estante.evaluate.asking import Asked, By, Found, Heard, Known, Order, ask, corpus_of, told_of
from estante.evaluate.collection import Collection, Question, refuse_empty
from estante.evaluate.errors import Incomparable
from estante.evaluate.machine import environment, peak_memory, speed
from estante.evaluate.measures import RANKED, SPANNED, Measure
from estante.evaluate.results import Results, results_of

PER_NAME: Final = 3
"""Hits that are asked for each place of the deepest measure, where several hits may count under one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Results with all that they follow from. ``circumstances`` are what may differ from one time to the next."""

    results: Results
    questions: tuple[Question, ...]
    asked: tuple[Asked, ...]
    circumstances: Mapping[str, Any]

    def rankings(self) -> dict[str, list[str]]:
        """The names that each question found, those without a name left out."""
        return {one.question: [name for name in one.ranking() if not name.startswith("\0")] for one in self.asked}


def usual_measures(collection: Collection) -> tuple[Measure, ...]:
    """What is measured unless something else is asked for: by names, by gold spans, or both."""
    judged = any(one.judged for one in collection.questions)
    return (RANKED if judged else ()) + (SPANNED if collection.gold else ())


def usual_top_k(measures: Sequence[Measure], by: By) -> int:
    """How many hits to ask for, so that the deepest measure has enough to look at."""
    names = max((one.cutoff or 100 for one in measures if not one.of_spans), default=1)
    spans = max((one.cutoff or 10 for one in measures if one.of_spans), default=1)
    return max(spans, names if by == "chunk" else PER_NAME * names)


def measure(
    pipeline: RagPipeline,
    collection: Collection,
    measures: Sequence[Measure],
    order: Order,
    *,
    name: str,
    now: str,
    read_corpus: bool = True,
    settings: Mapping[str, Any] | None = None,
    heard: Heard | None = None,
) -> Run:
    """Asks a pipeline every question and measures what it found. A question that fails is an error of that question.

    ``now`` is the moment that the run keeps. Raises ``Incomparable`` for a collection with nothing to measure, and for
    a measure of what nobody judged.
    """
    refuse_empty(collection)
    refuse_unjudged(measures, collection)
    identity, known = identity_of(pipeline, read_corpus=read_corpus)
    asked = ask(pipeline, collection, order, known=known, heard=heard)
    results = results_of(
        name,
        measures,
        collection,
        asked,
        settings={"by": order.by, "top_k": order.top_k, "warmup": order.warmup, **(settings or {})},
        pipeline=identity,
        names=known.names(order.by) if known is not None else None,
    )
    answered = [one.seconds for one in asked if one.error is None]
    calls = len(asked) + min(order.warmup, len(asked))
    told = {"speed": speed(answered, calls=calls, memory=peak_memory()), "environment": environment()}
    circumstances = {"created_at": now, **told, "seconds": {one.question: one.seconds for one in asked}}
    return Run(results=results, questions=collection.questions, asked=tuple(asked), circumstances=circumstances)


def measure_file(
    path: Path,
    collection: Collection,
    measures: Sequence[Measure],
    *,
    name: str,
    now: str,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """Measures a run of TREC: what some system found, which tells neither passages nor times."""
    refuse_empty(collection)
    if of_spans := [str(one) for one in measures if one.of_spans]:
        raise Incomparable(f"a run file has no passages for {', '.join(of_spans)}", hint="Leave that measure out.")
    refuse_unjudged(measures, collection)
    found = trec.run(path)
    asked = tuple(
        Asked(question=one.id, hits=tuple(_listed(*hit) for hit in found.get(one.id, ())))
        for one in collection.questions
    )
    results = results_of(
        name,
        measures,
        collection,
        asked,
        settings={"by": "document", "top_k": None, "warmup": 0, **(settings or {})},
        pipeline={"run_file": path.name, "questions_not_asked": len(found.keys() - collection.qrels.keys())},
    )
    told = {"speed": None, "environment": environment(), "seconds": {}}
    return Run(results=results, questions=collection.questions, asked=asked, circumstances={"created_at": now, **told})


def _listed(name: str, score: float) -> Found:
    return Found(name=name, document=name, score=score)


def refuse_unjudged(measures: Sequence[Measure], collection: Collection) -> None:
    """Raises ``Incomparable`` for no measure, and for one that has nothing to look at in this collection."""
    if not measures:
        raise Incomparable("there is nothing to measure", hint="Name a measure with -m.")
    judged = any(one.judged for one in collection.questions)
    for one in measures:
        if one.of_spans and not collection.gold:
            raise Incomparable(f"{one} needs gold spans, and {collection.name} has none", hint=f"Leave {one} out.")
        if not one.of_spans and not judged:
            raise Incomparable(
                f"{one} needs judged names, and {collection.name} has gold spans alone",
                hint="Measure SpanR@5, SpanP@5 or SpanIoU@5.",
            )


def identity_of(pipeline: RagPipeline, *, read_corpus: bool) -> tuple[dict[str, Any], Known | None]:
    """What a pipeline says of itself, with whatever kept it from saying more; and its corpus, if it was read."""
    told: dict[str, Any] = {"type": type(pipeline).__name__, "problems": []}
    told["info"] = _attempt(told, "info", lambda: _clean(pipeline.info()))
    told["snapshot"] = told["snapshot_sha256"] = told["fingerprint"] = None
    if supports(pipeline, "run_snapshot"):
        snapshot = _attempt(told, "run_snapshot", lambda: validate_run_snapshot(_snapshot(pipeline)))
        told["snapshot"] = snapshot
        told["snapshot_sha256"] = None if snapshot is None else run_snapshot_fingerprint(snapshot)
    if not read_corpus:
        return told, None
    told["fingerprint"] = _attempt(told, "fingerprint", lambda: str(pipeline.fingerprint()))
    known: Known | None = _attempt(told, "corpus", lambda: corpus_of(pipeline))
    return told, known


def _attempt(told: dict[str, Any], what: str, call: Any) -> Any:
    """What the call gives. What goes wrong is told, and does not keep the questions from being asked."""
    try:
        return call()
    except UnsupportedCapability:
        told["problems"].append(f"{what}: not offered")
    except ConnectorError as error:
        told["problems"].append(f"{what}: {told_of(error)}")
    except Exception as error:  # noqa: BLE001 - code of others; its questions are asked all the same.
        told["problems"].append(f"{what}: {told_of(error)}")
    return None


def _snapshot(pipeline: Any) -> Any:
    # Its own name is no method of every pipeline, so the type checker is not asked.
    return pipeline.run_snapshot()


def _clean(info: object) -> Any:
    """The info as JSON. Raises ``ValueError`` for one that holds a secret, or is no JSON."""
    import json

    if paths := secret_paths(info):
        raise ValueError(f"it holds secrets, at {paths}")
    return json.loads(json.dumps(info, allow_nan=False))
