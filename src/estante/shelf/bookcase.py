"""The bookcase: the shelves of one tenant behind one object, the same on disk and in memory."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from estante.index import filters
from estante.index.engine import Engine
from estante.ingest.formats import EXTRACTORS
from estante.ingest.pipeline import River, clean_metadata, text_item
from estante.model.access import Claim, Grant
from estante.model.asking import Mode, Query, Results, Where
from estante.model.content import Document, Item, Metadata, Span
from estante.model.errors import EstanteError, NotFound, NotSignedIn, SettingsError, Unavailable
from estante.model.ports import Entry, Listing, Outcome, Progress, Skipped, Store, View
from estante.model.wire import readers_from_text
from estante.shelf.local import Shelves
from estante.shelf.moves import MOVING, Moves
from estante.shelf.shelving import Shelving, ledger_key
from estante.shelf.sources import Known, Sources, pattern, readers_of
from estante.shelf.status import Status, status_of

SOURCES: Final = "sources"

PathOrPaths = str | PathLike[str] | Iterable[str | PathLike[str]]


class Bookcase:
    """Documents to add, search and read. Made by ``estante.create``, ``estante.open`` and ``estante.memory``.

    Every method asks as ``asker``: without one, as the owner, who opened it on their own machine.
    """

    def __init__(
        self,
        *,
        shelves: Shelves,
        engine: Engine,
        river: River,
        tenant: str,
        owner: Grant,
        home: Path | None = None,
        settled: Sequence[Known] = (),
        now: Callable[[], str],
        mode: Mode = "hybrid",
        k: int = 10,
    ) -> None:
        self._shelves = shelves
        self._engine = engine
        self._river = river
        self._tenant = tenant
        self._owner = owner
        self._settled = tuple(settled)
        self._now = now
        self._mode: Mode = mode
        self._k = k
        self._closed = False
        self.home = home

    # --- adding --------------------------------------------------------------------------------------------------

    def add(
        self,
        what: PathOrPaths | Mapping[str, str],
        *,
        metadata: Mapping[str, object] | None = None,
        readers: Iterable[str] | None = None,
        name: str | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        format: str = "plain",
        progress: Progress | None = None,
    ) -> Outcome:
        """Adds files, folders, or texts given as ``{id: text}``; what is there already and unchanged is not read.

        ``readers=["*"]`` shares it with everyone in the tenant; without readers a new source is private and a known one
        stays as it is; ``readers=[]`` makes it private. ``metadata`` is given
        to every item of a path; for texts it is ``{id: metadata}``. ``format`` names the extractor for texts.
        Re-adding an id replaces its text. A folder that was added is remembered and brought up to date by ``refresh``.
        Items that cannot be read are skipped and reported in the outcome. Raises ``NotFound`` for a path that is not
        there, before anything is touched.
        """
        self._refuse_closed()
        kept = _keys(readers)
        if isinstance(what, Mapping):
            return self._add_texts(what, metadata or {}, kept, format, progress)
        options = {
            "metadata": None if metadata is None else clean_metadata(metadata),
            "readers": kept,
            "name": name,
            "include": _patterns(include),
            "exclude": _patterns(exclude),
        }
        return self._add_paths(_paths(what), options, progress)

    def _add_paths(self, paths: list[Path], options: Mapping[str, object], progress: Progress | None) -> Outcome:
        started = time.perf_counter()
        with self._writing("add"):
            sources = before = self._sources()
            meant: list[tuple[str, str]] = []
            for path in paths:
                sources, one, within = sources.adding(path, options)
                one.check(self._river.known)
                meant.append((one.name, within))
            self._shelves.private.remember(SOURCES, sources.to_text())
            self._hand_over(before, sources)
            work = self._shelving(progress)
            work.notes += _readers_told(before, sources, {name for name, _ in meant}, options["readers"])
            work.notes += [note for name, _ in dict.fromkeys(meant) if (note := sources.twice(name))]
            for name, within in dict.fromkeys(meant):
                self._read(work, sources, sources.find(name), within)
        return work.outcome(time.perf_counter() - started)

    def _hand_over(self, before: Sources, after: Sources) -> None:
        """Takes from each source what now stands in another: a part with readers of its own has no others."""
        for one in before.known:
            if (after.parts(one), after.files(one.name)) == (before.parts(one), before.files(one.name)):
                continue
            kept = after.owns(after.find(one.name)) if one.name in after else lambda _: False
            for store in self._shelves.named().values():
                with store.view() as view:
                    keys = [key for key in view.ledger(one.name) if not kept(key[1])]
                if keys:
                    store.drop(keys)

    def _read(self, work: Shelving, sources: Sources, one: Known, within: str = "") -> None:
        """Reads a source, or the part of it at ``within``."""
        left = sources.parts(one)
        work.notes += [f"{path}: left to the source that holds it" for path in left]
        narrowed = replace(one, exclude=(*one.exclude, *map(pattern, left)))
        listed = work.run(
            one.name,
            lambda: narrowed.items(self._river.known, within),
            covers=lambda uri: not within or uri == within or uri.startswith(within + "/"),
            claims=one.claims,
        )
        if within and not listed:
            work.skipped.append(Skipped(within, f"left out by the patterns of the source {one.name!r}, or hidden"))

    def _add_texts(
        self,
        texts: Mapping[str, str],
        metadata: Mapping[str, object],
        readers: tuple[str, ...] | None,
        format: str,
        progress: Progress | None,
    ) -> Outcome:
        started = time.perf_counter()
        for key, value in metadata.items():
            if key not in texts or not isinstance(value, Mapping):
                raise SettingsError(
                    f"metadata {key!r} is not that of one of the texts",
                    hint='For texts, metadata is {id: {...}}, for example {"faq": {"year": 2024}}.',
                )
        cleaned = {key: clean_metadata(_mapping(value)) for key, value in metadata.items()}
        for key, text in texts.items():
            if not isinstance(key, str) or not isinstance(text, str):
                raise SettingsError(
                    f"{key!r} is given as a {type(text).__name__}, not as a text", hint="Pass {id: text}, both texts."
                )
        EXTRACTORS.load(format)  # An unknown format stops before anything is touched.
        claims = () if readers is None else (Claim(readers_of(readers), "given with the text"),)

        def items() -> Iterator[Item]:
            for key, text in texts.items():
                yield text_item(key, text, claims, cleaned.get(key, {}))

        with self._writing("add"):
            work = self._shelving(progress)
            work.run("", items, only=list(texts), extractor=format)
        outcome = work.outcome(time.perf_counter() - started)
        if len(texts) == 1 and outcome.skipped:
            raise SettingsError(
                f"the text {outcome.skipped[0].uri!r} was not added: {outcome.skipped[0].reason}",
                hint="A text needs an id of its own and at least one printable character."
                if format == "plain"
                else f"It was read with format={format!r}; leave format out for a plain text.",
            )
        return outcome

    def refresh(self, *, progress: Progress | None = None) -> Outcome:
        """Brings every source up to date: reads what is new or changed, takes away what is gone.

        A source whose folder cannot be listed keeps what it brought, and is reported. A source that was taken out of
        the settings is gone, and so is what it brought; texts given directly stay.
        """
        self._refuse_closed()
        started = time.perf_counter()
        with self._writing("refresh"):
            sources = self._sources()
            self._shelves.private.remember(SOURCES, sources.to_text())
            work = self._shelving(progress)
            for name in self._orphans(sources):
                gone = work.forget(name)
                work.notes.append(f"source {name}: nothing describes it any more, so {gone:,} documents were taken out")
            for one in sources.known:
                try:
                    self._read(work, sources, one)
                except SettingsError as error:
                    work.lost(one.name, error.message, one.claims)
        return work.outcome(time.perf_counter() - started)

    def _orphans(self, sources: Sources) -> list[str]:
        """Sources that brought documents once and that nobody describes now."""
        brought = {source for source, _ in self._shelves.ledger() if source}
        return sorted(name for name in brought if name not in sources)

    @contextmanager
    def _writing(self, purpose: str) -> Iterator[None]:
        """Holds the writer's place at both shelves, and first ends what a stopped writer had begun to move."""
        with self._shelves.writing(purpose):
            self._end_moves()
            yield

    def _end_moves(self) -> None:
        with self._shelves.private.view() as view:
            told = view.recall(MOVING)
        if not told:
            return
        moves = Moves.from_text(told)
        with self._shelves.shared.view() as view:
            arrived = [key for key in moves.opening if key in view.ledger(key[0], [key[1]])]
        if arrived:
            self._shelves.private.drop(arrived)
        for one in moves.closing:
            if not self._shelves.ledger("", [ledger_key(one.id)]):
                claim = Claim(readers_from_text(one.readers), "its readers when it was moved")
                item = text_item(one.id, one.text, (claim,), one.metadata)
                self._shelving(None).run("", [item].copy, only=[one.id], extractor=one.format)
        self._shelves.private.remember(MOVING, "")

    def _shelving(self, progress: Progress | None) -> Shelving:
        return Shelving(self._shelves, self._river, self._engine, self._tenant, self._now(), progress)

    def _sources(self) -> Sources:
        with self._shelves.private.view() as view:
            return Sources.remembered(view.recall(SOURCES), self._settled)

    # --- asking --------------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        k: int | None = None,
        *,
        where: Where | Mapping[str, object] | None = None,
        mode: Mode | None = None,
        asker: Grant | None = None,
        fuzzy: bool = False,
        literal: bool = False,
    ) -> Results:
        """The k best passages for a question, best first.

        ``where`` filters by metadata, before anything is ranked, e.g. ``{"year": {"$gte": 2020}}``. ``mode`` is
        ``hybrid`` (words and meaning), ``lexical`` (words alone) or ``dense`` (meaning alone). A question may hold
        phrases in quotation marks, ``-word``, ``begin*`` and ``title:word``, unless it is ``literal``. With ``fuzzy`` a
        word that stands nowhere also finds those that it may be a misspelling of.
        """
        self._refuse_closed()
        started = time.perf_counter()
        query = Query(
            text=text,
            grant=self._asker(asker),
            k=self._k if k is None else k,
            mode=self._mode if mode is None else mode,
            where=filters.accept(where),
            fuzzy=fuzzy,
            literal=literal,
        )
        found = self._engine.search(query, self._shelves.named())
        return found.timed((time.perf_counter() - started) * 1e3)

    def _asker(self, asker: Grant | None) -> Grant:
        """The grant to ask with: the owner's when none is given. Anything else that is no grant is no asker."""
        if asker is None:
            return self._owner
        if not isinstance(asker, Grant):
            raise NotSignedIn(
                f"an asker is a Grant, got a {type(asker).__name__}",
                hint="Make one with estante.security.principals.reader, or leave it out to ask as the owner.",
            )
        return asker

    def document(self, document_id: str, *, asker: Grant | None = None) -> Document:
        """A document whole. Raises ``NotFound`` when it is absent or not the asker's to read."""
        with self._holding(document_id, asker) as (_, view, known):
            return view.document(known, self._asker(asker))

    def text(
        self, document_id: str, start: int = 0, end: int | None = None, *, asker: Grant | None = None
    ) -> tuple[int, int, str]:
        """Exactly the characters ``[start, end)`` of a document, with their bounds; nothing else is read."""
        with self._holding(document_id, asker) as (_, view, known):
            return view.slice(known, start, end, self._asker(asker))

    def spans(self, document_id: str, *, asker: Grant | None = None) -> tuple[Span, ...]:
        """The spans of a document's chunks, in order."""
        with self._holding(document_id, asker) as (_, view, known):
            return view.spans(known, self._asker(asker))

    def documents(
        self, where: Where | Mapping[str, object] | None = None, *, asker: Grant | None = None
    ) -> list[Listing]:
        """The documents that the asker may read, by id."""
        self._refuse_closed()
        parsed = filters.accept(where)
        found: dict[str, Listing] = {}
        for store in self._shelves.named().values():
            with store.view() as view:
                # The shared shelf comes first: of a text on its way the narrower listing is the true one.
                found.update((one.document_id, one) for one in view.listings(self._asker(asker), parsed))
        return [found[key] for key in sorted(found)]

    @contextmanager
    def _holding(self, document_id: str, asker: Grant | None) -> Iterator[tuple[Store, View, str]]:
        """The shelf that holds a document, its state, and the document's id as it is spelt there.

        Ids of files ignore letter case, so a path pasted as it is written finds its document. The error is the same
        whoever asks.
        """
        self._refuse_closed()
        absent: NotFound | None = None
        for known in _spellings(document_id):
            for store in self._shelves.named().values():
                with store.view() as view:
                    try:
                        view.slice(known, 0, 0, self._asker(asker))
                    except NotFound as error:
                        absent = absent or error
                        continue
                    yield store, view, known
                    return
        raise absent or NotFound(f"there is no document {document_id!r}", hint="List them with: estante ls")

    # --- changing ------------------------------------------------------------------------------------------------

    def update_metadata(self, document_id: str, metadata: Metadata, *, merge: bool = True) -> None:
        """Changes a document's metadata without reading or encoding its text again.

        With ``merge``, other fields stay and a field given as None goes; without, these are all it has.
        """
        self._refuse_closed()
        clean = clean_metadata(metadata)
        with self._writing("update"):
            with self._holding(document_id, None) as (store, view, known):
                before = view.document(known, self._owner).metadata if merge else {}
            merged = {key: value for key, value in {**before, **clean}.items() if value is not None}
            store.amend(known, merged)

    def delete(self, *document_ids: str) -> int:
        """Takes documents away, with all that their items brought; returns how many went.

        Raises ``NotFound`` before anything is touched when one of them is not there. A file that is still in a
        source comes back with the next refresh, unless the source excludes it.
        """
        self._refuse_closed()
        wanted = [one for some in document_ids for one in ([some] if isinstance(some, str) else list(some))]
        with self._writing("delete"):
            gone: dict[Store, list[tuple[str, str]]] = {}
            for document_id in wanted:
                with self._holding(document_id, None) as (store, view, known):
                    gone.setdefault(store, []).append(view.item_of(known, self._owner))
            return sum(store.drop(dict.fromkeys(keys)) for store, keys in gone.items())

    def adopt(self, told: str | None) -> None:
        """Takes over sources remembered by another bookcase of the same folder."""
        self._refuse_closed()
        if told:
            self._shelves.private.remember(SOURCES, told)

    def remove_source(self, name: str) -> int:
        """Forgets a source and takes away all that it brought; returns how many documents went."""
        self._refuse_closed()
        with self._writing("remove"):
            sources = self._sources()
            orphans = {one.casefold(): one for one in self._orphans(sources)}
            if name.casefold() in orphans:
                return self._shelving(None).forget(orphans[name.casefold()])
            known = sources.find(name)
            if not known.by_hand:
                raise SettingsError(
                    f"the source {name!r} is described in the settings", hint="Take it out of estante.toml first."
                )
            # The documents first: whatever stops this, the source is still known and the same command goes on.
            gone = self._shelving(None).forget(known.name)
            self._shelves.private.remember(SOURCES, sources.without(known.name).to_text())
            return gone

    # --- care ----------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Gives back the room of what was replaced or deleted. Answers stay the same to the last bit."""
        self._refuse_closed()
        with self._writing("compact"):
            for store in self._shelves.named().values():
                store.compact()

    def rebuild(self, progress: Progress | None = None) -> int:
        """Makes words and vectors anew from the documents held, without reading any source; returns how many.

        This is what mends a damaged segment, and what follows a change of encoder or analyzer.
        """
        self._refuse_closed()
        done = 0

        def make(document: Document, spans: tuple[Span, ...]) -> tuple[Entry, ...]:
            nonlocal done
            if progress is not None:
                progress(done, None, document.id)
            done += 1
            return self._engine.entries([(document, spans)])[0]

        with self._shelves.writing("rebuild"):
            for store in self._shelves.named().values():
                store.rebuild(make, self._engine.identity)
            self._end_moves()  # Only now: before, a damaged segment may let nothing be read.
        return done

    def check(self) -> list[str]:
        """Reads everything and says what is wrong, a line each; empty when all is well."""
        self._refuse_closed()
        found = []
        for name, store in self._shelves.named().items():
            found += [f"{name}: {problem}" for problem in store.check()]
        return found

    def status(self) -> Status:
        """What the bookcase holds and how it was made."""
        self._refuse_closed()
        shelves = tuple(status_of(name, store) for name, store in self._shelves.named().items())
        space = self._engine.encoder.space
        try:
            sources = tuple((one.name, one.root, one.label()) for one in self._sources().known)
        except EstanteError:
            sources = ()  # The private shelf is away; its own line says why.
        return Status(
            home="memory" if self.home is None else str(self.home),
            tenant=self._tenant,
            shelves=shelves,
            sources=sources,
            encoder=f"{space.model} ({space.dimensions} dimensions, {space.revision})",
            analyzer=self._engine.analysis,
            chunker=self._river.chunker.fingerprint,
        )

    def close(self) -> None:
        """Closes the shelves; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self._shelves.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise Unavailable("the bookcase was closed", hint="Open it again with estante.open.")

    def __enter__(self) -> Bookcase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many documents there are."""
        self._refuse_closed()
        return sum(_counts(store) for store in self._shelves.named().values())

    def __contains__(self, document_id: object) -> bool:
        if not isinstance(document_id, str):
            return False
        try:
            with self._holding(document_id, None):
                return True
        except NotFound:
            return False

    def __repr__(self) -> str:
        where = "memory" if self.home is None else str(self.home)
        return f"<Bookcase {where!r} closed>" if self._closed else f"<Bookcase {where!r}: {len(self)} documents>"


def parts_of(case: Bookcase) -> tuple[str, Engine, Shelves]:
    """A bookcase's tenant, engine and shelves, for those on this floor that read by themselves."""
    case._refuse_closed()
    return case._tenant, case._engine, case._shelves


def _counts(store: Store) -> int:
    with store.view() as view:
        return view.statistics().documents


def _patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _spellings(document_id: object) -> list[str]:
    """The forms under which a document of this id may stand: as given, composed, and without letter case."""
    if not isinstance(document_id, str):
        raise SettingsError(f"a document's id is a text, got a {type(document_id).__name__}", hint="Pass its id.")
    if any("\ud800" <= char <= "\udfff" for char in document_id):
        return []  # Half a character stands in no id.
    composed = unicodedata.normalize("NFC", document_id)
    return list(dict.fromkeys((document_id, composed, unicodedata.normalize("NFC", composed.casefold()))))


def _keys(readers: Iterable[str] | None) -> tuple[str, ...] | None:
    """Reader keys as given, checked: one doubtful key must not open or close a text by accident."""
    if readers is None:
        return None
    if isinstance(readers, str) or not isinstance(readers, Iterable):
        raise SettingsError(f"readers is a list of keys, got {_kind_of(readers)}", hint='For example readers=["*"].')
    keys = tuple(readers)
    for key in keys:
        if not isinstance(key, str) or not key.strip() or any("\ud800" <= char <= "\udfff" for char in key):
            raise SettingsError(f"a reader key is a non-empty text, got {key!r}", hint='For example ["finance"].')
    if "*" in keys and len(set(keys)) > 1:
        raise SettingsError(
            '"*" is everyone in the tenant, so other keys beside it say something else',
            hint='Write readers=["*"] to share it, or the keys alone.',
        )
    return keys


def _kind_of(value: object) -> str:
    return "a text" if isinstance(value, str) else f"a {type(value).__name__}"


def _readers_told(before: Sources, after: Sources, meant: set[str], readers: object) -> list[str]:
    """What the person who adds should know of the readers: that they changed, or that they did not."""
    told = []
    for name in sorted(meant):
        was = before.find(name).label() if name in before else None
        now = after.find(name).label()
        if was is not None and was != now:
            told.append(f"source {name}: was {was}, is now {now}")
        elif was is not None and readers is None and now != "private":
            told.append(f"source {name}: stays {now}; to close it, add it with --private, or readers=[]")
    return told


def _paths(what: PathOrPaths) -> list[Path]:
    found = [what] if isinstance(what, str | PathLike) else list(what) if isinstance(what, Iterable) else [None]
    if "" in found:
        raise SettingsError("a path is empty", hint='Write "." for the folder that you are in.')
    if all(isinstance(one, str | PathLike) for one in found):
        return [Path(fspath(one)) for one in found]
    raise SettingsError(
        f"cannot add a {type(what).__name__}", hint="Pass a path, a list of paths, or texts as {id: text}."
    )
