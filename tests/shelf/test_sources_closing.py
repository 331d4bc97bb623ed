"""Sources that come, go and change their readers: nothing stays open by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

import estante
from estante.model.errors import SettingsError


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "Docs"
    folder.mkdir()
    (folder / "Portaria-12.MD").write_text("# Portaria\n\nConcede férias coletivas.", encoding="utf-8")
    return folder


def described(home: Path, docs: Path, name: str, readers: str) -> None:
    text = f'[[source]]\nroot = "{docs}"\nname = "{name}"\nreaders = {readers}\n'
    (home / "estante.toml").write_text(text, encoding="utf-8")


def scopes(home: Path) -> dict[str, str]:
    with estante.open(home) as case:
        return {one.document_id: one.scope.label() for one in case.documents()}


def test_a_source_taken_out_of_the_settings_takes_its_documents_with_it(tmp_path: Path, docs: Path) -> None:
    described(tmp_path, docs, "contratos", '["*"]')
    with estante.create(tmp_path) as case:
        case.refresh()
    (tmp_path / "estante.toml").write_text("", encoding="utf-8")

    with estante.open(tmp_path) as case:
        outcome = case.refresh()

    assert scopes(tmp_path) == {}
    assert outcome.removed == 1
    assert "contratos" in outcome.notes[0]


def test_a_source_renamed_in_the_settings_leaves_nothing_behind(tmp_path: Path, docs: Path) -> None:
    described(tmp_path, docs, "a1", '["*"]')
    with estante.create(tmp_path) as case:
        case.refresh()
    described(tmp_path, docs, "a2", '["rh"]')

    with estante.open(tmp_path) as case:
        case.refresh()

    assert scopes(tmp_path) == {"a2/portaria-12.md": "rh"}


def test_settings_taken_back_do_not_open_what_was_shared_by_hand_before(tmp_path: Path, docs: Path) -> None:
    with estante.create(tmp_path) as case:
        case.add(docs, readers=["*"])
    described(tmp_path, docs, "Docs", '["rh"]')
    with estante.open(tmp_path) as case:
        case.refresh()
    (tmp_path / "estante.toml").write_text("", encoding="utf-8")

    with estante.open(tmp_path) as case:
        case.refresh()

    assert scopes(tmp_path) == {}


def test_an_unknown_source_that_brought_documents_can_be_removed_by_name(tmp_path: Path, docs: Path) -> None:
    described(tmp_path, docs, "contratos", '["*"]')
    with estante.create(tmp_path) as case:
        case.refresh()
    (tmp_path / "estante.toml").write_text("", encoding="utf-8")

    with estante.open(tmp_path) as case:
        assert case.remove_source("Contratos") == 1


def test_adding_with_no_readers_at_all_closes_what_was_shared(tmp_path: Path, docs: Path) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add(docs, readers=["*"])

        outcome = case.add(docs, readers=[])

        assert [one.scope.label() for one in case.documents()] == ["private"]
        assert outcome.notes[0] == "source Docs: was shared, is now private"


def test_adding_again_without_a_word_on_readers_says_that_it_stays_shared(tmp_path: Path, docs: Path) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add(docs, readers=["*"])

        outcome = case.add(docs)

        assert "stays shared" in outcome.notes[0]


def test_a_folder_that_two_sources_read_must_be_named(tmp_path: Path, docs: Path) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add(docs, name="aberta", readers=["*"])
        case.add(docs, name="sigilosa")

        with pytest.raises(SettingsError, match="aberta, sigilosa"):
            case.add(docs, readers=["*"])


def test_a_path_pasted_as_it_is_written_finds_its_document(tmp_path: Path, docs: Path) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add(docs)

        assert case.document("Docs/Portaria-12.MD").id == "docs/portaria-12.md"
        assert "Docs/Portaria-12.MD" in case
        assert case.delete("Docs/Portaria-12.MD") == 1
