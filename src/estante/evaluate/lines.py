"""Text files line by line, and what is wrong with them told with file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from estante.evaluate.errors import AbsentFile, UnreadableFile


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, its ends of lines as they are. Raises ``AbsentFile`` and ``UnreadableFile``."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise AbsentFile(f"there is no file {path}", hint="Check the path.") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path} is no UTF-8 at byte {error.start}", hint="Convert it to UTF-8.") from error
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}", hint="Check the path and its permissions.") from error


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold anything, with their numbers from 1. Only a line feed ends a line."""
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r")


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, one a line, with their numbers."""
    for number, line in lines_of(path):
        try:
            row = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise wrong(path, number, "no JSON") from error
        if not isinstance(row, dict):
            raise wrong(path, number, "no JSON object")
        yield number, row


def wrong(path: Path, number: int, what: str, *, hint: str = "Mend that line.") -> UnreadableFile:
    """The error of a line that is ``what``."""
    return UnreadableFile(f"{path}:{number}: {what}", hint=hint)


def grade_of(told: object, path: Path, number: int) -> int:
    """A whole number, also one written as ``1.0``. Raises ``UnreadableFile``."""
    try:
        value = float(told) if isinstance(told, str | int | float) and not isinstance(told, bool) else float("nan")
    except ValueError:
        value = float("nan")
    if value != value or value != int(value) or abs(value) > 1e6:
        raise wrong(path, number, f"the grade {told!r} is no whole number")
    return int(value)


def text_field(row: dict[str, Any], names: tuple[str, ...], path: Path, number: int) -> str:
    """The first of these fields that is there, a text or a whole number. Raises ``UnreadableFile``."""
    for name in names:
        told = row.get(name)
        if isinstance(told, int) and not isinstance(told, bool):
            return str(told)
        if isinstance(told, str) and told.strip():
            return told
    raise wrong(path, number, f"there is no text {' or '.join(repr(name) for name in names)}")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
