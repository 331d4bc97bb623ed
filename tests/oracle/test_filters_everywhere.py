"""Filters through every store and door: the answer is the table's and the obvious reading's, wherever it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import estante
from estante.index.conditions import passage
from estante.index.filters import parse
from estante.model.asking import MODES
from estante.serve.cli.finding import where_of
from estante.serve.cli.main import main
from estante.shelf.bookcase import Bookcase
from tests.index.obvious import passes, plain
from tests.index.probes import ANSWERS
from tests.laws.test_filter_laws import RECORDS, filters
from tests.parts import bookcase

HELD: list[dict[str, Any]] = []
NUMBERS: list[int] = []
for _, _held, _ in ANSWERS:
    if repr(_held) not in map(repr, HELD):
        HELD.append(_held)
    NUMBERS.append(list(map(repr, HELD)).index(repr(_held)))

IDS = [f"d{number:03}" for number in range(len(HELD))]
NUMBERED = pytest.mark.parametrize("at", range(len(ANSWERS)))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Bookcase, Bookcase]]:
    """Every record of the table as the metadata of a document, on disk and in memory."""
    home = tmp_path_factory.mktemp("filters") / "case"
    texts = {key: f"licitação número {key}" for key in IDS}
    metadata = dict(zip(IDS, HELD, strict=True))
    with estante.create(home) as disk, estante.memory() as memory:
        for case in (disk, memory):
            assert case.add(texts, metadata=metadata).added == len(IDS)
        yield home, disk, memory


def expected(raw: dict[str, Any]) -> list[str]:
    raw = plain(raw)
    return [key for key, held in zip(IDS, HELD, strict=True) if passes(raw, held, {"@id": key, "@language": "pt"})]


@NUMBERED
def test_the_table_holds_in_listings_and_searches_of_both_stores(
    twins: tuple[Path, Bookcase, Bookcase], at: int
) -> None:
    raw, held, answer = ANSWERS[at]
    wanted = expected(raw)
    assert (IDS[NUMBERS[at]] in wanted) is answer, held

    for case in twins[1:]:
        assert [one.document_id for one in case.documents(raw)] == wanted
        for mode in MODES:
            found = case.search("licitação", 10_000, where=raw, mode=mode)
            assert sorted(hit.document_id for hit in found) == wanted


def test_the_table_holds_at_the_command_line(
    twins: tuple[Path, Bookcase, Bookcase], capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(twins[0])]
    for at, (raw, _, _) in enumerate(ANSWERS):
        text = json.dumps(plain(raw))
        assert where_of([text]) == parse(plain(raw))
        if at % 9 or len(text) > 20_000:  # Each run opens the bookcase anew, and a command line is not endless.
            continue

        assert main(["ls", "--json", *home, "--where", text]) == 0

        assert [one["document_id"] for one in json.loads(capsys.readouterr().out)] == expected(raw), text


def one_of(value: Any, some: set[Any]) -> bool:
    each = value if isinstance(value, list) else [value]
    return any(one in some for one in each if isinstance(one, int | float | str) and not isinstance(one, bool))


def test_forty_thousand_values_are_as_good_as_one(twins: tuple[Path, Bookcase, Bookcase]) -> None:
    for case in twins[1:]:
        for some in (list(range(2, 40_002)), [f"{number}" for number in range(2, 40_002)]):
            wanted = [key for key, held in zip(IDS, HELD, strict=True) if one_of(held.get("x"), set(some))]

            assert [one.document_id for one in case.documents({"x": {"$in": some}})] == wanted
            assert len(case.documents({"x": {"$nin": some}})) == len(IDS) - len(wanted)


def test_every_store_refuses_what_is_no_filter(twins: tuple[Path, Bookcase, Bookcase]) -> None:
    for case in twins[1:]:
        for wrong in ({"x": {"$in": "12"}}, {"x": {"$nope": 1}}, {"x": float("nan")}, {"$or": {}}):
            for ask in (case.documents, lambda where, case=case: case.search("licitação", where=where)):
                with pytest.raises(estante.EstanteError, match=r"^where"):
                    ask(wrong)


# --- made-up metadata and filters, with headings and places --------------------------------------------------------

TEXT = "# Um\n\nlicitação {0} um\n\n## Dois\n\nlicitação {0} dois\n\n# Três\n\nlicitação {0} três\n"
ABOUT = st.fixed_dictionaries(
    {},
    optional={
        "@heading": st.sampled_from(["Um", "Dois", "Três", {"$size": 2}, {"$startswith": "D"}, None, ["Um", "Dois"]]),
        "@line": st.sampled_from([1, {"$gt": 4}, {"$exists": True}]),
        "@page": st.sampled_from([1, None, {"$gte": 2}]),
        "@locator": st.sampled_from(["line 1", {"$contains": "line"}]),
        "@language": st.sampled_from(["pt", {"$ne": "pt"}]),
        "@added": st.sampled_from([{"$gte": "2026"}, {"$lt": "2026-01-02T00:00:00-03:00"}]),
        "@source": st.just(""),
        "@title": st.just({"$contains": "m"}),
    },
)


def wheres() -> st.SearchStrategy[dict[str, Any]]:
    both = st.builds(lambda one, two: {"$and": [one, two]}, filters(), ABOUT)
    return st.one_of(
        filters(),
        both,
        st.builds(lambda one, two: {"$or": [one, {"$not": two}]}, filters(), ABOUT),
        st.builds(lambda one: {"$not": one}, both),
    )


def clean(metadata: dict[str, Any]) -> dict[str, Any]:
    """What a bookcase keeps of it, as JSON reads it back."""
    return dict(json.loads(json.dumps(metadata)))


@settings(max_examples=30)
@given(
    steps=st.lists(
        st.tuples(st.dictionaries(st.sampled_from(IDS[:6]), RECORDS, min_size=1, max_size=4), wheres()),
        min_size=1,
        max_size=3,
    ),
    gone=st.lists(st.sampled_from(IDS[:6]), max_size=2),
)
def test_both_stores_answer_as_the_obvious_reading(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[dict[str, Any], dict[str, Any]]], gone: list[str]
) -> None:
    home = tmp_path_factory.mktemp("twin")
    options = {"max_chars": 40, "min_chars": 5}
    disk, memory = bookcase(home, **options), bookcase(**options)
    held: dict[str, dict[str, Any]] = {}
    for number, (records, raw) in enumerate(steps):
        for case in (disk, memory):
            for key, metadata in records.items():
                if key in held and number % 2:
                    case.update_metadata(key, metadata, merge=False)
                else:
                    case.add({key: TEXT.format(key)}, metadata={key: metadata}, format="markdown")
            if number:
                for key in gone:
                    if key in case:
                        case.delete(key)
        held = {key: one for key, one in {**held, **records}.items() if key in memory}
        compare(disk, memory, held, raw)
    disk.close()


def compare(disk: Bookcase, memory: Bookcase, held: dict[str, dict[str, Any]], raw: dict[str, Any]) -> None:
    added = {one.document_id: one.added for one in memory.documents()}
    everything = memory.search("licitação", 10_000)
    wanted = []
    for hit in everything:
        chunk, document = hit.chunk, memory.document(hit.document_id)
        own = {
            "@id": chunk.document_id,
            "@uri": chunk.uri,
            "@source": document.source,
            "@title": chunk.title,
            "@language": chunk.language,
            "@media_type": document.media_type,
            "@added": added[chunk.document_id],
            **passage(chunk.trail, chunk.locator),
        }
        if passes(raw, clean(held[chunk.document_id]), own):
            wanted.append(chunk.id)
    assert len(everything) == 3 * len(held)
    for case in (disk, memory):
        for mode in MODES:
            found = case.search("licitação", 10_000, where=raw, mode=mode)
            assert sorted(hit.chunk.id for hit in found) == sorted(wanted)
        listed = [one.document_id for one in case.documents(raw)]
        assert listed == sorted({one.rpartition("#")[0] for one in wanted})


WORDS = ["licitação", "férias", "prazo", "edital"]


# --- before ranking ------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    words=st.lists(
        st.lists(st.sampled_from("licitação férias prazo edital".split()), min_size=1, max_size=6),
        min_size=1,
        max_size=14,
    ),
    share=st.integers(0, 14),
    k=st.integers(1, 20),
    question=st.sampled_from(["licitação", "férias prazo", "edital licitação férias"]),
)
def test_a_filter_finds_what_a_shelf_of_the_matching_alone_finds(
    tmp_path_factory: pytest.TempPathFactory, words: list[list[str]], share: int, k: int, question: str
) -> None:
    texts = {f"t{number:02}": " ".join(some) for number, some in enumerate(words)}
    metadata = {key: {"n": number} for number, key in enumerate(texts)}
    few = dict(list(texts.items())[:share])
    whole = [bookcase(tmp_path_factory.mktemp("whole")), bookcase()]
    alone = bookcase()
    for case in whole:
        case.add(texts, metadata=metadata)
    alone.add(few)
    where = {"n": {"$lt": share}}
    for case in whole:
        for mode in MODES:
            wanted = {hit.chunk.id for hit in alone.search(question, 10_000, mode=mode)}
            assert {hit.chunk.id for hit in case.search(question, 10_000, where=where, mode=mode)} == wanted
            assert len(case.search(question, k, where=where, mode=mode)) == min(k, len(wanted))
        near = [hit.chunk.id for hit in case.search(question, k, where=where, mode="dense")]
        assert near == [hit.chunk.id for hit in alone.search(question, k, mode="dense")]
    whole[0].close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", ["licitação", "palavra que não há", "de", ""])
def test_a_filter_that_lets_all_pass_changes_nothing(
    twins: tuple[Path, Bookcase, Bookcase], mode: Any, question: str
) -> None:
    for case in twins[1:]:
        plain = case.search(question, 20, mode=mode).timed(0)
        for where in ({"zz": {"$exists": False}}, {"$and": []}, {"@id": {"$gte": ""}}, {"$not": {"$or": []}}):
            assert case.search(question, 20, mode=mode, where=where).timed(0) == plain


# --- what metadata cannot hold --------------------------------------------------------------------------------------

UNKEPT = [float("nan"), float("inf"), {1, 2}, b"a", object(), {1: "a"}, [[{"deep": float("-inf")}]]]


@pytest.mark.parametrize("value", UNKEPT, ids=range(len(UNKEPT)))
def test_what_metadata_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path, value: object) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("licitação", "utf-8")
    for case in (bookcase(tmp_path / "case"), bookcase()):
        case.add({"a": "licitação um"}, metadata={"a": {"n": 1}})
        wrong = {"b": {"n": 2}, "c": {"kept": 1, "value": value}}
        for refused in (
            lambda case=case, wrong=wrong: case.add({"b": "licitação", "c": "licitação"}, metadata=wrong),
            lambda case=case: case.add(tmp_path / "notes", metadata={"value": value}),
            lambda case=case: case.update_metadata("a", {"n": 3, "value": value}),
        ):
            with pytest.raises(estante.EstanteError, match="value"):
                refused()

        assert [(one.document_id, one.metadata) for one in case.documents()] == [("a", {"n": 1})]
        assert [hit.document_id for hit in case.search("licitação", where={"n": {"$gte": 1}})] == ["a"]
        case.close()


@pytest.mark.parametrize("metadata", [{"a": {"ano": 1}, "ano": 2}, {"a": 1}, {"x": {"ano": 1}}])
def test_metadata_are_never_those_of_another_text(tmp_path: Path, metadata: dict[str, Any]) -> None:
    for case in (bookcase(tmp_path / "case"), bookcase()):
        with pytest.raises(estante.EstanteError, match="is not that of one of the texts"):
            case.add({"a": "um", "b": "dois"}, metadata=metadata)
        assert len(case) == 0

        case.add({"a": "um", "b": "dois"}, metadata={"a": {"ano": 1, "b": {"ano": 2}}})

        assert [one.document_id for one in case.documents({"ano": {"$exists": True}})] == ["a"]
        assert case.document("b").metadata == {}
        case.close()


def test_what_is_kept_is_found_by_what_was_given(tmp_path: Path) -> None:
    day, pair = date(2024, 3, 5), ("a", "b")
    for case in (bookcase(tmp_path / "case"), bookcase()):
        case.add({"a": "um"}, metadata={"a": {"dia": day, "par": pair, "n": 2**70, "número": "Ac\u0327a\u0303o"}})

        for where in ({"dia": day}, {"dia": {"$lte": day}}, {"par": pair}, {"n": 2**70}, {"nu\u0301mero": "Ação"}):
            assert len(case.documents(where)) == 1, where
        assert case.document("a").metadata["dia"] == "2024-03-05"
        case.close()


# --- while others write ---------------------------------------------------------------------------------------------


def test_filters_of_many_threads_are_right_while_another_writes(tmp_path: Path) -> None:
    case, wrong = bookcase(tmp_path / "case"), list[object]()
    case.add({f"t{number:03}": "licitação" for number in range(40)}, metadata={f"t{n:03}": told(n) for n in range(40)})
    done = threading.Event()

    def ask(at: int) -> None:
        fields = ["n", "text", "list", "@id", "@title", "@added"]
        while not done.is_set():
            case.documents({fields[at % 6]: {"$exists": True}, "x": {"$exists": False}})
            for where in ({"n": {"$lt": 20}}, {"text": {"$lte": "p019"}}, {"list": {"$any": {"$lt": 20}}}):
                found = [one.document_id for one in case.documents({**where, "@id": {"$startswith": "t"}})]
                if found != [f"t{number:03}" for number in range(20)]:
                    wrong.append((where, found))
            at += 1

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(3)]
    for one in threads:
        one.start()
    for number in range(100, 115):
        case.add({f"u{number}": "licitação"}, metadata={f"u{number}": told(number)})
        case.update_metadata(f"t{number - 80:03}", {"note": f"{number}"})
    done.set()
    for one in threads:
        one.join()
    case.close()

    assert wrong == []


def told(number: int) -> dict[str, object]:
    return {"n": number, "text": f"p{number:03}", "list": [number, 1_000 + number]}
