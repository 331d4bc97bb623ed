"""Strange, moving and huge files: each is read or reported, none stops the others, leads out or eats the memory."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.model.ports import Outcome
from estante.shelf.bookcase import Bookcase
from tests.faults.cases import case_at
from tests.faults.corpus import WORDS
from tests.faults.killing import Victims

pytestmark = pytest.mark.faults

MEGABYTE = 1 << 20
LINE = 50 * MEGABYTE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one plain file, which must always arrive."""
    made = tmp_path / "notes"
    made.mkdir()
    (made / "plain.txt").write_text("A licitação é pública.", "utf-8")
    return made


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Bookcase]:
    with case_at(tmp_path / "case") as opened:
        yield opened
        assert opened.check() == []


def reasons(outcome: Outcome) -> dict[str, str]:
    return {one.uri: one.reason for one in outcome.skipped}


def ids(case: Bookcase) -> list[str]:
    return [one.document_id for one in case.documents()]


# --- what is no file -------------------------------------------------------------------------------------------------


def test_a_pipe_is_reported_and_nobody_waits_for_it(folder: Path, case: Bookcase) -> None:
    os.mkfifo(folder / "pipe.txt")

    outcome = case.add(folder)

    assert reasons(outcome) == {"pipe.txt": "not a regular file but a pipe"}
    assert ids(case) == ["notes/plain.txt"]


def test_a_socket_is_reported(folder: Path, case: Bookcase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.txt")

        outcome = case.add(folder)

    assert reasons(outcome) == {"socket.txt": "not a regular file but a socket"}


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random", "/dev/full"])
def test_a_link_to_a_device_is_reported_and_not_read(device: str, folder: Path, case: Bookcase) -> None:
    (folder / "endless.txt").symlink_to(device)

    outcome = case.add(folder)

    assert list(reasons(outcome)) == ["endless.txt"]
    assert ids(case) == ["notes/plain.txt"]


def test_links_in_a_circle_are_reported(folder: Path, case: Bookcase) -> None:
    (folder / "a.txt").symlink_to("b.txt")
    (folder / "b.txt").symlink_to("a.txt")
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "up").symlink_to("..")
    (folder / "here").symlink_to(".")
    (folder / "nowhere.txt").symlink_to("missing.txt")

    outcome = case.add(folder)

    assert set(reasons(outcome)) == {"a.txt", "b.txt", "self.txt", "up", "here/", "nowhere.txt"}
    assert ids(case) == ["notes/plain.txt"]


def test_a_file_that_was_read_and_becomes_a_pipe_keeps_its_text(folder: Path, case: Bookcase) -> None:
    case.add(folder)
    (folder / "plain.txt").unlink()
    os.mkfifo(folder / "plain.txt")

    outcome = case.refresh()

    assert list(reasons(outcome)) == ["plain.txt"]
    assert case.text("notes/plain.txt")[2] == "A licitação é pública."


# --- what moves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["plain.txt", "sub/one.txt"])
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_becomes_a_link_during_the_walk_does_not_lead_out(
    what: str, moment: str, folder: Path, case: Bookcase, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("one.txt", "two.txt"):
        (outside / name).write_text("segredo alheio", "utf-8")
    (folder / "sub").mkdir()
    for name in ("one.txt", "two.txt"):
        (folder / "sub" / name).write_text("texto próprio", "utf-8")

    def swap(done: int, total: int | None, uri: str) -> None:
        if uri == moment and not (outside / "swapped").exists():
            (outside / "swapped").touch()
            if what == "folder":
                (folder / "sub").rename(tmp_path / "moved")
                (folder / "sub").symlink_to(outside)
            else:
                for name in ("one.txt", "two.txt"):
                    (folder / "sub" / name).unlink()
                    (folder / "sub" / name).symlink_to(outside / name)

    case.add(folder, progress=swap)

    assert (outside / "swapped").exists()
    assert case.search("segredo alheio", mode="lexical").hits == ()
    assert all(case.document(key).text != "segredo alheio" for key in ids(case))
    assert "notes/plain.txt" in ids(case)


def test_a_file_deleted_between_listing_and_reading_is_reported(folder: Path, case: Bookcase) -> None:
    for number in range(5):
        (folder / f"q{number}.txt").write_text("prazo", "utf-8")

    outcome = case.add(folder, progress=lambda done, total, uri: (folder / "q3.txt").unlink(missing_ok=True))

    assert list(reasons(outcome)) in (["q3.txt"], [])
    assert ids(case) == ["notes/plain.txt", *(f"notes/q{n}.txt" for n in (0, 1, 2, 4))]


def test_a_file_that_vanishes_while_it_is_refreshed_keeps_its_text_until_the_next_time(
    folder: Path, case: Bookcase
) -> None:
    (folder / "q.txt").write_text("prazo", "utf-8")
    case.add(folder)
    (folder / "q.txt").write_text("outro prazo", "utf-8")

    def vanish(done: int, total: int | None, uri: str) -> None:
        if uri == "q.txt":
            (folder / "q.txt").unlink()

    outcome = case.refresh(progress=vanish)

    assert list(reasons(outcome)) == ["q.txt"]
    assert case.text("notes/q.txt")[2] == "prazo"
    case.refresh()
    assert "notes/q.txt" not in case


def test_a_file_that_grows_while_it_is_read_gives_a_beginning_of_itself(folder: Path, case: Bookcase) -> None:
    file, end = folder / "log.txt", threading.Event()
    file.write_text("Linha zero do prazo.\n", "utf-8")

    def grow() -> None:
        with file.open("a", encoding="utf-8") as log:
            number = 0
            while not end.is_set() and number < 200_000:
                number += 1
                log.write(f"Linha {number} do prazo.\n")
                log.flush()

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        case.add(folder)
    finally:
        end.set()
        thread.join()

    text = case.document("notes/log.txt").text
    assert text.startswith("Linha zero")
    assert file.read_text("utf-8").startswith(text)
    case.refresh()
    assert case.document("notes/log.txt").text == file.read_text("utf-8")


def test_a_file_that_outgrows_the_limit_while_it_is_read_is_reported(tmp_path: Path, folder: Path) -> None:
    from estante.ingest.sources.folder import FolderSource
    from estante.model.content import Item
    from estante.model.errors import Unreadable

    source = FolderSource("notes", folder, max_bytes=100)
    item = next(item for item in source.items() if isinstance(item, Item))
    (folder / "plain.txt").write_bytes(b"x" * 200)

    with pytest.raises(Unreadable):
        item.read()


# --- names and places ------------------------------------------------------------------------------------------------


def test_names_that_are_no_text_arrive_under_a_name_that_is(folder: Path, case: Bookcase) -> None:
    for name in (b"caf\xe9.txt", b"\xff\xfe.txt", b"nova\nlinha.txt", b"tab\t.txt", "e\u0301.txt".encode()):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text("O edital.", "utf-8")

    outcome = case.add(folder)

    assert reasons(outcome) == {}
    assert len(ids(case)) == 6
    assert "notes/caf%e9.txt" in ids(case)
    for key in ids(case):
        key.encode("utf-8")
        assert key.isprintable()
        assert case.document(key).text
    assert case.refresh().unchanged == 6


def test_two_spellings_of_one_name_are_told_apart_or_reported(folder: Path, case: Bookcase) -> None:
    (folder / "\u00e9.txt").write_text("um", "utf-8")
    (folder / "e\u0301.txt").write_text("dois", "utf-8")
    (folder / "PLAIN.TXT").write_text("três", "utf-8")

    outcome = case.add(folder)

    assert len(ids(case)) == 2
    assert len(reasons(outcome)) == 2


def _deep(top: Path, names: list[str]) -> None:
    """Folders inside one another, however long the path becomes, with a file in the last one."""
    at = os.open(top, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("deepest.txt", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at)
    os.write(file, b"O prazo mais fundo.")
    os.close(file)
    os.close(at)


@pytest.mark.parametrize(("names", "reached"), [(["n" * 200] * 30, False), (["d"] * 1_500, True)])
def test_deep_folders_are_read_or_reported(names: list[str], reached: bool, folder: Path, case: Bookcase) -> None:
    _deep(folder, names)
    try:
        outcome = case.add(folder)
        again = case.refresh()
    finally:
        subprocess.run(["rm", "-rf", str(folder / names[0])], check=True)

    assert "notes/plain.txt" in ids(case)
    deepest = [key for key in ids(case) if key.endswith("deepest.txt")]
    if reached and len(outcome.skipped) == 0:
        assert len(deepest) == 1
    else:
        assert deepest == []
        assert len(outcome.skipped) == 1
    assert again.removed == again.added == again.changed == 0


@pytest.fixture
def public() -> Iterator[Path]:
    """A place that another user can reach."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o777)
    yield made
    subprocess.run(["rm", "-rf", str(made)], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not read")
def test_what_may_not_be_read_is_reported(public: Path, victims: Victims) -> None:
    notes = public / "notes"
    notes.mkdir(mode=0o755)
    for name, mode in (("open.txt", 0o644), ("closed.txt", 0o600)):
        (notes / name).write_text("O recurso.", "utf-8")
        (notes / name).chmod(mode)
    (notes / "shut").mkdir(mode=0o700)
    (notes / "shut" / "inner.txt").write_text("O recurso.", "utf-8")

    worker = victims.start("appetite:take_in", home=str(public / "case"), folder=str(notes), uid=65534)
    told = worker.hear()

    assert told is not None
    assert told["documents"] == ["notes/open.txt"]
    assert set(told["skipped"]) == {"closed.txt", "shut/"}
    assert all("permission" in reason for reason in told["skipped"].values())


# --- what is huge ----------------------------------------------------------------------------------------------------


def _take_in(victims: Victims, tmp_path: Path, folder: Path) -> dict[str, Any]:
    worker = victims.start("appetite:take_in", home=str(tmp_path / "case"), folder=str(folder))
    told = worker.hear()
    assert worker.wait() == 0
    assert told is not None
    assert told["problems"] == []
    shutil.rmtree(folder)
    return told


def test_a_huge_text_of_one_line_takes_a_few_times_its_size(folder: Path, victims: Victims, tmp_path: Path) -> None:
    rng = random.Random("line")
    line = " ".join(rng.choices(WORDS, k=LINE // 7))[:LINE]
    (folder / "line.txt").write_text(line, "utf-8")

    told = _take_in(victims, tmp_path, folder)

    assert told["documents"] == ["notes/line.txt", "notes/plain.txt"]
    assert told["took"] < 12 * LINE + 100 * MEGABYTE


def test_a_huge_word_takes_a_few_times_its_size(folder: Path, victims: Victims, tmp_path: Path) -> None:
    (folder / "word.txt").write_text("x" * LINE, "utf-8")

    told = _take_in(victims, tmp_path, folder)

    assert told["documents"] == ["notes/plain.txt", "notes/word.txt"]
    assert told["took"] < 12 * LINE + 100 * MEGABYTE


def test_twenty_thousand_tiny_files_take_no_more_memory_than_a_batch(
    folder: Path, victims: Victims, tmp_path: Path
) -> None:
    for number in range(20_000):
        (folder / f"{number:05d}.txt").write_text(f"O texto {number} da licitação.", "utf-8")

    told = _take_in(victims, tmp_path, folder)

    assert told["added"] == 20_001
    assert told["took"] < 120 * MEGABYTE


def test_a_hundred_thousand_headings_are_read(folder: Path, victims: Victims, tmp_path: Path) -> None:
    parts = (f"{'#' * (1 + number % 6)} Título {number}\n\nO prazo {number}." for number in range(100_000))
    (folder / "headings.md").write_text("\n\n".join(parts), "utf-8")

    told = _take_in(victims, tmp_path, folder)

    assert told["documents"] == ["notes/headings.md", "notes/plain.txt"]
    assert told["took"] < 500 * MEGABYTE
