"""A pipeline is asked: what it found, what went wrong, and never the one for the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.evaluate.asking import Known, Order, ask, corpus_of
from estante.evaluate.collection import Question
from estante.evaluate.spans import TextSpan
from tests.evaluate.subjects import TEXTS, FailingPipeline, Giving, WordsPipeline, collection

ORDER = Order(top_k=5, warmup=0)


def hit(**more: Any) -> RetrievedChunk:
    return RetrievedChunk(
        **{"chunk_id": "sea#0", "text": TEXTS["sea"], "score": 1.0, "rank": 0, "doc_id": "sea", **more}
    )


def test_every_question_is_asked_in_order_and_its_hits_are_named() -> None:
    told = ask(WordsPipeline(), collection(), ORDER)

    assert [one.question for one in told] == ["q1", "q2", "q3"]
    assert told[0].ranking() == ["sea"]
    assert [one.error for one in told] == [None] * 3
    assert told[2].hits == ()


def test_a_failure_is_the_error_of_its_question_and_of_no_other() -> None:
    told = ask(FailingPipeline(), collection(), ORDER)

    assert [one.error for one in told] == [None, "ConnectorOperationalError: the back end did not answer", None]
    assert told[1].hits == ()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (None, "query gave a NoneType, not a list"),
        ("text", "query gave a str, not a list"),
        ([{"text": "x"}], "hit 0 is a dict, no RetrievedChunk"),
        ([hit(text=None)], "hit 0 has no text"),
        ([hit(metadata=None)], "hit 0 has no text, or no mapping of metadata"),
        ([hit(), hit(doc_id=7)], "hit 1 has a doc_id that is no text"),
        ([hit()] * 6, "query gave 6 hits where 5 were asked for"),
    ],
)
def test_what_is_no_list_of_hits_is_an_error_and_no_empty_result(given: Any, complaint: str) -> None:
    told = ask(Giving(given), collection(), ORDER)

    assert all(one.error is not None and complaint in one.error for one in told)


def test_even_an_exit_is_an_error_of_the_question() -> None:
    class Leaving(WordsPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            raise SystemExit("gone")

    assert [one.error for one in ask(Leaving(), collection(), ORDER)] == ["SystemExit: gone"] * 3


def test_an_interruption_stops_it() -> None:
    class Interrupted(WordsPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(Interrupted(), collection(), ORDER)


def test_a_document_found_twice_stands_at_its_first_place() -> None:
    given = [hit(), hit(doc_id="sky", chunk_id="sky#0"), hit(chunk_id="sea#1")]

    assert ask(Giving(given), collection(), ORDER)[0].ranking() == ["sea", "sky"]


def test_a_hit_without_a_name_takes_its_place() -> None:
    given = [hit(doc_id=None, chunk_id=None), hit()]

    told = ask(Giving(given), collection(), ORDER)[0]

    assert told.hits[0].name is None
    assert told.ranking()[1:] == ["sea"]


def test_the_corpus_tells_the_document_and_span_that_a_hit_does_not() -> None:
    class Silent(WordsPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return [RetrievedChunk("sea#0", TEXTS["sea"], None, 0)]

    asked = collection(questions=(Question(id="q", text="?", gold=(TextSpan("sea", 0, 3),)),), sources=None)
    pipeline = Silent()

    [told] = ask(pipeline, asked, ORDER, known=corpus_of(pipeline))

    assert (told.hits[0].name, told.hits[0].span) == ("sea", TextSpan("sea", 0, len(TEXTS["sea"])))


@pytest.mark.parametrize(("by", "name"), [("document", "sea"), ("chunk", "sea#0"), ("source", "sea.txt")])
def test_hits_count_under_what_the_judgements_name(by: Any, name: str) -> None:
    pipeline = WordsPipeline()

    told = ask(pipeline, collection(), Order(top_k=5, by=by, warmup=0), known=corpus_of(pipeline))

    assert told[0].ranking() == [name]
    assert name in corpus_of(pipeline).names(by)


@pytest.mark.parametrize(
    ("score", "kept"), [(1, 1.0), (None, None), (float("nan"), None), ("high", None), (True, None)]
)
def test_a_score_that_is_no_number_is_none(score: Any, kept: float | None) -> None:
    assert ask(Giving([hit(score=score)]), collection(), ORDER)[0].hits[0].score == kept


def test_a_score_of_numpy_is_kept_as_a_number_that_json_knows() -> None:
    kept = ask(Giving([hit(score=np.float64(0.5))]), collection(), ORDER)[0].hits[0].score

    assert type(kept) is float


def test_questions_asked_beforehand_are_not_timed() -> None:
    ticks: Iterator[int] = iter(range(100))
    asked: list[str] = []

    class Counting(WordsPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            asked.append(text)
            return []

    told = ask(Counting(), collection(), Order(top_k=5, warmup=2), clock=lambda: next(ticks))

    assert len(asked) == 5
    assert [one.seconds for one in told] == [1, 1, 1]


def test_whoever_listens_hears_how_far_it_is() -> None:
    heard: list[tuple[int, int, str]] = []

    ask(WordsPipeline(), collection(), ORDER, heard=lambda *told: heard.append(told))

    assert [one[:2] for one in heard] == [(0, 3), (1, 3), (2, 3)]


def test_a_record_without_a_span_leaves_the_place_to_the_text() -> None:
    record = ChunkRecord("sea#0", "sea", "sea.txt", 0, 0, "The lighthouse")
    asked = collection(questions=(Question(id="q", text="?", gold=(TextSpan("sea", 0, 3),)),))

    [told] = ask(Giving([hit(text="The lighthouse")]), asked, ORDER, known=Known({"sea#0": record}))

    assert told.hits[0].span == TextSpan("sea", 0, 14)
