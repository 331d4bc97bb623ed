"""A folder as documents and documents as chunks: the order, the names, and that nothing is lost unsaid."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.errors import ConnectorContractError, ConnectorOperationalError
from estante.contract.fingerprints import document_source_fingerprint
from estante.contract.jsonl import chunks_from_jsonl, chunks_to_jsonl
from estante.contract.loading import (
    SUPPORTED_SOURCE_EXTENSIONS,
    LoadedDocument,
    LoadedDocuments,
    UnreadableSources,
    chunk_loaded_documents,
    load_documents,
)

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def put(root: Path, *names: str, data: bytes = b"text") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def document(name: str, content: str) -> LoadedDocument:
    return LoadedDocument(name, f"/x/{name}", name, "md", content, name.casefold(), "f")


def paths(root: Path) -> list[str]:
    return [one.relative_path for one in load_documents(root)]


# --- what is loaded ---------------------------------------------------------------------------------------------


def test_a_document_tells_its_names_its_text_and_its_fingerprint(tmp_path: Path) -> None:
    put(tmp_path, "Archive/Booking_Policy.MD", data="olá".encode())

    assert load_documents(tmp_path) == [
        LoadedDocument(
            filename="Booking_Policy.MD",
            filepath=str(tmp_path.resolve() / "Archive" / "Booking_Policy.MD"),
            relative_path="Archive/Booking_Policy.MD",
            file_type="md",
            content="olá",
            source_identity="archive/booking_policy.md",
            source_fingerprint=document_source_fingerprint("md", "olá"),
        )
    ]


def test_what_is_returned_is_a_list(tmp_path: Path) -> None:
    assert isinstance(load_documents(str(tmp_path)), list)


def test_documents_come_in_the_code_point_order_of_their_paths(tmp_path: Path) -> None:
    names = ["Zone-extra/a.md", "Zone/a.md", "Zone/b/c.md", "a.md", "b.txt", "É.md"]
    put(tmp_path, *reversed(names))

    assert paths(tmp_path) == sorted(names) == names


def test_dot_folders_are_left_out_and_dot_files_are_kept(tmp_path: Path) -> None:
    put(tmp_path, ".git/a.md", "b/.cache/c.md", ".hid.md", "b/d.md")

    assert paths(tmp_path) == [".hid.md", "b/d.md"]


def test_only_supported_suffixes_are_read_and_the_others_are_told(tmp_path: Path) -> None:
    put(tmp_path, "a.TXT", "b.html", "README", ".md")

    loaded = load_documents(tmp_path)

    assert [one.relative_path for one in loaded] == ["a.TXT"]
    assert [note.path for note in loaded.passed_over] == [".md", "README", "b.html"]
    assert set(SUPPORTED_SOURCE_EXTENSIONS) == {".txt", ".md", ".pdf", ".docx", ".rtf"}


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"\xef\xbb\xbfa\r\nb\rc\n", "a\nb\nc\n"),
        (b"a\x00b", "a\x00b"),
        ("a\u0085b\u2028c".encode(), "a\u0085b\u2028c"),
        (b"", ""),
        (b" \n", " \n"),
    ],
)
def test_text_is_utf8_without_its_mark_and_with_lf(tmp_path: Path, data: bytes, content: str) -> None:
    put(tmp_path, "a.txt", data=data)

    assert [one.content for one in load_documents(tmp_path)] == [content]


def test_blank_documents_are_loaded_and_told(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    put(tmp_path, "b.md", "c/d.txt", data=b" \n")

    loaded = load_documents(tmp_path)

    assert len(loaded) == 3
    assert loaded.blank == ["b.md", "c/d.txt"]


@posix
def test_a_linked_file_is_read_and_a_linked_folder_is_not_but_told(tmp_path: Path) -> None:
    put(tmp_path, "outside/Note.md", "outside/more/x.md", "in/a.md")
    (tmp_path / "in" / "link.md").symlink_to(tmp_path / "outside" / "Note.md")
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "outside")

    loaded = load_documents(tmp_path / "in")

    assert [(one.relative_path, one.source_identity) for one in loaded] == [("a.md", "a.md"), ("link.md", "link.md")]
    assert loaded.passed_over == (("folder", "a link to a folder is not followed"),)


def test_suffixes_and_patterns_of_the_caller_leave_files_out(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.txt", "drafts/c.md", "drafts/deep/d.md")

    loaded = load_documents(tmp_path, extensions=[".md"], exclude=["drafts/*"])

    assert [one.relative_path for one in loaded] == ["a.md"]
    assert [note.path for note in loaded.passed_over] == ["b.txt", "drafts/c.md", "drafts/deep/d.md"]


@pytest.mark.parametrize(
    "options", [{"extensions": ".md"}, {"extensions": ["md"]}, {"extensions": [".html"]}, {"exclude": "*.md"}]
)
def test_suffixes_and_patterns_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConnectorContractError, match=r"extensions must be some of \.txt|exclude must be a list"):
        load_documents(tmp_path, **options)


def test_the_notes_survive_a_copy_and_a_pickle(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b.xyz")
    put(tmp_path, "c.md", data=b"\xff")
    loaded = load_documents(tmp_path, strict=False)

    for again in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert isinstance(again, LoadedDocuments)
        assert again == loaded
        assert (again.skipped, again.passed_over) == (loaded.skipped, loaded.passed_over)


# --- what cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [True, False])
def test_a_folder_that_is_none_is_not_found(tmp_path: Path, strict: bool) -> None:
    put(tmp_path, "a.md")

    for wrong in (tmp_path / "none", tmp_path / "a.md"):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            load_documents(wrong, strict=strict)


def test_a_file_that_is_not_utf8_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path, "sub/bad.md", data=b"ol\xe1")

    with pytest.raises(ValueError, match="re-encode it as UTF-8 or remove it") as told:
        load_documents(tmp_path)

    assert str(tmp_path.resolve() / "sub" / "bad.md") in str(told.value)
    assert isinstance(told.value, ConnectorOperationalError)
    assert isinstance(told.value.__cause__, UnicodeDecodeError)


def test_one_error_names_every_bad_file_and_holds_the_good_ones(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "z.md")
    put(tmp_path, "bad1.md", "bad2.txt", data=b"\xff")

    with pytest.raises(UnreadableSources, match="2 of the sources cannot be read") as told:
        load_documents(tmp_path)

    assert [one.relative_path for one in told.value.loaded] == ["a.md", "z.md"]
    assert [note.path for note in told.value.skipped] == ["bad1.md", "bad2.txt"]
    assert "bad1.md" in str(told.value)
    assert "bad2.txt" in str(told.value)


def test_a_long_list_of_bad_files_is_cut_short_in_the_message_alone(tmp_path: Path) -> None:
    put(tmp_path, *[f"bad{number:02}.md" for number in range(25)], data=b"\xff")

    with pytest.raises(UnreadableSources, match="and 5 more") as told:
        load_documents(tmp_path)

    assert len(told.value.skipped) == 25


def test_the_error_survives_a_pickle(tmp_path: Path) -> None:
    put(tmp_path, "bad.md", data=b"\xff")
    with pytest.raises(UnreadableSources) as told:
        load_documents(tmp_path)

    again = pickle.loads(pickle.dumps(told.value))

    assert (str(again), again.skipped) == (str(told.value), told.value.skipped)


def test_without_strictness_a_bad_file_is_skipped_with_its_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "z.md")
    put(tmp_path, "bad.md", data=b"ol\xe1")
    put(tmp_path, "large.txt", data=b"x" * 11)

    loaded = load_documents(tmp_path, strict=False, max_bytes=10)

    assert [one.relative_path for one in loaded] == ["a.md", "z.md"]
    assert loaded.skipped == (
        ("bad.md", "not UTF-8 (at byte 2); re-encode it as UTF-8 or remove it"),
        ("large.txt", "more than the limit of 10 bytes; split it, or raise max_bytes"),
    )


@posix
def test_links_to_nothing_loops_pipes_and_names_beyond_utf8_are_skipped_with_their_reasons(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    (tmp_path / "dangling.md").symlink_to(tmp_path / "none")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    os.mkfifo(tmp_path / "pipe.txt")
    try:
        put(tmp_path, os.fsdecode(b"name\xff.md"))
    except OSError:
        pytest.skip("only macOS: this file system takes UTF-8 names only")

    loaded = load_documents(tmp_path, strict=False)

    assert [one.relative_path for one in loaded] == ["a.md"]
    reasons = {ascii(note.path): note.reason for note in loaded.skipped}
    assert reasons.keys() == {"'dangling.md'", "'loop.md'", "'name\\udcff.md'", "'pipe.txt'"}
    assert reasons["'dangling.md'"] == "a link to what is not there"
    assert reasons["'loop.md'"].startswith("cannot be read: ")
    assert reasons["'name\\udcff.md'"] == "its name is not UTF-8; rename it"
    assert reasons["'pipe.txt'"] == "not a regular file"
    with pytest.raises(UnreadableSources, match=r"name\\udcff.md"):
        load_documents(tmp_path)


@posix
def test_a_folder_that_cannot_be_listed_is_told_not_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    make_too_deep(tmp_path)
    try:
        loaded = load_documents(tmp_path, strict=False)

        assert [one.relative_path for one in loaded] == ["a.md"]
        assert [note.reason for note in loaded.skipped] == [
            f"the folder cannot be listed: {os.strerror(errno.ENAMETOOLONG)}"
        ]
        with pytest.raises(UnreadableSources, match="cannot be listed"):
            load_documents(tmp_path)
    finally:
        shutil.rmtree(tmp_path / "d")


def make_too_deep(root: Path) -> None:
    """Folders below each other until no path reaches the last: even root cannot list it."""
    (root / "d").mkdir()
    at = os.open(root / "d", os.O_RDONLY)
    for _ in range(18):
        os.mkdir("d" * 250, dir_fd=at)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


@posix
def test_a_closed_folder_is_told(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "closed/b.md")
    (tmp_path / "closed").chmod(0)
    try:
        if os.access(tmp_path / "closed", os.R_OK):
            pytest.skip("this account may list every folder (root)")
        assert [note.path for note in load_documents(tmp_path, strict=False).skipped] == ["closed"]
        with pytest.raises(UnreadableSources, match="check its permissions"):
            load_documents(tmp_path / "closed", strict=False)
    finally:
        (tmp_path / "closed").chmod(0o700)


# --- parsers ----------------------------------------------------------------------------------------------------

BLOCKED = """
import json, sys
for name in ("pypdfium2", "lxml", "striprtf"):
    sys.modules[name] = None
from estante.contract.loading import load_documents
told = {}
for name in sys.argv[2:]:
    try:
        load_documents(sys.argv[1], extensions=[".txt", name])
    except ImportError as error:
        told[name] = str(error)
loaded = load_documents(sys.argv[1], strict=False)
print(json.dumps([told, [one.filename for one in loaded], loaded.skipped]))
"""


def test_a_parser_that_is_missing_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "b.pdf", "c.docx", "d.rtf")
    arguments = [sys.executable, "-c", BLOCKED, str(tmp_path), ".pdf", ".docx", ".rtf"]

    done = subprocess.run(arguments, capture_output=True, text=True, check=True)

    told, loaded, skipped = json.loads(done.stdout)
    assert told == {
        ".pdf": ".pdf files are read with pypdfium2, which is not installed; run: pip install estante",
        ".docx": ".docx files are read with lxml, which is not installed; run: pip install estante",
        ".rtf": '.rtf files are read with striprtf, which is not installed; run: pip install "estante[rtf]"',
    }
    assert loaded == ["a.txt"]
    assert skipped == [["b.pdf", told[".pdf"]], ["c.docx", told[".docx"]], ["d.rtf", told[".rtf"]]]


# --- identities -------------------------------------------------------------------------------------------------


def link(root: Path) -> None:
    put(root, "target.md")
    (root / "link.md").symlink_to(root / "target.md")


@posix
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda root: put(root, "A.md", "a.md"), ["A.md", "a.md"]),
        (lambda root: put(root, "a\\b.md", "a/b.md"), ["a\\\\b.md", "a/b.md"]),
        (lambda root: put(root, "caf\u00e9.md", "cafe\u0301.md"), ["caf\\xe9.md", "cafe\\u0301.md"]),
        (link, ["link.md", "target.md"]),
    ],
    ids=["case", "backslash", "composed", "link"],
)
def test_two_files_with_one_identity_are_refused_and_both_named(
    tmp_path: Path, make: Callable[[Path], None], names: list[str], strict: bool
) -> None:
    make(tmp_path)
    if len(list(tmp_path.rglob("*.md"))) < 2:
        pytest.skip("only macOS: this file system keeps one of the two names")

    with pytest.raises(ValueError, match="two documents have one identity") as told:
        load_documents(tmp_path, strict=strict)

    assert isinstance(told.value, ConnectorContractError)
    assert all(f"{os.sep}{name}'" in str(told.value) for name in names)


def test_two_documents_with_one_identity_are_not_cut_either() -> None:
    same = document("a.md", "text")

    for twins in ([same, same], [document("A.md", "x"), document("a.md", "y")]):
        with pytest.raises(ValueError, match="two documents have one identity"):
            chunk_loaded_documents(twins, chunk_size=10, chunk_overlap=0)


# --- chunks -----------------------------------------------------------------------------------------------------


def test_a_chunk_tells_where_it_comes_from() -> None:
    one = LoadedDocument("A.md", "/x/sub/A.md", "sub/A.md", "md", " one two", "sub/a.md", "f00")

    (chunk,) = chunk_loaded_documents([one], chunk_size=100, chunk_overlap=20)

    assert list(chunk.to_dict().items()) == [
        ("chunk_id", "sub/a.md:chunk-0"),
        ("doc_id", "sub/a.md"),
        ("source_file", "sub/A.md"),
        ("doc_chunk_index", 0),
        ("global_index", 0),
        ("text", "one two"),
        ("embedding", None),
        ("char_start", 1),
        ("char_end", 8),
        ("content_module_id", "sub/a.md"),
        (
            "metadata",
            {
                "source_identity": "sub/a.md",
                "source_fingerprint": "f00",
                "relative_path": "sub/A.md",
                "filename": "A.md",
                "file_type": "md",
                "document_filepath": "/x/sub/A.md",
            },
        ),
    ]
    assert list(chunk.metadata)[-1] == "document_filepath"


def test_a_blank_document_gives_no_chunks_and_uses_no_number() -> None:
    given_ones = [document("a.md", "one"), document("b.md", " \n"), document("c.md", "two")]

    chunks = chunk_loaded_documents(given_ones, chunk_size=10, chunk_overlap=2)

    assert [(one.chunk_id, one.global_index) for one in chunks] == [("a.md:chunk-0", 0), ("c.md:chunk-0", 1)]


@pytest.mark.parametrize(("size", "overlap"), [(10, -1), (0, 0), (-3, 0), (10, 10), (10.0, 1), (10, 1.0), (True, 0)])
def test_lengths_that_make_no_sense_are_refused_even_without_documents(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=r"chunk_size.*chunk_overlap"):
        chunk_loaded_documents([], chunk_size=size, chunk_overlap=overlap)


CONTENTS = st.text(st.sampled_from("ab. ?!\n\u0085\u2028é😀"), max_size=200) | st.text(max_size=60)
CUTTINGS = st.integers(1, 50).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(st.lists(CONTENTS, max_size=4), CUTTINGS)
def test_the_laws_of_chunks_hold_for_every_corpus(contents: list[str], cutting: tuple[int, int]) -> None:
    documents = [document(f"{number}.md", content) for number, content in enumerate(contents)]

    chunks = chunk_loaded_documents(documents, chunk_size=cutting[0], chunk_overlap=cutting[1])

    assert [one.global_index for one in chunks] == list(range(len(chunks)))
    assert len({one.chunk_id for one in chunks}) == len(chunks)
    for each in documents:
        own = [one for one in chunks if one.doc_id == each.source_identity]
        assert [one.doc_chunk_index for one in own] == list(range(len(own)))
        assert all(each.content[one.char_start : one.char_end] == one.text != "" for one in own)
        bounds = [(one.char_start or 0, one.char_end or 0) for one in own]
        assert all(before[0] <= after[0] and before[1] < after[1] for before, after in pairwise(bounds))
    assert chunks_from_jsonl(chunks_to_jsonl(chunks)) == chunks
