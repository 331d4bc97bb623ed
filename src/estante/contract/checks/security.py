"""Who asks, what is planted, and how the checks get at a system with walls.

The checks of who is shown what need a harness, which plants documents and binds a pipeline to an asker. A pipeline
offers one by a method ``security_harness()``; whoever examines a pipeline may bring another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from estante.contract.pipeline import RagPipeline

OFFER: Final = "security_harness"

TENANTS: Final = "tenants"
READERS: Final = "readers"
FILTERS: Final = "filters"
WALLS: Final = (TENANTS, READERS, FILTERS)
"""What may stand between an asker and a document."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A document that is planted to be found by some and by nobody else.

    ``key`` is unique, and fit for the name of a file. Who asks from ``tenant`` and holds one of ``readers`` may read
    it; without readers everyone of the tenant may. ``marker`` is a word that stands in every sentence of ``text`` and
    nowhere else.
    """

    key: str
    marker: str
    text: str
    tenant: str
    readers: frozenset[str]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: of a tenant, with the keys held, and a filter of metadata that bounds everything shown."""

    tenant: str
    keys: frozenset[str] = frozenset()
    where: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class SecurityHarness(Protocol):
    """How the checks get at a system with walls. It begins empty, or with documents that hold no marker."""

    @property
    def walls(self) -> frozenset[str]:
        """Which of ``WALLS`` the system has."""

    def plant(self, canary: Canary) -> None:
        """Puts the document into the system. When this returns, its readers find it."""

    def bind(self, asker: Asker) -> RagPipeline:
        """A pipeline that shows what this asker may see. It is closed by ``close()``, if it has one."""

    def delete(self, canary: Canary) -> None:
        """Takes the document out of the system. When this returns, nobody finds it."""


LEADS: Final = ("of", "at", "about")
"""The words before the marker's pier, by which a sentence of the text is recognised."""


def _canary(key: str, marker: str, tenant: str, readers: Iterable[str], shelf: str) -> Canary:
    sentences = (
        f"The harbour master keeps the tide tables {LEADS[0]} the {marker} pier.",
        f"Every ship that calls {LEADS[1]} the {marker} pier pays its dues before noon.",
        f"Questions {LEADS[2]} the {marker} pier are answered at the lighthouse.",
    )
    return Canary(key, marker, " ".join(sentences), tenant, frozenset(readers), MappingProxyType({"shelf": shelf}))


OWN: Final = _canary("canary-own", "kestrelow", "north", ["finance"], "red")
OTHER_SHELF: Final = _canary("canary-other-shelf", "plovermit", "north", ["finance"], "blue")
OTHER_READERS: Final = _canary("canary-other-readers", "dunlinqua", "north", ["people"], "red")
OTHER_TENANT: Final = _canary("canary-other-tenant", "ternsable", "south", ["finance"], "red")

ASKER: Final = Asker("north", frozenset({"finance"}))
FILTERED: Final = Asker("north", frozenset({"finance"}), MappingProxyType({"shelf": "red"}))
OWNERS: Final[Mapping[str, Asker]] = {
    OWN.key: ASKER,
    OTHER_SHELF.key: ASKER,
    OTHER_READERS.key: Asker("north", frozenset({"people"})),
    OTHER_TENANT.key: Asker("south", frozenset({"finance"})),
}
"""Who may read each canary."""
