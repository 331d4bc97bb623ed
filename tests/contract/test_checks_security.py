"""Who is shown what: every hole in a wall is found, in whatever operation it is."""

from __future__ import annotations

from typing import Any

import pytest

from estante.contract.checks.attempts import Attempt
from estante.contract.checks.leaks import Showing, flattened, leaks, spelled
from estante.contract.checks.report import Report
from estante.contract.checks.security import (
    FILTERS,
    OTHER_TENANT,
    OWN,
    READERS,
    TENANTS,
    WALLS,
    Asker,
    Canary,
    SecurityHarness,
)
from estante.contract.models import DatasetRef, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.contract.testkit.leaky import COUNTING, HOLES, ReluctantHarness, RememberingPipeline, leaky
from estante.contract.testkit.perfect import PerfectHarness, PerfectPipeline, Text
from estante.contract.validate import validate_pipeline
from tests.contract.pipelines import Bulk

IDS = [f"security-{one}" for one in ("own", "tenants", "readers", "filters", "absent", "counts", "errors", "deleted")]


def examined(harness: SecurityHarness) -> Report:
    return validate_pipeline(Bulk(), target="walls", harness=harness, only=IDS)


def failing(harness: SecurityHarness) -> set[str]:
    return {check.id.removeprefix("security-") for check in examined(harness).failures}


def statuses(harness: SecurityHarness) -> dict[str, str]:
    return {check.id.removeprefix("security-"): check.status for check in examined(harness).checks}


def test_walls_without_holes_pass() -> None:
    assert set(statuses(PerfectHarness()).values()) == {"PASS"}


@pytest.mark.parametrize("operation", HOLES)
@pytest.mark.parametrize("wall", WALLS)
def test_a_hole_in_any_operation_is_found(operation: str, wall: str) -> None:
    # Whatever lies beyond a filter is the asker's own: nothing is said of its ids, its errors and its numbers.
    also = set() if wall == FILTERS else {one.removeprefix("security-") for one in HOLES[operation]}

    assert failing(PerfectHarness(leaky(operation, wall))) == {wall, *also}


@pytest.mark.parametrize("operation", COUNTING)
@pytest.mark.parametrize("wall", [TENANTS, READERS])
def test_a_number_that_counts_what_is_foreign_is_found(operation: str, wall: str) -> None:
    assert failing(PerfectHarness(leaky(operation, wall))) == {"counts"}


def test_the_name_of_a_foreign_document_is_a_leak() -> None:
    class Telling(PerfectPipeline):
        def list_datasets(self) -> list[DatasetRef]:
            return [DatasetRef(name) for name in self.shelf.texts]

    assert failing(PerfectHarness(Telling)) == {"tenants", "readers", "filters", "counts"}


def test_a_foreign_text_in_the_metadata_of_an_own_hit_is_a_leak() -> None:
    class Neighbourly(PerfectPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            found = super().query(text, top_k)
            for hit in found:
                hit.metadata["next"] = [one.text for one in self.shelf.texts.values() if one.tenant != "north"]
            return found

    assert failing(PerfectHarness(Neighbourly)) == {"tenants"}


def test_the_cause_of_an_error_is_shown_with_it() -> None:
    class Caused(PerfectPipeline):
        def get_chunks(self, chunk_ids: list[str]) -> Any:
            hidden = [one.text for one in self.shelf.texts.values() if not one.open_to(self.asker)]
            try:
                raise LookupError(hidden)
            except LookupError as error:
                raise ValueError("not for you") from error

    assert {"tenants", "readers", "errors"} <= failing(PerfectHarness(Caused))


@pytest.mark.parametrize("harness", [ReluctantHarness(), PerfectHarness(RememberingPipeline)], ids=["kept", "cached"])
def test_a_deleted_document_that_is_still_shown_is_found(harness: PerfectHarness) -> None:
    assert failing(harness) == {"deleted"}


def test_a_pipeline_that_was_bound_before_must_forget_too() -> None:
    [row] = examined(PerfectHarness(RememberingPipeline)).failures

    assert all("bound before" in line for line in row.details if not line.startswith("and "))


@pytest.mark.parametrize("wall", [TENANTS, READERS, FILTERS])
def test_a_wall_that_a_system_does_not_have_is_left_out(wall: str) -> None:
    class Lesser(PerfectHarness):
        walls = frozenset(WALLS) - {wall}

    found = statuses(Lesser())

    assert found[wall] == "SKIP"
    assert set(found.values()) == {"PASS", "SKIP"}
    assert OTHER_TENANT.key not in Lesser().shelf.texts


def test_a_harness_that_fails_shows_nothing_and_says_so() -> None:
    class Failing(PerfectHarness):
        def plant(self, canary: Canary) -> None:
            raise OSError("the disk is full")

    report = examined(Failing())

    assert [check.status for check in report.checks] == ["FAIL", *["SKIP"] * 7]
    assert "the disk is full" in report.checks[0].details[0]


def test_asked_for_without_a_harness_security_is_not_shown() -> None:
    report = validate_pipeline(Bulk(), target="walls", security=True, only=IDS)

    assert not report.ready
    assert "there is no harness" in report.checks[0].details[0]


def test_every_pipeline_that_was_bound_is_closed() -> None:
    bound, closed = list[RagPipeline](), list[object]()

    class Counting(PerfectHarness):
        def bind(self, asker: Asker) -> RagPipeline:
            made = Closing(self.shelf, asker)
            bound.append(made)
            return made

    class Closing(PerfectPipeline):
        def close(self) -> None:
            closed.append(self)

    examined(Counting())

    assert bound
    assert {id(one) for one in bound} == {id(one) for one in closed}


def test_own_documents_that_are_not_found_prove_nothing() -> None:
    class Blind(PerfectPipeline):
        def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
            return []

    assert failing(PerfectHarness(Blind)) == {"own"}


# --- what is looked through -----------------------------------------------------------------------------------------


def test_every_text_within_a_value_is_spelled() -> None:
    value = {"a": [RetrievedChunk("b", "c", 1.0, 0, metadata={"d": ("e", {"f"})})], "g": b"h", "i": Text("j", "k")}

    assert set("abcdefghijk") <= set(spelled(value))


def test_what_was_asked_for_may_come_back() -> None:
    found = [
        Showing("query", Attempt("kestrelow"), "the kestrelow pier"),
        Showing("query", Attempt("kestrelow"), "pier"),
    ]

    assert leaks(found[:1], {OWN.marker: "its words"}) == []
    assert leaks(found[1:], {OWN.marker: "its words"}) == ["query() shows its words"]


def test_a_marker_in_capitals_is_a_leak() -> None:
    assert leaks([Showing("info", Attempt({"last": "KESTRELOW"}))], {OWN.marker: "its words"})


def test_plain_values_have_their_places() -> None:
    assert dict(flattened({"a": [1, {"b": DatasetRef("c")}]}))["a[1].b.id"] == "c"
