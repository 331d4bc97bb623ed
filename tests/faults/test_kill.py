"""A process killed at any moment leaves a case whole: all that it was told is done, and nothing half."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.faults.bench import Bench
from tests.faults.cases import case_at, stray_files
from tests.faults.killing import Victims
from tests.faults.wholeness import assert_as_fresh, assert_whole

pytestmark = pytest.mark.faults

ROUNDS = 32
KINDS = ["add", "refresh", "delete", "compact", "rebuild", "update", "unshare"]


def _length(bench: Bench, victims: Victims, kind: str) -> float:
    """How long such a script takes when nobody kills it."""
    lengths = []
    for _ in range(5):
        deeds = bench.script(kind)
        victim, _ = bench.send(victims, deeds)
        started = time.perf_counter()
        assert victim.hear() == {"finished": True}
        lengths.append(time.perf_counter() - started)
        victim.bury()
        bench.state = bench.after(deeds)
    return sorted(lengths)[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_loses_nothing_that_was_reported(kind: str, victims: Victims, tmp_path: Path) -> None:
    bench, rng = Bench(tmp_path, kind), random.Random(kind)
    length = _length(bench, victims, kind)
    in_flight = kills = 0

    for number in rng.sample(range(ROUNDS), ROUNDS):
        deeds = bench.script(kind)
        victim, journal = bench.send(victims, deeds)
        time.sleep(length * (number + rng.random()) / ROUNDS)
        assert victim.kill() == -9
        victim.bury()
        kills += 1
        done, flying = journal.progress()
        in_flight += flying is not None

        orphans = stray_files(bench.home)
        reported = bench.after(deeds[:done])
        with case_at(bench.home) as case:
            assert_whole(case, [reported] if flying is None else deeds[flying].during(reported))
            for deed in deeds[done:]:
                deed.do(case)
            bench.state = bench.after(deeds)
            assert_whole(case, [bench.state])
            assert_as_fresh(case, bench.state, bench.folder)
            with case._shelves.writing("sweep"):
                assert not orphans & stray_files(bench.home)
            bench.thin(case)

    assert kills == ROUNDS
    assert in_flight > ROUNDS // 8, "few kills fell into a deed: the moments are badly chosen"
