"""What a bookcase and its shelves hold, as ``status`` shows it."""

from __future__ import annotations

from dataclasses import dataclass

from estante.model.errors import EstanteError
from estante.model.ports import Store


@dataclass(frozen=True, slots=True)
class ShelfStatus:
    """A shelf as ``status`` shows it."""

    name: str
    documents: int = 0
    chunks: int = 0
    languages: tuple[str, ...] = ()
    bytes: int = 0
    skipped: int = 0
    masked: int = 0
    ok: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """A bookcase as ``status`` shows it."""

    home: str
    tenant: str
    shelves: tuple[ShelfStatus, ...]
    sources: tuple[tuple[str, str, str], ...]
    encoder: str
    analyzer: str
    chunker: str


def status_of(name: str, store: Store) -> ShelfStatus:
    """A shelf's counts, or the reason why it has none to tell."""
    try:
        with store.view() as view:
            found = view.statistics()
    except EstanteError as error:
        return ShelfStatus(name, ok=False, reason=error.message)
    return ShelfStatus(
        name=name,
        documents=found.documents,
        chunks=found.chunks,
        languages=found.languages,
        bytes=found.bytes,
        skipped=found.skipped,
        masked=found.redactions,
    )
