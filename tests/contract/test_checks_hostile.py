"""No pipeline makes the validator fail or lose its report, whatever it gives, raises or leaves undone."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

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
