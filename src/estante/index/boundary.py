"""What every store refuses or answers in the same words, at its own boundary."""

from __future__ import annotations

import errno
from pathlib import Path

from estante.model.content import Document
from estante.model.errors import (
    Denied,
    EstanteError,
    FullDisk,
    NameTaken,
    NotFound,
    QueryError,
    StaleShelf,
    Unavailable,
)
from estante.model.ports import Space


def missing(document_id: str) -> NotFound:
    """The error for a document that is absent, or that the asker may not know of: the same words for both."""
    return NotFound(f"there is no document {document_id!r}", hint="List the documents with: estante ls")


def taken(document_id: str) -> NameTaken:
    """The error for a second document under one id."""
    return NameTaken(
        f"another item already brought a document {document_id!r}", hint="Rename one, or remove the other: estante rm"
    )


def unwritable(path: Path, error: OSError) -> EstanteError:
    """The error for a file that the system does not let be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "Free some room and run the same command again."
        return FullDisk(f"cannot write {path.name}: {error.strerror}", hint=hint)
    return Unavailable(f"cannot write to {path.parent}: {error.strerror}", hint="Check the folder's permissions.")


def refuse_foreign(document: Document, *, tenant: str, shared: bool) -> None:
    """Raises ``Denied`` when a document does not belong on a shelf of this tenant and kind."""
    if document.scope.tenant != tenant or document.scope.shared != shared:
        kind = "shared" if shared else "private"
        raise Denied(
            f"document {document.id!r} of scope {document.scope.label()!r} does not belong on the {kind} shelf",
            hint="Its scope decides its shelf; change the source's readers instead.",
        )


def bounds(document_id: str, start: int, end: int | None, size: int) -> tuple[int, int]:
    """The bounds of a slice, checked against the text. Raises ``QueryError``."""
    end = size if end is None else end
    if not 0 <= start <= end <= size:
        raise QueryError(
            f"[{start}, {end}) is not inside {document_id!r}, which has {size} characters",
            hint=f"Ask for a part of 0-{size}.",
        )
    return start, end


def space_to_text(space: Space) -> str:
    """A vector space in one line."""
    told = [space.model, space.dimensions, space.revision, space.metric]
    if not space.normalised:
        told.append("not_normalised")
    return " ".join("_".join(str(one).split()) for one in told)


def refuse_stale(found: dict[str, str], expected: dict[str, str], command: str) -> None:
    """Raises ``StaleShelf`` naming each thing that differs between the shelf and what would use it."""
    differing = [key for key in expected if found.get(key) != expected[key]]
    if differing:
        what = "; ".join(f"{key} was {found.get(key, 'not recorded')!r}, is {expected[key]!r}" for key in differing)
        other = ", or choose the encoder that made it: [encoder] in estante.toml" if "space" in differing else ""
        raise StaleShelf(f"the shelf was made another way: {what}", hint=f"Run: {command}{other}")
