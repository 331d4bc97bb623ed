"""Chunks as lines of JSON, both ways: one row a line, LF alone ends a line, and nothing is repaired on the way.

What the writer takes the reader gives back, so both hold every row to the same rules. A row that breaks them is a
``ContractValueError`` that names its line, counted from 1; a text is never shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from estante.contract.errors import ContractValueError
from estante.contract.models import ChunkRecord

CHUNK_ROW_KEYS: Final = (
    "chunk_id",
    "doc_id",
    "source_file",
    "doc_chunk_index",
    "global_index",
    "char_start",
    "char_end",
    "content_module_id",
    "text",
    "metadata",
)
"""The keys of a row in the order in which they are written. An embedding is never among them."""

_REQUIRED: Final = ("chunk_id", "doc_id", "source_file", "doc_chunk_index", "text")
_TEXTS: Final = ("chunk_id", "doc_id", "source_file", "text")
_NUMBERS: Final = ("global_index", "char_start", "char_end")
_KINDS: Final = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a fraction",
}
# Half of a pair of UTF-16: a string of Python can hold one, a file of UTF-8 cannot.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def chunks_to_jsonl(records: Iterable[ChunkRecord]) -> str:
    """The records as lines of JSON, each ended by LF; no records give one empty line.

    To be written as UTF-8 without another line end. Raises ``ContractValueError`` for a record that could not be read
    back: a wrong type, a blank text, an id given twice, a value that JSON cannot hold.
    """
    return "\n".join(jsonl_lines(records)) + "\n"


def jsonl_lines(records: Iterable[ChunkRecord]) -> Iterator[str]:
    """The same lines one at a time, without their ends."""
    seen = _Ids()
    for number, record in enumerate(records, start=1):
        yield _line(record, number, seen)


def chunks_from_jsonl(text: str) -> list[ChunkRecord]:
    """The records in the lines, in order; blank lines are passed over.

    ``global_index``, ``char_start``, ``char_end``, ``content_module_id`` and ``metadata`` may be absent or null. Raises
    ``ContractValueError`` for what is not JSON, not an object, incomplete, of a wrong type, blank, or there twice.
    """
    # Not str.splitlines: JSON leaves U+0085, U+2028 and U+2029 as they are, and they end no line of a file.
    return list(chunks_from_lines(text.split("\n")))


def chunks_from_lines(lines: Iterable[str]) -> Iterator[ChunkRecord]:
    """The records in lines that were split at LF alone, one at a time; refuses what ``chunks_from_jsonl`` refuses."""
    seen = _Ids()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _record(line, number, seen)


class _Ids:
    """The line of every chunk id met so far."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def add(self, chunk_id: str, line: int) -> None:
        first = self._lines.setdefault(chunk_id, line)
        if first != line:
            _refuse(line, f"duplicate chunk_id {chunk_id!r}, which line {first} has too")


def _line(record: ChunkRecord, line: int, seen: _Ids) -> str:
    if not isinstance(record, ChunkRecord):
        _refuse(line, f"a ChunkRecord was expected, got {type(record).__name__}")
    row = {key: getattr(record, key) for key in CHUNK_ROW_KEYS}
    row["metadata"] = {} if record.metadata is None else record.metadata
    _check(row, line)
    seen.add(record.chunk_id, line)
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        # The message of the encoder may quote a value, so only its kind is told.
        problem = f"metadata cannot be written as JSON ({type(error).__name__}): it holds what is no JSON value"
        raise ContractValueError(_told(line, problem)) from error


def _record(text: str, line: int, seen: _Ids) -> ChunkRecord:
    row = _parsed(text, line)
    if not isinstance(row, dict):
        _refuse(line, f"a row must be an object, got {_kind(row)}")
    unknown = sorted(row.keys() - set(CHUNK_ROW_KEYS))
    if unknown:
        names = ", ".join(map(repr, unknown))
        _refuse(line, f"a row has no key {names}; its keys are {', '.join(CHUNK_ROW_KEYS)}")
    if row.get("metadata") is None:
        row["metadata"] = {}
    # Keys are texts here anyhow, and half a character is an escape or stands there already.
    _check(row, line, deeply="\\u" in text or _LONE_SURROGATE.search(text) is not None)
    seen.add(row["chunk_id"], line)
    return ChunkRecord(**{"global_index": None, **row})


def _parsed(text: str, line: int) -> Any:
    try:
        return _DECODER.decode(text.strip(" \t\r"))
    except json.JSONDecodeError as error:
        raise ContractValueError(_told(line, f"not valid JSON: {error.msg} at column {error.colno}")) from error
    except (ValueError, RecursionError) as error:
        raise ContractValueError(_told(line, f"not valid JSON: {error}")) from error


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has one key twice")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_DECODER: Final = json.JSONDecoder(parse_constant=_not_a_number, parse_float=_finite, object_pairs_hook=_unambiguous)


def _check(row: Mapping[str, Any], line: int, *, deeply: bool = True) -> None:
    """Refuses a row that lacks a field or has one of a wrong type, blank, or not to be written."""
    missing = [key for key in _REQUIRED if row.get(key) is None]
    if missing:
        _refuse(line, f"a row must have {', '.join(missing)}")
    for key in _TEXTS:
        if not isinstance(row[key], str):
            _refuse(line, f"{key} must be a text, got {_kind(row[key])}")
        if not row[key].strip():
            _refuse(line, f"blank {key}")
    for key in ("doc_chunk_index", *_NUMBERS):
        value = row.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            _refuse(line, f"{key} must be a whole number, got {_kind(value)}")
    module = row.get("content_module_id")
    if module is not None and not isinstance(module, str):
        _refuse(line, f"content_module_id must be a text or null, got {_kind(module)}")
    if not isinstance(row["metadata"], dict):
        _refuse(line, f"metadata must be an object, got {_kind(row['metadata'])}")
    for key, value in row.items() if deeply else ():
        problem = next(_problems(value), "")
        if problem:
            _refuse(line, f"{key} {problem}")


def _problems(value: object) -> Iterator[str]:
    """Why a value would not come back as it is: keys that JSON would turn into texts, halves of characters."""
    waiting, known = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if _LONE_SURROGATE.search(one):
                yield "holds a lone surrogate, which UTF-8 cannot hold"
        elif isinstance(one, dict | list | tuple) and id(one) not in known:
            # A value that holds itself is left to the encoder to refuse.
            known.add(id(one))
            if isinstance(one, dict):
                if not all(isinstance(key, str) for key in one):
                    yield "has a key that is not a text"
                waiting.extend(one.keys())
                waiting.extend(one.values())
            else:
                waiting.extend(one)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return _KINDS.get(type(value), type(value).__name__)


def _told(line: int, problem: str) -> str:
    return f"line {line}: {problem}"


def _refuse(line: int, problem: str) -> NoReturn:
    raise ContractValueError(_told(line, problem))
