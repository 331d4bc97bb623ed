"""Adding and refreshing: only what is new or changed is read, and nothing is left where it should not be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from estante.index.engine import Engine
from estante.index.fusion import Blend
from estante.ingest.pipeline import River, chunker
from estante.model.errors import ContractBroken, NotFound, SettingsError
from estante.model.ports import Deposit, Outcome
from estante.security import principals
from estante.shelf import shelving
from estante.shelf.bookcase import Bookcase
from estante.shelf.local import Shelves
from estante.shelf.sources import Known
from tests.parts import NOW, TinyEncoder, bookcase, shelves, stores

ANYONE = principals.reader("acme", [], "ana")
FINANCE = principals.reader("acme", ["finance"], "eva")


class Counting(TinyEncoder):
    """Knows how many passages it was asked for; counts as slow, so that vectors are kept."""

    slow = True

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.count += len(texts)
        return super().passages(texts)


def counted(path: Path | None = None, settled: Sequence[Known] = (), **cutting: object) -> tuple[Bookcase, Counting]:
    encoder = Counting()
    searcher = Engine(encoder, Blend())
    case = Bookcase(
        shelves=shelves(path, searcher),
        engine=searcher,
        river=River(chunker("headings", dict(cutting))),
        tenant="acme",
        owner=principals.owner("acme"),
        home=path,
        settled=settled,
        now=lambda: NOW,
    )
    return case, encoder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    for name, text in [
        ("a.txt", "licitação aberta"),
        ("b.txt", "férias do servidor"),
        ("sub/c.txt", "prazo do contrato"),
    ]:
        write(root / name, text)
    return root


@pytest.fixture(params=["memory", "disk"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookcase]:
    with bookcase(None if request.param == "memory" else tmp_path / "case") as made:
        yield made


def write(path: Path, text: str, *, later: int = 0) -> None:
    """Writes a file, ``later`` seconds after the last time."""
    path.write_text(text, encoding="utf-8")
    if later:
        touch(path, later)


def touch(path: Path, later: int) -> None:
    told = path.stat()
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns + later * 10**9))


def ids(case: Bookcase, asker: principals.Grant | None = None) -> list[str]:
    return [one.document_id for one in case.documents(asker=asker)]


def counts(outcome: Outcome) -> tuple[int, int, int, int]:
    return outcome.added, outcome.changed, outcome.unchanged, outcome.removed


def standing(case: Bookcase) -> dict[str, list[str]]:
    """The documents of each shelf."""
    found = {}
    for name, store in stores(case).items():
        with store.view() as view:
            found[name] = [one.document_id for one in view.listings(principals.owner("acme"), None)]
    return found


# --- what is read --------------------------------------------------------------------------------------------------


def test_a_folder_is_added_whole(case: Bookcase, docs: Path) -> None:
    outcome = case.add(docs)

    assert counts(outcome) == (3, 0, 0, 0)
    assert ids(case) == ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt"]


def test_what_is_added_twice_is_unchanged(case: Bookcase, docs: Path) -> None:
    case.add(docs)

    assert counts(case.add(docs)) == (0, 0, 3, 0)
    assert counts(case.refresh()) == (0, 0, 3, 0)


def test_a_refresh_counts_what_is_new_changed_unchanged_and_gone(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    write(docs / "a.txt", "licitação fechada", later=5)
    write(docs / "new.txt", "edital")
    (docs / "sub" / "c.txt").unlink()

    outcome = case.refresh()

    assert counts(outcome) == (1, 1, 1, 1)
    assert ids(case) == ["docs/a.txt", "docs/b.txt", "docs/new.txt"]
    assert case.text("docs/a.txt")[2] == "licitação fechada"


def test_a_file_that_was_touched_and_not_changed_is_not_encoded_again(docs: Path) -> None:
    case, encoder = counted()
    case.add(docs)
    before = encoder.count
    touch(docs / "a.txt", 5)

    assert counts(case.refresh()) == (0, 0, 3, 0)
    assert encoder.count == before


def test_a_file_that_was_touched_is_not_even_read_the_next_time(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, _ = counted()
    case.add(docs)
    touch(docs / "a.txt", 5)
    case.refresh()
    read: list[str] = []
    monkeypatch.setattr("estante.ingest.sources.folder.read_file", lambda *given: read.append(str(given)))

    case.refresh()

    assert read == []


def test_only_what_changed_is_encoded(docs: Path) -> None:
    case, encoder = counted()
    case.add(docs)
    write(docs / "a.txt", "licitação fechada", later=5)
    encoder.count = 0

    case.refresh()

    assert encoder.count == 1


def test_adding_one_file_of_a_known_folder_leaves_the_rest(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    write(docs / "a.txt", "licitação fechada", later=5)
    (docs / "b.txt").unlink()

    outcome = case.add(docs / "a.txt")

    assert counts(outcome) == (0, 1, 0, 0)
    assert "docs/b.txt" in case


def test_adding_a_part_prunes_the_part_alone(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    (docs / "sub" / "c.txt").unlink()
    (docs / "b.txt").unlink()

    outcome = case.add(docs / "sub")

    assert counts(outcome) == (0, 0, 0, 1)
    assert ids(case) == ["docs/a.txt", "docs/b.txt"]


def test_a_name_that_begins_like_the_part_is_no_part_of_it(case: Bookcase, docs: Path) -> None:
    write(docs / "sub.txt", "outro")
    case.add(docs)

    assert counts(case.add(docs / "sub")) == (0, 0, 1, 0)
    assert "docs/sub.txt" in case


def test_a_file_that_was_named_and_left_out_is_told(case: Bookcase, docs: Path) -> None:
    case.add(docs, exclude=["draft*"])
    write(docs / "draft.txt", "rascunho")

    outcome = case.add(docs / "draft.txt")

    assert [one.uri for one in outcome.skipped] == ["draft.txt"]
    assert "left out by the patterns" in outcome.skipped[0].reason


def test_another_way_of_cutting_reads_everything_again(tmp_path: Path, docs: Path) -> None:
    with bookcase(tmp_path / "case") as case:
        case.add(docs)

    with bookcase(tmp_path / "case", max_chars=9, min_chars=1) as case:
        assert counts(case.refresh()) == (0, 3, 0, 0)
        assert len(case.spans("docs/a.txt")) > 1


def test_a_run_over_many_batches_brings_the_same(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, small = bookcase(), bookcase()
    first = whole.add(docs)
    monkeypatch.setattr(shelving, "BATCH_ITEMS", 1)

    assert counts(small.add(docs)) == counts(first)
    assert ids(small) == ids(whole)


def test_two_hundred_and_one_chunks_of_one_item_come_in_whole(monkeypatch: pytest.MonkeyPatch, docs: Path) -> None:
    case, _ = counted(max_chars=9, min_chars=1)
    monkeypatch.setattr(shelving, "BATCH_CHUNKS", 100)
    text = " ".join(f"palavra{n}" for n in range(201))
    write(docs / "long.txt", text)

    case.add(docs)

    spans = case.spans("docs/long.txt")
    assert len(spans) >= 201
    assert "".join(text[span.start : span.end] for span in spans).replace(" ", "") == text.replace(" ", "")
    assert len(ids(case)) == 4


def test_a_run_over_one_source_takes_nothing_from_another(case: Bookcase, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other / "a.txt", "outro")
    case.add(docs)
    case.add({"note": "texto dado"})

    case.add(other)

    assert ids(case) == ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt", "note", "other/a.txt"]


def test_progress_counts_up_to_the_number_of_things_listed(case: Bookcase, docs: Path) -> None:
    told: list[tuple[int, int | None, str]] = []

    case.add(docs, progress=lambda *step: told.append(step))

    assert told == [(0, 3, "a.txt"), (1, 3, "b.txt"), (2, 3, "sub/c.txt")]


# --- failing -------------------------------------------------------------------------------------------------------


def test_a_put_that_fails_is_tried_again_the_next_time(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bookcase()
    store = stores(case)["private"]
    put = store.put

    def full(deposits: Sequence[Deposit]) -> None:
        raise OSError("no room")

    monkeypatch.setattr(store, "put", full)
    with pytest.raises(OSError, match="no room"):
        case.add(docs)
    monkeypatch.setattr(store, "put", put)

    assert counts(case.refresh()) == (3, 0, 0, 0)


def test_an_encoder_that_fails_costs_nothing_that_was_there(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, encoder = counted()
    case.add(docs)
    write(docs / "a.txt", "licitação fechada", later=5)

    def fail(texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "passages", fail)
        with pytest.raises(ContractBroken, match="RuntimeError"):
            case.refresh()

    assert case.text("docs/a.txt")[2] == "licitação aberta"
    assert counts(case.refresh()) == (0, 1, 2, 0)


def damage(path: Path) -> None:
    """Makes a file one that its extractor cannot read."""
    path.write_bytes(b"\x00\x01\x02\x03" * 50)
    touch(path, 5)


def test_a_file_that_cannot_be_read_any_more_keeps_its_earlier_text(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    damage(docs / "a.txt")

    outcome = case.refresh()

    assert case.text("docs/a.txt")[2] == "licitação aberta"
    assert [one.uri for one in outcome.skipped] == ["a.txt"]
    assert "its earlier text is kept" in outcome.skipped[0].reason


def test_it_keeps_it_under_another_way_of_cutting_too(tmp_path: Path, docs: Path) -> None:
    with bookcase(tmp_path / "case") as case:
        case.add(docs)
    damage(docs / "a.txt")

    with bookcase(tmp_path / "case", max_chars=9, min_chars=1) as case:
        case.refresh()

        assert case.text("docs/a.txt")[2] == "licitação aberta"


def test_it_is_tried_again_and_comes_back(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    damage(docs / "a.txt")
    case.refresh()
    write(docs / "a.txt", "licitação fechada", later=10)

    assert counts(case.refresh()) == (0, 1, 2, 0)


def test_a_file_that_never_could_be_read_is_told_every_time(case: Bookcase, docs: Path) -> None:
    damage(docs / "a.txt")

    outcomes = [case.add(docs), case.refresh(), case.refresh()]

    assert [[one.uri for one in outcome.skipped] for outcome in outcomes] == [["a.txt"]] * 3
    assert "docs/a.txt" not in case


def grown(docs: Path, limit: int) -> Sequence[Known]:
    """The folder as a source of the settings that leaves out what is too large."""
    return [Known(name="docs", root=str(docs), max_bytes=limit, by_hand=False)]


def test_a_file_that_is_passed_over_keeps_its_earlier_text(tmp_path: Path, docs: Path) -> None:
    case, _ = counted(None, grown(docs, 1_000))
    case.refresh()
    write(docs / "a.txt", "x" * 2_000, later=5)

    outcome = case.refresh()

    assert case.text("docs/a.txt")[2] == "licitação aberta"
    assert [one.uri for one in outcome.skipped] == ["a.txt"]


def test_a_source_that_cannot_be_listed_keeps_what_it_brought(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    docs.rename(docs.with_name("away"))

    outcome = case.refresh()

    assert len(ids(case)) == 3
    assert [one.uri for one in outcome.skipped] == ["docs"]


def test_a_folder_within_that_cannot_be_listed_keeps_what_it_brought(
    case: Bookcase, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.add(docs)
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("estante.ingest.sources.folder.os.scandir", refusing)

    outcome = case.refresh()

    assert "docs/sub/c.txt" in case
    assert counts(outcome) == (0, 0, 2, 0)
    assert [one.uri for one in outcome.skipped] == ["sub/"]


# --- who may read it -----------------------------------------------------------------------------------------------


def test_without_readers_a_text_is_private(case: Bookcase, docs: Path) -> None:
    case.add(docs)

    assert standing(case) == {"shared": [], "private": ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt"]}
    assert ids(case, ANYONE) == []


def test_sharing_moves_a_text_and_unsharing_moves_it_back(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    all_three = ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt"]

    assert counts(case.add(docs, readers=["*"])) == (0, 3, 0, 0)
    assert standing(case) == {"shared": all_three, "private": []}
    assert ids(case, ANYONE) == all_three

    assert counts(case.add(docs, readers=[])) == (0, 3, 0, 0)
    assert standing(case) == {"shared": [], "private": all_three}
    assert ids(case, ANYONE) == []


def test_other_readers_are_a_change(case: Bookcase, docs: Path) -> None:
    case.add(docs, readers=["finance"])
    assert len(ids(case, FINANCE)) == 3

    assert counts(case.add(docs, readers=["legal"])) == (0, 3, 0, 0)
    assert ids(case, FINANCE) == []


def test_metadata_given_to_a_folder_is_a_change(case: Bookcase, docs: Path) -> None:
    case.add(docs)

    assert counts(case.add(docs, metadata={"year": 2024})) == (0, 3, 0, 0)
    assert [one.metadata for one in case.documents()] == [{"year": 2024}] * 3
    assert counts(case.add(docs, metadata={"year": 2024})) == (0, 0, 3, 0)


@pytest.mark.parametrize("how", ["damaged", "too large", "away"])
def test_a_text_that_is_no_longer_shared_does_not_stay_shared_because_it_cannot_be_read(docs: Path, how: str) -> None:
    def known(readers: tuple[str, ...] | None, limit: int = 1_000) -> Known:
        return Known(name="docs", root=str(docs), readers=readers, max_bytes=limit, by_hand=False)

    case, _ = counted(None, [known(("*",))])
    case.refresh()
    assert len(ids(case, ANYONE)) == 3
    if how == "damaged":
        damage(docs / "a.txt")
    elif how == "too large":
        write(docs / "a.txt", "x" * 2_000, later=5)
    else:
        docs.rename(docs.with_name("elsewhere"))
    case._settled = (known(None),)

    outcome = case.refresh()

    assert ids(case, ANYONE) == []
    assert standing(case)["shared"] == []
    assert outcome.skipped


def test_a_text_that_is_shared_more_widely_but_cannot_be_read_stays_as_it_was(docs: Path) -> None:
    settled = [Known(name="docs", root=str(docs), readers=("finance",), max_bytes=1_000, by_hand=False)]
    case, _ = counted(None, settled)
    case.refresh()
    write(docs / "a.txt", "x" * 2_000, later=5)
    case._settled = (Known(name="docs", root=str(docs), readers=("*",), max_bytes=1_000, by_hand=False),)

    case.refresh()

    assert ids(case, ANYONE) == ["docs/b.txt", "docs/sub/c.txt"]
    assert "docs/a.txt" in ids(case, FINANCE)


def test_a_part_that_gets_readers_of_its_own_is_taken_from_the_whole_at_once(case: Bookcase, docs: Path) -> None:
    case.add(docs, readers=["*"])

    case.add(docs / "sub", name="inner", readers=["finance"])

    assert ids(case, ANYONE) == ["docs/a.txt", "docs/b.txt"]
    assert ids(case) == ["docs/a.txt", "docs/b.txt", "inner/c.txt"]
    assert counts(case.refresh()) == (0, 0, 3, 0)


def test_a_file_that_gets_readers_of_its_own_is_taken_from_the_whole_at_once(case: Bookcase, docs: Path) -> None:
    case.add(docs, readers=["*"])

    case.add(docs / "a.txt", name="inner", readers=["finance"])

    assert ids(case, ANYONE) == ["docs/b.txt", "docs/sub/c.txt"]
    assert "inner/a.txt" in case
    assert counts(case.refresh()) == (0, 0, 3, 0)


def test_sharing_one_of_two_files_shares_no_other(case: Bookcase, docs: Path) -> None:
    case.add([docs / "a.txt", docs / "b.txt"])

    case.add(docs / "a.txt", readers=["*"])
    case.refresh()

    assert [name.rpartition("/")[2] for name in ids(case, ANYONE)] == ["a.txt"]
    assert len(ids(case)) == 2


def test_a_folder_shared_later_does_not_share_a_file_that_was_added_alone(case: Bookcase, docs: Path) -> None:
    case.add(docs / "a.txt")

    outcome = case.add(docs, readers=["*"])

    assert ids(case, ANYONE) == ["docs-2/b.txt", "docs-2/sub/c.txt"]
    assert "docs/a.txt" in case
    assert outcome.notes == ("a.txt: left to the source that holds it",)


# --- identities ----------------------------------------------------------------------------------------------------


def test_one_id_is_one_document_in_the_whole_bookcase(case: Bookcase, docs: Path) -> None:
    case.add({"docs/a.txt": "texto dado"})

    outcome = case.add(docs, readers=["*"])

    assert [one.uri for one in outcome.skipped] == ["a.txt"]
    assert "another item already brought a document" in outcome.skipped[0].reason
    assert ids(case) == ["docs/a.txt", "docs/b.txt", "docs/sub/c.txt"]
    assert case.text("docs/a.txt")[2] == "texto dado"
    assert counts(outcome) == (2, 0, 0, 0)


def test_the_same_holds_when_the_text_comes_second(case: Bookcase, docs: Path) -> None:
    case.add(docs, readers=["*"])

    with pytest.raises(SettingsError, match="another item already brought"):
        case.add({"docs/a.txt": "texto dado"})

    assert case.text("docs/a.txt")[2] == "licitação aberta"


def test_an_id_that_is_taken_in_one_source_is_counted_in_another(case: Bookcase, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other / "a.txt", "outro")
    case.add({"docs/a.txt": "texto dado"})

    outcome = case.add([docs, other])

    assert counts(outcome) == (3, 0, 0, 0)


def test_a_file_renamed_by_case_ends_as_one_document(case: Bookcase, docs: Path) -> None:
    write(docs / "Guia.MD", "# Guia\n\ntexto")
    case.add(docs)
    (docs / "Guia.MD").rename(docs / "guia.md")

    outcome = case.refresh()

    assert counts(outcome) == (1, 0, 3, 1)
    assert [one.uri for one in case.documents() if "guia" in one.document_id] == ["guia.md"]


def test_two_folders_of_one_name_are_two_sources(case: Bookcase, docs: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin" / "docs"
    twin.mkdir(parents=True)
    write(twin / "a.txt", "outro")

    case.add([docs, twin])

    assert "docs/a.txt" in case
    assert case.text("docs-2/a.txt")[2] == "outro"


@pytest.mark.parametrize("name", ["sub", "[ab]", "a#b!", "com espaço"])
def test_a_folder_within_that_is_a_source_of_its_own_is_left_to_it(case: Bookcase, docs: Path, name: str) -> None:
    inner = docs / name
    inner.mkdir(exist_ok=True)
    write(inner / "z.txt", "interno")
    case.add(inner, readers=["finance"])

    outcome = case.add(docs, readers=["*"])

    assert f"{name}/: left to the source that holds it" in outcome.notes
    assert not [key for key in ids(case, ANYONE) if "z.txt" in key]
    assert len([key for key in ids(case) if "z.txt" in key]) == 1


def test_a_source_that_is_taken_away_takes_what_it_brought(case: Bookcase, docs: Path) -> None:
    case.add(docs)
    case.add({"note": "texto dado"})

    assert case.remove_source("docs") == 3
    assert ids(case) == ["note"]
    assert counts(case.refresh()) == (0, 0, 0, 0)
    with pytest.raises(NotFound):
        case.remove_source("docs")


def test_a_source_of_the_settings_is_not_taken_away_by_hand(docs: Path) -> None:
    case, _ = counted(None, grown(docs, 1_000))
    case.refresh()

    with pytest.raises(SettingsError, match="described in the settings"):
        case.remove_source("docs")
    assert len(ids(case)) == 3


def test_a_folder_that_is_remembered_is_known_after_reopening(tmp_path: Path, docs: Path) -> None:
    with bookcase(tmp_path / "case") as case:
        case.add(docs, readers=["finance"])
    write(docs / "new.txt", "edital")

    with bookcase(tmp_path / "case") as case:
        assert counts(case.refresh()) == (1, 0, 3, 0)
        assert len(ids(case, FINANCE)) == 4


def test_shelves_are_held_by_one_writer_at_a_time(tmp_path: Path, docs: Path) -> None:
    from estante.model.errors import LockedShelf

    with bookcase(tmp_path / "case") as one, bookcase(tmp_path / "case") as other:
        held: Shelves = one._shelves
        with held.writing("a long job"), pytest.raises(LockedShelf, match="a long job") as caught:
            other.add(docs)

    assert "Wait" in caught.value.hint


# --- vectors that stay -----------------------------------------------------------------------------------------------


def sections(**texts: str) -> str:
    return "\n\n".join(f"# {title}\n\n{text}" for title, text in texts.items())


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_changed_document_has_only_its_changed_passages_encoded(place: str, tmp_path: Path) -> None:
    case, encoder = counted(None if place == "memory" else tmp_path / "case", min_chars=1, max_chars=100)
    page = tmp_path / "page.md"
    write(page, sections(um="prazo " * 10, dois="férias " * 10, três="multa " * 10))
    with case:
        case.add(page)
        first = encoder.count

        write(page, sections(um="prazo " * 10, dois="folga " * 10, três="multa " * 10), later=5)
        case.add(page)

        assert (first, encoder.count) == (3, 4)
        assert [hit.chunk.trail for hit in case.search("multa", 1)] == [("três",)]


def test_a_document_that_changes_shelves_keeps_its_vectors(tmp_path: Path) -> None:
    case, encoder = counted(tmp_path / "case")
    with case:
        case.add({"a": "prazo de férias"})
        before = encoder.count
        case.add({"a": "prazo de férias"}, readers=["*"])

        assert encoder.count == before
        assert case.search("férias", asker=ANYONE).hits


def test_a_passage_under_another_heading_is_encoded_anew(tmp_path: Path) -> None:
    case, encoder = counted(min_chars=1, max_chars=60)
    page = tmp_path / "page.md"
    text = "As férias são de trinta dias. " * 3
    with case:
        write(page, sections(servidor=text))
        case.add(page)
        first = encoder.count

        write(page, sections(estagiário=text), later=5)
        case.add(page)

        assert encoder.count == 2 * first


def test_vectors_that_were_kept_are_those_that_would_be_made(tmp_path: Path) -> None:
    changed, fresh = counted(tmp_path / "changed")[0], counted(tmp_path / "fresh")[0]
    page = tmp_path / "page.md"
    with changed, fresh:
        write(page, sections(um="prazo " * 300, dois="férias " * 300))
        changed.add(page)
        write(page, sections(um="prazo " * 300, dois="folga " * 300), later=5)
        changed.add(page)
        fresh.add(page)

        assert kept(changed) == kept(fresh)


def kept(case: Bookcase) -> list[object]:
    with stores(case)["private"].view() as view:
        [document] = [row.document_id for row in view.listings(principals.owner("acme"), None)]
        return [entry.vector for entry in view.entries(document)]


@pytest.mark.parametrize(("slow", "commits"), [(False, 1), (True, 3)])
def test_a_slow_encoder_has_its_passages_committed_in_smaller_batches(
    slow: bool, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelving, "SLOW_CHUNKS", 2)
    case, encoder = counted()
    encoder.slow = slow  # type: ignore[attr-defined]
    private = stores(case)["private"]
    put, puts = private.put, []
    monkeypatch.setattr(private, "put", lambda deposits: puts.append(len(deposits)) or put(deposits))
    with case:
        case.add({f"d{n}": f"documento {n}" for n in range(6)})

    assert len(puts) == commits
