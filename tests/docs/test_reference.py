"""The reference says what the code does: every command, option, setting and error has its line there."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from estante.ingest.chunking import CHUNKERS
from estante.model import errors
from estante.model.errors import EstanteError
from estante.serve.cli import main as door
from estante.serve.cli.calls import COMMON
from estante.shelf.assemble import create
from estante.shelf.settings import HOME_VARIABLE, SETTINGS, SOURCE_SETTINGS, Setting, load

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"

COMMON_NAMES = {name for name, _, _ in COMMON}
CODES = {door.INTERRUPTED, door.TERMINATED, door.UNEXPECTED, 0}


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def headings(text: str) -> set[str]:
    return set(re.findall(r"^## (.+)$", text, re.MULTILINE))


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its whole name."""
    root: Any = typer.main.get_command(door.build())
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            for inner, one in command.commands.items():
                yield f"estante {name} {inner}", one
        else:
            yield f"estante {name}", command


def kinds(kind: type[EstanteError] = EstanteError) -> Iterator[type[EstanteError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from kinds(one)


COMMANDS = dict(commands())
ERRORS = sorted({one for one in kinds() if one.__module__ == errors.__name__}, key=lambda one: one.__name__)


# --- commands ---------------------------------------------------------------------------------------------------


def test_the_page_has_a_section_for_each_command_and_no_other() -> None:
    told = {heading for heading in headings(page("commands")) if heading.startswith("estante ")}

    assert told == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_has_its_line(name: str) -> None:
    text = section(page("commands"), name)

    for one in COMMANDS[name].params:
        if one.param_type_name == "option" and one.name not in {*COMMON_NAMES, "help"}:
            [option] = one.opts
            shown = f"{option} {one.metavar}" if one.metavar else option
            assert re.search(rf"^\| `{re.escape(shown)}` \| \S", text, re.MULTILINE), f"{name} {shown}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_in_a_section_is_one_of_the_command(name: str) -> None:
    told = re.findall(r"^\| `(-[-\w]+)", section(page("commands"), name), re.MULTILINE)

    assert set(told) <= {option for one in COMMANDS[name].params for option in one.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_the_example_of_its_help(name: str) -> None:
    example = re.search(r"Example: (.+)", COMMANDS[name].help)

    assert example
    assert f"$ {example[1]}\n" in section(page("commands"), name)


def test_the_options_of_every_command_have_their_line() -> None:
    text = section(page("commands"), "Every command")

    for one in COMMANDS["estante ls"].params:
        if one.name in COMMON_NAMES:
            shown = ", ".join(f"`{option}{f' {one.metavar}' if one.metavar else ''}`" for option in one.opts)
            assert f"| {shown} |" in text
    assert HOME_VARIABLE in text
    assert "`estante --version`" in text


def test_every_exit_code_has_its_line_and_no_other_has() -> None:
    told = re.findall(r"^\| (\d+) \|", section(page("commands"), "Exit codes"), re.MULTILINE)

    assert {int(code) for code in told} == CODES | {one.exit_code for one in ERRORS}


def test_every_json_shape_is_json() -> None:
    shapes = [
        shape for name in ("commands", "settings") for shape in re.findall(r"```json\n(.*?)```", page(name), re.S)
    ]

    assert len(shapes) >= 10
    for shape in shapes:
        json.loads(shape)


# --- settings ---------------------------------------------------------------------------------------------------


def default(setting: Setting) -> str:
    value = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return "" if value is None else f"`{json.dumps(value)}`"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.key)
def test_every_setting_has_its_line(setting: Setting) -> None:
    line = f"| `{setting.key}` | `{setting.variable}` | {default(setting)} | {setting.says} |"

    assert line in section(page("settings"), "Values")


@pytest.mark.parametrize("setting", SOURCE_SETTINGS, ids=lambda one: one.key)
def test_every_key_of_a_source_has_its_line(setting: Setting) -> None:
    line = " ".join(f"| `{setting.key}` | {default(setting)} | {setting.says} |".split())

    assert line in section(page("settings"), "source")


def test_the_page_has_no_setting_that_is_none() -> None:
    told = re.findall(r"^\| `([^`]+)` \|", page("settings"), re.MULTILINE)

    assert told == [one.key for one in (*SETTINGS, *SOURCE_SETTINGS)]


@pytest.mark.parametrize("name", sorted(CHUNKERS.builtins))
def test_every_option_of_a_chunker_has_its_line(name: str) -> None:
    made = CHUNKERS.load(name)()

    for option in inspect.signature(CHUNKERS.load(name)).parameters:
        assert f"| {name}: `{option}` | `{getattr(made, option)}` |" in section(page("settings"), "encoder and chunker")


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", page("settings"), re.DOTALL))
def test_every_example_of_the_page_is_accepted(tmp_path: Path, example: str) -> None:
    (tmp_path / "estante.toml").write_text(example, "utf-8")

    with create(tmp_path, load(tmp_path, environ={})) as case:
        assert case.check() == []


# --- errors -----------------------------------------------------------------------------------------------------


def test_the_page_has_a_section_for_each_error_and_no_other() -> None:
    assert headings(page("errors")) == {one.__name__ for one in ERRORS}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda one: one.__name__)
def test_every_error_has_its_row_and_says_when_and_what_to_do(kind: type[EstanteError]) -> None:
    name = kind.__name__
    text = " ".join(section(page("errors"), name).split())

    assert f"| [{name}](#{name.lower()}) | {kind.exit_code} | {kind.http_status} |" in page("errors")
    assert "**When:**" in text
    assert "**What to do:**" in text
