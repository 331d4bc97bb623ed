"""Where the user's cache is."""

from __future__ import annotations

from pathlib import Path

import pytest

from estante.shelf.caching import cache

HOME = Path("/home/ana")


@pytest.mark.parametrize(
    ("system", "environ", "found"),
    [
        ("linux", {}, HOME / ".cache/estante"),
        ("linux", {"XDG_CACHE_HOME": "/var/tmp/x"}, Path("/var/tmp/x/estante")),
        ("linux", {"XDG_CACHE_HOME": "relative"}, HOME / ".cache/estante"),
        ("linux", {"XDG_CACHE_HOME": ""}, HOME / ".cache/estante"),
        ("darwin", {}, HOME / "Library/Caches/estante"),
        ("win32", {}, HOME / "AppData/Local/estante/Cache"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/estante/Cache")),
    ],
)
def test_each_system_has_its_place(system: str, environ: dict[str, str], found: Path) -> None:
    assert cache({"HOME": str(HOME), **environ}, system) == found
