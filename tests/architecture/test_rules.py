"""What a linter cannot see: rules of the source tree, read from its syntax.

Each rule is a function from a path within the package and its source to complaints. Each is asked two things: of the
whole tree, which must be clean, and of a small wrong module, which must not pass.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "estante"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

Rule = Callable[[str, str], Iterator[str]]

LONGEST = 600
"""Lines of a file. The two largest nouns of the engine may be longer; nothing else may."""
LONGER = {"index/stores/embedded.py": 800}

FOLDERS = {
    "",
    "contract",
    "contract/checks",
    "contract/dataset",
    "contract/testkit",
    "evaluate",
    "index",
    "index/encoders",
    "index/languages",
    "index/stores",
    "index/translators",
    "index/weights",
    "ingest",
    "ingest/chunkers",
    "ingest/extractors",
    "ingest/sources",
    "model",
    "security",
    "serve",
    "serve/adapters",
    "serve/cli",
    "shelf",
}
HOMELESS = {"base", "common", "core", "helper", "helpers", "manager", "managers", "misc", "shared", "util", "utils"}

MAKERS = {
    "Document": {"ingest/gate.py", "model/wire.py"},
    "Chunk": {"model/content.py", "model/wire.py"},
    "Grant": {"security/principals.py"},
}
NETWORK = {
    "aiohttp", "asyncio", "ftplib", "http", "httpx", "httpx2", "imaplib", "poplib", "requests", "smtplib", "socket",
    "socketserver", "ssl", "telnetlib", "urllib.request", "urllib3", "xmlrpc",
}  # fmt: skip
ALLOWED = {"contract/testkit/suite.py": {"pytest"}}
"""Modules of the lowest floors that need more than the standard library, and are imported by whoever has it."""
THREADS = {"contract/pipeline.py": {"asyncio"}}
"""Modules that wait for a thread, which takes asyncio, and open nothing."""
SPEAKERS = {
    "index/encoders/openai.py": {"httpx"},
    "serve/adapters/http.py": {"httpx", "ssl"},
    "serve/adapters/mcp.py": {"httpx2"},
}
"""Modules that speak to what their user names."""


def imported(source: str) -> Iterator[tuple[str, int]]:
    """Every module named by an import statement, wherever it stands, and its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), node.lineno
            # ``from urllib import request`` names a module too.
            for alias in node.names:
                yield f"{'.' * node.level}{node.module or ''}.{alias.name}", node.lineno


def called(source: str) -> Iterator[tuple[str, int]]:
    """The last name of everything that is called, and its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func
            if isinstance(name, ast.Name):
                yield name.id, node.lineno
            elif isinstance(name, ast.Attribute):
                yield name.attr, node.lineno


def nobody_inside_imports_the_root(path: str, source: str) -> Iterator[str]:
    """Inside, a name is imported from the module that defines it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(alias.name == "estante" for alias in node.names):
            yield f"{path}:{node.lineno} imports the package root"
        if isinstance(node, ast.ImportFrom) and node.module == "estante":
            yield f"{path}:{node.lineno} imports from the package root"


def only_its_maker_builds_a_guarded_type(path: str, source: str) -> Iterator[str]:
    """A document is made by the gate, a chunk by its document, a grant by the principals."""
    renamed = {
        alias.asname: alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    for name, line in called(source):
        guarded = renamed.get(name, name)
        if path not in MAKERS.get(guarded, {path}) and not _another_document(guarded, source):
            yield f"{path}:{line} builds a {guarded}"


def _another_document(name: str, source: str) -> bool:
    """Whether the name is that of a library's own type: python-docx has a Document, too."""
    return any(
        isinstance(node, ast.ImportFrom)
        and not (node.module or "").startswith("estante")
        and any((alias.asname or alias.name) == name for alias in node.names)
        for node in ast.walk(ast.parse(source))
    )


def every_module_says_what_it_is(path: str, source: str) -> Iterator[str]:
    """A module has a docstring that begins with a capital and ends its first line as a sentence does."""
    said = ast.get_docstring(ast.parse(source))
    if not said:
        yield f"{path} has no docstring"
    elif not said.partition("\n\n")[0].rstrip().endswith((".", ":", "!", "?")):
        yield f"{path}: the first paragraph of its docstring is no sentence"


def a_file_is_one_noun(path: str, source: str) -> Iterator[str]:
    """A file that has grown too long is two."""
    lines = source.count("\n")
    if lines > LONGER.get(path, LONGEST):
        yield f"{path} has {lines} lines"


def a_folder_is_a_floor_or_a_family(path: str, source: str) -> Iterator[str]:
    """A new folder is declared, with its floor."""
    if path.rpartition("/")[0] not in FOLDERS:
        yield f"{path} stands in a folder that nobody declared"


def a_module_has_a_home(path: str, source: str) -> Iterator[str]:
    """A function without a home is a concept without a name."""
    for part in path.removesuffix(".py").split("/"):
        if part.strip("_") in HOMELESS:
            yield f"{path}: {part!r} says nothing"


def only_settings_read_the_environment(path: str, source: str) -> Iterator[str]:
    """Settings are read once, at the edge."""
    if path == "shelf/settings.py":
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
            yield f"{path}:{node.lineno} reads the environment"
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name in ("environ", "environb", "getenv", "getenvb"):
                    yield f"{path}:{node.lineno} reads the environment"


def nothing_opens_a_connection(path: str, source: str) -> Iterator[str]:
    """No module that could is imported, not even late."""
    allowed = THREADS.get(path, set()) | SPEAKERS.get(path, set())
    for name, line in imported(source):
        if any(name == one or name.startswith(f"{one}.") for one in NETWORK - allowed):
            yield f"{path}:{line} imports {name}"


def the_lowest_floors_need_the_standard_library_alone(path: str, source: str) -> Iterator[str]:
    """``contract`` and ``model`` import what Python brings and themselves."""
    floor = path.partition("/")[0]
    if floor not in ("contract", "model"):
        return
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        for name in names:
            if name.partition(".")[0] not in {*sys.stdlib_module_names, "estante", *ALLOWED.get(path, ())}:
                yield f"{path}:{node.lineno} imports {name}"


def imports_are_absolute(path: str, source: str) -> Iterator[str]:
    """Every import says where it leads."""
    for name, line in imported(source):
        if name.startswith("."):
            yield f"{path}:{line} imports {name}"


# Each rule beside what it must catch: (path, source).
RULES: list[tuple[Rule, list[tuple[str, str]]]] = [
    (
        nobody_inside_imports_the_root,
        [
            ("index/engine.py", "import estante"),
            ("index/engine.py", "def late():\n    from estante import Bookcase"),
        ],
    ),
    (
        only_its_maker_builds_a_guarded_type,
        [
            ("index/engine.py", "Document(id='x')"),
            ("ingest/gate.py", "content.Chunk(id='x')"),
            ("shelf/bookcase.py", "from estante.model.access import Grant as Pass\nPass('t', frozenset(), 's')"),
        ],
    ),
    (every_module_says_what_it_is, [("index/engine.py", "x = 1"), ("index/engine.py", '"""Search"""')]),
    (a_file_is_one_noun, [("index/engine.py", "x = 1\n" * (LONGEST + 1))]),
    (a_folder_is_a_floor_or_a_family, [("index/helpers/engine.py", ""), ("network/engine.py", "")]),
    (a_module_has_a_home, [("index/utils.py", ""), ("index/core/engine.py", ""), ("index/_common.py", "")]),
    (
        only_settings_read_the_environment,
        [("index/engine.py", "import os\nos.environ['X']"), ("index/engine.py", "from os import getenv")],
    ),
    (
        nothing_opens_a_connection,
        [
            ("index/engine.py", "import socket"),
            ("index/engine.py", "def late():\n    from urllib import request"),
            ("index/engine.py", "import urllib.request as fetch"),
        ],
    ),
    (
        the_lowest_floors_need_the_standard_library_alone,
        [("model/content.py", "import numpy"), ("contract/models.py", "def late():\n    from rich import text")],
    ),
    (imports_are_absolute, [("index/engine.py", "from . import fusion"), ("index/engine.py", "from .fusion import x")]),
]

NAMES = [rule.__name__ for rule, _ in RULES]


def test_the_tree_was_found() -> None:
    assert {"model/content.py", "ingest/pipeline.py", "index/engine.py", "shelf/bookcase.py"} <= set(MODULES)


@pytest.mark.parametrize("rule", [rule for rule, _ in RULES], ids=NAMES)
def test_the_whole_tree_keeps_the_rule(rule: Rule) -> None:
    complaints = [told for path in MODULES for told in rule(path, (SOURCE / path).read_text("utf-8"))]

    assert complaints == []


@pytest.mark.parametrize(("rule", "wrong"), RULES, ids=NAMES)
def test_a_module_that_breaks_the_rule_is_caught(rule: Rule, wrong: list[tuple[str, str]]) -> None:
    for path, source in wrong:
        assert list(rule(path, source)), f"{source!r} in {path} passed"


@pytest.mark.parametrize("guarded", sorted(MAKERS))
def test_each_maker_of_a_guarded_type_does_build_it(guarded: str) -> None:
    for path in MAKERS[guarded]:
        assert guarded in [name for name, _ in called((SOURCE / path).read_text("utf-8"))], path


def test_every_declared_folder_that_holds_a_module_is_a_package() -> None:
    folders = {path.rpartition("/")[0] for path in MODULES}

    assert folders <= FOLDERS
    assert all(f"{folder}/__init__.py".lstrip("/") in MODULES for folder in folders)
