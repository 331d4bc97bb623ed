"""Runs: what is counted, what the pipeline says of itself, and how they are kept and read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from estante.contract.testkit.perfect import PerfectPipeline
from estante.evaluate import trec
from estante.evaluate.asking import Order
from estante.evaluate.collection import Collection, Question
from estante.evaluate.errors import AbsentFile, Incomparable, UnreadableFile
from estante.evaluate.keeping import (
    HITS,
    MANIFEST,
    QRELS,
    QUESTIONS,
    RUN,
    files_of,
    read,
    read_results,
    texts_of,
    write,
)
from estante.evaluate.machine import environment, peak_memory, percentile, speed
from estante.evaluate.measures import measures_of
from estante.evaluate.runs import Run, measure, measure_file, usual_measures, usual_top_k
from estante.evaluate.spans import TextSpan
from tests.evaluate.subjects import FailingPipeline, WithoutCorpus, WordsPipeline, collection

MEASURES = measures_of(["nDCG@10", "R@5", "RR"])
NOW = "2025-06-02T09:30:00Z"


def measured(pipeline: Any = None, asked: Collection | None = None, **more: Any) -> Run:
    order = more.pop("order", Order(top_k=5))
    measures = more.pop("measures", MEASURES)
    pipeline = pipeline or WordsPipeline()
    return measure(pipeline, asked or collection(), measures, order, name="words", now=NOW, **more)


# --- measuring ------------------------------------------------------------------------------------------------------


def test_a_run_has_a_value_for_every_question_and_measure() -> None:
    results = measured().results

    assert [row.values for row in results.rows] == [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)]
    assert results.means()[MEASURES[0]] == pytest.approx(2 / 3)


def test_nothing_is_dropped_silently() -> None:
    questions = (
        *collection().questions,
        Question(id="q4", text="Who has the keys?"),
        Question(id="q5", text="Where do sheep graze?", judged={"land": 0}),
    )

    results = measured(FailingPipeline(), collection(questions=questions, unasked=("q9",), elsewhere=4)).results

    assert dict(results.counts) == {
        "questions": 5,
        "without_judgements": 1,
        "without_relevant": 1,
        "without_results": 1,
        "errors": 1,
        "judged_without_question": 1,
        "of_other_parts": 4,
        "hits_without_name": 0,
        "hits_without_place": 0,
        "cut_short": 0,
        "judged_absent": 0,
    }
    assert [row.values[0] for row in results.rows] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert results.rows[1].error is not None
    assert results.rows[2].error is None


def test_a_list_that_is_full_before_the_depth_is_told() -> None:
    results = measured(order=Order(top_k=1)).results

    assert results.counts["cut_short"] == 2


def test_hits_without_a_name_take_their_places_and_are_told() -> None:
    class Nameless(WordsPipeline):
        def query(self, text: str, top_k: int = 5) -> Any:
            nameless = [replace(hit, doc_id=None, chunk_id=None) for hit in super().query(text, top_k)]
            return [*nameless, *nameless, *super().query(text, top_k)]

    results = measured(Nameless()).results

    assert results.counts["hits_without_name"] == 4
    assert [row.values[2] for row in results.rows] == pytest.approx([1 / 3, 1 / 3, 0])


def test_names_that_the_pipeline_does_not_have_are_told() -> None:
    results = measured(WordsPipeline({"sea": "keys"})).results

    assert results.counts["judged_absent"] == 2
    assert results.absent == ("land", "sky")


def test_gold_spans_are_measured_by_characters() -> None:
    asked = collection(questions=(Question(id="q", text="keys", gold=(TextSpan("sea", 0, 26),)),))

    results = measured(asked=asked, measures=measures_of(["SpanR@1", "SpanP@1"])).results

    assert results.rows[0].values == (1.0, pytest.approx(26 / 52))


def test_the_usual_measures_are_those_of_what_was_judged() -> None:
    spanned = collection(questions=(Question(id="q", text="keys", gold=(TextSpan("sea", 0, 26),)),))

    assert list(map(str, usual_measures(collection()))) == ["nDCG@10", "R@100", "RR@10"]
    assert list(map(str, usual_measures(spanned))) == ["SpanR@5", "SpanP@5", "SpanIoU@5"]


@pytest.mark.parametrize(
    ("texts", "by", "top_k"),
    [
        (["R@20"], "document", 60),
        (["R@20"], "chunk", 20),
        (["SpanR@7"], "chunk", 7),
        (["R@2", "SpanR@7"], "document", 7),
        (["AP"], "chunk", 100),
    ],
)
def test_as_many_hits_are_asked_for_as_the_deepest_measure_needs(texts: list[str], by: Any, top_k: int) -> None:
    assert usual_top_k(measures_of(texts), by) == top_k


@pytest.mark.parametrize(
    ("asked", "texts", "complaint"),
    [
        (collection(questions=()), ["RR"], "has no question"),
        (collection(questions=(Question(id="q", text="?"),)), ["RR"], "none of the 1 questions"),
        (collection(), ["SpanR@5"], "needs gold spans"),
        (collection(), [], "nothing to measure"),
        (
            collection(questions=(Question(id="q", text="?", gold=(TextSpan("sea", 0, 1),)),)),
            ["RR"],
            "gold spans alone",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(asked: Collection, texts: list[str], complaint: str) -> None:
    with pytest.raises(Incomparable) as caught:
        measured(asked=asked, measures=measures_of(texts))

    assert complaint in caught.value.message


# --- what the pipeline says of itself -------------------------------------------------------------------------------


def test_a_run_keeps_the_snapshot_and_the_fingerprint_of_the_pipeline() -> None:
    pipeline = PerfectPipeline()

    told = measured(pipeline).results.pipeline

    assert told["fingerprint"] == pipeline.fingerprint()
    assert told["snapshot"]["schema"] == pipeline.run_snapshot()["schema"]
    assert len(told["snapshot_sha256"]) == 64
    assert told["problems"] == []


def test_what_a_pipeline_does_not_offer_is_told_and_stops_nothing() -> None:
    told = measured(WithoutCorpus()).results.pipeline

    assert told["fingerprint"] is None
    assert told["problems"] == ["fingerprint: not offered", "corpus: not offered"]


def test_the_corpus_can_be_left_alone() -> None:
    class Huge(WordsPipeline):
        def pull_all_chunks(self) -> Any:
            raise AssertionError

    assert measured(Huge(), read_corpus=False).results.pipeline["problems"] == []
    assert measured(Huge()).results.pipeline["problems"] == ["fingerprint: AssertionError", "corpus: AssertionError"]


def test_info_with_a_secret_is_not_kept() -> None:
    class Careless(WordsPipeline):
        def info(self) -> dict[str, Any]:
            return {"api_key": "hunter2hunter2"}

    told = measured(Careless()).results.pipeline

    assert told["info"] is None
    assert "hunter2" not in json.dumps(told)
    assert "api_key" in told["problems"][0]


# --- keeping --------------------------------------------------------------------------------------------------------


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = measured(FailingPipeline())

    write(tmp_path / "run", run)

    again = read(tmp_path / "run")
    assert again.results == run.results
    assert (again.questions, again.circumstances) == (run.questions, run.circumstances)
    assert [replace(one, seconds=0.0) for one in run.asked] == list(again.asked)
    assert texts_of(tmp_path / "run")["q1"] == "Who has the keys?"


def test_a_run_with_spans_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = collection(questions=(Question(id="q", text="keys", gold=(TextSpan("sea", 0, 26),)),))
    run = measured(asked=asked, measures=measures_of(["SpanR@1"]), order=Order(top_k=3, by="chunk"))

    write(tmp_path / "run", run)

    again = read(tmp_path / "run")
    assert [one.hits for one in again.asked] == [one.hits for one in run.asked]


def test_the_same_measurement_is_the_same_to_the_last_byte_but_for_its_circumstances() -> None:
    mine, theirs = files_of(measured()), files_of(measured())

    assert {name: text for name, text in mine.items() if name != MANIFEST} == {
        name: text for name, text in theirs.items() if name != MANIFEST
    }
    assert json.loads(mine[MANIFEST])["core"] == json.loads(theirs[MANIFEST])["core"]


def test_the_file_for_other_programs_has_the_same_ranking(tmp_path: Path) -> None:
    run = measured()
    write(tmp_path / "run", run)

    assert {q: [name for name, _ in rows] for q, rows in trec.run(tmp_path / "run" / RUN).items()} == {
        question: names for question, names in run.rankings().items() if names
    }
    assert trec.qrels(tmp_path / "run" / QRELS) == collection().qrels


def test_measuring_the_file_gives_the_same_values(tmp_path: Path) -> None:
    run = measured()
    write(tmp_path / "run", run)

    again = measure_file(tmp_path / "run" / RUN, collection(), MEASURES, name="again", now=NOW)

    assert [row.values for row in again.results.rows] == [row.values for row in run.results.rows]
    assert again.circumstances["speed"] is None


def test_a_file_has_no_passages_to_measure(tmp_path: Path) -> None:
    asked = collection(questions=(Question(id="q", text="?", judged={"sea": 1}, gold=(TextSpan("sea", 0, 1),)),))

    with pytest.raises(Incomparable, match="no passages for SpanR@5"):
        measure_file(tmp_path / "run", asked, measures_of(["SpanR@5"]), name="file", now=NOW)


def test_a_folder_that_holds_anything_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine", "utf-8")

    with pytest.raises(UnreadableFile, match="is there already"):
        write(tmp_path, measured())

    assert [one.name for one in tmp_path.iterdir()] == ["kept.txt"]


def test_a_run_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    run = measured()
    monkeypatch.setattr(Path, "write_bytes", full)

    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "run", run)

    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_written_into(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()

    write(tmp_path / "run", measured())

    assert read(tmp_path / "run").results.name == "words"


@pytest.mark.parametrize("name", [QUESTIONS, HITS, RUN, QRELS])
def test_one_changed_byte_in_any_file_is_noticed(tmp_path: Path, name: str) -> None:
    write(tmp_path / "run", measured())
    path = tmp_path / "run" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))

    with pytest.raises(UnreadableFile, match="is not as it was written"):
        read(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda told: told["core"]["means"].update({"RR": 1.0}), "was changed after it was written"),
        (lambda told: told.update(format="other"), "is no manifest of a run"),
        (lambda told: told.pop("core"), "is no manifest of a run"),
    ],
)
def test_a_changed_manifest_is_noticed(tmp_path: Path, change: Callable[[Any], None], complaint: str) -> None:
    write(tmp_path / "run", measured())
    path = tmp_path / "run" / MANIFEST
    told = json.loads(path.read_text("utf-8"))
    change(told)
    path.write_text(json.dumps(told), "utf-8")

    with pytest.raises(UnreadableFile) as caught:
        read_results(path)

    assert complaint in caught.value.message


def test_values_that_do_not_follow_from_the_hits_are_noticed_whatever_the_sums_say(tmp_path: Path) -> None:
    run = measured()
    rows = (replace(run.results.rows[0], values=(0.5, 1.0, 1.0)), *run.results.rows[1:])

    write(tmp_path / "run", replace(run, results=replace(run.results, rows=rows)))

    with pytest.raises(UnreadableFile, match="do not follow from its hits"):
        read(tmp_path / "run")


def test_a_manifest_alone_is_enough_for_the_results(tmp_path: Path) -> None:
    run = measured()
    write(tmp_path / "run", run)
    (tmp_path / "run" / MANIFEST).rename(tmp_path / "baseline.json")

    results, circumstances = read_results(tmp_path / "baseline.json")

    assert results == run.results
    assert circumstances["created_at"] == NOW
    assert texts_of(tmp_path / "baseline.json") == {}


@pytest.mark.parametrize("name", ["nowhere", ""])
def test_a_folder_without_a_run_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(AbsentFile):
        read_results(tmp_path / name)


# --- circumstances --------------------------------------------------------------------------------------------------


def test_percentiles_are_values_that_were_seen() -> None:
    ordered = [float(one) for one in range(1, 101)]

    assert [percentile(ordered, one) for one in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert percentile([3.0], 50) == 3.0


def test_speed_is_told_in_milliseconds_and_questions_a_second() -> None:
    told = speed([0.1, 0.3], calls=3, memory=None)

    assert (told["p50_ms"], told["p99_ms"], told["questions_per_second"], told["calls"]) == (100, 300, 5, 3)


def test_nothing_answered_has_no_speed() -> None:
    told = speed([], calls=2, memory=7)

    assert (told["p50_ms"], told["questions_per_second"], told["peak_rss_bytes"]) == (None, None, 7)


def test_the_memory_of_the_process_is_more_than_a_megabyte() -> None:
    most = peak_memory()

    assert most is None or most > 1_000_000


def test_the_environment_names_no_person_and_no_place(tmp_path: Path) -> None:
    told = json.dumps(environment())

    assert "estante" in told
    assert str(Path.home()) not in told
