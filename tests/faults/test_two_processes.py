"""One writer and any number of readers, in processes and threads: every reader sees one whole state."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.model.errors import CorruptShelf, Denied, LockedShelf, Unavailable
from tests.faults.cases import SHELVES, case_at
from tests.faults.crowd import add_pairs, whole_state
from tests.faults.killing import Victims

pytestmark = pytest.mark.faults

NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A case with one pair of texts on each shelf."""
    with case_at(tmp_path / "case") as case:
        add_pairs(case, 0)
    return tmp_path / "case"


# --- two writers ---------------------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_succeeds(home: Path, victims: Victims, tmp_path: Path) -> None:
    holder = victims.start("crowd:hold", home=str(home), purpose="a long job", until=str(tmp_path / "end"))
    assert holder.hear() == {"holding": holder.pid}
    second = victims.start("crowd:add_own", home=str(home), name="second", count=1)
    assert second.hear() == {"ready": "second"}

    time.sleep(0.3)
    with case_at(home) as case:
        assert "second-0" not in case
    (tmp_path / "end").touch()

    assert second.hear() == {"done": "second"}
    with case_at(home) as case:
        assert "second-0" in case


def test_a_writer_that_waited_in_vain_is_told_who_holds_the_shelf(home: Path, victims: Victims, tmp_path: Path) -> None:
    holder = victims.start("crowd:hold", home=str(home), purpose="a long job", until=str(tmp_path / "end"))
    assert holder.hear() == {"holding": holder.pid}

    with case_at(home, wait=0.1) as case, pytest.raises(LockedShelf) as raised:
        case.add({"mine": "A licitação é pública."})

    assert str(holder.pid) in raised.value.message
    assert "a long job" in raised.value.message
    assert raised.value.hint
    holder.bury()
    with case_at(home) as case:
        assert "mine" not in case


def test_another_thread_that_holds_the_shelf_is_told_too(home: Path) -> None:
    import threading

    held, end = threading.Event(), threading.Event()
    with case_at(home, wait=0.1) as case:

        def hold() -> None:
            with case._shelves.writing("a long job"):
                held.set()
                end.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        try:
            with pytest.raises(LockedShelf):
                case.add({"mine": "A licitação é pública."})
        finally:
            end.set()
            thread.join()
        case.add({"mine": "A licitação é pública."})


def test_a_holder_that_is_killed_frees_the_shelf(home: Path, victims: Victims, tmp_path: Path) -> None:
    holder = victims.start("crowd:hold", home=str(home), purpose="a long job", until=str(tmp_path / "end"))
    assert holder.hear() == {"holding": holder.pid}

    holder.kill()

    with case_at(home, wait=0.1) as case:
        case.add({"mine": "A licitação é pública."})
        assert "mine" in case


def test_writers_that_come_at_once_all_succeed(home: Path, victims: Victims) -> None:
    writers = [victims.start("crowd:add_own", home=str(home), name=f"writer{n}", count=8) for n in range(4)]

    for number, writer in enumerate(writers):
        assert list(writer.all()) == [{"ready": f"writer{number}"}, {"done": f"writer{number}"}]
        assert writer.wait() == 0

    with case_at(home) as case:
        assert case.check() == []
        assert len(case) == 4 + 4 * 8


def test_opening_and_closing_at_once_disturbs_nobody(home: Path, victims: Victims) -> None:
    many = [victims.start("crowd:open_and_close", home=str(home), times=15) for _ in range(5)]

    for one in many:
        assert list(one.all()) == [{"done": one.pid}]

    with case_at(home) as case:
        assert case.check() == []
        assert len(case) == 4 + 5


# --- readers beside a writer ---------------------------------------------------------------------------------------


def test_readers_beside_a_writer_see_whole_states_only(home: Path, victims: Victims, tmp_path: Path) -> None:
    writer = victims.start("crowd:write_pairs", home=str(home), until=str(tmp_path / "stop"), seed="writer")
    readers = [victims.start("crowd:read_pairs", home=str(home), until=str(tmp_path / "end")) for _ in range(4)]

    time.sleep(15)
    (tmp_path / "stop").touch()
    last = [told["done"] for told in writer.all()][-1]
    assert writer.wait() == 0
    (tmp_path / "end").touch()

    for reader in readers:
        told = reader.hear()
        assert told is not None
        assert told["versions"] == dict.fromkeys(SHELVES, last)
        assert told["changes"] > 0
        assert reader.wait() == 0
    with case_at(home) as case:
        assert case.check() == []


def test_a_state_that_is_being_read_outlives_its_replacement(home: Path, victims: Victims, tmp_path: Path) -> None:
    with case_at(home) as reader, reader._shelves.private.view() as view:
        before = {one.document_id: view.entries(one.document_id) for one in view.listings(reader._owner, None)}
        with case_at(home) as writer:
            add_pairs(writer, 1)
            writer.compact()
            add_pairs(writer, 2)
            writer.rebuild()
            writer.delete("private-left")
            writer.compact()

        after = {one.document_id: view.entries(one.document_id) for one in view.listings(reader._owner, None)}

    assert after == before


def test_a_reader_that_is_slow_to_open_segments_gets_a_whole_state(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from estante.index import segments

    with case_at(home) as reader, case_at(home) as writer:
        opening = segments.Segment.__init__
        disturbed: list[int] = []

        def slow(self: segments.Segment, path: Path, size: int, crc: int) -> None:
            # The worst moment: the reader knows the names, and the writer replaces and sweeps the files.
            if not disturbed:
                disturbed.append(1)
                add_pairs(writer, 1)
                writer.compact()
            opening(self, path, size, crc)

        monkeypatch.setattr(segments.Segment, "__init__", slow)

        assert whole_state(reader, "private") in (0, 1)
        assert disturbed


def test_threads_share_one_bookcase(home: Path, victims: Victims) -> None:
    worker = victims.start("crowd:search_in_threads", home=str(home), rounds=40)

    assert list(worker.all()) == [{"wrong": []}]
    assert worker.wait() == 0


@pytest.mark.parametrize("attempt", range(8))
def test_closing_under_readers_tells_them(attempt: int, home: Path, victims: Victims) -> None:
    worker = victims.start("crowd:close_under_readers", home=str(home))
    said = list(worker.all())

    assert worker.wait() == 0
    assert said == [{"wrong": [], "told": 8}]


# --- nobody may write ----------------------------------------------------------------------------------------------


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A case in a folder that another user can reach."""
    above = Path(tempfile.mkdtemp())
    above.chmod(0o755)
    with case_at(above / "case") as case:
        add_pairs(case, 0)
    yield above / "case"
    for path in [above, *above.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(above)


def _show(home: Path) -> None:
    """Everybody may read it, and nobody write."""
    for path in [home, *home.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def _read_only(home: Path, victims: Victims) -> dict[str, object]:
    worker = victims.start("crowd:read_only", home=str(home), uid=NOBODY)
    told = worker.hear()
    assert worker.wait() == 0
    assert told is not None
    return told


def test_a_folder_that_cannot_be_written_is_searched_and_not_changed(open_home: Path, victims: Victims) -> None:
    _show(open_home)
    before = {path: path.stat().st_mtime_ns for path in open_home.rglob("*")}

    told = _read_only(open_home, victims)

    assert told["versions"] == {"private": 0, "shared": 0}
    assert told["problems"] == []
    assert len(told["refused"]) == 6
    for refused in told["refused"]:
        assert refused.startswith("Unavailable: ")
        assert "permission" in refused.lower()
    assert before == {path: path.stat().st_mtime_ns for path in open_home.rglob("*")}


def test_what_a_killed_writer_had_committed_is_read_from_a_folder_that_cannot_be_written(
    open_home: Path, victims: Victims, tmp_path: Path
) -> None:
    """The log beside the catalog holds commits too: to pass it over would bring back what was deleted."""
    writer = victims.start("crowd:write_pairs", home=str(open_home), until=str(tmp_path / "stop"), seed="killed")
    versions = [writer.hear() for _ in range(3)]
    writer.kill()
    assert (open_home / "private" / "catalog.sqlite-wal").stat().st_size
    with case_at(_copied(open_home, tmp_path)) as case:
        truth = {shelf: whole_state(case, shelf) for shelf in SHELVES}
        documents = [one.document_id for one in case.documents()]
    assert min(truth.values()) >= versions[-1]["done"]
    _show(open_home)

    told = _read_only(open_home, victims)

    assert told["versions"] == truth
    assert told["documents"] == documents


def _copied(home: Path, where: Path) -> Path:
    shutil.copytree(home, where / "copy")
    return where / "copy"


def test_a_reader_without_the_right_to_write_is_not_left_behind(
    open_home: Path, victims: Victims, tmp_path: Path
) -> None:
    _show(open_home)
    asks = open_home.parent / "asks"
    asks.mkdir(mode=0o755)
    reader = victims.start("crowd:follow", home=str(open_home), uid=NOBODY, until=str(asks / "end"))
    (asks / "ask-0").touch()
    assert reader.hear() == {
        "documents": ["private-left", "private-right", "shared-left", "shared-right"],
        "problems": [],
    }

    with case_at(open_home) as writer:  # Root may, or the owner once the modes allow.
        _let_owner_write(open_home)
        writer.close()
    with case_at(open_home) as writer:
        writer.delete("private-left")
        writer.compact()
        for path in open_home.rglob("*"):
            path.chmod(path.stat().st_mode | 0o444)
        (asks / "ask-1").touch()
        beside = reader.hear()
    (asks / "ask-2").touch()
    afterwards = reader.hear()
    (asks / "end").touch()

    for told in (beside, afterwards):
        assert told is not None
        assert "error" in told or "private-left" not in told["documents"], told
        assert told.get("error") in (None, "Unavailable"), told
    assert afterwards["documents"] == ["private-right", "shared-left", "shared-right"]


def _let_owner_write(home: Path) -> None:
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


# --- links ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lock", "holder.json", "catalog.sqlite"])
def test_a_link_in_the_place_of_a_shelfs_file_is_refused(name: str, home: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    file = home / "private" / name
    if file.exists():
        shutil.copy(file, victim)
        file.unlink()
    else:
        victim.write_bytes(b"precious")
    before = victim.read_bytes()
    file.symlink_to(victim)

    with pytest.raises(Denied), case_at(home) as case:
        case.add({"mine": "A licitação é pública."})

    assert victim.read_bytes() == before


def test_a_segment_that_is_a_link_is_damage(home: Path, tmp_path: Path) -> None:
    segment = next((home / "private" / "segments").iterdir())
    shutil.move(segment, tmp_path / "elsewhere")
    segment.symlink_to(tmp_path / "elsewhere")

    with case_at(home) as case, pytest.raises(CorruptShelf), case._shelves.private.view():
        pass


def test_a_closed_bookcase_says_so(home: Path) -> None:
    case = case_at(home)
    case.close()
    case.close()

    for use in (
        lambda: case.search("licitação"),
        lambda: case.add({"a": "b"}),
        lambda: case.delete("private-left"),
        lambda: case.update_metadata("private-left", {}),
        lambda: case.text("private-left"),
        lambda: len(case),
        case.documents,
        case.refresh,
        case.compact,
        case.rebuild,
        case.check,
        case.status,
        lambda: case.remove_source("notes"),
    ):
        with pytest.raises(Unavailable):
            use()
