"""Known-item questions: each title and heading that one document alone has asks for that document.

They are questions without the labour of judging, good for comparing two settings of one shelf. They say less than
questions that people asked: the words of a heading stand in its document.
"""

from __future__ import annotations

import hashlib
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The collection that was made, and how many titles and headings were left out, by the reason."""

    collection: Collection
    repeated: int
    short: int
    unchosen: int
    unwritable: int


def known_items(
    chunks: Iterable[ChunkRecord], *, name: str, count: int | None = None, seed: int = 0, least_words: int = LEAST_WORDS
) -> Made:
    """Questions from the titles and headings in the metadata (``title``, ``trail``) of chunks, and their documents.

    The same chunks and seed give the same questions, and one more document changes few of them. Headings are the same
    when they differ in letter case and blanks alone; one that stands in two documents asks for neither. Raises
    ``Incomparable`` when no question is left.
    """
    documents = {key: list(some) for key, some in groupby(sorted(chunks, key=_order), key=lambda one: one.doc_id)}
    written = {key: some for key, some in documents.items() if not any(sign in key for sign in "\t\r\n")}
    owners: dict[str, set[str]] = {}
    shown: dict[str, str] = {}
    for key, some in documents.items():
        for heading in _headings(some):
            plain = normal(heading)
            owners.setdefault(plain, set()).add(key)
            shown.setdefault(plain, " ".join(heading.split()))
    alone = {plain: next(iter(keys)) for plain, keys in owners.items() if len(keys) == 1}
    long = {plain: key for plain, key in alone.items() if len(plain.split()) >= least_words}
    usable = sorted((plain for plain, key in long.items() if key in written), key=lambda one: _lot(seed, one))
    chosen = usable if count is None else usable[:count]
    if not chosen:
        raise Incomparable(
            f"none of {len(owners):,} titles and headings asks for one document alone",
            hint="Add documents with titles and headings, or lower --min-words.",
        )
    questions = (Question(id=_lot(0, one)[:16], text=shown[one], judged={long[one]: 1}) for one in chosen)
    sources = tuple(Source(id=key, title=_title(some), text=text_of(some)) for key, some in sorted(written.items()))
    return Made(
        collection=Collection(name=name, questions=tuple(sorted(questions, key=lambda one: one.id)), sources=sources),
        repeated=len(owners) - len(alone),
        short=len(alone) - len(long),
        unwritable=len(long) - len(usable),
        unchosen=len(usable) - len(chosen),
    )


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


def _title(chunks: Sequence[ChunkRecord]) -> str:
    told = chunks[0].metadata.get("title")
    return " ".join(told.split()) if isinstance(told, str) else ""


def _headings(chunks: Sequence[ChunkRecord]) -> Iterator[str]:
    """The title and every heading of a document."""
    for one in chunks:
        metadata: Mapping[str, object] = one.metadata
        title, trail = metadata.get("title"), metadata.get("trail")
        told = [title, *(trail if isinstance(trail, list | tuple) else ())]
        yield from (heading for heading in told if isinstance(heading, str) and heading.strip())


def _lot(seed: int, plain: str) -> str:
    """What decides whether a heading is drawn: of its own words, so that other documents change nothing of it."""
    return hashlib.sha256(f"{seed}\0{plain}".encode("utf-8", "replace")).hexdigest()
