"""The two shelves of a tenant on this machine, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from estante.model.access import Scope
from estante.model.ports import LedgerRow, Store
from estante.security.resolver import shelf_of

SHARED: Final = "shared"
PRIVATE: Final = "private"


@dataclass(frozen=True, slots=True)
class Shelves:
    """The shared and the private shelf: separate stores, with separate statistics."""

    shared: Store
    private: Store

    def named(self) -> Mapping[str, Store]:
        """Both by name."""
        return {SHARED: self.shared, PRIVATE: self.private}

    def of(self, scope: Scope) -> tuple[str, Store]:
        """The shelf on which a text of this scope stands."""
        name = shelf_of(scope)
        return name, self.named()[name]

    @contextmanager
    def writing(self, purpose: str) -> Iterator[None]:
        """Holds the one writer's place at both, always in the same order, so two writers never wait in a ring."""
        with self.private.writing(purpose), self.shared.writing(purpose):
            yield

    def ledger(
        self, source: str | None = None, items: Sequence[str] | None = None
    ) -> dict[tuple[str, str], dict[str, LedgerRow]]:
        """What each shelf remembers of every item: (source, item) to shelf name to row."""
        found: dict[tuple[str, str], dict[str, LedgerRow]] = {}
        for name, store in self.named().items():
            with store.view() as view:
                for key, row in view.ledger(source, items).items():
                    found.setdefault(key, {})[name] = row
        return found

    def close(self) -> None:
        """Closes both."""
        self.shared.close()
        self.private.close()
