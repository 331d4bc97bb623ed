"""What the numbers of a back end say, and the scores of the contract that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.scores import cosine_distance_to_similarity, l2_distance_to_score, similarity_passthrough

NONE: Final = "none"
AUTO: Final = "auto"

_KINDS: Final[Mapping[str, tuple[Callable[[float], float], str]]] = MappingProxyType(
    {
        "similarity": (similarity_passthrough, "similarity"),
        "cosine_distance": (cosine_distance_to_similarity, "cosine"),
        # 1 - d is the inner product again, as libraries define this distance.
        "inner_product_distance": (cosine_distance_to_similarity, "ip"),
        # Not the name of a metric: libraries leave the root out or do not, so nothing can be computed again by it.
        "l2_distance": (l2_distance_to_score, "l2_distance"),
    }
)
"""By kind: how a number becomes a score, and the name of the metric."""

SCORE_KINDS: Final = (*_KINDS, NONE)
"""What the numbers of a back end can be declared to be."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One kind of numbers. ``metric`` is the name of the measure, where it is known better than by the kind."""

    kind: str
    metric: str = ""

    @property
    def mode(self) -> str:
        """The retrieval mode that such numbers allow."""
        return "ordered" if self.kind == NONE else "scored"

    @property
    def distance(self) -> str:
        """The name of the measure, as ``info()`` tells it; empty when scores mean nothing."""
        return "" if self.kind == NONE else self.metric or _KINDS[self.kind][1]

    def score(self, number: float | None) -> tuple[float | None, float | None]:
        """The score of a number, and the number itself where it was converted.

        Raises ``ConnectorContractError`` for a hit without a number, ``ConnectorOperationalError`` for one that is no
        finite number.
        """
        if self.kind == NONE:
            return None, None
        if number is None:
            raise ConnectorContractError(
                "a hit has no score; declare score_kind 'none', by which the order counts alone"
            )
        read = float(number)
        if not math.isfinite(read):
            raise ConnectorOperationalError(f"a hit has the score {read}; see what the embedding of the question gives")
        convert = _KINDS[self.kind][0]
        return convert(read), None if convert is similarity_passthrough else read
