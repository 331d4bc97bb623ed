"""A writer that is killed leaves no folder that looks like a finished Dataset, whenever it was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from estante.contract.dataset.extensions import list_extensions
from estante.contract.dataset.reading import read_dataset_folder
from tests.contract.datasets import write

ROOT = Path(__file__).resolve().parents[2]

KILLED = """
import json, os, signal, sys
from pathlib import Path
from estante.contract.dataset import extensions
from tests.contract import datasets

folder, deed = Path(sys.argv[1]), sys.argv[2]
chunks = [datasets.chunk(number, text="text " * 200) for number in range(40)]
POINTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "tempfile.mkdtemp", "shutil.rmtree"}

def do(place):
    if deed == "dataset":
        datasets.write(place, chunks)
    else:
        extensions.write_extension_envelope(place, "tool", tool_version="2", format_version="1", overwrite=True)

def killed_at(point, place):
    seen = 0
    def count(event, arguments):
        nonlocal seen
        if event in POINTS:
            seen += 1
            if seen == point:
                os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if not child:
        sys.addaudithook(count)
        do(place)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

point, ended = 0, -9
while ended == -9:
    point += 1
    place = folder / str(point)
    if deed != "dataset":
        datasets.write(place)
        extensions.write_extension_envelope(place, "tool", tool_version="1", format_version="1")
    else:
        place = place / "dataset"
        place.parent.mkdir()
    ended = killed_at(point, place)
print(json.dumps([point, ended]))
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot make a copy of a process to kill")


def killed(folder: Path, deed: str) -> int:
    """How many moments the deed was killed at, each in a folder of its number; after them it was let live once."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), deed],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    told: Any = json.loads(done.stdout)
    point, ended = told
    assert ended == 0, done.stderr
    return int(point) - 1


def test_a_writer_that_is_killed_leaves_no_dataset_or_a_whole_one(tmp_path: Path) -> None:
    points = killed(tmp_path, "dataset")

    assert points >= 10
    finished = [point for point in range(1, points + 1) if (tmp_path / str(point) / "dataset").exists()]
    for point in finished:
        assert read_dataset_folder(tmp_path / str(point) / "dataset").chunk_count == 40
    assert 0 < len(finished) < points, "no kill fell before the end, or none fell behind it"


def test_what_a_killed_writer_leaves_is_hidden_and_in_nobodys_way(tmp_path: Path) -> None:
    points = killed(tmp_path, "dataset")

    for point in range(1, points + 1):
        place = tmp_path / str(point) / "dataset"
        assert all(name.startswith(".dataset-staging-") for name in os.listdir(place.parent) if name != "dataset")
        if not place.exists():
            assert write(place).verified


def test_a_killed_change_of_an_envelope_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    points = killed(tmp_path, "envelope")

    found = []
    for point in range(1, points + 1):
        [envelope] = list_extensions(tmp_path / str(point))
        assert envelope.problems == ()
        assert read_dataset_folder(tmp_path / str(point)).verified
        found.append(envelope.tool_version)
    assert found == sorted(found, key=str)
    assert set(found) == {"1", "2"}
