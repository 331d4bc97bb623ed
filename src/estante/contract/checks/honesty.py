"""Checks of honesty: what is not offered is refused, what fails raises, health and data sets are told as they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, Missing, attempt, kind, shown, text, told
from estante.contract.checks.facts import question
from estante.contract.checks.probes import Probe
from estante.contract.checks.reading import asked_ids, vectors
from estante.contract.checks.retrieval import search
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.errors import ConnectorError, UnsupportedCapability
from estante.contract.models import ConnectorHealth, DatasetRef
from estante.contract.secrecy import secret_paths

BREAKER: Final = "break_backend"
"""The method, a context manager, by which a pipeline lets its back end fail while it is examined."""


def _health(probe: Probe) -> Outcome:
    if not probe.supports("health"):
        return skipped("not offered: whether it can answer shows when it is asked")
    done = probe.call("health")
    fix = "Give a ConnectorHealth; when it is not ok, let detail name the obstacle."
    if done.error is not None:
        return failed(f"health() raised {told(done.error)}", fix)
    found = done.value
    if not isinstance(found, ConnectorHealth):
        return failed(f"health() gave {kind(found)}, not a ConnectorHealth", fix)
    fields: tuple[object, object] = (found.ok, found.detail)
    if not isinstance(fields[0], bool) or not isinstance(fields[1], str):
        return failed(f"health() gave ok={shown(found.ok)} and detail={shown(found.detail)}", fix)
    if not found.ok:
        return warned(f"health() says that it is not well: {text(found.detail, 200) or 'without a reason'}", fix)
    return passed(f"ok: {text(found.detail, 200)}" if found.detail else "ok")


def _datasets(probe: Probe) -> Outcome:
    if not probe.supports("list_datasets"):
        return skipped("not offered: there is nothing to choose from")
    done = probe.call("list_datasets")
    fix = "Give a list of DatasetRef, each with an id of its own, a count or None, and JSON without credentials."
    if done.error is not None:
        return failed(f"list_datasets() raised {told(done.error)}", fix)
    if not isinstance(done.value, list):
        return failed(f"list_datasets() gave {kind(done.value)}, not a list", fix)
    problems = list(_dataset_problems(done.value))
    return failed(problems, fix) if problems else passed(counted(len(done.value), "data set"))


def _dataset_problems(found: list[Any]) -> Iterator[str]:
    for at, one in enumerate(found):
        if not isinstance(one, DatasetRef):
            yield f"entry {at} is of type {kind(one)}, not DatasetRef"
            continue
        if not isinstance(one.id, str) or not one.id:
            yield f"entry {at} has the id {shown(one.id)}"
        count = one.item_count
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
            yield f"entry {at} has the item_count {shown(count)}; None says that it is not known"
        written = attempt(lambda one=one: json.dumps(one.to_dict(), allow_nan=False))
        if written.error is not None:
            yield f"entry {at} is no JSON: {told(written.error)}"
        elif secrets := secret_paths(one.to_dict()):
            yield f"entry {at} holds what looks like a secret: {', '.join(secrets)}"
    ids = Counter(text(one.id) for one in found if isinstance(one, DatasetRef))
    yield from (f"{shown(one)} is listed {count} times" for one, count in ids.items() if count > 1)


def _unsupported(probe: Probe) -> Outcome:
    problems: list[str] = []
    refused = []
    for name, arguments in _refusable(probe).items():
        if probe.supports(name):
            continue
        done = probe.call(name, *arguments)
        if isinstance(done.error, UnsupportedCapability | NotImplementedError):
            refused.append(name)
        else:
            what = f"gave {kind(done.value)}" if done.error is None else f"raised {told(done.error)}"
            problems.append(f"{name}() is not offered, and {what}")
    problems += _empty(probe)
    if problems:
        return failed(
            problems,
            "Leave out what is not supported: the inherited method refuses it in the right way. Something empty says "
            "that there is nothing.",
        )
    return passed(f"refused: {', '.join(refused)}" if refused else "everything is offered")


def _refusable(probe: Probe) -> dict[str, tuple[Any, ...]]:
    """The methods that refuse unless they are written, and what to call them with."""
    return {
        "get_chunk_vectors": ([],),
        "list_datasets": (),
        "generate": (question(probe),),
        "prompt_templates": (),
        "render_rag_block": ([],),
        "generate_from_prompt": (None,),
    }


def _empty(probe: Probe) -> Iterator[str]:
    """Operations that are there and answer with nothing where there is something."""
    if probe.supports("get_chunk_vectors"):
        found = vectors(probe)
        if isinstance(found.value, Mapping) and not any(one in found.value for one in asked_ids(probe)):
            yield "get_chunk_vectors() gave no vector for any known id"
    if probe.supports("list_datasets"):
        listed = probe.call("list_datasets")
        if listed.error is None and listed.value == []:
            yield "list_datasets() gave an empty list, while one data set is bound"


def _broken(probe: Probe) -> Outcome:
    breaker = attempt(getattr, probe.pipeline, BREAKER, None).value
    if not callable(breaker):
        return skipped(f"not shown: the pipeline has no {BREAKER}() that lets its back end fail for a while")
    opened = attempt(breaker)
    if opened.error is not None or not isinstance(opened.value, AbstractContextManager):
        what = f"raised {told(opened.error)}" if opened.error is not None else f"gave {kind(opened.value)}"
        return failed(f"{BREAKER}() {what}, not a context manager", "Give a context manager.")
    # Made before, because what the calls are given can be had only while the back end works.
    operations = _operations(probe)
    broken = search(probe).broken
    if broken:
        del operations["query"]
    done = attempt(_within, operations, opened.value)
    if isinstance(done.error, Missing):
        raise done.error
    if done.error is not None:
        return failed(f"{BREAKER}() could not be entered or left: {told(done.error)}", "Mend the context manager.")
    problems: list[str] = [*done.value]
    after = Attempt() if broken else probe.call("query", question(probe), probe.setting.top_k)
    if after.error is not None:
        problems.append(f"query() after the failure raised {told(after.error)}; a back end that is back must be used")
    if problems:
        return failed(
            problems,
            "Let every failure of the back end raise ConnectorOperationalError, from the error that it comes from.",
        )
    return passed("while the back end failed, every operation raised a ConnectorError")


def _within(operations: Mapping[str, Callable[[], Attempt]], broken: AbstractContextManager[object]) -> list[str]:
    with broken:
        return list(_while_broken(operations))


def _while_broken(operations: Mapping[str, Callable[[], Attempt]]) -> Iterator[str]:
    """What the pipeline tells while its back end fails, where it should raise."""
    for name, call in operations.items():
        done = call()
        if done.error is None:
            if name == "health":
                if getattr(done.value, "ok", None) is not False:
                    yield "health() says that all is well"
            elif _is_empty(done.value):
                yield f"{name}() gave {shown(done.value)}, as if there were nothing"
            else:
                yield f"{name}() answered as if nothing had happened"
        elif not isinstance(done.error, ConnectorError):
            yield f"{name}() raised {told(done.error)}, not a ConnectorOperationalError"


def _operations(probe: Probe) -> dict[str, Callable[[], Attempt]]:
    asked = question(probe), probe.setting.top_k
    ids = asked_ids(probe)
    calls: dict[str, Callable[[], Attempt]] = {"query": lambda: probe.call("query", *asked)}
    if probe.supports("list_chunks"):
        calls["list_chunks"] = lambda: probe.call("list_chunks", cursor=None, limit=1)
    else:
        calls["pull_all_chunks"] = lambda: probe.call("pull_all_chunks")
    optional: dict[str, tuple[Any, ...]] = {
        "get_chunks": (ids,),
        "get_chunk_vectors": (ids,),
        "list_datasets": (),
        "health": (),
    }
    for name, arguments in optional.items():
        if probe.supports(name):
            calls[name] = partial(probe.call, name, *arguments)
    return calls


def _is_empty(value: object) -> bool:
    items = getattr(value, "items", None)
    held = items if items is not None and not callable(items) else value
    count: object = attempt(len, held).value
    return count == 0


RULES: Final = (
    Rule(
        "health",
        "health() tells whether it can answer",
        "Health is told as a ConnectorHealth, and is good while the pipeline is examined.",
        "Give a ConnectorHealth that names the obstacle when there is one.",
        _health,
    ),
    Rule(
        "datasets",
        "Data sets are listed with what selects them",
        "Each data set has an id of its own, a count or None, and parameters that can be stored.",
        "Give a list of DatasetRef as JSON without credentials.",
        _datasets,
    ),
    Rule(
        "unsupported-raises",
        "What is not offered is refused, never answered with nothing",
        "Operations that are left out raise UnsupportedCapability, and those that are there know the corpus.",
        "Leave out what is not supported; the inherited method refuses it in the right way.",
        _unsupported,
    ),
    Rule(
        "broken-backend",
        "An error of the back end is not an empty result",
        "While the back end fails, every operation raises a ConnectorError, and afterwards the pipeline answers again. "
        "Needs break_backend(), a context manager.",
        "Raise ConnectorOperationalError from the error of the back end.",
        _broken,
    ),
)
