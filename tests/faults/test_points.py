"""A process that dies, or a power cut, at any sync, rename, unlink or commit leaves a case whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from estante.shelf import assemble
from estante.shelf.bookcase import Bookcase
from tests.faults.bench import Bench
from tests.faults.cases import case_at, shelf_at, stray_files
from tests.faults.deeds import Deed
from tests.faults.killing import Victims
from tests.faults.points import DIED
from tests.faults.wholeness import assert_as_fresh, assert_whole

pytestmark = pytest.mark.faults


def trace(victims: Victims, work: str, **given: object) -> list[str]:
    """The points that a piece of work passes when nothing stops it."""
    victim = victims.start(work, last=None, power=False, **given)
    told = victim.hear()
    victim.bury()
    assert told is not None
    return list(told["trace"])


def die(victims: Victims, work: str, **given: object) -> None:
    """The work, until it dies at its point."""
    victim = victims.start(work, **given)
    said = list(victim.all())
    code = victim.wait()
    victim.bury()
    assert (code, said) == (DIED, [])


def prepared(bench: Bench, kind: str) -> Deed:
    """A deed of a kind, with the case ready for it."""
    with case_at(bench.home) as case:
        if kind == "merge":
            # Three segments of one class: the next addition merges them.
            for _ in range(3):
                bench.do(case, Deed("add", bench.writer.texts(1)))
                bench.do(case, Deed("delete", ids=(max(bench.state.keys() - {"long"} - _shared(bench)),)))
            return Deed("add", bench.writer.texts(1))
        if kind == "close":
            return bench.script("unshare")[0]
        deeds = bench.script("unshare" if kind == "open" else kind)
        for deed in deeds[:-1]:
            bench.do(case, deed)
        return deeds[-1]


def _shared(bench: Bench) -> set[str]:
    return {key for key, one in bench.state.items() if one.shared}


@pytest.mark.parametrize("kind", ["add", "merge", "refresh", "delete", "update", "close", "open", "compact", "rebuild"])
def test_whatever_point_the_power_is_cut_at_the_case_is_whole(kind: str, victims: Victims, tmp_path: Path) -> None:
    bench = Bench(tmp_path, f"points {kind}")
    deed = prepared(bench, kind)
    points = trace(victims, "points:pass_points", home=str(bench.copy("calm")), deed=deed.plain())
    assert "commit done" in points

    committed = False
    for last, point in enumerate(points):
        home = bench.copy(f"point-{last}")
        die(victims, "points:pass_points", home=str(home), deed=deed.plain(), last=last, power=True)

        orphans = stray_files(home)
        with case_at(home) as case:
            allowed = deed.during(bench.state)
            state = assert_whole(case, allowed)
            if kind not in ("compact", "rebuild"):
                # Nothing shows before the first commit, and what shows then never goes away again.
                committed = committed or point == "commit done"
                assert (allowed.index(state) > 0) <= committed, point
            deed.do(case)
            assert_as_fresh(case, deed.after(bench.state), bench.folder)
            with case._shelves.writing("sweep"):
                assert not orphans & stray_files(home)


@pytest.mark.parametrize("readers", [(), ("*",)], ids=["closing", "opening"])
def test_a_move_that_was_cut_short_is_ended_by_the_next_writer(
    readers: tuple[str, ...], victims: Victims, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, "moving")
    moved = {key: one.text for key, one in bench.state.items() if one.shared != ("*" in readers) and "/" not in key}
    deed = Deed("add", {key: moved[key] for key in sorted(moved)[:2]}, readers)
    points = trace(victims, "points:pass_points", home=str(bench.copy("calm")), deed=deed.plain())

    between = []
    for last in range(len(points)):
        home = bench.copy(f"point-{last}")
        die(victims, "points:pass_points", home=str(home), deed=deed.plain(), last=last, power=False)
        with case_at(home) as case:
            state = assert_whole(case, deed.during(bench.state))
            if state in (bench.state, deed.after(bench.state)):
                shutil.rmtree(home)
            else:
                between.append(home)
    assert between

    ending = Deed("refresh", bench.files).plain()
    shutil.copytree(between[0], tmp_path / "ending")
    for last in range(len(trace(victims, "points:pass_points", home=str(tmp_path / "ending"), deed=ending))):
        # The next writer may be stopped too, at any point; the one after that ends the move.
        home = tmp_path / f"ending-{last}"
        shutil.copytree(between[0], home)
        die(victims, "points:pass_points", home=str(home), deed=ending, last=last, power=False)
        with case_at(home) as case:
            assert case.check() == []
        between.append(home)
    for home in between:
        with case_at(home) as case:
            case.refresh()
            _assert_ended(case, bench, deed)


def _assert_ended(case: Bookcase, bench: Bench, deed: Deed) -> None:
    """The move happened or did not; no text is lost, and none is on two shelves."""
    ended = deed.after(bench.state)
    state = assert_whole(case, [bench.state, ended])
    assert_as_fresh(case, state, bench.folder)


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power cut"])
def test_a_shelf_that_was_being_made_is_there_whole_or_can_be_made(
    power: bool, victims: Victims, tmp_path: Path
) -> None:
    points = trace(victims, "points:make_shelf", home=str(tmp_path / "calm"))

    for last in range(len(points)):
        home = tmp_path / f"point-{last}"
        die(victims, "points:make_shelf", home=str(home), last=last, power=power)
        store = shelf_at(home / "private", make=not (home / "private" / "catalog.sqlite").exists())

        assert store.check() == []
        with store.view() as view:
            assert view.statistics().documents == 0
        store.close()
        assert not (home / "private" / "catalog.new").exists()


def test_a_bookcase_that_was_being_made_can_be_opened_or_made(victims: Victims, tmp_path: Path) -> None:
    points = trace(victims, "points:make_bookcase", home=str(tmp_path / "calm"))

    for last, point in enumerate(points):
        home = tmp_path / f"point-{last}"
        die(victims, "points:make_bookcase", home=str(home), last=last, power=False)

        made = assemble.open_bookcase if _opens(home) else assemble.create
        with made(home) as case:
            assert case.check() == [], point
            case.add({"a": "A licitação é pública."})


def _opens(home: Path) -> bool:
    return all((home / ".estante" / shelf / "catalog.sqlite").exists() for shelf in ("shared", "private"))


def test_a_shelf_is_on_the_disk_when_its_maker_says_so(victims: Victims, tmp_path: Path) -> None:
    points = trace(victims, "points:make_shelf", home=str(tmp_path / "calm"))

    assert points.index("rename catalog.sqlite done") < points.index("sync private done")


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    store = shelf_at(tmp_path / "private", make=True)

    assert store._catalog.connection().execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()
