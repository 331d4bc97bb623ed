"""The catalog: texts in pages, sums over rows, and one whole state to read."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from estante.index import catalog, records, segments
from estante.index.catalog import Catalog
from estante.index.notes import generation, note, noted, row_crc
from estante.index.records import CUTS, PAGE, DocumentRow, place_of
from estante.index.storing import STORES
from estante.model.content import Mark, Span
from estante.model.errors import CorruptShelf, FullDisk, StaleShelf, Unavailable
from estante.model.ports import Store
from estante.security import principals
from tests.index.building import OWNER, deposit, document, entries, store, stored, vector
from tests.parts import bookcase


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shelf"


@pytest.fixture
def made(folder: Path) -> Iterator[Store]:
    found = store(folder)
    yield found
    found.close()


def reopened(folder: Path) -> Store:
    """The shelf as another process would find it."""
    found: Store = STORES.load("embedded")(folder, tenant="acme", shared=False)
    return found


def edit(folder: Path, statement: str, *values: object) -> None:
    """Changes the file behind the shelf's back."""
    connection = sqlite3.connect(folder / "catalog.sqlite")
    with connection:
        assert connection.execute(statement, values).rowcount == 1
        note(connection, "generation", str(generation(connection, AssertionError) + 1))
    connection.close()


def put(made: Store, text: str, key: str = "a", marks: tuple[Mark, ...] = ()) -> None:
    one = document(key, text, marks=marks, metadata={"year": 2024})
    made.put([deposit((one, entries(one, [{"x": 1}], [vector(1)])))])


# --- texts in pages ------------------------------------------------------------------------------------------------

# Three pages and a bit, with characters of one to four bytes, some of them on the borders.
LONG = ("aé日🦜\n" * (3 * PAGE // 5 + 7))[: 3 * PAGE + 11]
EDGES = [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE, 2 * PAGE + 1, 3 * PAGE, len(LONG) - 1, len(LONG)]


def test_a_slice_is_exact_across_the_borders_of_pages(made: Store) -> None:
    put(made, LONG)
    bounds = [(start, end) for start in EDGES for end in EDGES if start <= end]

    with made.view() as view:
        found = [view.slice("a", *pair, OWNER) for pair in bounds]

    assert found == [(start, end, LONG[start:end]) for start, end in bounds]


def test_every_slice_of_small_pages_is_a_slice_of_the_text(made: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PAGE", 4)
    random = Random(7)
    texts = ["".join(random.choices("aé日🦜\n", k=size)) for size in range(1, 14)]
    for at, text in enumerate(texts):
        put(made, text, f"d{at}")

    with made.view() as view:
        for at, text in enumerate(texts):
            bounds = [(start, end) for start in range(len(text) + 1) for end in range(start, len(text) + 1)]
            assert [view.slice(f"d{at}", *pair, OWNER)[2] for pair in bounds] == [text[a:b] for a, b in bounds]


def test_a_slice_reads_the_pages_that_it_stands_on_and_no_others(made: Store, folder: Path) -> None:
    put(made, LONG)
    edit(folder, f"UPDATE texts SET data = x'00' WHERE place = {place_of(1, 2)}")

    with made.view() as view:
        assert view.slice("a", 0, 2 * PAGE, OWNER)[2] == LONG[: 2 * PAGE]
    with pytest.raises(CorruptShelf, match="damaged"), made.view() as view:
        view.slice("a", 0, 2 * PAGE + 1, OWNER)


def test_a_page_that_is_missing_is_an_error_and_no_shorter_text(made: Store, folder: Path) -> None:
    put(made, LONG)
    edit(folder, f"DELETE FROM texts WHERE place = {place_of(1, 1)}")

    with pytest.raises(CorruptShelf, match="a page of text is missing"), made.view() as view:
        view.document("a", OWNER)


def test_a_document_comes_back_whole(made: Store) -> None:
    put(made, LONG, marks=(Mark("heading", 0, 5, "Título 🦜", 1), Mark("page", 0, len(LONG), "1")))

    with made.view() as view:
        found = view.document("a", OWNER)

    assert found == document("a", LONG, marks=found.marks, metadata={"year": 2024})
    assert [mark.label for mark in found.marks] == ["Título 🦜", "1"]


def test_more_cuts_than_a_page_holds_come_back_in_order(made: Store) -> None:
    count = 2 * CUTS + 3
    one = document("a", "x" * count)
    made.put([deposit((one, entries(one, [{"x": 1}] * count, [vector(1)] * count)))])

    with made.view() as view:
        assert view.spans("a", OWNER) == tuple(Span(at, at + 1) for at in range(count))
        refs = [found.ref for found in view.nearest(vector(1), count, OWNER, None)]
        assert [chunk.index for chunk in view.chunks(refs, OWNER)] == list(range(count))


# --- sums over rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["title", "uri", "source", "item", "language", "media_type", "metadata", "added"])
def test_a_field_that_was_edited_from_outside_is_an_error_and_no_answer(made: Store, folder: Path, field: str) -> None:
    put(made, "texto")
    edit(folder, f"UPDATE documents SET {field} = 'x'")

    with pytest.raises(CorruptShelf, match="does not match its sum") as caught, made.view() as view:
        view.document("a", OWNER)

    assert "backup" in caught.value.hint
    assert any("does not match its sum" in problem for problem in made.check())


def test_a_scope_that_was_edited_from_outside_is_an_error(made: Store, folder: Path) -> None:
    put(made, "texto")
    edit(folder, "UPDATE documents SET scope = 99")

    with pytest.raises(CorruptShelf), made.view() as view:
        view.document("a", OWNER)


@pytest.mark.parametrize("field", ["revision", "digest", "recipe", "reason", "docs", "item"])
def test_what_is_remembered_of_an_item_is_an_error_once_it_was_edited(made: Store, folder: Path, field: str) -> None:
    put(made, "texto")
    edit(folder, f"UPDATE items SET {field} = '9'")

    with pytest.raises(CorruptShelf, match="does not match its sum"), made.view() as view:
        view.ledger()
    assert any("does not match its sum" in problem for problem in made.check())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = 'other' WHERE key = 'tenant'",
        "UPDATE meta SET value = '2' WHERE key = 'format'",
        "UPDATE meta SET value = '0' WHERE key = 'generation'",
        "UPDATE meta SET key = 'tenants' WHERE key = 'tenant'",
        "UPDATE segments SET name = 'x'",
        "UPDATE segments SET segment = 9",
        "UPDATE scopes SET scope = 2",
        "UPDATE documents SET doc = 2",
        "UPDATE documents SET version = 9",
    ],
)
def test_every_row_that_was_edited_is_told_as_damage(made: Store, folder: Path, damage: str) -> None:
    put(made, "texto")
    made.close()
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        assert connection.execute(damage).rowcount == 1

    with pytest.raises(CorruptShelf), closing(reopened(folder)) as again, again.view() as view:
        view.document("a", OWNER)


def test_a_shelf_of_the_first_format_is_stale(made: Store, folder: Path) -> None:
    made.close()
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE meta DROP COLUMN crc")

    with pytest.raises(StaleShelf, match="format"):
        reopened(folder)


def test_a_shelf_of_the_format_before_this_one_is_stale_and_says_what_to_do(made: Store, folder: Path) -> None:
    made.close()
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        note(connection, "format", str(int(catalog.FORMAT) - 1))

    with pytest.raises(StaleShelf, match="format '2', this version reads '3'") as caught:
        reopened(folder)
    assert "estante rebuild" in caught.value.hint


def test_numbers_are_given_once(plain: Catalog) -> None:
    with plain.changing() as connection:
        first = records.reserve(connection, "document", 3, plain.broken)
        second = records.reserve(connection, "document", 2, plain.broken)

    assert (list(first), list(second)) == ([1, 2, 3], [4, 5])
    with plain.reading() as connection:
        assert noted(connection, "document", plain.broken) == "5"


def test_a_view_inside_a_writing_that_fails_commits_nothing_of_it(made: Store, folder: Path) -> None:
    put(made, "texto")
    for file in (folder / "segments").iterdir():
        file.write_bytes(b"x")
    made.close()
    again = reopened(folder)

    def fail() -> None:
        with again._catalog.changing() as connection:  # type: ignore[attr-defined]
            note(connection, "half", "done")
            with again.view():
                pass

    with pytest.raises(CorruptShelf):
        fail()

    with again._catalog.reading() as connection:  # type: ignore[attr-defined]
        assert noted(connection, "half", AssertionError) is None
    again.close()


def test_a_sum_tells_a_number_from_its_text_and_one_field_from_two() -> None:
    sums = {row_crc(fields) for fields in [(1, "a"), ("1", "a"), ("1a",), ("1", "", "a"), (None, "a")]}

    assert len(sums) == 5


def test_a_healthy_shelf_has_nothing_wrong(made: Store) -> None:
    put(made, LONG)
    made.put(stored({"b": [{"y": 2}]}))
    made.drop([("", "a")])

    assert made.check() == []


def test_a_document_without_its_rows_in_a_segment_is_found_by_the_check(made: Store, folder: Path) -> None:
    put(made, "texto")
    edit(folder, "UPDATE documents SET segment = 77")

    assert any("not in its segment" in problem for problem in made.check())


def test_features_that_are_missing_are_an_error(made: Store, folder: Path) -> None:
    put(made, "texto")
    edit(folder, "DELETE FROM features")

    with pytest.raises(CorruptShelf, match="features of document 'a' are missing"), made.view() as view:
        view.document("a", OWNER)


def test_a_merge_that_fails_costs_nothing_and_harms_no_later_state(
    made: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> int:
        with made.view() as view:
            return len(view.nearest(vector(1), 10, OWNER, None))

    put(made, "texto", "a")
    assert found() == 1
    write, written = segments.write, []

    def fail(path: Path, rows: segments.Rows) -> tuple[int, int]:
        written.append(path)
        if len(written) == 2:  # The put itself is written, then the merge that it makes due.
            raise FullDisk("no room", hint="-")
        return write(path, rows)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "write", fail)
        put(made, "texto", "b")
    made.remember("another", "state")

    assert (len(written), found(), made.check()) == (2, 2, [])
    put(made, "texto", "c")
    assert found() == 3


# --- reading and changing ------------------------------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Catalog]:
    found = Catalog.create(tmp_path / "catalog.sqlite", {"tenant": "acme"})
    yield found
    found.close()


def test_a_new_catalog_has_its_meta_and_its_format(plain: Catalog) -> None:
    assert plain.meta() == {"tenant": "acme", "format": catalog.FORMAT, "generation": "0"}


def test_a_change_counts_up_the_generation(plain: Catalog) -> None:
    with plain.changing():
        pass

    assert plain.meta()["generation"] == "1"


def test_a_change_that_fails_leaves_nothing(plain: Catalog) -> None:
    def fail() -> None:
        with plain.changing() as connection:
            note(connection, "x", "y")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert plain.meta() == {"tenant": "acme", "format": catalog.FORMAT, "generation": "0"}


def test_a_reader_sees_one_state_while_a_writer_changes_it(plain: Catalog) -> None:
    def change() -> None:
        with plain.changing() as connection:
            note(connection, "x", "y")

    with plain.reading() as connection:
        before = connection.execute("SELECT count(*) FROM meta").fetchone()
        writer = threading.Thread(target=change)
        writer.start()
        writer.join()
        during = connection.execute("SELECT count(*) FROM meta").fetchone()

    assert before == during
    assert "x" in plain.meta()


def test_a_closed_catalog_says_so(plain: Catalog) -> None:
    plain.close()
    plain.close()

    with pytest.raises(Unavailable, match="closed"):
        plain.meta()


def test_a_catalog_that_may_only_be_read_is_not_changed(tmp_path: Path, plain: Catalog) -> None:
    plain.close()
    reader = Catalog(tmp_path / "catalog.sqlite", read_only=True)

    with pytest.raises(Unavailable, match="cannot be written to"), reader.changing():
        pass

    assert reader.meta()["tenant"] == "acme"
    reader.close()


def test_a_file_that_is_no_catalog_is_corrupt(tmp_path: Path, plain: Catalog) -> None:
    plain.close()
    (tmp_path / "catalog.sqlite").write_bytes(b"no database" * 500)
    other = Catalog(tmp_path / "catalog.sqlite")

    with pytest.raises(CorruptShelf, match="damaged"):
        other.meta()
    other.close()


def test_a_catalog_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    absent = Catalog(tmp_path / "absent.sqlite")

    with pytest.raises(Unavailable, match="cannot be opened"):
        absent.meta()
    assert not (tmp_path / "absent.sqlite").exists()


def test_threads_that_ended_leave_no_file_open(plain: Catalog) -> None:
    def ask(done: Callable[[], object]) -> None:
        thread = threading.Thread(target=done)
        thread.start()
        thread.join()

    ask(plain.meta)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0

    for _ in range(20):
        ask(plain.meta)

    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_the_columns_of_a_row_are_those_of_the_table(plain: Catalog) -> None:
    with plain.reading() as connection:
        known = {row[1] for row in connection.execute("PRAGMA table_info(documents)")}

    assert {name.strip() for name in DocumentRow.COLUMNS.split(",")} <= known


def test_the_catalog_is_its_owners_alone(plain: Catalog, tmp_path: Path) -> None:
    assert (tmp_path / "catalog.sqlite").stat().st_mode & 0o077 == 0


def test_readers_that_were_edited_from_outside_open_nothing(tmp_path: Path) -> None:
    with bookcase(tmp_path / "case") as case:
        case.add({"a": "zebra"}, readers=["board"])
    path = tmp_path / "case" / "private" / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE scopes SET readers = '*'")

    with bookcase(tmp_path / "case") as case, pytest.raises(CorruptShelf, match="scope"):
        case.search("zebra", asker=principals.reader("acme", [], "someone"))
