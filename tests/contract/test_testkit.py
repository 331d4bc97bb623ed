"""The test kit: suites to inherit, and pipelines to learn from."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.contract import testkit
from estante.contract.checks.catalog import SECURITY
from estante.contract.checks.security import SecurityHarness
from estante.contract.pipeline import RagPipeline
from estante.contract.testkit import (
    PERFECT_CONNECTION,
    PERFECT_SPEC,
    PerfectHarness,
    PerfectPipeline,
    PipelineContract,
    SecurityContract,
)
from estante.contract.testkit.perfect import QUESTION
from estante.contract.testkit.suite import PIPELINE_RULES

ROOT = Path(__file__).resolve().parents[2]


class TestPerfectPipeline(PipelineContract):
    sample_query = QUESTION
    spec = PERFECT_SPEC
    connection = PERFECT_CONNECTION
    strict = True

    @pytest.fixture(scope="class")
    @classmethod
    def pipeline(cls) -> Iterator[RagPipeline]:
        made = PerfectPipeline()
        yield made
        made.close()


class TestPerfectPipelineAnew(PipelineContract):
    sample_query = QUESTION
    timeout = 30

    @pytest.fixture
    def pipeline(self) -> RagPipeline:
        return PerfectPipeline()


class TestPerfectWalls(SecurityContract):
    @pytest.fixture(scope="class")
    @classmethod
    def harness(cls) -> SecurityHarness:
        return PerfectHarness()


def ran(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """pytest over a file with this source."""
    (folder / "test_it.py").write_text(textwrap.dedent(source), "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rsf", "-p", "no:cacheprovider", "-W", "error", "test_it.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_suite_runs_every_check() -> None:
    [mark] = [one for one in PipelineContract.test_the_pipeline_keeps.pytestmark if one.name == "parametrize"]
    [walls] = [one for one in SecurityContract.test_the_walls_hold.pytestmark if one.name == "parametrize"]

    assert mark.args[1] == PIPELINE_RULES
    assert walls.args[1] == SECURITY


def test_a_fault_fails_its_test_and_no_other(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
        import pytest
        from estante.contract.testkit import PipelineContract
        from estante.contract.testkit.faults import ParaphrasingPipeline

        class TestFaulty(PipelineContract):
            sample_query = "keys"

            @pytest.fixture
            def pipeline(self):
                return ParaphrasingPipeline()
        """,
    )

    assert "1 failed" in done.stdout, done.stdout
    assert "[hit-texts]" in done.stdout
    assert "Hit text equals the corpus text" in done.stdout
    assert "FIX: Serve the chunk's own text" in done.stdout


@pytest.mark.parametrize(
    ("fixture", "told"),
    [
        ("", "this suite has no fixture 'pipeline'"),
        ("return None", "the fixture 'pipeline' gives a value of type NoneType"),
        ("return Bulk", "the fixture 'pipeline' gives the class Bulk itself"),
    ],
)
def test_a_fixture_that_cannot_be_used_fails_once_and_says_so(tmp_path: Path, fixture: str, told: str) -> None:
    given = f"@pytest.fixture\n    def pipeline(self):\n        {fixture}" if fixture else "pass"
    done = ran(
        tmp_path,
        "import pytest\nfrom estante.contract.testkit import PipelineContract\n"
        f"from tests.contract.pipelines import Bulk\n\nclass TestBulk(PipelineContract):\n    {given}\n",
    )

    assert done.returncode == 1, done.stdout
    assert f"1 failed, {len(PIPELINE_RULES) - 1} skipped" in done.stdout, done.stdout
    assert told in done.stdout
    assert "Traceback" not in done.stdout


def test_a_suite_without_a_harness_fails_once_and_says_so(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
        from estante.contract.testkit import SecurityContract

        class TestWalls(SecurityContract):
            pass
        """,
    )

    assert f"1 failed, {len(SECURITY) - 1} skipped" in done.stdout, done.stdout
    assert "this suite has no fixture 'harness'" in done.stdout


@pytest.mark.parametrize(("strict", "failed"), [("False", 0), ("True", 2)])
def test_a_warning_fails_where_it_is_to(tmp_path: Path, strict: str, failed: int) -> None:
    done = ran(
        tmp_path,
        f"""
        import pytest
        from estante.contract.testkit import PipelineContract
        from tests.contract.pipelines import Bulk

        class TestBulk(PipelineContract):
            sample_query = "bananas"
            strict = {strict}

            @pytest.fixture(scope="class")
            @classmethod
            def pipeline(cls):
                return Bulk()
        """,
    )

    assert done.returncode == bool(failed)
    assert (f"{failed} failed" in done.stdout) is bool(failed), done.stdout


def test_a_pipeline_that_lasts_for_the_class_is_read_twice_at_most(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
        import pytest
        from estante.contract.testkit import PipelineContract
        from tests.contract.pipelines import Bulk

        class TestBulk(PipelineContract):
            @pytest.fixture(scope="class")
            @classmethod
            def pipeline(cls):
                made = Bulk()
                yield made
                assert made.pulls == 2
        """,
    )

    assert done.returncode == 0, done.stdout


def test_a_hole_in_a_wall_fails_its_test(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
        import pytest
        from estante.contract.testkit import PerfectHarness, SecurityContract
        from estante.contract.testkit.leaky import leaky

        class TestLeaky(SecurityContract):
            @pytest.fixture(scope="class")
            @classmethod
            def harness(cls):
                return PerfectHarness(leaky("query", "tenants"))
        """,
    )

    assert "1 failed, 7 passed" in done.stdout, done.stdout
    assert "query() shows its text, of a document of another tenant" in done.stdout


def test_pytest_is_loaded_when_a_suite_is_asked_for_and_not_before() -> None:
    code = (
        "import sys; from estante.contract.testkit import PerfectPipeline, FAULTS, LEAKS; "
        "assert 'pytest' not in sys.modules; from estante.contract.testkit import PipelineContract; "
        "assert 'pytest' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_pytest_the_suites_say_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "try:\n    from estante.contract.testkit import PipelineContract\n"
        "except ImportError as error:\n    assert 'pip install pytest' in str(error), error\n"
        "else:\n    raise SystemExit('it was there')"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_of_the_kit_is_there() -> None:
    assert dir(testkit) == sorted(testkit.__all__)
    assert all(getattr(testkit, name) is not None for name in testkit.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Pipeline'"):
        _ = testkit.Pipeline
