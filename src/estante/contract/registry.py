"""Which connectors there are.

A connector is a ``ConnectorSpec`` that stands in the table of ``BUILTINS``, that an installed package publishes under
one of ``ENTRY_POINT_GROUPS``, or that a program registers. One that cannot be loaded is a row with its error: it hides
no other, and is tried again the next time. Everything here may be called from several threads.
"""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

from estante.contract.connections import plain_connection, validate_connection, version_problem
from estante.contract.errors import ConnectorRegistrationError
from estante.contract.foreign import adopted_spec, is_foreign_spec
from estante.contract.params import ParamField
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec, checked_spec, spec_problems

ENTRY_POINT_GROUP: Final = "rag_connector.connectors"
"""The group of rag-connector, whose connectors work here, too."""

OWN_GROUP: Final = "estante.connectors"
ENTRY_POINT_GROUPS: Final = (OWN_GROUP, ENTRY_POINT_GROUP)

OURS: Final = "estante"
"""The origin of the connectors in the table, and the package that brings them."""

REGISTERED: Final = "registered"
"""The origin of a connector that a program registered itself."""

_MOST_TOLD: Final = 500


@dataclass(frozen=True, slots=True)
class BuiltinConnector:
    """Where a connector of ours stands (``module:attribute``), and the extra that brings what it needs."""

    target: str
    extra: str = ""


BUILTINS: Final[dict[str, BuiltinConnector]] = {
    "estante": BuiltinConnector("estante.shelf.connector:CONNECTOR_SPEC"),
    "reference": BuiltinConnector("estante.shelf.connector:REFERENCE_SPEC"),
    "langchain": BuiltinConnector("estante.serve.adapters.langchain:CONNECTOR_SPEC", extra="langchain"),
    "llamaindex": BuiltinConnector("estante.serve.adapters.llamaindex:CONNECTOR_SPEC", extra="llamaindex"),
    "haystack": BuiltinConnector("estante.serve.adapters.haystack:CONNECTOR_SPEC", extra="haystack"),
    "chroma": BuiltinConnector("estante.serve.adapters.chroma:CONNECTOR_SPEC", extra="chroma"),
    "http": BuiltinConnector("estante.serve.adapters.http:CONNECTOR_SPEC", extra="http"),
    "mcp": BuiltinConnector("estante.serve.adapters.mcp:CONNECTOR_SPEC", extra="mcp"),
}
"""By type. Names, because this floor knows none of those above it; nothing is imported before it is asked for."""


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """A connector as lists show it. ``error`` says why it cannot be used, or what is wrong with it.

    One that could not be loaded has the name that it was published under for its ``type``, and no label.
    """

    type: str
    label: str
    capabilities: tuple[str, ...]
    origin: str
    error: str = ""


# --- what is known --------------------------------------------------------------------------------------------------

_REGISTRY: dict[str, ConnectorSpec] = {}
_ORIGINS: dict[str, str] = {}
_WITHDRAWN: set[str] = set()
_DISCOVERY_COMPLETE: bool = False
_LOADED_ENTRY_POINTS: set[str] = set()
_MADE_FOR_US: set[str] = set()
_FAILED: list[ConnectorRow] = []
_ADOPTED: list[tuple[object, ConnectorSpec]] = []

# Two locks, because a discovery imports: what is imported may register from another thread, and must not wait for it.
_LOCK = threading.RLock()
_DISCOVERING = threading.RLock()
_WITHIN_DISCOVERY: bool = False


def register_connector(spec: ConnectorSpec, *, override: bool = False) -> ConnectorSpec:
    """Makes a spec known under its type, and returns it; the same one again changes nothing.

    Raises ``ConnectorRegistrationError`` for a type that another spec has, unless it is to ``override`` that one.
    """
    return _register(spec, REGISTERED, override=override)


def unregister_connector(connector_type: str) -> ConnectorSpec | None:
    """Forgets a connector until it is registered again; returns its spec, or None when there was none."""
    get_connector(connector_type)
    with _LOCK:
        spec = _REGISTRY.pop(connector_type, None)
        if spec is not None:
            _WITHDRAWN.add(connector_type)
    return spec


def _register(spec: ConnectorSpec, origin: str, *, override: bool = False) -> ConnectorSpec:
    name = checked_spec(spec).connector_type
    with _LOCK:
        held = _REGISTRY.get(name)
        if held is not None and held is not spec and not override:
            raise ConnectorRegistrationError(
                f"connector type {name!r} is already registered by {held.label!r}; choose another type, or override it"
            )
        # A package may register its spec when it is imported, before the discovery comes to it.
        if held is not spec or origin != REGISTERED:
            _ORIGINS[name] = origin
        _REGISTRY[name] = spec
        _WITHDRAWN.discard(name)
    return spec


# --- looking up -----------------------------------------------------------------------------------------------------


def get_connector(connector_type: str) -> ConnectorSpec | None:
    """The spec of this type, or None. Of the table of ours no other than this one is imported."""
    spec = _known(connector_type)
    if spec is None and connector_type in BUILTINS:
        _load_builtin(connector_type)
        spec = _known(connector_type)
    if spec is None:
        discover_connectors()
        spec = _known(connector_type)
    return spec


def require_connector(connector_type: str) -> ConnectorSpec:
    """The spec of this type.

    Raises ``ConnectorRegistrationError`` with what went wrong when it was loaded, or with the nearest type there is.
    """
    spec = get_connector(connector_type)
    if spec is not None:
        return spec
    rows = connector_rows()
    broken = next((row for row in rows if row.type == connector_type and row.error), None)
    if broken is not None:
        raise ConnectorRegistrationError(f"connector {connector_type!r} of {broken.origin} is broken: {broken.error}")
    types = registered_types()
    near = get_close_matches(str(connector_type), types, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(types) or 'none'}"
    raise ConnectorRegistrationError(f"connector {connector_type!r} is not registered; {hint}")


def all_connectors() -> list[ConnectorSpec]:
    """Every spec that could be loaded, by label."""
    _load_all()
    with _LOCK:
        found = list(_REGISTRY.values())
    return sorted(found, key=lambda spec: (spec.label.casefold(), spec.connector_type))


def all_specs() -> tuple[ConnectorSpec, ...]:
    """``all_connectors`` as a tuple."""
    return tuple(all_connectors())


def connectable_connectors() -> list[ConnectorSpec]:
    """Those that people can connect from parameters."""
    return [spec for spec in all_connectors() if spec.user_connectable]


def registered_types() -> list[str]:
    """The types of all that could be loaded, sorted."""
    return sorted(spec.connector_type for spec in all_connectors())


def connector_rows() -> list[ConnectorRow]:
    """Every connector, by label, those that could not be loaded among them with their errors."""
    rows = _load_all()
    with _LOCK:
        known = [(spec, _ORIGINS.get(name, REGISTERED)) for name, spec in _REGISTRY.items()]
    rows += [_row(spec, origin, "; ".join(spec_problems(spec))) for spec, origin in known]
    return sorted(rows, key=lambda row: ((row.label or row.type).casefold(), row.type, row.origin, row.error))


def connector_errors() -> list[ConnectorRow]:
    """The rows with something wrong."""
    return [row for row in connector_rows() if row.error]


def rebuild(connection: Mapping[str, Any], connector_type: str | None = None) -> RagPipeline:
    """The pipeline that a stored document leads to.

    The connector is that of ``connector_type``, or else of the document's ``type``. A document need not say for which
    version of the contract it was made (``contract_version``); one of a later major version is refused. Raises
    ``ConnectorRegistrationError`` for a document or a connector that cannot be used.
    """
    document = plain_connection(connection)
    named = document.get("type") if connector_type is None else connector_type
    if not isinstance(named, str) or not named:
        raise ConnectorRegistrationError("the connection document has no type; say which connector made it")
    if wrong := version_problem(document.get("contract_version")):
        raise ConnectorRegistrationError(f"the connection document {wrong}")
    return require_connector(named).build(document)


def _known(connector_type: str) -> ConnectorSpec | None:
    with _LOCK:
        return _REGISTRY.get(connector_type)


def _row(spec: ConnectorSpec, origin: str, error: str) -> ConnectorRow:
    return ConnectorRow(spec.connector_type, spec.label, spec.capabilities, origin, error)


# --- loading --------------------------------------------------------------------------------------------------------


def discover_connectors() -> None:
    """Loads what installed packages publish, unless all of it is loaded already.

    What has loaded is not loaded again; what has not is tried again, every time, until it does. Never raises for a
    package that is broken: ``connector_errors`` tells.
    """
    global _DISCOVERY_COMPLETE, _FAILED, _WITHIN_DISCOVERY
    if _DISCOVERY_COMPLETE:
        return
    with _DISCOVERING:
        if _DISCOVERY_COMPLETE or _WITHIN_DISCOVERY:
            return
        _WITHIN_DISCOVERY = True
        try:
            failed = _load_published()
        finally:
            _WITHIN_DISCOVERY = False
        _FAILED = failed
        _DISCOVERY_COMPLETE = not failed


def _load_all() -> list[ConnectorRow]:
    """Loads everything; the rows of what could not be loaded."""
    failed = [_load_builtin(name) for name in BUILTINS]
    discover_connectors()
    return [row for row in failed if row is not None] + _FAILED


def _load_builtin(name: str) -> ConnectorRow | None:
    """Loads one of the table; its row when that fails."""
    with _LOCK:
        if name in _REGISTRY or name in _WITHDRAWN:
            return None
    builtin = BUILTINS[name]
    module, _, attribute = builtin.target.partition(":")
    try:
        spec = checked_spec(getattr(import_module(module), attribute))
        if spec.connector_type != name:
            raise ConnectorRegistrationError(f"{builtin.target} is of type {spec.connector_type!r}, not {name!r}")
        with _LOCK:
            if name not in _REGISTRY:
                _register(spec, OURS)
    except Exception as error:  # noqa: BLE001 - what it needs may fail in any way, and must hide no other connector.
        return ConnectorRow(name, "", (), OURS, _told(error) + _remedy(error, builtin.extra))
    return None


def _remedy(error: Exception, extra: str) -> str:
    missing = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] != OURS
    return f'; run: pip install "estante[{extra}]"' if missing and extra else ""


def _load_published() -> list[ConnectorRow]:
    """Loads what is published and not loaded yet; the rows of what could not be loaded."""
    points, failed = _published()
    for point in points:
        key = f"{point.name}={point.value}"
        if key in _LOADED_ENTRY_POINTS:
            continue
        row = _load_point(point)
        if row is None:
            _LOADED_ENTRY_POINTS.add(key)
        else:
            failed.append(row)
    return failed


def _published() -> tuple[list[importlib.metadata.EntryPoint], list[ConnectorRow]]:
    """The entry points of both groups in a fixed order, each once, and rows of packages that cannot be read.

    Ours are left out, because they stand in the table. Of a package that publishes a name in both groups, the one in
    our own group counts.
    """
    found: dict[tuple[str, str], importlib.metadata.EntryPoint] = {}
    unreadable: dict[str, ConnectorRow] = {}
    for group in ENTRY_POINT_GROUPS:
        try:
            points: Iterable[importlib.metadata.EntryPoint] = importlib.metadata.entry_points(group=group)
        except Exception:  # noqa: BLE001 - one package with broken metadata makes this fail for all of them.
            points = _one_by_one(group, unreadable)
        for point in sorted(points, key=lambda point: (point.name, point.value)):
            if _origin(point) != OURS:
                found.setdefault((_origin(point), point.name), point)
    return list(found.values()), [*unreadable.values()]


def _one_by_one(group: str, unreadable: dict[str, ConnectorRow]) -> list[importlib.metadata.EntryPoint]:
    """The entry points of every package that can be read."""
    found: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for package in importlib.metadata.distributions():
        name = "a package"
        try:
            name = package.metadata["Name"] or name
            points = [point for point in package.entry_points if point.group == group]
        except Exception as error:  # noqa: BLE001 - what is wrong with a package's files must hide no other package.
            unreadable[name] = ConnectorRow(name, "", (), name, _told(error))
        else:
            found.setdefault(name, points)  # The first on the path is the one that is imported.
    return [point for points in found.values() for point in points]


def _load_point(point: importlib.metadata.EntryPoint) -> ConnectorRow | None:
    """Loads one entry point; its row when that fails."""
    origin, spec = _origin(point), None
    try:
        spec = _spec_of(point.load(), point)
        with _LOCK:
            _take(spec, point)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a third party's import may do anything, even end us.
        if spec is not None:
            return _row(spec, origin, _told(error))
        return ConnectorRow(point.name, "", (), origin, _told(error))
    return None


def _take(spec: ConnectorSpec, point: importlib.metadata.EntryPoint) -> None:
    """Registers what a package publishes, unless it was withdrawn, or the package has published another for us."""
    name, origin = spec.connector_type, _origin(point)
    if name in BUILTINS:
        raise ConnectorRegistrationError(f"connector type {name!r} is one of Estante's own; its author must rename it")
    ours = getattr(point, "group", "") == OWN_GROUP
    again = not ours and name in _MADE_FOR_US and _ORIGINS.get(name) == origin
    if name in _WITHDRAWN or (again and name in _REGISTRY):
        return
    _register(spec, origin)
    if ours:
        _MADE_FOR_US.add(name)


def _spec_of(found: Any, point: importlib.metadata.EntryPoint) -> ConnectorSpec:
    """The spec that was loaded, or that what was loaded makes when it is called."""
    if callable(found) and not isinstance(found, ConnectorSpec):
        found = found()
    if not is_foreign_spec(found):
        return checked_spec(found)
    with _LOCK:
        made = next((spec for foreign, spec in _ADOPTED if foreign is found), None)
        if made is None:
            made = checked_spec(adopted_spec(found))
            _ADOPTED.append((found, made))
    return made


def _origin(point: importlib.metadata.EntryPoint) -> str:
    """The package that publishes it; where that is not known, what it leads to."""
    package = getattr(point, "dist", None)
    return point.value if package is None else str(package.name)


def _told(error: BaseException) -> str:
    """The class and the text of an error, on one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - the error is a third party's, too.
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text[:_MOST_TOLD]}" if text else kind


register = register_connector
unregister = unregister_connector
get = get_connector
discover = discover_connectors

__all__ = [
    "BUILTINS",
    "ENTRY_POINT_GROUP",
    "ENTRY_POINT_GROUPS",
    "OWN_GROUP",
    "BuiltinConnector",
    "ConnectorRow",
    "ConnectorSpec",
    "ParamField",
    "all_connectors",
    "all_specs",
    "connectable_connectors",
    "connector_errors",
    "connector_rows",
    "discover",
    "discover_connectors",
    "get",
    "get_connector",
    "rebuild",
    "register",
    "register_connector",
    "registered_types",
    "require_connector",
    "unregister",
    "unregister_connector",
    "validate_connection",
]
