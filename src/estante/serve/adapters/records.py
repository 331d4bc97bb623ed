"""Rows of a back end, and the chunks and hits that are made of them.

A hit and a chunk of the corpus are made of a row by the same rules, so both have the same id, document and metadata.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from estante.contract.errors import ConnectorContractError
from estante.contract.models import ChunkRecord, RetrievedChunk

NOT_JSON: Final = object()
"""What ``plain`` gives for a value that JSON cannot hold."""

_DEPTH: Final = 32
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One chunk as a back end has it. What is None is not known of it, or stands in the metadata."""

    text: str
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    doc_id: str | None = None
    source_file: str | None = None
    ordinal: int | None = None
    start: int | None = None
    end: int | None = None
    global_index: int | None = None
    content_module_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where, in the metadata of a row, the fields of a chunk stand.

    A key that was declared must be there. The conventions are the keys that a library's own tools write; the first
    that a row has counts, and a row may lack all of them.
    """

    id_key: str = ""
    doc_key: str = ""
    name_key: str = ""
    ordinal_key: str = ""
    text_ids: bool = False
    """Whether the id is a sum of the text, for a back end that gives its chunks none."""
    partial_hits: bool = False
    """Whether a hit may lack what its chunk has in the corpus; its document is then the one it names, or none."""
    docs: tuple[str, ...] = ("doc_id",)
    names: tuple[str, ...] = ("source_file",)
    ordinals: tuple[str, ...] = ("doc_chunk_index",)

    def chunk_id(self, row: Row) -> str | None:
        """The id of a row, None where it has none. Raises ``ConnectorContractError`` for a declared key it lacks."""
        if self.text_ids:
            return sha256(row.text.encode("utf-8", "surrogatepass")).hexdigest()
        return str(_declared(row, self.id_key)) if self.id_key else row.id

    @property
    def own_ids(self) -> bool:
        """Whether the id of a chunk is the id that the back end has for it."""
        return not (self.id_key or self.text_ids)

    def named_doc(self, row: Row) -> str | None:
        """The id of the document that a row names, None where it names none."""
        return _text(_found(row, self.doc_key, row.doc_id, self.docs))

    def doc_id(self, row: Row) -> str | None:
        """The id of a row's document; a row that names none is a document by itself."""
        return self.named_doc(row) or self.chunk_id(row)

    def ordinal(self, row: Row) -> int | None:
        """The place of a row in its document, None where only its neighbours tell it."""
        found = _found(row, self.ordinal_key, row.ordinal, self.ordinals)
        if found is None:
            return 0 if self.doc_id(row) == self.chunk_id(row) else None
        if isinstance(found, bool) or not isinstance(found, int):
            raise ConnectorContractError(
                f"{_who(row)} has a {type(found).__name__} for its place in its document; store a whole number"
            )
        return found

    def records(self, rows: Iterable[Row]) -> list[ChunkRecord]:
        """The whole corpus. Where no row of a document tells its place, they are counted.

        They are counted by where they begin in the document where all of them tell it, else in the order given.
        Raises ``ConnectorContractError`` for a row without an id, and for a document of which some rows tell their
        place and some do not.
        """
        kept = list(rows)
        places = [self.ordinal(row) for row in kept]
        documents: dict[str, list[int]] = {}
        for at, row in enumerate(kept):
            documents.setdefault(self._known_doc(row), []).append(at)
        for doc_id, members in documents.items():
            _count(doc_id, members, kept, places)
        return [self.record(row, place) for row, place in zip(kept, places, strict=True) if place is not None]

    def record(self, row: Row, ordinal: int) -> ChunkRecord:
        """The chunk of one row. Raises ``ConnectorContractError`` for a row without an id."""
        doc_id = self._known_doc(row)
        start, end = _span(row)
        _refuse_half(row)
        return ChunkRecord(
            chunk_id=self.chunk_id(row) or "",
            doc_id=doc_id,
            source_file=_text(_found(row, self.name_key, row.source_file, self.names)) or doc_id,
            doc_chunk_index=ordinal,
            global_index=_whole(_found(row, "", row.global_index, ("global_index",))),
            text=row.text,
            char_start=start,
            char_end=end,
            content_module_id=_text(_found(row, "", row.content_module_id, ("content_module_id",))),
            metadata=plain_metadata(row.metadata),
        )

    def hit(self, row: Row, rank: int, score: float | None, raw_score: float | None) -> RetrievedChunk:
        """The hit of one row; without an id it stands for no chunk of the corpus."""
        chunk_id = self.chunk_id(row)
        _refuse_half(row)
        return RetrievedChunk(
            chunk_id=chunk_id,
            text=row.text,
            score=score,
            rank=rank,
            doc_id=self.named_doc(row) if chunk_id is None or self.partial_hits else self.doc_id(row),
            raw_score=raw_score,
            metadata=plain_metadata(row.metadata),
        )

    def _known_doc(self, row: Row) -> str:
        doc_id = self.doc_id(row)
        if not self.chunk_id(row) or not doc_id:
            raise ConnectorContractError(
                "a chunk of the corpus has no id; name the metadata that holds it (id_key), or let it be made of the "
                "text (text_ids)"
            )
        return doc_id


def _refuse_half(row: Row) -> None:
    """Raises ``ConnectorContractError`` for a text that no file can hold, and nobody can take the sum of."""
    if any(one is not None and _SURROGATE.search(one) for one in (row.text, row.id, row.doc_id)):
        raise ConnectorContractError(
            f"{_who(row)} has half a character (a lone surrogate) in its text or id; store it decoded"
        )


def _count(doc_id: str, members: Sequence[int], rows: Sequence[Row], places: list[int | None]) -> None:
    """Fills the places of a document's rows where none of them tells its own."""
    unknown = [at for at in members if places[at] is None]
    if not unknown:
        return
    if len(unknown) < len(members):
        raise ConnectorContractError(
            f"{len(unknown)} of {len(members)} chunks of document {doc_id!r} do not tell their place in it; store it "
            "with every chunk (ordinal_key), or with none"
        )
    starts = {at: _span(rows[at])[0] for at in members}
    order = sorted(members, key=lambda at: starts[at] or 0) if None not in starts.values() else members
    for place, at in enumerate(order):
        places[at] = place


def _found(row: Row, key: str, own: object, conventions: Sequence[str]) -> object:
    """The value of the declared key, else what the library says, else that of the first convention there is."""
    if key:
        return _declared(row, key)
    if own is not None:
        return own
    return next((row.metadata[one] for one in conventions if row.metadata.get(one) is not None), None)


def _declared(row: Row, key: str) -> object:
    value = row.metadata.get(key)
    if value is None or value == "":
        have = ", ".join(sorted(map(str, row.metadata))) or "no metadata"
        raise ConnectorContractError(f"{_who(row)} has no metadata {key!r}; it has: {have}")
    return value


def _who(row: Row) -> str:
    return "a chunk without an id" if row.id is None else f"chunk {row.id!r}"


def _span(row: Row) -> tuple[int | None, int | None]:
    if row.start is not None:
        return row.start, row.start + len(row.text) if row.end is None else row.end
    return _whole(row.metadata.get("char_start")), _whole(row.metadata.get("char_end"))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


# --- metadata -----------------------------------------------------------------------------------------------------


def plain_metadata(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """The metadata as JSON can hold it; what it cannot hold is left out."""
    made = {str(key): plain(value) for key, value in metadata.items()}
    return {key: value for key, value in made.items() if value is not NOT_JSON}


def plain(value: object, depth: int = _DEPTH) -> Any:
    """A value as JSON has it: times by ISO 8601, tuples as lists, numbers of numpy as numbers; else ``NOT_JSON``."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else NOT_JSON
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID | PurePath):
        return str(value)
    return _plain_nested(value, depth) if depth else NOT_JSON


def _plain_nested(value: object, depth: int) -> Any:
    if isinstance(value, Mapping):
        made = {str(key): plain(one, depth - 1) for key, one in value.items()}
        return {key: one for key, one in made.items() if one is not NOT_JSON}
    if isinstance(value, list | tuple):
        return [one for one in (plain(one, depth - 1) for one in value) if one is not NOT_JSON]
    if isinstance(value, set | frozenset):
        # Sorted, because a set has another order in every process.
        return sorted((one for one in (plain(one, depth - 1) for one in value) if one is not NOT_JSON), key=repr)
    as_python = getattr(value, "tolist", None)
    return plain(as_python(), depth - 1) if callable(as_python) else NOT_JSON
