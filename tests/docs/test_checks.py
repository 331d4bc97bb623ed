"""The page of checks says of each what the code says, and its examples run."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from estante.contract.checks.catalog import ALL
from estante.contract.checks.rules import Rule
from estante.contract.checks.security import WALLS, SecurityHarness
from estante.contract.testkit import PipelineContract
from estante.contract.validate import validate_pipeline

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "checks.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\s*```output\n(.*?)```)?", PAGE, re.DOTALL)


def section(heading: str) -> str:
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return " ".join(found[1].split())


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_every_check_says_what_the_code_says(rule: Rule) -> None:
    told = section(f"### {rule.id}")

    assert told == f"**{rule.name}** {rule.proves} *To mend:* {rule.mend}"


def test_the_checks_stand_in_their_order_and_no_other_does() -> None:
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == [rule.id for rule in ALL]


def test_every_parameter_is_named() -> None:
    told = section("## From a program")

    assert [name for name in inspect.signature(validate_pipeline).parameters if f"`{name}`" not in told] == [
        "pipeline",
        "target",
    ]
    assert "`validate_pipeline(pipeline, *, target)`" in told


def test_every_attribute_of_the_suite_is_named() -> None:
    names = [
        name for name in vars(PipelineContract.__mro__[1]) if not name.startswith("_") and name != "teardown_class"
    ]

    assert [name for name in names if f"`{name}`" not in section("## The test kit")] == []


def test_every_member_of_a_harness_is_named() -> None:
    members = [name for name in vars(SecurityHarness) if not name.startswith("_")]

    assert len(members) == 4
    assert [name for name in (*members, *WALLS) if f"`{name}`" not in section("## A harness")] == []


@pytest.mark.parametrize(("source", "printed"), BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_runs(source: str, printed: str, tmp_path: Path) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "checks.md", "exec"), {"__name__": "example"})

    assert out.getvalue() == printed


def test_the_example_of_the_test_kit_is_a_test(tmp_path: Path) -> None:
    [source] = [source for source, _ in BLOCKS if "PipelineContract" in source]
    (tmp_path / "test_mine.py").write_text(source, "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
