"""Who bounds the list that a query gives, and whether its scores mean anything.

- ``scored``: ``top_k`` bounds the list and every hit has a score that a threshold may be applied to.
- ``ordered``: ``top_k`` bounds the list; only the order counts, scores may be None.
- ``complete_set``: the system bounds the list and ``top_k`` is a hint of breadth; only membership and order count.
"""

from __future__ import annotations

from estante.contract.errors import RetrievalModeError

RETRIEVAL_MODES = ("scored", "ordered", "complete_set")
DEFAULT_RETRIEVAL_MODE = "scored"

FROM_CONNECTOR = "connector"
FROM_DATASET = "dataset_override"


def resolve_retrieval_mode(live_mode: str | None, dataset_override: str | None) -> tuple[str, str]:
    """The mode that holds, and who decided it: ``connector`` or ``dataset_override``.

    A data set may only take meaning away: ``scored`` may be read as ``ordered``. Every other change is refused with
    ``RetrievalModeError``, as is an unknown mode; a connector that says nothing is ``scored``.
    """
    mode = live_mode or DEFAULT_RETRIEVAL_MODE
    if mode not in RETRIEVAL_MODES:
        raise RetrievalModeError(f"the connector's retrieval mode {mode!r} is unknown; use one of {RETRIEVAL_MODES}")
    if dataset_override is None or dataset_override == mode:
        return mode, FROM_CONNECTOR
    if dataset_override not in RETRIEVAL_MODES:
        raise RetrievalModeError(
            f"the data set's retrieval mode {dataset_override!r} is unknown; use one of {RETRIEVAL_MODES}, or none"
        )
    if (mode, dataset_override) == ("scored", "ordered"):
        return dataset_override, FROM_DATASET
    raise RetrievalModeError(
        f"a data set may not read {mode!r} as {dataset_override!r}; the one change allowed is 'scored' to 'ordered', "
        "because no setting gives scores a meaning or a list its completeness; take the override away"
    )


def refuse_threshold_for_mode(retrieval_mode: str, score_threshold: float | None, *, dataset_name: str = "") -> None:
    """Raises ``RetrievalModeError`` for a threshold where scores mean nothing; it is never silently ignored."""
    if score_threshold is None or retrieval_mode == "scored":
        return
    where = f" for data set {dataset_name!r}" if dataset_name else ""
    raise RetrievalModeError(
        f"the score threshold {score_threshold!r}{where} cannot be applied: retrieval mode {retrieval_mode!r} gives "
        "scores no meaning; clear the threshold, a stored default included, or ask a connector that is 'scored'"
    )
