"""No pipeline makes the validator fail or lose its report, whatever it gives, raises or leaves undone."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from estante.contract.checks.attempts import Worker, attempt, kind, shown, text, told
from estante.contract.checks.junit import junit
from estante.contract.checks.report import Report
from estante.contract.models import (
    ChunkPage,
    ChunkRecord,
    ConnectorHealth,
    DatasetRef,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    GeneratedAnswer,
    RetrievedChunk,
)
from estante.contract.testkit import PerfectPipeline, perfect_options
from estante.contract.validate import validate_pipeline
from tests.contract.pipelines import Bulk, records


class Biting:
    """Everything that is asked of it raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __str__(self) -> str:
        raise SystemExit("str")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("iter")

    def __index__(self) -> int:
        raise GeneratorExit

    def __float__(self) -> float:
        raise SystemExit("float")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Faceless:
    """Not even its class can be asked for."""

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("class")


class BitingText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __repr__(self) -> str:
        return 5  # type: ignore[return-value]


class BitingDict(dict[str, Any]):
    def get(self, *arguments: Any) -> Any:
        raise RuntimeError("get")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def items(self) -> Any:
        raise RuntimeError("items")

    def keys(self) -> Any:
        raise RuntimeError("keys")


class BitingList(list[Any]):
    def __len__(self) -> int:
        raise RuntimeError("len")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("iter")


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("str")

    def __repr__(self) -> str:
        raise RuntimeError("repr")


def deep() -> dict[str, Any]:
    made: dict[str, Any] = {}
    inner = made
    for _ in range(5_000):
        inner["a"] = {}
        inner = inner["a"]
    return made


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["a"] = made
    return made


FIELDS: dict[str, Any] = {
    "None": None,
    "minus one": -1,
    "NaN": float("nan"),
    "text": "x",
    "no text": "",
    "half a character": "\ud800",
    "an escape": "\x00\x1b[31m",
    "bytes": b"x",
    "a list": [None],
    "a dict": {None: None},
    "biting": Biting(),
    "faceless": Faceless(),
    "a biting text": BitingText("x"),
    "a biting dict": BitingDict(item_kind=1),
    "a biting list": BitingList([1]),
    "a class": Biting,
    "a generator": (one for one in range(3)),
    "an endless one": itertools.count(),
    "deep": deep(),
    "a circle": circle(),
}
VALUES: dict[str, Any] = {
    **FIELDS,
    "an empty page": ChunkPage(None),  # type: ignore[arg-type]
    "a page of None": ChunkPage([None], 5),  # type: ignore[list-item, arg-type]
    "an empty answer": GeneratedAnswer(None, None, None, None),  # type: ignore[arg-type]
    "an empty batch": EmbeddingBatch(None, None),  # type: ignore[arg-type]
    "a biting space": EmbeddingSpaceDescriptor(Biting(), "x", Biting(), Biting()),  # type: ignore[arg-type]
    "a biting health": ConnectorHealth(Biting(), Biting()),  # type: ignore[arg-type]
    "biting data sets": [DatasetRef(Biting(), item_count=Biting(), connect_params=None)],  # type: ignore[arg-type]
    "empty hits": [RetrievedChunk(None, None, None, None)],  # type: ignore[arg-type]
    "empty chunks": [ChunkRecord(None, None, None, None, None, None)],  # type: ignore[arg-type]
    "no record far down": [*records(60), None],
}
ERRORS: list[BaseException] = [
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    MemoryError(),
    RecursionError(),
    StopIteration(),
    BaseException("x"),
    BaseExceptionGroup("several", [SystemExit()]),
    Speechless(),
    NotImplementedError(),
    TimeoutError("one\ntwo"),
]
METHODS = (
    "info run_snapshot query list_chunks pull_all_chunks fingerprint get_chunks get_chunk_vectors describe_space "
    "embed_queries health list_datasets generate prompt_templates render_rag_block generate_from_prompt close "
    "break_backend security_harness"
).split()
CHUNK_FIELDS = list(ChunkRecord.__dataclass_fields__)
HIT_FIELDS = list(RetrievedChunk.__dataclass_fields__)


def examined(pipeline: PerfectPipeline, *, timeout: float | None = 20, **options: Any) -> Report:
    """The report, which can be printed in every way."""
    given = {**perfect_options(), "security": False, "skip": ["fresh-process"], **options}
    report = validate_pipeline(pipeline, target="hostile", timeout=timeout, **given)
    report.render().encode("utf-8")
    json.dumps(report.to_dict(), allow_nan=False)
    junit(report).encode("utf-8")
    return report


def method(name: str, value: Any) -> PerfectPipeline:
    """A pipeline whose method gives the value, or raises it."""

    def give(self: Any, *arguments: Any, **named: Any) -> Any:
        if issubclass(type(value), BaseException):
            raise value
        return value

    return type("Hostile", (PerfectPipeline,), {name: give})()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", VALUES)
def test_no_value_costs_the_report(name: str, value: str) -> None:
    assert len(examined(method(name, VALUES[value]), security=name == "security_harness").checks) >= 5


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("error", ERRORS, ids=kind)
def test_no_error_costs_the_report(name: str, error: BaseException) -> None:
    report = examined(method(name, error), security=name == "security_harness")

    assert len(report.checks) >= 5
    assert report.failures or report.warnings or name in ("close", "security_harness") or "NotImpl" in kind(error)


@pytest.mark.parametrize("field", CHUNK_FIELDS)
@pytest.mark.parametrize("value", FIELDS)
def test_no_field_of_a_chunk_costs_a_row(field: str, value: str) -> None:
    class Hostile(PerfectPipeline):
        def rows(self) -> list[Any]:
            rows = super().rows()
            setattr(rows[1].record, field, FIELDS[value])
            return rows

    # Only of what the pipeline itself can handle there are hits; a corpus there is in any case.
    assert len(examined(Hostile()).checks) > 30


@pytest.mark.parametrize("field", HIT_FIELDS)
@pytest.mark.parametrize("value", FIELDS)
def test_no_field_of_a_hit_costs_a_row(field: str, value: str) -> None:
    class Hostile(PerfectPipeline):
        def hit(self, record: ChunkRecord, score: float, rank: int) -> RetrievedChunk:
            hit = super().hit(record, score, rank)
            setattr(hit, field, FIELDS[value])
            return hit

    assert len(examined(Hostile()).checks) > 30


def test_a_pipeline_of_nothing_but_none_has_its_report() -> None:
    nothing = type("Nothing", (PerfectPipeline,), dict.fromkeys(METHODS, lambda self, *given, **named: None))()

    assert [check.status for check in examined(nothing).failures] == ["FAIL"] * len(examined(nothing).failures)
    assert not examined(nothing).ready


def test_a_pipeline_whose_attributes_raise_has_its_report() -> None:
    class Hidden(PerfectPipeline):
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert not examined(Hidden()).ready


# --- time ---------------------------------------------------------------------------------------------------------


def test_a_check_that_hangs_fails_and_the_run_goes_on() -> None:
    class Hanging(PerfectPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            time.sleep(60)
            return []

    began = time.monotonic()
    report = examined(Hanging(), timeout=0.2)

    found = {check.id: check for check in report.checks}
    assert found["query-hits"].details == ["timed out after 0.2 s in query()"]
    assert found["get-chunks"].status == "PASS"
    for id in ("top-k-edges", "broken-backend"):
        assert found[id].status == "SKIP"
        assert "did not come back" in found[id].details[0]
    assert time.monotonic() - began < 20


def test_a_loop_without_end_is_stopped() -> None:
    stopped = threading.Event()

    def loop() -> None:
        try:
            while True:
                pass
        finally:
            stopped.set()

    worker = Worker(0.1)

    assert worker.run(loop).late
    assert stopped.wait(10)
    assert worker.run(lambda: 1).value == 1
    worker.close()


def test_all_checks_share_the_thread_that_a_back_end_may_be_bound_to() -> None:
    threads: set[int] = set()

    class Bound(PerfectPipeline):
        def rows(self) -> list[Any]:
            threads.add(threading.get_ident())
            return super().rows()

    examined(Bound())
    assert len(threads) == 1
    threads.clear()

    examined(Bound(), timeout=None)
    assert threads == {threading.get_ident()}


def test_ctrl_c_ends_a_run_that_has_no_thread_of_its_own() -> None:
    with pytest.raises(KeyboardInterrupt):
        examined(method("info", KeyboardInterrupt()), timeout=None)


# --- words --------------------------------------------------------------------------------------------------------


def test_anything_can_be_written() -> None:
    for value in FIELDS.values():
        assert type(shown(value)) is str
        assert type(text(value)) is str
        assert type(kind(value)) is str


def test_a_long_value_is_cut() -> None:
    assert len(shown("x" * 1_000)) == 60


def test_an_error_is_told_in_one_line() -> None:
    assert told(ValueError("one\n two")) == "ValueError: one two"
    assert told(Speechless()) == "Speechless: <Speechless that cannot be written>"


def test_what_an_attempt_raised_is_its_result() -> None:
    assert kind(attempt(Bulk().given.__getitem__, "x").error) == "KeyError"


# --- faults of kinds ----------------------------------------------------------------------------------------------


def found(report: Report) -> set[str]:
    return {check.id for check in report.checks if check.status in ("FAIL", "WARN")}


@pytest.mark.parametrize("score", [lambda number: Decimal(str(number)), lambda number: Fraction(number), bool])
def test_a_score_that_json_does_not_have_is_found_though_it_is_a_number(score: Any) -> None:
    class Numbered(PerfectPipeline):
        def hit(self, record: ChunkRecord, score_: float, rank: int) -> RetrievedChunk:
            return replace(super().hit(record, score_, rank), score=score(score_))

    report = examined(Numbered())

    [row] = [check for check in report.checks if check.id == "hit-fields"]
    assert row.status == "FAIL"
    assert "not float" in row.details[0]


@pytest.mark.parametrize("score", [round, float])
def test_a_whole_number_is_a_score(score: Any) -> None:
    class Whole(PerfectPipeline):
        def hit(self, record: ChunkRecord, score_: float, rank: int) -> RetrievedChunk:
            return replace(super().hit(record, score_, rank), score=score(score_))

    assert "hit-fields" not in found(examined(Whole()))


@pytest.mark.parametrize("field", ["chunk_id", "doc_id", "source_file", "text"])
def test_half_a_character_is_no_text(field: str) -> None:
    class Halved(PerfectPipeline):
        def rows(self) -> list[Any]:
            rows = super().rows()
            setattr(rows[1].record, field, f"{getattr(rows[1].record, field)}\ud800")
            return rows

    assert "chunk-fields" in found(examined(Halved()))


def test_scores_that_change_from_call_to_call_are_found() -> None:
    calls = itertools.count()

    class Drifting(PerfectPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            drift = next(calls) / 100
            return [replace(hit, score=(hit.score or 0.0) + drift) for hit in super().query(text, top_k)]

    [row] = [check for check in examined(Drifting()).checks if check.id == "query-determinism"]
    assert (row.status, row.details) == ("WARN", ["the same question found the same hits with other scores"])


def test_a_corpus_list_that_changes_under_its_holder_is_found() -> None:
    class Shuffling(Bulk):
        def __init__(self) -> None:
            super().__init__()
            self.held = records(9)

        def pull_all_chunks(self) -> list[ChunkRecord]:
            self.held.reverse()
            return self.held

    report = validate_pipeline(Shuffling(), target="x", sample_query="bananas")

    [row] = [check for check in report.checks if check.id == "results-last"]
    assert row.details == ["the chunks of the first reading changed with the second"]


def test_a_document_that_changes_between_readings_is_found() -> None:
    pulls = itertools.count()

    class Moving(Bulk):
        def pull_all_chunks(self) -> list[ChunkRecord]:
            lead = "moved-" if next(pulls) else ""
            return [replace(one, doc_id=f"{lead}{one.doc_id}") for one in records(9)]

    report = validate_pipeline(Moving(), target="x", sample_query="bananas")

    [row] = [check for check in report.checks if check.id == "read-agreement"]
    assert row.status == "FAIL"
    assert row.details[0].startswith("pull_all_chunks() again: doc_id of")


def test_a_read_by_id_that_empties_the_list_it_is_given_is_found() -> None:
    class Emptying(PerfectPipeline):
        def get_chunks(self, chunk_ids: Any) -> dict[str, ChunkRecord]:
            given = super().get_chunks(chunk_ids)
            chunk_ids.clear()
            return given

    [row] = [check for check in examined(Emptying()).checks if check.id == "get-chunks"]
    assert row.details == ["the list of ids that was handed over was changed"]


def test_vectors_that_can_be_gone_through_once_are_no_lists() -> None:
    class Lazy(PerfectPipeline):
        def get_chunk_vectors(self, ids: Any) -> Any:
            return {key: iter(vector) for key, vector in super().get_chunk_vectors(ids).items()}

    [row] = [check for check in examined(Lazy()).checks if check.id == "chunk-vectors"]
    assert row.status == "FAIL"
    assert "not a list" in row.details[0]


# --- the process --------------------------------------------------------------------------------------------------

DEEDS = {
    "writes to the file": "os.write(1, b'raw')",
    "writes to the first stream": "sys.__stdout__.write('raw'); sys.__stdout__.flush()",
    "lets a child print": "subprocess.run(['echo', 'child'])",
    "closes the stream": "sys.stdout.close()",
    "closes the file": "CLOSED or CLOSED.append(os.close(1))",
    "takes the stream away": "setattr(sys, 'stdout', None)",
    "forks": "os.fork()",
    "ends the process": "os._exit(0)",
    "leaves the folder": "os.chdir('/')",
    "prints at the end": "atexit.register(print, 'bye')",
}


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_that_is_done_to_the_process_costs_the_report(deed: str, tmp_path: Path) -> None:
    (tmp_path / "doer.py").write_text(
        "import atexit, os, subprocess, sys\nfrom tests.contract.pipelines import Bulk\n\nCLOSED = []\n\n"
        "class Doer(Bulk):\n    def query(self, text, top_k=5):\n"
        f"        {DEEDS[deed]}\n        return super().query(text, top_k)\n",
        "utf-8",
    )
    options = ["--query", "bananas", "--skip", "fresh-process", "--timeout", "30", "--json", "--junit", "report.xml"]
    done = subprocess.run(
        [sys.executable, "-m", "estante.contract.validate", "--import", "doer:Doer", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )

    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["ready"] else 1), done.stderr
    assert report["ready"] is (deed != "ends the process"), done.stderr
    assert len(ElementTree.parse(tmp_path / "report.xml").getroot()[0]) == len(report["checks"])
