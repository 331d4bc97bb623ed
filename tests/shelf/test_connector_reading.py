"""Reading a bookcase through the contract: search, pages, ids, vectors, and what happens when the back end fails."""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from estante.contract.derived import read_derived_result
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    ContractValueError,
)
from estante.contract.fingerprints import document_source_fingerprint
from estante.contract.models import ChunkRecord
from estante.contract.pipeline import RagPipeline
from estante.index.records import place_of
from estante.model.errors import ContractBroken, CorruptShelf, Unavailable
from estante.shelf.bookcase import parts_of
from estante.shelf.border import cursor_of, file_type, place, read_cursor
from estante.shelf.opening import as_pipeline
from estante.shelf.pipeline import BookcasePipeline
from tests.parts import TinyEncoder, bookcase
from tests.shelf.bound import QUESTION, SHARED, asking, filled

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["memory", "disk"])
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BookcasePipeline]:
    """The owner's pipeline over both shelves: ten chunks of five documents."""
    with asking(tmp_path / "case" if request.param == "disk" else None, asker="owner") as pipeline:
        yield pipeline


def paged(pipeline: RagPipeline, limit: int) -> list[list[ChunkRecord]]:
    pages, cursor = [], None
    while True:
        page = pipeline.list_chunks(cursor=cursor, limit=limit)
        pages.append(list(page.items))
        cursor = page.next_cursor
        if cursor is None:
            return pages


# --- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
def test_hits_are_chunks_of_the_corpus_best_first(tmp_path: Path, mode: str) -> None:
    with asking(tmp_path / "case", asker="owner", mode=mode) as pipeline:
        hits = pipeline.query(QUESTION, 4)
        known = pipeline.get_chunks([hit.chunk_id for hit in hits if hit.chunk_id])

        assert [hit.rank for hit in hits] == [0, 1, 2, 3]
        scores = [hit.score for hit in hits if hit.score is not None]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 4
        assert all(hit.raw_score is None for hit in hits)
        for hit in hits:
            chunk = known[hit.chunk_id or ""]
            assert (hit.text, hit.doc_id) == (chunk.text, chunk.doc_id)
            assert hit.metadata.items() >= chunk.metadata.items()


def test_scores_of_the_dense_mode_are_the_cosines_of_what_is_stored_over_both_shelves() -> None:
    with asking(asker="owner", mode="dense") as pipeline:
        hits = pipeline.query(QUESTION, 100)
        asked = pipeline.embed_queries([QUESTION]).vectors[0]
        stored = pipeline.get_chunk_vectors([hit.chunk_id or "" for hit in hits])

    assert {hit.metadata["shelf"] for hit in hits} == {"shared", "private"}
    for hit in hits:
        assert hit.score == pytest.approx(math.fsum(map(float.__mul__, asked, stored[hit.chunk_id or ""])), abs=1e-9)


def test_scores_of_the_other_modes_are_those_of_the_engine() -> None:
    with filled() as case:
        for mode in ("hybrid", "lexical"):
            found = case.search(QUESTION, 5, mode=mode)  # type: ignore[arg-type]
            told = as_pipeline(case, asker="owner", mode=mode).query(QUESTION, 5)

            assert [(hit.chunk_id, hit.score) for hit in told] == [(hit.chunk.id, hit.score) for hit in found]


def test_a_hit_tells_where_it_stands_and_why_it_was_found(owner: BookcasePipeline) -> None:
    told = owner.query("em quantos períodos podem ser divididas", 1)[0].metadata

    assert told["source_identity"] == told["relative_path"] == "ferias"
    assert (told["char_start"], told["doc_chunk_index"], told["language"]) == (39, 1, "pt")
    assert told["legs"]["lexical"]["rank"] == 1
    json.dumps(told, allow_nan=False)


def test_no_chunk_is_listed_twice_while_a_text_is_on_its_way_between_shelves() -> None:
    with filled() as case:
        pipeline = as_pipeline(case, asker="owner", mode="dense")
        _, _, shelves = parts_of(case)
        with shelves.private.view() as view:
            entries = view.entries("processo")
            document = view.document("processo", pipeline._grant)
        from dataclasses import replace

        from estante.model.access import ANYONE, Scope
        from estante.model.ports import Deposit

        opened = replace(document, scope=Scope("acme", ANYONE))
        cut = tuple(replace(one, chunk=opened.cut(one.chunk.index, one.chunk.span)) for one in entries)
        deposit = Deposit(source="", item="processo", revision="2", digest="", recipe="", documents=((opened, cut),))
        shelves.shared.put([deposit])

        for ids in (
            [hit.chunk_id for hit in pipeline.query(QUESTION, 100)],
            [chunk.chunk_id for chunk in pipeline.pull_all_chunks()],
            [chunk.chunk_id for page in paged(pipeline, 1) for chunk in page],
        ):
            assert len(ids) == len(set(ids)) == 10


@pytest.mark.parametrize("text", ["", "   \n", "?!", "x" * 30_000, "\x00", "🦜" * 50])
def test_an_odd_question_is_answered_with_a_list(owner: BookcasePipeline, text: str) -> None:
    assert isinstance(owner.query(text), list)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((None,), "a question is a text"),
        (("\ud800",), "half a character"),
        (("a", 0), "ask for 1 to 10,000"),
        (("a", -1), "ask for 1"),
        (("a", 10_001), "ask for 1"),
        (("a", True), "ask for 1"),
        (("a", "5"), "ask for 1"),
    ],
)
def test_a_question_that_is_none_is_refused(arguments: tuple[Any, ...], complaint: str) -> None:
    with asking() as pipeline, pytest.raises(ContractValueError, match=complaint):
        pipeline.query(*arguments)


def test_more_hits_than_there_are_is_no_fault(owner: BookcasePipeline) -> None:
    assert len(owner.query(QUESTION, 10_000)) <= 10


# --- records --------------------------------------------------------------------------------------------------------


def test_spans_are_true_and_ordinals_are_dense(owner: BookcasePipeline) -> None:
    chunks = owner.pull_all_chunks()

    owner.validate_chunks(chunks)
    assert [chunk.global_index for chunk in chunks] == list(range(10))
    assert [chunk.doc_chunk_index for chunk in chunks] == [0, 1] * 5
    for chunk in chunks:
        if chunk.doc_id in SHARED:
            assert SHARED[chunk.doc_id][chunk.char_start : chunk.char_end] == chunk.text
        assert chunk.embedding is None


def test_every_way_to_read_gives_the_same_record(owner: BookcasePipeline) -> None:
    chunks = owner.pull_all_chunks()

    assert owner.get_chunks([chunk.chunk_id for chunk in chunks]) == {chunk.chunk_id: chunk for chunk in chunks}
    for limit in (1, 3, 10, 1_000):
        assert [chunk for page in paged(owner, limit) for chunk in page] == chunks


def test_metadata_of_a_document_overrides_nothing_and_declares_nothing() -> None:
    hostile = {
        "chunk_id": "x",
        "doc_id": "x",
        "source_fingerprint": "x",
        "relative_path": "/etc/passwd",
        "item_kind": "gap",
        "item_covered_ids": ["other#0"],
        "document": {"title": "x"},
    }
    with bookcase() as case:
        case.add({"a": "O servidor tem férias."}, metadata={"a": hostile}, readers=["*"])
        pipeline = as_pipeline(case)
        [chunk], [hit] = pipeline.pull_all_chunks(), pipeline.query("férias")

    assert (chunk.chunk_id, chunk.doc_id, hit.chunk_id, hit.doc_id) == ("a#0", "a", "a#0", "a")
    assert chunk.metadata["relative_path"] == "a"
    assert chunk.metadata["document"] == hit.metadata["document"] == hostile
    assert (read_derived_result(hit).kind, read_derived_result(hit).credited_ids) == ("chunk", ("a#0",))


def test_no_record_has_an_absolute_path_of_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "leis"
    folder.mkdir()
    (folder / "Férias.MD").write_text("# Férias\n\nTrinta dias.", "utf-8")
    with bookcase(tmp_path / "case") as case:
        case.add(folder, readers=["*"])
        case.add({"/srv/leis/a.txt": "Uma lei.", "C:\\leis\\b.txt": "Outra lei."}, readers=["*"])
        found = {chunk.doc_id: chunk.metadata for chunk in as_pipeline(case).pull_all_chunks()}

    assert str(tmp_path) not in json.dumps(found)
    told = found["leis/férias.md"]
    assert (told["relative_path"], told["file_type"]) == ("Férias.MD", "md")
    assert all("relative_path" not in found[one] for one in ("/srv/leis/a.txt", "C:\\leis\\b.txt"))


def test_the_fingerprint_of_a_source_is_the_contract_s_and_changes_with_its_text() -> None:
    with filled() as case:
        pipeline = as_pipeline(case)
        before = pipeline.get_chunks(["ferias#0"])["ferias#0"].metadata["source_fingerprint"]
        case.add({"ferias": "O servidor tem férias de quarenta dias."}, readers=["*"])
        after = pipeline.query("quarenta dias", 1)[0].metadata["source_fingerprint"]

    assert before == document_source_fingerprint("", SHARED["ferias"])
    assert after == document_source_fingerprint("", "O servidor tem férias de quarenta dias.")


def test_a_masked_secret_has_no_part_in_the_fingerprint() -> None:
    prints = set()
    for secret in ("AKIAQ7RZ3KXWN5TBJ2MV", "AKIAZ4LM8PQRS6TUV9WX"):
        with bookcase() as case:
            assert case.add({"a": f"A chave do servidor é {secret}."}, readers=["*"]).masked == 1
            prints.add(as_pipeline(case).pull_all_chunks()[0].metadata["source_fingerprint"])

    assert len(prints) == 1


@pytest.mark.parametrize(
    ("uri", "suffix"), [("a.MD", "md"), ("a.tar.gz", "gz"), ("a", ""), ("v1.2 of it", ""), ("x/.hidden", "hidden")]
)
def test_the_type_of_a_file_is_its_suffix(uri: str, suffix: str) -> None:
    assert file_type(uri) == suffix


# --- pages ----------------------------------------------------------------------------------------------------------


def damage(home: Path, shelf: str, document_id: str) -> None:
    """Changes a byte in the text of a document on disk."""
    with sqlite3.connect(home / shelf / "catalog.sqlite") as connection:
        [number] = connection.execute("SELECT doc FROM documents WHERE id = ?", (document_id,)).fetchone()
        connection.execute("UPDATE texts SET data = zeroblob(40) WHERE place = ?", (place_of(number, 0),))
    connection.close()


def test_a_page_reads_its_own_chunks_and_no_others(tmp_path: Path) -> None:
    home = tmp_path / "case"
    with asking(home, asker="owner") as pipeline:
        damage(home, "shared", "leave")

        first = pipeline.list_chunks(limit=4)
        assert [chunk.doc_id for chunk in first.items] == ["diarias", "diarias", "ferias", "ferias"]
        with pytest.raises(ConnectorOperationalError):
            pipeline.list_chunks(cursor=first.next_cursor, limit=1)


def test_reading_by_id_reads_these_alone(tmp_path: Path) -> None:
    home = tmp_path / "case"
    with asking(home, asker="owner") as pipeline:
        damage(home, "shared", "leave")

        assert list(pipeline.get_chunks(["ferias#1", "processo#0"])) == ["ferias#1", "processo#0"]
        assert list(pipeline.get_chunk_vectors(["leave#0"])) == ["leave#0"]  # Vectors stand elsewhere.
        with pytest.raises(ConnectorOperationalError) as caught:
            pipeline.pull_all_chunks()
    assert isinstance(caught.value.__cause__, CorruptShelf)


def test_a_damaged_shelf_is_not_told_in_detail_to_anybody_but_the_owner(tmp_path: Path) -> None:
    home = tmp_path / "case"
    with filled(home) as case:
        damage(home, "shared", "leave")
        told = []
        for asker in ("owner", "everyone"):
            with pytest.raises(ConnectorOperationalError) as caught:
                as_pipeline(case, asker=asker).pull_all_chunks()
            told.append(str(caught.value))

    assert "catalog.sqlite is damaged" in told[0]
    assert "the shelf is damaged" in told[1]
    assert "catalog" not in told[1]


def test_a_cursor_goes_on_in_another_process(tmp_path: Path) -> None:
    home = tmp_path / "case"
    with asking(home, asker="owner") as pipeline:
        cursor = pipeline.list_chunks(limit=3).next_cursor
        rest = [chunk.chunk_id for chunk in pipeline.pull_all_chunks()][3:]
    code = (
        "import sys; from pathlib import Path; from tests.parts import bookcase; "
        "from estante.shelf.opening import as_pipeline; "
        "pipeline = as_pipeline(bookcase(Path(sys.argv[1])), asker='owner'); "
        "print([chunk.chunk_id for chunk in pipeline.list_chunks(cursor=sys.argv[2]).items])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(home), str(cursor)], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == f"{rest}\n"


def test_a_cursor_ends_with_the_corpus_it_was_given_for() -> None:
    with filled() as case:
        pipeline = as_pipeline(case)
        cursor = pipeline.list_chunks(limit=3).next_cursor
        case.add({"a": "Um texto mais."}, readers=["*"])

        with pytest.raises(ConnectorOperationalError, match="begin again with None"):
            pipeline.list_chunks(cursor=cursor)


def test_a_cursor_goes_on_while_only_others_texts_change() -> None:
    with filled() as case:
        pipeline = as_pipeline(case)
        cursor = pipeline.list_chunks(limit=3).next_cursor
        case.add({"a": "Um texto mais."})
        case.delete("orcamento")

        assert len(pipeline.list_chunks(cursor=cursor).items) == 3


def test_a_cursor_of_another_asker_is_refused() -> None:
    with filled() as case:
        cursor = as_pipeline(case, asker="owner").list_chunks(limit=7).next_cursor

        with pytest.raises(ConnectorOperationalError, match="of another binding"):
            as_pipeline(case).list_chunks(cursor=cursor)


def spelled(*told: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "5",
        "-1",
        "abc",
        "ação",
        "é" * 9,
        5,
        spelled("estante.1", "mark", "a", -1),
        spelled("estante.1", "mark", "a", True),
        spelled("estante.1", "mark", "a"),
        spelled("estante.1", 5, "a", 0),
        spelled("other", "mark", "a", 0),
        spelled("estante.1", "mark", None, 0),
        "[" * 3_000,
        cursor_of(("a", 1), "mark") + "=",
        cursor_of(("a", 1), "mark")[:-3],
    ],
    ids=range(16),
)
def test_a_cursor_that_list_chunks_did_not_give_breaks_the_contract(cursor: Any) -> None:
    with asking() as pipeline, pytest.raises(ConnectorContractError, match="begin with None"):
        pipeline.list_chunks(cursor=cursor)


@pytest.mark.parametrize("after", [("a", 0), ("leis/a b#1.md!parte", 12), ("é🦜", 3)])
def test_a_cursor_is_a_text_without_white_space_that_is_read_back(after: tuple[str, int]) -> None:
    cursor = cursor_of(after, "f00")

    assert read_cursor(cursor) == (after, "f00")
    assert cursor.isascii()
    assert not set(cursor) & set(" \n/+=")


@pytest.mark.parametrize("limit", [0, -1, True, "5", 1.5, None])
def test_a_limit_that_never_advances_breaks_the_contract(limit: Any) -> None:
    with asking() as pipeline, pytest.raises(ContractValueError):
        pipeline.list_chunks(limit=limit)


def test_an_empty_corpus_is_one_empty_page() -> None:
    with bookcase() as case:
        pipeline = as_pipeline(case)

        assert (list(pipeline.list_chunks().items), pipeline.list_chunks().next_cursor) == ([], None)
        assert pipeline.pull_all_chunks() == []


def test_a_pull_is_of_one_state_while_somebody_writes(tmp_path: Path) -> None:
    with filled(tmp_path / "case") as case:
        pipeline = as_pipeline(case)
        pipeline.max_pull_pages = 10
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                case.add({"troca": f"Texto número {number} sobre férias."}, readers=["*"])
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            pulls = [pipeline.pull_all_chunks() for _ in range(20)]
        finally:
            stop.set()
            writer.join()

    for chunks in pulls:
        assert [chunk.global_index for chunk in chunks] == list(range(len(chunks)))
        assert {chunk.doc_id for chunk in chunks} >= set(SHARED)


# --- by id ----------------------------------------------------------------------------------------------------------


def test_unknown_ids_are_absent(owner: BookcasePipeline) -> None:
    wanted = ["ferias#0", "ferias#9", "ferias", "#0", "", "nada#0", "ferias#00", "ferias#-1", "ferias#٣", "\ud800#0"]

    assert list(owner.get_chunks(wanted)) == ["ferias#0"]
    assert list(owner.get_chunk_vectors(wanted)) == ["ferias#0"]


def test_no_ids_need_no_back_end(owner: BookcasePipeline) -> None:
    with owner.break_backend():
        assert owner.get_chunks([]) == {}
        assert owner.get_chunk_vectors([]) == {}


@pytest.mark.parametrize("ids", ["ferias#0", None, [None], [5], [["ferias#0"]], 7])
def test_ids_are_a_list_of_texts(ids: Any) -> None:
    with asking() as pipeline:
        for read in (pipeline.get_chunks, pipeline.get_chunk_vectors):
            with pytest.raises(ContractValueError):
                read(ids)


@pytest.mark.parametrize(
    ("chunk_id", "found"),
    [("a#0", ("a", 0)), ("a#b#12", ("a#b", 12)), ("a#01", None), ("a#", None), ("a", None), ("a#²", None)],
)
def test_the_id_of_a_chunk_names_its_place(chunk_id: str, found: tuple[str, int] | None) -> None:
    assert place(chunk_id) == found


# --- vectors --------------------------------------------------------------------------------------------------------


def test_vectors_are_those_of_the_index_and_of_unit_length(owner: BookcasePipeline) -> None:
    ids = [chunk.chunk_id for chunk in owner.pull_all_chunks()]
    vectors = owner.get_chunk_vectors(ids)

    assert list(vectors) == ids
    for vector in vectors.values():
        assert len(vector) == 16
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)
        assert all(type(value) is float for value in vector)


def test_vectors_are_never_made_anew(owner: BookcasePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a text was encoded")

    monkeypatch.setattr(TinyEncoder, "passages", refuse)
    monkeypatch.setattr(TinyEncoder, "_row", refuse)

    assert len(owner.get_chunk_vectors(["ferias#0", "processo#1"])) == 2


def test_a_chunk_that_the_encoder_says_nothing_of_has_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.setattr(TinyEncoder, "_row", lambda self, text: np.zeros(16))
    with asking() as pipeline:
        assert pipeline.get_chunk_vectors(["ferias#0"]) == {}
        assert "ferias#0" in pipeline.get_chunks(["ferias#0"])


def test_questions_are_embedded_into_the_space_that_is_described(owner: BookcasePipeline) -> None:
    batch = owner.embed_queries(["férias", "", "diárias"])

    assert batch.space == owner.describe_space()
    assert [len(vector) for vector in batch.vectors] == [16] * 3
    assert [round(math.hypot(*vector), 6) for vector in batch.vectors] == [1, 0, 1]
    assert owner.embed_queries([]).vectors == []


@pytest.mark.parametrize("texts", ["férias", [None], [5], ["\ud800"]])
def test_only_a_list_of_texts_is_embedded(texts: Any) -> None:
    with asking() as pipeline, pytest.raises(ContractValueError):
        pipeline.embed_queries(texts)


# --- the fingerprint ------------------------------------------------------------------------------------------------


def test_the_fingerprint_is_the_contract_s_and_moves_with_what_the_asker_may_read() -> None:
    with filled() as case:
        pipeline = as_pipeline(case)
        before = pipeline.fingerprint()
        assert before == RagPipeline.fingerprint(pipeline)
        case.add({"outro": "Um segredo."})
        assert pipeline.fingerprint() == before
        case.update_metadata("ferias", {"year": 1999})
        assert pipeline.fingerprint() == before
        case.add({"ferias": "Outro texto."}, readers=["*"])
        assert pipeline.fingerprint() != before


# --- failures -------------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[BookcasePipeline], Any]] = {
    "query": lambda one: one.query(QUESTION),
    "list_chunks": lambda one: one.list_chunks(),
    "pull_all_chunks": lambda one: one.pull_all_chunks(),
    "get_chunks": lambda one: one.get_chunks(["ferias#0"]),
    "get_chunk_vectors": lambda one: one.get_chunk_vectors(["ferias#0"]),
    "fingerprint": lambda one: one.fingerprint(),
    "list_datasets": lambda one: one.list_datasets(),
    "run_snapshot": lambda one: one.run_snapshot(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_failing_back_end_raises_from_its_cause_and_is_used_again(operation: str, owner: BookcasePipeline) -> None:
    with owner.break_backend():
        with pytest.raises(ConnectorOperationalError) as caught:
            OPERATIONS[operation](owner)
        assert isinstance(caught.value.__cause__, Unavailable)

    assert OPERATIONS[operation](owner)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "get_chunk_vectors"])
def test_a_torn_catalog_raises_from_its_cause(tmp_path: Path, operation: str) -> None:
    home = tmp_path / "case"
    with filled(home) as case:
        pipeline = as_pipeline(case)
        parts_of(case)[2].shared.close()
        for file in (home / "shared").glob("catalog.sqlite*"):
            file.write_bytes(b"torn" * 200)

        with pytest.raises(ConnectorOperationalError) as caught:
            OPERATIONS[operation](pipeline)

    assert caught.value.__cause__ is not None


def test_an_encoder_that_fails_raises_from_its_cause_and_its_words_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("token sk-live-0123456789abcdef0123 refused")

    with asking() as pipeline:
        monkeypatch.setattr(TinyEncoder, "queries", fail)
        for ask in (lambda: pipeline.query("a"), lambda: pipeline.embed_queries(["a"])):
            with pytest.raises(ConnectorOperationalError, match="failed: RuntimeError") as caught:
                ask()

            assert isinstance(caught.value.__cause__, ContractBroken)
            assert "sk-live" not in str(caught.value)


def test_a_space_that_cannot_be_described_is_an_operational_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with asking() as pipeline:
        pipeline._engine.encoder.space = None  # type: ignore[misc, assignment]

        with pytest.raises(ConnectorOperationalError):
            pipeline.describe_space()


def test_one_shelf_that_does_not_answer_is_never_a_shorter_list(tmp_path: Path) -> None:
    home = tmp_path / "case"
    with filled(home) as case:
        owner = as_pipeline(case, asker="owner")
        assert owner.query(QUESTION)
        parts_of(case)[2].private.close()
        for file in (home / "private").glob("catalog.sqlite*"):
            file.write_bytes(b"torn" * 200)

        for _ in range(2):
            with pytest.raises(ConnectorError) as caught:
                owner.query(QUESTION)
            assert isinstance(caught.value, ConnectorOperationalError)
            assert caught.value.__cause__ is not None


def test_many_threads_read_at_once(owner: BookcasePipeline) -> None:
    wanted = [call(owner) for call in OPERATIONS.values()]
    wrong: list[object] = []

    def read() -> None:
        for _ in range(5):
            found = [call(owner) for call in OPERATIONS.values()]
            if found != wanted:
                wrong.append(found)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
