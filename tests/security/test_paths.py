import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from estante.model.errors import Denied, OutsideRoot, Unreadable
from estante.security import paths
from estante.security.paths import private_directory, private_file, read_file, resolve_inside

LIMIT = 1000
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"inside")
    (folder / "sub" / "b.txt").write_bytes(b"below")
    (tmp_path / "secret.txt").write_bytes(b"outside")
    return folder


def test_a_file_in_the_root_is_read(root: Path) -> None:
    assert read_file(root, "sub/b.txt", LIMIT) == b"below"


def test_a_link_to_a_file_inside_is_followed(root: Path) -> None:
    (root / "link.txt").symlink_to("sub/b.txt")

    assert read_file(root, "link.txt", LIMIT) == b"below"


def test_a_root_that_is_a_link_is_its_target(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)

    assert read_file(tmp_path / "alias", "a.txt", LIMIT) == b"inside"


@pytest.mark.parametrize("relative", ["../secret.txt", "sub/../../secret.txt", "/etc/passwd"])
def test_a_path_that_leads_out_is_refused(root: Path, relative: str) -> None:
    with pytest.raises(OutsideRoot):
        read_file(root, relative, LIMIT)


def test_a_folder_whose_name_begins_like_the_root_is_outside(root: Path) -> None:
    twin = root.with_name("root-twin")
    twin.mkdir()
    (twin / "c.txt").write_bytes(b"outside")

    with pytest.raises(OutsideRoot):
        read_file(root, "../root-twin/c.txt", LIMIT)


@pytest.mark.parametrize("target", ["../secret.txt", "sub/../../secret.txt"])
def test_a_link_that_leads_out_is_refused(root: Path, target: str) -> None:
    (root / "link.txt").symlink_to(target)

    with pytest.raises(OutsideRoot):
        read_file(root, "link.txt", LIMIT)


def test_a_folder_link_that_leads_out_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "up").symlink_to(tmp_path)

    with pytest.raises(OutsideRoot):
        read_file(root, "up/secret.txt", LIMIT)


def test_a_name_with_a_nul_is_refused(root: Path) -> None:
    with pytest.raises(OutsideRoot):
        read_file(root, "a.txt\0.md", LIMIT)


def test_what_is_not_there_is_unreadable(root: Path) -> None:
    with pytest.raises(Unreadable, match="not there"):
        read_file(root, "gone.txt", LIMIT)


def test_links_in_a_circle_are_unreadable(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")

    with pytest.raises(Unreadable, match="circles"):
        read_file(root, "x", LIMIT)


def test_a_folder_is_not_a_file(root: Path) -> None:
    with pytest.raises(Unreadable, match="not a regular file"):
        read_file(root, "sub", LIMIT)


def test_the_root_itself_is_not_a_file(root: Path) -> None:
    assert resolve_inside(root, ".") == ""

    with pytest.raises(Unreadable, match="not a regular file"):
        read_file(root, ".", LIMIT)


@posix
def test_a_fifo_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    outcome: list[BaseException] = []

    def read() -> None:
        try:
            read_file(root, "pipe.txt", LIMIT)
        except Unreadable as error:
            outcome.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(5)

    assert not thread.is_alive()
    assert isinstance(outcome[0], Unreadable)


@posix
def test_a_socket_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The name of a socket must be short, so it is made from within its folder.
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.txt")

        with pytest.raises(Unreadable, match="not a regular file"):
            read_file(root, "s.txt", LIMIT)


@posix
def test_a_device_is_refused() -> None:
    with pytest.raises(Unreadable, match="not a regular file"):
        read_file(Path("/dev"), "zero", LIMIT)


def test_a_file_at_the_limit_is_read_and_one_above_is_not(root: Path) -> None:
    (root / "full.txt").write_bytes(b"x" * LIMIT)
    (root / "over.txt").write_bytes(b"x" * (LIMIT + 1))

    assert len(read_file(root, "full.txt", LIMIT)) == LIMIT
    with pytest.raises(Unreadable, match="1,000 bytes"):
        read_file(root, "over.txt", LIMIT)


def test_a_file_that_grows_stops_at_the_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths.os, "read", lambda handle, count: b"x" * min(count, 10))

    with pytest.raises(Unreadable, match="larger"):
        read_file(root, "a.txt", LIMIT)


@posix
@pytest.mark.parametrize("stepwise", [True, False])
def test_a_link_put_there_after_the_check_leads_nowhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stepwise: bool
) -> None:
    real = paths.resolve_inside

    def resolve_then_swap(*arguments: object) -> str:
        inside = real(*arguments)  # type: ignore[arg-type]
        (root / "a.txt").unlink(missing_ok=True)
        (root / "a.txt").symlink_to(tmp_path / "secret.txt")
        return inside

    monkeypatch.setattr(paths, "_STEPWISE", stepwise)
    monkeypatch.setattr(paths, "resolve_inside", resolve_then_swap)

    with pytest.raises((OutsideRoot, Unreadable)):
        read_file(root, "a.txt", LIMIT)


@posix
def test_a_folder_swapped_for_a_link_after_the_check_leads_nowhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.txt").write_bytes(b"outside")
    real = paths.resolve_inside

    def resolve_then_swap(*arguments: object) -> str:
        inside = real(*arguments)  # type: ignore[arg-type]
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        return inside

    monkeypatch.setattr(paths, "resolve_inside", resolve_then_swap)

    with pytest.raises((OutsideRoot, Unreadable)):
        read_file(root, "sub/b.txt", LIMIT)


def test_without_steps_the_same_is_read_and_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_STEPWISE", False)
    (root / "up.txt").symlink_to("../secret.txt")

    assert read_file(root, "sub/b.txt", LIMIT) == b"below"
    with pytest.raises(OutsideRoot):
        read_file(root, "up.txt", LIMIT)


def test_no_descriptor_is_left_open(root: Path) -> None:
    listing = Path("/proc/self/fd")
    if not listing.is_dir():
        pytest.skip("this system does not list open descriptors")
    before = len(list(listing.iterdir()))

    for name in ("a.txt", "sub/b.txt", "sub", "gone.txt"):
        try:
            read_file(root, name, LIMIT)
        except Unreadable:
            continue

    assert len(list(listing.iterdir())) == before


@pytest.fixture
def open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.usefixtures("open_umask")
def test_a_private_directory_is_the_owners_alone(tmp_path: Path) -> None:
    made = private_directory(tmp_path / "a" / "b")

    assert mode(made) == 0o700
    assert mode(made.parent) == 0o700


@posix
def test_an_open_directory_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)

    private_directory(tmp_path / "a")

    assert mode(tmp_path / "a") == 0o700


def test_a_link_cannot_be_a_private_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(Denied):
        private_directory(tmp_path / "link")


def test_a_file_cannot_be_a_private_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(Denied):
        private_directory(tmp_path / "file")


@posix
@pytest.mark.usefixtures("open_umask")
def test_a_private_file_is_the_owners_alone(tmp_path: Path) -> None:
    with private_file(tmp_path / "a") as file:
        file.write(b"x")

    assert mode(tmp_path / "a") == 0o600
    assert (tmp_path / "a").read_bytes() == b"x"


@posix
def test_an_open_file_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o644)

    private_file(tmp_path / "a", "ab").close()

    assert mode(tmp_path / "a") == 0o600
    assert (tmp_path / "a").read_bytes() == b"x"


def test_a_private_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(Denied):
        private_file(tmp_path / "link")

    assert (tmp_path / "real").read_bytes() == b"x"


@posix
def test_a_private_file_is_no_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(Denied):
        private_file(tmp_path / "pipe")


def test_a_private_text_file_is_utf_8(tmp_path: Path) -> None:
    with private_file(tmp_path / "a", "w") as file:
        file.write("ção")

    assert (tmp_path / "a").read_bytes() == "ção".encode()
