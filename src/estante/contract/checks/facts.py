"""What many checks ask of a pipeline: what it says of itself, its retrieval mode, and the question to put to it."""

from __future__ import annotations

from typing import Any, Final

from estante.contract.checks.attempts import Missing, attempt, kind, shown, told
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import corpus
from estante.contract.checks.rules import Outcome, failed, passed, warned
from estante.contract.modes import DEFAULT_RETRIEVAL_MODE, RETRIEVAL_MODES

_WORDS: Final = 8
"""Words of a question that is taken from a chunk."""

_METRICS: Final = {
    "cosine": "cosine",
    "cos": "cosine",
    "cosine_similarity": "cosine",
    "cosine_distance": "cosine",
    "ip": "dot",
    "dot": "dot",
    "dot_product": "dot",
    "inner_product": "dot",
    "l2": "l2",
    "euclidean": "l2",
}


def described(probe: Probe) -> tuple[dict[Any, Any], Outcome]:
    """What ``info()`` gives, empty when that is nothing to work with, and the row about it."""
    return probe.once("info", lambda: _described(probe))


def info(probe: Probe) -> dict[Any, Any]:
    """What ``info()`` gives; empty when it could not be had."""
    try:
        return described(probe)[0]
    except Missing:
        return {}


def mode(probe: Probe) -> str:
    """The declared retrieval mode; ``scored`` where none of the known ones is declared."""
    declared = info(probe).get("retrieval_mode", DEFAULT_RETRIEVAL_MODE)
    return declared if isinstance(declared, str) and declared in RETRIEVAL_MODES else DEFAULT_RETRIEVAL_MODE


def given_question(probe: Probe) -> bool:
    """Whether whoever examines the pipeline gave a question."""
    return bool(probe.setting.sample_query and probe.setting.sample_query.strip())


def question(probe: Probe) -> str:
    """The question to put: the one given, else the first words of a chunk in the middle of the corpus."""
    if given_question(probe) and probe.setting.sample_query:
        return probe.setting.sample_query
    chunks = corpus(probe).chunks
    return " ".join(chunks[len(chunks) // 2].text.split()[:_WORDS]) or "test"


def distance(probe: Probe) -> str:
    """The metric that the pipeline, or else its connection, names for its scores; empty when neither does."""
    for source in (info(probe), probe.setting.connection or {}):
        named = attempt(source.get, "distance").value
        if isinstance(named, str) and named:
            return named
    return ""


def metric(name: object) -> str:
    """The metric of this name, as one of ``cosine``, ``dot`` and ``l2``; empty for any other."""
    return _METRICS.get(name.strip().lower().replace("-", "_").replace(" ", "_"), "") if isinstance(name, str) else ""


def _described(probe: Probe) -> tuple[dict[Any, Any], Outcome]:
    done = probe.call("info")
    fix = "Let info() give a dict with name, type and retrieval_mode, and embedding_fingerprint where there is one."
    if done.error is not None:
        return {}, failed(f"info() raised {told(done.error)}", fix)
    found = attempt(dict, done.value).value if isinstance(done.value, dict) else None
    if not isinstance(found, dict):
        return {}, failed(f"info() gave {kind(done.value)}, not a dict", fix)
    detail = f"name={shown(found.get('name'))}, type={shown(found.get('type'))}"
    fingerprint = found.get("embedding_fingerprint")
    if attempt(bool, fingerprint).value is not True:
        return found, warned(
            detail,
            "Add 'embedding_fingerprint' (of provider, model and dimensions): hosts keep it beside the frozen corpus, "
            "and notice by it that the model was changed.",
        )
    return found, passed(detail, f"embedding_fingerprint={shown(fingerprint)}")
