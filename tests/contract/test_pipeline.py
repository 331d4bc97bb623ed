"""A pipeline reads its corpus one way and gives it two ways; what it cannot do, it says."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract import pipeline
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    ContractValueError,
    UnsupportedCapability,
)
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    ConnectorHealth,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    RetrievedChunk,
)
from estante.contract.paging import Walk
from estante.contract.pipeline import ASYNC_TWINS, REQUIRED_CHUNK_FIELDS, RagPipeline, inherits


def record(number: int, text: str = "texto") -> ChunkRecord:
    return ChunkRecord(f"c{number}", "d", "d.md", number, None, f"{text} {number}")


class Silent(RagPipeline):
    """Answers nothing and has no corpus."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return []


class Bulk(Silent):
    """Has its corpus in one piece, and counts how often it is asked for it."""

    def __init__(self, size: int = 5) -> None:
        self.chunks = [record(number) for number in range(size)]
        self.pulls = 0

    def pull_all_chunks(self) -> list[ChunkRecord]:
        self.pulls += 1
        return [*self.chunks]


class Paged(Silent):
    """Has its corpus as a list of pages; the cursor of each but the first is given with it."""

    def __init__(self, *pages: tuple[str | None, Sequence[ChunkRecord]]) -> None:
        self.pages = pages
        self.asked: list[tuple[str | None, int]] = []

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        self.asked.append((cursor, limit))
        at = next(at for at, (own, _) in enumerate(self.pages) if own == cursor)
        after = self.pages[at + 1][0] if at + 1 < len(self.pages) else None
        return ChunkPage(self.pages[at][1], after)


class Endless(Silent):
    """Has always one cursor more; ``items`` says what stands on each page."""

    def __init__(self, items: Callable[[int], Sequence[ChunkRecord]]) -> None:
        self.items = items
        self.asked = 0

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        self.asked += 1
        return ChunkPage(self.items(self.asked), f"after-{self.asked}")


def walk(pipeline: RagPipeline, limit: int) -> list[ChunkPage]:
    pages = [pipeline.list_chunks(limit=limit)]
    while pages[-1].next_cursor is not None:
        pages.append(pipeline.list_chunks(cursor=pages[-1].next_cursor, limit=limit))
    return pages


# --- what a pipeline is -----------------------------------------------------------------------------------------


def test_a_pipeline_that_cannot_be_asked_is_none() -> None:
    with pytest.raises(TypeError, match="query"):
        RagPipeline()  # type: ignore[abstract]


def test_query_is_all_that_must_be_written() -> None:
    assert RagPipeline.__abstractmethods__ == {"query"}


def test_the_information_says_name_class_and_mode_in_this_order() -> None:
    assert list(Silent().info().items()) == [
        ("name", "rag-pipeline"),
        ("type", "Silent"),
        ("retrieval_mode", "scored"),
    ]


def test_the_information_is_what_the_class_says_of_itself() -> None:
    class Named(Silent):
        name = "handbook"
        retrieval_mode = "ordered"

    assert Named().info() == {"name": "handbook", "type": "Named", "retrieval_mode": "ordered"}


def test_the_module_has_what_a_connector_imports_from_one_place() -> None:
    names = {
        "ChunkRecord", "DEFAULT_RETRIEVAL_MODE", "GeneratedAnswer", "RETRIEVAL_MODES", "RagPipeline",
        "REQUIRED_CHUNK_FIELDS", "RetrievalModeError", "RetrievedChunk", "SCORE_CONVENTION", "UnsupportedCapability",
        "cosine_distance_to_similarity", "l2_distance_to_score", "refuse_threshold_for_mode", "resolve_retrieval_mode",
        "similarity_passthrough",
    }  # fmt: skip

    assert names <= set(pipeline.__all__)
    assert all(hasattr(pipeline, name) for name in pipeline.__all__)


# --- the corpus in bulk -----------------------------------------------------------------------------------------


def test_the_bulk_read_follows_the_cursors_to_the_end() -> None:
    case = Paged((None, [record(0), record(1)]), ("x", [record(2)]), ("y", (record(3),)))

    assert [chunk.chunk_id for chunk in case.pull_all_chunks()] == ["c0", "c1", "c2", "c3"]
    assert case.asked == [(None, 1000), ("x", 1000), ("y", 1000)]


def test_the_empty_string_is_a_cursor_and_not_the_end() -> None:
    case = Paged((None, [record(0)]), ("", [record(1)]))

    assert len(case.pull_all_chunks()) == 2


def test_an_empty_corpus_is_an_empty_list() -> None:
    assert Paged((None, [])).pull_all_chunks() == []


@pytest.mark.parametrize("cursor", ["x", ""])
def test_a_cursor_seen_twice_is_refused(cursor: str) -> None:
    class Stuck(Silent):
        def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
            return ChunkPage([record(0)], again)

    again = cursor

    with pytest.raises(ConnectorContractError, match=r"Stuck\.list_chunks gave the repeated cursor"):
        Stuck().pull_all_chunks()


def test_two_pulls_may_use_the_same_cursors() -> None:
    case = Paged((None, [record(0)]), ("x", [record(1)]))

    assert case.pull_all_chunks() == case.pull_all_chunks()


def test_new_cursors_over_known_chunks_are_refused_at_once() -> None:
    case = Endless(lambda page: [record(0), record(1)])

    with pytest.raises(ConnectorContractError, match="known chunks alone, such as 'c0'"):
        case.pull_all_chunks()

    assert case.asked == 2


def test_a_page_with_one_new_chunk_goes_on() -> None:
    case = Paged((None, [record(0), record(1)]), ("x", [record(1), record(2)]), ("y", [record(3)]))

    assert [chunk.chunk_id for chunk in case.pull_all_chunks()] == ["c0", "c1", "c1", "c2", "c3"]


def test_a_last_page_of_known_chunks_is_for_validation_to_find() -> None:
    case = Paged((None, [record(0)]), ("x", [record(0)]))

    assert len(case.pull_all_chunks()) == 2


def test_an_empty_page_may_stand_between_others() -> None:
    case = Paged((None, []), ("x", [record(0)]), ("y", []), ("z", [record(1)]))

    assert len(case.pull_all_chunks()) == 2


def test_empty_pages_without_end_are_refused() -> None:
    case = Endless(lambda page: [])

    with pytest.raises(ConnectorContractError, match="1001 pages without a chunk in a row"):
        case.pull_all_chunks()


def test_a_chunk_between_empty_pages_sets_their_count_back() -> None:
    class Patient(Endless):
        max_empty_pages = 2
        max_pull_pages = 50

    with pytest.raises(ConnectorContractError, match="went on after 50 pages"):
        Patient(lambda page: [] if page % 3 else [record(page)]).pull_all_chunks()


def test_new_chunks_without_end_are_refused_at_the_cap() -> None:
    class Small(Endless):
        max_pull_pages = 7

    case = Small(lambda page: [record(page)])

    with pytest.raises(ConnectorContractError, match="went on after 7 pages"):
        case.pull_all_chunks()

    assert case.asked == 7


def test_a_corpus_that_ends_at_the_cap_is_whole() -> None:
    class Small(Paged):
        max_pull_pages = 2

    assert len(Small((None, [record(0)]), ("x", [record(1)])).pull_all_chunks()) == 2


def test_the_cap_is_far_beyond_what_memory_holds() -> None:
    assert RagPipeline.max_pull_pages == 1_000_000


def test_rows_without_an_id_are_left_to_validation() -> None:
    rows = [ChunkRecord(None, "d", "d.md", 0, None, "t")]  # type: ignore[arg-type]

    assert len(Paged((None, rows), ("x", rows)).pull_all_chunks()) == 2


def test_what_is_no_page_is_refused_by_its_type() -> None:
    class Listing(Silent):
        def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> Any:
            return [record(0)]

    with pytest.raises(ConnectorContractError, match=r"Listing\.list_chunks gave a list; let it give a ChunkPage"):
        Listing().pull_all_chunks()


def test_part_of_a_corpus_is_a_failure_and_not_a_smaller_corpus() -> None:
    class Broken(Endless):
        def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
            if cursor is not None:
                raise ConnectorOperationalError("backend unavailable")
            return super().list_chunks(cursor=cursor, limit=limit)

    with pytest.raises(ConnectorOperationalError, match="backend unavailable"):
        Broken(lambda page: [record(page)]).pull_all_chunks()


def test_a_walk_gives_page_after_page_as_they_are_read() -> None:
    case = Paged((None, [record(0)]), ("x", [record(1)]))

    first = next(Walk(case.list_chunks, who="case", most=9, most_empty=9).pages())

    assert [chunk.chunk_id for chunk in first] == ["c0"]
    assert case.asked == [(None, 1000)]


# --- the corpus by pages ----------------------------------------------------------------------------------------


def test_pages_are_slices_of_the_bulk_read() -> None:
    pages = walk(Bulk(5), 2)

    assert [[chunk.chunk_id for chunk in page.items] for page in pages] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert [page.next_cursor for page in pages] == ["2", "4", None]


def test_a_page_that_ends_with_the_corpus_is_the_last() -> None:
    assert Bulk(4).list_chunks(cursor="2", limit=2).next_cursor is None


@pytest.mark.parametrize("beginning", [None, ""])
def test_no_cursor_is_the_beginning(beginning: str | None) -> None:
    assert Bulk(3).list_chunks(cursor=beginning, limit=1).items[0].chunk_id == "c0"


def test_a_page_is_a_thousand_chunks_unless_it_is_said() -> None:
    page = Bulk(1001).list_chunks()

    assert (len(page.items), page.next_cursor) == (1000, "1000")


def test_a_cursor_beyond_the_end_is_an_empty_last_page() -> None:
    assert Bulk(3).list_chunks(cursor="9") == ChunkPage([], None)


@pytest.mark.parametrize("limit", [0, -1, True, 2.0, "2", None])
def test_a_limit_that_never_advances_is_refused(limit: Any) -> None:
    case = Bulk()

    with pytest.raises(ContractValueError, match="never advance"):
        case.list_chunks(limit=limit)

    assert case.pulls == 0


@pytest.mark.parametrize("cursor", ["-1", "x", "1.0", " 2 ", "+2", "1_0", "٣", "9" * 5000, True, -1])
def test_a_cursor_that_is_none_of_its_own_is_refused(cursor: Any) -> None:
    case = Bulk()

    with pytest.raises(ContractValueError, match="follow next_cursor"):
        case.list_chunks(cursor=cursor)

    assert case.pulls == 0


def test_a_refused_cursor_is_caught_as_a_breach_and_as_a_value() -> None:
    for caught in (ConnectorContractError, ValueError):
        with pytest.raises(caught):
            Bulk().list_chunks(cursor="x")


@given(st.integers(0, 30), st.integers(1, 12))
def test_pages_of_any_size_are_the_whole_corpus_in_order(size: int, limit: int) -> None:
    case = Bulk(size)

    pages = walk(case, limit)

    assert [chunk for page in pages for chunk in page.items] == case.chunks
    assert len(pages) == max(1, math.ceil(size / limit))


@given(st.integers(0, 30), st.integers(1, 12))
def test_a_bulk_read_of_pages_of_a_bulk_read_is_the_bulk_read(size: int, limit: int) -> None:
    bulk = Bulk(size)

    class Around(Silent):
        def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
            return bulk.list_chunks(cursor=cursor, limit=min(limit, most))

    most = limit

    assert Around().pull_all_chunks() == bulk.chunks


# --- neither ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", ["pull_all_chunks", "list_chunks", "fingerprint"])
def test_without_a_corpus_every_read_names_both_ways(read: str) -> None:
    with pytest.raises(UnsupportedCapability, match=r"neither list_chunks nor pull_all_chunks") as caught:
        getattr(Silent(), read)()

    assert "Silent" in str(caught.value)


def test_without_a_corpus_no_chunk_is_fetched_even_of_no_ids() -> None:
    with pytest.raises(UnsupportedCapability, match="list_chunks"):
        Silent().get_chunks([])


def test_a_read_that_only_asks_its_base_is_refused_before_it_goes_in_circles() -> None:
    class Round(Silent):
        def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
            return super().list_chunks(cursor=cursor, limit=limit)

    with pytest.raises(UnsupportedCapability, match="pull_all_chunks"):
        Round().pull_all_chunks()


def test_a_read_given_to_one_instance_is_its_own() -> None:
    case = Silent()
    case.pull_all_chunks = lambda: [record(0)]  # type: ignore[method-assign]

    assert case.list_chunks().items == [record(0)]


# --- chunks by id -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [["c3", "c1", "none"], ("c3", "c1", "c1"), {"c1", "c3"}])
def test_known_ids_are_found_and_unknown_ones_absent(ids: Any) -> None:
    found = Bulk().get_chunks(ids)

    assert found == {"c1": record(1), "c3": record(3)}


def test_one_string_is_no_list_of_ids() -> None:
    with pytest.raises(ContractValueError, match="list"):
        Bulk().get_chunks("c1")  # type: ignore[arg-type]


# --- the fingerprint --------------------------------------------------------------------------------------------


def corpus(*pairs: tuple[str, str]) -> RagPipeline:
    case = Bulk(0)
    case.chunks = [ChunkRecord(one, "d", "s", at, None, text) for at, (one, text) in enumerate(pairs)]
    return case


@pytest.mark.parametrize("turn", [1, -1])
def test_the_fingerprint_of_a_corpus_is_the_one_of_the_contract(turn: int) -> None:
    pairs = [("a:chunk-0", "hello"), ("b:chunk-0", "wörld")]

    assert corpus(*pairs[::turn]).fingerprint() == "658adc784b5b3640"


def test_the_fingerprint_of_no_corpus_is_sixteen_digits_too() -> None:
    assert len(corpus().fingerprint()) == 16


@given(st.lists(st.tuples(st.text(), st.text()), unique_by=lambda pair: pair[0], min_size=1))
def test_a_chunk_less_is_another_corpus(pairs: list[tuple[str, str]]) -> None:
    assert corpus(*pairs).fingerprint() != corpus(*pairs[1:]).fingerprint()


def test_a_text_changed_is_another_corpus() -> None:
    assert corpus(("a", "x")).fingerprint() != corpus(("a", "y")).fingerprint()


def test_what_is_no_text_is_refused_without_showing_it() -> None:
    with pytest.raises(ContractValueError, match="lone surrogate") as caught:
        corpus(("a", "segredo \ud800")).fingerprint()

    assert "segredo" not in str(caught.value)


# --- records ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REQUIRED_CHUNK_FIELDS)
@pytest.mark.parametrize("missing", [None, ""])
def test_a_record_that_lacks_a_field_is_named_with_its_place(name: str, missing: Any) -> None:
    wrong = record(1)
    setattr(wrong, name, missing)

    with pytest.raises(ValueError, match=f"chunk 1 .*{name!r}") as caught:
        RagPipeline.validate_chunks([record(0), wrong])

    assert isinstance(caught.value, ConnectorError)
    assert f"chunk_id={wrong.chunk_id!r}" in str(caught.value)


def test_the_first_field_in_their_order_is_complained_of() -> None:
    assert REQUIRED_CHUNK_FIELDS == ("chunk_id", "doc_id", "source_file", "doc_chunk_index", "text")

    with pytest.raises(ValueError, match="'doc_id'"):
        RagPipeline.validate_chunks([ChunkRecord("c", "", "", 0, None, "")])


def test_a_zero_a_blank_and_a_missing_place_in_the_corpus_pass() -> None:
    RagPipeline.validate_chunks([ChunkRecord("c", "d", "s", 0, None, " ")])


def test_a_pipeline_checks_records_without_an_instance_and_with_one() -> None:
    Silent().validate_chunks(iter([record(0)]))


# --- what is not offered ----------------------------------------------------------------------------------------

REFUSED: dict[str, Callable[[RagPipeline], object]] = {
    "get_chunk_vectors": lambda case: case.get_chunk_vectors([]),
    "list_datasets": lambda case: case.list_datasets(),
    "prompt_templates": lambda case: case.prompt_templates(),
    "render_rag_block": lambda case: case.render_rag_block([]),
    "generate_from_prompt": lambda case: case.generate_from_prompt(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_offered_is_refused_and_never_empty(name: str) -> None:
    with pytest.raises(UnsupportedCapability, match=f"Silent does not offer {name}"):
        REFUSED[name](Silent())


@pytest.mark.parametrize("caught", [NotImplementedError, UnsupportedCapability])
def test_a_pipeline_that_writes_no_answers_is_caught_either_way(caught: type[Exception]) -> None:
    with pytest.raises(caught, match="Silent writes no answers"):
        Silent().generate("o quê")


@pytest.mark.parametrize("name", ["health", "describe_space", "embed_queries", "run_snapshot", "close", "connection"])
def test_what_is_purely_optional_is_not_there_at_all(name: str) -> None:
    assert not hasattr(RagPipeline, name)


@pytest.mark.parametrize("name", ["list_chunks", "query", "generate"])
def test_an_inherited_method_is_told_from_an_own_one(name: str) -> None:
    assert inherits(RagPipeline, name)
    assert inherits(Paged, name) == (name == "generate")


def test_what_the_base_does_not_have_is_not_inherited() -> None:
    assert not inherits(Silent, "health")


# --- awaitable twins --------------------------------------------------------------------------------------------


class Whole(Bulk):
    """Offers everything that can be waited for."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return [RetrievedChunk(text, text, 1.0, 0)] * top_k

    def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
        return {one: [1.0] for one in ids}

    def list_datasets(self) -> Any:
        return ["dataset"]

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> Any:
        return (text, top_k, llm)

    def generate_from_prompt(self, prompt: Any, *, contexts: Any = (), llm: Any = None, decoding: Any = None) -> Any:
        return (prompt, contexts, llm, decoding)

    def health(self) -> ConnectorHealth:
        return ConnectorHealth(True)

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        return EmbeddingSpaceDescriptor("m", 1)

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        return EmbeddingBatch([[float(len(text))] for text in texts], self.describe_space())

    def run_snapshot(self) -> dict[str, Any]:
        return {"schema": "s"}


PROMPT: Any = object()
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "aquery": (("q", 2), {}),
    "apull_all_chunks": ((), {}),
    "alist_chunks": ((), {"cursor": "1", "limit": 2}),
    "afingerprint": ((), {}),
    "aget_chunks": ((["c1"],), {}),
    "aget_chunk_vectors": ((["c1"],), {}),
    "alist_datasets": ((), {}),
    "agenerate": (("q",), {"top_k": 2, "llm": "m"}),
    "agenerate_from_prompt": ((PROMPT,), {"contexts": (1,), "llm": "m", "decoding": {"t": 0}}),
    "ahealth": ((), {}),
    "adescribe_space": ((), {}),
    "aembed_queries": ((["um", "dois"],), {}),
    "arun_snapshot": ((), {}),
}


async def awaited(what: Awaitable[Any]) -> Any:
    return await what


def test_every_twin_is_called_here() -> None:
    assert set(CALLS) == set(ASYNC_TWINS)
    assert all(inspect.iscoroutinefunction(getattr(RagPipeline, name)) for name in ASYNC_TWINS)


@pytest.mark.parametrize("twin", CALLS)
def test_a_twin_gives_what_its_method_gives(twin: str) -> None:
    arguments, options = CALLS[twin]
    case = Whole()

    given = asyncio.run(awaited(getattr(case, twin)(*arguments, **options)))

    assert given == getattr(case, ASYNC_TWINS[twin])(*arguments, **options)


@pytest.mark.parametrize("twin", [name for name in ASYNC_TWINS if hasattr(RagPipeline, ASYNC_TWINS[name])])
def test_a_twin_is_called_as_its_method_is(twin: str) -> None:
    assert inspect.signature(getattr(RagPipeline, twin)) == inspect.signature(getattr(RagPipeline, ASYNC_TWINS[twin]))


def test_a_twin_runs_beside_the_loop_and_carries_the_context() -> None:
    asker = contextvars.ContextVar("asker", default="nobody")
    loop: list[int] = []

    class Curious(Silent):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return [RetrievedChunk(None, asker.get(), None, threading.get_ident())]

    async def ask() -> RetrievedChunk:
        loop.append(threading.get_ident())
        asker.set("ana")
        return (await Curious().aquery("q"))[0]

    hit = asyncio.run(ask())

    assert hit.text == "ana"
    assert hit.rank != loop[0]


def test_twins_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=20)

    class Waiting(Silent):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            both.wait()
            return []

    async def ask() -> list[list[RetrievedChunk]]:
        return await asyncio.gather(Waiting().aquery("a"), Waiting().aquery("b"))

    assert asyncio.run(ask()) == [[], []]


def test_the_error_of_a_method_is_the_error_of_its_twin() -> None:
    with pytest.raises(UnsupportedCapability, match="get_chunk_vectors"):
        asyncio.run(Silent().aget_chunk_vectors([]))


@pytest.mark.parametrize("twin", ["ahealth", "adescribe_space", "aembed_queries", "arun_snapshot"])
def test_a_twin_of_nothing_refuses(twin: str) -> None:
    with pytest.raises(UnsupportedCapability, match=f"Silent does not offer {ASYNC_TWINS[twin]};"):
        asyncio.run(getattr(Silent(), twin)(*CALLS[twin][0]))


def test_a_twin_of_its_own_is_used() -> None:
    class Native(Silent):
        async def aquery(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return [RetrievedChunk(None, "native", None, 0)]

    assert asyncio.run(Native().aquery("q"))[0].text == "native"
    assert Native().query("q") == []
