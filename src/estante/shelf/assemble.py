"""The composition root: settings to a bookcase. The only place that names plug-ins."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from estante.index.encoding import ENCODERS, blend_of
from estante.index.engine import Engine
from estante.index.storing import STORES
from estante.index.translating import NONE, TRANSLATORS
from estante.ingest.chunking import CHUNKERS
from estante.ingest.pipeline import River, chunker
from estante.model.asking import Mode
from estante.model.errors import (
    CorruptShelf,
    EstanteError,
    FullDisk,
    NameTaken,
    NotFound,
    SettingsError,
    Unavailable,
    UnknownName,
)
from estante.model.ports import Encoder, Outcome, Store
from estante.security import principals
from estante.shelf.bookcase import Bookcase
from estante.shelf.credentials import is_credential, secret
from estante.shelf.local import PRIVATE, SHARED, Shelves
from estante.shelf.settings import PluginSettings, Settings, ShelfSettings, environment, load
from estante.shelf.sources import Known
from estante.shelf.translating import TranslatingEngine

FOLDER: Final = ".estante"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a bookcase is put together from, beside its shelves."""

    engine: Engine
    river: River


def _root(home: object) -> Path:
    """The folder of a bookcase. Raises ``SettingsError`` for what can be no folder."""
    try:
        if not isinstance(home, str | os.PathLike):
            raise TypeError(f"a {type(home).__name__}")
        root = Path(os.fsdecode(os.fspath(home))).absolute()
        if b"\0" in os.fsencode(root):
            raise ValueError("a path with a NUL in it")
        root.exists()
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise SettingsError(
            f"a bookcase stands in a folder, and this is none: {error}", hint="Pass its path."
        ) from error
    return root


def create(home: str | os.PathLike[str], settings: Settings | None = None) -> Bookcase:
    """A new, empty bookcase in a folder (made if need be). Raises ``NameTaken`` where there is one already."""
    root = _root(home)
    settings = settings or load(root)
    parts = _parts(settings)
    shelves = {PRIVATE: settings.private, SHARED: settings.shared}
    there = {name: one for name, one in shelves.items() if (one.path / "catalog.sqlite").exists()}
    if len(there) == len(shelves) or any(_used(settings, name, one) for name, one in there.items()):
        raise NameTaken(f"there is a bookcase at {root} already", hint="Open it: estante.open(...)")
    made: list[Path] = []
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / FOLDER).mkdir(mode=0o700, exist_ok=True)
        for name in sorted(shelves.keys() - there.keys()):
            made.append(shelves[name].path)
            _make(settings, parts, name, shelves[name]).close()
        return open_bookcase(root, settings)
    except FullDisk:
        for path in made:  # Half a bookcase, or one that nobody was handed, would be in the way of the next attempt.
            for name in ("catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"):
                (path / name).unlink(missing_ok=True)
        raise
    except OSError as error:
        raise Unavailable(
            f"cannot make a bookcase at {root}: {error.strerror}", hint="Choose a folder that you may write to."
        ) from error


def _used(settings: Settings, name: str, one: ShelfSettings) -> bool:
    """Whether anything was ever put on a shelf. An empty one that stands alone is what a killed ``create`` left."""
    store = _store(settings, name, one)
    try:
        with store.view() as view:
            return bool(view.ledger()) or view.recall("sources") is not None
    finally:
        store.close()


def open_bookcase(home: str | os.PathLike[str], settings: Settings | None = None) -> Bookcase:
    """The bookcase in a folder. Raises ``NotFound`` where there is none: opening never makes an empty one."""
    root = _root(home)
    settings = settings or load(root)
    _refuse_absent(root, settings)
    return _open(root, settings, expecting=True)


def open_for_rebuild(home: str | os.PathLike[str], settings: Settings | None = None) -> Bookcase:
    """The bookcase in a folder, even when another encoder or analyzer made it: to be rebuilt, not searched."""
    root = _root(home)
    settings = settings or load(root)
    _refuse_absent(root, settings)
    return _open(root, settings, expecting=False)


def memory(settings: Settings | None = None) -> Bookcase:
    """A bookcase in memory: the same answers, gone when it is closed."""
    home = Path.cwd()
    settings = settings or load(home, flags={}, environ={}, files=False)
    parts = _parts(settings)
    kind = STORES.load("memory")
    identity = {"space": parts.engine.encoder.space, "analyzer": parts.engine.analysis}
    shared, private = (kind(tenant=settings.tenant, shared=shared, **identity) for shared in (True, False))
    return _case(settings, parts, Shelves(shared, private), home=None)


def rebuild_from_sources(home: str | os.PathLike[str], settings: Settings | None = None) -> Outcome:
    """Sets damaged shelves aside and reads every source that is still known again.

    The old shelves are kept beside the new ones with ``.damaged`` in their names. Texts given directly cannot be
    read again, and are told in the outcome's notes as far as the damage lets them be listed.
    """
    root = _root(home)
    settings = settings or load(root)
    known, lost = _salvage(settings)
    for one in (settings.private, settings.shared):
        if one.path.exists():
            one.path.rename(_free(one.path))
    with create(root, settings) as case:
        case.adopt(known)
        outcome = case.refresh()
    notes = tuple(f"{text}: was given directly and must be added again" for text in lost)
    return Outcome(**{**{f: getattr(outcome, f) for f in Outcome.__dataclass_fields__}, "notes": outcome.notes + notes})


def _salvage(settings: Settings) -> tuple[str | None, list[str]]:
    """What can still be read of the remembered sources, and the ids of texts given directly."""
    sources: str | None = None
    texts: list[str] = []
    for name, one in ((PRIVATE, settings.private), (SHARED, settings.shared)):
        with suppress(EstanteError, ValueError):
            store = _store(settings, name, one)
            with store.view() as view:
                texts += [item for _, item in view.ledger("")]
                sources = view.recall("sources") or sources
            store.close()
    return sources, texts


def _free(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside


def _refuse_absent(root: Path, settings: Settings) -> None:
    if not (settings.private.path / "catalog.sqlite").exists() and not settings.private.path.exists():
        raise NotFound(f"there is no bookcase at {root}", hint="Make one with: estante init, or estante.create")


def _open(root: Path, settings: Settings, *, expecting: bool) -> Bookcase:
    parts = _parts(settings)
    opened: list[Store] = []
    try:
        for name, one in ((SHARED, settings.shared), (PRIVATE, settings.private)):
            if name == SHARED and not one.path.exists():
                raise CorruptShelf(
                    f"the shared shelf is missing at {one.path}", hint="Run: estante rebuild --from-sources"
                )
            store = _store(settings, name, one)
            opened.append(store)
            if expecting:
                store.expect(space=parts.engine.encoder.space, analyzer=parts.engine.analysis)
    except EstanteError:
        for store in opened:
            store.close()
        raise
    return _case(settings, parts, Shelves(opened[0], opened[1]), home=root)


def _case(settings: Settings, parts: _Parts, shelves: Shelves, *, home: Path | None) -> Bookcase:
    return Bookcase(
        shelves=shelves,
        engine=parts.engine,
        river=parts.river,
        tenant=settings.tenant,
        owner=principals.owner(settings.tenant),
        home=home,
        settled=_settled(settings),
        now=_now,
        mode=cast(Mode, settings.mode),
        k=settings.k,
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _settled(settings: Settings) -> Sequence[Known]:
    return [
        Known(
            name=one.name,
            root=str(one.root),
            use=one.use,
            readers=one.readers,
            include=one.include,
            exclude=one.exclude,
            max_bytes=one.max_bytes,
            by_hand=False,
        )
        for one in settings.sources
    ]


def _parts(settings: Settings) -> _Parts:
    _refuse_options(settings, "encoder", ENCODERS.load(settings.encoder.use), settings.encoder)
    encoder: Encoder = _encoder(settings)
    _refuse_options(settings, "chunker", CHUNKERS.load(settings.chunker.use), settings.chunker)
    cutter = chunker(settings.chunker.use, dict(settings.chunker.options))
    return _Parts(_engine(settings, encoder), River(cutter, dict(settings.extractors)))


def _engine(settings: Settings, encoder: Encoder) -> Engine:
    trust = blend_of(settings.encoder.use)
    if settings.translate == NONE:
        return Engine(encoder, trust)
    return TranslatingEngine(encoder, trust, TRANSLATORS.load(settings.translate)(), settings.translate)


def _encoder(settings: Settings) -> Encoder:
    """The encoder: told the folder of weights if it takes ``models``; a credential is what its reference holds.

    Raises ``SettingsError`` for the first option that it needs and is not there.
    """
    kind = ENCODERS.load(settings.encoder.use)
    options = dict(settings.encoder.options)
    if "models" in _parameters(kind):
        options.setdefault("models", settings.models)
    if isinstance(options.get("path"), str):  # from the bookcase's folder on, as every path in the settings
        options["path"] = os.path.abspath(settings.home / Path(str(options["path"])).expanduser())
    for name, value in options.items():
        if is_credential(name) and isinstance(value, str):
            options[name] = secret(value, environment())
    made: Encoder = _made("encoder", kind, PluginSettings(settings.encoder.use, options))
    return made


def _parameters(kind: Any) -> Sequence[str]:
    try:
        return list(inspect.signature(kind).parameters)
    except (TypeError, ValueError):  # Not every callable tells what it takes.
        return []


def _refuse_options(settings: Settings, family: str, kind: Any, chosen: PluginSettings) -> None:
    """Raises ``UnknownName`` for the first option that a plug-in does not have, with those that it has."""
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):  # Not every callable tells what it takes.
        return
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return
    known = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_POSITIONAL]
    for name in chosen.options:
        if name not in known:
            origin = next((row.origin for row in settings.rows if row.key == f"{family}.{name}"), "settings")
            near = get_close_matches(name, known, n=1)
            meant = f"Did you mean {near[0]!r}? " if near else ""
            hint = f"{meant}Known: {', '.join(known)}." if known else "It has no options; leave the key out."
            raise UnknownName(f"{origin}: [{family}] {name}: the {family} {chosen.use!r} has no such option", hint=hint)
    for one in parameters:
        needed = one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_POSITIONAL
        if needed and one.name not in (*chosen.options, "models"):
            raise SettingsError(
                f"the {family} {chosen.use!r} needs {one.name!r}, which nothing says",
                hint=f"Write {one.name} = ... into [{family}] of estante.toml.",
            )


def _made(family: str, kind: Any, chosen: PluginSettings) -> Any:
    try:
        return kind(**chosen.options)
    except TypeError as error:
        raise SettingsError(f"{family} {chosen.use!r}: {error}", hint=f"Check [{family}] in estante.toml.") from error


def _kept(name: str, one: ShelfSettings) -> Any:
    """The store of a shelf that outlives the process."""
    kind = STORES.load(one.store)
    if not hasattr(kind, "create"):
        raise SettingsError(
            f"shelf.{name}.store: {one.store!r} keeps nothing on disk",
            hint='Write store = "embedded", or use estante.memory().',
        )
    return kind


def _store(settings: Settings, name: str, one: ShelfSettings) -> Store:
    kind = _kept(name, one)
    made: Store = kind(one.path, tenant=settings.tenant, shared=name == SHARED, wait=settings.lock_wait)
    return made


def _make(settings: Settings, parts: _Parts, name: str, one: ShelfSettings) -> Store:
    kind = _kept(name, one)
    made: Store = kind.create(
        one.path,
        tenant=settings.tenant,
        shared=name == SHARED,
        space=parts.engine.encoder.space,
        analyzer=parts.engine.analysis,
        wait=settings.lock_wait,
    )
    return made
