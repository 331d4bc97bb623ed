"""A place to plant documents in: bookcases of two tenants and more, to show that nobody sees what is another's."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from estante.contract.checks.security import WALLS, Asker, Canary
from estante.shelf.assemble import create
from estante.shelf.binding import EVERYONE, READER, Binding
from estante.shelf.bookcase import Bookcase, parts_of
from estante.shelf.local import PRIVATE, SHARED
from estante.shelf.pipeline import BookcasePipeline
from estante.shelf.settings import Settings


class BookcaseHarness:
    """Bookcases on disk, a tenant each, made with the encoder and the chunker of the settings.

    They stand in a temporary folder that goes with the harness. What is planted is found through the very pipeline that
    a host is given.
    """

    walls: frozenset[str] = frozenset(WALLS)

    def __init__(self, settings: Settings, binding: Binding) -> None:
        self._settings = settings
        self._binding = binding
        self._folder = Path(tempfile.mkdtemp(prefix="estante-harness-"))
        self._cases: dict[str, Bookcase] = {}
        weakref.finalize(self, _clear, self._folder, self._cases)

    def plant(self, canary: Canary) -> None:
        """Puts the document on the shelf that its readers are of."""
        self._case(canary.tenant).add(
            {canary.key: canary.text},
            metadata={canary.key: dict(canary.metadata)},
            readers=sorted(canary.readers) or ["*"],
        )

    def bind(self, asker: Asker) -> BookcasePipeline:
        """A pipeline as this asker, in the mode of the pipeline that is examined."""
        tenant, engine, shelves = parts_of(self._case(asker.tenant))
        keys = tuple(sorted(asker.keys))
        binding = Binding(
            asker=READER if keys else EVERYONE, keys=keys, mode=self._binding.mode, where=dict(asker.where)
        )
        return BookcasePipeline(tenant=tenant, engine=engine, shelves=shelves, binding=binding)

    def delete(self, canary: Canary) -> None:
        """Takes the document out."""
        self._case(canary.tenant).delete(canary.key)

    def _case(self, tenant: str) -> Bookcase:
        if tenant not in self._cases:
            home = self._folder / f"tenant-{len(self._cases)}"
            settings = replace(
                self._settings,
                home=home,
                tenant=tenant,
                sources=(),
                shared=replace(self._settings.shared, path=home / SHARED),
                private=replace(self._settings.private, path=home / PRIVATE),
            )
            self._cases[tenant] = create(home, settings)
        return self._cases[tenant]


def _clear(folder: Path, cases: Mapping[str, Bookcase]) -> None:
    for case in cases.values():
        case.close()
    shutil.rmtree(folder, ignore_errors=True)
