"""Systems with walls that have holes: one for each operation through which something foreign may be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from estante.contract.checks.security import FILTERS, READERS, TENANTS, Asker, Canary
from estante.contract.errors import ConnectorContractError
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline
from estante.contract.testkit.faults import Fault
from estante.contract.testkit.perfect import PerfectHarness, PerfectPipeline, Row, Shelf


class LeakyPipeline(PerfectPipeline):
    """It forgets a wall while ``leaking`` names one."""

    leaking = ""

    def rows(self) -> list[Row]:
        """The rows; those behind the wall as well."""
        if not self.leaking or not self.shelf.reachable:
            return super().rows()
        shelf, asker = self.shelf, self.asker
        if self.leaking == TENANTS:
            shelf = Shelf({name: replace(text, tenant=asker.tenant) for name, text in shelf.texts.items()})
        elif self.leaking == READERS:
            shelf = Shelf({name: replace(text, readers=frozenset()) for name, text in shelf.texts.items()})
        else:
            asker = replace(asker, where={})
        return PerfectPipeline(shelf, asker).rows()


def leaky(operation: str, wall: str) -> type[PerfectPipeline]:
    """A class of pipelines in which one operation forgets one wall."""

    def method(self: LeakyPipeline, *arguments: Any, **named: Any) -> Any:
        before, self.leaking = self.leaking, wall
        try:
            return getattr(LeakyPipeline, operation)(self, *arguments, **named)
        finally:
            self.leaking = before

    return type(f"Leaky_{operation}_{wall}", (LeakyPipeline,), {operation: method})


class TattlingPipeline(PerfectPipeline):
    """Its errors tell what it found."""

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks, or a refusal that quotes what was asked for."""
        hidden = [
            text.text
            for text in self.shelf.texts.values()
            if not text.open_to(self.asker) and any(str(one).startswith(text.name) for one in chunk_ids)
        ]
        if hidden:
            raise ConnectorContractError(f"you may not read: {' '.join(hidden)}")
        return super().get_chunks([one for one in chunk_ids if one is not None])


class RememberingPipeline(PerfectPipeline):
    """It goes on showing what it read first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._held: list[Row] = []

    def rows(self) -> list[Row]:
        """The rows as they were."""
        found = super().rows()
        self._held = self._held or found
        return self._held


class MisdirectedHarness(PerfectHarness):
    """It binds pipelines to a tenant that has nothing."""

    def bind(self, asker: Asker) -> RagPipeline:
        """A pipeline for nobody."""
        return super().bind(replace(asker, tenant="nowhere"))


class ReluctantHarness(PerfectHarness):
    """It keeps what it was told to delete."""

    def delete(self, canary: Canary) -> None:
        """Nothing."""


def _through(kind: type[PerfectPipeline]) -> Callable[[], PerfectHarness]:
    return lambda: PerfectHarness(kind)


def _fault(harness: Callable[[], PerfectHarness], *also: str) -> Fault:
    return Fault(PerfectPipeline, also=frozenset(also), options={"harness": harness})


_BY_ID: Final = ("security-absent", "security-errors")

HOLES: Final[Mapping[str, tuple[str, ...]]] = {
    "query": (),
    "generate": (),
    "pull_all_chunks": ("security-counts",),
    "list_chunks": ("security-counts",),
    "get_chunks": _BY_ID,
    "get_chunk_vectors": ("security-absent",),
}
"""The operations that may show a foreign document, and the checks that notice beside that of the wall."""

COUNTING: Final = ("run_snapshot", "list_datasets", "fingerprint")
"""The operations whose numbers may count one."""

LEAKS: Final[Mapping[str, Fault]] = {
    "security-own": _fault(MisdirectedHarness),
    "security-tenants": _fault(_through(leaky("query", TENANTS))),
    "security-readers": _fault(_through(leaky("query", READERS))),
    "security-filters": _fault(_through(leaky("query", FILTERS))),
    "security-absent": _fault(_through(leaky("get_chunk_vectors", TENANTS)), "security-tenants"),
    "security-counts": _fault(_through(leaky("run_snapshot", TENANTS))),
    "security-errors": _fault(
        _through(TattlingPipeline), "security-tenants", "security-readers", "security-filters", "security-absent"
    ),
    "security-deleted": _fault(_through(RememberingPipeline)),
}
"""By the id of the check: a harness whose pipelines it must catch. ``options['harness']`` makes it."""

__all__ = [
    "COUNTING",
    "HOLES",
    "LEAKS",
    "LeakyPipeline",
    "MisdirectedHarness",
    "ReluctantHarness",
    "RememberingPipeline",
    "TattlingPipeline",
    "leaky",
]
