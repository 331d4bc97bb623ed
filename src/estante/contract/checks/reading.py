"""Checks of the other ways to read: by id, by pages, and the vectors of the index."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, attempt, kind, listed, shown, text, told
from estante.contract.checks.probes import NO_SUCH_CHUNK, Probe
from estante.contract.checks.pulls import Held, corpus, paged
from estante.contract.checks.rules import Outcome, Rule, failed, passed, skipped, warned
from estante.contract.checks.views import chunk_view, number
from estante.contract.models import ChunkRecord

_ASKED: Final = 3
_LOOKED_AT: Final = 8
"""Components of a vector that are looked at."""


@dataclass(slots=True)
class ById:
    """What ``get_chunks`` gave for some ids of the corpus and one that is none."""

    asked: list[str]
    answer: Attempt
    pulls: int = 0
    paged: int = 0
    changed: bool = False
    """Whether the list of ids that was handed over was changed."""
    found: dict[str, Any] = field(default_factory=dict)
    """The records by their ids; empty when the answer is no dict."""


def by_id(probe: Probe) -> ById:
    """The read by id, done once."""
    return probe.once("the chunks by id", lambda: _by_id(probe))


def asked_ids(probe: Probe, most: int = _ASKED) -> list[str]:
    """The first ids of the corpus."""
    return list(corpus(probe).by_id)[:most]


def vectors(probe: Probe) -> Attempt:
    """What ``get_chunk_vectors`` gave for some ids of the corpus and one that is none, asked once."""
    return probe.once("the vectors", lambda: probe.call("get_chunk_vectors", [*asked_ids(probe), NO_SUCH_CHUNK]))


def _by_id(probe: Probe) -> ById:
    asked, records = asked_ids(probe), corpus(probe).records
    wanted, before = [*asked, NO_SUCH_CHUNK], [*asked, NO_SUCH_CHUNK]
    if not probe.supports("get_chunks"):
        read = ById(asked, attempt(Held(records).get_chunks, wanted))
    else:
        read = ById(asked, Attempt())
        read.answer = _watched(probe, read, wanted)
        read.changed = wanted != before
    if isinstance(read.answer.value, dict):
        read.found = {text(key): record for key, record in read.answer.value.items()}
    return read


def _watched(probe: Probe, read: ById, wanted: list[str]) -> Attempt:
    """The answer to ``wanted``, with an eye on whether the pipeline reads its whole corpus for it."""
    page = attempt(getattr, probe.pipeline, "list_chunks").value

    def pull() -> list[ChunkRecord]:
        read.pulls += 1
        return list(corpus(probe).records)

    def list_chunks(*arguments: Any, **named: Any) -> Any:
        given = page(*arguments, **named)
        read.paged += attempt(len, given.items).value or 0
        return given

    with ExitStack() as stack:
        stack.enter_context(probe.standing_in("pull_all_chunks", pull))
        if probe.supports("list_chunks"):
            stack.enter_context(probe.standing_in("list_chunks", list_chunks))
        return probe.call("get_chunks", wanted)


def _get_chunks(probe: Probe) -> Outcome:
    read = by_id(probe)
    fix = "Give a dict from id to ChunkRecord, with the known ids alone: no placeholder for one that is not there."
    if read.answer.error is not None:
        return failed(f"get_chunks() raised {told(read.answer.error)}", fix)
    if not isinstance(read.answer.value, dict):
        return failed(f"get_chunks() gave {kind(read.answer.value)}, not a dict", fix)
    problems = [f"the known id {shown(one)} is missing" for one in read.asked if one not in read.found]
    if NO_SUCH_CHUNK in read.found:
        problems.append("an id that is not in the corpus got an entry")
    for key, record in read.found.items():
        if key != NO_SUCH_CHUNK and (not isinstance(record, ChunkRecord) or chunk_view(record).chunk_id != key):
            problems.append(f"under {shown(key)} stands no ChunkRecord of that id")
    if read.changed:
        problems.append("the list of ids that was handed over was changed")
    if problems:
        return failed(problems, fix)
    cheaper = "Look ids up in the back end: hosts read by id often, and no bad chunk elsewhere should break that."
    if not probe.supports("get_chunks"):
        return warned("the inherited default reads the whole corpus for every call", cheaper)
    if read.pulls:
        return warned(f"get_chunks() pulled the full corpus {read.pulls} time(s) for {len(read.asked)} ids", cheaper)
    if read.paged >= len(corpus(probe).chunks) > _ASKED:
        return warned(f"get_chunks() pulled the full corpus by pages for {len(read.asked)} ids", cheaper)
    return passed()


def _list_chunks(probe: Probe) -> Outcome:
    if not probe.supports("list_chunks"):
        return skipped("paging is derived from pull_all_chunks(), so there is no second way to compare")
    fix = "Let every page begin where the one before it ended, and next_cursor be None after the last."
    read, first = paged(probe), corpus(probe)
    if read.problem:
        return failed(read.problem, fix)
    if read.strangers:
        return failed(f"{read.strangers} items are no ChunkRecords", fix)
    problems = []
    if len(read.records) != len(first.records):
        problems.append(f"pages have {len(read.records)} chunks in all, the bulk read has {len(first.records)}")
    ids = {chunk_view(record).chunk_id for record in read.records}
    for lost, what in ((set(first.by_id) - ids, "missing from the pages"), (ids - set(first.by_id), "in pages alone")):
        if lost:
            problems.append(f"{len(lost)} ids are {what}, such as {shown(min(lost))}")
    if problems:
        return failed(problems, fix)
    return passed(f"{len(read.records)} chunks in {read.pages} pages of at most {read.limit}")


def _get_chunk_vectors(probe: Probe) -> Outcome:
    if not probe.supports("get_chunk_vectors"):
        return skipped("not offered: scores can be trusted, but not computed again")
    fix = "Give the vectors that the index holds, by id, for known ids alone; {} for no ids; raise when it fails."
    nothing = probe.call("get_chunk_vectors", [])
    if nothing.error is not None:
        return failed(f"get_chunk_vectors([]) raised {told(nothing.error)}", fix)
    if not isinstance(nothing.value, Mapping) or len(nothing.value):
        return failed(f"get_chunk_vectors([]) gave {shown(nothing.value)}, not {{}}", fix)
    answer = vectors(probe)
    if answer.error is not None:
        return failed(f"get_chunk_vectors() raised {told(answer.error)}", fix)
    if not isinstance(answer.value, Mapping):
        return failed(f"get_chunk_vectors() gave {kind(answer.value)}, not a mapping", fix)
    return _vector_row(dict(answer.value), asked_ids(probe), fix)


def _vector_row(found: dict[str, Any], asked: list[str], fix: str) -> Outcome:
    problems = ["an id that is not in the corpus got a vector"] if NO_SUCH_CHUNK in found else []
    for key, given in found.items():
        if attempt(len, given).error is not None or isinstance(given, str | bytes | Mapping):
            problems.append(f"what stands under {shown(key)} is of type {kind(given)}, not a list")
            continue
        head = attempt(listed, given, _LOOKED_AT).value
        if not isinstance(head, list) or any(number(one) is None for one in head):
            problems.append(f"what stands under {shown(key)} is no list of numbers")
    if problems:
        return failed(problems, fix)
    lacking = [one for one in asked if one not in found]
    if lacking:
        return warned(f"{len(lacking)} of {len(asked)} known ids have no vector, such as {shown(lacking[0])}", fix)
    return passed(f"{len(found)} vectors of dimension {len(next(iter(found.values())))}")


RULES: Final = (
    Rule(
        "get-chunks",
        "get_chunks() returns known ids, omits unknown ones",
        "Chunks can be read by id, an unknown id is absent, and the whole corpus need not be read for it.",
        "Look the ids up in the back end.",
        _get_chunks,
    ),
    Rule(
        "list-chunks",
        "list_chunks() pages consistently with pull_all_chunks()",
        "The pages together are the corpus: as many chunks, the same ids, no circle.",
        "Let every page begin where the one before it ended.",
        _list_chunks,
    ),
    Rule(
        "chunk-vectors",
        "get_chunk_vectors() reads honest indexed vectors",
        "Vectors of the index can be read by id, an unknown id is absent, no ids give nothing.",
        "Read the vectors from the index; embed nothing anew.",
        _get_chunk_vectors,
    ),
)
