"""The list of all checks, in the order of the report."""

from __future__ import annotations

from typing import Final

from estante.contract.checks import (
    answering,
    binding,
    corpus,
    describing,
    edges,
    geometry,
    honesty,
    lasting,
    reading,
    retrieval,
    running,
    truth,
    walls,
)
from estante.contract.checks.rules import Rule

BASIC: Final[tuple[Rule, ...]] = (
    *describing.RULES,
    *corpus.RULES,
    *retrieval.RULES,
    *reading.RULES,
    *answering.RULES,
    *binding.RULES,
)
"""The checks of rag-connector's validator, under its names and in its order, whose indexes tools rely on."""

EXTENDED: Final[tuple[Rule, ...]] = (*truth.RULES, *edges.RULES, *geometry.RULES, *honesty.RULES, *lasting.RULES)
"""What rag-connector does not check."""

SECURITY: Final[tuple[Rule, ...]] = walls.RULES
"""Who is shown what, for systems with tenants, readers or filters."""

LAST: Final[tuple[Rule, ...]] = running.RULES
"""What can only be told at the end of a run."""

ALL: Final[tuple[Rule, ...]] = (*BASIC, *EXTENDED, *SECURITY, *LAST)


def chosen(*, extended: bool = True, with_security: bool = False) -> tuple[Rule, ...]:
    """The checks of a run, in order."""
    return (
        *BASIC,
        *(EXTENDED if extended else ()),
        *(SECURITY if with_security else ()),
        *(LAST if extended else ()),
    )
