"""How arguments are read, and what becomes of every way to fail."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from estante.model.asking import Condition, Every
from estante.model.errors import LockedShelf, NotFound, QueryError, SettingsError
from estante.model.ports import Outcome, Skipped
from estante.serve.cli import main as door
from estante.serve.cli.calls import Call
from estante.serve.cli.filling import readers_of, report, summary
from estante.serve.cli.finding import count_of, missing_fields, question_of, split_place, where_of
from estante.serve.cli.main import COMMANDS, CONFIG, DATASET, MODELS, Terminated, build, main
from estante.serve.cli.output import Output

NAMES = [
    *([name] for name, _ in COMMANDS),
    *(["config", name] for name, _ in CONFIG),
    *(["dataset", name] for name, _ in DATASET),
    *(["models", name] for name, _ in MODELS),
]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder without a bookcase, and an environment that says nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ESTANTE_HOME", raising=False)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes ``estante status`` raise what is given."""

    def arrange(error: BaseException) -> None:
        def status(call: Call) -> None:
            """Fails."""
            raise error

        monkeypatch.setattr(door, "COMMANDS", (("status", status), ("ls", status)))

    return arrange


# --- arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_every_command_explains_itself_with_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0

    found = capsys.readouterr()
    assert f"Usage: estante {' '.join(words)} " in found.out
    assert f"Example: estante {' '.join(words)}" in found.out
    assert found.err == ""


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_every_command_has_the_common_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*words, "-h"])

    told = capsys.readouterr().out
    for option in ("--json", "-q, --quiet", "-v, --verbose", "--home DIR", "-h, --help"):
        assert option in told


def test_a_call_without_a_command_gets_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Usage: estante [OPTIONS] COMMAND" in capsys.readouterr().out
    assert main(["config"]) == 0
    assert "Usage: estante config" in capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("estante 0.")
    assert main(["--version", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"version"}


def test_the_list_of_commands_cuts_no_summary(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])

    told = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in told] == [
        *(name for name, _ in COMMANDS),
        "config",
        "dataset",
        "eval",
        "models",
    ]
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= 80 for line in told)


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_help_names_arguments_as_they_are_typed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*words, "--help"])

    assert not re.search(r"<\w|[{}]", capsys.readouterr().out)


def test_config_gives_its_settings_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json"]) == 0
    short = json.loads(capsys.readouterr().out)
    assert main(["config", "show", "--json"]) == 0

    assert short == json.loads(capsys.readouterr().out)
    assert short[0]["origin"] == "the current folder"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serch", "x"], "Did you mean 'search'?"),
        (["search"], "missing argument 'QUERY'"),
        (["search", "x", "--limit", "3"], "no such option: --limit"),
        (["show", "x", "y"], "unexpected extra argument"),
        (["ls", "--where"], "--where"),
        (["add"], "missing argument 'PATH"),
    ],
)
def test_a_call_that_is_wrong_ends_with_2_and_a_hint(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2

    found = capsys.readouterr()
    assert told in found.err
    assert "hint: Run: estante" in found.err
    assert found.out == ""


def test_a_call_that_is_wrong_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--json"]) == 2

    found = capsys.readouterr()
    assert json.loads(found.out) == {"error": "missing argument 'QUERY'", "hint": "Run: estante search --help"}
    assert found.err == ""


def test_an_option_may_stand_before_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--json", "--home", str(tmp_path / "a"), "ls"]) == 5

    assert str(tmp_path / "a") in json.loads(capsys.readouterr().out)["error"]


def test_without_a_bookcase_the_way_to_one_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["ls"]) == 5

    assert capsys.readouterr().err == (
        f"error: there is no bookcase in {tmp_path} or above it\n"
        "hint: Make one with: estante init, or say where it is: --home DIR\n"
    )


def test_the_environment_names_the_bookcase(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ESTANTE_HOME", str(tmp_path / "named"))

    assert main(["ls"]) == 5
    assert str(tmp_path / "named") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("leis/a.md", ("leis/a.md", 0, None)),
        ("leis/a.md:0-10", ("leis/a.md", 0, 10)),
        ("ata: reunião 3-4", ("ata: reunião 3-4", 0, None)),
        ("ata: 2 de maio:10-20", ("ata: 2 de maio", 10, 20)),
        ("a:1-2:3-4", ("a:1-2", 3, 4)),
        ("a:1-", ("a:1-", 0, None)),
        (":1-2", (":1-2", 0, None)),
    ],
)
def test_only_a_final_range_is_a_range(typed: str, meant: tuple[str, int, int | None]) -> None:
    assert split_place(typed) == meant


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(QueryError, match="ends before it begins"):
        split_place("a:9-3")


def test_all_filters_must_hold() -> None:
    year, kind = Condition("year", "$gte", 2020), Condition("kind", "$eq", "law")

    assert where_of(None) is where_of([]) is None
    assert where_of(['{"year": {"$gte": 2020}}']) == year
    assert where_of(["kind=law"]) == kind
    assert where_of(['{"year": {"$gte": 2020}}', "kind=law"]) == Every((year, kind))


def test_a_filter_that_a_shell_took_apart_is_to_be_quoted() -> None:
    with pytest.raises(QueryError, match="cannot read the filter 'year'") as caught:
        where_of(["year"])

    assert caught.value.hint == 'In a shell, quote it: --where "year>=2020"'


def test_a_field_that_no_document_has_is_told_with_the_nearest_that_there_are() -> None:
    records = [{"tags": ["rh"], "ano": 2024}, {"office": {"name": "SETIN"}}]

    assert missing_fields(where_of(["tagz=rh"]), records) == [
        "no document has a field 'tagz'; there are: tags, ano, office"
    ]
    assert missing_fields(where_of(["tags=rh", "office.name=x", "@language=pt"]), records) == []
    assert missing_fields(where_of(["a=1", '{"$not": {"a": 2}}']), [{}]) == [
        "no document has a field 'a'; there are none"
    ]
    assert missing_fields(where_of(["a=1"]), []) == []
    assert missing_fields(where_of(["'a.b'=1", "'@x'=1", "@heading=A"]), [{"a.b": 1}, {"@x": 1}]) == []


def test_of_many_fields_the_nearest_eight_are_told() -> None:
    [told] = missing_fields(where_of(["x9=1"]), [{f"x{number:02}": 1 for number in range(12)}])

    assert told.startswith("no document has a field 'x9'; there are: x09, ")
    assert told.endswith(", ...")
    assert told.count("x") == 9


def test_a_question_without_quotes_is_told_with_the_very_command() -> None:
    with pytest.raises(QueryError, match="must be one") as caught:
        question_of(["quantos", "dias", 'de "férias"'], [("-k", "3"), ("--mode", None), ("--where", "year>=2020")])

    command = 'estante search "quantos dias de \\"férias\\"" -k 3 --where "year>=2020"'
    assert caught.value.hint == f"Put it in quotes: {command}"
    assert question_of(["quantos dias"]) == "quantos dias"


@pytest.mark.parametrize("k", ["0", "-1", "10001", "99999", "dez", "1.5", ""])
def test_a_number_of_passages_that_is_none_is_told_with_its_bounds(k: str) -> None:
    with pytest.raises(QueryError, match="-k takes a whole number from 1 to 10,000") as caught:
        count_of(k)

    assert caught.value.hint == "For example: -k 5"


def test_a_number_of_passages_is_read_or_left_to_the_settings() -> None:
    assert (count_of("7"), count_of("10000"), count_of(None)) == (7, 10_000, None)


def test_readers_are_everyone_some_or_not_said() -> None:
    assert readers_of(True, None) == ["*"]
    assert readers_of(False, None) is None
    assert readers_of(False, " finance, board,") == ["finance", "board"]
    assert readers_of(False, None, private=True) == []


@pytest.mark.parametrize(("shared", "readers"), [(True, "finance"), (False, ""), (False, ","), (False, "*,a")])
def test_readers_that_contradict_are_refused(shared: bool, readers: str) -> None:
    with pytest.raises(SettingsError):
        readers_of(shared, readers)


@pytest.mark.parametrize(("shared", "readers"), [(True, None), (False, "finance"), (True, "finance")])
def test_private_excludes_every_other_word_about_readers(shared: bool, readers: str | None) -> None:
    with pytest.raises(SettingsError, match=r"--private.* exclude each other"):
        readers_of(shared, readers, private=True)


def test_an_addition_is_summed_up_in_one_line() -> None:
    outcome = Outcome(added=2, changed=1, unchanged=1200, removed=1, chunks=9, masked=1, seconds=1.5)

    told = "2 added, 1 changed, 1,200 unchanged, 1 removed; 9 chunks, 1 secret masked; 1.5 s (2.0 items/s)"
    assert summary(outcome) == told
    assert summary(Outcome()) == "0 added, 0 changed, 0 unchanged, 0 removed; 0 chunks, 0 secrets masked; 0.0 s"


NOTES = (
    "source a: was shared, is now private",
    "source b: stays shared; to close it, add it with --private, or readers=[]",
)


def skipped(*reasons: str) -> Outcome:
    return Outcome(skipped=tuple(Skipped(f"{at:02}", reason) for at, reason in enumerate(reasons)))


def test_what_lacks_an_extractor_is_counted_behind_what_calls_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["no extractor for .zip", "no extractor for .xlsx", "no extractor for a name without suffix"]

    report(Output(), skipped(*kinds, "encrypted: needs a password", kinds[1]))

    assert capsys.readouterr().err.splitlines() == [
        "skipped: 03: encrypted: needs a password",
        "skipped: no extractor: 2 .xlsx, 1 .zip, 1 without suffix (4 files); --verbose lists them",
    ]


def test_of_many_kinds_the_rare_ones_are_others(capsys: pytest.CaptureFixture[str]) -> None:
    report(Output(), skipped(*[f"no extractor for .{letter}" for letter in "aabcdefghi"]))

    told = capsys.readouterr().err
    assert told == "skipped: no extractor: 2 .a, 1 .b, 1 .c, 1 .d, 1 .e, 4 others (10 files); --verbose lists them\n"


def test_notes_about_readers_are_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    report(Output(), Outcome(notes=(*[f"a{at}: read by guess" for at in range(30)], *NOTES)))

    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [f"note: {note}" for note in NOTES]
    assert len(told) == 2 + 20 + 1


def test_notes_about_readers_are_in_every_json(capsys: pytest.CaptureFixture[str]) -> None:
    report(Output(json=True), Outcome(notes=("a: read by guess", *NOTES)))

    assert json.loads(capsys.readouterr().out)["notes"] == list(NOTES)


# --- failures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (NotFound("there is none", hint="Make one."), 5, "error: there is none\nhint: Make one.\n"),
        (LockedShelf("it is taken", hint="Wait."), 6, "error: it is taken\nhint: Wait.\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\nhint: The shelf is sound;"),
        (Terminated(), 143, "error: interrupted\nhint: The shelf is sound;"),
        (typer.Abort(), 130, "error: interrupted"),
        (PermissionError(errno.EACCES, "Permission denied", "/a/b"), 7, "error: /a/b: Permission denied\nhint:"),
        (OSError(errno.ENOSPC, "No space left on device"), 6, "error: No space left on device\nhint: Make room"),
        (KeyError("secret"), 70, "error: unexpected KeyError\nhint: Please report it; run with --verbose"),
        (MemoryError(), 70, "error: unexpected MemoryError"),
        (RecursionError(), 70, "error: unexpected RecursionError"),
    ],
)
def test_every_failure_has_its_exit_code_and_a_hint(
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    told: str,
) -> None:
    failing(error)

    assert main(["status"]) == code

    found = capsys.readouterr()
    assert found.err.startswith(told)
    assert "Traceback" not in found.err
    assert found.out == ""


def test_a_failure_is_json_where_json_is_asked_for(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(ValueError("of no concern"))

    assert main(["status", "--json"]) == 70

    found = capsys.readouterr()
    assert json.loads(found.out)["error"] == "unexpected ValueError"
    assert found.err == ""


def test_an_unexpected_failure_has_its_traceback_only_on_demand(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(ValueError("what was wrong"))

    assert main(["status", "-v"]) == 70

    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.endswith("hint: Please report it; run with --verbose for the traceback.\n")


def test_a_reader_that_goes_away_is_no_failure(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(BrokenPipeError(errno.EPIPE, "Broken pipe"))

    assert main(["ls"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_application_can_be_built_twice() -> None:
    assert build() is not build()
