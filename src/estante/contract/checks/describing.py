"""Checks of what a pipeline says of itself: its facts, its snapshot, its mode, its method names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from estante.contract.checks.attempts import attempt, shown, text, told
from estante.contract.checks.facts import described, info
from estante.contract.checks.probes import Probe
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.modes import DEFAULT_RETRIEVAL_MODE, RETRIEVAL_MODES
from estante.contract.pipeline import ASYNC_TWINS, RagPipeline
from estante.contract.snapshots import run_snapshot_fingerprint, validate_run_snapshot

_MEANINGS: Final = {
    "scored": "top_k bounds the list, scores mean something, a threshold may be set",
    "ordered": "top_k bounds the list, the order alone counts, a threshold is refused",
    "complete_set": "the system bounds the list, top_k is a hint, a threshold is refused",
}

_NOUNS: Final = {
    "pull_all_chunks": "chunks",
    "list_chunks": "chunks",
    "get_chunks": "chunks",
    "get_chunk_vectors": "vectors",
    "list_datasets": "datasets",
    "fingerprint": "fingerprint",
    "generate": "generate",
    "info": "info",
    "prompt_templates": "templates",
    "render_rag_block": "block",
    "generate_from_prompt": "generate",
}
"""The methods that have a default, and for each the word that a misnamed one would have too."""

_OWN: Final = frozenset(
    "query validate_chunks health describe_space embed_queries upsert delete read_queries list_indexes run_snapshot "
    "connection connect build close break_backend security_harness".split()
) | frozenset(ASYNC_TWINS)
"""Names that are the contract's, too, without a default to be shadowed."""

_OTHER_JOBS: Final = frozenset(
    "add check count delete drop embed find index insert merge put query rank remove save score search set split store "
    "update upsert validate write".split()
)
"""Words by which a method says that it does something else than read."""

_NEAR: Final = 0.6
_SAME_WORD: Final = 0.8


def _info(probe: Probe) -> Outcome:
    return described(probe)[1]


def _snapshot(probe: Probe) -> Outcome:
    if not probe.supports("run_snapshot"):
        return skipped("run_snapshot() is not offered, and need not be")
    fix = (
        "Give a dict with a text 'schema' and the objects 'settings' and 'observations', of strict JSON, under 64 KiB, "
        "without credentials, dumps of data or NaN."
    )
    done = probe.call("run_snapshot")
    if done.error is not None:
        return failed(f"run_snapshot() raised {told(done.error)}", fix)
    normal = attempt(validate_run_snapshot, done.value)
    mark = attempt(run_snapshot_fingerprint, done.value)
    error = normal.error or mark.error
    if error is not None:
        return failed(text(error), fix)
    counts = [counted(len(normal.value[part]), part[:-1]) for part in ("settings", "observations")]
    return passed(f"schema={shown(normal.value['schema'])}, {', '.join(counts)}", f"sha256={mark.value}")


def _mode(probe: Probe) -> Outcome:
    known = info(probe)
    declared = known.get("retrieval_mode", DEFAULT_RETRIEVAL_MODE)
    filters = tuple(_filters(known.get("internal_filters")))
    if not isinstance(declared, str) or declared not in RETRIEVAL_MODES:
        fix = f"Declare one of {', '.join(RETRIEVAL_MODES)} as retrieval_mode; the checks go on as if it were 'scored'."
        return failed((f"retrieval_mode = {shown(declared)} is none of the contract", *filters), fix)
    return passed(f"retrieval_mode = {declared!r}: {_MEANINGS[declared]}", *filters)


def _filters(declared: object) -> Iterator[str]:
    """A line for each filter that the system always applies."""
    if not isinstance(declared, list | tuple):
        return
    rows = [one for one in declared if isinstance(one, dict)]
    for one in rows:
        value = f" = {shown(one.get('value'))}" if one.get("value") is not None else ""
        meaning = f" ({text(one['description'], 200).rstrip('.')})" if one.get("description") else ""
        yield f"always filtered: {text(one.get('name'), 80)}{value}{meaning}"
    if rows:
        yield "these filters are the system's own; a host never applies them again"


def _stray(probe: Probe) -> Outcome:
    inherited = [name for name in _NOUNS if not probe.supports(name)]
    if not inherited:
        return passed("no default is inherited")
    suspects = [(name, near) for name in _own_methods(probe.pipeline) if (near := _meant(name, inherited))]
    if not suspects:
        return passed()
    return warned(
        [f"{name}() looks like {near}(), whose inherited default is what hosts call" for name, near in suspects],
        "Rename the method to the contract's name if it was meant to be that one; if it does more, let it be.",
    )


def _own_methods(pipeline: object) -> list[str]:
    """The public methods that the pipeline's classes define before ``RagPipeline`` does, sorted."""
    found = set[str]()
    for cls in type(pipeline).__mro__:
        if cls is RagPipeline:
            break
        for name, member in vars(cls).items():
            if callable(member) or isinstance(member, staticmethod | classmethod):
                found.add(text(name))
    return sorted(name for name in found if not name.startswith("_") and name not in _OWN and name not in _NOUNS)


def _meant(name: str, inherited: list[str]) -> str:
    """The inherited method that the name may have been meant for; empty when it says something else."""
    words = _words(name)
    if words & _OTHER_JOBS:
        return ""
    for near in difflib.get_close_matches(name, inherited, n=len(inherited), cutoff=_NEAR):
        if difflib.get_close_matches(_NOUNS[near], words, n=1, cutoff=_SAME_WORD):
            return near
    return ""


def _words(name: str) -> set[str]:
    """The words of a name in lower case, whichever way they are joined."""
    spaced = "".join(f" {char}" if char.isupper() else char for char in name.replace("_", " "))
    return {*spaced.lower().split(), name.lower().replace("_", "")}


RULES: Final = (
    Rule(
        "info",
        "info() returns run metadata",
        "info() gives a dict, so that a run can keep what it measured, with a fingerprint of the embedding.",
        "Give a dict with name, type, retrieval_mode and embedding_fingerprint.",
        _info,
    ),
    Rule(
        "run-snapshot",
        "run_snapshot() is bounded and safe to persist",
        "A snapshot is strict JSON of the agreed shape, small, and without credentials.",
        "Give schema, settings and observations; leave credentials, dumps and NaN out; stay under 64 KiB.",
        _snapshot,
    ),
    Rule(
        "retrieval-mode",
        "retrieval_mode is a recognized value",
        "The declared mode is one of the contract's, so that a host knows who bounds the list and what scores mean.",
        "Declare scored, ordered or complete_set.",
        _mode,
    ),
    Rule(
        "stray-method",
        "No stray method shadows an inherited contract default",
        "No method is called almost like one of the contract whose inherited default then answers in its place.",
        "Rename it to the contract's name, or let it be if it does something else.",
        _stray,
    ),
)
