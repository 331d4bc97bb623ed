"""What a model in a folder is: a digest of its files, remembered so that gigabytes are not read at every start."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from estante.model.errors import NotFound

REMEMBERED: Final = "digests.json"
MOST: Final = 200
"""Files that are remembered."""


def model_folder(path: str | Path, needed: Sequence[str], encoder: str) -> Path:
    """The folder of a model, checked for the files that it needs. Raises ``NotFound`` naming what is missing."""
    folder = Path(path).expanduser().absolute()
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise NotFound(
            f"{folder} holds no model for the encoder {encoder!r}: {', '.join(missing)} is not there",
            hint="Give the folder of the model in [encoder] path. Estante fetches none itself.",
        )
    return folder


def revision(folder: Path, names: Iterable[str], said: Iterable[object], remembered: Path | None) -> str:
    """A digest of a model's files and of all else that shapes its vectors, 16 hexadecimal digits.

    ``names`` that are not there are passed over. With a folder in ``remembered``, a file of the same size and times as
    before is not read again.
    """
    whole = hashlib.sha256("\n".join(map(str, said)).encode("utf-8"))
    for name in sorted(names):
        if (folder / name).is_file():
            whole.update(f"\n{name} {_digest(folder / name, remembered)}".encode())
    return whole.hexdigest()[:16]


def _digest(path: Path, remembered: Path | None) -> str:
    status = path.stat()
    mark = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    known = _known(remembered)
    found = known.get(str(path))
    if isinstance(found, list) and len(found) == 2 and found[0] == mark and isinstance(found[1], str):
        return found[1]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    _remember(remembered, {**known, str(path): [mark, digest]})
    return digest


def _known(remembered: Path | None) -> dict[str, object]:
    if remembered is not None:
        with suppress(OSError, ValueError):  # What cannot be read is found out again.
            kept = json.loads((remembered / REMEMBERED).read_text("utf-8"))
            if isinstance(kept, dict):
                return kept
    return {}


def _remember(remembered: Path | None, known: dict[str, object]) -> None:
    if remembered is None:
        return
    with suppress(OSError):  # Then it is found out again the next time.
        remembered.mkdir(mode=0o700, parents=True, exist_ok=True)
        some = dict(list(known.items())[-MOST:])
        with NamedTemporaryFile("w", dir=remembered, delete=False, encoding="utf-8") as file:
            json.dump(some, file)
        os.replace(file.name, remembered / REMEMBERED)
