"""Every block of the documentation runs, page by page, beside a copy of the demo library.

- ``python`` blocks of a page share their names; an ``output`` block right behind one is what it prints.
- In ``console`` and ``sh`` blocks a line with ``$ `` is a command, and ``> `` goes on with it; the lines below are
  what it prints, stdout before stderr. A command without such lines must only succeed. One that fails must show its
  ``error:`` or its ``problem``.
- In what is printed, ``...`` stands for anything in a line, and alone on a line for any lines.
- A block behind ``<!-- not run: reason -->`` is shown only.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OFFLINE = ROOT / "tests" / "offline"
PAGES = [
    ROOT / "README.md",
    ROOT / "LEIAME.md",
    ROOT / "docs" / "tour.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    ROOT / "docs" / "reference" / "filters.md",
]

RUN = {"python", "console", "sh"}
SHOWN = {"toml", "json", "text", "output", "ini"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins at, and why it is not run."""

    language: str
    text: str
    line: int
    excuse: str = ""


@dataclass(frozen=True)
class Command:
    """A command of a console block and the lines that it should print."""

    text: str
    line: int
    expected: tuple[str, ...] = ()


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for found in fence.finditer(page):
        before = page[: found.start()].rstrip().rpartition("\n")[2]
        excuse = re.fullmatch(r"<!-- not run: (.+) -->", before)
        yield Block(found[1], found[2], page.count("\n", 0, found.start()) + 1, excuse[1] if excuse else "")


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    text, start, expected = "", 0, list[str]()
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ "):
            if text:
                yield Command(text, start, tuple(expected))
            text, start, expected = line[2:], number, []
        elif line.startswith("> ") or line == ">":
            assert text, f"line {number} goes on with nothing"
            assert not expected, f"line {number} goes on behind what was printed"
            text += "\n" + line[2:]
        else:
            assert text or not line.strip(), f"line {number} is printed by nothing"
            expected.append(line)
    if text:
        yield Command(text, start, tuple(expected))


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what was expected, up to ``...`` and blanks at the ends of lines."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.rstrip().split("..."))) + r"\n"
    lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, lines) is not None


class Page:
    """A page that is being executed in a folder of its own."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}

    def run(self) -> int:
        """Runs every block; returns how many ran."""
        ran = 0
        found = list(blocks(self.path.read_text("utf-8")))
        for at, block in enumerate(found):
            assert block.language in RUN | SHOWN, f"{self._at(block.line)}: a block of {block.language!r}"
            if block.language not in RUN or block.excuse:
                continue
            following = found[at + 1] if at + 1 < len(found) else None
            if block.language == "python":
                expected = following.text if following and following.language == "output" else None
                self._python(block, expected)
            else:
                for command in commands(block):
                    self._command(command)
            ran += 1
        return ran

    def _at(self, line: int) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}"

    def _python(self, block: Block, expected: str | None) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, str(self.path), "exec"), self.names)
        if expected is None:
            assert not printed.getvalue(), f"{self._at(block.line)} prints, and the page does not say what"
        else:
            assert agrees(expected, printed.getvalue()), f"{self._at(block.line)} printed:\n{printed.getvalue()}"

    def _command(self, command: Command) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ESTANTE_")}
        environ |= {
            "HOME": str(self.folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}",
            "PYTHONPATH": str(OFFLINE),
            "PYTHONIOENCODING": "utf-8",
        }
        done = subprocess.run(
            ["sh", "-c", command.text],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        printed = done.stdout + done.stderr
        expected = "\n".join(command.expected)
        told = f"{self._at(command.line)}: {command.text}\nended with {done.returncode} and printed:\n{printed}"
        assert done.returncode == 0 or re.search("^(?:error:|problem )", expected, re.MULTILINE), told
        if expected.strip():
            assert agrees(expected, printed), told


@pytest.fixture
def folder(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the demo library, which is where the page's blocks run."""
    shutil.copytree(corpus, tmp_path / "library")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_block_of_the_page_runs(path: Path, folder: Path) -> None:
    assert Page(path, folder).run() > 0


def test_the_pages_are_those_that_a_newcomer_reads_first() -> None:
    assert len(PAGES) >= 8
    assert all(path.is_file() for path in PAGES)


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nassert 1 == 2\n```\n", "assert"),
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", "printed"),
        ("```python\nprint(1)\n```\n", "does not say what"),
        ("```console\n$ false\n```\n", "ended with 1"),
        ("```console\n$ echo um\ndois\n```\n", "printed"),
        ("```bash\n$ true\n```\n", "a block of 'bash'"),
    ],
)
def test_a_page_that_is_not_true_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, page: str, complaint: str
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", folder)
    (folder / "page.md").write_text(page, "utf-8")

    with pytest.raises(AssertionError) as caught:
        Page(folder / "page.md", folder).run()

    assert complaint in f"assert {caught.value}"


@pytest.mark.parametrize(
    ("expected", "printed", "true"),
    [
        ("um\ndois", "um\ndois\n", True),
        ("um ... três", "um dois três", True),
        ("um\n...\ncinco", "um\ndois\ntrês\ncinco\n", True),
        ("um\n...", "um\n", True),
        ("um", "um\ndois\n", False),
        ("um.", "umx", False),
    ],
)
def test_dots_stand_for_anything_and_nothing_else_does(expected: str, printed: str, true: bool) -> None:
    assert agrees(expected, printed) is true
