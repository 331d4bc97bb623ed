"""Settings, read once at the edge: flag, environment, ``estante.toml``, default. The only reader of the environment."""

from __future__ import annotations

import math
import os
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from estante.index.encoding import ENCODERS
from estante.index.storing import STORES
from estante.index.translating import TRANSLATORS
from estante.ingest.chunking import CHUNKERS
from estante.ingest.formats import EXTRACTORS
from estante.ingest.sourcing import SOURCES
from estante.model.asking import MAX_K, MODES
from estante.model.errors import NameTaken, SettingsError, UnknownName
from estante.model.plugins import Plugins
from estante.shelf.caching import cache
from estante.shelf.credentials import is_credential

FILE: Final = "estante.toml"
FOLDER: Final = ".estante"
BUILDS: Final = "builds"
"""Where in it provisioned shelves stand."""
HOME_VARIABLE: Final = "ESTANTE_HOME"
PREFIX: Final = "ESTANTE_"
DEFAULT: Final = "default"
CACHE: Final = "cache"
MAX_BYTES: Final = 200_000_000

_REPORTING: Final = ("ANONYMIZED_TELEMETRY", "HAYSTACK_TELEMETRY_ENABLED")
"""Variables by which Chroma and Haystack are told whether to report their use."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """A source that the settings describe. ``readers`` is None when nothing is said, which is private."""

    name: str
    use: str
    root: Path
    readers: tuple[str, ...] | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    max_bytes: int


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """A plug-in by name, and what it is made with."""

    use: str
    options: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShelfSettings:
    """A store by name, and the absolute path of its files."""

    store: str
    path: Path


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One value in force, and where it came from."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All the settings of one bookcase, checked. ``home`` is absolute, and so are the paths in here."""

    home: Path
    tenant: str
    sources: tuple[SourceSettings, ...]
    encoder: PluginSettings
    chunker: PluginSettings
    extractors: Mapping[str, str]
    shared: ShelfSettings
    private: ShelfSettings
    k: int
    mode: str
    translate: str
    lock_wait: float
    models: Path
    rows: tuple[SettingRow, ...]


# --- reading one value ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A key, and the file, variable or flag that holds it: what every message about a value begins with."""

    key: str
    origin: str

    def wrong(self, wanted: str, value: object, hint: str) -> SettingsError:
        """The error for a value that is not what is wanted."""
        return SettingsError(f"{self.origin}: {self.key} must be {wanted}, got {_shown(value)}", hint=hint)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _text(value: object, place: _Place) -> str:
    if not isinstance(value, str):
        raise place.wrong("a text", value, f'Write it in quotes, e.g. {place.key.rpartition(".")[2]} = "...".')
    if not value.strip() or _CONTROL.search(value):
        raise place.wrong("a printable text that is not empty", value, "Leave the key out to have the default.")
    return value


def _whole(value: object, place: _Place, least: int, most: int | None, wanted: str) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
        value = int(value)  # A variable of the environment is always a text.
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        raise place.wrong(wanted, value, "Write the number without quotes.")
    return value


def _k(value: object, place: _Place) -> int:
    return _whole(value, place, 1, MAX_K, f"a whole number from 1 to {MAX_K:,}")


def _bytes(value: object, place: _Place) -> int:
    return _whole(value, place, 1, None, "a whole number of bytes above 0")


def _seconds(value: object, place: _Place) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise place.wrong("a number of seconds", value, "For example 10, or 0.5.") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise place.wrong("a number of seconds from 0 on", value, "Write the number without quotes.")
    return float(value)


def _mode(value: object, place: _Place) -> str:
    if value not in MODES:
        raise place.wrong(f"one of {', '.join(MODES)}", value, _near(str(value), MODES) or "Choose one of them.")
    return str(value)


def _texts(value: object, place: _Place) -> tuple[str, ...]:
    if isinstance(value, str):
        raise place.wrong("a list of texts", value, f'Write ["{value}"].')
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) and one.strip() for one in value):
        raise place.wrong("a list of texts, none of them empty", value, 'For example ["a", "b"].')
    return tuple(value)


def _readers(value: object, place: _Place) -> tuple[str, ...]:
    readers = _texts(value, place)
    if "*" in readers and len(readers) > 1:
        raise place.wrong('["*"] alone or a list of keys', value, 'Everyone is ["*"]; leave "*" out to name readers.')
    return readers


def _plugin(family: Plugins) -> Callable[[object, _Place], str]:
    def read(value: object, place: _Place) -> str:
        name = _text(value, place)
        if name not in family.builtins and name not in (names := family.names()):
            hint = _near(name, names) or f"Known: {', '.join(names)}."
            raise UnknownName(f"{place.origin}: {place.key}: there is no {family.family} named {name!r}", hint=hint)
        return name

    return read


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else ""


# --- the table of settings --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key, its default, how it is read, and what it says."""

    key: str
    default: object
    read: Callable[[Any, _Place], object]
    says: str

    @property
    def variable(self) -> str:
        """The variable of the environment that sets it."""
        return PREFIX + self.key.removesuffix(".use").upper().replace(".", "_")


SETTINGS: Final = (
    Setting("tenant", "local", _text, "Whose documents these are. Two tenants never see each other's."),
    Setting("encoder.use", "static", _plugin(ENCODERS), "What turns texts into vectors."),
    Setting("models.path", CACHE, _text, "The folder of weights that are made here; `cache` is the user's cache."),
    Setting("chunker.use", "headings", _plugin(CHUNKERS), "What cuts documents into passages."),
    Setting("shelf.shared.store", "embedded", _plugin(STORES), "What keeps the texts that everyone may read."),
    Setting("shelf.shared.path", f"{FOLDER}/shared", _text, "Where that shelf stands."),
    Setting("shelf.private.store", "embedded", _plugin(STORES), "What keeps all other texts."),
    Setting("shelf.private.path", f"{FOLDER}/private", _text, "Where that shelf stands."),
    Setting("search.k", 10, _k, "How many passages a search gives."),
    Setting("search.mode", "hybrid", _mode, "hybrid (words and meaning), lexical (words) or dense (meaning)."),
    Setting(
        "search.translate",
        "none",
        _plugin(TRANSLATORS),
        "What translates a question that the library's languages lack.",
    ),
    Setting("lock.wait", 10.0, _seconds, "How many seconds to wait while another process writes to the shelf."),
)
"""Every setting with one value. The tables ``encoder``, ``chunker``, ``extractors`` and ``source`` hold more."""

SOURCE_SETTINGS: Final = (
    Setting("use", "folder", _plugin(SOURCES), "What kind of source it is."),
    Setting("name", None, _text, "Its name, which begins its documents' ids; by default that of its folder."),
    Setting("root", None, _text, "Its folder (or one file), from the settings file on. Required."),
    Setting("readers", None, _readers, 'Who may read it: `["*"]` for everyone, or keys. Left out, it is private.'),
    Setting("include", (), _texts, "Patterns, as in `.gitignore`, of what to take. Left out, everything."),
    Setting("exclude", (), _texts, "Patterns of what to leave out."),
    Setting("max_bytes", MAX_BYTES, _bytes, "Files of more bytes are skipped."),
)
"""The keys of one ``[[source]]``."""

_TABLES: Final = ("encoder", "chunker")


def _children(prefix: str) -> list[str]:
    """The keys that may stand in a table."""
    start = f"{prefix}." if prefix else ""
    names = {one.key.removeprefix(start).partition(".")[0] for one in SETTINGS if one.key.startswith(start)}
    return sorted(names | ({"source", "extractors"} if not prefix else set()))


# --- where settings stand ---------------------------------------------------------------------------------------


def find_home(start: Path) -> Path | None:
    """The nearest folder, from ``start`` upwards, that holds a bookcase or its settings; None when there is none."""
    start = Path(os.path.abspath(start))
    for folder in (start, *start.parents):
        if (folder / FILE).is_file() or _holds_shelves(folder / FOLDER):
            return folder
    return None


def _holds_shelves(folder: Path) -> bool:
    """Whether a bookcase is there, and not merely what a provisioning that never ended has left behind."""
    try:
        return folder.is_dir() and os.listdir(folder) != [BUILDS]
    except OSError:
        return True  # Whoever opens it is told what is wrong with it.


def environment() -> Mapping[str, str]:
    """The variables of the environment, for doors to hand to connectors that name variables of their own."""
    return dict(os.environ)


def quieten() -> None:
    """Lets libraries that report their own use report nothing, in this process and in those that it starts."""
    os.environ.update(dict.fromkeys(_REPORTING, "False"))


def home_named(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder that the environment names as the bookcase's."""
    named = (os.environ if environ is None else environ).get(HOME_VARIABLE, "")
    return Path(named).expanduser() if named.strip() else None


def settings_path(home: Path) -> Path | None:
    """The file that holds the settings of a bookcase; None when there is none."""
    table, origin = _file(home)
    own = home / FILE
    if os.path.lexists(own):
        return own
    return home / "pyproject.toml" if table or origin != str(own) else None


def _file(home: Path) -> tuple[dict[str, Any], str]:
    """The table of settings in a folder, and the name of the file that holds it."""
    own, project = home / FILE, home / "pyproject.toml"
    table = _toml(own) if os.path.lexists(own) else None
    shared: object = None
    if project.is_file() and b"estante" in _bytes_of(project):
        tool = _toml(project).get("tool")
        shared = tool.get("estante") if isinstance(tool, dict) else None
    if shared is None:
        return table or {}, str(own)
    if not isinstance(shared, dict):
        raise _Place("tool.estante", str(project)).wrong("a table", shared, "Write [tool.estante].")
    if table is not None:
        raise SettingsError(
            f"settings stand both in {own} and in [tool.estante] of {project}", hint="Keep one of the two."
        )
    return shared, f"{project} [tool.estante]"


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}", hint="Check that it is a file, and its permissions."
        ) from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_bytes_of(path).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start}", hint="Save it as UTF-8."
        ) from (error)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{path} is not TOML: {error}", hint="Mend that line; texts stand in double quotes."
        ) from error
    except RecursionError as error:
        raise SettingsError(f"{path} is nested too deep", hint="Settings need two levels.") from error


# --- putting it together ----------------------------------------------------------------------------------------


@dataclass
class _Reading:
    """One reading of the settings: what was found where, and the rows that tell it."""

    table: Mapping[str, Any]
    origin: str
    flags: Mapping[str, object]
    environ: Mapping[str, str]
    rows: list[SettingRow] = field(default_factory=list)

    def refuse_unknown(self) -> None:
        """Raises for the first key, flag or variable that nobody reads."""
        self._refuse(self.table, "")
        for key in self.flags:
            if key not in [one.key for one in SETTINGS]:
                raise _unknown("flag", "", key, [one.key for one in SETTINGS])
        known = [HOME_VARIABLE, *(one.variable for one in SETTINGS)]
        for name in sorted(self.environ):
            # Other names may hold credentials that settings refer to; only what looks like a slip is one.
            if name.startswith(PREFIX) and name not in known:
                near = get_close_matches(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known], 1, 0.8)
                if near:
                    raise UnknownName(f"environment: unknown variable {name}", hint=f"Did you mean {PREFIX}{near[0]}?")

    def _refuse(self, table: Mapping[str, Any], prefix: str) -> None:
        known = _children(prefix)
        for key, value in table.items():
            whole = f"{prefix}.{key}" if prefix else key
            if whole in ("source", "extractors") or any(one.key == whole for one in SETTINGS):
                continue
            if key not in known:
                if prefix in _TABLES and not ("use" not in table and get_close_matches(key, ["use"], 1, 0.6)):
                    continue  # An option: the plug-in knows whether it has it.
                raise _unknown(self.origin, prefix, key, known)
            if not isinstance(value, dict):
                raise _Place(whole, self.origin).wrong("a table", value, f"Write [{whole}] and its keys below.")
            self._refuse(value, whole)

    def value(self, key: str) -> Any:
        """The value in force of a setting with one value: flag, environment, file, default."""
        setting = next(one for one in SETTINGS if one.key == key)
        found, origin = self._found(setting)
        read = setting.read(found, _Place(key, origin)) if origin != DEFAULT else found
        self.rows.append(SettingRow(key, read, origin))
        return read

    def _found(self, setting: Setting) -> tuple[object, str]:
        if self.flags.get(setting.key) is not None:
            return self.flags[setting.key], "flag"
        if self.environ.get(setting.variable, "").strip():
            return self.environ[setting.variable], f"environment {setting.variable}"
        found: Any = self.table
        for name in setting.key.split("."):
            if not isinstance(found, Mapping) or name not in found:
                return setting.default, DEFAULT
            found = found[name]
        return found, self.origin

    def options(self, family: str) -> Mapping[str, object]:
        """What stands beside ``use`` in a plug-in's table."""
        found = {}
        for key, value in self.table.get(family, {}).items():
            if key == "use":
                continue
            place = _Place(f"{family}.{key}", self.origin)
            if is_credential(key) and isinstance(value, str) and not value.startswith(("env:", "file:")):
                raise SettingsError(
                    f"{self.origin}: {place.key} holds a credential in plain text",
                    hint='Refer to it: "env:NAME" for a variable, "file:PATH" for a file.',
                )
            found[key] = value
            self.rows.append(SettingRow(place.key, value, self.origin))
        return MappingProxyType(found)

    def extractors(self) -> Mapping[str, str]:
        """The extractor for each suffix that the file names."""
        table = self.table.get("extractors", {})
        if not isinstance(table, dict):
            raise _Place("extractors", self.origin).wrong("a table", table, "Write [extractors] and its keys below.")
        found = {}
        for suffix, name in table.items():
            place = _Place(f'extractors."{suffix}"', self.origin)
            if not re.fullmatch(r"\.[^\s./\\]+", suffix):
                raise SettingsError(
                    f"{self.origin}: extractors: {suffix!r} is not a suffix",
                    hint='Write it with its dot: ".txt" = "plain".',
                )
            found[suffix.lower()] = _plugin(EXTRACTORS)(name, place)
            self.rows.append(SettingRow(f"extractors.{suffix.lower()}", name, self.origin))
        return MappingProxyType(found)

    def sources(self, home: Path) -> tuple[SourceSettings, ...]:
        """The sources in the order of the file. Raises ``NameTaken`` for two of one name."""
        tables = self.table.get("source", [])
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise _Place("source", self.origin).wrong("a list of tables", tables, "Write [[source]], in two brackets.")
        found: dict[str, SourceSettings] = {}
        for number, table in enumerate(tables, start=1):
            source = self._source(table, f"source[{number}]", home)
            same = source.name.casefold()
            if same in found:
                raise NameTaken(
                    f"{self.origin}: two sources are named {source.name!r}",
                    hint='Give one of them another name: name = "...".',
                )
            found[same] = source
        return tuple(found.values())

    def _source(self, table: Mapping[str, Any], key: str, home: Path) -> SourceSettings:
        names = [one.key for one in SOURCE_SETTINGS]
        for one in table:
            if one not in names:
                raise _unknown(self.origin, key, one, names)
        if "root" not in table:
            raise SettingsError(f"{self.origin}: {key} has no root", hint='Say which folder it is: root = "handbook".')
        read: dict[str, Any] = {
            one.key: one.read(table[one.key], _Place(f"{key}.{one.key}", self.origin))
            if one.key in table
            else one.default
            for one in SOURCE_SETTINGS
        }
        read["root"] = Path(os.path.realpath(_under(home, read["root"])))
        read["name"] = _source_name(read["name"] or read["root"].name, _Place(f"{key}.name", self.origin))
        for one, value in read.items():
            told = str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
            origin = self.origin if one in table else DEFAULT
            self.rows.append(SettingRow(f"source.{read['name']}.{one}", told, origin))
        return SourceSettings(**read)


def _source_name(name: str, place: _Place) -> str:
    name = unicodedata.normalize("NFC", name).strip()
    if not name or "/" in name or name in (".", ".."):
        raise place.wrong("a name without '/'", name, 'Name the source: name = "handbook".')
    return name


def _unknown(origin: str, prefix: str, key: str, known: Sequence[str]) -> UnknownName:
    """The error for a key of the table ``prefix``, with the nearest of those that are known there."""
    start = f"{prefix}." if prefix else ""
    near = get_close_matches(key, known, n=1)
    hint = f"Did you mean {start + near[0]!r}?" if near else f"Known: {', '.join(start + one for one in known)}."
    return UnknownName(f"{origin}: unknown key {start + key!r}", hint=hint)


def _under(home: Path, path: str) -> Path:
    return Path(os.path.abspath(home / Path(path).expanduser()))


def _models(home: Path, path: str, environ: Mapping[str, str]) -> Path:
    return cache(environ) / "models" if path == CACHE else _under(home, path)


def _refuse_one_place(home: Path, shared: ShelfSettings, private: ShelfSettings, origin: str) -> None:
    """Shelves are separate folders of their own: one inside the other, or around the home, would not be."""
    left, right = (Path(os.path.realpath(one.path)) for one in (shared, private))
    if left == right or left in right.parents or right in left.parents:
        raise SettingsError(
            f"{origin}: shelf.shared.path and shelf.private.path are not apart: {shared.path}, {private.path}",
            hint="Give each shelf a folder of its own.",
        )
    here = Path(os.path.realpath(home))
    for key, path in (("shelf.shared.path", left), ("shelf.private.path", right)):
        if path == here or path in here.parents:
            raise SettingsError(
                f"{origin}: {key} is the folder of the bookcase itself: {path}", hint="Give the shelf a folder in it."
            )


def load(
    home: str | os.PathLike[str],
    *,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    files: bool = True,
) -> Settings:
    """The settings of the bookcase in ``home``. Reads files, touches nothing.

    ``flags`` holds values by key, e.g. ``{"search.k": 5}``; None stands for a flag that was not given. With
    ``files=False`` no settings file is read. Raises ``SettingsError`` for the first thing that cannot be used.
    """
    place = Path(os.path.abspath(home))
    table, origin = _file(place) if files else ({}, DEFAULT)
    reading = _Reading(table, origin, flags or {}, os.environ if environ is None else environ)
    reading.refuse_unknown()
    found = {one.key: reading.value(one.key) for one in SETTINGS}
    shared, private = (
        ShelfSettings(found[f"shelf.{name}.store"], _under(place, found[f"shelf.{name}.path"]))
        for name in ("shared", "private")
    )
    _refuse_one_place(place, shared, private, origin)
    encoder, chunker = (PluginSettings(found[f"{name}.use"], reading.options(name)) for name in _TABLES)
    extractors, sources = reading.extractors(), reading.sources(place)
    return Settings(
        home=place,
        tenant=found["tenant"],
        sources=sources,
        encoder=encoder,
        chunker=chunker,
        extractors=extractors,
        shared=shared,
        private=private,
        k=found["search.k"],
        mode=found["search.mode"],
        translate=found["search.translate"],
        lock_wait=found["lock.wait"],
        models=_models(place, found["models.path"], reading.environ),
        rows=tuple(reading.rows),
    )
