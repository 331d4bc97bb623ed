"""The files of a Dataset: read without leaving its folder, written so that a kill leaves nothing half done."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from estante.contract.errors import DatasetIntegrityError

MAX_JSON_BYTES: Final = 16 * 1024 * 1024
"""A larger manifest or envelope is not read."""
MAX_SOURCES_BYTES: Final = 1024 * 1024 * 1024
"""A larger list of sources is not read."""
MAX_LINE_BYTES: Final = 512 * 1024 * 1024
"""A longer line of a file is not read: it is no chunk."""

_STAGING: Final = ".dataset-staging-"
_PIECE: Final = 65_536


def read_bytes(root: Path, name: str, most: int) -> bytes:
    """The content of a file of the folder. Raises as ``opened`` does, and ``DatasetIntegrityError`` beyond ``most``."""
    with opened(root, name) as file, _told(root / name):
        content = file.read(most + 1)
    if len(content) > most:
        raise DatasetIntegrityError(f"{root / name} has more than {most:,} bytes, which is no such file")
    return content


def read_lines(file: BinaryIO, where: Path) -> Iterator[bytes]:
    """The lines of an open file with their ends, split at LF alone.

    Raises ``DatasetIntegrityError`` for a long line that begins like no object, and for one beyond ``MAX_LINE_BYTES``.
    """
    number = 0
    with _told(where):
        while line := file.readline(_PIECE):
            number += 1
            if not line.endswith(b"\n") and len(line) == _PIECE:
                # A sparse file is one endless line of zeros.
                if not line.lstrip().startswith(b"{"):
                    raise DatasetIntegrityError(f"{where}: line {number} is not valid JSON: it begins no object")
                line += file.readline(MAX_LINE_BYTES)
                if len(line) > MAX_LINE_BYTES:
                    raise DatasetIntegrityError(f"{where}: line {number} has more than {MAX_LINE_BYTES:,} bytes")
            yield line


@contextmanager
def opened(root: Path, name: str) -> Iterator[BinaryIO]:
    """A regular file of the folder, open for reading.

    Raises ``FileNotFoundError`` when nothing stands there, and ``DatasetIntegrityError`` for a link that leads out of
    the folder or nowhere, for what is no regular file, and for what may not be read.
    """
    path = root / name
    with _told(path):
        if path.is_symlink() and not path.exists():
            raise DatasetIntegrityError(f"{path} is a link that leads nowhere; put the file itself there")
        real = inside(root, path)
        file = open(real, "rb", opener=_open)  # noqa: SIM115 - the next block closes it.
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise DatasetIntegrityError(f"{path} is not a regular file")
        yield file


def inside(root: Path, path: Path) -> Path:
    """Where a path of the folder really leads. Raises ``DatasetIntegrityError`` when that is out of the folder."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise DatasetIntegrityError(f"{path} leads out of its Dataset through a link; put the file itself there")
    return real


def _open(path: str, flags: int) -> int:
    # A pipe would wait for a writer for ever, and what was checked must not become a link afterwards.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Makes a failure of the system an error that names the path; what is not there stays a ``FileNotFoundError``."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DatasetIntegrityError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error


def refuse_occupied(target: Path) -> None:
    """Raises ``FileExistsError`` unless nothing stands there, or an empty folder."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} exists and is no folder; name another one")
    with os.scandir(target) as entries:
        if any(entries):
            raise FileExistsError(f"{target} is not empty; a Dataset is written into a folder of its own")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A new folder beside the target, which takes the target's place in one step when the block ends well.

    Until then nothing stands at the target; what a block leaves that fails is removed. A killed process can leave a
    hidden folder ``.dataset-staging-*``, which nothing reads.
    """
    real = Path(os.path.realpath(target))
    real.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=real.parent))
    except OSError as error:
        # The folder that is made first would be named, which nobody asked for.
        raise OSError(error.errno, error.strerror, str(real.parent)) from error
    try:
        yield folder
        sync(folder)
        _publish(folder, real)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sync(real.parent)


def _publish(folder: Path, target: Path) -> None:
    if os.name == "nt":  # There a folder never takes the place of another.
        with suppress(FileNotFoundError):
            target.rmdir()
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise FileExistsError(f"{target} is not empty: another process was quicker") from error
        raise


def write_file(path: Path, pieces: Iterable[bytes]) -> str:
    """Writes a new file and sees it safe on the disk; returns the SHA-256 of its content."""
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def sync(folder: Path) -> None:
    """Sees the names in a folder safe on the disk, where the system can do that."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
