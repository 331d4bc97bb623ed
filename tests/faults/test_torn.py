"""A damaged file is an error that says what to do, or makes no difference; it never gives another answer."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from estante.index.records import PAGES, WHOLE
from estante.model.errors import CorruptShelf
from estante.shelf import assemble
from tests.faults.bench import Bench
from tests.faults.cases import OWNER, SHELVES, case_at, contents
from tests.faults.corpus import Writer, marker_of
from tests.faults.deeds import Deed, State
from tests.faults.killing import Victims
from tests.faults.tearing import (
    DAMAGED,
    Damage,
    Reads,
    after,
    cut_to,
    damages_of_a_file,
    edit,
    flipped,
    lies,
    overwritten,
    page_size,
    reads,
    rest,
)
from tests.faults.wholeness import assert_as_fresh, assert_whole

pytestmark = pytest.mark.faults


class Healthy:
    """A case at rest, and what it answers."""

    def __init__(self, where: Path) -> None:
        self.bench = Bench(where, "torn")
        with case_at(self.bench.home) as case:
            for deed in (
                Deed("delete", ids=("texto-002",)),
                Deed("update", ids=("texto-001",), metadata={"year": 2001}),
                Deed("update", ids=("texto-007",), metadata={"year": 2002}),
            ):
                self.bench.do(case, deed)
            self.ids = ["long", "notes/ato-01.txt", "texto-001", "texto-007", "texto-013"]
            self.before: Reads = reads(case, self.ids)
            self.contents = contents(case)
        rest(self.bench.home)
        self._number = 0

    def damaged(self, file: str, damage: Damage) -> Path:
        """A copy of the case with one of its files damaged."""
        self._number += 1
        home = self.bench.where / f"damaged-{self._number}"
        shutil.copytree(self.bench.home, home)
        damage(home / file)
        return home

    def segments(self) -> list[str]:
        home = self.bench.home
        return sorted(file.relative_to(home).as_posix() for file in home.glob("*/segments/*.seg"))

    def assert_told(self, home: Path, name: str, *, harmless: bool) -> Reads:
        """No read gives another answer, and the check names the damage."""
        found, checked = after(home, self.before)
        told_wrong = lies(self.before, found)
        # What is remembered of items answers no question; that it is damaged is for the check to find.
        assert not told_wrong or (checked and all(read.startswith("ledger") for read in told_wrong)), (name, told_wrong)
        if DAMAGED in found.values() or not harmless:
            assert checked, name
        shutil.rmtree(home)
        return found


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Healthy:
    return Healthy(tmp_path_factory.mktemp("healthy"))


def test_a_case_that_nobody_damaged_answers_as_before(healthy: Healthy) -> None:
    found, checked = after(healthy.damaged("private/catalog.sqlite", lambda file: None), healthy.before)

    assert found == healthy.before
    assert checked == []


# --- segments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_damaged_segment_is_told_and_mended_without_sources(number: int, healthy: Healthy) -> None:
    file, rng = healthy.segments()[number], random.Random(number)
    size = (healthy.bench.home / file).stat().st_size

    for name, damage in damages_of_a_file(size, file):
        home = healthy.damaged(file, damage)
        found, checked = after(home, healthy.before)
        assert lies(healthy.before, found) == {}, name
        assert DAMAGED in found.values(), name
        assert any(Path(file).name in line for line in checked), (name, checked)
        if not name.startswith("bit") or rng.random() < 0.1:
            with case_at(home) as case:
                case.rebuild()
                assert reads(case, healthy.ids) == healthy.before, name
                assert case.check() == [], name
        shutil.rmtree(home)


def test_a_segment_in_the_place_of_another_is_told(healthy: Healthy) -> None:
    one, other = [file for file in healthy.segments() if file.startswith("private")][:2]
    home = healthy.damaged(one, lambda file: shutil.copy(healthy.bench.home / other, file))

    healthy.assert_told(home, "swapped", harmless=False)


def test_damage_that_nobody_touched_is_found_by_the_check_alone(healthy: Healthy) -> None:
    """A shelf opens with a damaged segment, for it must be opened to be mended."""
    file = healthy.segments()[0]
    home = healthy.damaged(file, flipped(100, 3))

    with case_at(home) as case:
        assert [line for line in case.check() if Path(file).name in line]


def test_rebuilding_stops_at_a_damaged_text_and_changes_nothing(healthy: Healthy) -> None:
    home = healthy.damaged("private/catalog.sqlite", edit(f"UPDATE texts SET data = x'00' WHERE place % {PAGES} = 1"))

    with case_at(home) as case:
        before = sorted((home / "private" / "segments").iterdir())
        with pytest.raises(CorruptShelf):
            case.rebuild()
        with case._shelves.writing("sweep"):
            assert sorted((home / "private" / "segments").iterdir()) == before
        assert reads(case, ["texto-013"])["document texto-013"] == healthy.before["document texto-013"]


# --- the catalog -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_catalog_cut_short_is_told(shelf: str, healthy: Healthy) -> None:
    file = f"{shelf}/catalog.sqlite"
    size = (healthy.bench.home / file).stat().st_size

    for left in [*(size * part // 20 for part in range(20)), *range(size - 9_000, size, 600)]:
        healthy.assert_told(healthy.damaged(file, cut_to(left)), f"{left} bytes left", harmless=False)


def test_a_catalog_that_is_missing_is_told(healthy: Healthy) -> None:
    home = healthy.damaged("private/catalog.sqlite", Path.unlink)

    with pytest.raises(CorruptShelf) as raised:
        case_at(home)

    assert "estante rebuild --from-sources" in raised.value.hint


@pytest.mark.parametrize("shelf", SHELVES)
def test_an_overwritten_page_of_the_catalog_is_told(shelf: str, healthy: Healthy) -> None:
    file = f"{shelf}/catalog.sqlite"
    page, rng = page_size(healthy.bench.home / file), random.Random(shelf)
    size = (healthy.bench.home / file).stat().st_size

    for at in range(0, size, page):
        for name, data in (("zeros", b"\0" * page), ("noise", rng.randbytes(page)), ("half", b"\0" * (page // 2))):
            home = healthy.damaged(file, overwritten(at, data))
            healthy.assert_told(home, f"{name} at {at}", harmless=name == "half")


TABLES = ["documents", "texts", "cuts", "features", "segments", "dead", "scopes", "items", "meta"]
INDEXES = ["documents_by_version", "sqlite_autoindex_documents_1", "sqlite_autoindex_scopes_1"]


def _pages_of(catalog: Path, tables: tuple[str, ...]) -> list[int]:
    """The numbers of the pages, from 0, on which these tables keep their rows."""
    with closing(sqlite3.connect(catalog)) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))
    data, size = catalog.read_bytes(), page_size(catalog)
    found, waiting = [], [roots[table] for table in tables]
    while waiting:
        number = waiting.pop()
        found.append(number - 1)
        page = data[(number - 1) * size : number * size]
        if page[0] in (2, 5):  # An inner page: its children, and the last one.
            cells = int.from_bytes(page[3:5], "big")
            for cell in range(cells):
                at = int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell], "big")
                waiting.append(int.from_bytes(page[at : at + 4], "big"))
            waiting.append(int.from_bytes(page[8:12], "big"))
    return found


@pytest.mark.parametrize("shelf", SHELVES)
@pytest.mark.parametrize("table", [*TABLES, *INDEXES])
def test_a_turned_bit_in_what_is_answered_from_is_told(table: str, shelf: str, healthy: Healthy) -> None:
    file = f"{shelf}/catalog.sqlite"
    catalog, rng = healthy.bench.home / file, random.Random(f"{table} {shelf}")
    size, pages = page_size(catalog), _pages_of(catalog, (table,))

    for _ in range(40):
        at = rng.choice(pages) * size + rng.randrange(size)
        home = healthy.damaged(file, flipped(at, rng.randrange(8)))
        healthy.assert_told(home, f"bit at {at}", harmless=True)


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_page_copied_over_another_is_told(shelf: str, healthy: Healthy) -> None:
    """Whole pages are sound in themselves: only what they should hold together tells of the damage."""
    file = f"{shelf}/catalog.sqlite"
    data, size = (healthy.bench.home / file).read_bytes(), page_size(healthy.bench.home / file)
    kinds: dict[int, list[int]] = {}
    for number in range(1, len(data) // size):
        kinds.setdefault(data[number * size], []).append(number)
    pairs = [(a, b) for kind in (2, 5, 10, 13) for a in kinds.get(kind, ()) for b in kinds[kind] if a != b]
    assert len(pairs) > 40

    for source, target in random.Random(shelf).sample(pairs, min(len(pairs), 160)):
        home = healthy.damaged(file, overwritten(target * size, data[source * size : (source + 1) * size]))
        healthy.assert_told(home, f"page {source} over page {target}", harmless=True)


def _text_with_a_sum(text: str, page: int = 0) -> bytes:
    """A page of text as somebody would make it who knows how, but not for which place."""
    data = text.encode()
    return zlib.crc32(data).to_bytes(4, "big") + zlib.compress(data)


def _edits(shelf: str) -> Iterator[tuple[str, Damage]]:
    first, other = ("texto-007", "texto-013") if shelf == "private" else ("texto-001", "texto-004")
    doc, another = (f"(SELECT doc FROM documents WHERE id = '{one}')" for one in (first, other))
    for column, value in {
        "uri": "elsewhere",
        "source": "other",
        "item": "other",
        "title": "Another title",
        "language": "xx",
        "media_type": "text/other",
        "scope": 99,
        "chars": 12,
        "chunks": 77,
        "metadata": '{"year": 1999}',
        "redactions": 3,
        "losses": '["everything"]',
        "added": "1999-01-01T00:00:00Z",
        "few": '[[0, 5, "", ""]]',
        "segment": 99,
        "crc": 1,
    }.items():
        yield f"{column} of a document", edit(f"UPDATE documents SET {column} = ? WHERE id = ?", value, first)
    yield "metadata that is no JSON", edit("UPDATE documents SET metadata = '{' WHERE id = ?", first)
    yield "metadata that is no text", edit("UPDATE documents SET metadata = x'ff' WHERE id = ?", first)
    yield (
        "the scope of another",
        edit(f"UPDATE documents SET scope = (SELECT max(scope) + 1 FROM scopes) WHERE doc = {doc}"),
    )
    yield "no scopes", edit("DELETE FROM scopes")
    places = {"texts": (f"place = {doc} * {PAGES}", f"place = {another} * {PAGES}")}
    places["features"] = f"doc = {doc}", f"doc = {another}"
    if shelf == "private":  # The cuts of other documents are few, and stand in their records.
        long = "doc = (SELECT doc FROM documents WHERE id = 'long') AND page = "
        places["cuts"] = f"{long} 0", f"{long} 1"
    for table, (where, elsewhere) in places.items():
        yield f"{table} gone", edit(f"DELETE FROM {table} WHERE {where}")
        yield (
            f"{table} of another",
            edit(f"UPDATE {table} SET data = (SELECT data FROM {table} WHERE {elsewhere}) WHERE {where}"),
        )
        for name, data in {
            "empty": b"",
            "noise": random.Random(table).randbytes(300),
            "text": "a text",
            "number": 7,
            "plain": zlib.compress(b'[[0, 5, "", ""]]'),
            "summed": _text_with_a_sum('[[0, 5, "", ""]]'),
        }.items():
            yield f"{table} that are {name}", edit(f"UPDATE {table} SET data = ? WHERE {where}", data)
    yield "a word of a text", _reworded(first)
    yield "other bounds of chunks", _recut(first)
    yield "segments gone", edit("DELETE FROM segments")
    yield "another segment's name", edit("UPDATE segments SET name = 'other.seg'")
    yield "another segment's size", edit("UPDATE segments SET size = size - 1")
    yield "another segment's footer", edit("UPDATE segments SET footer = footer - 1")
    yield "a name that leads out", edit("UPDATE segments SET name = '../../../../../../etc/hostname'")
    yield "a document gone", edit("DELETE FROM documents WHERE id = ?", first)
    if shelf == "shared":
        yield "the dead forgotten", edit("DELETE FROM dead")
        yield "another one dead", edit("UPDATE dead SET doc = doc + 1")
    yield "a ledger that is no text", edit("UPDATE items SET digest = CAST(x'ff' AS TEXT)")
    yield "no generation", edit("DELETE FROM meta WHERE key = 'generation'")
    yield "a generation that is no number", edit("UPDATE meta SET value = 'x' WHERE key = 'generation'")


def _reworded(document: str) -> Damage:
    """Every letter of the text changed for another, packed as the text was."""

    def damage(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection:
            query = f"SELECT place, data FROM texts WHERE place = {PAGES} * (SELECT doc FROM documents WHERE id = ?)"
            place, data = connection.execute(query, (document,)).fetchone()
        whole = data[4:5] == WHOLE
        text = (data[5:] if whole else zlib.decompress(data[4:])).decode()
        other = text.translate(str.maketrans("aeo", "eoa")).encode()
        assert other != text.encode()
        packed = WHOLE + other if whole else zlib.compress(other, 6)
        edit("UPDATE texts SET data = ? WHERE place = ?", data[:4] + packed, place)(file)

    return damage


def _recut(document: str) -> Damage:
    """Each chunk one character shorter, written as the cuts were."""

    def damage(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection:
            [few] = connection.execute("SELECT few FROM documents WHERE id = ?", (document,)).fetchone()
        other = json.dumps([[start, end - 1, *more] for start, end, *more in json.loads(few)])
        edit("UPDATE documents SET few = ? WHERE id = ?", other, document)(file)

    return damage


@pytest.mark.parametrize("shelf", SHELVES)
def test_an_edit_from_outside_is_told(shelf: str, healthy: Healthy) -> None:
    for name, damage in _edits(shelf):
        home = healthy.damaged(f"{shelf}/catalog.sqlite", damage)
        found = healthy.assert_told(home, name, harmless=False)
        # No answer rests on the segment that a record names: the segments themselves say what they hold.
        assert DAMAGED in found.values() or name == "segment of a document"


def test_a_document_that_was_renamed_from_outside_is_found(healthy: Healthy) -> None:
    """Its segment knows its name still."""
    home = healthy.damaged("private/catalog.sqlite", edit("UPDATE documents SET id = 'x' WHERE id = 'texto-007'"))

    with case_at(home) as case:
        assert case.check()
        with pytest.raises(CorruptShelf):
            case.text("texto-007")
        word = marker_of(healthy.bench.state["texto-007"].text)
        with pytest.raises(CorruptShelf):
            case.search(word, mode="lexical")


# --- the log ---------------------------------------------------------------------------------------------------------


def test_a_log_that_was_cut_short_opens_with_whole_commits(tmp_path: Path) -> None:
    bench, rng = Bench(tmp_path, "log"), random.Random("log")
    with Victims() as victims:
        deeds = [Deed("add", bench.writer.texts(2)), Deed("update", ids=("texto-007",), metadata={"year": 1})]
        deeds += [Deed("add", bench.writer.texts(1), ("*",)), Deed("delete", ids=("texto-013",))]
        victim, journal = bench.send(victims, deeds, hold=True)
        assert victim.hear() == {"finished": True}
        victim.kill()
        assert journal.progress() == (len(deeds), None)
    log = bench.home / "private" / "catalog.sqlite-wal"
    if not log.exists() or not log.stat().st_size:
        pytest.fail("the killed process left no log")
    # The shared shelf keeps its log whole, so each state of the private one is tried with it.
    states: list[State] = [bench.after(deeds[:done]) for done in range(len(deeds) + 1)]

    seen = set()
    for part in range(25):
        home = bench.copy(f"part-{part}")
        torn = home / "private" / "catalog.sqlite-wal"
        with torn.open("r+b") as file:
            file.truncate(int(torn.stat().st_size * (part + rng.random()) / 25))
        (home / "private" / "catalog.sqlite-shm").unlink()
        with case_at(home) as case:
            held = {one.document_id: dict(one.metadata) for one in case.documents() if not one.scope.shared}
            seen.add(next(n for n, state in enumerate(states) if _private(state) == held))
            assert case.check() == []
            for deed in deeds:
                deed.do(case)
            assert_as_fresh(case, states[-1], bench.folder)

    assert len(seen) > 2, "the log was cut inside one commit only"


def _private(state: State) -> dict[str, dict[str, object]]:
    return {key: dict(one.metadata) for key, one in state.items() if not one.shared}


# --- mending from the sources ----------------------------------------------------------------------------------------


def test_a_damaged_catalog_is_made_anew_from_the_sources(tmp_path: Path) -> None:
    writer, home = Writer("sources"), tmp_path / "home"
    (tmp_path / "notes").mkdir()
    for name, text in writer.files(5).items():
        (tmp_path / "notes" / name).write_text(text, "utf-8")
    with assemble.create(home) as case:
        case.add(tmp_path / "notes", readers=["*"])
        case.add({"given": "A licitação é pública."})
        listed = case.documents()
        answer = [hit.chunk for hit in case.search("licitação prazo").hits if hit.shelf == "shared"]
    catalog = home / ".estante" / "shared" / "catalog.sqlite"
    cut_to(catalog.stat().st_size // 2)(catalog)
    with pytest.raises(CorruptShelf) as raised, assemble.open_bookcase(home) as case:
        case.documents()
    assert "estante rebuild --from-sources" in raised.value.hint

    outcome = assemble.rebuild_from_sources(home)

    with assemble.open_bookcase(home) as case:
        assert case.check() == []
        assert [one.document_id for one in case.documents()] == [
            one.document_id for one in listed if one.document_id != "given"
        ]
        assert [hit.chunk for hit in case.search("licitação prazo").hits if hit.shelf == "shared"] == answer
    assert any("given" in note for note in outcome.notes)
    assert list((home / ".estante").glob("shared.damaged-*"))


def test_a_whole_state_is_the_owners_again_after_mending(healthy: Healthy) -> None:
    home = healthy.damaged(healthy.segments()[0], Path.unlink)
    with case_at(home) as case:
        case.rebuild()

        assert contents(case) == healthy.contents
        assert_whole(case, [healthy.bench.state])
        assert_as_fresh(case, healthy.bench.state, healthy.bench.folder)
        assert OWNER.owner
