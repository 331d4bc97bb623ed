import os
import pickle
import socket
from pathlib import Path

import pytest

from estante.ingest.sources.folder import FolderSource
from estante.model.access import ANYONE, Claim
from estante.model.content import Item
from estante.model.errors import OutsideRoot, SettingsError, Unreadable
from estante.model.ports import Skipped

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def put(root: Path, *names: str, text: str = "text") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def uris(root: Path, **options: object) -> list[str]:
    return [found.uri for found in FolderSource("s", root, **options).items() if isinstance(found, Item)]  # type: ignore[arg-type]


def skipped(root: Path, **options: object) -> dict[str, str]:
    found = FolderSource("s", root, **options).items()  # type: ignore[arg-type]
    return {each.uri: each.reason for each in found if isinstance(each, Skipped)}


def test_files_come_in_the_order_of_their_whole_paths(tmp_path: Path) -> None:
    names = ["a/z.md", "a.md", "a-b/x.md", "a0.md", "B.md", "é.md", "z/é/x.md", "z/e.md", "a/b/c.md", "a/b.md"]
    put(tmp_path, *names)

    assert uris(tmp_path) == sorted(names)


def test_nothing_is_read_until_it_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.md")
    items = FolderSource("s", tmp_path).items()
    next(items)

    (tmp_path / "b.md").unlink()

    assert [type(found) for found in items] == [Skipped]


def test_an_item_tells_its_size_and_time_and_reads_itself(tmp_path: Path) -> None:
    put(tmp_path, "a.md", text="olá")
    os.utime(tmp_path / "a.md", ns=(1, 2_000_000_007))
    claim = Claim(ANYONE, "told so")

    (item,) = FolderSource("s", tmp_path, claims=[claim]).items()

    assert isinstance(item, Item)
    assert (item.source, item.uri, item.media_type, item.revision) == ("s", "a.md", "text/markdown", "4-2000000007")
    assert item.claims == (claim,)
    assert item.read() == "olá".encode()


def test_a_revision_survives_a_copy_with_its_times(tmp_path: Path) -> None:
    put(tmp_path, "one/a.md", "two/a.md")
    for folder in ("one", "two"):
        os.utime(tmp_path / folder / "a.md", ns=(5, 5))

    (first,), (second,) = (list(FolderSource("s", tmp_path / name).items()) for name in ("one", "two"))

    assert isinstance(first, Item)
    assert isinstance(second, Item)
    assert first.revision == second.revision


def test_an_item_can_be_sent_to_another_process(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (item,) = FolderSource("s", tmp_path).items()
    assert isinstance(item, Item)

    assert pickle.loads(pickle.dumps(item.read))() == b"text"


def test_dot_files_and_dot_folders_are_passed_over_in_silence(tmp_path: Path) -> None:
    put(tmp_path, ".env", ".git/config.md", "a/.hidden.md", "a/b.md", "node_modules/c.md", "__pycache__/d.md")

    assert uris(tmp_path) == ["__pycache__/d.md", "a/b.md", "node_modules/c.md"]
    assert skipped(tmp_path) == {}


def test_an_unknown_suffix_is_told(tmp_path: Path) -> None:
    put(tmp_path, "a.xyz", "b", "README")

    assert uris(tmp_path) == ["README"]
    assert skipped(tmp_path) == {"a.xyz": "no extractor for .xyz", "b": "no extractor for a name without suffix"}


def test_what_is_known_can_be_said_by_the_caller(tmp_path: Path) -> None:
    put(tmp_path, "a.xyz", "b.md")

    assert uris(tmp_path, known=lambda uri: uri.endswith(".xyz")) == ["a.xyz"]


def test_a_file_above_the_limit_is_told_with_its_size(tmp_path: Path) -> None:
    put(tmp_path, "a.md", text="x" * 2000)

    assert skipped(tmp_path, max_bytes=1500) == {"a.md": "2,000 bytes, more than the limit of 1,500"}


def test_a_file_that_grew_after_it_was_listed_is_not_read_beyond_the_limit(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (item,) = FolderSource("s", tmp_path, max_bytes=10).items()
    assert isinstance(item, Item)

    put(tmp_path, "a.md", text="x" * 11)

    with pytest.raises(Unreadable):
        item.read()


def test_a_root_that_is_a_file_is_one_item(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.md")

    (item,) = FolderSource("s", tmp_path / "a.md").items()

    assert isinstance(item, Item)
    assert item.uri == "a.md"
    assert item.read() == b"text"


def test_a_root_that_is_a_link_to_a_file_keeps_its_own_name(tmp_path: Path) -> None:
    put(tmp_path, "v3.md")
    (tmp_path / "current.md").symlink_to("v3.md")

    (item,) = FolderSource("s", tmp_path / "current.md").items()

    assert isinstance(item, Item)
    assert item.uri == "current.md"
    assert item.read() == b"text"


def test_a_root_that_is_away_stops_and_is_not_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be listed"):
        list(FolderSource("s", tmp_path / "gone").items())


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (["drafts/"], ["a.md", "b/c.md"]),
        (["*.md", "!a.md"], ["a.md"]),
        (["/b"], ["a.md", "drafts/d.md"]),
        (["**/c.md"], ["a.md", "drafts/d.md"]),
    ],
)
def test_patterns_leave_out_in_silence(tmp_path: Path, exclude: list[str], left: list[str]) -> None:
    put(tmp_path, "a.md", "b/c.md", "drafts/d.md")

    assert uris(tmp_path, exclude=exclude) == left
    assert skipped(tmp_path, exclude=exclude) == {}


def test_only_what_is_included_comes(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "a.txt", "docs/b.txt", "docs/c.md")

    assert uris(tmp_path, include=["docs/", "*.md"]) == ["a.md", "docs/b.txt", "docs/c.md"]
    assert uris(tmp_path, include=["*.txt"], exclude=["docs/"]) == ["a.txt"]


def test_the_ignore_file_of_the_folder_counts(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.md", "c.md")
    put(tmp_path, ".estanteignore", text="# not these\na.md\nb.md\n")

    assert uris(tmp_path) == ["c.md"]
    assert uris(tmp_path, exclude=["!b.md"]) == ["b.md", "c.md"]


def test_an_ignore_file_that_cannot_be_read_stops(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (tmp_path / ".estanteignore").mkdir()

    with pytest.raises(SettingsError, match=r"\.estanteignore"):
        uris(tmp_path)


def test_a_pattern_that_is_none_stops() -> None:
    with pytest.raises(SettingsError, match="exclude"):
        FolderSource("s", Path(), exclude=["!"])


def test_one_text_is_no_list_of_patterns() -> None:
    with pytest.raises(SettingsError, match="list"):
        FolderSource("s", Path(), exclude="*.md")


@posix
def test_a_fifo_is_skipped_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    assert skipped(tmp_path) == {"pipe.md": "not a regular file but a pipe"}


@posix
def test_a_socket_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.md")

        assert skipped(tmp_path) == {"s.md": "not a regular file but a socket"}


@posix
def test_a_file_that_becomes_a_fifo_is_unreadable(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (item,) = FolderSource("s", tmp_path).items()
    assert isinstance(item, Item)

    (tmp_path / "a.md").unlink()
    os.mkfifo(tmp_path / "a.md")

    with pytest.raises(Unreadable):
        item.read()


def test_a_link_that_leads_out_is_skipped(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path, "secret.md")
    put(root, "a.md")
    (root / "file.md").symlink_to("../secret.md")
    (root / "folder").symlink_to(tmp_path)

    assert uris(root) == ["a.md"]
    assert skipped(root) == dict.fromkeys(["file.md", "folder"], "a link that leads out of the folder")


def test_a_file_that_becomes_a_link_to_the_outside_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path, "secret.md")
    put(root, "a.md")
    (item,) = FolderSource("s", root).items()
    assert isinstance(item, Item)

    (root / "a.md").unlink()
    (root / "a.md").symlink_to("../secret.md")

    with pytest.raises(OutsideRoot):
        item.read()


def test_a_link_to_a_listed_file_gives_way_to_it(tmp_path: Path) -> None:
    put(tmp_path, "z.md")
    (tmp_path / "a.md").symlink_to("z.md")

    assert uris(tmp_path) == ["z.md"]
    assert skipped(tmp_path) == {"a.md": "same identity as z.md"}


def test_a_link_to_a_file_that_is_not_listed_itself_is_followed(tmp_path: Path) -> None:
    put(tmp_path, ".store/x.md")
    (tmp_path / "a.md").symlink_to(".store/x.md")
    (tmp_path / "b.md").symlink_to(".store/x.md")

    assert uris(tmp_path) == ["a.md"]
    assert skipped(tmp_path) == {"b.md": "same identity as a.md"}


@pytest.mark.parametrize("pattern", ["drafts/", "x.md", "drafts/*"])
def test_a_link_is_no_way_around_a_pattern(tmp_path: Path, pattern: str) -> None:
    put(tmp_path, "drafts/x.md")
    (tmp_path / "a.md").symlink_to("drafts/x.md")

    assert uris(tmp_path, exclude=[pattern]) == []
    assert skipped(tmp_path, exclude=[pattern]) == {"a.md": "a link to a file that the patterns leave out"}


def test_a_link_to_a_folder_is_told_once_and_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "real/a.md", "real/b.md")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "loop").symlink_to("..")

    assert uris(tmp_path) == ["real/a.md", "real/b.md"]
    reason = "a link to a folder, which is not followed"
    assert skipped(tmp_path) == {"link/": reason, "real/loop/": reason}


def test_a_link_to_nothing_and_links_in_a_circle_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("gone.md")
    (tmp_path / "b.md").symlink_to("c.md")
    (tmp_path / "c.md").symlink_to("b.md")

    assert skipped(tmp_path) == {
        "a.md": "it is not there, or no longer there",
        "b.md": "a link that goes in circles",
        "c.md": "a link that goes in circles",
    }


def test_two_hard_links_are_two_documents(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    os.link(tmp_path / "a.md", tmp_path / "b.md")

    assert uris(tmp_path) == ["a.md", "b.md"]


def test_names_that_differ_in_case_only_are_one_identity(tmp_path: Path) -> None:
    put(tmp_path, "Ata.md", "ata.md", "STRASSE/x.md", "straße/x.md")
    if len(list(tmp_path.iterdir())) < 4:
        pytest.skip("this file system does not tell such names apart")

    assert uris(tmp_path) == ["Ata.md", "STRASSE/x.md"]
    told = "its name differs from {!r} only in letter case, which ids ignore: rename one of them"
    assert skipped(tmp_path) == {"ata.md": told.format("Ata.md"), "straße/x.md": told.format("STRASSE/x.md")}


def test_names_that_differ_in_composition_only_are_one_identity(tmp_path: Path) -> None:
    put(tmp_path, "\u00e9.md", "e\u0301.md")
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system does not tell such names apart")

    found = list(FolderSource("s", tmp_path).items())

    assert [type(each) for each in found] == [Item, Skipped]
    assert {each.uri for each in found} == {"\u00e9.md"}


def test_a_uri_is_composed_and_the_file_is_read_by_its_real_name(tmp_path: Path) -> None:
    put(tmp_path, "relac\u0327a\u0303o/e\u0301.md")

    (item,) = FolderSource("s", tmp_path).items()

    assert isinstance(item, Item)
    assert item.uri == "relação/é.md"
    assert item.read() == b"text"


@posix
def test_a_name_in_no_encoding_survives(tmp_path: Path) -> None:
    name = os.fsdecode(b"rela\xe7\xe3o.md")
    try:
        (tmp_path / name).write_bytes(b"text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")

    (item,) = FolderSource("s", tmp_path).items()

    assert isinstance(item, Item)
    assert item.uri == "rela%E7%E3o.md"
    assert item.read() == b"text"


@posix
def test_a_folder_that_may_not_be_listed_is_skipped_with_its_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "closed/b.md")
    (tmp_path / "closed").chmod(0)
    try:
        if os.access(tmp_path / "closed", os.R_OK):
            pytest.skip("this account may list every folder (root)")

        assert uris(tmp_path) == ["a.md"]
        assert skipped(tmp_path) == {"closed/": "the folder cannot be listed: no permission to list it"}
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_a_folder_that_fails_while_listed_is_skipped_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.md", "bad/b.md")
    real = os.scandir

    def scandir(path: os.PathLike[str]) -> object:
        if Path(path).name == "bad":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    assert uris(tmp_path) == ["a.md"]
    assert skipped(tmp_path) == {"bad/": "the folder cannot be listed: no permission to list it"}


@posix
def test_a_file_that_may_not_be_read_is_unreadable(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (tmp_path / "a.md").chmod(0)
    if os.access(tmp_path / "a.md", os.R_OK):
        pytest.skip("this account may read every file (root)")
    (item,) = FolderSource("s", tmp_path).items()
    assert isinstance(item, Item)

    with pytest.raises(Unreadable, match="permission"):
        item.read()


def test_a_folder_deeper_than_the_stack_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 1200
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("a.md").write_text("x")
    os.chdir(tmp_path)

    try:
        found = list(FolderSource("s", Path()).items())
    finally:
        _remove_deep(tmp_path, depth)

    # Where the system takes such long paths the file is found, elsewhere its folder is skipped with a reason.
    assert len(found) == 1
    assert found[0].uri.startswith("d/d/d/")


def _remove_deep(top: Path, depth: int) -> None:
    # By hand: what removes whole trees recurses, and this one is too deep for that.
    for _ in range(depth):
        os.chdir("d")
    os.unlink("a.md")
    for _ in range(depth):
        os.chdir("..")
        os.rmdir("d")
    os.chdir(top)
