"""The commands ``eval run`` and ``eval gen``, through the real door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import estante
from estante.evaluate import trec
from estante.evaluate.keeping import RUN, read
from estante.serve.cli.main import main
from tests.evaluate.subjects import TEXTS
from tests.serve.adapters.notes import BEST, QUESTION

WORDS = ["--import", "tests.evaluate.subjects:WordsPipeline"]
FAILING = ["--import", "tests.evaluate.subjects:FailingPipeline"]


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    """A folder of BEIR with three texts and three questions."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    rows: list[dict[str, str]] = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    _write(folder / "corpus.jsonl", rows)
    asked = {
        "q1": "Who has the keys of the lamp room?",
        "q2": "When is the fog horn sounded?",
        "q3": "Where do sheep graze?",
    }
    _write(folder / "queries.jsonl", [{"_id": name, "text": text} for name, text in asked.items()])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tsea\t1\nq2\tsky\t1\nq3\tland\t1\n", "utf-8")
    return folder


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


# --- what is measured -------------------------------------------------------------------------------------------------


def test_one_command_measures_a_collection_from_nothing(harbour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run", str(harbour), "--build", "-m", "nDCG@10,R@5", "-m", "RR", "--json"]) == 0

    found = told(capsys)
    assert found["measures"] == {"nDCG@10": 1.0, "R@5": 1.0, "RR": 1.0}
    assert found["counts"]["questions"] == 3
    assert found["settings"]["built"]["chunks"] == 3
    assert found["pipeline"]["info"]["connector_type"] == "estante"
    assert found["speed"]["calls"] == 4


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_a_bookcase_is_built_in_the_mode_that_is_asked_for(
    harbour: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    main(["eval", "run", str(harbour), "--build", "--mode", mode, "--json"])

    assert told(capsys)["pipeline"]["snapshot"]["settings"]["mode"] == mode


def test_what_is_built_can_stay_and_be_measured_again(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path / "case")
    assert main(["eval", "run", str(harbour), "--build", "--bookcase", home, "--json"]) == 0
    built = told(capsys)

    assert main(["eval", "run", str(harbour), "--bookcase", home, "--json"]) == 0

    assert told(capsys)["measures"] == built["measures"]
    assert main(["eval", "run", str(harbour), "--build", "--bookcase", home]) == 2


def test_a_temporary_bookcase_is_gone_behind_the_command(
    harbour: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))

    main(["eval", "run", str(harbour), "--build"])

    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_is_built_can_be_cut_otherwise(harbour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--chunk-size", "30", "--chunk-overlap", "5"]

    assert main(["eval", "run", str(harbour), "--build", "--chunker", "windows", *size, "--json"]) == 0

    built = told(capsys)["settings"]["built"]
    assert built["chunks"] > 3
    assert built["chunker"].startswith("windows")


def test_any_pipeline_is_measured_by_the_same_path(harbour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "run", str(harbour), *WORDS, "-m", "R@5", "--json"]) == 0

    assert told(capsys)["measures"] == {"R@5": 1.0}


def test_a_connector_and_its_saved_connection_measure_alike(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "case"
    with estante.create(home) as case:
        case.add(TEXTS, readers=["*"])
    params = json.dumps({"path": str(home)})
    assert main(["connect", "estante", "--params", params, "--save", str(tmp_path / "saved.json")]) == 0
    capsys.readouterr()

    assert main(["eval", "run", str(harbour), "--connector-type", "estante", "--params", params, "--json"]) == 0
    mine = told(capsys)
    assert main(["eval", "run", str(harbour), "--connection", str(tmp_path / "saved.json"), "--json"]) == 0

    assert told(capsys)["measures"] == mine["measures"]


@pytest.mark.filterwarnings("ignore:builtin type [sS]wig.*:DeprecationWarning")
@pytest.mark.parametrize(("kind", "made"), [("langchain", "memory"), ("haystack", "by_words"), ("llamaindex", "index")])
def test_what_people_have_is_measured_through_its_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, made: str
) -> None:
    _write(tmp_path / "asked.jsonl", [{"question": QUESTION, "relevant": [BEST]}])
    params = json.dumps({"object": f"tests.serve.adapters.{kind}_makers:{made}"})
    chosen = ["--connector-type", kind, "--params", params, "--by", "chunk"]

    assert main(["eval", "run", str(tmp_path / "asked.jsonl"), *chosen, "-m", "R@5", "--json"]) == 0

    found = told(capsys)
    assert found["measures"] == {"R@5": 1.0}
    assert found["counts"]["judged_absent"] == 0


def test_a_run_file_of_another_program_is_measured(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.run").write_text("q1 Q0 land 1 9 t\nq1 Q0 sea 2 8 t\n", "utf-8")

    assert main(["eval", "run", str(harbour), "--run-file", str(tmp_path / "theirs.run"), "-m", "RR", "--json"]) == 0

    found = told(capsys)
    assert found["measures"]["RR"] == pytest.approx(0.5 / 3)
    assert (found["counts"]["without_results"], found["speed"]) == (2, None)


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_question_that_the_pipeline_fails_at_is_an_error_and_the_exit_code_says_so(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["eval", "run", str(harbour), *FAILING, "-m", "R@5", "--out", str(tmp_path / "run")])

    printed = capsys.readouterr()
    assert code == 1
    assert "R@5         0.6667" in printed.out
    assert "warning: 1 question failed in the pipeline and counts 0" in printed.err
    assert "warning: question q2: ConnectorOperationalError: the back end did not answer" in printed.err
    assert [row.error is None for row in read(tmp_path / "run").results.rows] == [True, False, True]


def test_errors_are_told_in_json_apart_from_empty_results(harbour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "run", str(harbour), *FAILING, "--json"])

    found = told(capsys)
    assert [one["question"] for one in found["errors"]] == ["q2"]
    assert found["counts"]["without_results"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "error", "hint"),
    [
        (["--build", "-m", "ndcg@10"], 2, "there is no measure 'ndcg'", "Did you mean nDCG@10?"),
        (["--build", "-m", "SpanR@5"], 2, "SpanR@5 needs gold spans", "Leave SpanR@5 out"),
        ([], 2, "say what is measured, in one way", "--build"),
        (["--build", *WORDS], 2, "say what is measured, in one way", "--import"),
        (["--build", "--run-file", "x"], 2, "say what is measured, in one way", ""),
        ([*WORDS, "--mode", "dense"], 2, "--mode says something of a bookcase", "--bookcase"),
        (["--build", "--asker", "owner"], 2, "what is built is read by its owner", ""),
        (["--bookcase", "x", "--chunker", "windows"], 2, "cut already", "--build"),
        (["--build", "--by", "page"], 2, "--by 'page' is nothing that is judged", "document, chunk, source"),
        (["--build", "--limit", "0"], 2, "--limit 0 leaves no question", ""),
        (["--build", "--top-k", "0"], 2, "--top-k 0 asks for no hit", ""),
        (["--connector-type", "nothing"], 2, "connector 'nothing' is not registered", "Registered"),
        (["--connection", "nowhere.json"], 5, "there is no file nowhere.json", "estante connect"),
        (["--run-file", "nowhere.run"], 5, "there is no file nowhere.run", "Check the path."),
        (["--build", "--qrels", "nowhere.tsv"], 5, "there is no file nowhere.tsv", "Check the path."),
        (["--build", "--split", "dev"], 5, "there are no judgements", "qrels/test.tsv"),
        (["--build", "--chunker", "scissors"], 2, "scissors", ""),
    ],
)
def test_a_call_that_cannot_be_used_says_what_to_do(
    harbour: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, error: str, hint: str
) -> None:
    assert main(["eval", "run", str(harbour), *arguments, "--json"]) == code

    found = told(capsys)
    assert error in found["error"]
    assert hint in found["hint"]


def test_a_folder_that_is_taken_stops_before_anything_is_asked(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x", "utf-8")

    assert main(["eval", "run", str(harbour), *WORDS, "--out", str(tmp_path / "out")]) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_bookcase_that_shows_its_asker_nothing_is_not_measured(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add(TEXTS)

    assert main(["eval", "run", str(harbour), "--bookcase", str(tmp_path / "case")]) == 5
    assert "--asker owner" in capsys.readouterr().err
    assert main(["eval", "run", str(harbour), "--bookcase", str(tmp_path / "case"), "--asker", "owner"]) == 0


def test_what_a_pipeline_prints_is_no_result(harbour: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "run", str(harbour), "--import", f"{__name__}:Chatty", "--json"])

    assert told(capsys)["counts"]["questions"] == 3


class Chatty:
    """Made to print."""

    def __new__(cls) -> Any:
        """A pipeline of words, with noise."""
        from tests.evaluate.subjects import WordsPipeline

        print("loading, please wait")
        return WordsPipeline()


# --- keeping ----------------------------------------------------------------------------------------------------------


def test_a_run_that_is_kept_holds_what_was_told(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["eval", "run", str(harbour), *WORDS, "--limit", "2", "--out", str(tmp_path / "first"), "--json"])

    found, kept = told(capsys), read(tmp_path / "first")
    assert found["measures"] == {str(measure): value for measure, value in kept.results.means().items()}
    assert kept.results.name == "first"
    assert kept.results.settings["limit"] == 2
    assert len(kept.questions) == 2


def test_a_run_of_trec_goes_out_and_comes_in(harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "run", str(harbour), "--build", "-m", "nDCG@10", "--out", str(tmp_path / "first"), "--json"])
    mine = told(capsys)["measures"]

    main(["eval", "run", str(harbour), "--run-file", str(tmp_path / "first" / RUN), "-m", "nDCG@10", "--json"])

    assert told(capsys)["measures"] == mine


def test_questions_that_nobody_judged_count_and_can_be_left_out(
    harbour: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (harbour / "qrels.tsv").write_text("q1\tsea\t1\n", "utf-8")

    main(["eval", "run", str(harbour), *WORDS, "-m", "RR"])
    counted = capsys.readouterr()
    main(["eval", "run", str(harbour), *WORDS, "-m", "RR", "--leave-out-unjudged"])
    left = capsys.readouterr()

    assert "RR          0.3333" in counted.out
    assert "2 questions without judgements count 0; --leave-out-unjudged leaves them out" in counted.err
    assert "RR          1.0000" in left.out
    assert "2 questions of another part, or without judgements, left out" in left.err


def test_topics_and_judgements_of_trec_measure_a_built_bookcase(
    harbour: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topics.tsv").write_text("7\tWho has the keys of the lamp room?\n", "utf-8")
    (tmp_path / "qrels.txt").write_text("7 0 sea 1\n", "utf-8")
    files = ["--qrels", str(tmp_path / "qrels.txt"), "--corpus", str(harbour / "corpus.jsonl")]

    assert main(["eval", "run", str(tmp_path / "topics.tsv"), *files, "--build", "-m", "RR", "--json"]) == 0
    assert told(capsys)["measures"] == {"RR": 1.0}


# --- questions for a bookcase -----------------------------------------------------------------------------------------


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A bookcase with two shared documents and one of its owner's."""
    home = tmp_path / "case"
    pages = {
        "leave": "# Annual leave days\n\nThirty days.\n\n## Scope and purpose\n\nEveryone.\n",
        "travel": "# Travel expenses paid\n\n## Scope and purpose\n\nTrips.\n",
    }
    with estante.create(home) as case:
        case.add(pages, readers=["*"], format="markdown")
        case.add({"secret": "# Merger with Acme Corporation\n\nNobody may know.\n"}, format="markdown")
    return home


def test_questions_are_made_of_what_the_asker_may_read_and_of_nothing_else(
    shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "gen", str(shelf), "--out", str(tmp_path / "made"), "--json"]) == 0

    assert told(capsys) == {
        "out": str(tmp_path / "made"),
        "questions": 2,
        "documents": 2,
        "left_out": {"repeated": 1, "short": 0, "unchosen": 0, "unwritable": 0},
    }
    for path in (tmp_path / "made").rglob("*.*"):
        text = path.read_text("utf-8")
        assert "Acme" not in text
        assert "secret" not in text


def test_the_owner_gets_questions_of_everything(
    shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["eval", "gen", str(shelf), "--out", str(tmp_path / "made"), "--asker", "owner", "--json"])

    assert told(capsys)["questions"] == 3
    assert "Merger with Acme Corporation" in (tmp_path / "made" / "queries.jsonl").read_text("utf-8")


def test_what_is_made_can_be_measured(shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "gen", str(shelf), "--out", str(tmp_path / "made")])
    capsys.readouterr()

    assert main(["eval", "run", str(tmp_path / "made"), "--bookcase", str(shelf), "-m", "R@5", "--json"]) == 0

    found = told(capsys)
    assert found["measures"] == {"R@5": 1.0}
    assert found["counts"]["judged_absent"] == 0


def test_the_same_shelf_and_seed_make_the_same_bytes(shelf: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["eval", "gen", str(shelf), "--out", str(tmp_path / name), "--questions", "1", "--seed", "4"]) == 0

    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    assert len(files) == 3
    assert all((tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes() for file in files)


def test_what_was_left_out_is_told(shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["eval", "gen", str(shelf), "--out", str(tmp_path / "made"), "--questions", "1"])

    printed = capsys.readouterr().out
    assert printed.startswith("1 question of 2 documents in ")
    assert "  1 titles and headings left out: they stand in more than one document" in printed
    assert "  1 left out by --questions" in printed


def test_a_shelf_that_shows_its_asker_nothing_makes_no_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with estante.create(tmp_path / "case") as case:
        case.add({"secret": "# Merger with Acme\n\nNobody.\n"}, format="markdown")

    assert main(["eval", "gen", str(tmp_path / "case"), "--out", str(tmp_path / "made")]) == 5
    assert not (tmp_path / "made").exists()
    assert "Acme" not in capsys.readouterr().err


# --- real collections -------------------------------------------------------------------------------------------------


def test_a_real_collection_is_measured_from_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(data / "eval" / "faquad")

    assert main(["eval", "run", place, "--build", "--limit", "40", "-m", "nDCG@10", "--top-k", "30", "--json"]) == 0

    found = told(capsys)
    assert found["measures"]["nDCG@10"] > 0.85
    assert found["counts"]["judged_absent"] == 0
    assert found["collection"]["documents"] == 249


def test_real_gold_spans_are_all_found_by_enough_passages(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(data / "eval" / "chunk-eval")

    assert main(["eval", "run", place, "--build", "--limit", "40", "-m", "SpanR@1,SpanR@20,SpanP@1", "--json"]) == 0

    found = told(capsys)
    assert found["measures"]["SpanR@20"] > 0.95
    assert found["measures"]["SpanR@20"] > found["measures"]["SpanR@1"] > found["measures"]["SpanP@1"] > 0
    assert found["counts"]["hits_without_place"] == 0


def test_every_gold_span_of_the_real_collection_is_read(data: Path) -> None:
    from estante.evaluate.formats import Files, load

    found = load(Files(place=data / "eval" / "chunk-eval"))

    wholes = {one.id: one.whole for one in found.sources or ()}
    spans = [span for one in found.questions for span in one.gold]
    assert (len(found.questions), len(spans)) == (472, 790)
    assert all(len(wholes[span.document]) >= span.end for span in spans)


def test_a_run_of_a_bookcase_has_the_same_ranking_as_its_search(harbour: Path, tmp_path: Path) -> None:
    main(["eval", "run", str(harbour), "--build", "--bookcase", str(tmp_path / "case"), "--out", str(tmp_path / "run")])

    with estante.open(tmp_path / "case") as case:
        expected = [hit.document_id for hit in case.search("Where do sheep graze?", k=10)]
    assert [name for name, _ in trec.run(tmp_path / "run" / RUN)["q3"]] == list(dict.fromkeys(expected))
