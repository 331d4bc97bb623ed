"""The command ``validate``."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from estante.contract.checks.catalog import BASIC
from estante.serve.cli.main import main

PERFECT = ["validate", "--import", "estante.contract.testkit:PerfectPipeline", "--query", "Who keeps the keys?"]


def test_a_pipeline_that_is_ready_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PERFECT, "--strict"]) == 0
    assert "VERDICT: READY" in capsys.readouterr().out


def test_a_pipeline_that_is_not_ready_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["validate", "--import", "estante.contract.testkit.faults:NamelessPipeline"])

    assert code == 1
    assert "VERDICT: NOT READY" in capsys.readouterr().out


def test_json_is_one_value(capsys: pytest.CaptureFixture[str]) -> None:
    main([*PERFECT, "--json", "--security"])

    report = json.loads(capsys.readouterr().out)
    assert report["ready"] is True
    assert {"info", "calls", "security-tenants"} <= {check["id"] for check in report["checks"]}


def test_checks_are_chosen_by_their_ids(capsys: pytest.CaptureFixture[str]) -> None:
    main([*PERFECT, "--json", "--only", "info", "--only", "health,datasets", "--skip", "info"])

    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [(check["id"], check["status"]) for check in checks] == [
        ("info", "SKIP"),
        ("health", "PASS"),
        ("datasets", "PASS"),
    ]


def test_the_checks_of_rag_connector_can_be_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main([*PERFECT, "--basic", "--json"])

    ids = [check["id"] for check in json.loads(capsys.readouterr().out)["checks"]]
    assert ids == [rule.id for rule in BASIC if rule.id in ids]


def test_a_harness_can_be_brought(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*PERFECT, "--harness", "estante.contract.testkit.leaky:ReluctantHarness", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert code == 1
    assert [check["id"] for check in report["checks"] if check["status"] == "FAIL"] == ["security-deleted"]


def test_the_report_is_also_written_as_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PERFECT, "--junit", str(tmp_path / "report.xml")]) == 0
    assert ElementTree.parse(tmp_path / "report.xml").getroot()[0].get("failures") == "0"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "name one pipeline"),
        (["--import", "a:b", "--connector-type", "c"], 2, "name one pipeline"),
        (["--import", "a"], 1, "no module and attribute"),
        (["--import", "json:dumps", "--kwargs", '{"obj": 1}'], 1, "no RagPipeline"),
        (["--import", "no_such_module:x"], 2, "ModuleNotFoundError"),
        (["--connector-type", "no-such-type"], 1, "no such connector: 'no-such-type' is not registered"),
        (["--import", "a:b", "--only", "nothing"], 2, "there is no check 'nothing'"),
        (["--import", "a:b", "--timeout", "-1"], 2, "--timeout"),
    ],
)
def test_what_cannot_be_examined_says_why(
    arguments: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", *arguments]) == code

    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"error: {told}" in printed.err or told in printed.err.splitlines()[0]
    assert "hint: " in printed.err


def test_an_error_is_json_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", "--import", "no_such_module:x", "--json"])

    assert set(json.loads(capsys.readouterr().out)) == {"error", "hint"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--import", "json:dumps", "--params", "{}"], "--params goes with --connector-type"),
        (["--connector-type", "estante", "--kwargs", "{}"], "--kwargs goes with --import"),
        (["--import", "json:dumps", "--top-k", "0"], "--top-k is 0"),
        (["--connector-type", "estante", "--params", '{"path": "a", "path": "b"}'], "'path' is given twice"),
    ],
)
def test_what_could_not_have_its_effect_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", *arguments]) == 2
    assert told in capsys.readouterr().err
