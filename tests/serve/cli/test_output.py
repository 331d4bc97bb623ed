"""What is printed where, in which letters, and what a document cannot make a terminal do."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from estante.model.errors import NotFound
from estante.serve.cli import output
from estante.serve.cli.output import Output, counted, one_line, prepare, size, to_json, typed, visible


def encoded(text: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    prepare()
    sys.stdout.write(text)
    sys.stdout.flush()
    written: Any = stream.buffer
    return str(written.getvalue(), encoding)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("férias\te\nprazo", "férias\te\nprazo"),
        ("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇"),
        ("a\x9b2Jb", "a\ufffd2Jb"),
        ("a\rb\x00\x7f", "a␍b␀␡"),
        ("a\u202eb\u2066c\u2028d", "a\ufffdb\ufffdc\ufffdd"),
    ],
)
def test_control_characters_become_signs(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_title_stays_on_one_line() -> None:
    assert one_line(" a\n b\tc\x1b ") == "a b c␛"


def test_json_keeps_letters_as_they_are() -> None:
    assert '"férias"' in to_json({"a": "férias"})


def test_json_gives_a_terminal_no_orders_and_keeps_the_value() -> None:
    value = {"a": "\x1b[2J \x9b2J \x7f \u202e \u2028 é"}

    printed = to_json(value)

    assert json.loads(printed) == value
    assert visible(printed) == printed


@pytest.mark.parametrize("text", ["férias", "caf\udce9", "日本"])
def test_json_is_the_same_value_in_an_encoding_without_the_letters(text: str) -> None:
    printed = to_json([text], "ascii")

    assert printed.isascii()
    assert json.loads(printed) == [text]


def test_json_has_no_number_that_is_none() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json([float("nan")])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ação › férias…", "acao > ferias..."),
        ("«prazo» – art. 5º, § 1º", "[prazo] - art. 5o, ? 1o"),
        ("日本", "??"),
        ("caf\udce9", "caf?"),
    ],
)
def test_a_sign_that_a_terminal_lacks_is_written_as_the_nearest(
    text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert encoded(text, "ascii", monkeypatch) == shown


def test_a_sign_that_a_terminal_has_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert encoded("ação «x»", "latin-1", monkeypatch) == "ação «x»"
    assert encoded("a…", "latin-1", monkeypatch) == "a..."


def test_a_stream_that_was_closed_before_swallows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    prepare()

    assert sys.stdout.write("nobody reads this")
    sys.stdout.close()


def test_bytes_that_the_locale_could_not_read_are_read_as_utf_8() -> None:
    assert typed("férias") == "férias"
    assert typed("f\udcc3\udca9rias") == "férias"
    assert typed("f\udce9rias") == "f\ufffdrias"


def test_numbers_are_for_people() -> None:
    assert [size(0), size(999), size(1500), size(2_500_000), size(7 * 10**12)] == [
        "0 bytes",
        "999 bytes",
        "1.5 kB",
        "2.5 MB",
        "7.0 TB",
    ]
    assert [counted(1, "document"), counted(1200, "document"), counted(0, "entry", "entries")] == [
        "1 document",
        "1,200 documents",
        "0 entries",
    ]


def test_results_go_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output()

    out.line("a ", ("result", "bold"), indent=2)
    out.note("a note")
    out.warn("look")

    assert capsys.readouterr() == ("  a result\n", "a note\nwarning: look\n")


def test_every_row_of_a_text_is_indented(capsys: pytest.CaptureFixture[str]) -> None:
    Output().line("a\nb", indent=2)

    assert capsys.readouterr().out == "  a\n  b\n"


def test_quiet_leaves_out_notes_and_keeps_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(quiet=True)

    out.line("a result")
    out.note("a note")
    out.warn("look")

    assert capsys.readouterr() == ("a result\n", "warning: look\n")


def test_with_json_stderr_stays_empty(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(json=True)

    out.note("a note")
    out.warn("look")
    out.error(NotFound("não há", hint="Faça um."))

    found = capsys.readouterr()
    assert found.err == ""
    assert json.loads(found.out) == {"error": "não há", "hint": "Faça um."}
    assert found.out.endswith("}\n")


def test_an_error_says_what_happened_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    Output(quiet=True).error(NotFound("there is \x1b[31mnone", hint="Make one."))

    assert capsys.readouterr() == ("", "error: there is ␛[31mnone\nhint: Make one.\n")


def test_a_text_for_a_pipe_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", stream)

    Output().exact("São\n\x1b[31m")

    written: Any = stream.buffer
    assert written.getvalue() == "São\n\x1b[31m".encode()


def test_what_sends_no_terminal_colours_has_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.Output().terminal is None
    assert not output.Output().styled
