"""Checks around a run: what calls cost, whether what is held is given back, whether a fresh process has the same."""

from __future__ import annotations

import json
from statistics import median
from typing import Final

from estante.contract.checks.attempts import attempt, shown, told
from estante.contract.checks.facts import question
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import corpus
from estante.contract.checks.reading import asked_ids
from estante.contract.checks.rebuilding import QUERY, Origin, Rebuilt, origin_of, rebuilt
from estante.contract.checks.retrieval import BROKEN, credited, search
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned

_SAME_FIX: Final = (
    "Derive ids from what lasts, not from the memory of one process (Python's hash() differs in each); put into the "
    "document whatever the maker needs, except secrets."
)


def _calls(probe: Probe) -> Outcome:
    lines = [
        f"{name}: {counted(len(seconds), 'call')}, "
        f"median {1000 * median(seconds):.1f} ms, longest {1000 * max(seconds):.1f} ms"
        for name, seconds in sorted(probe.calls.items())
    ]
    return passed(*lines)


def _close(probe: Probe) -> Outcome | None:
    if not probe.setting.owned:
        return None
    close = attempt(getattr, probe.pipeline, "close", None).value
    if close is None:
        return skipped("there is no close(), and nothing has to be given back")
    fix = "Give back what the pipeline holds, and let a second close() do nothing."
    done = probe.call("close")
    if done.error is not None:
        return failed(f"close() raised {told(done.error)}", fix)
    done = probe.call("close")
    if done.error is not None:
        return warned(f"a second close() raised {told(done.error)}", fix)
    return passed()


def _fresh_process(probe: Probe) -> Outcome:
    origin = _origin(probe)
    if isinstance(origin, Outcome):
        return origin
    ids = asked_ids(probe) if probe.supports("get_chunks") else []
    # Less time than the check has, so that the process is ended by the one who waits for it.
    timeout = probe.setting.timeout and 0.8 * probe.setting.timeout
    there = rebuilt(origin, question(probe), probe.setting.top_k, ids, timeout)
    if there.error.startswith(QUERY) and search(probe).broken:
        return skipped("it was made", BROKEN)
    if there.error:
        detail = f"timed out: {there.error}" if there.late else there.error
        fix = "Let the maker need nothing but the document and the environment."
        return failed(f"in a fresh process: {detail}", fix)
    return _compared(probe, there, ids)


def _origin(probe: Probe) -> Origin | Outcome:
    """Where a fresh process finds the maker, or the row that says why it cannot."""
    origin, spec, connection = probe.setting.origin, probe.setting.spec, probe.setting.connection
    if origin is None and spec is not None and connection is not None:
        origin = origin_of(spec, connection)
        if origin is None:
            return skipped("build() is no function that another process could import; examine the connector by type")
    if origin is None:
        return skipped("nothing says how another process could make the pipeline: there is no connection document")
    if attempt(lambda: json.dumps(dict(origin.document))).error is not None:
        return skipped("the document is no JSON, so no other process can be given it")
    return origin


def _compared(probe: Probe, there: Rebuilt, ids: list[str]) -> Outcome:
    """The row once a fresh process has answered."""
    known, found = corpus(probe).by_id, search(probe)
    unknown = [one for hit in there.hits for one in hit if one is None or one not in known]
    if unknown and found.compared:
        return failed(f"{len(unknown)} ids of its hits are not in the corpus, such as {shown(unknown[0])}", _SAME_FIX)
    lost = [one for one in ids if one not in there.found]
    if lost:
        return failed(f"it does not find {len(lost)} chunks by their ids, such as {shown(lost[0])}", _SAME_FIX)
    if found.compared and list(there.hits) != [tuple(credited(hit)) for hit in found.hits]:
        return warned("it finds other hits for the question, or in another order", _SAME_FIX)
    return passed(f"{counted(len(there.hits), 'hit')} and {counted(len(ids), 'chunk')} by id, the same as here")


RULES: Final = (
    Rule(
        "calls",
        "Calls and their time (informational)",
        "Tells how often each method was called and how long it took. It never fails.",
        "Nothing is to be mended.",
        _calls,
    ),
    Rule(
        "close",
        "Closing gives back what is held",
        "close(), where there is one, works, and a second time does nothing. No row when the pipeline is not the "
        "validator's own.",
        "Let close() give everything back, and be harmless when repeated.",
        _close,
    ),
    Rule(
        "fresh-process",
        "A fresh process makes the same pipeline of the JSON document",
        "A process that is given the document alone finds the same ids.",
        "Derive ids from what lasts; let the maker need nothing but the document and the environment.",
        _fresh_process,
    ),
)
