"""The validator: its report, its command line, and a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from estante.contract import registry
from estante.contract.checks.catalog import ALL, chosen
from estante.contract.checks.junit import junit
from estante.contract.checks.rebuilding import BY_IMPORT, Origin, origin_of
from estante.contract.errors import ContractValueError
from estante.contract.pipeline import RagPipeline
from estante.contract.registry import BuiltinConnector
from estante.contract.specs import ConnectorSpec
from estante.contract.testkit import PERFECT_SPEC, PerfectPipeline, perfect_options
from estante.contract.validate import FAIL, PASS, SKIP, WARN, Check, Report, main, validate_pipeline
from tests.contract.pipelines import Bulk

PERFECT = "estante.contract.testkit:PerfectPipeline"
QUESTION = ["--query", "Who keeps the keys?"]


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> dict[str, ConnectorSpec]:
    """The registry with these connectors alone."""
    specs = {"perfect": PERFECT_SPEC}
    monkeypatch.setattr(registry, "BUILTINS", {})
    monkeypatch.setattr(registry, "_REGISTRY", specs)
    monkeypatch.setattr(registry, "_DISCOVERY_COMPLETE", True)
    return specs


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, whose modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def module(folder: Path, name: str, source: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(source), "utf-8")


def python(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "estante.contract.validate", *arguments],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


# --- the report ---------------------------------------------------------------------------------------------------


def test_the_statuses_are_words_in_capitals() -> None:
    assert (PASS, WARN, FAIL, SKIP) == ("PASS", "WARN", "FAIL", "SKIP")


def test_a_report_that_is_ready_reads_like_this() -> None:
    report = Report("mine:Connector")
    report.add("First", PASS, ["seen", "and seen"])
    report.add("Second", SKIP, ["nothing to see"])
    report.add("Third", WARN, ["odd"], "Mend it.")

    assert report.render().splitlines()[:-4] == [
        "=" * 64,
        "Estante contract validator",
        "Target: mine:Connector",
        "=" * 64,
        "[PASS]  1. First",
        "          seen",
        "          and seen",
        "[skip]  2. Second",
        "          nothing to see",
        "[WARN]  3. Third",
        "          odd",
        "          FIX: Mend it.",
        "-" * 64,
    ]
    assert report.render().splitlines()[-4] == "VERDICT: READY -- 1 passed, 1 warning(s), 0 failures."
    assert report.render().splitlines()[-1] == "=" * 64
    assert report.ready


def test_a_report_that_is_not_ready_says_so() -> None:
    report = Report("x", [Check("One", FAIL, ["wrong"], "Mend."), Check("Two", WARN)])

    assert "VERDICT: NOT READY -- 1 blocking failure(s), 1 warning(s)." in report.render().splitlines()
    assert [check.name for check in report.failures] == ["One"]
    assert [check.name for check in report.warnings] == ["Two"]


def test_rows_are_numbered_by_their_place() -> None:
    report = Report("x", [Check(str(at), PASS) for at in range(12)])

    assert "[PASS]  9. 8" in report.render()
    assert "[PASS] 12. 11" in report.render()


def test_a_remedy_is_shown_where_something_is_to_be_mended() -> None:
    report = Report("x", [Check("One", PASS, [], "Nothing."), Check("Two", SKIP, [], "Nothing.")])

    assert "FIX:" not in report.render()


def test_strictness_lets_a_warning_block() -> None:
    report = Report("x", [Check("One", WARN)], strict=True)

    assert not report.ready
    assert "NOT READY" in report.render()


def test_what_a_terminal_would_obey_is_escaped() -> None:
    report = Report("x", [Check("One", FAIL, ["red \x1b[31m and \ud800", "é 字"])])

    assert "red \\x1b[31m and \\ud800" in report.render()
    assert "é 字" in report.render()


def test_a_detail_of_several_lines_is_indented_whole() -> None:
    assert "          one\n          two" in Report("x", [Check("One", FAIL, ["one\ntwo"])]).render()


def test_a_row_can_be_given_by_position() -> None:
    assert Check("a", PASS, ["b"], "c") == Check(name="a", status=PASS, details=["b"], fix="c")
    assert Check("a", PASS).details is not Check("a", PASS).details


def test_junit_counts_what_blocks() -> None:
    checks = [Check("One & <1>", FAIL, ["a ]]> \x00"], "f", "one"), Check("Two", WARN, ["w"], "f", "two")]
    checks += [Check("Three", SKIP, ["s"], "", "three"), Check("Four", PASS, [], "", "four", 0.5)]

    loose = ElementTree.fromstring(junit(Report('"x"', checks)))[0]
    strict = ElementTree.fromstring(junit(Report("x", checks, strict=True)))[0]

    assert (loose.get("tests"), loose.get("failures"), loose.get("skipped")) == ("4", "1", "1")
    assert strict.get("failures") == "2"
    assert [case.get("name") for case in loose] == ["one", "two", "three", "four"]
    assert loose[3].get("time") == "0.500"


# --- validate_pipeline ----------------------------------------------------------------------------------------------


def test_the_least_pipeline_has_the_rows_of_rag_connector() -> None:
    report = validate_pipeline(Bulk(), target="x", sample_query="bananas", extended=False)

    assert len(report.checks) == 20
    assert report.ready
    assert {check.status for check in report.checks} == {PASS, WARN, SKIP}


def test_the_new_rows_stand_behind_those_of_rag_connector() -> None:
    basic = validate_pipeline(Bulk(), target="x", extended=False)
    whole = validate_pipeline(Bulk(), target="x")

    assert [check.name for check in whole.checks[: len(basic.checks)]] == [check.name for check in basic.checks]
    assert len(whole.checks) > len(basic.checks) + 15


def test_a_pipeline_stays_open_unless_it_is_to_be_closed() -> None:
    closed: list[int] = []

    class Closing(Bulk):
        def close(self) -> None:
            closed.append(1)

    validate_pipeline(Closing(), target="x")
    assert closed == []

    validate_pipeline(Closing(), target="x", close=True, extended=False)
    assert closed == [1]


def test_a_pipeline_is_closed_when_its_corpus_cannot_be_read() -> None:
    closed: list[int] = []

    class Closing(Bulk):
        def pull_all_chunks(self) -> Any:
            raise OSError("gone")

        def close(self) -> None:
            closed.append(1)

    validate_pipeline(Closing(), target="x", close=True)

    assert closed == [1]


def test_one_check_can_be_run_alone_with_what_it_stands_on() -> None:
    pipeline = Bulk()

    report = validate_pipeline(pipeline, target="x", only=["hit-texts", "query-ids"])

    assert [check.id for check in report.checks] == ["query-ids", "hit-texts"]
    assert [check.status for check in report.checks] == [PASS, PASS]
    assert pipeline.pulls == 1


def test_a_check_that_is_left_out_keeps_its_row() -> None:
    report = validate_pipeline(Bulk(), target="x", skip=["info"])

    assert (report.checks[0].status, report.checks[0].details) == (SKIP, ["left out on request"])


def test_a_check_that_there_is_not_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ContractValueError, match="chunk-vectors"):
        validate_pipeline(Bulk(), target="x", only=["chunk-vektors"])


def test_what_stands_on_an_unreadable_corpus_is_skipped_when_run_alone() -> None:
    class Unreadable(Bulk):
        def pull_all_chunks(self) -> Any:
            raise OSError("gone")

    report = validate_pipeline(Unreadable(), target="x", only=["query-ids", "hit-texts", "metadata-json"])

    assert {check.status for check in report.checks if check.id != "corpus-pull"} == {SKIP}


@pytest.mark.parametrize(
    "narrowed", [{"only": ["query-ids"]}, {"skip": ["corpus-pull"]}, {"only": ["info", "hit-texts"]}], ids=str
)
def test_what_others_stand_on_has_its_row_when_it_fails(narrowed: dict[str, Any]) -> None:
    class Unreadable(Bulk):
        def pull_all_chunks(self) -> Any:
            raise OSError("gone")

    report = validate_pipeline(Unreadable(), target="x", **narrowed)

    assert [check.id for check in report.failures] == ["corpus-pull"]
    assert "this check was left out, but others stand on it" in report.failures[0].details
    assert [check.id for check in report.checks] == sorted(
        [check.id for check in report.checks], key=[rule.id for rule in ALL].index
    )


def test_a_search_that_fails_cannot_be_left_out_by_asking_for_what_stands_on_it() -> None:
    class Broken(Bulk):
        def query(self, text: str, top_k: int = 5) -> Any:
            raise OSError("gone")

    report = validate_pipeline(Broken(), target="x", only=["query-ids"])

    assert [check.id for check in report.failures] == ["query-hits"]


def test_what_nothing_stands_on_stays_out() -> None:
    class Unreadable(Bulk):
        def pull_all_chunks(self) -> Any:
            raise OSError("gone")

    report = validate_pipeline(Unreadable(), target="x", only=["info"])

    assert [check.id for check in report.checks] == ["info"]


@pytest.mark.parametrize(
    ("narrowed", "left"),
    [
        ({"only": ["query-ids"]}, 1),
        ({"only": ["datasets"]}, 0),
        ({"skip": ["info"]}, -1),
        ({"skip_stability": True}, -2),
    ],
    ids=str,
)
def test_a_verdict_says_no_more_than_was_examined(narrowed: dict[str, Any], left: int) -> None:
    whole = validate_pipeline(Bulk(), target="x", sample_query="bananas").examined
    report = validate_pipeline(Bulk(), target="x", sample_query="bananas", **narrowed)

    examined = left if left >= 0 else whole + left
    assert f"VERDICT: READY as far as examined: {examined} of {len(chosen())} checks -- " in report.render()
    assert "publish" not in report.render()
    assert report.to_dict()["left_out_of"] == len(chosen())


def test_a_whole_run_is_not_said_to_be_part_of_one() -> None:
    report = validate_pipeline(Bulk(), target="x", sample_query="bananas")

    assert "as far as" not in report.render()
    assert report.to_dict()["left_out_of"] == 0


def test_every_row_has_its_id_and_its_time() -> None:
    report = validate_pipeline(Bulk(), target="x")

    assert all(check.id and check.seconds is not None for check in report.checks)


# --- a fresh process ------------------------------------------------------------------------------------------------


def test_ids_that_rest_on_the_hash_of_a_process_are_found(here: Path) -> None:
    module(
        here,
        "hashing",
        """
        from tests.contract.pipelines import Bulk, records

        class Hashing(Bulk):
            def pull_all_chunks(self):
                found = records()
                for one in found:
                    one.chunk_id = str(hash(one.text))
                return found

            def query(self, text, top_k=5):
                found = super().query(text, top_k)
                for hit in found:
                    hit.chunk_id = str(hash(hit.text))
                return found
        """,
    )
    sys.path.append(str(here))
    from hashing import Hashing  # type: ignore[import-not-found]

    origin = Origin(BY_IMPORT, "hashing:Hashing", {})
    report = validate_pipeline(Hashing(), target="x", origin=origin, only=["fresh-process"])

    assert report.checks[0].status == FAIL
    assert "ids of its hits are not in the corpus" in report.checks[0].details[0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("raise ImportError('not here')", "ImportError: not here"),
        ("def make(**given): raise KeyError('endpoint')", "KeyError: 'endpoint'"),
        ("import os\ndef make(**given): os._exit(3)", "the process ended with 3"),
    ],
)
def test_what_goes_wrong_in_a_fresh_process_is_told(here: Path, source: str, told: str) -> None:
    module(here, "making", source)
    sys.path.append(str(here))

    origin = Origin(BY_IMPORT, "making:make", {})
    report = validate_pipeline(Bulk(), target="x", origin=origin, only=["fresh-process"])

    assert report.checks[0].status == FAIL
    assert told in report.checks[0].details[0]


def test_a_fresh_process_that_hangs_is_ended(here: Path) -> None:
    module(here, "hanging", "import time\ndef make(**given): time.sleep(60)")
    sys.path.append(str(here))

    origin = Origin(BY_IMPORT, "hanging:make", {})
    report = validate_pipeline(Bulk(), target="x", origin=origin, only=["fresh-process"], timeout=0.5)

    assert "timed out: the process did not end within 0.4 s" in report.checks[0].details[0]


def test_what_a_connector_prints_is_not_taken_for_its_answer(here: Path) -> None:
    module(
        here, "loud", "from tests.contract.pipelines import Bulk\nprint('{}')\nclass Loud(Bulk):\n    print('[1]')\n"
    )
    sys.path.append(str(here))

    report = validate_pipeline(Bulk(), target="x", origin=Origin(BY_IMPORT, "loud:Loud", {}), only=["fresh-process"])

    assert report.checks[0].status == PASS


def test_a_build_that_no_process_can_import_is_told() -> None:
    spec = ConnectorSpec("t", "l", "d", build=lambda connection: Bulk())

    assert origin_of(spec, {}) is None
    assert origin_of(PERFECT_SPEC, {}) == Origin("build", "estante.contract.testkit.perfect:build_perfect", {})


# --- the command line -----------------------------------------------------------------------------------------------


def test_a_pipeline_that_is_ready_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--import", PERFECT, *QUESTION, "--strict", "--security"])

    assert "VERDICT: READY" in capsys.readouterr().out
    assert code == 0


def test_a_pipeline_that_is_not_ready_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--import", "estante.contract.testkit.faults:TwoNamesPipeline", *QUESTION])

    assert code == 1
    assert "NOT READY" in capsys.readouterr().out


def test_strictness_changes_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    warned = ["--import", "tests.contract.pipelines:Bulk", "--basic"]

    assert main(warned) == 0
    assert main([*warned, "--strict"]) == 1


def test_arguments_of_the_class_are_given_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--import", "tests.contract.pipelines:Bulk", "--kwargs", '{"endpoint": "x"}', "--basic"]) == 0


def test_the_rows_of_rag_connector_can_be_had_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--import", "tests.contract.pipelines:Bulk", "--query", "x", "--basic", "--json"])

    assert len(json.loads(capsys.readouterr().out)["checks"]) == 20


def test_json_is_all_that_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module(here, "noisy", "from tests.contract.pipelines import Bulk\nprint('loading')\nclass Noisy(Bulk): pass\n")

    main(["--import", "noisy:Noisy", "--json", "--only", "info,corpus-pull"])

    told = capsys.readouterr()
    report = json.loads(told.out)
    assert [check["id"] for check in report["checks"]] == ["info", "corpus-pull"]
    assert (report["ready"], report["passed"], report["warnings"]) == (True, 1, 1)
    assert "loading" in told.err


def test_a_report_is_also_written_as_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--import", "tests.contract.pipelines:Bulk", "--junit", str(tmp_path / "report.xml")])

    suite = ElementTree.parse(tmp_path / "report.xml").getroot()[0]
    assert suite.get("name") == "tests.contract.pipelines:Bulk"
    assert "VERDICT" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_refused_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--import", "nowhere:Nothing", "--junit", "/nowhere/report.xml"])

    assert code == 2
    assert "/nowhere/report.xml cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--import", "a:b", "--connector-type", "c"], ["--timeout", "-1"]])
def test_arguments_that_cannot_be_used_end_with_2(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(arguments)

    assert ending.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--import", PERFECT, "--params", "{}"], "--params goes with --connector-type"),
        (["--connector-type", "perfect", "--kwargs", "{}"], "--kwargs goes with --import"),
        (["--import", PERFECT, "--top-k", "0"], "--top-k is 0"),
        (["--import", PERFECT, "--top-k", "-3"], "--top-k is -3"),
        (["--connector-type", "perfect", "--params", '{"a": 1, "a": 2}'], "--params: the name 'a' is given twice"),
        (["--import", PERFECT, "--kwargs", '{"b": {"a": 1, "a": 1}}'], "--kwargs: the name 'a' is given twice"),
    ],
)
def test_what_could_not_have_its_effect_is_refused(
    arguments: Sequence[str], told: str, types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.out == ""


def test_a_connector_that_is_published_is_told_to_be_stored(
    types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--connector-type", "perfect", *QUESTION, "--basic"]) == 0

    told = capsys.readouterr().out
    assert "Next: store its connection: estante connect perfect ... --save FILE" in told
    assert "publish" not in told


def test_what_only_looks_like_a_pipeline_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module(here, "looks", "class RagPipeline: pass\n\nclass Looks(RagPipeline): pass\n")

    assert main(["--import", "looks:Looks"]) == 2
    assert "has no query()" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("ParamsError('these parameters cannot be used')", "Run: estante connectors failing"),
        ("ConnectorRegistrationError('there is no such folder')", "Run: estante connectors failing"),
        ("ConnectorOperationalError('no answer')", "See that what stands behind it answers"),
    ],
)
def test_the_hint_is_that_of_the_error(
    error: str, hint: str, types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    from estante.contract import errors, params

    def connect(given: dict[str, Any]) -> Any:
        raise eval(error, {**vars(errors), **vars(params)})

    types["failing"] = ConnectorSpec("failing", "F", "f", build=lambda document: Bulk(), connect=connect)

    assert main(["--connector-type", "failing"]) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("nowhere.at.all:Nothing", "Check the name and the folder"),
        ("json:nothing", "Check the name behind the colon"),
        ("json:JSONDecodeError", "Check what is given to it (--kwargs)"),
    ],
)
def test_the_hint_about_a_target_is_that_of_the_error(
    target: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--import", target]) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("target", ["json", ":dumps", "json:"])
def test_a_target_that_is_no_attribute_ends_with_a_message(target: str) -> None:
    with pytest.raises(SystemExit, match="no module and attribute"):
        main(["--import", target])


def test_a_target_that_makes_no_pipeline_ends_with_a_message() -> None:
    with pytest.raises(SystemExit, match="gave str, which is no RagPipeline"):
        main(["--import", "json:dumps", "--kwargs", '{"obj": 1}'])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--import", "no_such_module:x"], "ModuleNotFoundError: No module named 'no_such_module'"),
        (["--import", "json:nothing"], "AttributeError"),
        (["--import", "json:dumps", "--kwargs", "{"], "JSONDecodeError"),
        (["--import", "json:dumps", "--kwargs", "[]"], "TypeError"),
        (["--import", PERFECT, "--only", "nothing"], "there is no check 'nothing'"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_ends_with_2(
    arguments: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(arguments)

    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert told in printed.err


def test_a_secret_among_the_arguments_is_never_told(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--import", "json:dumps", "--kwargs", '{"password": "hunter2-not-real"'])

    assert "hunter2" not in "".join(capsys.readouterr())


def test_the_program_names_itself_as_it_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--import", "no_such_module:x"], prog="estante validate")

    assert capsys.readouterr().err.startswith("estante validate: ")


# --- registered connectors ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("types", "here")
def test_a_registered_connector_is_bound_from_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--connector-type", "perfect", "--params", "{}", *QUESTION, "--skip", "fresh-process"])

    printed = capsys.readouterr()
    assert code == 0
    assert "build(connection) reconstructs the connector" in printed.out
    assert "Connection dict is persistable" in printed.out


@pytest.mark.usefixtures("types", "here")
def test_a_type_that_nobody_registered_is_no_pipeline_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--connector-type", "perfekt"])

    printed = capsys.readouterr()
    assert code == 1
    assert printed.out == ""
    assert "no such connector: 'perfekt' is not registered. Registered types: perfect." in printed.err


@pytest.mark.usefixtures("here")
def test_a_connector_that_only_builds_is_sent_to_its_class(
    types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    types["built"] = ConnectorSpec("built", "Built", "Built only.", build=lambda connection: Bulk())

    assert main(["--connector-type", "built"]) == 1
    assert "--import" in capsys.readouterr().err


@pytest.mark.usefixtures("here", "types")
def test_a_connector_that_is_broken_is_not_said_to_be_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "BUILTINS", {"torn": BuiltinConnector("no_such_module:SPEC")})

    assert main(["--connector-type", "torn"]) == 2
    assert "cannot be loaded" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_connector_that_fails_to_connect_ends_with_2(
    types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
        raise ValueError("collection is required")

    types["picky"] = ConnectorSpec("picky", "Picky", "d", build=lambda connection: Bulk(), connect=connect)

    assert main(["--connector-type", "picky"]) == 2
    assert "ValueError: collection is required" in capsys.readouterr().err


@pytest.mark.usefixtures("types")
def test_variables_of_the_folder_are_loaded_for_registered_connectors(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module(here, "dotenv", "def load_dotenv(path): seen.append(path)\nseen = []\n")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setitem(sys.modules, "dotenv", None)
    monkeypatch.delitem(sys.modules, "dotenv")  # Another test may have loaded the real one; it comes back after this.
    (here / ".env").write_text("A=1\n", "utf-8")

    main(["--connector-type", "perfect", "--only", "info"])

    loaded = sys.modules["dotenv"].seen
    assert loaded == [here / ".env"]
    assert "dotenv" not in capsys.readouterr().err


@pytest.mark.usefixtures("types")
def test_variables_that_cannot_be_loaded_are_told(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dotenv", None)
    (here / ".env").write_text("A=1\n", "utf-8")

    code = main(["--connector-type", "perfect", "--only", "info"])

    assert "python-dotenv is not installed" in capsys.readouterr().err
    assert code == 0


@pytest.mark.usefixtures("types")
def test_a_class_is_examined_without_the_variables_of_the_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dotenv", None)
    (here / ".env").write_text("A=1\n", "utf-8")

    main(["--import", PERFECT, "--only", "info"])

    assert "dotenv" not in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_variables_that_parameters_name_are_looked_up_where_the_caller_says(
    types: dict[str, ConnectorSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[dict[str, Any]] = []

    def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
        given.append(params)
        return Bulk(), {}

    params = [{"name": "place", "type": "string", "required": True, "env": "PLACE"}]
    types["placed"] = ConnectorSpec("placed", "P", "d", build=lambda c: Bulk(), connect=connect, params=params)

    assert main(["--connector-type", "placed", "--only", "info"], environ={"PLACE": "here"}) == 0
    assert given == [{"place": "here"}]


# --- as a program ---------------------------------------------------------------------------------------------------


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    done = python("--import", PERFECT, *QUESTION, cwd=tmp_path)

    assert "VERDICT: READY" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_encoding_costs_no_report(tmp_path: Path) -> None:
    module(
        tmp_path,
        "wide",
        """
        from tests.contract.pipelines import Bulk

        class Wide(Bulk):
            def query(self, text, top_k=5):
                raise ValueError("ação 字")
        """,
    )

    done = python(
        "--import", "wide:Wide", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONPATH=str(Path(__file__).parents[2])
    )

    assert done.returncode == 1
    assert "VERDICT: NOT READY" in done.stdout


def test_a_thread_that_hangs_keeps_the_program_from_nothing(tmp_path: Path) -> None:
    module(
        tmp_path,
        "pooled",
        """
        import time
        from concurrent.futures import ThreadPoolExecutor
        from tests.contract.pipelines import Bulk

        class Pooled(Bulk):
            def query(self, text, top_k=5):
                return ThreadPoolExecutor().submit(time.sleep, 600).result()
        """,
    )

    done = python(
        "--import", "pooled:Pooled", "--timeout", "1", cwd=tmp_path, PYTHONPATH=str(Path(__file__).parents[2])
    )

    assert done.returncode == 1
    assert "timed out after 1 s in query()" in done.stdout


def test_options_of_the_perfect_pipeline_are_made_anew() -> None:
    assert perfect_options() == perfect_options()
    assert perfect_options()["connection"] is not perfect_options()["connection"]
    assert PerfectPipeline().shelf is not PerfectPipeline().shelf
