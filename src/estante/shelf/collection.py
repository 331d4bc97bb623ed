"""Collections: chunks with ids of their own in a folder, each collection a shelf, made aside and then put in its place.

What a collection is stands in its ``collection.json``: where its shelf is, and the model and declarations it was made
with. That file is written when the shelf is whole and checked, in one step: it is the completion record and the commit.
Whoever reads the shelf that it named before goes on reading it, until the next one is made.

A row is a document of one chunk, and its text has passed the gate as any other.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
import unicodedata
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from estante.contract.errors import ConnectorRegistrationError, ContractValueError
from estante.contract.models import ChunkRecord
from estante.index.dense import quantise
from estante.index.lock import WriterLock
from estante.index.segments import sync_directory
from estante.index.storing import STORES
from estante.ingest.pipeline import River, text_item
from estante.model.access import ANYONE, Scope
from estante.model.content import Document, Span, canonical
from estante.model.errors import CorruptShelf, EstanteError, NotFound, SettingsError
from estante.model.ports import Deposit, Entry, Quantised, Store, View
from estante.model.wire import plain
from estante.security import principals
from estante.security.paths import private_directory
from estante.security.scrub import scrub
from estante.shelf.builds import sweep, write_whole
from estante.shelf.embedding import EmbeddingClient, norm_of, space_of, vectors_of

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
FILE: Final = "collection.json"
FORMAT: Final = "estante.collection.v1"
BUILDS: Final = "builds"
TENANT: Final = "reference"
ANALYZER: Final = "none"
"""Rows are found by their vectors alone; no words are kept."""

BATCH: Final = 100
"""Passages of one call to the model, and rows of one commit."""

LENGTH: Final = "vector_length"
"""Where the length stands that the model gave a vector; kept vectors have unit length."""

_READER: Final = principals.reader(TENANT, (), "reference")
_SCOPE: Final = Scope(TENANT, ANYONE)
_MARGIN: Final = 50
"""Candidates beyond those asked for: near ties of bytes are settled by the vectors they stand for."""


def checked_name(name: object) -> str:
    """The name of a collection. Raises ``ConnectorRegistrationError`` for what can be none."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConnectorRegistrationError(
            f"collection_name is {name!r}; use letters, digits, dots, hyphens and underscores, and begin with a letter "
            "or a digit"
        )
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a collection was made with, and where it stands in its folder."""

    build: str
    provider: str
    model: str
    dimensions: int
    revision: str
    distance: str
    normalized: bool | None
    rows: int


class Collection:
    """The rows of one collection as they were when it was opened. Safe to use from several threads."""

    def __init__(self, home: Path, told: Told, store: Store) -> None:
        self.name = home.name
        self.home = home
        self.told = told
        self.closed = False
        self._store = store

    def count(self) -> int:
        """How many rows there are."""
        with self._store.view() as view:
            return view.holdings(_READER, None).chunks

    def get(
        self,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        include: Sequence[str] = ("documents", "metadatas"),
    ) -> dict[str, Any]:
        """Rows by their ids, or all of them: a list ``ids`` and one for each of ``include``, side by side.

        ``include`` names ``documents`` (texts), ``metadatas`` and ``embeddings``. Ids that are absent are left out.
        """
        with self._store.view() as view:
            found = _located(view, ids) if ids is not None else _scanned(view, limit)
            return _rows(view, found[:limit], include)

    def query(
        self, *, query_embeddings: Sequence[Sequence[float]], n_results: int, include: Sequence[str] = ("distances",)
    ) -> dict[str, Any]:
        """The rows nearest to each vector: as ``get``, a list for each vector, with ``distances`` (1 - cosine)."""
        found: dict[str, Any] = {"ids": [], **{name: [] for name in include}}
        with self._store.view() as view:
            for vector in query_embeddings:
                for name, column in self._nearest(view, vector, n_results, include).items():
                    if name in found:
                        found[name].append(column)
        return found

    def _nearest(self, view: View, vector: Sequence[float], k: int, include: Sequence[str]) -> dict[str, Any]:
        asked = _unit(vector)
        near = view.nearest(quantise(asked[None, :].astype(np.float32))[0], k + _MARGIN, _READER, None)
        refs = [one.ref for one in near]
        held = [np.array(one.floats()) for one in view.vectors(refs)]
        # The bytes stand for a row of nearly unit length: divided by its true length it is the cosine that anybody
        # computes again.
        distances = [1.0 - float(row @ asked) / norm_of(row) for row in held]
        best = sorted(zip(distances, map(view.tie, refs), refs, strict=True))[:k]
        rows = _rows(view, [ref for _, _, ref in best], [one for one in include if one != "distances"])
        return {**rows, "distances": [distance for distance, _, _ in best]}

    def close(self) -> None:
        """Gives back files and memory."""
        self.closed = True
        self._store.close()


class Collections:
    """The collections in a folder."""

    def __init__(self, folder: Path, *, wait: float = 10.0) -> None:
        self.folder = folder
        self._wait = wait

    def list_collections(self) -> list[str]:
        """Their names, sorted. Raises ``OSError`` where the folder cannot be read."""
        return sorted(one.name for one in self.folder.iterdir() if NAME.fullmatch(one.name) and (one / FILE).exists())

    def get_collection(self, name: str) -> Collection:
        """The collection of this name. Raises ``NotFound`` where there is none: asking makes none."""
        home = self.folder / checked_name(name)
        for _ in range(20):
            told = self.told(name)
            try:
                found = Collection(home, told, _store(home / BUILDS / told.build, self._wait))
            except EstanteError:
                if self.told(name) == told:  # It was not replaced in between: it is broken.
                    raise
                continue
            _opened(self.folder, found)
            return found
        raise NotFound(f"{home} is replaced faster than it can be opened", hint="Try again when that has ended.")

    def told(self, name: str) -> Told:
        """What is told of a collection. Raises ``NotFound`` or ``CorruptShelf``."""
        home = self.folder / checked_name(name)
        try:
            held = json.loads((home / FILE).read_text("utf-8"))
            if held.pop("format") != FORMAT or not NAME.fullmatch(held["build"]):
                raise ValueError
            return Told(**held)
        except FileNotFoundError:
            raise NotFound(f"there is no collection {name!r} in {self.folder}", hint=self._hint()) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptShelf(
                f"{home / FILE} cannot be read as what it was written as", hint="Provision the collection again."
            ) from error

    def _hint(self) -> str:
        with suppress(OSError):
            if there := self.list_collections():
                return f"There are: {', '.join(there)}."
        return "Make it with estante.shelf.reference_provision, or: estante-rag-connector reference provision"

    @contextmanager
    def building(self, name: str, client: EmbeddingClient, *, keep: bool, **declared: Any) -> Iterator[Build]:
        """A build of a collection, beside the one that stands; it is put in its place when the block ends well.

        ``keep`` begins with a copy of the rows that stand. ``declared`` is ``distance`` and ``normalized``.
        """
        home = private_directory(self.folder / checked_name(name))
        _refuse_other(home)
        builds = private_directory(home / BUILDS)
        with WriterLock(builds, self._wait).held("provision"):
            before = self.told(name) if (home / FILE).exists() else None
            sweep(builds, () if before is None else (builds / before.build,))
            path = builds / secrets.token_hex(8)
            try:
                if keep and before is not None:
                    shutil.copytree(builds / before.build, path, ignore=shutil.ignore_patterns("lock", "holder.json"))
                store = _store(path, self._wait) if keep and before is not None else _made(path, client, self._wait)
                build = Build(store, client)
                try:
                    yield build
                finally:
                    store.close()
                rows = _verified(path, self._wait)
            except BaseException:
                shutil.rmtree(path, ignore_errors=True)
                if before is None:
                    _forget(home)
                raise
            space = space_of(client)
            _commit(
                home,
                Told(
                    build=path.name,
                    provider=space.revision.partition(":")[0],
                    model=space.model,
                    dimensions=space.dimensions,
                    revision=space.revision,
                    rows=rows,
                    **declared,
                ),
            )


class Build:
    """A collection while it is made."""

    def __init__(self, store: Store, client: EmbeddingClient) -> None:
        self._store = store
        self._client = client

    def held(self) -> dict[str, int | None]:
        """The ids that are there, each with its place in the corpus."""
        with self._store.view() as view:
            rows = _rows(view, _scanned(view, None), ["metadatas"])
        return {name: told.get("global_index") for name, told in zip(rows["ids"], rows["metadatas"], strict=True)}

    def put(self, records: Sequence[ChunkRecord]) -> None:
        """Adds rows, a batch at a time: let in, embedded, committed."""
        for start in range(0, len(records), BATCH):
            some = records[start : start + BATCH]
            # What is masked is masked before any model hears of it.
            vectors = vectors_of(self._client, [scrub(canonical(one.text))[0] for one in some])
            units = np.array([_unit(row) for row in vectors], np.float32).reshape(len(some), self._client.dimensions)
            held = zip(some, vectors, quantise(units), strict=True)
            self._store.put([_deposit(record, norm_of(row), vector) for record, row, vector in held])


# --- rows -----------------------------------------------------------------------------------------------------------


def chunk_metadata(record: ChunkRecord) -> dict[str, Any]:
    """What is kept of a chunk beside its text; what it does not have is left out.

    The chunk's own metadata stands under a key of its own, so that it can override nothing.
    """
    told = {
        "chunk_id": record.chunk_id,
        "doc_id": record.doc_id,
        "source_file": record.source_file,
        "doc_chunk_index": record.doc_chunk_index,
        "global_index": record.global_index,
        "char_start": record.char_start,
        "char_end": record.char_end,
        "content_module_id": record.content_module_id,
        "metadata": dict(record.metadata),
    }
    return {name: value for name, value in told.items() if value is not None}


class _Whole:
    """The chunker of rows: what is one chunk stays one."""

    fingerprint = "whole.1"

    def spans(self, document: Document) -> Iterator[Span]:
        """The one span of the text."""
        yield Span(0, len(document.text))


_RIVER: Final = River(_Whole())
"""One for all rows: it keeps what it has loaded."""


def _deposit(record: ChunkRecord, length: float, vector: Quantised) -> Deposit:
    item = text_item(record.chunk_id, record.text, (), {**chunk_metadata(record), LENGTH: length})
    read = _RIVER.read(item, item.read(), _SCOPE, extractor="plain")
    if read.reason:
        raise ContractValueError(f"chunk {record.chunk_id!r} cannot be kept: {read.reason}")
    [(document, [span])] = read.documents
    return Deposit(
        source="",
        item=document.id,
        revision=item.revision,
        digest=read.digest,
        recipe=_RIVER.recipe(item, "plain"),
        documents=((document, (Entry(document.cut(0, span), {}, vector),)),),
    )


def _scanned(view: View, limit: int | None) -> list[int]:
    return view.scan(None, view.holdings(_READER, None).chunks if limit is None else limit, _READER, None)


def _located(view: View, ids: Sequence[str]) -> list[int]:
    places = [(unicodedata.normalize("NFC", one), 0) for one in dict.fromkeys(ids) if one.isprintable()]
    return [ref for ref in view.locate(places, _READER, None) if ref is not None]


def _rows(view: View, refs: Sequence[int], include: Sequence[str]) -> dict[str, Any]:
    chunks = view.chunks(refs, _READER)
    told = [dict(plain(chunk.metadata)) for chunk in chunks]
    lengths = [one.pop(LENGTH, 1.0) for one in told]
    rows: dict[str, Any] = {"ids": [one["chunk_id"] for one in told]}
    if "documents" in include:
        rows["documents"] = [chunk.text for chunk in chunks]
    if "metadatas" in include:
        rows["metadatas"] = told
    if "embeddings" in include:
        rows["embeddings"] = [
            [value * length for value in _unit(held.floats()).tolist()]
            for held, length in zip(view.vectors(refs), lengths, strict=True)
        ]
    return rows


def _unit(vector: Sequence[float] | np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    row = np.asarray(vector, np.float64)
    length = norm_of(row)
    return row / length if length else row


# --- shelves and files ----------------------------------------------------------------------------------------------


def _store(path: Path, wait: float) -> Store:
    made: Store = STORES.load("embedded")(path, tenant=TENANT, shared=True, wait=wait)
    return made


def _made(path: Path, client: EmbeddingClient, wait: float) -> Store:
    kind = STORES.load("embedded")
    made: Store = kind.create(path, tenant=TENANT, shared=True, space=space_of(client), analyzer=ANALYZER, wait=wait)
    return made


def _verified(path: Path, wait: float) -> int:
    """How many rows a build holds, read as a reader would. Raises ``CorruptShelf`` when it is not as it was written."""
    store = _store(path, wait)
    try:
        if problems := store.check():
            raise CorruptShelf(
                f"what was written is not what is read: {'; '.join(problems[:3])}",
                hint="Check the disk, and provision again.",
            )
        with store.view() as view:
            return view.holdings(_READER, None).chunks
    finally:
        store.close()


def _refuse_other(home: Path) -> None:
    """Raises ``SettingsError`` for a folder that holds something else: it is never built into."""
    others = sorted(
        one.name for one in home.iterdir() if one.name not in (BUILDS, FILE) and not one.name.startswith(".")
    )
    if others:
        raise SettingsError(f"{home} holds {others[0]} and is no collection", hint="Name another collection.")


def _forget(home: Path) -> None:
    """Takes the empty folder of a collection that was never finished away."""
    for name in ("lock", "holder.json"):
        with suppress(OSError):
            (home / BUILDS / name).unlink()
    for folder in (home / BUILDS, home):
        with suppress(OSError):
            folder.rmdir()


def _commit(home: Path, told: Told) -> None:
    for folder in (home / BUILDS / told.build, home / BUILDS):
        sync_directory(folder)
    write_whole(home / FILE, json.dumps({"format": FORMAT, **asdict(told)}, indent=2) + "\n")


# --- what is open in this process -----------------------------------------------------------------------------------

_GUARD: Final = threading.Lock()
_OPEN: Final[dict[str, weakref.WeakSet[Collection]]] = {}


def canonical_folder(folder: str | os.PathLike[str]) -> str:
    """The one spelling of a folder, whatever links and letters lead to it."""
    return os.path.normcase(os.path.realpath(str(os.fspath(folder))))


def _opened(folder: Path, collection: Collection) -> None:
    with _GUARD:
        _OPEN.setdefault(canonical_folder(folder), weakref.WeakSet()).add(collection)


def let_go(collection: Collection) -> None:
    """Closes one open collection."""
    with _GUARD:
        for some in _OPEN.values():
            some.discard(collection)
    collection.close()


def release(folder: str | os.PathLike[str]) -> bool:
    """Closes every collection of a folder that this process has open; whether there was one. Raises nothing."""
    with _GUARD:
        found = list(_OPEN.pop(canonical_folder(folder), ()))
    for one in found:
        with suppress(EstanteError, OSError):
            one.close()
    return bool(found)
