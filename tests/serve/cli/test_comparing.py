"""The commands ``eval compare`` and ``eval report``, through the real door."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from estante.evaluate.asking import Order
from estante.evaluate.collection import Collection, Question
from estante.evaluate.keeping import MANIFEST, write
from estante.evaluate.measures import measures_of
from estante.evaluate.runs import measure
from estante.serve.cli.main import main
from tests.evaluate.subjects import FailingPipeline, WordsPipeline, collection


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good run and a bad one, which fails at a third of the questions."""
    folder = tmp_path_factory.mktemp("runs")
    asked = collection().questions
    many = tuple(Question(id=f"q{at:02}", text=asked[at % 3].text, judged=asked[at % 3].judged) for at in range(60))
    kept = Collection(name="harbour", questions=many, sources=collection().sources)
    for name, pipeline in {"good": WordsPipeline(), "bad": FailingPipeline()}.items():
        made = measure(
            pipeline, kept, measures_of(["nDCG@10", "R@5"]), Order(top_k=5), name=name, now="2025-06-02T09:30:00Z"
        )
        write(folder / name, made)
    return folder


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_comparison_is_printed_with_what_is_needed_to_judge_it(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "compare", str(runs / "good"), str(runs / "bad")]) == 0

    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "60 questions, each run against the first"
    assert lines[1] == "nDCG@10"
    assert lines[3].startswith("  bad   0.3333  -0.3333 [")
    assert lines[3].endswith("0 better, 40 same, 20 worse  *")
    assert "p < 0.001 (bootstrap < 0.001)" in lines[3]
    assert "  1.0000 > 0.0000  q01  When does fog sound the horn?" in lines
    assert "warning: bad: the pipeline failed at 20 questions, which count 0" in printed.err


def test_a_comparison_as_json_is_one_value(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "compare", str(runs / "good"), str(runs / "bad"), "-m", "R@5", "--furthest", "2", "--json"])

    found = told(capsys)
    [difference] = found["differences"]
    assert (difference["measure"], difference["significant"], difference["losses"]) == ("R@5", True, 20)
    assert (difference["first"], difference["second"]) == ("good", "bad")
    assert (difference["first_mean"], difference["second_mean"]) == pytest.approx((2 / 3, 1 / 3))
    assert [one["question"] for one in found["furthest"]] == ["q01", "q04"]
    assert found["gated"] is False
    assert found["runs"][0]["speed"]["calls"] == 61


def test_without_a_baseline_a_worse_run_is_no_failure(runs: Path) -> None:
    assert main(["eval", "compare", str(runs / "good"), str(runs / "bad"), "--quiet"]) == 0


def test_a_run_that_fell_against_its_baseline_ends_with_1(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "compare", str(runs / "bad"), "--baseline", str(runs / "good")]) == 1

    assert "fell: nDCG@10 of bad by 0.3333, p < 0.001" in capsys.readouterr().out


def test_a_run_that_did_not_fall_ends_with_0(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "compare", str(runs / "good"), "--baseline", str(runs / "bad")]) == 0

    assert "ok  nothing fell significantly by more than 0" in capsys.readouterr().out


def test_a_drop_that_is_allowed_ends_with_0(runs: Path) -> None:
    assert main(["eval", "compare", str(runs / "bad"), "--baseline", str(runs / "good"), "--max-drop", "0.5"]) == 0


def test_a_manifest_alone_is_a_baseline(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(runs / "good" / MANIFEST, tmp_path / "baseline.json")

    assert main(["eval", "compare", str(runs / "bad"), "--baseline", str(tmp_path / "baseline.json"), "--json"]) == 1
    assert [one["measure"] for one in told(capsys)["fell"]] == ["nDCG@10", "R@5"]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["good"], 2, "1 run cannot be compared"),
        (["good", "nowhere"], 5, "there is no file"),
        (["good", "bad", "-m", "AP"], 2, "good has no AP"),
        (["good", "bad", "-m", "ap"], 2, "there is no measure 'ap'"),
        (["good", "bad", "--alpha", "2"], 2, "a level of 2.0 is none"),
        (["good", "bad", "--rounds", "5"], 2, "5 draws are too few"),
        (["bad", "--baseline", "good", "--all-pairs"], 2, "a baseline is what all are compared with"),
    ],
)
def test_what_cannot_be_compared_says_so(
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    error: str,
) -> None:
    monkeypatch.chdir(runs)

    assert main(["eval", "compare", *arguments, "--json"]) == code
    assert error in told(capsys)["error"]


def test_a_run_that_was_changed_is_not_compared(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(runs / "bad", tmp_path / "bad")
    hits = tmp_path / "bad" / "hits.jsonl"
    hits.write_text(hits.read_text("utf-8").replace("sea", "sky"), "utf-8")

    assert main(["eval", "compare", str(runs / "good"), str(tmp_path / "bad")]) == 2
    assert "is not as it was written" in capsys.readouterr().err


def test_the_same_seed_prints_the_same_comparison(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for _ in range(2):
        main(["eval", "compare", str(runs / "good"), str(runs / "bad"), "--seed", "5", "--all-pairs"])
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1]
    assert "and all with one another" in printed[0]


def test_a_report_is_written_with_its_pictures(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report"

    assert main(["eval", "report", str(runs / "good"), str(runs / "bad"), "--out", str(out), "--json"]) == 0

    assert told(capsys)["files"] == ["differences.png", "latency.png", "means.png", "recall.png", "report.html"]
    assert sorted(one.name for one in out.iterdir()) == [
        "differences.png",
        "latency.png",
        "means.png",
        "recall.png",
        "report.html",
    ]


def test_a_report_in_portuguese_has_the_title_that_is_asked_for(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"

    main(["eval", "report", str(runs / "good"), "--out", str(out), "--language", "pt", "--title", "Nossa estante"])

    page = (out / "report.html").read_text("utf-8")
    assert capsys.readouterr().out == f"{out / 'report.html'}\n"
    assert "<h1>Nossa estante</h1>" in page
    assert "Qualidade" in page


def test_a_language_that_is_not_written_is_refused(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "report", str(runs / "good"), "--out", str(tmp_path / "r"), "--language", "fr"]) == 2
    assert "Give en or pt." in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_the_group_alone_prints_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval"]) == 0

    printed = capsys.readouterr().out
    assert all(name in printed for name in ("run", "compare", "report", "gen"))
