"""Checks of vectors: the space of questions, the vectors of chunks, and the scores that follow from both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from estante.contract.checks.attempts import Missing, attempt, kind, listed, shown, told
from estante.contract.checks.facts import distance, metric, mode, question
from estante.contract.checks.probes import NO_SUCH_CHUNK, Probe
from estante.contract.checks.pulls import corpus
from estante.contract.checks.reading import vectors
from estante.contract.checks.retrieval import plain_hits
from estante.contract.checks.rules import Outcome, Rule, failed, passed, skipped, warned
from estante.contract.checks.views import HitView, finite, vector
from estante.contract.models import EmbeddingBatch, EmbeddingSpaceDescriptor

Vector = tuple[float, ...]

_SECOND: Final = "another question"
_LISTED: Final = 5
_LOOKED_AT: Final = 10_000
"""Chunks whose own vectors are looked at; of a larger corpus every so many-th."""

_UNIT: Final = 1e-2
"""How far from 1 the length of a normalized vector may be, for the sake of coarse storage."""

_CLOSE: Final = 5e-3
"""How far a reported score may be from the one computed again: more than half precision and quantization cost."""


@dataclass(frozen=True, slots=True)
class Space:
    """The space of the pipeline's questions, or what is wrong with it; and the vector of the question."""

    problems: tuple[str, ...] = ()
    dimension: int | None = None
    metric: str = ""
    asked: Vector = ()


def space(probe: Probe) -> Space:
    """What ``describe_space`` and ``embed_queries`` tell, asked once. Raises ``Missing`` where they are not offered."""
    if not (probe.supports("describe_space") and probe.supports("embed_queries")):
        raise Missing("questions cannot be embedded: describe_space() and embed_queries() are not both offered")
    return probe.once("the space of questions", lambda: _space(probe))


def _space(probe: Probe) -> Space:
    described = probe.call("describe_space")
    if described.error is not None:
        return Space((f"describe_space() raised {told(described.error)}",))
    told_space = described.value
    if not isinstance(told_space, EmbeddingSpaceDescriptor):
        return Space((f"describe_space() gave {kind(told_space)}, not an EmbeddingSpaceDescriptor",))
    done = probe.call("embed_queries", [question(probe), _SECOND])
    if done.error is not None:
        return Space((f"embed_queries() raised {told(done.error)}",))
    if not isinstance(done.value, EmbeddingBatch):
        return Space((f"embed_queries() gave {kind(done.value)}, not an EmbeddingBatch",))
    found = [vector(one) for one in attempt(listed, done.value.vectors).value or []]
    problems = list(_batch_problems(found, told_space))
    if attempt(lambda: done.value.space == told_space).value is not True:
        problems.append("embed_queries() names another space than describe_space()")
    if problems:
        return Space(tuple(problems))
    asked = found[0] or ()
    return Space((), len(asked), metric(told_space.metric), asked)


def _batch_problems(found: list[Vector | None], told_space: EmbeddingSpaceDescriptor) -> Iterator[str]:
    if len(found) != 2:
        yield f"embed_queries() gave {len(found)} vectors for 2 texts"
    for one in found:
        if one is None or not one or not finite(one):
            yield "embed_queries() gave a vector that is no list of finite numbers"
        elif told_space.dimension is not None and len(one) != told_space.dimension:
            yield f"embed_queries() gave dimension {len(one)}, describe_space() says {shown(told_space.dimension)}"
        elif told_space.normalized is True and abs(_length(one) - 1) > _UNIT:
            yield f"describe_space() says normalized, and a vector has the length {_length(one):.3f}"


def _embedding(probe: Probe) -> Outcome:
    offered = [name for name in ("describe_space", "embed_queries") if probe.supports(name)]
    if not offered:
        return skipped("not offered: questions are embedded where nobody sees it")
    fix = "Give one finite vector for each text, in order, of the dimension and length that describe_space() names."
    if len(offered) < 2:
        return failed(f"{offered[0]}() is there without the other of describe_space() and embed_queries()", fix)
    found = space(probe)
    if found.problems:
        return failed(found.problems, fix)
    nothing = probe.call("embed_queries", [])
    rest = attempt(lambda: len(nothing.value.vectors))
    if nothing.error is not None or rest.error is not None or rest.value:
        what = f"raised {told(nothing.error)}" if nothing.error is not None else "did not give an empty batch"
        return warned(f"embed_queries([]) {what}", "Give an empty batch for no texts.")
    return passed(f"dimension {found.dimension}, metric {found.metric or 'not told'}")


def _dimensions(probe: Probe) -> Outcome:
    try:
        expected = space(probe).dimension
    except Missing:
        expected = None
    problems: list[str] = []
    counts = Counter[int]()
    for who, one in _chunk_vectors(probe):
        if not one:
            problems.append(f"{who}: no list of numbers")
            continue
        counts[len(one)] += 1
        if not finite(one):
            problems.append(f"{who}: a component is not finite")
        elif not any(one):
            problems.append(f"{who}: all components are zero; a chunk without a vector is absent")
    if not counts and not problems:
        return skipped("no chunk shows a vector")
    if len(counts) > 1:
        problems.append(f"vectors of different dimensions: {', '.join(map(str, sorted(counts)))}")
    elif expected is not None and set(counts) - {expected}:
        problems.append(f"chunks have dimension {min(counts)}, questions have {expected}")
    doubt = _doubt(probe)
    if doubt and not problems:
        return warned(doubt, "Convert the numbers of a library with tolist().")
    if problems:
        return failed(problems[:_LISTED], "Store one finite vector of one dimension for each chunk, and no other.")
    return passed(f"{counts.total()} vectors of dimension {min(counts)}")


def _doubt(probe: Probe) -> str:
    """Why the first vector that is shown cannot be written as JSON; empty when it can, or there is none."""
    carried: list[Any] = [attempt(getattr, record, "embedding").value for record in corpus(probe).records[:1]]
    if probe.supports("get_chunk_vectors") and isinstance(vectors(probe).value, Mapping):
        carried += list(vectors(probe).value.values())[:1]
    for one in carried:
        if one is not None and not isinstance(one, list | tuple):
            return f"a vector is of type {kind(one)}, not a list"
        if one and not isinstance(one[0], int | float):
            return f"the components of a vector are of type {kind(one[0])}, not float"
    return ""


def _chunk_vectors(probe: Probe) -> Iterator[tuple[str, Vector | None]]:
    """The vectors that chunks carry, and those that are read by id, by what they are called here."""
    records = corpus(probe).records
    for record in records[:: max(1, len(records) // _LOOKED_AT)]:
        carried = attempt(getattr, record, "embedding").value
        if carried is not None:
            yield f"embedding of {shown(attempt(getattr, record, 'chunk_id').value)}", vector(carried)
    if probe.supports("get_chunk_vectors"):
        given = vectors(probe).value
        for key in given if isinstance(given, Mapping) else ():
            yield f"stored vector of {shown(key)}", vector(given[key])


def _recomputed(probe: Probe) -> Outcome:
    if mode(probe) != "scored":
        return skipped("scores are evidence only in this mode")
    if not probe.supports("get_chunk_vectors"):
        return skipped("no stored vectors can be read, so no score can be computed again")
    asked = space(probe)
    named = distance(probe)
    known = metric(named) if named else asked.metric
    if not known:
        return skipped(f"scores are of a metric that is not computed again: {named or 'none is named'}")
    if asked.problems:
        return skipped("the question has no vector that could be used")
    found = [hit for hit in plain_hits(probe) if hit.score is not None]
    stored = _stored(probe, found)
    pairs = [(hit, _similarity(known, asked.asked, stored[hit.chunk_id])) for hit in found if hit.chunk_id in stored]
    if not pairs:
        return skipped("no hit has a stored vector")
    squared = [(hit, -(computed**2)) for hit, computed in pairs]
    # Many stores leave out the root, which changes no order, and call that l2, too.
    if known == "l2" and not any(_is_off(*pair) for pair in squared):
        return _agreement("squared l2", squared)
    return _agreement(known, pairs)


def _stored(probe: Probe, found: Sequence[HitView]) -> dict[str | None, Vector]:
    """The stored vectors of the hits that have one of the question's dimension."""
    ids = [hit.chunk_id for hit in found]
    given = probe.call("get_chunk_vectors", ids).value
    if not isinstance(given, Mapping):
        return {}
    read = {one: vector(given[one]) for one in ids if one in given and one != NO_SUCH_CHUNK}
    width = len(space(probe).asked)
    return {one: made for one, made in read.items() if made and len(made) == width and finite(made)}


def _agreement(known: str, pairs: list[tuple[HitView, float]]) -> Outcome:
    off = [pair for pair in pairs if _is_off(*pair)]
    if not off:
        return passed(f"{len(pairs)} scores are the {known} that their stored vectors give")
    details = [
        f"{shown(hit.chunk_id)}: reported {hit.score:.4f}, computed {computed:.4f}" for hit, computed in off[:_LISTED]
    ]
    if len(off) < len(pairs):
        what = f"{len(off)} of {len(pairs)} scores are not the {known} of their vectors: stored vectors may be stale"
    else:
        what = f"no score is the {known} of its vectors: scores are rescaled, or of another metric"
    return failed(
        [what, *details],
        "Report the similarity itself; rebuild the index if it is stale. If scores are fused or reranked, name that in "
        "info()['distance'], which is then no metric to compute by.",
    )


def _is_off(hit: HitView, computed: float) -> bool:
    """Whether a hit's score is another one than was computed."""
    return abs((hit.score or 0.0) - computed) > _CLOSE * max(1.0, abs(computed))


def _similarity(known: str, one: Vector, other: Vector) -> float:
    if known == "l2":
        return -math.dist(one, other)
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    lengths = _length(one) * _length(other)
    return product if known == "dot" or not lengths else product / lengths


def _length(one: Vector) -> float:
    return math.hypot(*one)


RULES: Final = (
    Rule(
        "query-embedding",
        "describe_space() and embed_queries() agree",
        "Questions are embedded into the space that is described: one finite vector a text, of its dimension.",
        "Give one finite vector for each text, of the dimension and length that describe_space() names.",
        _embedding,
    ),
    Rule(
        "vector-dimensions",
        "Vectors are finite and of one dimension",
        "Every vector of a chunk has the same dimension, that of the questions, and is neither empty nor zero.",
        "Store one finite vector of one dimension for each chunk.",
        _dimensions,
    ),
    Rule(
        "recomputed-scores",
        "Reported scores follow from the stored vectors",
        "Where the metric is known, the score of a hit is what the question's vector and the stored one give: scores "
        "were not rescaled, and the index is not stale.",
        "Report the similarity itself; rebuild a stale index; name fused or reranked scores in info()['distance'].",
        _recomputed,
    ),
)
