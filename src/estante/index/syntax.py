"""What a question says beside its words: phrases, words left out, beginnings of words, and fields.

    "prazo recursal"      these words, one behind the other
    -minuta               no passage that holds this word;  -"versão de teste"  nor this phrase
    licit*                every word that begins like this
    title:férias          in the document's title;  heading:  also in the headings above the passage

A sign counts only where a person must have meant it: at the beginning of a word, in a question of one short line. A
quotation mark without its other half, a colon or hyphen inside a word, an address or a time of day are text as any;
so are the quotation marks of a sentence that ends with a question mark: there they are a writer's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from estante.model.errors import QueryError
from estante.model.ports import Field

CHARACTERS: Final = 300
"""A longer question is one that was pasted, and so is one of several lines: their signs are their authors'."""

FIELDS: Final[Mapping[str, Field]] = {"title": "title", "heading": "heading", "trail": "heading"}
"""The fields that a question may name."""

_CLAUSE: Final = re.compile(
    rf"(?<!\S)(?P<minus>-?)(?P<field>(?:{'|'.join(FIELDS)}):)?"
    r'(?:"(?P<phrase>[^"]*)"(?=[\s.,;:!?)]|$)|(?P<word>[^\s"]+)(?!\S))',
    re.IGNORECASE,
)
_SIGNS: Final = re.compile('[-":*]')
_LEFT_OUT: Final = re.compile(r"[^\W\d_]\S+")
_BEGINNING: Final = re.compile(r"([^\W_][^\s*]+)\*")
_WRITTEN: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a question that demands something: words in this order, or words that begin like this."""

    text: str
    field: Field = "any"
    left_out: bool = False
    begins: bool = False
    demands: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A question read: ``text`` is what it asks for in plain words, ``clauses`` what is said of some of them.

    ``words`` is the text without the words of which only the beginning is given.
    """

    text: str
    words: str
    clauses: tuple[Clause, ...] = ()


def read(text: str) -> Question:
    """The question in a text. Raises ``QueryError`` when it only says what to leave out."""
    if not _SIGNS.search(text):
        return Question(text, text)
    line = text.strip()
    if len(line) > CHARACTERS or len(line.splitlines()) > 1:
        return Question(text, text)
    clauses: list[Clause] = []
    plain: list[str] = []
    words: list[str] = []
    at = 0
    sentence = line.endswith("?")
    for found in _CLAUSE.finditer(text):
        clause = _clause(found, sentence)
        if clause is not None:
            clauses.append(clause)
            plain += [text[at : found.start()], "" if clause.left_out else clause.text]
            words += [text[at : found.start()], "" if clause.left_out or clause.begins else clause.text]
            at = found.end()
    if not clauses:
        return Question(text, text)
    asked = "".join([*plain, text[at:]])
    if not _WRITTEN.search(asked):
        left = ", ".join(f"-{clause.text}" for clause in clauses)
        raise QueryError(
            f"the question says only what to leave out: {left}",
            hint=f'Say what to look for too. To look for such a word as it is written, quote it: "{left}"',
        )
    return Question(asked, "".join([*words, text[at:]]), tuple(clauses))


def _clause(found: re.Match[str], sentence: bool) -> Clause | None:
    """What a part of a question demands; None when it is text as any."""
    left_out, named = bool(found["minus"]), found["field"]
    field = FIELDS[named[:-1].lower()] if named else "any"
    if found["phrase"] is not None:
        meant = _WRITTEN.search(found["phrase"]) and (left_out or named or not sentence)
        return Clause(found["phrase"], field, left_out) if meant else None
    word = found["word"]
    if not _WRITTEN.search(word) or (left_out and not named and not _LEFT_OUT.match(word)):
        return None
    begins = _BEGINNING.fullmatch(word)
    if begins:
        return Clause(begins[1], field, left_out, begins=True, demands=bool(left_out or named))
    return Clause(word, field, left_out) if left_out or named else None
