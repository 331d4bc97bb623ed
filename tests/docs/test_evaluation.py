"""The page of measuring says what the code says, and its example runs."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from estante.evaluate import errors, keeping
from estante.evaluate.errors import EvaluationError
from estante.evaluate.measures import KINDS, RANKED, SPANNED
from estante.evaluate.statistics import EXACT_DRAWS, EXACT_SIGNS
from estante.serve.cli.borders import evaluation_error
from tests.evaluate.test_runs import measured

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "evaluation.md").read_text("utf-8")


def section(heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def kinds() -> Iterator[type[EvaluationError]]:
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, EvaluationError) and kind is not EvaluationError:
            yield kind


@pytest.mark.parametrize("name", KINDS)
def test_every_measure_has_its_line(name: str) -> None:
    kind = KINDS[name]

    line = f"| `{name}` | {kind.cutoff} | {'may' if kind.rel else 'never'} | {kind.says} |"
    assert line in section("Measures")


def test_no_other_measure_has_a_line() -> None:
    assert re.findall(r"^\| `(\w+)`", section("Measures"), re.MULTILINE) == list(KINDS)


def test_the_usual_measures_are_named() -> None:
    assert all(f"`{one}`" in section("Measures") for one in (*RANKED, *SPANNED))


def test_every_count_has_its_line_and_no_other_has() -> None:
    told = re.findall(r"^\| `(\w+)`", section("What counts"), re.MULTILINE)

    assert told == list(measured().results.counts)


def test_every_file_of_a_run_is_named() -> None:
    for name in (keeping.MANIFEST, keeping.QUESTIONS, keeping.HITS, keeping.RUN, keeping.QRELS):
        assert f"`{name}`" in section("A run")


def test_the_bounds_of_what_is_exact_are_those_of_the_code() -> None:
    assert f"up to {EXACT_SIGNS} questions that differ" in section("Comparing")
    assert f"up to {EXACT_DRAWS} questions" in section("Comparing")


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_error_has_its_line_with_the_exit_code_of_the_command_line(kind: type[EvaluationError]) -> None:
    told = evaluation_error(kind("what", hint="Do this."))

    assert told is not None
    assert re.search(rf"^\| `{kind.__name__}` \| .+ \| {told.exit_code} \|$", section("Errors"), re.MULTILINE)


def test_no_other_error_has_a_line() -> None:
    told = re.findall(r"^\| `(\w+)`", section("Errors"), re.MULTILINE)

    assert set(told) == {kind.__name__ for kind in kinds()}


def test_the_example_in_python_prints_what_it_says() -> None:
    [(code, expected)] = re.findall(r"```python\n(.*?)```\s*```output\n(.*?)```", PAGE, re.DOTALL)

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "evaluation.md", "exec"), {"__name__": "__main__"})

    assert printed.getvalue() == expected
