"""References to secrets: what is one, what it gives, and that what it gives is told nowhere."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.references import MOST_BYTES, SecretText, is_secret_reference, resolve_secret

SECRET = "tr0ub4dor&3"
NEEDS_MODES = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n", "utf-8")
    path.chmod(0o600)
    return path


def refused(reference: str, **environ: str) -> str:
    with pytest.raises(ConnectorRegistrationError) as caught:
        resolve_secret(reference, environ)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__context__)
    assert SECRET not in shown
    return str(caught.value)


@pytest.mark.parametrize("reference", ["env:A", "env:_a1", "file:/run/secrets/a", "file:/with space/ç"])
def test_a_variable_and_an_absolute_path_are_references(reference: str) -> None:
    assert is_secret_reference(reference)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "A",
        "env",
        "env:",
        "env:1A",
        "env:A\n",
        "ENV:A",
        " env:A",
        "file:",
        "file:a",
        "file:~/a",
        "file:/a\n",
        None,
        5,
    ],
)
def test_nothing_else_is_a_reference(value: object) -> None:
    assert not is_secret_reference(value)


def test_a_secret_is_no_reference_whatever_it_looks_like() -> None:
    assert not is_secret_reference(SecretText("env:A"))


def test_a_variable_gives_its_value() -> None:
    assert resolve_secret("env:WIKI_TOKEN", {"WIKI_TOKEN": SECRET}) == SECRET


def test_a_file_gives_its_content_without_the_line_feed_at_its_end(file: Path) -> None:
    assert resolve_secret(f"file:{file}", {}) == SECRET


def test_of_a_file_nothing_but_one_line_end_is_left_out(file: Path) -> None:
    file.write_bytes(b" a\nb \r\n")

    assert resolve_secret(f"file:{file}", {}) == " a\nb "


def test_a_secret_does_not_show_itself() -> None:
    secret = resolve_secret("env:A", {"A": SECRET})

    assert repr(secret) == "***"
    assert repr({"token": [secret]}) == "{'token': [***]}"
    assert f"Bearer {secret}" == f"Bearer {SECRET}"


@pytest.mark.parametrize("given", [SECRET, "env:tr0ub4dor&3", f"file:{SECRET}"])
def test_what_is_no_reference_is_refused_and_not_repeated(given: str) -> None:
    assert "env:NAME or file:/absolute/path" in refused(given)


def test_a_variable_that_is_not_set_is_named() -> None:
    assert refused("env:WIKI_TOKEN", OTHER=SECRET) == "env:WIKI_TOKEN holds nothing; set the variable WIKI_TOKEN"
    assert refused("env:WIKI_TOKEN", WIKI_TOKEN="").startswith("env:WIKI_TOKEN holds nothing")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert f"file:{tmp_path}/none cannot be read" in refused(f"file:{tmp_path}/none")


def test_an_empty_file_holds_nothing(file: Path) -> None:
    file.write_text("\n", "utf-8")

    assert "holds nothing; write the secret into" in refused(f"file:{file}")


@NEEDS_MODES
def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "is not a file" in refused(f"file:{tmp_path}")


@NEEDS_MODES
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_is_open_to_others_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)

    assert refused(f"file:{file}").endswith(f"is open to others (mode {mode:04o}); run: chmod 600 {file}")


@NEEDS_MODES
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_for_its_owner_alone_is_read(file: Path, mode: int) -> None:
    file.chmod(mode)

    assert resolve_secret(f"file:{file}", {}) == SECRET


@NEEDS_MODES
def test_a_link_is_as_good_as_the_file_it_leads_to(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)

    assert resolve_secret(f"file:{link}", {}) == SECRET
    file.chmod(0o644)
    assert "is open to others" in refused(f"file:{link}")


@NEEDS_MODES
def test_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = file.stat()
    owned = os.stat_result((*status[:4], 12345, *status[5:]))
    monkeypatch.setattr(os, "fstat", lambda handle: owned)

    assert refused(f"file:{file}").endswith("belongs to another user (12345); make it yours")


@NEEDS_MODES
def test_a_pipe_without_a_writer_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o600)

    assert "is not a file" in refused(f"file:{path}")


def test_a_file_that_is_no_text_is_refused_without_its_bytes(file: Path) -> None:
    file.write_bytes(SECRET.encode() + b"\xff")

    assert refused(f"file:{file}").endswith("is not UTF-8; write the secret as text")


def test_a_file_that_is_too_long_for_a_secret_is_refused(file: Path) -> None:
    file.write_bytes(b"x" * (MOST_BYTES + 1))

    assert "has more than" in refused(f"file:{file}")
