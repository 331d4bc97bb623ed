"""The bookcase held to every check of the contract, as pytest runs them and as the validator prints them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from estante.contract.checks.report import PASS, SKIP, Check
from estante.contract.testkit import PipelineContract, SecurityContract
from estante.contract.validate import main, validate_pipeline
from estante.model.asking import MODES
from estante.shelf.binding import Binding
from estante.shelf.connector import CONNECTOR_SPEC, build, connect
from estante.shelf.harness import BookcaseHarness
from estante.shelf.pipeline import BookcasePipeline
from estante.shelf.provisioning import Plan, provision
from estante.shelf.settings import load
from tests.conftest import LIBRARY
from tests.shelf.bound import asking

ASKED = "Quantos dias de férias tem o servidor?"

APART = {
    "Derived-result declarations are well-formed": "no hit declares an item_* key",
    "Reported scores follow from the stored vectors": "scores are of a metric that is not computed again: hybrid",
}
"""The rows that have nothing to look at, and why; no other may be skipped."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo library, provisioned for everyone with the encoder of every install."""
    made = tmp_path_factory.mktemp("provisioned") / "home"
    provision(made, Plan(documents=LIBRARY, readers=("*",)))
    return made


class _Kept:
    """What the suites below have in common: no warning, and no row without a look."""

    strict: ClassVar[bool] = True

    @classmethod
    def _judge(cls, row: Check | None) -> None:
        if row is not None and row.status == SKIP:
            assert APART[row.name] in row.details[0]
        elif row is not None:
            assert row.status == PASS, row


class TestHybridBookcase(_Kept, PipelineContract):
    """The bookcase as it is connected without a word, with its spec and its document."""

    sample_query = ASKED
    spec = CONNECTOR_SPEC

    @pytest.fixture(scope="class")
    @classmethod
    def pipeline(cls, home: Path) -> Iterator[BookcasePipeline]:
        found, cls.connection = connect({"path": str(home)})
        yield found
        found.close()


class TestDenseBookcase(_Kept, PipelineContract):
    """The bookcase whose scores are cosines, which the checks compute again."""

    sample_query = ASKED
    spec = CONNECTOR_SPEC

    @pytest.fixture(scope="class")
    @classmethod
    def pipeline(cls, home: Path) -> Iterator[BookcasePipeline]:
        found, cls.connection = connect({"path": str(home), "mode": "dense"})
        yield found
        found.close()


@pytest.mark.parametrize("mode", MODES, scope="class")
class TestWalls(_Kept, SecurityContract):
    """Tenants, readers and filters, in every mode."""

    @pytest.fixture(scope="class")
    @classmethod
    def harness(cls, mode: str) -> BookcaseHarness:
        settings = load(Path.cwd(), environ={}, files=False)
        return BookcaseHarness(settings, Binding.of({"mode": mode}))


def test_the_validator_finds_the_bookcase_ready_without_a_warning(home: Path) -> None:
    pipeline, document = connect({"path": str(home), "mode": "dense"})

    report = validate_pipeline(
        pipeline,
        target="estante",
        sample_query=ASKED,
        connection=document,
        spec=CONNECTOR_SPEC,
        security=True,
        strict=True,
        close=True,
    )

    assert report.ready
    assert {row.name for row in report.checks if row.status != PASS} == {"Derived-result declarations are well-formed"}
    with pytest.raises(Exception, match="was closed"):
        pipeline.query(ASKED)


def test_the_command_of_the_validator_connects_it_by_its_type(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = f'{{"path": "{home}"}}'

    code = main(["--connector-type", "estante", "--params", params, "--query", ASKED, "--security", "--strict"])

    assert (code, "VERDICT: READY" in capsys.readouterr().out) == (0, True)


@pytest.mark.parametrize(
    "binding",
    [
        {"asker": "owner"},
        {"asker": "owner", "mode": "dense"},
        {"asker": "reader", "keys": ["finance"]},
        {"shelf": "shared"},
    ],
)
def test_a_bookcase_with_two_shelves_is_ready_for_every_asker(tmp_path: Path, binding: dict[str, Any]) -> None:
    with asking(tmp_path / "case", **binding) as pipeline:
        report = validate_pipeline(pipeline, target="x", sample_query="férias", strict=True)

        assert report.ready, report.render()


def test_the_harness_leaves_the_bookcase_alone_that_is_examined(home: Path) -> None:
    pipeline = build({"path": str(home)})
    before = pipeline.run_snapshot()

    report = validate_pipeline(pipeline, target="x", sample_query=ASKED, security=True)

    assert report.ready
    assert pipeline.run_snapshot() == before
    pipeline.close()


def test_the_harness_takes_its_folder_with_it() -> None:
    with asking() as pipeline:
        harness: Any = pipeline.security_harness()
        folder = harness._folder
        validate_pipeline(pipeline, target="x", harness=harness)
        assert any(folder.iterdir())

        del harness

        import gc

        gc.collect()
        assert not folder.exists()


def test_a_bookcase_in_memory_is_ready(tmp_path: Path) -> None:
    with asking(asker="owner", mode="dense") as pipeline:
        report = validate_pipeline(pipeline, target="x", sample_query="férias", security=True, strict=True)

        assert report.ready, report.render()


def test_as_pipeline_in_a_bookcase_s_own_mode_examines_that_mode() -> None:
    with asking(mode="lexical") as pipeline:
        harness: Any = pipeline.security_harness()

        assert harness._binding.mode == "lexical"
