"""What a pipeline handed over, read once into plain values, so that no check meets a value that bites."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from estante.contract.checks.attempts import attempt, kind, text
from estante.contract.models import ChunkRecord, RetrievedChunk

T = TypeVar("T")

SURROGATE: Final = re.compile("[\ud800-\udfff]")

WHOLE: Final = ""
"""The name under which ``strange`` has what is wrong with a record as a whole."""
_WIDEST: Final = 100_000
"""Components of a vector beyond which it is taken for endless."""


@dataclass(frozen=True, slots=True)
class ChunkView:
    """A chunk of the corpus. What is of a wrong type is told in ``strange``, by field, and None if it means nothing."""

    chunk_id: str
    doc_id: str
    text: str
    ordinal: int | None
    global_index: int | None
    char_start: int | None
    char_end: int | None
    metadata: dict[Any, Any]
    strange: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit. What is of a wrong type is None here, and told in ``strange``, by field."""

    chunk_id: str | None
    text: str
    score: float | None
    rank: int | None
    doc_id: str | None
    raw_score: float | None
    metadata: dict[Any, Any]
    strange: Mapping[str, str]


def chunk_view(record: ChunkRecord) -> ChunkView:
    """The record as plain values."""
    read = attempt(_chunk, record)
    if isinstance(read.value, ChunkView):
        return read.value
    return ChunkView("", "", "", None, None, None, None, {}, {WHOLE: f"cannot be read: {kind(read.error)}"})


def hit_view(hit: RetrievedChunk) -> HitView:
    """The hit as plain values."""
    read = attempt(_hit, hit)
    if isinstance(read.value, HitView):
        return read.value
    return HitView(None, "", None, None, None, None, {}, {WHOLE: f"cannot be read: {kind(read.error)}"})


def _chunk(record: ChunkRecord) -> ChunkView:
    reader = _Reader(record)
    return ChunkView(
        chunk_id=reader.string("chunk_id") or "",
        doc_id=reader.string("doc_id") or "",
        text=reader.string("text") or "",
        ordinal=reader.whole("doc_chunk_index"),
        global_index=reader.whole("global_index", optional=True),
        char_start=reader.whole("char_start", optional=True),
        char_end=reader.whole("char_end", optional=True),
        metadata=reader.mapping("metadata"),
        strange=reader.strange("source_file"),
    )


def _hit(hit: RetrievedChunk) -> HitView:
    reader = _Reader(hit)
    return HitView(
        chunk_id=reader.string("chunk_id", optional=True),
        text=reader.string("text") or "",
        score=reader.number("score"),
        rank=reader.whole("rank"),
        doc_id=reader.string("doc_id", optional=True),
        raw_score=reader.number("raw_score"),
        metadata=reader.mapping("metadata"),
        strange=reader.strange(),
    )


def vector(value: object) -> tuple[float, ...] | None:
    """The components of a vector as plain floats; None when it is no sequence of numbers."""
    if isinstance(value, str | bytes | Mapping):
        return None
    read = attempt(lambda: tuple(_float(one) for one in islice(value, _WIDEST + 1))).value  # type: ignore[call-overload]
    return read if isinstance(read, tuple) and len(read) <= _WIDEST else None


def number(value: object) -> float | None:
    """The value as a plain float, None when it is no number. Text is none, whatever it spells."""
    if isinstance(value, str | bytes | bytearray):
        return None
    read = attempt(_float, value).value
    return read if isinstance(read, float) else None


def whole(value: object) -> int | None:
    """The value as a plain int, None when it is no whole number."""
    read = attempt(operator.index, value).value
    return read if isinstance(read, int) else None


def finite(values: tuple[float, ...]) -> bool:
    """Whether no component is NaN or infinite."""
    return all(map(math.isfinite, values))


def _float(value: Any) -> float:
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(kind(value))
    return float.__float__(float(value))


class _Reader:
    """Reads the fields of one record, and keeps what was wrong with them."""

    def __init__(self, record: object) -> None:
        self._record = record
        self._strange: dict[str, str] = {}

    def strange(self, *strings: str) -> dict[str, str]:
        """What was wrong, by field; the ``strings`` are fields of text read for this alone."""
        for name in strings:
            self.string(name)
        return self._strange

    def string(self, name: str, *, optional: bool = False) -> str | None:
        """A field of text. Another value is taken as it prints, as hosts compare ids by what they print."""
        value = getattr(self._record, name)
        if type(value) is str:
            if not value.isascii() and SURROGATE.search(value):
                self._strange[name] = "has a lone surrogate, which is no text"
            return value
        if value is None:
            if not optional:
                self._strange[name] = "is None"
            return None
        if not isinstance(value, str):
            self._strange[name] = f"is of type {kind(value)}, not str"
        return text(value)

    def whole(self, name: str, *, optional: bool = False) -> int | None:
        """A field of a whole number."""
        value = getattr(self._record, name)
        if type(value) is int or (value is None and optional):
            return value
        return self._plain(name, value, int, self._expected(name, value, whole(value), "a whole number"))

    def number(self, name: str) -> float | None:
        """A field of a number or None."""
        value = getattr(self._record, name)
        if value is None or type(value) is float:
            return value
        return self._plain(name, value, float, self._expected(name, value, number(value), "a number"))

    def mapping(self, name: str) -> dict[Any, Any]:
        """A field of names and values, as a new dict."""
        value = getattr(self._record, name)
        read = attempt(dict, value).value if isinstance(value, Mapping) else None
        return self._expected(name, value, read, "a mapping") or {}

    def _plain(self, name: str, value: object, wanted: type, read: T | None) -> T | None:
        """The value as it was read; noted where JSON does not have it, such as a Decimal or a number of a library."""
        if read is not None and not (issubclass(type(value), wanted | int) and type(value) is not bool):
            self._strange[name] = f"is of type {kind(value)}, not {wanted.__name__}"
        return read

    def _expected(self, name: str, value: object, read: T | None, what: str) -> T | None:
        if read is None:
            self._strange[name] = f"is {'None' if value is None else f'of type {kind(value)}'}, not {what}"
        return read
