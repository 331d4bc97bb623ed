"""A light start, and the names that the package root hands out."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

import estante

HELP = """
import sys
sys.argv = ["estante", "--help"]
from estante.serve.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def loaded_by(code: str) -> set[str]:
    """The top-level modules that are there after the code and were not before it."""
    told = python(
        f"import json, sys\nbefore = set(sys.modules)\n{code}\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(json.dumps(sorted(names)), file=sys.stderr)"
    ).stderr
    return set(json.loads(told.splitlines()[-1]))


def fastest(code: str, *, of: int = 5) -> float:
    """The shortest of several runs: what the code needs when nothing disturbs it."""
    taken = []
    for _ in range(of):
        started = time.perf_counter()
        python(code)
        taken.append(time.perf_counter() - started)
    return min(taken)


@pytest.mark.parametrize("floor", ["estante", "estante.contract", "estante.model.content", "estante.model.ports"])
def test_the_lowest_floors_load_no_third_party_module(floor: str) -> None:
    loaded = loaded_by(f"import {floor}")

    assert "estante" in loaded
    assert loaded - {*sys.stdlib_module_names, "estante"} == set()


def test_loading_a_third_party_module_would_be_seen() -> None:
    assert "numpy" in loaded_by("import estante; estante.memory")


def test_help_loads_neither_numpy_nor_sqlite() -> None:
    loaded = loaded_by(HELP)

    assert "typer" in loaded
    assert loaded & {"numpy", "sqlite3", "lxml", "simsimd", "pypdfium2", "docx", "selectolax", "Stemmer"} == set()


def test_help_takes_little_longer_than_the_library_that_prints_it() -> None:
    assert fastest(HELP) < 3 * fastest("import typer, rich.console, rich.table")


def test_every_exported_name_resolves_and_says_what_it_is() -> None:
    assert {"create", "open", "memory", "Bookcase", "EstanteError"} <= set(estante.__all__)
    for name in set(estante.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(estante, name)), name


def test_the_root_lists_what_it_exports_and_no_more() -> None:
    assert dir(estante) == sorted(estante.__all__)
    with pytest.raises(AttributeError, match="no attribute 'search'"):
        _ = estante.search


def test_the_version_is_that_of_the_package() -> None:
    assert estante.__version__ == version("estante")
