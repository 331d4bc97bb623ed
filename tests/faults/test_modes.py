"""What a shelf writes is its owner's alone, under any umask and at every moment."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.faults.killing import Victims

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_may_read_what_a_shelf_writes(umask: int, victims: Victims, tmp_path: Path) -> None:
    worker = victims.start("modes:work_openly", home=str(tmp_path / "case"), umask=umask)
    told = worker.hear()

    assert worker.wait() == 0
    assert told is not None
    kinds = {"catalog.sqlite", "catalog.new", "catalog.sqlite-wal", "catalog.sqlite-shm", "lock", "holder.json"}
    assert kinds | {".seg", ".staged"} <= set(told["seen"])
    assert told["open"] == {}


def test_a_bookcase_keeps_its_folder_to_its_owner(victims: Victims, tmp_path: Path) -> None:
    worker = victims.start("modes:make_openly", home=str(tmp_path / "case"))
    told = worker.hear()

    assert worker.wait() == 0
    assert told is not None
    assert told["open"] == {}
    for path in [tmp_path / "case" / ".estante", *(tmp_path / "case" / ".estante").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
