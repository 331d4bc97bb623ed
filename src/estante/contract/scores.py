"""Numbers of a store turned into scores of the contract: larger is better, and nothing is invented.

No score is scaled to [0, 1]: who did not measure on a common scale cannot claim one. Keep the store's own number in
``raw_score`` whenever one of the first two functions was used.
"""

from __future__ import annotations

SCORE_CONVENTION = "higher_is_better"
"""How scores are to be compared, as runs record it."""


def cosine_distance_to_similarity(distance: float) -> float:
    """The cosine similarity, from -1 to 1, of a cosine distance."""
    return 1.0 - float(distance)


def l2_distance_to_score(distance: float) -> float:
    """The negated distance: larger is better, but it is no similarity."""
    return -float(distance)


def similarity_passthrough(score: float) -> float:
    """The similarity as it is, for a store whose numbers already grow with likeness."""
    return float(score)
