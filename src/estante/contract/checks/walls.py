"""Checks of who is shown what: nothing of another tenant, for other readers, or beyond a filter, in any operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from estante.contract.checks.attempts import Attempt, Missing, attempt, shown, told
from estante.contract.checks.leaks import FACTS, Showing, errors, flattened, leaks, shows
from estante.contract.checks.probes import NO_SUCH_CHUNK, Probe
from estante.contract.checks.rules import Outcome, Rule, failed, passed, skipped
from estante.contract.checks.security import (
    ASKER,
    FILTERED,
    FILTERS,
    LEADS,
    OFFER,
    OTHER_READERS,
    OTHER_SHELF,
    OTHER_TENANT,
    OWN,
    OWNERS,
    READERS,
    TENANTS,
    Asker,
    Canary,
    SecurityHarness,
)
from estante.contract.checks.views import chunk_view
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline

_SHARED: Final = "Who keeps the tide tables of the pier?"
_BEHIND: Final[Mapping[str, Canary]] = {TENANTS: OTHER_TENANT, READERS: OTHER_READERS, FILTERS: OTHER_SHELF}
"""What stands behind each wall."""

_WHOSE: Final = {TENANTS: "of another tenant", READERS: "for other readers", FILTERS: "beyond the filter"}
_LISTED: Final = 12


class Stage:
    """The canaries in their places, and what everyone was shown of them.

    ``before`` and ``after`` are the facts that the asker is told before and after foreign documents came, each value
    by its place; ``before`` twice. ``ids`` are the ids of chunks by the canary's key.
    """

    def __init__(self, harness: SecurityHarness) -> None:
        self.harness = harness
        self.walls: frozenset[str] = frozenset()
        self.planted: list[Canary] = []
        self.before: list[dict[str, object]] = []
        self.after: dict[str, object] = {}
        self.ids: dict[str, list[str]] = {}
        self.shown: dict[str, list[Showing]] = {}
        self._bound: list[RagPipeline] = []

    def set_up(self) -> None:
        """Plants, and looks: at what the asker may see first, then at everything. Raises what the harness raises."""
        harness = self.harness
        self.walls = frozenset(harness.walls)
        for canary in (OWN, OTHER_SHELF):
            harness.plant(canary)
        self.before = [_facts(self.bind(ASKER)) for _ in range(2)]
        self.planted = [OWN, OTHER_SHELF]
        for wall in (TENANTS, READERS):
            if wall in self.walls:
                harness.plant(_BEHIND[wall])
                self.planted.append(_BEHIND[wall])
        self.after = _facts(self.bind(ASKER))
        self.ids = {one.key: _ids(self.bind(OWNERS[one.key]), one) for one in self.planted}
        askers = [ASKER, FILTERED] if FILTERS in self.walls else [ASKER]
        self.shown = {_name(asker): self.show(self.bind(asker)) for asker in askers}

    def bind(self, asker: Asker) -> RagPipeline:
        """A pipeline for the asker, closed with the stage."""
        pipeline = self.harness.bind(asker)
        self._bound.append(pipeline)
        return pipeline

    def show(self, pipeline: RagPipeline) -> list[Showing]:
        """Everything that the pipeline shows, asked for each canary by its word and by its text."""
        questions = [_SHARED, *(one.marker for one in self.planted), *(one.text for one in self.planted)]
        return shows(pipeline, questions, [one for ids in self.ids.values() for one in ids])

    def needles(self, canary: Canary) -> dict[str, str]:
        """What must not be shown of a canary, and what to call it."""
        found = {canary.marker: "its words", canary.key: "its name"}
        found |= dict.fromkeys((f"{lead} the {canary.marker} pier" for lead in LEADS), "its text")
        return found | dict.fromkeys(self.ids.get(canary.key, []), "its id")

    def close(self) -> None:
        """Closes every pipeline that was bound."""
        while self._bound:
            close = attempt(getattr, self._bound.pop(), "close", None).value
            if callable(close):
                attempt(close)


def stage(probe: Probe) -> Stage:
    """The stage, set once. Raises ``Missing`` when there is no harness, or it failed."""
    return probe.once("the canaries", lambda: _stage(probe))


def _stage(probe: Probe) -> Stage:
    made = Stage(_harness(probe))
    probe.closing.append(made.close)
    done = attempt(made.set_up)
    if done.error is not None:
        raise Missing(f"the canaries could not be planted and shown: {told(done.error)}")
    return made


def _harness(probe: Probe) -> SecurityHarness:
    harness: SecurityHarness | None = probe.setting.harness
    if harness is None:
        offered = attempt(getattr, probe.pipeline, OFFER, None).value
        done = attempt(offered) if callable(offered) else Attempt()
        harness = done.value
        if harness is None:
            why = f": {told(done.error)}" if done.error is not None else ""
            raise Missing(f"there is no harness, and the pipeline's {OFFER}() gives none{why}")
    return harness


def _facts(pipeline: RagPipeline) -> dict[str, object]:
    """What the pipeline tells of the whole, each value by its place."""
    return {
        f"{name}(){place and f' {place}'}": value
        for name in FACTS
        for place, value in flattened(attempt(lambda name=name: getattr(pipeline, name)()))
    }


def _ids(pipeline: RagPipeline, canary: Canary) -> list[str]:
    """The ids of the canary's chunks, as their reader sees them."""
    records = attempt(pipeline.pull_all_chunks).value
    views = [chunk_view(one) for one in records or () if isinstance(one, ChunkRecord)]
    return [view.chunk_id for view in views if canary.marker in view.text.casefold()]


def _name(asker: Asker) -> str:
    return FILTERS if asker.where else READERS


def _own(probe: Probe) -> Outcome:
    try:
        found = stage(probe)
    except Missing as missing:
        return failed(
            str(missing), f"Offer {OFFER}(), or bring a harness: without one nothing can be shown about who sees what."
        )
    problems = [
        f"who may read {canary.key} finds no chunk of it by pull_all_chunks()"
        for canary in found.planted
        if not found.ids[canary.key]
    ]
    seen = [(READERS, OWN), (READERS, OTHER_SHELF)] + ([(FILTERS, OWN)] if FILTERS in found.walls else [])
    for who, canary in seen:
        answers = [one for one in found.shown[who] if one.operation == "query" and one.asked == canary.marker]
        if not leaks([Showing(one.operation, one.answer) for one in answers], {canary.key: "", canary.marker: ""}):
            problems.append(f"who may read {canary.key} does not find it by query()" + _filtered(who))
    if problems:
        return failed(problems, "Let what is planted be found by its readers: the other rows say nothing before that.")
    return passed(f"walls: {', '.join(sorted(found.walls)) or 'none'}; {len(found.planted)} canaries found by theirs")


def _filtered(who: str) -> str:
    return " with the filter" if who == FILTERS else ""


def _wall(wall: str) -> Callable[[Probe], Outcome]:
    """The check that nothing behind a wall is shown."""

    def look(probe: Probe) -> Outcome:
        found = stage(probe)
        if wall not in found.walls:
            return skipped(f"the harness declares no {wall}")
        who, canary = (FILTERS if wall == FILTERS else READERS), _BEHIND[wall]
        lines = leaks(found.shown[who], found.needles(canary))
        lines = [f"{line}, of a document {_WHOSE[wall]}" for line in lines]
        return _row(lines, "Apply the rule before anything is ranked, listed, counted or told, on every leg.")

    return look


def _absent(probe: Probe) -> Outcome:
    found = stage(probe)
    foreign = [one for canary in found.planted[2:] for one in found.ids[canary.key]]
    if not foreign:
        return skipped("nothing is forbidden to the asker")
    pipeline = found.bind(ASKER)
    lines = []
    for name in ("get_chunks", "get_chunk_vectors"):
        absent = _answer(pipeline, name, NO_SUCH_CHUNK)
        lines += [
            f"{name}() answers for a forbidden id otherwise than for an absent one"
            for one in foreign
            if _answer(pipeline, name, one) != absent
        ]
    return _row(list(dict.fromkeys(lines)), "Answer for what is forbidden as for what is not there.")


def _answer(pipeline: RagPipeline, name: str, chunk_id: str) -> str:
    """What a read by id gives, without the id itself."""
    done = attempt(lambda: getattr(pipeline, name)([chunk_id]))
    given = told(done.error) if done.error is not None else shown(list(flattened(done.value)), 2_000)
    return given.replace(chunk_id, "...").replace(repr(chunk_id)[1:-1], "...")


def _counts(probe: Probe) -> Outcome:
    found = stage(probe)
    if len(found.planted) == 2:
        return skipped("nothing is forbidden to the asker")
    first, second = found.before
    # What differs between two looks at the same thing tells nothing about foreign documents.
    still = {place for place in {*first, *found.after} if first.get(place, ...) == second.get(place, ...)}
    changed = [place for place in sorted(still) if found.after.get(place, ...) != first.get(place, ...)]
    lines = [f"{place} changed when foreign documents came" for place in changed]
    return _row(lines, "Count and fingerprint what the asker may see, and nothing else.")


def _errors(probe: Probe) -> Outcome:
    found = stage(probe)
    foreign = found.planted[2:]
    if not foreign:
        return skipped("nothing is forbidden to the asker")
    pipeline = found.bind(ASKER)
    lines = [
        f"{line}, of {canary.key}"
        for canary in foreign
        for line in leaks(errors(pipeline, found.ids[canary.key]), found.needles(canary))
    ]
    return _row(lines, "Let errors tell what was asked for, and nothing that was found.")


def _deleted(probe: Probe) -> Outcome:
    found = stage(probe)
    before = found.bind(ASKER)
    attempt(before.query, _SHARED)
    done = attempt(found.harness.delete, OTHER_SHELF)
    if done.error is not None:
        return failed(f"delete() raised {told(done.error)}", "Let the harness take a document out of the system.")
    needles = found.needles(OTHER_SHELF)
    lines = [f"{line}, in a pipeline that was bound before" for line in leaks(found.show(before), needles)]
    lines += leaks(found.show(found.bind(ASKER)), needles)
    return _row(lines, "Take a document out of every leg, store and cache when it is deleted.")


def _row(lines: list[str], fix: str) -> Outcome:
    if not lines:
        return passed()
    more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return failed([*lines[:_LISTED], *more], fix)


RULES: Final = (
    Rule(
        "security-own",
        "Whoever may read a document finds it",
        "The canaries are found by their readers, without which the other rows would prove nothing.",
        "Offer a harness that plants documents and binds a pipeline to an asker.",
        _own,
    ),
    Rule(
        "security-tenants",
        "Nothing of another tenant is shown, in any operation",
        "No search, read, vector, count, snapshot or error shows a document of another tenant.",
        "Compare tenants first, in every operation.",
        _wall(TENANTS),
    ),
    Rule(
        "security-readers",
        "Nothing for other readers is shown, in any operation",
        "No search, read, vector, count, snapshot or error shows a document that the asker holds no key for.",
        "Apply the readers' rule before anything is ranked, listed, counted or told.",
        _wall(READERS),
    ),
    Rule(
        "security-filters",
        "A filter binds every leg and every read",
        "What does not pass the filter is in no hit, however the question finds it, and in no read.",
        "Hand the filter to every leg, and to every way to read.",
        _wall(FILTERS),
    ),
    Rule(
        "security-absent",
        "Forbidden and absent look the same",
        "A read by id answers for a forbidden chunk as for one that is not there.",
        "Answer for what is forbidden as for what is not there.",
        _absent,
    ),
    Rule(
        "security-counts",
        "No number or mark moves with foreign documents",
        "Facts, snapshots, data sets, health and fingerprints stay as they are when foreign documents come.",
        "Count and fingerprint what the asker may see.",
        _counts,
    ),
    Rule(
        "security-errors",
        "Errors tell nothing foreign",
        "Calls that fail tell nothing of documents that the asker may not see.",
        "Let errors tell what was asked for, and nothing that was found.",
        _errors,
    ),
    Rule(
        "security-deleted",
        "What is deleted is gone everywhere",
        "After a deletion no operation shows the document, not even through a pipeline that was bound before.",
        "Take a document out of every leg, store and cache.",
        _deleted,
    ),
)
