"""What the checks catch, each its own fault and no other, and what a run costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from estante.contract.checks.catalog import ALL, BASIC, chosen
from estante.contract.checks.report import FAIL, WARN, Report
from estante.contract.errors import ConnectorOperationalError
from estante.contract.models import ChunkPage, ChunkRecord, ConnectorHealth, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec
from estante.contract.testkit import FAULTS, INFORMATIONAL, LEAKS, PerfectPipeline, perfect_options
from estante.contract.validate import validate_pipeline
from tests.contract.pipelines import Bulk, Paged, records

NAMES = [
    "info() returns run metadata",
    "run_snapshot() is bounded and safe to persist",
    "retrieval_mode is a recognized value",
    "No stray method shadows an inherited contract default",
    "pull_all_chunks() enumerates the corpus",
    "Chunk metadata contract (required fields, unique ids, text)",
    "doc_chunk_index counts 0,1,2,... within each document",
    "global_index (when supplied) is unique across the corpus",
    "Recommended metadata (source_fingerprint for change detection)",
    "fingerprint() + chunk_id stability across pulls",
    "Probe query",
    "query() retrieves ranked chunks",
    "query() ids match pull_all_chunks() ids (THE classic bug)",
    "Derived-result declarations are well-formed",
    "query() is deterministic for a repeated query",
    "complete_set: returned cardinality vs two top_k values (informational)",
    "Scores are canonical: higher = better",
    "get_chunks() returns known ids, omits unknown ones",
    "list_chunks() pages consistently with pull_all_chunks()",
    "get_chunk_vectors() reads honest indexed vectors",
    "generate() -- optional answer-generation path",
    "Declared prompt templates -- optional fixed-context generation path",
    "ConnectorSpec.prompt_templates (readable before binding)",
    "Connection dict is persistable and secret-free",
    "build(connection) reconstructs the connector (registry round-trip)",
]
"""The rows of rag-connector's validator."""

FRAGMENTS = {
    "classic bug": 13, "stability": 10, "generate()": 21, "run_snapshot()": 2, "canonical": 17, "metadata contract": 6,
    "doc_chunk_index": 7, "secret-free": 24, "get_chunks": 18, "get_chunks()": 18,
    "retrieval_mode is a recognized value": 3, "retrieves ranked chunks": 12,
    "returned cardinality vs two top_k": 16, "stray method": 4, "global_index": 8, "list_chunks": 19,
    "get_chunk_vectors": 20, "pull_all_chunks()": 5, "Declared prompt templates": 22,
    "ConnectorSpec.prompt_templates": 23, "Derived-result": 14,
}  # fmt: skip
"""What tools look a row up by, and its place among the 25."""


def examined(pipeline: RagPipeline, **options: Any) -> Report:
    return validate_pipeline(pipeline, target="test", **{"sample_query": "bananas", **options})


def statuses(report: Report) -> dict[str, str]:
    return {check.id: check.status for check in report.checks}


def details(report: Report, id: str) -> str:
    return "\n".join(next(check.details for check in report.checks if check.id == id))


def changed(kind: type[RagPipeline] = Bulk, **members: Any) -> RagPipeline:
    return type("Changed", (kind,), members)()


def hits(**fields: Any) -> Callable[..., list[RetrievedChunk]]:
    """A query whose hits have these fields; a function gives the value by rank."""

    def query(self: Any, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        found = Bulk.query(self, text, top_k)
        for rank, hit in enumerate(found):
            for name, value in fields.items():
                setattr(hit, name, value(rank) if callable(value) else value)
        return found

    return query


# --- the list -----------------------------------------------------------------------------------------------------


def test_the_basic_checks_are_those_of_rag_connector_in_order() -> None:
    assert [rule.name for rule in BASIC] == NAMES


def test_no_two_checks_share_an_id_or_a_name() -> None:
    assert len({rule.id for rule in ALL}) == len({rule.name for rule in ALL}) == len(ALL)


def test_every_id_is_in_kebab_case() -> None:
    assert all(part.isalnum() and part.islower() for rule in ALL for part in rule.id.split("-"))


def test_what_was_added_stands_behind() -> None:
    assert [rule.name for rule in ALL[:25]] == NAMES
    assert chosen()[:25] == BASIC == chosen(extended=False)


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_fragment_of_a_name_finds_the_right_row_first(fragment: str) -> None:
    found = [rule.name for rule in ALL if fragment.casefold() in rule.name.casefold()]

    assert found[0] == NAMES[FRAGMENTS[fragment] - 1]


@pytest.mark.parametrize("name", [NAMES[at - 1] for at in (11, 12, 13, 16, 23, 24, 25)])
def test_a_row_that_may_be_absent_leaves_none_that_is_taken_for_it(name: str) -> None:
    fragments = [one for one, at in FRAGMENTS.items() if NAMES[at - 1] == name]

    assert [rule.name for rule in ALL if rule.name != name and any(one in rule.name for one in fragments)] == []


# --- the perfect and the broken -----------------------------------------------------------------------------------


def test_the_perfect_pipeline_passes_without_a_warning() -> None:
    report = examined(PerfectPipeline(), **perfect_options())

    assert report.ready
    assert report.warnings == []
    assert [check.id for check in report.checks if check.status == "SKIP"] == ["derived-results"]
    assert len(report.checks) == len(ALL) - 2  # It is asked a question, and bounds no list itself.


def test_every_check_has_a_pipeline_that_it_catches() -> None:
    assert {*FAULTS, *LEAKS, *INFORMATIONAL} == {rule.id for rule in ALL}


@pytest.mark.parametrize("id", [*FAULTS, *LEAKS])
def test_a_check_catches_its_fault_and_no_other_check_does(id: str) -> None:
    fault = {**FAULTS, **LEAKS}[id]
    options = {**perfect_options(), "security": False, **fault.options}
    if "harness" in options:
        options["harness"] = options["harness"]()

    found = statuses(examined(fault.make(), **options))

    assert found[id] == fault.status
    assert {one for one, status in found.items() if status in (FAIL, WARN)} == {id, *fault.also}


@pytest.mark.parametrize("id", sorted(INFORMATIONAL))
def test_an_informational_check_never_fails(id: str) -> None:
    bounding = changed(retrieval_mode="complete_set", query=lambda self, text, top_k=5: Bulk.query(self, text, 9))

    assert statuses(examined(bounding))[id] == "PASS"


# --- what a run costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extended", [True, False])
def test_the_corpus_is_read_twice_at_most(extended: bool) -> None:
    pipeline = Bulk()

    examined(pipeline, extended=extended)

    assert pipeline.pulls == 2


def test_a_paged_corpus_is_read_twice_at_most() -> None:
    pipeline = Paged()

    examined(pipeline, skip=["page-limits"])

    assert pipeline.served == 2 * 9


def test_a_run_without_stability_reads_the_corpus_once() -> None:
    pipeline = Bulk()

    examined(pipeline, skip_stability=True)

    assert pipeline.pulls == 1


def test_a_fingerprint_that_reads_the_corpus_is_handed_what_was_read() -> None:
    pipeline = changed(fingerprint=lambda self: str(len(self.pull_all_chunks())))

    report = examined(pipeline)

    assert statuses(report)["corpus-stability"] == "PASS"
    assert pipeline.pulls == 2


def test_a_read_by_id_that_reads_the_corpus_is_noticed_without_reading_it() -> None:
    pipeline = changed(
        get_chunks=lambda self, ids: {one.chunk_id: one for one in self.pull_all_chunks() if one.chunk_id in ids}
    )

    report = examined(pipeline)

    assert "pulled the full corpus" in details(report, "get-chunks")
    assert pipeline.pulls == 2


def test_a_read_by_id_that_walks_all_pages_is_noticed() -> None:
    def get_chunks(self: Paged, ids: list[str]) -> dict[str, ChunkRecord]:
        return {one.chunk_id: one for one in self.list_chunks().items if one.chunk_id in ids}

    assert "pulled the full corpus by pages" in details(examined(changed(Paged, get_chunks=get_chunks)), "get-chunks")


def test_the_methods_of_the_pipeline_are_its_own_again_afterwards() -> None:
    pipeline = changed(get_chunks=lambda self, ids: {}, fingerprint=lambda self: "f")

    examined(pipeline)

    assert set(vars(pipeline)) == {"given", "pulls"}


def test_a_pipeline_that_takes_no_attributes_is_examined_all_the_same() -> None:
    class Slotted(PerfectPipeline):
        def __setattr__(self, name: str, value: object) -> None:
            if name not in ("shelf", "asker"):
                raise AttributeError(name)
            super().__setattr__(name, value)

    assert examined(Slotted(), **perfect_options()).ready


# --- single rows --------------------------------------------------------------------------------------------------


def test_without_a_corpus_the_run_ends_at_the_fifth_row() -> None:
    report = examined(changed(pull_all_chunks=lambda self: []))

    assert [check.name for check in report.checks] == NAMES[:5]
    assert "list_chunks" in examined(changed(RagPipeline, query=Bulk.query)).checks[4].fix


def test_a_stray_method_is_named_beside_the_one_it_was_meant_for() -> None:
    told = details(examined(changed(get_chunk=lambda self, id: None)), "stray-method")

    assert "get_chunk()" in told
    assert "get_chunks()" in told


@pytest.mark.parametrize("name", "list_documents get_documents count_chunks render_prompt close aquery".split())
def test_ordinary_methods_are_no_stray_ones(name: str) -> None:
    assert statuses(examined(changed(**{name: lambda self: None})))["stray-method"] == "PASS"


def test_filters_that_always_apply_are_told() -> None:
    info = {"internal_filters": [{"name": "published", "description": "drafts are left out", "value": True}]}

    assert "always filtered: published = True (drafts are left out)" in details(
        examined(changed(info=lambda self: info)), "retrieval-mode"
    )


def test_ids_that_are_made_anew_by_every_reading_fail() -> None:
    calls = itertools.count()

    def pull_all_chunks(self: Bulk) -> list[ChunkRecord]:
        found, call = records(), next(calls)
        for record in found:
            record.chunk_id += f"-{call}"
        return found

    told = details(examined(changed(pull_all_chunks=pull_all_chunks)), "corpus-stability")

    assert "9 ids are in the first reading alone" in told
    assert "fingerprint() changed" in told


def test_faulty_paging_is_not_taken_for_an_unstable_corpus() -> None:
    found = statuses(examined(FAULTS["list-chunks"].make()))

    assert (found["list-chunks"], found["corpus-stability"]) == ("FAIL", "PASS")


def test_two_scores_that_grow_are_two_distances() -> None:
    growing = changed(query=hits(score=float))

    assert statuses(examined(growing, top_k=2))["score-direction"] == "FAIL"
    assert statuses(examined(Bulk(), top_k=2))["score-direction"] == "SKIP"


@pytest.mark.parametrize("text", ["0.5", "high", b"1"])
def test_a_score_of_text_fails_and_costs_no_row(text: Any) -> None:
    report = examined(changed(query=hits(score=text)))

    assert statuses(report)["score-direction"] == "FAIL"
    assert statuses(report)["hit-fields"] == "FAIL"
    assert len(report.checks) == len(examined(Bulk()).checks)


def test_an_ordinal_of_none_fails_and_costs_no_row() -> None:
    def pull_all_chunks(self: Bulk) -> list[ChunkRecord]:
        found = records()
        found[0].doc_chunk_index = None  # type: ignore[assignment]
        return found

    report = examined(changed(pull_all_chunks=pull_all_chunks))

    assert (statuses(report)["chunk-fields"], statuses(report)["chunk-ordinals"]) == ("FAIL", "FAIL")
    assert len(report.checks) == len(examined(Bulk()).checks)


def test_an_item_far_down_that_is_no_record_is_found() -> None:
    report = examined(changed(pull_all_chunks=lambda self: [*records(60), "text"]))

    assert "item 60 is of type str" in details(report, "corpus-pull")


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"item_covered_ids": [], "item_kind": "summary"}, "item_kind='gap'"),
        ({"item_covered_ids": ["d0:chunk-0"]}, "read as 'summary'"),
    ],
)
def test_a_doubtful_declaration_is_told(metadata: dict[str, Any], told: str) -> None:
    report = examined(changed(query=hits(metadata=metadata, chunk_id=None)))

    assert statuses(report)["derived-results"] == "WARN"
    assert told in details(report, "derived-results")


def test_half_a_capability_of_prompts_names_what_is_missing_first() -> None:
    report = examined(changed(prompt_templates=lambda self: []))

    first = next(check.details[0] for check in report.checks if check.id == "declared-prompts")
    assert "render_rag_block, generate_from_prompt is missing" in first


@pytest.mark.parametrize(
    ("connection", "place"),
    [
        ({"auth": {"api_key": "x"}}, "auth.api_key"),
        ({"headers": [{"x-secret-header": 1}]}, "headers[0].x-secret-header"),
    ],
)
def test_the_place_of_a_secret_is_told(connection: dict[str, Any], place: str) -> None:
    assert place in details(examined(Bulk(), connection=connection), "connection-document")


def test_build_is_given_the_document_as_json_gives_it_back() -> None:
    given: list[dict[str, Any]] = []

    def build(connection: dict[str, Any]) -> RagPipeline:
        given.append(connection)
        return Bulk()

    spec = ConnectorSpec("t", "l", "d", build=build)
    examined(Bulk(), connection={"parts": (1, 2)}, spec=spec, only=["build-round-trip"])

    assert given == [{"parts": [1, 2]}]


def test_what_was_built_for_a_check_is_closed() -> None:
    closed: list[bool] = []
    built = changed(close=lambda self: closed.append(True))

    examined(Bulk(), connection={}, spec=ConnectorSpec("t", "l", "d", build=lambda connection: built))

    assert closed == [True]


@pytest.mark.parametrize(
    ("distance", "scores"),
    [("cosine", lambda cos: cos), ("ip", lambda cos: cos), ("l2", lambda cos: -((2 - 2 * cos) ** 0.5))],
)
def test_scores_of_a_known_metric_are_computed_again(distance: str, scores: Callable[[float], float]) -> None:
    class Measured(PerfectPipeline):
        def info(self) -> dict[str, Any]:
            return {**super().info(), "distance": distance}

        def hit(self, record: ChunkRecord, score: float, rank: int) -> RetrievedChunk:
            return super().hit(record, scores(score), rank)

    report = examined(Measured(), **perfect_options())

    assert statuses(report)["recomputed-scores"] == "PASS"


def test_scores_of_another_metric_are_left_alone() -> None:
    class Fused(PerfectPipeline):
        def info(self) -> dict[str, Any]:
            return {**super().info(), "distance": "reciprocal rank"}

        def hit(self, record: ChunkRecord, score: float, rank: int) -> RetrievedChunk:
            return super().hit(record, 1 / (60 + rank), rank)

    report = examined(Fused(), **perfect_options())

    assert statuses(report)["recomputed-scores"] == "SKIP"
    assert report.ready


def test_one_stale_vector_is_told_from_rescaled_scores() -> None:
    class Stale(PerfectPipeline):
        def get_chunk_vectors(self, ids: list[str]) -> dict[str, list[float]]:
            found = super().get_chunk_vectors(ids)
            return {
                one: list(reversed(vector)) if one.endswith("lighthouse:chunk-0") else vector
                for one, vector in found.items()
            }

    report = examined(Stale(), **perfect_options())

    assert "1 of 5 scores" in details(report, "recomputed-scores")
    assert "stale" in details(report, "recomputed-scores")


def test_numbers_of_a_library_are_no_plain_vector() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is a dependency of Estante")

    class Arrays(PerfectPipeline):
        def get_chunk_vectors(self, ids: list[str]) -> Any:
            return {one: numpy.array(vector, "f4") for one, vector in super().get_chunk_vectors(ids).items()}

    assert "ndarray" in details(examined(Arrays(), **perfect_options()), "vector-dimensions")


def test_no_text_of_the_corpus_is_told_when_texts_differ() -> None:
    for id in ("hit-texts", "read-agreement"):
        report = examined(FAULTS[id].make(), **perfect_options())

        assert "keeper" not in details(report, id).casefold()


def test_what_looks_like_a_secret_in_an_error_is_not_told() -> None:
    def query(self: Bulk, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        raise RuntimeError("cannot reach https://user:hunter2-not-real@example.org/")

    report = examined(changed(query=query))

    assert "hunter2" not in report.render()
    assert "RuntimeError" in details(report, "query-hits")


def test_a_page_without_end_is_left() -> None:
    numbers = itertools.count()

    def list_chunks(self: Paged, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        found = records()
        for record in found:
            record.chunk_id += f"-{next(numbers)}"
        return ChunkPage(found, str(next(numbers)))

    report = examined(changed(Paged, list_chunks=list_chunks), max_chunks=500)

    assert "more than 500 chunks" in details(report, "corpus-pull")


def test_items_without_end_are_left() -> None:
    endless = ChunkPage(itertools.repeat(records()[0]), None)  # type: ignore[arg-type]

    report = examined(changed(Paged, list_chunks=lambda self, *, cursor=None, limit=1000: endless), max_chunks=500)

    assert statuses(report)["corpus-pull"] == "FAIL"


# --- a search that fails or finds nothing -------------------------------------------------------------------------


def fails(self: Any, text: str, top_k: int = 5) -> Any:
    raise ConnectorOperationalError("401 Unauthorized")


@pytest.mark.parametrize("query", [fails, lambda self, text, top_k=5: None], ids=["raises", "gives None"])
def test_a_search_that_fails_is_one_failure(query: Any) -> None:
    pipeline = changed(query=query)
    spec = ConnectorSpec("x", "X", "x", build=lambda document: pipeline)

    report = examined(pipeline, spec=spec, connection={"type": "x"})

    assert [check.id for check in report.failures] == ["query-hits"]
    for id in ("odd-questions", "top-k-edges", "own-words", "build-round-trip"):
        assert statuses(report)[id] == "SKIP"
        assert 'see "query() retrieves ranked chunks"' in details(report, id)


def test_a_back_end_that_refuses_is_no_fault_of_the_type_of_the_answer() -> None:
    [row] = examined(changed(query=fails)).failures

    assert row.details == ["query() raised ConnectorOperationalError: 401 Unauthorized"]
    assert "back end" in row.fix
    assert "RetrievedChunk" not in row.fix


def test_a_search_that_finds_none_of_its_own_texts_fails() -> None:
    report = examined(changed(query=lambda self, text, top_k=5: []))

    assert [check.id for check in report.failures] == ["own-words"]
    assert not report.ready


def test_a_question_without_an_answer_is_no_fault_when_others_have_one() -> None:
    def query(self: Any, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return Bulk.query(self, text, top_k) if len(text) > 12 else []

    report = examined(changed(query=query), sample_query="unheard of")

    assert statuses(report)["query-hits"] == WARN
    assert statuses(report)["own-words"] == "PASS"
    assert report.ready


def test_one_chunk_alone_that_is_not_found_is_a_warning() -> None:
    report = examined(changed(query=lambda self, text, top_k=5: [], pull_all_chunks=lambda self: records(1)))

    assert statuses(report)["own-words"] == WARN


# --- advice -------------------------------------------------------------------------------------------------------


def test_what_health_names_stands_beside_a_corpus_that_is_empty() -> None:
    unwell = changed(
        pull_all_chunks=lambda self: [], health=lambda self: ConnectorHealth(False, "no document is shared; share one")
    )

    [row] = examined(unwell).failures

    assert row.details[-1] == "health() says that it is not well: no document is shared; share one"
    assert row.fix.startswith("Mend what health() names.")


def test_the_advice_of_a_pipeline_goes_before_that_of_its_spec_and_that_before_ours() -> None:
    spec = ConnectorSpec(
        "x", "X", "x", build=lambda document: Bulk(), advice={"info": "Set embedding.", "get-chunks": "Set ids."}
    )

    report = examined(changed(check_advice={"info": "Name the model."}), spec=spec)

    told = {check.id: check.fix for check in report.checks}
    assert told["info"] == "Name the model."
    assert told["get-chunks"] == "Set ids."


@pytest.mark.parametrize("advice", [None, 5, {"info": None}, {"info": ""}, {5: "x"}, "info"], ids=repr)
def test_advice_that_is_none_changes_nothing(advice: Any) -> None:
    [fix] = [check.fix for check in examined(changed(check_advice=advice)).checks if check.id == "info"]

    assert "embedding_fingerprint" in fix
