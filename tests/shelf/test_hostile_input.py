"""What people and programs hand over by mistake or on purpose: nothing is lost, opened or told by it."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.model.content import LINE_REACH, line_marks
from estante.model.errors import EstanteError, FullDisk, NotFound, NotSignedIn, SettingsError
from estante.security import principals
from estante.shelf.bookcase import Bookcase
from tests.parts import bookcase, stores

TOKEN = "ghp_" + "Ab1" * 12


@pytest.fixture(params=["memory", "disk"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookcase]:
    with bookcase(None if request.param == "memory" else tmp_path / "case") as made:
        yield made


# --- texts on the move -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after", "stopped"), [(None, ["*"], "shared"), (["*"], None, "private")])
def test_a_move_that_finds_no_room_loses_nothing(
    case: Bookcase, monkeypatch: pytest.MonkeyPatch, before: Any, after: Any, stopped: str
) -> None:
    case.add({"contrato": "prazo de vigência"}, readers=before or [], metadata={"contrato": {"ano": 2024}})

    def full(_: object) -> None:
        raise FullDisk("no room", hint="Free some.")

    with monkeypatch.context() as broken:
        broken.setattr(stores(case)[stopped], "put", full)
        with pytest.raises(FullDisk):
            case.add({"contrato": "prazo de vigência"}, readers=after or [], metadata={"contrato": {"ano": 2024}})
    case.compact()

    document = case.document("contrato")
    assert (document.text, document.metadata) == ("prazo de vigência", {"ano": 2024})
    assert len(case) == 1


def test_an_opened_text_that_stopped_on_both_shelves_ends_on_the_shared_one(
    case: Bookcase, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.add({"edital": "prazo"})

    def stop(_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(stores(case)["private"], "drop", stop)
        with pytest.raises(KeyboardInterrupt):
            case.add({"edital": "prazo"}, readers=["*"])
    case.compact()

    assert [one.scope.label() for one in case.documents()] == ["shared"]
    assert len(case) == 1


def test_a_source_whose_removal_was_stopped_is_still_known(
    case: Bookcase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notas").mkdir()
    (tmp_path / "notas" / "a.md").write_text("prazo", encoding="utf-8")
    case.add(tmp_path / "notas", readers=["*"])

    def stop(_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(stores(case)["shared"], "drop", stop)
        with pytest.raises(KeyboardInterrupt):
            case.remove_source("notas")

    assert case.remove_source("notas") == 1
    assert case.documents() == []


# --- who asks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asker", [{}, "", 0, False, (), "bob"])
def test_what_is_no_grant_is_no_asker(case: Bookcase, asker: Any) -> None:
    case.add({"a": "prazo"})

    for ask in (
        lambda: case.search("prazo", asker=asker),
        lambda: case.text("a", asker=asker),
        lambda: case.documents(asker=asker),
    ):
        with pytest.raises(NotSignedIn):
            ask()


def test_a_reader_gets_the_scores_of_a_shelf_without_what_is_hidden(tmp_path: Path) -> None:
    mine = {"a": "o prazo do contrato", "b": "zebra e prazo", "c": "a leave of absence"}
    hidden = {"x": "zebra merger com a empresa", "y": "o prazo para a fusão de zebra", "z": "licença para zebra"}
    asker = principals.reader("acme", ["fin"], "someone")
    with bookcase(tmp_path / "mixed") as mixed, bookcase(tmp_path / "alone") as alone, bookcase() as memory:
        for each in (mixed, alone, memory):
            each.add(mine, readers=["fin"])
        for each in (mixed, memory):
            each.add(hidden, readers=["board"])

        for query in ("prazo zebra merger", "para zebra", "o contrato", "fusão"):
            answers = [each.search(query, asker=asker) for each in (mixed, alone, memory)]
            told = [(one.hits, one.coverage, one.absent) for one in answers]

            assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("readers", [["*", "finance"], "finance", [""], [5], ["\ud800"], 5])
def test_doubtful_readers_stop_before_anything_is_touched(case: Bookcase, readers: Any) -> None:
    with pytest.raises(SettingsError):
        case.add({"a": "prazo"}, readers=readers)

    assert len(case) == 0


# --- secrets ---------------------------------------------------------------------------------------------------------


def test_a_secret_in_names_and_losses_is_nowhere_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / f"docs-{TOKEN}"
    folder.mkdir()
    (folder / f"{TOKEN}.md").write_text(f"---\n{TOKEN}: !!binary aGVsbG8=\n---\nprazo de vigência\n", encoding="utf-8")
    (folder / f"vazio-{TOKEN}.txt").write_text("", encoding="utf-8")
    home = tmp_path / "case"
    with bookcase(home) as case:
        case.add(folder)
        case.add({f"id-{TOKEN}": "prazo"})
        shown = repr((case.documents(), case.search("prazo"), case.refresh()))
    assert TOKEN not in shown

    for path in home.rglob("*.sqlite"):
        with sqlite3.connect(path) as connection:
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {table: repr(connection.execute(f"SELECT * FROM {table}").fetchall()) for table in tables}
        connection.close()
        # The folder's own path must be kept to be read again; it stands in one place, on the private shelf.
        assert [table for table, told in rows.items() if TOKEN in told] in ([], ["meta"])
    assert all(TOKEN.encode() not in file.read_bytes() for file in home.rglob("*.seg"))


def test_of_two_names_that_differ_in_a_secret_alone_the_second_is_told(case: Bookcase, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("ghp_" + "Ab1" * 12, "ghp_" + "Cd2" * 12):
        (folder / f"{name}.log").write_text(f"texto {len(name)}", encoding="utf-8")

    outcome = case.add(folder)

    assert (outcome.added, len(outcome.skipped)) == (1, 1)
    assert "another item already brought" in outcome.skipped[0].reason


def test_notes_and_reasons_of_an_addition_hold_no_secret_of_a_file_name(case: Bookcase, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / f"{TOKEN}.txt").write_bytes("vigência do convênio".encode("latin-1"))
    (folder / f"vazio {TOKEN}.txt").write_bytes(b"")

    outcome = case.add(folder)

    assert (len(outcome.notes), len(outcome.skipped)) == (1, 1)
    assert TOKEN not in repr(outcome)


# --- names and values ------------------------------------------------------------------------------------------------


def test_a_number_without_end_costs_its_own_value_and_nothing_else(case: Bookcase, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "n.md").write_text(f"---\nn: 0x{'f' * 5_000}\nano: 2024\n---\nprazo\n", encoding="utf-8")
    (folder / "o.md").write_text("outro prazo", encoding="utf-8")

    case.add(folder)

    assert {one.document_id: one.metadata for one in case.documents()} == {
        "docs/n.md": {"ano": 2024},
        "docs/o.md": {},
    }
    with pytest.raises(EstanteError):
        case.add({"a": "x"}, metadata={"a": {"n": 10**5000}})
    with pytest.raises(EstanteError):
        case.search("x", where={"a": 10**5000})


def test_an_id_typed_in_parts_is_found(case: Bookcase) -> None:
    decomposed = unicodedata.normalize("NFD", "café")
    case.add({decomposed: "prazo"})

    assert case.text(decomposed)[2] == case.text("café")[2] == "prazo"
    assert case.delete(decomposed) == 1


@pytest.mark.parametrize("document_id", ["\ud800", "a\ud800b"])
def test_half_a_character_is_in_no_id(case: Bookcase, document_id: str) -> None:
    case.add({"a": "prazo"})

    for ask in (case.text, case.document, case.spans, case.delete):
        with pytest.raises(NotFound):
            ask(document_id)
    assert document_id not in case


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000])
def test_what_is_no_path_is_told(case: Bookcase, path: str) -> None:
    with pytest.raises(EstanteError):
        case.add(path)


def test_a_text_of_signs_that_nobody_sees_is_no_text(case: Bookcase) -> None:
    with pytest.raises(SettingsError, match="no text in it"):
        case.add({"a": "\u200b\u200b"})


def test_a_folder_with_a_name_in_no_encoding_is_read_and_its_private_part_stays_private(
    case: Bookcase, tmp_path: Path
) -> None:
    import os

    top = os.fsencode(tmp_path) + b"/top\xe9"
    os.makedirs(top + b"/priv\xe9")
    with open(top + b"/priv\xe9/s.md", "w", encoding="utf-8") as file:
        file.write("segredo da fusão")
    with open(top + b"/a.md", "w", encoding="utf-8") as file:
        file.write("prazo")

    case.add(os.fsdecode(top + b"/priv\xe9"), name="priv")
    case.add(os.fsdecode(top), readers=["*"])

    stranger = principals.reader("acme", [], "someone")
    assert {one.document_id: one.scope.label() for one in case.documents()} == {
        "priv/s.md": "private",
        "top%e9/a.md": "shared",
    }
    assert [one.document_id for one in case.documents(asker=stranger)] == ["top%e9/a.md"]


def test_a_long_line_has_marks_to_count_from() -> None:
    text = "x" * (LINE_REACH * 3) + "\nfim"

    marks = list(line_marks(text))

    assert [(mark.start, mark.label) for mark in marks] == [(LINE_REACH * n, "1") for n in range(4)]
