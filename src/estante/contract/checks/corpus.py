"""Checks of the corpus: that it can be read whole, what every chunk must have, and that it stays the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, Missing, attempt, kind, shown, told
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import Held, again, corpus, pull
from estante.contract.checks.rules import Outcome, Rule, failed, passed, skipped, warned
from estante.contract.checks.views import WHOLE, chunk_view
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline

_FIELDS: Final = ("chunk_id", "doc_id", "source_file", "text", "metadata", WHOLE)
_EXAMPLES: Final = 3
_ORDINALS: Final = 8


def _pull(probe: Probe) -> Outcome:
    return pull(probe).outcome


def _fields(probe: Probe) -> Outcome:
    problems = list(_field_problems(probe))
    if problems:
        return failed(
            problems,
            "Give every chunk an id of its own that never changes, its document, the document's name, its ordinal "
            "within it, and a text that is not blank.",
        )
    return passed("all required fields present on every chunk")


def _field_problems(probe: Probe) -> Iterator[str]:
    found = corpus(probe)
    lacking = attempt(RagPipeline.validate_chunks, found.records).error
    if lacking is not None:
        yield str(lacking) if isinstance(lacking, ValueError) else told(lacking)
    strange = [
        (at, name, what)
        for at, chunk in enumerate(found.chunks)
        for name, what in chunk.strange.items()
        if (name in _FIELDS or (name == "doc_chunk_index" and chunk.ordinal is not None))
        and not (lacking is not None and what == "is None")
    ]
    if strange:
        at, name, what = strange[0]
        yield f"{len(strange)} fields of a wrong type, such as: chunk {at}: {name} {what}".replace("  ", " ")
    twice = [chunk_id for chunk_id, count in Counter(chunk.chunk_id for chunk in found.chunks).items() if count > 1]
    if twice:
        yield f"{len(twice)} duplicate chunk ids, such as {shown(twice[0])}"
    blank = [chunk.chunk_id for chunk in found.chunks if not chunk.text.strip()]
    if blank:
        yield f"{len(blank)} chunks with blank text, such as {shown(blank[0])}"


def _ordinals(probe: Probe) -> Outcome:
    documents = defaultdict[str, list[int | None]](list)
    for chunk in corpus(probe).chunks:
        documents[chunk.doc_id].append(chunk.ordinal)
    broken = {doc_id: found for doc_id, found in documents.items() if not _counts(found)}
    if not broken:
        return passed()
    doc_id, found = next(iter(broken.items()))
    first = sorted((-1 if one is None else one) for one in found)[:_ORDINALS]
    told_first = ", ".join("none" if one == -1 and None in found else str(one) for one in first)
    return failed(
        f"{len(broken)} of {len(documents)} documents do not count 0, 1, 2, ...; {shown(doc_id)} has {told_first}"
        + (", ..." if len(found) > _ORDINALS else ""),
        "Number the chunks of each document from 0, without gap or repetition: hosts walk to neighbours by it.",
    )


def _counts(ordinals: list[int | None]) -> bool:
    kept = sorted(one for one in ordinals if one is not None)
    return len(kept) == len(ordinals) and kept == list(range(len(kept)))


def _global_index(probe: Probe) -> Outcome:
    chunks = corpus(probe).chunks
    fix = "Number the whole corpus without repetition, or leave global_index None for every chunk."
    strange = [chunk for chunk in chunks if "global_index" in chunk.strange]
    if strange:
        first = strange[0]
        return failed(f"{len(strange)} chunks: {shown(first.chunk_id)} {first.strange['global_index']}", fix)
    given = [chunk.global_index for chunk in chunks if chunk.global_index is not None]
    if not given:
        return passed("no chunk has one, which is legal")
    twice = [one for one, count in Counter(given).items() if count > 1]
    if twice:
        return failed(f"{len(twice)} values come more than once, such as {twice[0]}", fix)
    if len(given) < len(chunks):
        return warned(f"{len(given)} of {len(chunks)} chunks have one", fix)
    return passed()


def _change_detection(probe: Probe) -> Outcome:
    chunks = corpus(probe).chunks
    marked = sum(attempt(bool, chunk.metadata.get("source_fingerprint")).value is True for chunk in chunks)
    detail = f"{marked}/{len(chunks)} chunks carry a source_fingerprint"
    if marked:
        return passed(detail)
    return warned(
        detail, "Put a fingerprint of the source document into metadata['source_fingerprint'], to tell what changed."
    )


def _stability(probe: Probe) -> Outcome:
    if probe.setting.skip_stability:
        return skipped("left out on request")
    fix = (
        "Derive ids from what lasts (the document's identity and the place in it), never from the order of rows or "
        "a random number, and the fingerprint from the corpus alone."
    )
    second = attempt(again, probe)
    if isinstance(second.error, Missing):
        raise second.error
    if second.error is not None:
        return failed(f"the second reading raised {told(second.error)}", fix)
    if not isinstance(second.value, list) or not all(isinstance(one, ChunkRecord) for one in second.value):
        return failed(f"the second reading gave {kind(second.value)}, not a list of ChunkRecords as the first did", fix)
    marks = _fingerprints(probe, second.value)
    problems = [*_fingerprint_problems(marks), *_id_problems(probe, second.value)]
    return failed(problems, fix) if problems else passed(f"fingerprint={marks[0].value!r}")


def _fingerprints(probe: Probe, second: list[ChunkRecord]) -> list[Attempt]:
    """The fingerprint twice, once over each reading; a method that reads the corpus is handed what was read."""
    first = corpus(probe).records
    if not probe.supports("fingerprint"):
        return [attempt(Held(records).fingerprint) for records in (first, second)]
    place = {chunk.chunk_id: at for at, chunk in reversed(list(enumerate(corpus(probe).chunks)))}
    # Pages may come in another order than the bulk read that the method was written for.
    if probe.supports("list_chunks"):
        second = sorted(second, key=lambda record: place.get(chunk_view(record).chunk_id, len(place)))
    served = iter([second, first])
    with probe.standing_in("pull_all_chunks", lambda: list(next(served, first))):
        return [probe.call("fingerprint") for _ in range(2)]


def _fingerprint_problems(marks: list[Attempt]) -> Iterator[str]:
    for mark in marks:
        if mark.error is not None:
            yield f"fingerprint() raised {told(mark.error)}"
            return
        if not isinstance(mark.value, str) or not mark.value:
            yield f"fingerprint() gave {shown(mark.value)}, not a text"
            return
    if marks[0].value != marks[1].value:
        yield f"fingerprint() changed between two calls: {shown(marks[0].value)}, {shown(marks[1].value)}"


def _id_problems(probe: Probe, second: list[Any]) -> Iterator[str]:
    ids = set(corpus(probe).by_id)
    later = {chunk_view(record).chunk_id for record in second}
    for lost, which in ((ids - later, "first"), (later - ids, "second")):
        if lost:
            examples = ", ".join(map(shown, sorted(lost)[:_EXAMPLES]))
            yield f"{len(lost)} ids are in the {which} reading alone, such as {examples}"


RULES: Final = (
    Rule(
        "corpus-pull",
        "pull_all_chunks() enumerates the corpus",
        "The whole corpus can be read as a list of chunks; without it nothing else can be shown, and the run stops.",
        "Write list_chunks() or pull_all_chunks(); raise when the back end fails, never give a part.",
        _pull,
    ),
    Rule(
        "chunk-fields",
        "Chunk metadata contract (required fields, unique ids, text)",
        "Every chunk has its required fields, an id that no other has, and a text that is not blank.",
        "Fill the fields; make ids unique; leave out chunks without text.",
        _fields,
    ),
    Rule(
        "chunk-ordinals",
        "doc_chunk_index counts 0,1,2,... within each document",
        "The chunks of a document are numbered 0, 1, 2, ... so that a host finds neighbours.",
        "Number the chunks of each document from 0, without gap or repetition.",
        _ordinals,
    ),
    Rule(
        "global-index",
        "global_index (when supplied) is unique across the corpus",
        "Numbers through the corpus do not repeat, and all chunks have one or none has.",
        "Number the whole corpus, or leave global_index None for every chunk.",
        _global_index,
    ),
    Rule(
        "change-detection",
        "Recommended metadata (source_fingerprint for change detection)",
        "Chunks tell the state of their source, so that a host notices what changed.",
        "Put a fingerprint of the source document into metadata['source_fingerprint'].",
        _change_detection,
    ),
    Rule(
        "corpus-stability",
        "fingerprint() + chunk_id stability across pulls",
        "Reading twice gives the same ids and the same fingerprint.",
        "Derive ids from what lasts, and the fingerprint from the corpus alone.",
        _stability,
    ),
)
