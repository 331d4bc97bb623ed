"""Known-item questions: each title and heading that one document alone has asks for that document.

They are questions without the labour of judging, good for comparing two settings of one shelf. They say less than
questions that people asked: the words of a heading stand in its document.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from estante.contract.models import ChunkRecord
from estante.evaluate.collection import Collection, Question, Source
from estante.evaluate.errors import Incomparable

LEAST_WORDS: Final = 2
"""Shorter headings (*Introduction*) ask for nothing in particular."""

_MARKUP: Final = re.compile(r"^[\s#=*_>\-+|.0-9]+|[\s#*_|]+$")
"""What stands around a heading in its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """A document with its title and headings."""

    id: str
    title: str
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The collection that was made, and how many titles and headings were left out, by the reason."""

    collection: Collection
    repeated: int
    short: int
    unchosen: int
    unwritable: int


def known_items(
    documents: Iterable[Titled], *, name: str, count: int | None = None, seed: int = 0, least_words: int = LEAST_WORDS
) -> Made:
    """Questions from titles and headings, with the documents as the corpus.

    The same documents and seed give the same questions, and one more document changes few of them. Headings are the
    same when they differ in letter case and blanks alone. One that another document has too, as a heading or as a line
    of its text, asks for neither. Raises ``Incomparable`` when no question is left.
    """
    held = sorted(documents, key=lambda one: one.id)
    shown: dict[str, str] = {}
    asking: dict[str, set[str]] = {}
    for one in held:
        for heading in (one.title, *one.headings):
            if plain := normal(heading):
                asking.setdefault(plain, set()).add(one.id)
                shown.setdefault(plain, " ".join(heading.split()))
    written = {one.id for one in held if not any(sign in one.id for sign in "\t\r\n")}
    repeated = _repeated(asking, held)
    alone = {plain: next(iter(keys)) for plain, keys in asking.items() if plain not in repeated}
    long = {plain: key for plain, key in alone.items() if len(plain.split()) >= least_words}
    usable = sorted((plain for plain, key in long.items() if key in written), key=lambda one: _lot(seed, one))
    chosen = usable if count is None else usable[:count]
    if not chosen:
        raise Incomparable(
            f"none of {len(asking):,} titles and headings asks for one document alone",
            hint="Add documents with titles and headings, or lower --min-words.",
        )
    questions = (Question(id=_lot(0, one)[:16], text=shown[one], judged={long[one]: 1}) for one in chosen)
    sources = (Source(id=one.id, title=" ".join(one.title.split()), text=one.text) for one in held if one.id in written)
    return Made(
        collection=Collection(
            name=name, questions=tuple(sorted(questions, key=lambda one: one.id)), sources=tuple(sources)
        ),
        repeated=len(repeated),
        short=len(alone) - len(long),
        unwritable=len(long) - len(usable),
        unchosen=len(usable) - len(chosen),
    )


def _repeated(asking: Mapping[str, set[str]], documents: Sequence[Titled]) -> set[str]:
    """The headings that more than one document has, be it as a line of its text."""
    found = {plain for plain, keys in asking.items() if len(keys) > 1}
    for one in documents:
        for line in one.text.splitlines():
            keys = asking.get(normal(_MARKUP.sub("", line)))
            if keys is not None and one.id not in keys:
                found.add(normal(_MARKUP.sub("", line)))
    return found


def titled(chunks: Iterable[ChunkRecord]) -> list[Titled]:
    """The documents of a pipeline's chunks, with what their metadata tells: ``title``, and headings in ``trail``."""
    made = []
    for key, group in groupby(sorted(chunks, key=_order), key=lambda one: one.doc_id):
        some = list(group)
        title = some[0].metadata.get("title")
        headings = tuple(dict.fromkeys(_headings(some)))
        told = title if isinstance(title, str) else ""
        made.append(Titled(id=key, title=told, headings=headings, text=text_of(some)))
    return made


def normal(heading: str) -> str:
    """The heading without letter case and with single blanks."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", heading).casefold()).split())


def text_of(chunks: Sequence[ChunkRecord]) -> str:
    """The text of a document from its chunks in order: by their spans if all have one, else one below the other."""
    if any(one.char_start is None or one.char_end is None for one in chunks):
        return "\n\n".join(one.text for one in chunks)
    pieces: list[str] = []
    at = 0
    for one in sorted(chunks, key=lambda one: (one.char_start or 0, one.char_end or 0)):
        start = one.char_start or 0
        # What no chunk holds keeps its room, so that spans stay true.
        pieces.append("\n" * max(0, start - at))
        pieces.append(one.text[max(0, at - start) :])
        at = max(at, start + len(one.text))
    return "".join(pieces)


def _order(one: ChunkRecord) -> tuple[str, int]:
    return one.doc_id, one.doc_chunk_index


def _headings(chunks: Sequence[ChunkRecord]) -> Iterator[str]:
    for one in chunks:
        trail = one.metadata.get("trail")
        if isinstance(trail, list | tuple):
            yield from (heading for heading in trail if isinstance(heading, str) and heading.strip())


def _lot(seed: int, plain: str) -> str:
    """What decides whether a heading is drawn: of its own words, so that other documents change nothing of it."""
    return hashlib.sha256(f"{seed}\0{plain}".encode("utf-8", "replace")).hexdigest()
