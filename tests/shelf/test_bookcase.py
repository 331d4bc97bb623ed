"""The bookcase: what is added is found and read, by those who may, on disk as in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import estante
from estante.index.encoding import ENCODERS
from estante.model.asking import MODES, Condition, Results
from estante.model.content import Span
from estante.model.errors import (
    CorruptShelf,
    EstanteError,
    NameTaken,
    NotFound,
    QueryError,
    SettingsError,
    StaleShelf,
    Unavailable,
    UnknownName,
)
from estante.model.ports import Outcome, Space
from estante.security import principals
from estante.shelf import assemble
from estante.shelf.bookcase import Bookcase
from estante.shelf.settings import Settings, load
from tests.parts import NOW, TinyEncoder, bookcase, stores

LIBRARY = Path(estante.__file__).parent / "demo" / "library"
QUESTIONS = LIBRARY.parent / "questions.jsonl"
FINANCE = principals.reader("acme", ["finance"], "eva")
STRANGER = principals.reader("other", ["finance"], "rui")


@pytest.fixture(params=["memory", "disk"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookcase]:
    with bookcase(None if request.param == "memory" else tmp_path / "case") as made:
        yield made


def ids(results: Results) -> list[str]:
    return [hit.document_id for hit in results]


# --- texts ---------------------------------------------------------------------------------------------------------


def test_a_text_that_was_added_is_found_and_read(case: Bookcase) -> None:
    outcome = case.add({"ferias": "O servidor tem trinta dias de férias."})

    assert (outcome.added, outcome.chunks) == (1, 1)
    assert ids(case.search("quantos dias de ferias")) == ["ferias"]
    assert case.text("ferias", 30, 37) == (30, 37, "férias.")
    assert case.document("ferias").text == "O servidor tem trinta dias de férias."


def test_adding_an_id_again_replaces_its_text(case: Bookcase) -> None:
    case.add({"a": "licitação", "b": "férias"})

    outcome = case.add({"a": "contrato"})

    assert (outcome.added, outcome.changed) == (0, 1)
    assert ids(case.search("licitação", mode="lexical")) == []
    assert ids(case.search("contrato", mode="lexical")) == ["a"]
    assert len(case) == 2


def test_adding_the_same_text_again_changes_nothing(case: Bookcase) -> None:
    case.add({"a": "licitação"}, metadata={"a": {"year": 2024}}, readers=["finance"])

    outcome = case.add({"a": "licitação"}, metadata={"a": {"year": 2024}}, readers=["finance"])

    assert (outcome.added, outcome.changed, outcome.unchanged) == (0, 0, 1)


def test_a_text_added_without_its_readers_again_is_private_again(case: Bookcase) -> None:
    case.add({"a": "licitação"}, readers=["*"])
    case.add({"a": "licitação"})

    assert case.documents(asker=FINANCE) == []
    assert [one.scope.label() for one in case.documents()] == ["private"]


def test_nothing_is_added_as_nothing(case: Bookcase) -> None:
    assert replace(case.add({}), seconds=0.0) == Outcome()


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff\x00"])
def test_one_text_without_any_letter_is_refused(case: Bookcase, text: str) -> None:
    with pytest.raises(SettingsError, match="the text 'a' was not added"):
        case.add({"a": text})

    assert "a" not in case


def test_among_several_texts_one_without_letters_is_skipped_and_told(case: Bookcase) -> None:
    outcome = case.add({"a": "", "b": "férias"})

    assert (outcome.added, [one.uri for one in outcome.skipped]) == (1, ["a"])


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ({"a": 5}, {}),
        ({"a": None}, {}),
        ({"a": b"bytes"}, {}),
        ({5: "texto"}, {}),
        ({"a": "texto"}, {"readers": "*"}),
        ({"a": "texto"}, {"metadata": {"b": {"x": 1}}}),
        ({"a": "texto"}, {"metadata": {"a": 5}}),
        ({"a": "texto"}, {"metadata": {"year": 2024}}),
        ({"a": "texto", "b": "outro"}, {"metadata": {"b": {"x": float("nan")}}}),
        ({"a": "texto", "b": "outro"}, {"metadata": {"b": {"x": {1, 2}}}}),
        ({"a": "texto", "b": "outro"}, {"metadata": {"b": {1: 2, "x": 3}}}),
        (5, {}),
        (b"path", {}),
        ([5], {}),
        (None, {}),
        ("", {}),
        (["", "x"], {}),
    ],
)
def test_what_cannot_be_added_is_refused_before_anything_is_touched(
    case: Bookcase, what: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError) as caught:
        case.add(what, **options)

    assert caught.value.hint
    assert len(case) == 0


def test_a_text_of_another_format_is_read_by_its_extractor(case: Bookcase) -> None:
    case.add({"a": "# Férias\n\ntexto"}, format="markdown")

    assert case.document("a").title == "Férias"
    assert case.search("texto")[0].chunk.trail == ("Férias",)


def test_an_unknown_format_is_told_with_the_nearest_name(case: Bookcase) -> None:
    with pytest.raises(UnknownName) as caught:
        case.add({"a": "texto", "b": "outro"}, format="markdwon")

    assert caught.value.hint == "Did you mean 'markdown'?"
    assert len(case) == 0


# --- paths ---------------------------------------------------------------------------------------------------------


def test_a_path_that_is_not_there_stops_before_anything_is_touched(case: Bookcase, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("texto", encoding="utf-8")

    with pytest.raises(NotFound, match="no file or folder"):
        case.add([tmp_path / "docs", tmp_path / "absent"])

    assert len(case) == 0
    assert case.status().sources == ()


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_a_pattern_that_cannot_be_read_stops_before_anything_is_touched(
    case: Bookcase, tmp_path: Path, option: str
) -> None:
    (tmp_path / "docs").mkdir()

    with pytest.raises(SettingsError):
        case.add(tmp_path / "docs", **{option: ["!"]})  # type: ignore[arg-type]

    assert case.status().sources == ()


def test_files_and_folders_come_in_one_call(case: Bookcase, tmp_path: Path) -> None:
    for name in ("one/a.txt", "two/b.txt", "two/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")

    case.add([tmp_path / "one", str(tmp_path / "two" / "b.txt")], readers=["finance"])

    assert [one.document_id for one in case.documents(asker=FINANCE)] == ["one/a.txt", "two/b.txt"]


def test_a_pattern_may_be_given_as_one_text(case: Bookcase, tmp_path: Path) -> None:
    for name in ("a.txt", "b.md"):
        (tmp_path / name).write_text("texto", encoding="utf-8")

    case.add(tmp_path, name="docs", include="*.md")

    assert [one.document_id for one in case.documents()] == ["docs/b.md"]


# --- reading -------------------------------------------------------------------------------------------------------


def test_what_an_asker_may_not_read_looks_as_if_it_were_not_there(case: Bookcase) -> None:
    case.add({"a": "licitação"}, readers=["legal"])
    told = []

    for key, asker in [("a", FINANCE), ("a", STRANGER), ("absent", None)]:
        for read in (case.document, case.text, case.spans):
            with pytest.raises(NotFound) as caught:
                read(key, asker=asker)
            told.append((caught.value.message.replace(repr(key), "X"), caught.value.hint))

    assert len(set(told)) == 1


def test_documents_are_listed_by_id_from_both_shelves(case: Bookcase) -> None:
    case.add({"b": "férias", "d": "prazo"}, readers=["*"])
    case.add({"c": "contrato", "a": "edital"}, readers=["finance"])

    assert [one.document_id for one in case.documents()] == ["a", "b", "c", "d"]
    assert [one.document_id for one in case.documents(asker=principals.reader("acme", [], "x"))] == ["b", "d"]
    assert [one.document_id for one in case.documents({"@id": {"$gte": "c"}})] == ["c", "d"]


def test_a_listing_tells_what_a_document_is(case: Bookcase) -> None:
    case.add({"a": "O servidor tem férias e este é o texto."}, metadata={"a": {"year": 2024}})

    (one,) = case.documents()

    assert (one.document_id, one.uri, one.source, one.media_type) == ("a", "a", "", "text/plain")
    assert (one.chars, one.chunks, one.language, one.added) == (39, 1, "pt", NOW)
    assert (one.metadata, one.scope.label(), one.redactions) == ({"year": 2024}, "private", 0)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 9), (9, None), (7, 8)])
def test_a_part_outside_the_text_is_refused(case: Bookcase, start: int, end: int | None) -> None:
    case.add({"a": "férias"})

    with pytest.raises(QueryError, match="which has 6 characters"):
        case.text("a", start, end)


def test_parts_of_a_text_are_told_with_their_true_bounds(case: Bookcase) -> None:
    case.add({"a": "férias"})

    assert [case.text("a"), case.text("a", 2), case.text("a", 6), case.text("a", 2, 2)] == [
        (0, 6, "férias"),
        (2, 6, "rias"),
        (6, 6, ""),
        (2, 2, ""),
    ]


def test_length_membership_and_repr_are_those_of_a_collection(case: Bookcase) -> None:
    case.add({"a": "férias", "b": "prazo"})

    assert len(case) == 2
    assert "a" in case
    assert "x" not in case
    assert 5 not in case
    assert repr(case).endswith(": 2 documents>")


# --- searching -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [[], "year=2024", 5, ("year", 2024), object()])
def test_a_filter_that_is_none_is_a_query_error(case: Bookcase, where: Any) -> None:
    with pytest.raises(QueryError, match="a filter is an object"):
        case.search("férias", where=where)
    with pytest.raises(QueryError, match="a filter is an object"):
        case.documents(where)


def test_a_filter_may_be_given_as_json_or_parsed(case: Bookcase) -> None:
    case.add({"a": "férias", "b": "férias"}, metadata={"a": {"year": 2023}, "b": {"year": 2024}})

    assert ids(case.search("férias", where={"year": {"$gt": 2023}})) == ["b"]
    assert ids(case.search("férias", where=Condition("year", "$gt", 2023))) == ["b"]


@pytest.mark.parametrize("options", [{"k": 0}, {"k": True}, {"k": 10_001}, {"mode": "bm25"}, {"mode": "Hybrid"}])
def test_arguments_of_a_search_are_checked(case: Bookcase, options: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        case.search("férias", **options)


def test_a_stranger_finds_nothing(case: Bookcase) -> None:
    case.add({"a": "férias"}, readers=["*"])
    case.add({"b": "férias"}, readers=["finance"])

    for mode in MODES:
        found = case.search("férias", mode=mode, asker=STRANGER)
        assert (ids(found), found.coverage) == ([], 0.0)


# --- changing ------------------------------------------------------------------------------------------------------


def test_metadata_is_merged_and_a_null_takes_a_field_away(case: Bookcase) -> None:
    case.add({"a": "férias"}, metadata={"a": {"year": 2024, "draft": True}})

    case.update_metadata("a", {"topic": "rh", "draft": None})

    assert case.document("a").metadata == {"year": 2024, "topic": "rh"}
    assert case.search("férias")[0].metadata == {"year": 2024, "topic": "rh"}
    assert ids(case.search("férias", where={"topic": "rh"})) == ["a"]
    assert ids(case.search("férias", where={"draft": True})) == []


def test_metadata_is_replaced_whole_when_not_merged(case: Bookcase) -> None:
    case.add({"a": "férias"}, metadata={"a": {"year": 2024}})

    case.update_metadata("a", {"topic": "rh"}, merge=False)

    assert case.document("a").metadata == {"topic": "rh"}


def test_metadata_that_cannot_be_kept_is_refused_and_changes_nothing(case: Bookcase) -> None:
    case.add({"a": "férias"}, metadata={"a": {"year": 2024}})

    with pytest.raises(SettingsError, match="JSON cannot hold"):
        case.update_metadata("a", {"year": float("inf")})

    assert case.document("a").metadata == {"year": 2024}


def test_metadata_of_a_document_that_is_not_there_is_not_found(case: Bookcase) -> None:
    with pytest.raises(NotFound, match="no document 'x'"):
        case.update_metadata("x", {})


def test_documents_are_deleted_one_by_one_or_as_a_list(case: Bookcase) -> None:
    case.add({"a": "férias", "b": "prazo", "c": "edital", "d": "contrato"})

    assert case.delete("a") == 1
    assert case.delete(["b", "c"]) == 2  # type: ignore[arg-type]
    assert [one.document_id for one in case.documents()] == ["d"]
    assert ids(case.search("férias prazo edital", mode="lexical")) == []


def test_deleting_one_that_is_not_there_deletes_none(case: Bookcase) -> None:
    case.add({"a": "férias"})

    with pytest.raises(NotFound, match="no document 'x'"):
        case.delete("a", "x")

    assert "a" in case


def test_a_document_named_twice_is_deleted_once(case: Bookcase) -> None:
    case.add({"a": "férias"})

    assert case.delete("a", "a") == 1


def test_compacting_and_rebuilding_change_no_answer(case: Bookcase) -> None:
    case.add({f"d{n}": f"licitação número {n} " * (n + 1) for n in range(12)})
    case.delete("d3", "d7")
    before = [timeless(case.search("licitação número 5", mode=mode)) for mode in MODES]

    case.compact()
    assert [timeless(case.search("licitação número 5", mode=mode)) for mode in MODES] == before

    assert case.rebuild() == 10
    assert [timeless(case.search("licitação número 5", mode=mode)) for mode in MODES] == before
    assert case.check() == []


def test_status_tells_what_is_held_and_how_it_was_made(case: Bookcase) -> None:
    case.add({"a": "férias"}, readers=["*"])
    case.add({"b": "prazo", "c": ""})

    status = case.status()

    told = {one.name: (one.documents, one.chunks, one.skipped, one.ok) for one in status.shelves}
    assert told == {"shared": (1, 1, 0, True), "private": (1, 1, 1, True)}
    assert (status.tenant, status.encoder) == ("acme", "tiny (16 dimensions, 1)")
    assert status.chunker.startswith("headings/")


# --- closed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda case: case.add({"a": "texto"}),
        lambda case: case.refresh(),
        lambda case: case.search("texto"),
        lambda case: case.document("a"),
        lambda case: case.text("a"),
        lambda case: case.spans("a"),
        lambda case: case.documents(),
        lambda case: case.update_metadata("a", {}),
        lambda case: case.delete("a"),
        lambda case: case.delete(),
        lambda case: case.remove_source("a"),
        lambda case: case.adopt("[]"),
        lambda case: case.compact(),
        lambda case: case.rebuild(),
        lambda case: case.check(),
        lambda case: case.status(),
        lambda case: len(case),
        lambda case: "a" in case,
    ],
    ids=range(18),
)
def test_a_closed_bookcase_does_nothing(use: Any) -> None:
    case = bookcase()
    case.add({"a": "férias"})
    case.close()

    with pytest.raises(Unavailable, match="closed") as caught:
        use(case)

    assert "estante.open" in caught.value.hint


def test_closing_twice_and_a_block_left_after_closing_are_allowed(case: Bookcase) -> None:
    with case:
        case.close()
    case.close()

    assert repr(case).endswith("closed>")


def test_a_bookcase_can_be_opened_in_a_block_time_after_time(tmp_path: Path) -> None:
    for n in range(3):
        with bookcase(tmp_path / "case") as case:
            case.add({f"d{n}": "férias"})
            assert len(case) == n + 1


# --- made and opened -----------------------------------------------------------------------------------------------


def test_opening_what_is_not_there_is_an_error_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no bookcase") as caught:
        estante.open(tmp_path / "absent")

    assert "estante init" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_creating_twice_is_an_error_and_keeps_the_first(tmp_path: Path) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add({"a": "férias"})

    with pytest.raises(NameTaken, match="a bookcase at"):
        estante.create(tmp_path / "case")

    with estante.open(tmp_path / "case") as case:
        assert "a" in case


def test_creating_where_a_file_stands_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")

    for place in (tmp_path / "file", tmp_path / "file" / "case"):
        with pytest.raises(EstanteError) as caught:
            estante.create(place)
        assert caught.value.hint


def settings(home: Path, toml: str) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "estante.toml").write_text(toml, encoding="utf-8")
    return load(home, environ={})


def test_a_bookcase_of_another_tenant_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "case"
    estante.create(home, settings(home, 'tenant = "acme"\n')).close()

    with pytest.raises(NameTaken, match="of tenant 'acme'") as caught:
        estante.open(home, settings(home, 'tenant = "other"\n'))

    assert caught.value.hint


def test_two_shelves_in_one_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        settings(tmp_path / "case", '[shelf.shared]\npath = "x"\n[shelf.private]\npath = "x"\n')


def test_a_store_that_keeps_nothing_is_refused_for_a_shelf_on_disk(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="keeps nothing on disk") as caught:
        estante.create(tmp_path / "case", settings(tmp_path / "case", '[shelf.private]\nstore = "memory"\n'))

    assert "embedded" in caught.value.hint


def test_a_shelf_made_with_another_encoder_names_both_and_the_command(tmp_path: Path) -> None:
    with bookcase(tmp_path / "case", revision="1") as case:
        case.add({"a": "férias"})

    with bookcase(tmp_path / "case", revision="2") as case:
        for store in stores(case).values():
            with pytest.raises(StaleShelf, match=r"was 'tiny 16 1 cosine', is 'tiny 16 2 cosine'") as caught:
                store.expect(space=Space("tiny", 16, "2"), analyzer=case._engine.analysis)
            assert caught.value.hint.startswith("Run: estante rebuild")


def test_a_shelf_rebuilt_by_another_process_with_another_encoder_is_not_searched_with_this_one(tmp_path: Path) -> None:
    with bookcase(tmp_path / "case", revision="1") as here, bookcase(tmp_path / "case", revision="2") as there:
        here.add({"a": "férias"})
        for store in stores(here).values():
            store.expect(space=TinyEncoder("1").space, analyzer=here._engine.analysis)
        assert ids(here.search("férias")) == ["a"]

        there.rebuild()

        with pytest.raises(StaleShelf, match="was 'tiny 16 2 cosine', is 'tiny 16 1 cosine'"):
            here.search("férias")
        assert ids(there.search("férias")) == ["a"]


def test_opening_with_another_encoder_is_refused_and_rebuilding_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "case"
    with estante.create(home) as case:
        case.add({"a": "férias"})
        before = timeless(case.search("férias"))
    kind = ENCODERS.load("static")
    space = replace(kind().space, revision="another")
    monkeypatch.setattr(kind, "space", property(lambda self: space))

    with pytest.raises(StaleShelf, match="another") as caught:
        estante.open(home)
    assert caught.value.hint.startswith("Run: estante rebuild")

    with assemble.open_for_rebuild(home) as case:
        assert case.rebuild() == 1
    with estante.open(home) as case:
        assert timeless(case.search("férias")) == before


def test_a_bookcase_without_its_shared_shelf_is_damaged_and_not_new(tmp_path: Path) -> None:
    import shutil

    estante.create(tmp_path / "case").close()
    shutil.rmtree(tmp_path / "case" / ".estante" / "shared")

    with pytest.raises(CorruptShelf, match="shared shelf is missing"):
        estante.open(tmp_path / "case")


# --- the demo library ----------------------------------------------------------------------------------------------


def timeless(results: Results) -> Results:
    return replace(results, took_ms=0.0)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bookcase, Bookcase]]:
    """The demo library on disk and in memory, with the encoder of every install."""
    home = tmp_path_factory.mktemp("library") / "case"
    with estante.create(home) as case:
        case.add(LIBRARY, readers=["*"])
    with estante.open(home) as disk, estante.memory() as memory:
        memory.add(LIBRARY, readers=["*"])
        yield disk, memory


@pytest.fixture(scope="module")
def questions() -> list[str]:
    told = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    return [one["question"] for one in told]


def test_the_library_in_memory_and_on_disk_gives_the_same_hits(
    library: tuple[Bookcase, Bookcase], questions: list[str]
) -> None:
    disk, memory = library
    assert len(disk) == len(memory) > 40

    for question in questions:
        assert timeless(disk.search(question)) == timeless(memory.search(question)), question


@pytest.mark.parametrize("mode", MODES)
def test_each_leg_and_filter_gives_the_same_in_memory_and_on_disk(
    library: tuple[Bookcase, Bookcase], questions: list[str], mode: Any
) -> None:
    disk, memory = library
    where = {"$or": [{"@language": "en"}, {"@uri": {"$startswith": "leis/"}}]}

    for question in questions[::5]:
        found = disk.search(question, 25, mode=mode, where=where)
        assert timeless(found) == timeless(memory.search(question, 25, mode=mode, where=where))
        assert all(hit.chunk.language == "en" or hit.chunk.uri.startswith("leis/") for hit in found)


def test_every_hit_of_the_library_is_a_true_span(library: tuple[Bookcase, Bookcase], questions: list[str]) -> None:
    disk, _ = library
    seen: set[tuple[str, Span]] = set()

    for question in questions:
        for hit in disk.search(question):
            seen.add((hit.document_id, hit.span))
            assert disk.text(hit.document_id, hit.span.start, hit.span.end)[2] == hit.text

    assert len(seen) > 100


def test_every_chunk_of_the_library_is_a_true_span(library: tuple[Bookcase, Bookcase]) -> None:
    disk, _ = library

    for listing in disk.documents():
        whole = disk.document(listing.document_id)
        assert len(whole.text) == listing.chars
        for index, span in enumerate(disk.spans(listing.document_id)):
            assert whole.cut(index, span).text == whole.text[span.start : span.end] != ""


def test_matches_of_the_library_are_inside_their_hit(library: tuple[Bookcase, Bookcase], questions: list[str]) -> None:
    disk, _ = library

    for question in questions[::3]:
        for hit in disk.search(question):
            assert all(hit.span.start <= match.start < match.end <= hit.span.end for match in hit.matches)
            assert "".join(piece for piece, _ in hit.pieces()) == hit.text


def test_the_library_is_whole(library: tuple[Bookcase, Bookcase]) -> None:
    assert library[0].check() == []
