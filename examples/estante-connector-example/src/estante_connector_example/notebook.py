"""The back end: notes in a SQLite file with a full-text index. It knows nothing of connectors.

It stands for whatever you have: a server's client, a vendor's library, your own search. Note what an author has to find
out about it before writing a connector. Its ranking gives smaller numbers to better passages. Its rows have a number
that changes whenever a note is written again. Archived notes are in the file, and a reader does not see them unless it
asks to. It may want a token. And its query language takes quotes and dashes for operators.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOKENIZER: Final = "unicode61 remove_diacritics 2"
"""How texts and questions become words: accents and capitals do not matter."""

Key = tuple[str, int]
"""What a passage can be found by for as long as its note is there: the note, and its place within it."""

_SLUG: Final = re.compile("[a-z0-9][a-z0-9-]{0,63}")
_PARAGRAPH: Final = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_WORD: Final = re.compile(r"[^\W_]+")

_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS note (
    slug TEXT PRIMARY KEY, title TEXT NOT NULL, digest TEXT NOT NULL, archived INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS passage (
    id INTEGER PRIMARY KEY, note TEXT NOT NULL REFERENCES note, position INTEGER NOT NULL,
    start INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (note, position)
);
CREATE VIRTUAL TABLE IF NOT EXISTS word USING fts5(
    text, content='passage', content_rowid='id', tokenize='{TOKENIZER}'
);
INSERT OR IGNORE INTO fact VALUES ('revision', '0');
"""
_PASSAGE: Final = "passage.note, passage.position, note.title, passage.text, passage.start, note.digest"


class NotebookError(Exception):
    """The notebook does not open."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is written. ``slug`` is its name for programs: small letters, digits and hyphens."""

    slug: str
    title: str
    body: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of a note, which begins at character ``start`` of its body. ``digest`` is that of the whole body."""

    note: str
    position: int
    title: str
    text: str
    start: int
    digest: str


@dataclass(frozen=True, slots=True)
class Facts:
    """How many notes and passages a reader sees, and a number that grows with every writing."""

    revision: int
    notes: int
    passages: int


class Notebook:
    """A notebook that is read. Every call opens the file anew, so it can be used from several threads at a time.

    Every method raises ``NotebookError`` or ``sqlite3.Error`` when the file does not open or cannot be read.
    """

    def __init__(self, path: str, *, token: str | None = None, archived: bool = False) -> None:
        self.path = path
        self.archived = archived
        self._token = token

    def search(self, text: str, limit: int) -> list[tuple[Passage, float]]:
        """The best passages with any of the words, and their BM25: the smaller (the more negative), the better."""
        words = dict.fromkeys(_WORD.findall(text.casefold()))
        if not words or limit < 1:
            return []
        sql = (
            f"SELECT {_PASSAGE}, bm25(word) AS rank FROM word JOIN passage ON passage.id = word.rowid "
            "JOIN note ON note.slug = passage.note WHERE word MATCH ? AND note.archived <= ? "
            "ORDER BY rank, passage.note, passage.position LIMIT ?"
        )
        # In quotes a word is a word, and none of the operators of the query language.
        match = " OR ".join(f'"{word}"' for word in words)
        with self._open() as file:
            return [(Passage(*row[:-1]), row[-1]) for row in file.execute(sql, (match, self.archived, limit))]

    def page(self, after: Key, limit: int) -> tuple[int, list[Passage]]:
        """The revision, and the passages behind this key in the order of their keys; all are behind ``("", 0)``."""
        sql = (
            f"SELECT {_PASSAGE} FROM passage JOIN note ON note.slug = passage.note "
            "WHERE (passage.note, passage.position) > (?, ?) AND note.archived <= ? "
            "ORDER BY passage.note, passage.position LIMIT ?"
        )
        with self._open() as file:
            return _revision(file), [Passage(*row) for row in file.execute(sql, (*after, self.archived, limit))]

    def passages(self, keys: Iterable[Key]) -> list[Passage]:
        """The passages of these keys; one that is not there is left out."""
        sql = (
            f"SELECT {_PASSAGE} FROM passage JOIN note ON note.slug = passage.note "
            "WHERE passage.note = ? AND passage.position = ? AND note.archived <= ?"
        )
        with self._open() as file:
            return [Passage(*row) for key in keys for row in file.execute(sql, (*key, self.archived))]

    def facts(self) -> Facts:
        """What the notebook is now."""
        sql = (
            "SELECT count(DISTINCT note.slug), count(*) FROM passage JOIN note ON note.slug = passage.note "
            "WHERE note.archived <= ?"
        )
        with self._open() as file:
            return Facts(_revision(file), *file.execute(sql, (self.archived,)).fetchone())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # For reading alone: opening must never make a file, or a wrong path would be an empty notebook.
        address = f"{Path(self.path).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as file, file:
            # One transaction for all that a call reads.
            file.execute("BEGIN")
            wanted = file.execute("SELECT value FROM fact WHERE name = 'token'").fetchone()
            if wanted is not None and not hmac.compare_digest(wanted[0], _digest(self._token or "")):
                raise NotebookError("the notebook wants another token" if self._token else "the notebook wants a token")
            yield file


def write(path: str | Path, notes: Iterable[Note], *, token: str | None = None) -> None:
    """Writes notes, each in place of the one of its slug; the file is made when it is not there.

    With a ``token`` nobody reads it any more who has not got it.
    """
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(_SCHEMA)
        for note in notes:
            _put(file, note)
        file.execute("INSERT INTO word (word) VALUES ('rebuild')")
        file.execute("UPDATE fact SET value = value + 1 WHERE name = 'revision'")
        if token is not None:
            file.execute("INSERT OR REPLACE INTO fact VALUES ('token', ?)", (_digest(token),))


def _put(file: sqlite3.Connection, note: Note) -> None:
    if not _SLUG.fullmatch(note.slug):
        raise ValueError(f"{note.slug!r} cannot name a note; use small letters, digits and hyphens")
    file.execute("DELETE FROM passage WHERE note = ?", (note.slug,))
    row = (note.slug, note.title, _digest(note.body), note.archived)
    file.execute("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)", row)
    paragraphs = [found for found in _PARAGRAPH.finditer(note.body) if found[0].strip()]
    file.executemany(
        "INSERT INTO passage (note, position, start, text) VALUES (?, ?, ?, ?)",
        [(note.slug, position, found.start(), found[0]) for position, found in enumerate(paragraphs)],
    )


def _revision(file: sqlite3.Connection) -> int:
    return int(file.execute("SELECT value FROM fact WHERE name = 'revision'").fetchone()[0])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
