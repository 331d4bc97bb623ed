"""Files inside a folder, opened without ever leaving it; and folders and files that only their owner reads."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from estante.model.errors import Denied, EstanteError, OutsideRoot, Unreadable

_NO_LINKS: Final[int] = getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: opening a FIFO that nobody writes to must fail, not wait for ever.
_FLAGS: Final[int] = _NO_LINKS | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
_STEPWISE: Final[bool] = os.open in os.supports_dir_fd and bool(_NO_LINKS and _DIRECTORY)
_PIECE: Final = 1 << 20


def resolve_inside(root: Path, relative: str) -> str:
    """Where ``relative`` (with ``/``) really is, as a path below the real root; empty for the root itself.

    Links are followed as long as they end inside the root. Raises ``OutsideRoot`` when they do not, and
    ``Unreadable`` when there is nothing there.
    """
    if "\0" in relative or (os.name == "nt" and ":" in relative):
        # On Windows a colon names a drive or a hidden stream of a file.
        raise OutsideRoot("the name cannot be one of a file in the folder", hint="Rename the file.")
    try:
        base = os.path.realpath(root, strict=True)
        real = os.path.realpath(os.path.join(base, relative), strict=True)
    except OSError as error:
        raise _unreadable(error) from error
    if real == base:
        return ""
    start = base if base.endswith(os.sep) else base + os.sep
    if not real.startswith(start):
        raise OutsideRoot("a link that leads out of the folder", hint="Add the folder that it leads to as a source.")
    return real[len(start) :]


def read_file(root: Path, relative: str, limit: int) -> bytes:
    """The bytes of a regular file inside the root, at most ``limit`` of them.

    No link is followed after the path was resolved, so a link that is put there meanwhile leads nowhere. Raises
    ``OutsideRoot`` for what leads out of the root, ``Unreadable`` for what is gone, forbidden, too large, or not
    a regular file (a FIFO, a device, a socket); it never waits for one.
    """
    inside = resolve_inside(root, relative)
    try:
        handle = _open_stepwise(root, inside) if _STEPWISE else _open_checked(root, relative, inside)
        try:
            return _read(handle, limit)
        finally:
            os.close(handle)
    except OSError as error:
        raise _unreadable(error) from error


def _open_stepwise(root: Path, inside: str) -> int:
    """A descriptor reached from the root one name at a time, so that no link can slip in between."""
    at = os.open(os.path.realpath(root, strict=True), os.O_RDONLY | _DIRECTORY | _FLAGS)
    parts = inside.split(os.sep) if inside else []
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | _DIRECTORY | _FLAGS, dir_fd=at)
            os.close(at)
            at = below
        if parts:
            # Opening a device can have effects of its own, so its kind is asked for first.
            _demand_regular(os.stat(parts[-1], dir_fd=at, follow_symlinks=False))
            below = os.open(parts[-1], os.O_RDONLY | _FLAGS, dir_fd=at)
            os.close(at)
            at = below
        _demand_regular(os.fstat(at))
    except BaseException:
        os.close(at)
        raise
    return at


def _open_checked(root: Path, relative: str, inside: str) -> int:
    """As ``_open_stepwise``, where directories cannot be opened: what was opened is compared with what is there."""
    full = os.path.join(os.path.realpath(root, strict=True), inside)
    before = os.stat(full, follow_symlinks=False)
    _demand_regular(before)
    handle = os.open(full, os.O_RDONLY | _FLAGS)
    try:
        opened = os.fstat(handle)
        _demand_regular(opened)
        if not os.path.samestat(before, opened) or resolve_inside(root, relative) != inside:
            raise OutsideRoot("it changed while it was opened", hint="Try again.")
    except BaseException:
        os.close(handle)
        raise
    return handle


def _demand_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OutsideRoot("it became a link while it was opened", hint="Try again.")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("not a regular file", hint="Only files can be read; leave it out with a pattern.")


def _read(handle: int, limit: int) -> bytes:
    # Counted while reading: the size that was told may be out of date, and some files grow.
    pieces: list[bytes] = []
    room = limit + 1
    while room > 0:
        piece = os.read(handle, min(room, _PIECE))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        room -= len(piece)
    raise Unreadable(f"larger than the limit of {limit:,} bytes", hint="Raise the limit, or split the file.")


def _unreadable(error: OSError) -> EstanteError:
    """The error as one of ours; the path is left out, because who reports it knows it."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Unreadable("it is not there, or no longer there", hint="Check the name.")
    if error.errno == errno.ELOOP:
        return Unreadable("a link that goes in circles", hint="Remove the link.")
    if isinstance(error, PermissionError):
        return Unreadable("no permission to read it", hint="Let the account that runs this read it.")
    if error.errno == errno.ENXIO:
        return Unreadable("not a regular file", hint="Only files can be read; leave it out with a pattern.")
    return Unreadable(f"cannot be read: {error.strerror or type(error).__name__}", hint="Check the file and the disk.")


def private_directory(path: Path) -> Path:
    """The directory, made if it was not there, readable by its owner only.

    Missing parents are made so too; those that exist are left alone. Raises ``Denied`` when the path is a link,
    not a directory, or cannot be made private.
    """
    for parent in reversed(path.parents):
        if not parent.exists():
            _make_private(parent)
    _make_private(path)
    return path


def _make_private(path: Path) -> None:
    with _denied(path):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if path.is_symlink() or not path.is_dir():
                raise Denied(f"{path} is not a directory of its own", hint="Name the real directory.") from None
        if not _NO_LINKS:
            return
        handle = os.open(path, os.O_RDONLY | _DIRECTORY | _FLAGS)
        try:
            _close_to_others(handle, 0o700)
        finally:
            os.close(handle)


def private_file(path: Path, mode: str = "wb") -> IO[Any]:
    """An open file that only its owner reads, made under any umask; ``mode`` is that of ``open``.

    Raises ``Denied`` when the path is a link or not a regular file, or when it cannot be made private.
    """
    if not _NO_LINKS and path.is_symlink():
        raise Denied(f"{path} is a link", hint="Name the real file.")
    encoding = None if "b" in mode else "utf-8"
    with _denied(path):
        return open(path, mode, encoding=encoding, opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    # Emptied only after it is known to be what it should be.
    handle = os.open(path, (flags & ~os.O_TRUNC) | _FLAGS, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Denied(f"{path} is not a regular file", hint="Choose another name.")
        _close_to_others(handle, 0o600)
        if flags & os.O_TRUNC:
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _close_to_others(handle: int, mode: int) -> None:
    if hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(handle).st_mode) != mode:
        os.fchmod(handle, mode)


@contextmanager
def _denied(path: Path) -> Iterator[None]:
    """Turns what the system refuses on this path into ``Denied``; other troubles pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO, errno.ENOTDIR, errno.EISDIR):
            raise
        raise Denied(
            f"{path} cannot be used in private: {error.strerror}", hint="It must be yours, and not a link."
        ) from error


def shown(path: str) -> str:
    """A path as people and uris see it: NFC, each undecodable byte as ``%XX``."""
    if any("\ud800" <= char <= "\udfff" for char in path):
        path = "".join(f"%{ord(char) & 0xFF:02X}" if "\udc80" <= char <= "\udcff" else char for char in path)
        path = path.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", path)
