"""Which source a path belongs to, and for whom: pure values, no shelf."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from estante.model.access import ANYONE
from estante.model.content import Item
from estante.model.errors import NameTaken, NotFound, SettingsError
from estante.shelf.sources import Known, Sources, pattern, readers_of


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with files and a folder in it."""
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "c.txt", "sub/d.txt"):
        (root / name).write_text(name, encoding="utf-8")
    return root


def add(sources: Sources, path: Path, **options: Any) -> Sources:
    return sources.adding(path, options)[0]


def told(sources: Sources) -> dict[str, tuple[str, tuple[str, ...] | None]]:
    """Each source with its readers and files."""
    return {one.name: (one.label(), one.files) for one in sources.known}


def uris(one: Known, within: str = "") -> list[str]:
    return [item.uri for item in one.items(lambda _: True, within) if isinstance(item, Item)]


# --- readers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "readers"),
    [(["*"], ANYONE), (["a", "*"], ANYONE), (["a", "b", "a"], frozenset("ab")), ([], frozenset())],
)
def test_a_star_among_the_readers_is_everyone(given_: Sequence[str], readers: object) -> None:
    assert readers_of(given_) == readers


@pytest.mark.parametrize(
    ("readers", "label"), [(None, "private"), (("*",), "shared"), (("finance", "legal"), "finance,legal")]
)
def test_readers_are_labelled_for_people(readers: tuple[str, ...] | None, label: str) -> None:
    assert Known(name="x", root="/x", readers=readers).label() == label


def test_a_source_that_says_nothing_of_its_readers_claims_nothing() -> None:
    assert Known(name="x", root="/x").claims == ()
    assert Known(name="x", root="/x", readers=("*",)).claims[0].readers is ANYONE


# --- one folder, one file ------------------------------------------------------------------------------------------


def test_a_folder_is_a_source_named_after_it(docs: Path) -> None:
    sources, one, within = Sources().adding(docs, {})

    assert (one.name, one.root, one.files, within) == ("docs", str(docs), None, "")
    assert sources.known == (one,)
    assert uris(one) == ["a.txt", "b.txt", "c.txt", "sub/d.txt"]


def test_a_file_is_a_source_of_that_file(docs: Path) -> None:
    _, one, within = Sources().adding(docs / "a.txt", {})

    assert (one.name, one.files, within) == ("docs", ("a.txt",), "a.txt")
    assert uris(one) == ["a.txt"]


def test_two_files_of_a_folder_are_one_source(docs: Path) -> None:
    sources = add(add(Sources(), docs / "b.txt"), docs / "a.txt")

    assert told(sources) == {"docs": ("private", ("a.txt", "b.txt"))}
    assert uris(sources.known[0]) == ["a.txt", "b.txt"]


def test_a_file_whose_name_is_a_pattern_is_that_file_alone(docs: Path) -> None:
    for name in ("[ab].txt", "#x.txt", "!y.txt", "two  words .txt", "café.txt"):
        (docs / name).write_text("x", encoding="utf-8")
        assert uris(Sources().adding(docs / name, {})[1]) == [name]


def test_a_file_whose_name_is_spelt_in_parts_is_found(docs: Path) -> None:
    apart = "cafe\u0301.txt"
    (docs / apart).write_text("x", encoding="utf-8")

    _, one, within = Sources().adding(docs / apart, {})

    assert (uris(one), within) == (["café.txt"], "café.txt")


def test_the_folders_beside_a_file_are_not_looked_into(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    looked: list[str] = []
    scandir = os.scandir

    def watched(path: Any) -> Any:
        looked.append(Path(path).name)
        return scandir(path)

    monkeypatch.setattr("estante.ingest.sources.folder.os.scandir", watched)

    uris(Sources().adding(docs / "a.txt", {})[1])

    assert set(looked) == {"docs"}


@given(st.text(st.characters(exclude_characters="/\n\r\x00", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_a_pattern_of_a_path_matches_it_and_nothing_beside_it(name: str) -> None:
    import unicodedata

    name = unicodedata.normalize("NFC", name)
    spec = GitIgnoreSpec.from_lines([pattern(name)])

    assert spec.match_file(name) or name in (".", "..")
    assert not spec.match_file("z" + name)
    assert not spec.match_file("sub/" + name)


def test_a_path_that_is_not_there_is_not_found(docs: Path) -> None:
    with pytest.raises(NotFound, match="no file or folder"):
        Sources().adding(docs / "absent.txt", {})


def test_a_link_to_a_folder_is_that_folder(docs: Path) -> None:
    link = docs.parent / "link"
    link.symlink_to(docs)

    sources = add(add(Sources(), docs), link)

    assert told(sources) == {"docs": ("private", None)}


# --- inside a folder that is known ---------------------------------------------------------------------------------


def test_a_part_of_a_known_folder_belongs_to_it(docs: Path) -> None:
    whole = add(Sources(), docs, readers=["*"])

    for path, within in [(docs, ""), (docs / "sub", "sub"), (docs / "sub" / "d.txt", "sub/d.txt")]:
        sources, one, found = whole.adding(path, {})
        assert (sources.known, one.name, found) == (whole.known, "docs", within)


def test_what_was_not_mentioned_stays_as_it_was(docs: Path) -> None:
    once = add(Sources(), docs, readers=["*"], exclude=("b.txt",), metadata={"year": 2024})

    again = add(once, docs)

    assert again.known == once.known


def test_the_readers_of_a_known_folder_can_be_changed(docs: Path) -> None:
    sources = add(add(Sources(), docs, readers=["*"]), docs, readers=["finance"])

    assert told(sources) == {"docs": ("finance", None)}


def test_a_part_of_a_known_folder_cannot_have_other_readers(docs: Path) -> None:
    whole = add(Sources(), docs, readers=["*"])

    with pytest.raises(SettingsError, match="a part of it cannot have other readers") as caught:
        whole.adding(docs / "a.txt", {"readers": ("finance",)})

    assert "--name" in caught.value.hint


def test_a_part_may_repeat_the_readers_of_its_folder_in_any_order(docs: Path) -> None:
    whole = add(Sources(), docs, readers=["legal", "finance"])

    assert whole.adding(docs / "a.txt", {"readers": ("finance", "legal")})[0].known == whole.known


def test_a_part_with_a_name_of_its_own_is_a_source_of_its_own(docs: Path) -> None:
    sources = add(add(Sources(), docs, readers=["*"]), docs / "sub", name="inner", readers=["finance"])

    assert told(sources) == {"docs": ("shared", None), "inner": ("finance", None)}
    assert sources.parts(sources.find("docs")) == ["sub/"]


def test_the_innermost_folder_holds_a_path(docs: Path) -> None:
    sources = add(add(Sources(), docs), docs / "sub", name="inner")

    assert sources.adding(docs / "sub" / "d.txt", {})[1].name == "inner"
    assert sources.adding(docs / "a.txt", {})[1].name == "docs"


# --- files with other readers --------------------------------------------------------------------------------------


def test_a_private_file_never_joins_the_shared_ones_of_its_folder(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt", readers=["*"]), docs / "b.txt")

    assert told(sources) == {"docs": ("shared", ("a.txt",)), "docs-2": ("private", ("b.txt",))}


def test_files_of_the_same_readers_find_each_other(docs: Path) -> None:
    sources = Sources()
    for name, readers in [("a.txt", ["*"]), ("b.txt", None), ("c.txt", ["*"]), ("b.txt", None)]:
        sources = add(sources, docs / name, readers=readers)

    assert told(sources) == {"docs": ("shared", ("a.txt", "c.txt")), "docs-2": ("private", ("b.txt",))}


def test_sharing_one_file_shares_no_other(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt", readers=["finance"]), docs / "b.txt", readers=["finance"])

    sources = add(sources, docs / "a.txt", readers=["*"])

    assert told(sources) == {"docs": ("finance", ("b.txt",)), "docs-2": ("shared", ("a.txt",))}


def test_the_only_file_of_a_source_takes_its_source_along(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt", readers=["*"]), docs / "a.txt", readers=["finance"])

    assert told(sources) == {"docs": ("finance", ("a.txt",))}


def test_metadata_of_one_file_is_not_that_of_another(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt", metadata={"year": 1}), docs / "b.txt", metadata={"year": 2})

    assert {one.files: one.metadata for one in sources.known} == {
        ("a.txt",): '{"year": 1}',
        ("b.txt",): '{"year": 2}',
    }


def test_a_file_given_a_new_name_leaves_its_old_source(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt"), docs / "a.txt", name="other")

    assert told(sources) == {"other": ("private", ("a.txt",))}


def test_a_folder_takes_in_the_files_of_it_that_were_added_in_the_same_way(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt", readers=["*"]), docs, readers=["*"])

    assert told(sources) == {"docs": ("shared", None)}


def test_a_folder_leaves_files_of_other_readers_to_their_own_source(docs: Path) -> None:
    sources = add(add(Sources(), docs / "a.txt"), docs, readers=["*"])

    assert told(sources) == {"docs": ("private", ("a.txt",)), "docs-2": ("shared", None)}
    assert sources.parts(sources.find("docs-2")) == ["a.txt"]


# --- names ---------------------------------------------------------------------------------------------------------


def test_two_folders_of_one_name_get_two_names(tmp_path: Path) -> None:
    sources = Sources()
    for parent in ("one", "two", "three"):
        (tmp_path / parent / "docs").mkdir(parents=True)
        sources = add(sources, tmp_path / parent / "docs")

    assert [one.name for one in sources.known] == ["docs", "docs-2", "docs-3"]


def test_names_that_differ_by_case_alone_are_one_name(tmp_path: Path) -> None:
    sources = Sources()
    for name in ("one/docs", "two/Docs"):
        (tmp_path / name).mkdir(parents=True)
        sources = add(sources, tmp_path / name)

    assert [one.name for one in sources.known] == ["Docs-2", "docs"]


def test_a_name_never_holds_what_parts_an_id(docs: Path) -> None:
    assert add(Sources(), docs, name="a/b").known[0].name == "a-b"


def test_a_folder_added_again_under_its_own_name_keeps_what_was_not_mentioned(docs: Path) -> None:
    once = add(Sources(), docs, name="handbook", readers=["*"])

    assert add(once, docs, name="handbook").known == once.known


# --- the settings' own ---------------------------------------------------------------------------------------------


def test_a_source_of_the_settings_is_changed_in_the_settings(docs: Path) -> None:
    settled = Sources([Known(name="docs", root=str(docs), by_hand=False)])

    with pytest.raises(SettingsError, match="described in the settings"):
        settled.adding(docs, {"readers": ("*",)})
    with pytest.raises(SettingsError, match="described in the settings"):
        settled.adding(docs, {"readers": ("*",), "name": "docs"})
    assert settled.adding(docs / "a.txt", {})[0].known == settled.known


def test_only_what_was_added_by_hand_is_remembered(docs: Path) -> None:
    settled = [Known(name="docs", root=str(docs), by_hand=False)]
    sources = add(Sources(settled), docs / "sub", name="inner", readers=["*"], metadata={"título": "é"})

    again = Sources.remembered(sources.to_text(), settled)

    assert again.known == sources.known
    assert Sources.remembered(sources.to_text(), []).known == (sources.find("inner"),)


def test_the_settings_outweigh_what_is_remembered_under_their_names(docs: Path) -> None:
    by_hand = add(Sources(), docs, readers=["*"])

    again = Sources.remembered(by_hand.to_text(), [Known(name="docs", root=str(docs), by_hand=False)])

    assert told(again) == {"docs": ("private", None)}


def test_nothing_is_remembered_of_a_new_bookcase() -> None:
    assert Sources.remembered(None, []).known == ()


def test_a_source_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="no source 'x'") as caught:
        Sources().find("x")

    assert "estante status" in caught.value.hint


def test_a_name_that_was_asked_for_and_is_taken_is_refused(tmp_path: Path) -> None:
    for parent in ("one", "two"):
        (tmp_path / parent).mkdir()
    sources = add(Sources(), tmp_path / "one", name="manuais")

    with pytest.raises(NameTaken, match="'manuais' reads"):
        add(sources, tmp_path / "two", name="Manuais")


def test_a_folder_that_another_source_reads_is_told_of(docs: Path, tmp_path: Path) -> None:
    once = add(Sources(), docs)
    (tmp_path / "other").mkdir()
    twice = add(add(once, docs, name="again"), tmp_path / "other")

    assert once.twice("docs") == ""
    assert twice.twice("again") == "the folder of 'again' is read by 'docs', too; its passages come up twice"
    assert twice.twice("other") == ""
    assert add(add(Sources(), docs / "a.txt"), docs, readers=["*"]).twice("docs-2") == ""
