"""Printing: results to stdout, everything else to stderr, as a terminal or a pipe can show it."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TextIO

from estante.model.errors import EstanteError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Part = str | tuple[str, str]
"""A piece of a line, and how it looks: ``("taxas", "bold")``."""

_ERRORS: Final = "estante.plainer"
_PLAINER: Final = {
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("–—−", "-"),
    "«": "[",
    "»": "]",
    "›": ">",
    "…": "...",
    "·": "-",
    "•": "*",
    "\u00a0": " ",
}

_HARMFUL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What moves the cursor, starts an escape or turns the direction of writing; tab and line feed are fine."""

_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Of these, the ones that ``json.dumps`` leaves as they are."""


KINDS: Final = 6
"""Kinds of files that are counted by name."""


def visible(text: str) -> str:
    """The text with control characters as signs (``␛``): a document's escapes are data, not orders."""
    return _HARMFUL.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def one_line(text: str) -> str:
    """The text on one line, for titles and names."""
    return visible(" ".join(text.split()))


def suffixes(found: Iterable[str]) -> str:
    """Suffixes of files with how many there are of each, the most frequent first: ``2 .csv, 1 without suffix``."""
    named = [one or "without suffix" for one in found]
    counts = sorted(Counter(named).items(), key=lambda one: (-one[1], one[0]))
    shown = counts if len(counts) <= KINDS else counts[: KINDS - 1]
    rest = len(named) - sum(count for _, count in shown)
    return ", ".join([f"{count:,} {one_line(name)}" for name, count in shown] + ([f"{rest:,} others"] if rest else []))


def typed(text: str) -> str:
    """An argument as it was typed: Python keeps its bytes apart where the locale has no such letters."""
    if text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text):
        return text
    return os.fsencode(text).decode("utf-8", "replace")


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 document``, ``2 documents``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def to_json(value: object, encoding: str = "utf-8") -> str:
    """JSON with letters as they are, or escaped where the encoding has no such letters; the value is the same.

    Control characters are always escaped, so that a terminal obeys none of them.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def prepare() -> None:
    """Makes stdout and stderr write the nearest sign they have for one they lack, instead of failing."""
    codecs.register_error(_ERRORS, _nearest)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # It was closed before the program began.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open to the end.
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERRORS)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for char in error.object[error.start : error.end]:
        base = unicodedata.normalize("NFKD", char)[0]
        found.append(_PLAINER.get(char) or (base if base.isascii() else "?"))
    return "".join(found), error.end


class Output:
    """Where one command prints.

    With ``json`` stdout gets one JSON value and stderr nothing but progress; with ``quiet`` stderr gets warnings
    and errors alone.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose

    @cached_property
    def terminal(self) -> Console | None:
        """The terminal behind stdout; None when it is a pipe or a file."""
        return _terminal(sys.stdout)

    @cached_property
    def _error_terminal(self) -> Console | None:
        return _terminal(sys.stderr)

    @property
    def styled(self) -> bool:
        """Whether bold and colours show on stdout."""
        return self.terminal is not None and self.terminal.color_system is not None

    def value(self, value: Mapping[str, Any] | list[Any]) -> None:
        """The one JSON value of a command."""
        sys.stdout.write(to_json(value, sys.stdout.encoding or "utf-8") + "\n")

    def line(self, *parts: Part, indent: int = 0) -> None:
        """A line for people on stdout; on a terminal it wraps, each row indented."""
        _print(sys.stdout, self.terminal, parts, indent)

    def note(self, *parts: Part) -> None:
        """A line on stderr that may be left out."""
        if not self.quiet and not self.json:
            _print(sys.stderr, self._error_terminal, parts, 0)

    def warn(self, text: str) -> None:
        """A line on stderr that must not be missed."""
        if not self.json:
            _print(sys.stderr, self._error_terminal, (("warning:", "bold yellow"), f" {text}"), 0)

    def error(self, error: EstanteError) -> None:
        """What went wrong and what to do next; with ``json`` it is the one JSON value."""
        if self.json:
            from estante.model.wire import error_to_json

            self.value(error_to_json(error))
            return
        _print(sys.stderr, self._error_terminal, (("error:", "bold red"), f" {error.message}"), 0)
        _print(sys.stderr, self._error_terminal, (("hint:", "bold"), f" {error.hint}"), 0)

    def exact(self, text: str) -> None:
        """A text and nothing else: to a pipe character by character in UTF-8, to a terminal made harmless."""
        binary = getattr(sys.stdout, "buffer", None)
        if self.terminal is None and binary is not None:
            sys.stdout.flush()
            binary.write(text.encode("utf-8", "replace"))
            binary.flush()
            return
        sys.stdout.write(visible(text))
        if self.terminal is not None and not text.endswith("\n"):
            sys.stdout.write("\n")


def _terminal(stream: TextIO) -> Console | None:
    if not stream.isatty():
        return None
    from rich.console import Console

    # A terminal without styles still has a width of its own, which rich does not ask for.
    width = get_terminal_size().columns
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    if console.no_color or console.is_dumb_terminal:
        console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    return console


def _print(stream: TextIO, terminal: Console | None, parts: Iterable[Part], indent: int) -> None:
    pieces = [(part, "") if isinstance(part, str) else part for part in parts]
    pieces = [(visible(text), style) for text, style in pieces]
    if terminal is None:
        told = "".join(text for text, _ in pieces)
        stream.write(" " * indent + told.replace("\n", "\n" + " " * indent) + "\n")
        return
    from rich.padding import Padding

    if not pieces:
        terminal.print()
        return
    terminal.print(Padding(text_of(pieces), (0, 0, 0, indent), expand=False))


def text_of(pieces: Iterable[tuple[str, str]]) -> Text:
    """Pieces with their looks as one text of rich."""
    from rich.text import Text

    return Text.assemble(*pieces, overflow="fold")
