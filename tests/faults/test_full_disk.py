"""A full disk is an error in words; what was reported stays, and the same work succeeds once there is room."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from estante.model.errors import FullDisk
from estante.shelf import assemble
from estante.shelf.bookcase import Bookcase
from tests.faults.cases import OWNER, case_at, contents, named_segments, shelf_at, stray_files
from tests.faults.corpus import Writer
from tests.faults.deeds import Deed, State, expected, found
from tests.faults.killing import Victims
from tests.faults.scarcity import SmallDisk
from tests.faults.wholeness import assert_whole

pytestmark = pytest.mark.faults


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of two megabytes."""
    made = SmallDisk(tmp_path / "disk", 2 << 20)
    if not made.mounted:
        pytest.skip(
            f"a small disk cannot be mounted here ({made.why_not}); the limit on a file's size is tested instead"
        )
    try:
        yield made
    finally:
        made.unmount()


@pytest.fixture
def home(disk: SmallDisk) -> Path:
    return disk.path / "case"


def _fill(case: Bookcase, writer: Writer, shared: bool = False) -> tuple[State, Deed, FullDisk]:
    """Adds until nothing more fits: what was reported, the deed that was refused, and how."""
    state: State = {}
    while True:
        deed = Deed("add", writer.texts(8), ("*",) if shared else ())
        try:
            deed.do(case)
        except FullDisk as error:
            return state, deed, error
        state = deed.after(state)
        assert len(state) < 20_000, "the disk never fills"


@pytest.mark.parametrize("shared", [False, True], ids=["private", "shared"])
def test_adding_until_the_disk_is_full_keeps_all_that_was_reported(shared: bool, home: Path, disk: SmallDisk) -> None:
    writer = Writer("full")
    with case_at(home) as case:
        state, refused, error = _fill(case, writer, shared)

        assert error.hint
        assert len(state) >= 8
        assert expected(state) == found(case)
        with disk.filled():
            assert_whole(case, [state])
    with case_at(home) as case:
        assert_whole(case, [state])
    with disk.filled(), case_at(home) as case:
        assert_whole(case, [state])

    disk.grow(8 << 20)
    with case_at(home) as case:
        refused.do(case)
        assert_whole(case, [refused.after(state)])
        with case._shelves.writing("sweep"):
            assert stray_files(home) == set()


def test_a_refused_addition_leaves_no_leftovers_in_the_way(home: Path, disk: SmallDisk) -> None:
    with case_at(home) as case:
        state, _, _ = _fill(case, Writer("leftovers"))
        for _ in range(5):
            with pytest.raises(FullDisk):
                Deed("add", Writer("more").texts(400)).do(case)
            assert not list(home.glob("*/segments/*.staged"))

        assert_whole(case, [state])
        with case._shelves.writing("sweep"):
            assert stray_files(home) == set()


WRITES: dict[str, Callable[[Bookcase], object]] = {
    "add": lambda case: case.add({"new": Writer("new").text(30_000)}),
    "replace": lambda case: case.add({"texto-001": Writer("new").text(30_000)}),
    "share": lambda case: case.add(dict.fromkeys(("texto-001", "texto-002"), "x" * 9000), readers=["*"]),
    "delete": lambda case: case.delete("texto-001"),
    "update": lambda case: case.update_metadata("texto-001", {"note": "x" * 20_000}),
    "compact": lambda case: case.compact(),
    "rebuild": lambda case: case.rebuild(),
    "remember": lambda case: case._shelves.private.remember("key", "value" * 5_000),
    "touch": lambda case: case._shelves.private.touch([("", f"texto-{n:03d}", "r" * 5_000) for n in range(10, 18)]),
}


@pytest.mark.parametrize("room", [0, 4_096, 16_384, 49_152, 65_536, 98_304, 131_072, 262_144])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_with_little_room_happens_or_does_not(write: str, room: int, home: Path, disk: SmallDisk) -> None:
    writer = Writer("little")
    with case_at(home) as case:
        for _ in range(6):
            case.add(writer.texts(8))
        case.delete("texto-003", "texto-004")
        case.add({"texto-005": writer.text()})
        before = contents(case)
    with case_at() as twin:
        calm = _once(twin, Writer("little"))
        WRITES[write](calm)
        after = contents(calm)

    with disk.filled(but=room):
        with case_at(home) as case:
            assert contents(case) == before
            try:
                WRITES[write](case)
                told = None
            except FullDisk as error:
                told = error
            held = contents(case)
            assert case.check() == []
        with case_at(home) as case:
            assert contents(case) == held

    if told is None:
        assert held == after
    elif write != "share":  # A text that moves leaves the one shelf before it stands on the other.
        assert held == before
    with case_at(home) as case:
        WRITES[write](case) if not (told is None and write == "delete") else None
        assert contents(case) == after
        assert case.check() == []


def _once(case: Bookcase, writer: Writer) -> Bookcase:
    for _ in range(6):
        case.add(writer.texts(8))
    case.delete("texto-003", "texto-004")
    case.add({"texto-005": writer.text()})
    return case


def test_an_addition_that_is_safe_is_not_called_failed(disk: SmallDisk) -> None:
    """After a large addition its segments are merged; where there is no room for that, the addition still stands."""
    disk.grow(16 << 20)
    succeeded = set()
    for number, room in enumerate(range(1_400_000, 2_700_000, 100_000)):
        home = disk.path / f"case-{number}"
        with case_at(home) as case:
            case.add({f"a{n}": f"O texto {n} da licitação." for n in range(300)})
        with disk.filled(but=room), case_at(home) as case:
            try:
                case.add({f"b{n}": f"O texto {n} do contrato." for n in range(2_300)})
                succeeded.add(len(named_segments(home / "private")))
                assert len(case) == 2_600
            except FullDisk:
                assert len(case) < 2_600
            assert case.check() == []
        shutil.rmtree(home)

    assert min(succeeded) == 1, "there was never room for the merge"
    assert max(succeeded) > 1, "there was always room for the merge"


@pytest.mark.parametrize("room", [0, 4_096, 40_960])
def test_a_shelf_is_not_made_on_a_full_disk(room: int, home: Path, disk: SmallDisk) -> None:
    with disk.filled(but=room):
        with pytest.raises(FullDisk) as raised:
            shelf_at(home / "private", make=True)
        assert raised.value.hint

    store = shelf_at(home / "private", make=True)
    assert store.check() == []
    store.close()


def test_a_bookcase_that_found_no_room_is_made_once_there_is_some(home: Path, disk: SmallDisk) -> None:
    refused = 0
    for room in range(0, 240_000, 20_000):
        with disk.filled(but=room):
            try:
                assemble.create(home).close()
                break
            except FullDisk:
                refused += 1

    assert refused > 3
    with assemble.open_bookcase(home) if room < 220_000 else assemble.create(home) as case:
        case.add({"a": "A licitação é pública."})
        assert case.check() == []


@pytest.mark.parametrize("limit", [60_000, 120_000, 400_000])
def test_a_file_that_may_not_grow_is_a_full_disk(limit: int, tmp_path: Path) -> None:
    case_at(tmp_path / "case").close()
    with Victims() as victims:
        worker = victims.start("scarcity:add_until_full", home=str(tmp_path / "case"), limit=limit)
        told = worker.hear()
        assert worker.wait() == 0

    assert told is not None
    assert told["error"] == "FullDisk"
    assert told["hint"]
    assert told["problems"] == []
    with case_at(tmp_path / "case") as case:
        assert [one.document_id for one in case.documents()] == sorted(told["done"])
        assert case.check() == []
        case.add(Writer("limit").texts(1) | {"later": "A licitação é pública."})
        assert "later" in case


def test_a_full_disk_is_never_reached_through_a_map(home: Path, disk: SmallDisk) -> None:
    """Files are written, then mapped to read: a map of a file that was never given its room ends the process."""
    with case_at(home) as case:
        _fill(case, Writer("map"))
        with disk.filled():
            for shelf, store in case._shelves.named().items():
                with store.view() as view:
                    for one in view.listings(OWNER, None):
                        view.entries(one.document_id)
                for name in named_segments(home / shelf):
                    file = home / shelf / "segments" / name
                    assert file.stat().st_blocks * 512 >= file.stat().st_size
