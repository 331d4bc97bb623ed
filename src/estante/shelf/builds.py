"""Building aside: files that are written whole, and the builds that are left when another one stands."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from estante.index.boundary import unwritable
from estante.index.segments import sync_directory
from estante.security.paths import private_file


def write_whole(path: Path, text: str) -> None:
    """Writes a file whole and safe, in one step for whoever reads it. Raises as ``unwritable`` says."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with private_file(staged, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def sweep(builds: Path, kept: Container[Path]) -> None:
    """Takes away all builds but those that stand: of killed provisionings, and what was replaced before."""
    for one in builds.iterdir():
        if one not in kept and one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
