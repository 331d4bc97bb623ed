"""Checks of what binds a pipeline: its spec, its stored connection, and making it anew."""

from __future__ import annotations

import json
from typing import Any, Final

from estante.contract.checks.answering import template_problems
from estante.contract.checks.attempts import attempt, listed, shown, text, told
from estante.contract.checks.facts import question
from estante.contract.checks.probes import Probe
from estante.contract.checks.retrieval import BROKEN, read_hits, search, unknown_ids
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.connections import connection_problems

_BUILD_FIX: Final = (
    "Let build() need nothing but the stored document and the environment, and give ids that are the same everywhere."
)


def _spec_prompts(probe: Probe) -> Outcome | None:
    spec = probe.setting.spec
    if spec is None:
        return None
    offered = probe.supports("prompt_templates")
    declare = spec.prompt_templates
    if declare is None:
        if not offered:
            return skipped("no prompts are declared")
        return warned(
            "the instance declares prompts, and the spec does not",
            "Give the spec prompt_templates as well, so that a host can show them before anything is bound.",
        )
    done = attempt(lambda: listed(declare()))
    fix = "Serve one constant through both, the spec and the instance."
    if done.error is not None:
        return failed(f"the spec's prompt_templates() raised {told(done.error)}", fix)
    problems = template_problems(done.value) or ([] if done.value else ["the spec declares an empty list"])
    if problems:
        return failed(problems, fix)
    ids = _ids(done.value)
    if not offered:
        return passed(f"declared before binding: {shown(ids)}; the instance does not offer them, so they are for show")
    own = _ids(attempt(listed, probe.call("prompt_templates").value).value or [])
    if own != ids:
        return failed(f"the spec declares {shown(ids, 120)}, the instance declares {shown(own, 120)}", fix)
    return passed(f"declared before binding: {shown(ids, 120)}")


def _ids(templates: list[Any]) -> list[str]:
    return [text(attempt(getattr, one, "id").value) for one in templates]


def _persistable(probe: Probe) -> Outcome | None:
    connection = probe.setting.connection
    if connection is None:
        return None
    done = attempt(connection_problems, connection)
    problems = done.value if done.error is None else [f"it cannot be read: {told(done.error)}"]
    if problems:
        return failed(
            problems,
            "A host stores the document in plain text: strict JSON alone, and for credentials references, or the "
            "environment when the pipeline is made.",
        )
    return passed(f"keys: {shown(sorted(map(text, connection)), 200)}")


def _round_trip(probe: Probe) -> Outcome | None:
    spec, connection = probe.setting.spec, probe.setting.connection
    if spec is None or connection is None:
        return None
    stored = attempt(lambda: json.loads(json.dumps(dict(connection))))
    if stored.error is not None:
        return skipped("the connection document is no JSON, so it cannot be stored, nor built from")
    done = attempt(spec.build, stored.value)
    if done.error is not None:
        return failed(f"build() raised {told(done.error)}", _BUILD_FIX)
    try:
        found, problem = read_hits(attempt(lambda: done.value.query(question(probe), probe.setting.top_k)))
    finally:
        _close(probe, done.value)
    if problem and search(probe).broken:
        return skipped("it was built", BROKEN)
    if problem:
        return failed(f"query() of the pipeline that was built {problem}", _BUILD_FIX)
    unknown = unknown_ids(probe, found)
    if unknown:
        return failed(f"{len(unknown)} of its ids are not in the corpus, such as {shown(unknown[0])}", _BUILD_FIX)
    return passed(f"built from the document as JSON gives it back; {counted(len(found), 'hit')}, all of the corpus")


def _close(probe: Probe, built: Any) -> None:
    """Gives back what a pipeline made for a check holds, unless it is the one under examination."""
    close = attempt(getattr, built, "close").value
    if built is not probe.pipeline and callable(close):
        attempt(close)


RULES: Final = (
    Rule(
        "spec-prompts",
        "ConnectorSpec.prompt_templates (readable before binding)",
        "The prompts of the spec are those of the instance. No row without a spec.",
        "Serve one constant through both.",
        _spec_prompts,
    ),
    Rule(
        "connection-document",
        "Connection dict is persistable and secret-free",
        "The stored document is strict JSON and holds no credentials. No row without a document.",
        "Keep references (env:NAME, file:PATH) in it, or read the environment when the pipeline is made.",
        _persistable,
    ),
    Rule(
        "build-round-trip",
        "build(connection) reconstructs the connector (registry round-trip)",
        "The document, as it comes back from JSON, builds a pipeline with the same ids. No row without both.",
        "Put into the document whatever build() needs, except secrets.",
        _round_trip,
    ),
)
