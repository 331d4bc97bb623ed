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

_NONE: Final = np.zeros(0, np.uint32)
_TAIL: Final = struct.Struct("<II8s")

Arrays = Mapping[str, NDArray[Any]]


def damaged(path: Path, what: str) -> CorruptShelf:
    """The error for a file that is not what was written."""
    return CorruptShelf(f"{path.name} is damaged: {what}", hint="Run: estante rebuild")


@dataclass(frozen=True, slots=True)
class Rows:
    """What goes into a segment, as arrays.

    ``keys`` (documents) are the catalog's numbers, ``ids`` their document ids in ascending order, ``scopes`` the
    catalog's numbers of their scopes, ``languages`` their languages; ``document`` (rows) points into them, ``index`` is
    the chunk's position in its document, ``length`` its number of words. ``terms`` are
    sorted; term t's postings are ``rows[indptr[t]:indptr[t+1]]`` (ascending) with counts ``counts``. ``vectors``
    (rows, dimensions) and ``scales`` (rows) are the quantised vectors.
    """

    keys: NDArray[np.int64]
    ids: list[str]
    scopes: NDArray[np.int64]
    languages: list[str]
    document: NDArray[np.int32]
    index: NDArray[np.int32]
    length: NDArray[np.int32]
    terms: list[bytes]
    indptr: NDArray[np.int64]
    rows: NDArray[np.uint32]
    counts: NDArray[np.uint32]
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
    counts: list[int] = []
    for entry in entries:
        names.extend(entry.terms.keys())
        counts.extend(entry.terms.values())
    vectors, scales = unpack([entry.vector for entry in entries], dimensions)
    per_row = np.fromiter((len(entry.terms) for entry in entries), np.int64, len(entries))
    terms, indptr, order = _invert(names)
    return Rows(
        keys=np.array([one.key for one in ordered], np.int64),
        ids=[one.id for one in ordered],
        scopes=np.array([one.scope for one in ordered], np.int64),
        languages=[one.language for one in ordered],
        document=np.repeat(np.arange(len(ordered), dtype=np.int32), sizes),
        index=np.fromiter((i for size in sizes for i in range(size)), np.int32, len(entries)),
        length=np.fromiter((sum(entry.terms.values()) for entry in entries), np.int32, len(entries)),
        terms=terms,
        indptr=indptr,
        rows=np.repeat(np.arange(len(entries), dtype=np.uint32), per_row)[order],
        counts=np.array(counts, np.uint32)[order],
        vectors=vectors,
        scales=scales,
    )


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
        "length": _small(rows.length),
        "terms": terms,
        "term_at": term_at,
        "indptr": _small(rows.indptr),
        "rows": _small(rows.rows),
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


class Segment:
    """A segment file, open for reading. Safe to use from several threads."""

    def __init__(self, path: Path, size: int, crc: int) -> None:
        self.path = path
        self._views: dict[str, memoryview] = {}
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
        self._layout: dict[str, tuple[int, np.dtype[Any], tuple[int, ...], int]] = {}
        for name, (at, kind, shape) in self._sections.items():
            dtype = np.dtype(kind)
            self._layout[name] = (at, dtype, shape, dtype.itemsize * math.prod(shape[1:]))

    def close(self) -> None:
        """Lets go of the file; arrays handed out before stay valid."""
        with suppress(BufferError):  # Arrays may still point into the map: it goes when the last of them does.
            self._map.close()

    def _shape(self, name: str) -> tuple[int, ...]:
        return self._sections[name][2]

    def array(self, name: str, start: int = 0, end: int | None = None) -> NDArray[Any]:
        """Rows ``[start, end)`` of a section, verified."""
        at, dtype, shape, width = self._layout[name]
        end = shape[0] if end is None else end
        if end <= start or not width:
            return np.zeros((0, *shape[1:]), dtype)
        self._verify(at + start * width, at + end * width)
        flat = np.frombuffer(self._map, dtype, (end - start) * width // dtype.itemsize, at + start * width)
        return flat if len(shape) == 1 else flat.reshape(end - start, *shape[1:])

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

    def term(self, name: str) -> int:
        """A term's number, or -1."""
        return self._search("term_at", "terms", name.encode("utf-8"))

    def find(self, document_id: str) -> int:
        """A document's number in this segment, or -1."""
        return self._search("id_at", "ids", document_id.encode("utf-8", "surrogatepass"))

    def languages(self) -> list[str]:
        """The distinct languages that its documents had, sorted; ``array("language")`` points into them."""
        return self._strings("languages", "language_at")

    def language_of_documents(self) -> list[str]:
        """The language of each document."""
        names = self.languages()
        return [names[at] for at in self.array("language").tolist()]

    def _search(self, offsets: str, strings: str, wanted: bytes) -> int:
        """The number of a string in a sorted section, or -1: a binary search in the file."""
        at, blob = self._whole(offsets), self._whole(strings)
        low, high = 0, len(at) - 1
        while low < high:
            middle = (low + high) // 2
            found = bytes(blob[at[middle] : at[middle + 1]])
            if found == wanted:
                return middle
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return -1

    def postings(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows that hold a term, ascending, and how often."""
        number = self.term(name)
        if number < 0:
            return _NONE, _NONE
        offsets = self._whole("indptr")
        start, end = offsets[number], offsets[number + 1]
        return self.array("rows", start, end), self.array("counts", start, end)

    def entry(self, row: int) -> tuple[dict[str, int], Quantised]:
        """The terms and the vector of one row, read back; slow, for checks."""
        found: dict[str, int] = {}
        term_at, terms = self.array("term_at"), self.array("terms").tobytes()
        rows, counts, indptr = self.array("rows"), self.array("counts"), self.array("indptr")
        for at in np.flatnonzero(rows == row):
            number = int(np.searchsorted(indptr, at, side="right")) - 1
            found[terms[int(term_at[number]) : int(term_at[number + 1])].decode()] = int(counts[at])
        return found, self.vector(row)

    def vector(self, row: int) -> Quantised:
        """The vector of one row."""
        vector = self.array("vectors", row, row + 1).tobytes()
        return Quantised(vector, float(self.array("scales", row, row + 1)[0]))

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
    terms, indptr, rows, counts = _merge_postings([segment for segment, _ in segments], position)
    return Rows(
        keys=np.array([segments[n][0].keys[local] for _, n, local in picked], np.int64),
        ids=[document_id for document_id, _, _ in picked],
        scopes=np.array([scopes[n][local] for _, n, local in picked], np.int64),
        languages=[tongues[n][local] for _, n, local in picked],
        document=document[order].astype(np.int32),
        index=index[order].astype(np.int32),
        length=np.concatenate([s.array("length").astype(np.int32) for s, _ in segments])[order],
        terms=terms,
        indptr=indptr,
        rows=rows,
        counts=counts,
        vectors=np.concatenate([s.array("vectors") for s, _ in segments])[order],
        scales=np.concatenate([s.array("scales") for s, _ in segments])[order],
    )


def _gaps(offsets: NDArray[Any]) -> NDArray[np.int64]:
    wide = offsets.astype(np.int64)
    return wide[1:] - wide[:-1]


def _merge_postings(
    segments: Sequence[Segment], position: NDArray[np.int64]
) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Postings of all segments over the new row numbers; ``position`` maps old rows, -1 for the dead."""
    vocabularies = [segment.all_terms() for segment in segments]
    terms = sorted(set().union(*vocabularies))
    number = {term: i for i, term in enumerate(terms)}
    keys, counts, base = [], [], 0
    for segment, vocabulary in zip(segments, vocabularies, strict=True):
        ids = np.fromiter(map(number.__getitem__, vocabulary), np.int64, len(vocabulary))
        rows = position[base + segment.array("rows").astype(np.int64)]
        alive = rows >= 0
        # Term and row in one number: one sort brings both into order, at half the memory of two keys.
        keys.append((np.repeat(ids << 32, _gaps(segment.array("indptr"))) | rows)[alive])
        counts.append(segment.array("counts")[alive].astype(np.uint32))
        base += segment.rows
    del number, vocabularies
    key, count = np.concatenate(keys), np.concatenate(counts)
    del keys, counts
    order = np.argsort(key, kind="stable")
    key, count = key[order], count[order]
    del order
    frequency = np.bincount(key >> 32, minlength=len(terms))
    kept = np.flatnonzero(frequency)
    indptr = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(frequency[kept], out=indptr[1:])
    return [terms[i] for i in kept], indptr, (key & 0xFFFFFFFF).astype(np.uint32), count
