"""The border between a bookcase and the contract: records of chunks, cursors of places, errors of errors."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from estante.contract.checks.attempts import cause
from estante.contract.errors import (
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
)
from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.model.asking import MAX_K, Hit
from estante.model.content import Chunk, chunk_id
from estante.model.errors import CorruptShelf, EstanteError, QueryError, SettingsError
from estante.model.wire import plain

Place = tuple[str, int]
"""Where a chunk stands: its document's id and its position."""

_SUFFIX: Final = re.compile(r"\.([A-Za-z0-9]{1,12})\Z")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CURSOR: Final = "estante.1"


# --- records --------------------------------------------------------------------------------------------------------


def record(chunk: Chunk, global_index: int, source_fingerprint: str | None) -> ChunkRecord:
    """A chunk as the corpus is read."""
    return ChunkRecord(
        chunk_id=chunk.id,
        doc_id=chunk.document_id,
        source_file=chunk.uri,
        doc_chunk_index=chunk.index,
        global_index=global_index,
        text=chunk.text,
        char_start=chunk.span.start,
        char_end=chunk.span.end,
        content_module_id=chunk.document_id,
        metadata=_metadata(chunk, source_fingerprint),
    )


def retrieved(hit: Hit, rank: int, source_fingerprint: str | None) -> RetrievedChunk:
    """A hit; ``rank`` counts from 0. Its score is the engine's own, so there is no raw one beside it."""
    chunk = hit.chunk
    told: dict[str, Any] = {
        "source_file": chunk.uri,
        "doc_chunk_index": chunk.index,
        "char_start": chunk.span.start,
        "char_end": chunk.span.end,
        "shelf": hit.shelf,
        "legs": {leg.name: {"rank": leg.rank, "score": leg.score} for leg in hit.legs},
    }
    return RetrievedChunk(
        chunk_id=chunk.id,
        text=chunk.text,
        score=float(hit.score),
        rank=rank,
        doc_id=chunk.document_id,
        metadata={**_metadata(chunk, source_fingerprint), **told},
    )


def _metadata(chunk: Chunk, source_fingerprint: str | None) -> dict[str, Any]:
    """What is told of a chunk's source. The document's own metadata stands by itself, so that it overrides nothing."""
    told: dict[str, Any] = {
        "source_identity": chunk.document_id,
        "source_fingerprint": source_fingerprint,
        "relative_path": chunk.uri,
        "file_type": file_type(chunk.uri),
        "title": chunk.title,
        "trail": list(chunk.trail),
        "locator": chunk.locator,
        "language": chunk.language,
        "document": plain(chunk.metadata),
    }
    if source_fingerprint is None:
        del told["source_fingerprint"]
    # A text that was given directly may be called like a place on somebody's machine.
    if PurePosixPath(chunk.uri).is_absolute() or PureWindowsPath(chunk.uri).is_absolute():
        del told["relative_path"]
    return told


def file_type(uri: str) -> str:
    """The suffix of a name, in lower case and without its dot; empty when it has none."""
    found = _SUFFIX.search(uri)
    return found[1].lower() if found else ""


# --- what is asked for ----------------------------------------------------------------------------------------------


def checked_question(text: object) -> str:
    """The question. Raises ``ContractValueError`` for what is no text."""
    if not isinstance(text, str):
        raise ContractValueError(f"a question is a text, not a {type(text).__name__}; pass a string")
    if _SURROGATE.search(text):
        raise ContractValueError("the question holds half a character (a lone surrogate); decode its bytes again")
    return text


def checked_breadth(top_k: object) -> int:
    """How many hits are asked for. None is refused: an empty list would say that nothing matched."""
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MAX_K:
        raise ContractValueError(f"top_k is {top_k!r}; ask for 1 to {MAX_K:,} hits")
    return top_k


def checked_ids(ids: object, who: str) -> list[str]:
    """The ids, each once, in their order. Raises ``ContractValueError`` for what is no list of texts."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ContractValueError(f"{who} was given a {type(ids).__name__}; give a list of ids")
    found = list(ids)
    for one in found:
        if not isinstance(one, str):
            raise ContractValueError(f"{who} was given a {type(one).__name__} among its ids; ids are texts")
    return list(dict.fromkeys(found))


def place(wanted: str) -> Place | None:
    """The place that a chunk's id names; None when no chunk can have it."""
    document_id, _, position = wanted.rpartition("#")
    if not position.isascii() or not position.isdigit() or len(position) > 12 or _SURROGATE.search(document_id):
        return None
    found = (document_id, int(position))
    return found if chunk_id(*found) == wanted else None


# --- cursors --------------------------------------------------------------------------------------------------------


def cursor_of(after: Place, mark: str) -> str:
    """The cursor of what stands behind a place, in a corpus of this mark."""
    told = json.dumps([_CURSOR, mark, *after], ensure_ascii=False)
    return base64.urlsafe_b64encode(told.encode("utf-8")).decode("ascii").rstrip("=")


def read_cursor(cursor: object) -> tuple[Place, str]:
    """The place and the mark of a cursor. Raises ``ContractValueError`` for one that ``cursor_of`` did not make."""
    try:
        if not isinstance(cursor, str):
            raise TypeError
        told = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("utf-8")
        name, mark, document_id, position = json.loads(told)
        after = (document_id, position)
        if name != _CURSOR or not isinstance(mark, str) or cursor_of(after, mark) != cursor:
            raise ValueError
        if not isinstance(document_id, str) or type(position) is not int or position < 0:
            raise TypeError
    except (TypeError, ValueError, RecursionError, binascii.Error):
        # Not from the error, which would only tell how far the reading came.
        raise ContractValueError(
            "the cursor is none that list_chunks gave; begin with None and follow next_cursor"
        ) from None
    return after, mark


# --- errors ---------------------------------------------------------------------------------------------------------


@contextmanager
def border(what: str, *, frank: bool) -> Iterator[None]:
    """Raises what goes wrong inside as an error of the contract, from its cause.

    ``frank`` is for the owner: to anybody else a damaged shelf is not told in detail, because that would name what
    stands on it.
    """
    try:
        yield
    except ConnectorError:
        raise
    except QueryError as error:
        raise ContractValueError(said(error)) from error
    except SettingsError as error:
        raise ConnectorRegistrationError(said(error)) from error
    except EstanteError as error:
        told = error.message if frank or not isinstance(error, CorruptShelf) else "the shelf is damaged"
        raise ConnectorOperationalError(f"{what} failed: {told}. {error.hint}") from error
    except Exception as error:  # noqa: BLE001 - of a stranger: the cause has it.
        # What a stranger's error says may hold anything, a text or a credential; the cause has it.
        raise ConnectorOperationalError(f"{what} failed with {type(error).__name__}; see its cause") from cause(error)


def said(error: EstanteError) -> str:
    """What went wrong, and what to do next, as sentences."""
    return f"{error.message.rstrip('.')}. {error.hint}"


def distinct(places: Sequence[Place]) -> list[str]:
    """The documents of these places, each once."""
    return list(dict.fromkeys(document_id for document_id, _ in places))
