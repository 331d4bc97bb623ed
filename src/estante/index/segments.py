"""Segments: immutable files that hold the words and vectors of some chunks, mapped and verified as they are read.

A file is its sections, one after the other on 64-byte boundaries, then a table of CRC-32 sums, one for each block of
64 KiB, then a JSON footer, the footer's length and CRC, and a magic number. A section is an array of one type. A
block is verified when it is first touched, so opening is quick, and a damaged byte is an error, never an answer.

Rows (chunks) stand in the order of document id and position: within a segment the row number *is* the tie-break.
"""

from __future__ import annotations

import itertools
import json
import math
import mmap
import os
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.boundary import unwritable
from estante.index.dense import unpack
from estante.model.errors import CorruptShelf
from estante.model.ports import Entry, Quantised

MAGIC: Final = b"ESTANTE1"
BLOCK: Final = 1 << 16
FAN: Final = 4
"""Segments of one size class that are merged into one of the next."""

SMALLEST: Final = 128
"""Rows of the first size class; each next one holds ``FAN`` times as many."""

FIELDS: Final = 3
"""Where a word stands: text, title, headings."""

LANDMARKS: Final = 64
"""One term in so many is kept in memory, to find the others by."""

LENGTHS: Final = ("length", "title_length", "trail_length")
"""The sections that hold the numbers of words in each field."""

_TITLE: Final = 32
_TRAIL: Final = 48
_MOST: Final = (1 << 15) - 1
_NONE: Final = np.zeros(0, np.uint8)
_TAIL: Final = struct.Struct("<II8s")

Arrays = Mapping[str, NDArray[Any]]


def damaged(path: Path, what: str) -> CorruptShelf:
    """The error for a file that is not what was written."""
    return CorruptShelf(f"{path.name} is damaged: {what}", hint="Run: estante rebuild")


@dataclass(frozen=True, slots=True)
class Rows:
    """What goes into a segment, as arrays.

    ``keys`` (documents) are the catalog's numbers, ``ids`` their document ids in ascending order, ``scopes`` the
    catalog's numbers of their scopes, ``languages`` their languages; ``document`` (rows) points into them. ``index`` is
    the chunk's position in its document, ``start`` where it begins in it, ``length`` (rows, 3) its numbers of words in
    text, title and headings. ``terms`` are sorted; term t's postings are ``rows[indptr[t]:indptr[t+1]]`` (ascending)
    with ``codes``, and ``counts[code]`` (codes, 3) is how often the term stands in text, title and headings.
    ``vectors`` (rows, dimensions) and ``scales`` (rows) are the quantised vectors.
    """

    keys: NDArray[np.int64]
    ids: list[str]
    scopes: NDArray[np.int64]
    languages: list[str]
    document: NDArray[np.int32]
    index: NDArray[np.int32]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    terms: list[bytes]
    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    codes: NDArray[np.uint32]
    counts: NDArray[np.int64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shelved:
    """A document as a segment takes it: what the catalog numbers it and its scope, and its chunks' entries."""

    key: int
    id: str
    scope: int
    language: str
    entries: Sequence[Entry]


def gather(documents: Sequence[Shelved], dimensions: int) -> Rows:
    """Rows out of documents."""
    ordered = sorted(documents, key=lambda one: one.id)
    entries = [entry for one in ordered for entry in one.entries]
    sizes = [len(one.entries) for one in ordered]
    names: list[str] = []
    packed: list[int] = []
    per_row: list[int] = []
    for entry in entries:
        counts = _in_one(entry)
        names.extend(counts.keys())
        packed.extend(counts.values())
        per_row.append(len(counts))
    vectors, scales = unpack([entry.vector for entry in entries], dimensions)
    terms, indptr, order = _invert(names)
    table, codes = np.unique(np.array(packed, np.int64), return_inverse=True)
    return Rows(
        keys=np.array([one.key for one in ordered], np.int64),
        ids=[one.id for one in ordered],
        scopes=np.array([one.scope for one in ordered], np.int64),
        languages=[one.language for one in ordered],
        document=np.repeat(np.arange(len(ordered), dtype=np.int32), sizes),
        index=np.fromiter((i for size in sizes for i in range(size)), np.int32, len(entries)),
        start=np.fromiter((entry.chunk.span.start for entry in entries), np.int64, len(entries)),
        length=np.array([_lengths(entry) for entry in entries], np.int32).reshape(len(entries), FIELDS),
        terms=terms,
        indptr=indptr,
        rows=np.repeat(np.arange(len(entries), dtype=np.uint32), per_row)[order],
        codes=codes.astype(np.uint32)[order],
        counts=_apart(table),
        vectors=vectors,
        scales=scales,
    )


def _lengths(entry: Entry) -> tuple[int, ...]:
    return tuple(sum(counts.values()) for counts in (entry.terms, entry.title, entry.trail))


def _in_one(entry: Entry) -> Mapping[str, int]:
    """The counts of each term in text, title and headings as one number."""
    if not entry.title and not entry.trail:
        return entry.terms
    found = dict(entry.terms)
    for counts, shift in ((entry.title, _TITLE), (entry.trail, _TRAIL)):
        for term, count in counts.items():
            found[term] = found.get(term, 0) + (min(count, _MOST) << shift)
    return found


def _apart(packed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The opposite: (codes, 3)."""
    return np.stack([packed & 0xFFFFFFFF, packed >> _TITLE & _MOST, packed >> _TRAIL], axis=1)


def _together(counts: NDArray[Any]) -> NDArray[np.int64]:
    wide = counts.astype(np.int64)
    found: NDArray[np.int64] = wide[:, 0] | wide[:, 1] << _TITLE | wide[:, 2] << _TRAIL
    return found


def _invert(names: list[str]) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int64]]:
    """Sorted terms, where each one's postings begin, and the order that brings postings there."""
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    terms = sorted((name.encode("utf-8"), i) for name, i in number.items())
    rank = np.empty(len(terms), np.int64)
    rank[[i for _, i in terms]] = np.arange(len(terms))
    which = rank[np.fromiter(map(number.__getitem__, names), np.int64, len(names))] if names else np.zeros(0, np.int64)
    indptr = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(np.bincount(which, minlength=len(terms)), out=indptr[1:])
    return [term for term, _ in terms], indptr, np.argsort(which, kind="stable")


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """The same whole numbers in the smallest type that holds them."""
    top = int(values.max()) if len(values) else 0
    return values.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)


def _blob(strings: Iterable[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    joined = list(strings)
    offsets = np.zeros(len(joined) + 1, np.uint32)
    np.cumsum([len(one) for one in joined], out=offsets[1:])
    return np.frombuffer(b"".join(joined), np.uint8), offsets


def write(path: Path, rows: Rows) -> tuple[int, int]:
    """Writes a segment beside ``path``, makes it safe, and moves it there. Returns its size and its footer's CRC."""
    terms, term_at = _blob(rows.terms)
    ids, id_at = _blob(one.encode("utf-8") for one in rows.ids)
    languages = sorted(set(rows.languages))
    tongues, tongue_at = _blob(one.encode("utf-8") for one in languages)
    numbered = {language: at for at, language in enumerate(languages)}
    arrays: dict[str, NDArray[Any]] = {
        "keys": rows.keys,
        "ids": ids,
        "id_at": id_at,
        "scopes": _small(rows.scopes),
        "language": _small(np.fromiter(map(numbered.__getitem__, rows.languages), np.int64, len(rows.languages))),
        "languages": tongues,
        "language_at": tongue_at,
        "document": _small(rows.document),
        "index": _small(rows.index),
        "start": _small(rows.start),
        **{name: _small(rows.length[:, at]) for at, name in enumerate(LENGTHS)},
        "terms": terms,
        "term_at": term_at,
        "indptr": _small(rows.indptr),
        "rows": _small(rows.rows),
        "codes": _small(rows.codes),
        "counts": _small(rows.counts),
        "vectors": rows.vectors,
        "scales": rows.scales,
    }
    staged = path.with_suffix(".staged")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(staged, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            size, crc = _write_sections(file, arrays)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    return size, crc


def sync_directory(directory: Path) -> None:
    """Makes a rename in the directory safe, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Summed:
    """Writes bytes and keeps the CRC of every block."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.at = 0
        self.sums: list[int] = []
        self._block = 0

    def write(self, data: Any) -> None:
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        self.file.write(view)
        while len(view):
            room = BLOCK - self.at % BLOCK
            piece = view[:room]
            self._block = zlib.crc32(piece, self._block)
            self.at += len(piece)
            if self.at % BLOCK == 0:
                self.sums.append(self._block)
                self._block = 0
            view = view[room:]

    def done(self) -> list[int]:
        return [*self.sums, self._block] if self.at % BLOCK else self.sums


def _write_sections(file: Any, arrays: Arrays) -> tuple[int, int]:
    out = _Summed(file)
    sections: dict[str, list[object]] = {}
    for name, array in arrays.items():
        out.write(b"\0" * (-out.at % 64))
        sections[name] = [out.at, array.dtype.newbyteorder("<").str, list(array.shape)]
        out.write(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(-1))
    sums = np.array(out.done(), "<u4").tobytes()
    footer = json.dumps({"sections": sections, "data": out.at, "sums": zlib.crc32(sums)}).encode()
    crc = zlib.crc32(footer)
    file.write(sums + footer + _TAIL.pack(len(footer), crc, MAGIC))
    return out.at + len(sums) + len(footer) + _TAIL.size, crc


class SortedStrings:
    """Strings in the order of their bytes, one after the other: string i is ``blob[at[i]:at[i + 1]]``."""

    def __init__(self, blob: memoryview, at: memoryview) -> None:
        self._blob = blob
        self._at = at
        self._count = len(at) - 1
        self._landmarks = [bytes(blob[at[one] : at[one + 1]]) for one in range(0, self._count, LANDMARKS)]

    def number(self, wanted: bytes) -> int:
        """The number of a string, or -1."""
        at, size = self._at, len(wanted)
        block = bisect_right(self._landmarks, wanted)
        low, high = max(block - 1, 0) * LANDMARKS, min(block * LANDMARKS, self._count)
        base = at[low]
        together = bytes(self._blob[base : at[high]])
        found = together.find(wanted)
        while found >= 0:
            start = base + found
            number = bisect_left(at, start, low, high)
            if size and number < high and at[number + 1] == start:
                number += 1  # Behind the empty string.
            if number < high and at[number] == start and at[number + 1] == start + size:
                return number
            found = together.find(wanted, found + 1)
        return -1

    def place(self, wanted: bytes) -> int:
        """The number of the first string that is not before this one."""
        at, blob = self._at, self._blob
        block = bisect_right(self._landmarks, wanted)
        low, high = max(block - 1, 0) * LANDMARKS, min(block * LANDMARKS, self._count)
        return bisect_left(range(high), wanted, low, key=lambda number: bytes(blob[at[number] : at[number + 1]]))


class Segment:
    """A segment file, open for reading. Safe to use from several threads."""

    def __init__(self, path: Path, size: int, crc: int) -> None:
        self.path = path
        self._views: dict[str, memoryview] = {}
        self._strings_of: dict[str, SortedStrings] = {}
        self._open(size)
        try:
            self._read_footer(crc)
        except BaseException:
            self.close()
            raise
        self.rows = self._shape("document")[0]
        self.dimensions = self._shape("vectors")[1] if self.rows else 0
        self.keys: NDArray[np.int64] = self.array("keys")
        self.document: NDArray[Any] = self.array("document")
        self.counts: NDArray[np.int64] = self.array("counts").astype(np.int64)

    def _open(self, size: int) -> None:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            raise damaged(self.path, "it is missing") from None
        except OSError as error:
            raise damaged(self.path, str(error.strerror)) from error
        try:
            found = os.fstat(descriptor).st_size
            if found != size or size < _TAIL.size:
                raise damaged(self.path, f"it has {found} bytes, not {size}")
            self._map = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)

    def _read_footer(self, crc: int) -> None:
        length, written, magic = _TAIL.unpack_from(self._map, len(self._map) - _TAIL.size)
        start = len(self._map) - _TAIL.size - length
        footer = self._map[max(start, 0) : len(self._map) - _TAIL.size]
        if magic != MAGIC or start < 0 or written != crc or zlib.crc32(footer) != crc:
            raise damaged(self.path, "its footer does not match")
        told = json.loads(footer)
        self._sections: dict[str, tuple[int, str, tuple[int, ...]]] = {
            name: (at, kind, tuple(shape)) for name, (at, kind, shape) in told["sections"].items()
        }
        self._data: int = told["data"]
        sums = self._map[self._data : start]
        if zlib.crc32(sums) != told["sums"]:
            raise damaged(self.path, "its table of sums does not match")
        self._sums = np.frombuffer(sums, "<u4")
        self._verified = bytearray(len(self._sums))
        self._layout: dict[str, tuple[int, tuple[int, ...], int, NDArray[Any]]] = {}
        for name, (at, kind, shape) in self._sections.items():
            dtype = np.dtype(kind)
            width = dtype.itemsize * math.prod(shape[1:])
            whole = memoryview(self._map)[at : at + width * shape[0]]
            self._layout[name] = at, shape, width, np.frombuffer(whole, dtype).reshape(shape)

    def close(self) -> None:
        """Lets go of the file; arrays handed out before stay valid."""
        with suppress(BufferError):  # Arrays may still point into the map: it goes when the last of them does.
            self._map.close()

    def _shape(self, name: str) -> tuple[int, ...]:
        return self._sections[name][2]

    def array(self, name: str, start: int = 0, end: int | None = None) -> NDArray[Any]:
        """Rows ``[start, end)`` of a section, verified."""
        at, shape, width, flat = self._layout[name]
        end = shape[0] if end is None else end
        if end <= start or not width:
            return np.zeros((0, *shape[1:]), flat.dtype)
        self._verify(at + start * width, at + end * width)
        return flat[start:end]

    def _verify(self, start: int, end: int) -> None:
        first, last = start // BLOCK, (end - 1) // BLOCK
        if self._verified.find(0, first, last + 1) < 0:
            return
        for block in range(first, last + 1):
            if not self._verified[block]:
                piece = memoryview(self._map)[block * BLOCK : min((block + 1) * BLOCK, self._data)]
                if zlib.crc32(piece) != self._sums[block]:
                    raise damaged(self.path, f"block {block} does not match its sum")
                self._verified[block] = 1

    def _whole(self, name: str) -> memoryview:
        """A section as a memoryview, verified once: reading one value costs next to nothing."""
        found = self._views.get(name)
        if found is None:
            found = self._views[name] = self.array(name).data
        return found

    def verify(self) -> None:
        """Reads every byte. Raises ``CorruptShelf``."""
        self._verified[:] = bytes(len(self._verified))
        if self._data:
            self._verify(0, self._data)

    def document_id(self, document: int) -> str:
        """The id of a document by its number in this segment."""
        at = self._whole("id_at")
        return bytes(self._whole("ids")[at[document] : at[document + 1]]).decode("utf-8")

    def position(self, row: int) -> int:
        """A row's position in its document."""
        return int(self._whole("index")[row])

    def place(self, row: int) -> tuple[int, int, int]:
        """The catalog's number of a row's document, the row's position in it, and where it begins in its text."""
        return self._whole("keys")[self._whole("document")[row]], self._whole("index")[row], self._whole("start")[row]

    def term(self, name: str) -> int:
        """A term's number, or -1."""
        return self._sorted("terms", "term_at").number(name.encode("utf-8"))

    def terms_from(self, name: str) -> int:
        """The number of the first term that is not before this one."""
        return self._sorted("terms", "term_at").place(name.encode("utf-8"))

    def find(self, document_id: str) -> int:
        """A document's number in this segment, or -1."""
        return self._sorted("ids", "id_at").number(document_id.encode("utf-8", "surrogatepass"))

    def _sorted(self, strings: str, offsets: str) -> SortedStrings:
        found = self._strings_of.get(strings)
        if found is None:
            found = self._strings_of[strings] = SortedStrings(self._whole(strings), self._whole(offsets))
        return found

    def languages(self) -> list[str]:
        """The distinct languages that its documents had, sorted; ``array("language")`` points into them."""
        return self._strings("languages", "language_at")

    def language_of_documents(self) -> list[str]:
        """The language of each document."""
        names = self.languages()
        return [names[at] for at in self.array("language").tolist()]

    def postings(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows that hold a term, ascending, and the codes of their ``counts``."""
        number = self.term(name)
        return self.postings_of(number, number + 1) if number >= 0 else (_NONE, _NONE)

    def postings_of(self, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The postings of terms number first to last, one after the other."""
        offsets = self._whole("indptr")
        start, end = offsets[first], offsets[last]
        return self.array("rows", start, end), self.array("codes", start, end)

    def entry(self, row: int) -> tuple[dict[str, int], Quantised, dict[str, int], dict[str, int]]:
        """The terms of one row, its vector, and the terms of its title and headings, read back; slow, for checks."""
        found: tuple[dict[str, int], ...] = ({}, {}, {})
        term_at, terms = self.array("term_at"), self.array("terms").tobytes()
        rows, codes, indptr = self.array("rows"), self.array("codes"), self.array("indptr")
        for at in np.flatnonzero(rows == row):
            number = int(np.searchsorted(indptr, at, side="right")) - 1
            name = terms[int(term_at[number]) : int(term_at[number + 1])].decode()
            for counts, count in zip(found, self.counts[codes[at]].tolist(), strict=True):
                if count:
                    counts[name] = count
        text, title, trail = found
        return text, self.vector(row), title, trail

    def vector(self, row: int) -> Quantised:
        """The vector of one row."""
        vector = self.array("vectors", row, row + 1).tobytes()
        return Quantised(vector, float(self.array("scales", row, row + 1)[0]))

    def lengths(self) -> NDArray[np.int64]:
        """The numbers of words of each row in text, title and headings: (rows, 3)."""
        return np.stack([self.array(name).astype(np.int64) for name in LENGTHS], axis=1)

    def all_terms(self) -> list[bytes]:
        """Every term, sorted."""
        blob, at = self.array("terms").tobytes(), self.array("term_at").tolist()
        return [blob[start:end] for start, end in itertools.pairwise(at)]

    def all_ids(self) -> list[str]:
        """Every document id, ascending."""
        return self._strings("ids", "id_at")

    def _strings(self, strings: str, offsets: str) -> list[str]:
        blob, at = self.array(strings).tobytes(), self.array(offsets).tolist()
        return [blob[start:end].decode("utf-8") for start, end in itertools.pairwise(at)]


def size_class(rows: int) -> int:
    """Which size class a segment of so many rows belongs to, from 0."""
    size, top = 0, SMALLEST
    while rows > top:
        size, top = size + 1, top * FAN
    return size


def merge(segments: Sequence[tuple[Segment, NDArray[np.bool_]]]) -> Rows:
    """The live rows of several segments as one; ``live`` has one flag a document of its segment."""
    picked = [
        (document_id, number, local)
        for number, (segment, live) in enumerate(segments)
        for local, document_id in enumerate(segment.all_ids())
        if live[local]
    ]
    picked.sort()
    for (one, _, _), (other, number, _) in itertools.pairwise(picked):
        if one == other:
            raise damaged(segments[number][0].path, f"document {one!r} is in another segment too")
    scopes = [segment.array("scopes").tolist() for segment, _ in segments]
    tongues = [segment.language_of_documents() for segment, _ in segments]
    place = [np.full(len(segment.keys), -1, np.int64) for segment, _ in segments]
    for new, (_, number, local) in enumerate(picked):
        place[number][local] = new
    document = np.concatenate([place[n][segment.document] for n, (segment, _) in enumerate(segments)])
    index = np.concatenate([segment.array("index").astype(np.int64) for segment, _ in segments])
    order = np.lexsort((index, document))
    order = order[document[order] >= 0]
    position = np.full(len(document), -1, np.int64)
    position[order] = np.arange(len(order))
    terms, indptr, rows, codes, counts = _merge_postings([segment for segment, _ in segments], position)
    return Rows(
        keys=np.array([segments[n][0].keys[local] for _, n, local in picked], np.int64),
        ids=[document_id for document_id, _, _ in picked],
        scopes=np.array([scopes[n][local] for _, n, local in picked], np.int64),
        languages=[tongues[n][local] for _, n, local in picked],
        document=document[order].astype(np.int32),
        index=index[order].astype(np.int32),
        start=np.concatenate([s.array("start").astype(np.int64) for s, _ in segments])[order],
        length=np.concatenate([s.lengths().astype(np.int32) for s, _ in segments])[order],
        terms=terms,
        indptr=indptr,
        rows=rows,
        codes=codes,
        counts=counts,
        vectors=np.concatenate([s.array("vectors") for s, _ in segments])[order],
        scales=np.concatenate([s.array("scales") for s, _ in segments])[order],
    )


def _gaps(offsets: NDArray[Any]) -> NDArray[np.int64]:
    wide = offsets.astype(np.int64)
    return wide[1:] - wide[:-1]


def _merge_postings(
    segments: Sequence[Segment], position: NDArray[np.int64]
) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    """Postings of all segments over the new row numbers; ``position`` maps old rows, -1 for the dead."""
    vocabularies = [segment.all_terms() for segment in segments]
    terms = sorted(set().union(*vocabularies))
    number = {term: i for i, term in enumerate(terms)}
    packed = [_together(segment.counts) for segment in segments]
    table = np.unique(np.concatenate(packed))
    keys, codes, base = [], [], 0
    for segment, vocabulary, mine in zip(segments, vocabularies, packed, strict=True):
        ids = np.fromiter(map(number.__getitem__, vocabulary), np.int64, len(vocabulary))
        # Term and row in one number: one sort brings both into order, at half the memory of two keys.
        key = np.repeat(ids << 32, _gaps(segment.array("indptr")))
        key |= position[base : base + segment.rows][segment.array("rows")]
        code = np.searchsorted(table, mine).astype(np.uint32)[segment.array("codes")]
        alive = key >= 0  # The position of what is dead is -1, and stays so.
        keys.append(key if alive.all() else key[alive])
        codes.append(code if alive.all() else code[alive])
        base += segment.rows
    del number, vocabularies
    key, code = np.concatenate(keys), np.concatenate(codes)
    del keys, codes
    code = code[np.argsort(key)]  # No key comes twice, so any way of sorting gives the same.
    key.sort()  # To sort again takes less room than to put in order.
    alive_rows = (key & 0xFFFFFFFF).astype(np.uint32)
    key >>= 32
    frequency = np.bincount(key, minlength=len(terms))
    del key
    kept = np.flatnonzero(frequency)
    indptr = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(frequency[kept], out=indptr[1:])
    used = np.bincount(code, minlength=len(table)) > 0
    renumbered = (np.cumsum(used) - 1).astype(np.uint32)
    return [terms[i] for i in kept], indptr, alive_rows, renumbered[code], _apart(table[used])
