"""Values of this floor as JSON and back, and the forms in which people see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from estante.model.access import ANYONE, Readers, Scope
from estante.model.asking import Hit, Results
from estante.model.content import Chunk, Document, Mark, Metadata, Redaction, Span, Trail, chunk_id
from estante.model.errors import EstanteError
from estante.model.ports import Listing, Outcome


def dumps(value: object) -> str:
    """Compact JSON with letters kept as they are. Raises ``ValueError`` on NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def readers_to_text(readers: Readers) -> str:
    """Readers in one line of text: ``*``, or the keys as JSON, sorted."""
    return "*" if readers is ANYONE else dumps(sorted(readers))


def readers_from_text(text: str) -> Readers:
    """The opposite of ``readers_to_text``."""
    return ANYONE if text == "*" else frozenset(str(key) for key in json.loads(text))


def marks_to_json(marks: tuple[Mark, ...]) -> list[list[Any]]:
    """Marks as short rows."""
    return [[m.kind, m.start, m.end, m.label, m.level] for m in marks]


def marks_from_json(rows: list[list[Any]]) -> tuple[Mark, ...]:
    """The opposite of ``marks_to_json``."""
    return tuple(Mark(*row) for row in rows)


def redactions_to_json(redactions: tuple[Redaction, ...]) -> list[list[Any]]:
    """Redactions as short rows: kind, start, end."""
    return [[r.kind, r.span.start, r.span.end] for r in redactions]


def redactions_from_json(rows: list[list[Any]]) -> tuple[Redaction, ...]:
    """The opposite of ``redactions_to_json``."""
    return tuple(Redaction(kind, Span(start, end)) for kind, start, end in rows)


def restore(*, scope: Scope, marks: tuple[Mark, ...], redactions: tuple[Redaction, ...], **fields: Any) -> Document:
    """A document that was let in before, as a store kept it."""
    return Document(scope=scope, marks=marks, redactions=redactions, **fields)


def restore_chunk(
    *,
    document_id: str,
    index: int,
    span: Span,
    text: str,
    scope: Scope,
    title: str,
    trail: Trail,
    uri: str,
    locator: str,
    language: str,
    metadata: Metadata,
) -> Chunk:
    """A chunk that was cut before, as a store kept it."""
    return Chunk(
        id=chunk_id(document_id, index),
        document_id=document_id,
        index=index,
        span=span,
        text=text,
        scope=scope,
        title=title,
        trail=trail,
        uri=uri,
        locator=locator,
        language=language,
        metadata=metadata,
    )


def hit_to_json(hit: Hit) -> dict[str, object]:
    """A hit as ``search --json`` prints it."""
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document_id": chunk.document_id,
        "chunk_id": chunk.id,
        "start": chunk.span.start,
        "end": chunk.span.end,
        "text": chunk.text,
        "title": chunk.title,
        "trail": list(chunk.trail),
        "uri": chunk.uri,
        "locator": chunk.locator,
        "language": chunk.language,
        "why": {
            "shelf": hit.shelf,
            "legs": {leg.name: {"rank": leg.rank, "score": leg.score} for leg in hit.legs},
            "matches": [[match.start, match.end] for match in hit.matches],
        },
    }


def results_to_json(results: Results, *, full: bool = False) -> dict[str, object]:
    """A search as ``search --json`` prints it; ``full`` adds coverage and absent words."""
    told: dict[str, object] = {
        "query": results.query,
        "took_ms": round(results.took_ms, 3),
        "shelves": [{"name": s.name, "ok": s.ok, "reason": s.reason} for s in results.shelves],
        "hits": [hit_to_json(hit) for hit in results.hits],
    }
    if full:
        told |= {"translated": results.translated} if results.translated else {}
        told |= {"coverage": round(results.coverage, 4), "absent": list(results.absent)}
    return told


def listing_to_json(listing: Listing, *, full: bool = False) -> dict[str, object]:
    """A document as ``ls --json`` prints it; ``full`` adds its source, kind, metadata, masked secrets and losses."""
    told: dict[str, object] = {
        "document_id": listing.document_id,
        "uri": listing.uri,
        "title": listing.title,
        "chars": listing.chars,
        "chunks": listing.chunks,
        "language": listing.language,
        "scope": listing.scope.label(),
        "added": listing.added,
    }
    if full:
        told |= {"source": listing.source, "media_type": listing.media_type, "metadata": plain(listing.metadata)}
        told |= {"masked": listing.redactions, "losses": list(listing.losses)}
    return told


def outcome_to_json(outcome: Outcome, *, full: bool = False) -> dict[str, object]:
    """An addition or a refresh as ``add --json`` prints it; ``full`` adds the notes."""
    told: dict[str, object] = {
        "added": outcome.added,
        "changed": outcome.changed,
        "unchanged": outcome.unchanged,
        "removed": outcome.removed,
        "skipped": [{"uri": one.uri, "reason": one.reason} for one in outcome.skipped],
        "chunks": outcome.chunks,
        "masked": outcome.masked,
        "seconds": round(outcome.seconds, 3),
    }
    return told | {"notes": list(outcome.notes)} if full else told


def error_to_json(error: EstanteError) -> dict[str, object]:
    """An error as every door gives it."""
    return {"error": error.message, "hint": error.hint}


def plain(metadata: Metadata) -> dict[str, object]:
    """Metadata as plain dicts and lists."""
    return {key: _plain(value) for key, value in metadata.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
