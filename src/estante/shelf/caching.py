"""The folder of the user's cache: what is kept there can be made again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def cache(environ: Mapping[str, str], system: str = sys.platform) -> Path:
    """The folder of this program in the user's cache, where what can be made again is kept."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if system == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "estante" / "Cache"
    if system == "darwin":
        return home / "Library" / "Caches" / "estante"
    named = environ.get("XDG_CACHE_HOME", "")
    # A relative path in this variable is to be ignored (XDG Base Directory Specification).
    return (Path(named) if os.path.isabs(named) else home / ".cache") / "estante"
