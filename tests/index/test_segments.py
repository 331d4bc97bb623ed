"""Segments: what goes in comes out, merging keeps what lives, and a damaged byte is an error."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estante.index import segments
from estante.index.dense import quantise
from estante.index.segments import BLOCK, FAN, SMALLEST, Rows, Segment, Shelved, gather, merge, size_class, write
from estante.model.errors import CorruptShelf
from estante.model.ports import Entry
from tests.index.building import DIMENSIONS, document, entries, unit_rows

Gathered = Shelved

IDS = st.text("ab/é🦜", min_size=1, max_size=4)
TERMS = st.sampled_from(["a", "ab", "b", "casa", "ção", "é", "日本", "🦜", "pt:licit", "zz", ""])
COUNTS = st.dictionaries(TERMS, st.integers(1, 300), max_size=5)
CHUNKS = st.lists(st.tuples(COUNTS, COUNTS | st.just({}), COUNTS | st.just({})), max_size=4)
"""The terms of each chunk's text, title and headings."""


@st.composite
def shelves(draw: st.DrawFn) -> list[Gathered]:
    """Documents with numbers, ids, and chunks of some terms."""
    made = draw(st.dictionaries(IDS, CHUNKS, max_size=6))
    rows = unit_rows(draw(st.integers(0, 1_000)), max(1, sum(map(len, made.values()))), DIMENSIONS)
    near = iter(quantise(rows))
    return [
        Shelved(
            number,
            key,
            draw(st.integers(1, 300)),
            draw(st.sampled_from(["pt", "en", "", "ja"])),
            tuple(
                replace(entry, title=title, trail=trail)
                for entry, (_, title, trail) in zip(
                    entries(document(key, "x" * 9), [text for text, _, _ in chunks], [next(near) for _ in chunks]),
                    chunks,
                    strict=True,
                )
            ),
        )
        for number, (key, chunks) in enumerate(made.items(), start=draw(st.integers(1, 5)))
    ]


def pairs(made: list[Gathered]) -> list[tuple[str, Sequence[Entry]]]:
    """The id and the entries of each document."""
    return [(one.id, one.entries) for one in made]


def in_fields(entry: Entry, term: str) -> tuple[int, ...]:
    """How often a term stands in text, title and headings."""
    return tuple(counts.get(term, 0) for counts in (entry.terms, entry.title, entry.trail))


def same(left: Rows, right: Rows) -> bool:
    return all(np.array_equal(getattr(left, one.name), getattr(right, one.name)) for one in fields(Rows))


class Folder:
    """A folder of segments, for one test or one example."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened: list[Segment] = []

    def keep(self, rows: Rows, name: str = "one") -> Segment:
        path = self.path / f"{name}-{len(self.opened)}.seg"
        self.opened.append(Segment(path, *write(path, rows)))
        return self.opened[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    for one in made.opened:
        one.close()


def read_back(segment: Segment) -> Rows:
    return Rows(
        keys=segment.array("keys"),
        ids=segment.all_ids(),
        scopes=segment.array("scopes").astype(np.int64),
        languages=segment.language_of_documents(),
        document=segment.array("document").astype(np.int32),
        index=segment.array("index").astype(np.int32),
        start=segment.array("start").astype(np.int64),
        length=segment.lengths().astype(np.int32),
        terms=segment.all_terms(),
        indptr=segment.array("indptr").astype(np.int64),
        rows=segment.array("rows").astype(np.uint32),
        codes=segment.array("codes").astype(np.uint32),
        counts=segment.array("counts").astype(np.int64),
        vectors=segment.array("vectors"),
        scales=segment.array("scales"),
    )


def shelf(*terms: str) -> list[Gathered]:
    """A document for each term, which is also its id."""
    return [gathered(number, term, {term: number}) for number, term in enumerate(terms, start=1)]


def gathered(number: int, key: str, counts: dict[str, int]) -> Gathered:
    """A document of one chunk."""
    vectors = quantise(unit_rows(number, 1, DIMENSIONS))
    return Shelved(number, key, 1, "pt", entries(document(key), [counts], vectors))


# --- gathering -----------------------------------------------------------------------------------------------------


@given(shelves())
def test_rows_stand_in_the_order_of_id_and_position(made: list[Gathered]) -> None:
    rows = gather(made, DIMENSIONS)

    places = [(rows.ids[doc], at) for doc, at in zip(rows.document.tolist(), rows.index.tolist(), strict=True)]
    assert places == sorted((key, at) for key, some in pairs(made) for at in range(len(some)))
    assert rows.ids == sorted(one.id for one in made)


@given(shelves())
def test_postings_hold_every_count_once_in_ascending_rows(made: list[Gathered]) -> None:
    rows = gather(made, DIMENSIONS)

    told: dict[tuple[str, int, str], tuple[int, ...]] = {}
    for number, term in enumerate(rows.terms):
        start, end = rows.indptr[number], rows.indptr[number + 1]
        found = rows.rows[start:end].tolist()
        assert found == sorted(set(found))
        for row, code in zip(found, rows.codes[start:end].tolist(), strict=True):
            told[rows.ids[rows.document[row]], int(rows.index[row]), term.decode()] = tuple(rows.counts[code].tolist())
    assert rows.terms == sorted(rows.terms)
    assert told == {
        (key, at, term): in_fields(entry, term)
        for key, some in pairs(made)
        for at, entry in enumerate(some)
        for term in {*entry.terms, *entry.title, *entry.trail}
    }


@given(shelves())
def test_the_lengths_of_a_row_are_the_numbers_of_its_words_in_each_field(made: list[Gathered]) -> None:
    lengths = {
        (key, at): [sum(counts.values()) for counts in (entry.terms, entry.title, entry.trail)]
        for key, some in pairs(made)
        for at, entry in enumerate(some)
    }

    assert gather(made, DIMENSIONS).length.tolist() == [lengths[key] for key in sorted(lengths)]


# --- writing and reading -------------------------------------------------------------------------------------------


@given(shelves())
def test_what_was_written_is_read(made: list[Gathered]) -> None:
    rows = gather(made, DIMENSIONS)
    with tempfile.TemporaryDirectory() as path:
        segment = Folder(Path(path)).keep(rows)

        assert same(read_back(segment), rows)
        segment.verify()
        segment.close()


@given(shelves())
def test_an_entry_is_read_back_as_it_was_put(made: list[Gathered]) -> None:
    with tempfile.TemporaryDirectory() as path:
        segment = Folder(Path(path)).keep(gather(made, DIMENSIONS))
        wanted = {
            (key, at): (dict(e.terms), e.vector, dict(e.title), dict(e.trail))
            for key, some in pairs(made)
            for at, e in enumerate(some)
        }

        found = {
            (segment.document_id(int(segment.document[row])), segment.position(row)): segment.entry(row)
            for row in range(segment.rows)
        }

        assert found == wanted
        segment.close()


@given(shelves(), TERMS)
def test_a_term_is_found_where_it_stands_and_nowhere_else(made: list[Gathered], term: str) -> None:
    with tempfile.TemporaryDirectory() as path:
        segment = Folder(Path(path)).keep(gather(made, DIMENSIONS))

        rows, codes = segment.postings(term)

        places = [(segment.document_id(int(segment.document[row])), segment.position(int(row))) for row in rows]
        assert dict(zip(places, map(tuple, segment.counts[codes].tolist()), strict=True)) == {
            (key, at): in_fields(e, term)
            for key, some in pairs(made)
            for at, e in enumerate(some)
            if any(in_fields(e, term))
        }
        segment.close()


@pytest.mark.parametrize("term", ["", "a", "aa", "mm", "zz", "zzz", "é", "日本", "\U0010ffff", "\ue000"])
def test_a_term_that_is_absent_is_nowhere(folder: Folder, term: str) -> None:
    segment = folder.keep(gather(shelf("b", "m", "z"), DIMENSIONS))

    assert segment.term(term) == -1
    assert [one.tolist() for one in segment.postings(term)] == [[], []]


def test_the_first_the_last_and_one_beyond_ascii_are_found(folder: Folder) -> None:
    segment = folder.keep(gather(shelf("a", "m", "z", "é", "日本", "🦜"), DIMENSIONS))

    # In the order of their bytes, which is that of their code points.
    assert [segment.term(one) for one in ["a", "m", "z", "é", "日本", "🦜"]] == [0, 1, 2, 3, 4, 5]


def test_a_segment_without_documents_finds_nothing(folder: Folder) -> None:
    segment = folder.keep(gather([], DIMENSIONS))

    assert (segment.rows, segment.all_ids(), segment.all_terms(), segment.term("a")) == (0, [], [], -1)


def test_a_segment_of_many_rows_is_read_in_parts(folder: Folder) -> None:
    many = [gathered(n, f"d{n:05}", {"comum": n % 7 + 1, f"t{n}": 1}) for n in range(2_000)]
    segment = folder.keep(gather(many, DIMENSIONS))

    rows, codes = segment.postings("comum")

    assert rows.tolist() == list(range(2_000))
    assert segment.counts[codes, 0].tolist() == [n % 7 + 1 for n in range(2_000)]
    assert segment.array("vectors", 700, 703).tobytes() == b"".join(
        one.entries[0].vector.values for one in many[700:703]
    )


def test_a_segment_is_staged_and_leaves_nothing_beside_it(folder: Folder) -> None:
    folder.keep(gather(shelf("a"), DIMENSIONS))

    assert [file.suffix for file in folder.path.iterdir()] == [".seg"]


def test_the_same_rows_are_the_same_bytes(folder: Folder) -> None:
    one, other = (folder.keep(gather(shelf("a", "b"), DIMENSIONS)) for _ in range(2))

    assert one.path.read_bytes() == other.path.read_bytes()


def test_arrays_handed_out_stay_good_after_closing(folder: Folder) -> None:
    segment = folder.keep(gather(shelf("a", "b"), DIMENSIONS))
    vectors = segment.array("vectors")
    before = vectors.copy()

    segment.close()

    assert np.array_equal(vectors, before)


# --- damage --------------------------------------------------------------------------------------------------------


def big(folder: Folder) -> tuple[Path, int, int]:
    """A segment of several blocks."""
    many = [gathered(n, f"d{n:05}", {f"termo{n}": 1}) for n in range(4_000)]
    path = folder.path / "big.seg"
    return path, *write(path, gather(many, DIMENSIONS))


def test_any_byte_that_changed_is_found_when_all_is_read(folder: Folder) -> None:
    path, size, crc = big(folder)
    whole = path.read_bytes()
    assert size > 2 * BLOCK

    for at in [0, 63, BLOCK - 1, BLOCK, size // 2, size - 2_000]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(CorruptShelf) as caught:
            Segment(path, size, crc).verify()
        assert "estante rebuild" in caught.value.hint


@pytest.mark.parametrize("back", [1, 8, 9, 12, 16, 20, 200])
def test_a_changed_tail_or_footer_is_not_opened(folder: Folder, back: int) -> None:
    path, size, crc = big(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:-back] + bytes([whole[-back] ^ 1]) + whole[len(whole) - back + 1 :])

    with pytest.raises(CorruptShelf, match="damaged"):
        Segment(path, size, crc)


def test_a_block_is_looked_at_when_it_is_touched_and_not_before(folder: Folder) -> None:
    path, size, crc = big(folder)
    segment = Segment(path, size, crc)
    at = segment._layout["scales"][0] + 4 * segment.rows - 1
    segment.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])

    segment = Segment(path, size, crc)

    assert segment.array("keys")[0] == 0
    with pytest.raises(CorruptShelf, match="does not match its sum"):
        segment.array("scales")
    segment.close()


@pytest.mark.parametrize("change", ["missing", "cut", "longer", "empty", "another"])
def test_a_file_that_is_not_the_one_that_was_written_is_not_opened(folder: Folder, change: str) -> None:
    path, size, crc = big(folder)
    whole = path.read_bytes()
    if change == "missing":
        path.unlink()
    elif change == "another":
        crc ^= 1
    else:
        path.write_bytes({"cut": whole[:-1], "longer": whole + b"x", "empty": b""}[change])

    with pytest.raises(CorruptShelf, match="damaged"):
        Segment(path, size, crc)


def test_a_link_is_not_opened(folder: Folder) -> None:
    path, size, crc = big(folder)
    link = folder.path / "link.seg"
    link.symlink_to(path)

    with pytest.raises(CorruptShelf):
        Segment(link, size, crc)


# --- merging -------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(shelves(), st.integers(1, 3), st.data())
def test_merging_is_gathering_the_survivors(made: list[Gathered], parts: int, data: st.DataObject) -> None:
    alive = data.draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))
    with tempfile.TemporaryDirectory() as path:
        kept, picked = Folder(Path(path)), []
        for part in range(parts):
            mine = [one for at, one in enumerate(made) if at % parts == part]
            segment = kept.keep(gather(mine, DIMENSIONS))
            lives = {number: alive[at] for at, number in enumerate(one.key for one in made)}
            picked.append((segment, np.array([lives[number] for number in segment.keys.tolist()], bool)))

        merged = merge(picked)

        assert same(merged, gather([one for one, lives in zip(made, alive, strict=True) if lives], DIMENSIONS))
        for segment in kept.opened:
            segment.close()


def test_a_document_that_moved_to_a_later_segment_comes_out_once(folder: Folder) -> None:
    old = folder.keep(gather(shelf("a"), DIMENSIONS))
    new = folder.keep(gather([gathered(2, "a", {"a": 1})], DIMENSIONS))

    merged = merge([(old, np.array([False])), (new, np.array([True]))])

    assert (merged.keys.tolist(), merged.ids) == ([2], ["a"])


@pytest.mark.parametrize(
    ("rows", "size"), [(0, 0), (1, 0), (SMALLEST, 0), (SMALLEST + 1, 1), (SMALLEST * FAN, 1), (SMALLEST * FAN + 1, 2)]
)
def test_size_classes_grow_by_the_fan(rows: int, size: int) -> None:
    assert size_class(rows) == size


def test_whole_numbers_are_kept_in_the_smallest_type() -> None:
    kinds = {top: segments._small(np.array([0, top])).dtype for top in (0, 255, 256, 65_535, 65_536)}

    assert [kind.itemsize for kind in kinds.values()] == [1, 1, 2, 2, 4]
