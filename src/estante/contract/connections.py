"""Connection documents: what a host stores to build a pipeline again, as JSON and without credentials.

A document is a JSON object that the connector makes when it is connected, and that its ``build`` takes back in a fresh
process. Where a secret is needed it holds a reference, ``env:NAME`` or ``file:/absolute/path``. A host that keeps many
of them can use a ``ConnectionFolder``.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.references import SecretText
from estante.contract.secrecy import secret_paths

CONTRACT_VERSION: Final = "0.1"
"""The version of the contract; a spec and a document may name the one that they were made for."""

MOST_DEPTH: Final = 64
"""Levels of a document; beyond, some reader of JSON gives up."""

_MOST_BITS: Final = 4096
"""A longer number cannot be relied on: Python itself writes and reads up to 4,300 digits."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAJOR: Final = re.compile(r"[0-9]+")


# --- documents ----------------------------------------------------------------------------------------------------


def connection_problems(connection: object) -> list[str]:
    """All that keeps a value from being a connection document, each with its place; never raises."""
    if not isinstance(connection, Mapping):
        return [f"a connection document is an object, not a {type(connection).__name__}"]
    found: list[str] = []
    _plain(connection, "", found, ())
    if not found:
        found = [
            f"{path} looks like a credential; put a reference there, env:NAME or file:/absolute/path"
            for path in secret_paths(connection)
        ]
    return found


def validate_connection(connection: Mapping[str, Any]) -> None:
    """Raises ``ConnectorRegistrationError`` with all that is wrong with a document: strict JSON, no credentials."""
    wrong = connection_problems(connection)
    if wrong:
        raise ConnectorRegistrationError(f"this connection document cannot be stored: {'; '.join(wrong)}")


def plain_connection(connection: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as it comes back from a store: dicts and lists alone. Raises ``ConnectorRegistrationError``."""
    validate_connection(connection)
    copy: dict[str, Any] = json.loads(json.dumps(_plain(connection, "", [], ())))
    return copy


def dump_connection(connection: Mapping[str, Any]) -> str:
    """The document as JSON text: keys sorted, lines ended by line feeds. Raises ``ConnectorRegistrationError``."""
    return json.dumps(plain_connection(connection), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def load_connection(text: str | bytes) -> dict[str, Any]:
    """The document of a JSON text; bytes are UTF-8.

    Raises ``ConnectorRegistrationError`` for what is not strict JSON (a key twice and NaN included), and for what
    ``validate_connection`` refuses.
    """
    connection = _parsed(text)
    validate_connection(connection)
    return connection


def save_connection(path: str | os.PathLike[str], connection: Mapping[str, Any]) -> None:
    """Writes the document into a file, whole or not at all, for its owner alone to read.

    Raises ``ConnectorRegistrationError`` for a document that cannot be stored, and ``OSError``.
    """
    _write(Path(path), dump_connection(connection))


def read_connection(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a file. Raises as ``load_connection`` does, and ``OSError``."""
    try:
        return load_connection(Path(path).read_bytes())
    except ConnectorRegistrationError as error:
        raise ConnectorRegistrationError(f"{os.fspath(path)}: {error}") from error


def version_problem(version: object) -> str:
    """Why something made for this version of the contract cannot be used; empty when it can.

    No version, an older one and a newer one of the same major number can; so can what is no version at all.
    """
    short = isinstance(version, str | float) or (isinstance(version, int) and version.bit_length() <= _MOST_BITS)
    told = str(version) if short else ""
    major, ours = _MAJOR.match(told), _MAJOR.match(CONTRACT_VERSION)
    if major is None or ours is None or int(major[0][:9]) <= int(ours[0]):
        return ""
    return f"was made for version {told[:20]} of the contract, and this is {CONTRACT_VERSION}; update Estante"


def _plain(value: object, path: str, found: list[str], above: tuple[int, ...]) -> Any:
    """The value in dicts and lists; what JSON cannot hold is added to ``found``."""
    place = path or "the document"
    if isinstance(value, Mapping | list | tuple):
        if id(value) in above or len(above) >= MOST_DEPTH:
            found.append(f"{place} holds itself" if id(value) in above else f"{place} is nested too deep")
            return None
        above = (*above, id(value))
    if isinstance(value, Mapping):
        strange = [key for key in value if not isinstance(key, str) or _SURROGATE.search(key)]
        found += [f"{place} has the key {key!r}, which is no text" for key in strange]
        begin = f"{path}." if path else ""
        return {key: _plain(one, f"{begin}{key}", found, above) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, f"{path}[{place}]", found, above) for place, one in enumerate(value)]
    if wrong := _no_json(value):
        found.append(f"{place} {wrong}")
    return value


def _no_json(value: object) -> str:
    if isinstance(value, SecretText):
        return "is a secret; put its reference there"
    if isinstance(value, str):
        return "has a lone surrogate, which is no text" if _SURROGATE.search(value) else ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}, which JSON does not have"
    if isinstance(value, int):
        return "" if value.bit_length() <= _MOST_BITS else f"is a number of more than {_MOST_BITS} bits"
    return "" if value is None else f"is a {type(value).__name__}, which JSON does not have"


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        told = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(told, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        # The text may hold anything, so only the kind of the failure and its place are told.
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        kind = str(error) if isinstance(error, _NotStrict) else f"it is not JSON in UTF-8{where}"
        wrong = f"this is no connection document: {kind}"
    else:
        if isinstance(value, dict):
            return value
        wrong = f"this is no connection document: it is a {type(value).__name__}, not an object"
    raise ConnectorRegistrationError(wrong)


class _NotStrict(ValueError):
    """JSON that Python reads and the standard does not know."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise _NotStrict(f"the key {next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise _NotStrict(f"it holds {name}, which JSON does not have")


def _write(path: Path, text: str) -> None:
    try:
        _replace(path, text)
    except OSError as error:
        if error.filename is None:
            raise
        # The file beside it that is written first would be named, which nobody asked for.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


# --- a folder of them ---------------------------------------------------------------------------------------------

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class StoredConnection:
    """A connection under its name. ``error`` says why its file cannot be used; the rest is then empty."""

    name: str
    connector_type: str
    connection: Mapping[str, Any]
    error: str = ""


class ConnectionFolder:
    """Connections in a folder, a file each, with the type of their connector beside the document.

    A name has up to 64 small letters, digits, dots, hyphens and underscores, and begins with a letter or digit.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def rows(self) -> list[StoredConnection]:
        """All of them by name; a file that cannot be used is a row with its error and hides no other."""
        return [self._row(name) for name in self._names()]

    def get(self, name: str) -> StoredConnection:
        """The connection of this name. Raises ``ConnectorRegistrationError``, and ``OSError``."""
        path = self._file(name)
        try:
            held = _parsed(path.read_bytes())
            connector_type, connection = _unpacked(held)
        except FileNotFoundError:
            raise ConnectorRegistrationError(
                f"there is no connection {name!r} in {self.path}; there are: {', '.join(self._names()) or 'none'}"
            ) from None
        except ConnectorRegistrationError as error:
            raise ConnectorRegistrationError(f"{path}: {error}; save the connection again") from error
        return StoredConnection(name, connector_type, connection)

    def put(self, name: str, connector_type: str, connection: Mapping[str, Any], *, replace: bool = False) -> None:
        """Stores a connection; the folder is made when it is not there.

        Raises ``ConnectorRegistrationError`` for a name that is taken, unless it is to ``replace`` what has it, and for
        a document that cannot be stored.
        """
        path = self._file(name)
        held = {
            "connector_type": connector_type,
            "contract_version": CONTRACT_VERSION,
            "connection": plain_connection(connection),
        }
        if path.exists() and not replace:
            raise ConnectorRegistrationError(f"there is already a connection {name!r}; replace it or choose a name")
        self.path.mkdir(parents=True, exist_ok=True)
        _write(path, json.dumps(held, ensure_ascii=False, indent=2, sort_keys=True) + "\n")

    def remove(self, name: str) -> bool:
        """Forgets a connection; False when there was none. What it leads to is not touched."""
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def _row(self, name: str) -> StoredConnection:
        try:
            return self.get(name)
        except (ConnectorRegistrationError, OSError) as error:
            return StoredConnection(name, "", {}, str(error))

    def _names(self) -> list[str]:
        try:
            names = [one.stem for one in self.path.iterdir() if one.suffix == _SUFFIX]
        except FileNotFoundError:
            return []
        return sorted(name for name in names if _NAME.fullmatch(name))

    def _file(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ConnectorRegistrationError(
                f"{name!r} cannot name a connection; use up to 64 small letters, digits, dots, hyphens and underscores"
            )
        return self.path / f"{name}{_SUFFIX}"


def _unpacked(held: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    connector_type, connection = held.get("connector_type"), held.get("connection")
    if not isinstance(connector_type, str) or not isinstance(connection, dict):
        raise ConnectorRegistrationError("it lacks a connector_type or a connection")
    if wrong := version_problem(held.get("contract_version")):
        raise ConnectorRegistrationError(f"it {wrong}")
    validate_connection(connection)
    return connector_type, connection
