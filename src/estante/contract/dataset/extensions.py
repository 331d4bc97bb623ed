"""The areas of tools beside a Dataset: each has an envelope that says what the tool looked at."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.digests import is_sha256
from estante.contract.dataset.files import MAX_JSON_BYTES, inside, read_bytes, sync, write_file
from estante.contract.dataset.jsontext import parse, pretty
from estante.contract.dataset.layout import EXTENSION_ENVELOPE_FILE, EXTENSIONS_DIR
from estante.contract.dataset.moments import utc_now
from estante.contract.dataset.reading import read_dataset_folder
from estante.contract.errors import ContractValueError, DatasetIntegrityError

_TOOL: Final = re.compile("[a-z0-9][a-z0-9._-]{0,63}")
_RULE: Final = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first"
_TEXTS: Final = ("tool_version", "format_version", "created_at")


@dataclass(frozen=True)
class ExtensionEnvelope:
    """The envelope of one area. ``tool`` is the name of the area's folder, and ``path`` that folder.

    What the envelope does not say is None; ``raw`` is the envelope as it was read, ``problems`` what is wrong with it.
    """

    tool: str
    path: Path
    tool_version: str | None
    format_version: str | None
    core_sha256: str | None
    created_at: str | None
    raw: Mapping[str, Any] = field(repr=False)
    problems: tuple[str, ...] = ()

    def built_on(self, dataset: Dataset) -> bool:
        """Whether the tool looked at this very Dataset; never for one without a core digest."""
        return self.core_sha256 is not None and self.core_sha256 == dataset.core_sha256


def list_extensions(folder: str | os.PathLike[str]) -> list[ExtensionEnvelope]:
    """The envelopes of a Dataset folder, sorted by path; one that is malformed is listed with its problems.

    Folders without an envelope are not listed. Raises ``FileNotFoundError`` without the folder, and
    ``DatasetIntegrityError`` when its extensions cannot be listed or stand elsewhere.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}; check the path")
    areas = root / EXTENSIONS_DIR
    if not os.path.lexists(areas):
        return []
    inside(root, areas)
    try:
        names = sorted(os.listdir(areas))
    except OSError as error:
        raise DatasetIntegrityError(f"{areas} cannot be listed: {error.strerror}") from error
    found = (_envelope(root, name) for name in names)
    return [envelope for envelope in found if envelope is not None]


def _envelope(root: Path, name: str) -> ExtensionEnvelope | None:
    area = root / EXTENSIONS_DIR / name
    raw: Mapping[str, Any] = {}
    try:
        os.lstat(area / EXTENSION_ENVELOPE_FILE)
        content = read_bytes(root, f"{EXTENSIONS_DIR}/{name}/{EXTENSION_ENVELOPE_FILE}", MAX_JSON_BYTES)
        held = parse(content)
        if isinstance(held, dict):
            raw = held
            problems = list(_problems(name, raw))
        else:
            problems = [f"{EXTENSION_ENVELOPE_FILE} must hold a JSON object"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems = [f"{EXTENSION_ENVELOPE_FILE} cannot be read: {error.strerror}"]
    except ContractValueError as error:
        problems = [f"{EXTENSION_ENVELOPE_FILE} is {error}"]
    except DatasetIntegrityError as error:
        problems = [str(error)]
    texts = {key: raw[key] if isinstance(raw.get(key), str) else None for key in (*_TEXTS, "core_sha256")}
    return ExtensionEnvelope(tool=name, path=area, raw=raw, problems=tuple(problems), **texts)


def _problems(name: str, raw: Mapping[str, Any]) -> Iterator[str]:
    if not _TOOL.fullmatch(name):
        yield f"{name!r} is no name of a tool: {_RULE}"
    if raw.get("tool") != name:
        yield f"tool is {repr(raw.get('tool'))[:80]} but the area is {EXTENSIONS_DIR}/{name}"
    for key in _TEXTS:
        if not _is_name(raw.get(key)):
            yield f"{key} must be a non-empty string"
    if not is_sha256(raw.get("core_sha256")):
        yield "core_sha256 must be a SHA-256 of 64 lower-case hex digits"


def write_extension_envelope(
    folder: str | os.PathLike[str],
    tool: str,
    *,
    tool_version: str,
    format_version: str,
    created_at: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes the envelope of a tool's area, which is made when it is not there, and returns the area's folder.

    The rest of the area stays as it is. Raises ``ContractValueError`` for a name or a version that is none,
    ``FileNotFoundError`` without a Dataset, ``DatasetIntegrityError`` for one that does not verify, is legacy or has
    its extensions elsewhere, and ``FileExistsError`` for an envelope that is there, unless ``overwrite``.
    """
    if not isinstance(tool, str) or not _TOOL.fullmatch(tool):
        raise ContractValueError(f"{tool!r} is no name of a tool: {_RULE}")
    texts = {"tool_version": tool_version, "format_version": format_version, "created_at": created_at or utc_now()}
    for key, value in texts.items():
        if not _is_name(value):
            raise ContractValueError(f"{key} must be a non-empty string, got {value!r}")
    dataset = read_dataset_folder(folder)
    content = pretty(
        {
            "tool": tool,
            "tool_version": tool_version,
            "format_version": format_version,
            "core_sha256": dataset.core_sha256,
            "created_at": texts["created_at"],
        },
        EXTENSION_ENVELOPE_FILE,
    )
    area = _area(dataset.path, tool)
    envelope = area / EXTENSION_ENVELOPE_FILE
    if os.path.lexists(envelope) and not overwrite:
        raise FileExistsError(f"{envelope} already exists; overwrite=True replaces it")
    if envelope.is_dir():
        raise DatasetIntegrityError(f"{envelope} is a folder; take it away first")
    _replace(envelope, content)
    return area


def _area(root: Path, tool: str) -> Path:
    """The folder of a tool, made where it is missing. Never one that stands elsewhere."""
    area = root / EXTENSIONS_DIR / tool
    for folder in (area.parent, area):
        inside(root, folder)
        if os.path.lexists(folder) and not folder.is_dir():
            raise DatasetIntegrityError(f"{folder} is no folder; take it away first")
        folder.mkdir(exist_ok=True)
    return area


def _replace(path: Path, content: bytes) -> None:
    """Puts a file in place in one step: whoever reads sees the old one or the new one."""
    beside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        write_file(beside, [content])
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    sync(path.parent)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
