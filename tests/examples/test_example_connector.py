"""The packaged example: built, installed beside the environment, listed, validated and tested in new processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs import test_blocks
from tests.docs.test_blocks import Page
from tests.docs.test_links import broken

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "estante-connector-example"

SHOWN_ELSEWHERE = {"broken-backend"}
"""What only the example's own tests can show: nothing breaks a back end from outside."""
NOT_OFFERED = set(
    "chunk-vectors close datasets derived-results query-embedding recomputed-scores vector-dimensions".split()
)
NO_ROW = {"probe-query", "complete-set-cardinality"}
"""What has a row only without a question, or in another mode."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example as pip installs it. Nothing is fetched: what builds it is in the environment."""
    target = tmp_path_factory.mktemp("site")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-input", "--disable-pip-version-check"]
    made = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", target, EXAMPLE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return target


def ran(site: Path, folder: Path, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The command in a process that has the installed example, none of the sources, and no network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ESTANTE_", "PYTEST_"))}
    path = os.pathsep.join(map(str, (site, ROOT / "tests" / "offline")))
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**kept, "HOME": str(folder), "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **more},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def estante(site: Path, folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return ran(site, folder, "-m", "estante", *command, **more)


@pytest.fixture
def notes(site: Path, tmp_path: Path) -> Path:
    """The sample, in a folder of its own."""
    made = ran(site, tmp_path, "-m", "estante_connector_example.sample", "notes.db")
    assert made.returncode == 0, made.stderr
    return tmp_path / "notes.db"


def test_the_installed_example_is_listed_without_an_error(site: Path, tmp_path: Path) -> None:
    rows = json.loads(estante(site, tmp_path, "connectors", "--json").stdout)

    [row] = [row for row in rows if row["type"] == "notebook"]
    assert row["origin"] == "estante-connector-example"
    assert row["error"] == ""
    assert row["capabilities"] == ["connect", "connector_info", "prompt_templates"]


def test_the_example_is_unknown_where_it_is_not_installed(tmp_path: Path) -> None:
    rows = json.loads(estante(tmp_path, tmp_path, "connectors", "--json").stdout)

    assert rows
    assert "notebook" not in [row["type"] for row in rows]


def test_the_example_is_ready_without_a_warning(site: Path, notes: Path) -> None:
    done = estante(
        site, notes.parent, "validate", "--connector-type", "notebook", "--params", json.dumps({"path": notes.name}),
        "--query", "Who keeps the spare key of the reading room?", "--strict", "--json", NOTEBOOK_TOKEN="open-sesame",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    told = {row["id"]: row["status"] for row in report["checks"]}
    assert report["ready"]
    assert set(told.values()) == {"PASS", "SKIP"}
    assert {name for name, status in told.items() if status == "SKIP"} == NOT_OFFERED | SHOWN_ELSEWHERE
    assert "open-sesame" not in done.stdout


def test_the_example_is_measured_and_its_token_is_kept_nowhere(site: Path, notes: Path) -> None:
    asked = [
        {"question": "Who keeps the spare key of the reading room?", "relevant": ["keys"]},
        {"question": "Quantos livros pode levar cada leitor?", "relevant": ["emprestimo"]},
    ]
    (notes.parent / "asked.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in asked), "utf-8")
    call = [
        "eval", "run", "asked.jsonl", "--connector-type", "notebook", "--params", json.dumps({"path": notes.name}),
        "-m", "RR", "--json", "--out",
    ]  # fmt: skip

    done = estante(site, notes.parent, *call, "run", NOTEBOOK_TOKEN="open-sesame")

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["measures"] == {"RR": 1.0}
    assert found["pipeline"]["snapshot_sha256"]
    kept = "".join(path.read_text("utf-8") for path in (notes.parent / "run").iterdir())
    assert "open-sesame" not in done.stdout + kept


def test_the_tests_of_the_example_pass_and_show_what_a_broken_back_end_does(site: Path, tmp_path: Path) -> None:
    done = ran(
        site, EXAMPLE, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin",
        f"--junitxml={tmp_path / 'report.xml'}", f"--basetemp={tmp_path / 'base'}", PYTHONDONTWRITEBYTECODE="1",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    outcomes = {
        case.get("name", ""): case.find("skipped") is None
        for case in ElementTree.parse(tmp_path / "report.xml").iter("testcase")
    }
    skipped = {name.partition("[")[2].rstrip("]") for name, passed in outcomes.items() if not passed}
    assert len(outcomes) >= 60
    assert outcomes["test_the_pipeline_keeps[broken-backend]"]
    assert skipped == NOT_OFFERED | NO_ROW


def test_every_command_of_its_readme_prints_what_the_readme_says(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_blocks, "OFFLINE", os.pathsep.join(map(str, (site, ROOT / "tests" / "offline"))))

    assert Page(EXAMPLE / "README.md", tmp_path).run() == 2


def test_the_links_of_its_readme_lead_somewhere() -> None:
    assert list(broken(EXAMPLE / "README.md")) == []
