"""The engine: documents to entries, and a query to hits.

A query becomes words, demands and a vector. Each shelf ranks its chunks by both legs under the asker's grant and the
filter; the candidates of both are scored by both and blended; shelves are fused by rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from estante.index import analyzer, syntax
from estante.index.boundary import space_to_text
from estante.index.embedding import vectors
from estante.index.fusion import Blend, reciprocal_ranks
from estante.index.legs import Legs
from estante.index.marks import Marks
from estante.index.spelling import respelt
from estante.index.syntax import Question
from estante.index.wording import word_for_word
from estante.model.asking import Hit, Query, Results, ShelfReport
from estante.model.content import Chunk, Document, Span
from estante.model.errors import EstanteError
from estante.model.ports import WEIGHTS, Encoder, Entry, Quantised, Store, Weights

QUERY_CHARACTERS: Final = 4_000
"""As much of a question as is looked at; the rest of a pasted page adds noise and time."""

ENTRIES_VERSION: Final = "2"
"""Part of the analyzer's identity: how titles and trails join a chunk's own words."""

OPENING: Final = 200
"""Characters of a text in which a heading may stand that is told above it too."""

HEADING: Final = 4_000
"""Characters of a title or heading that are indexed."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What one shelf found, best first."""

    shelf: str
    hits: tuple[Hit, ...] = ()
    coverage: float = 0.0
    held: frozenset[str] = frozenset()
    asked: tuple[str, ...] = ()


class Engine:
    """Searches shelves with one encoder. Holds no state of any shelf; safe to use from several threads."""

    translator: str = "none"
    """The name of what translates questions, for whoever records how a search was made."""

    def __init__(self, encoder: Encoder, trust: Blend, weights: Weights = WEIGHTS) -> None:
        self.encoder = encoder
        self.trust = trust
        self.weights = weights

    @property
    def analysis(self) -> str:
        """The identity of the analysis, as a shelf records it."""
        return f"{analyzer.ANALYZER_VERSION}+{ENTRIES_VERSION}"

    @property
    def identity(self) -> dict[str, str]:
        """What a shelf must have been made with to be searched by this engine."""
        return {"space": space_to_text(self.encoder.space), "analyzer": self.analysis}

    # --- documents to entries ------------------------------------------------------------------------------------

    def entries(
        self, documents: Sequence[tuple[Document, Sequence[Span]]], kept: Iterable[Entry] = ()
    ) -> list[tuple[Entry, ...]]:
        """The entries of each document's chunks: terms counted, vectors quantised; one call to the encoder at most.

        ``kept`` are entries that this encoder made before: a text that is in one of them is not encoded again.
        """
        cut = [[document.cut(index, span) for index, span in enumerate(spans)] for document, spans in documents]
        read = [[_in_context(chunk) for chunk in chunks] for chunks in cut]
        known = {_in_context(entry.chunk): entry.vector for entry in kept}
        new = list(dict.fromkeys(text for texts in read for text in texts if text not in known))
        known.update(zip(new, vectors(self.encoder, self.encoder.passages, new), strict=True))
        counted = _Counted()
        return [
            tuple(counted.entry(chunk, known[text]) for chunk, text in zip(chunks, texts, strict=True))
            for chunks, texts in zip(cut, read, strict=True)
        ]

    # --- query to hits -------------------------------------------------------------------------------------------

    def search(self, query: Query, shelves: Mapping[str, Store]) -> Results:
        """The k best hits of all shelves, and which of them answered.

        Raises a shelf's own error when no other has a hit: an error is never an empty result. Raises ``QueryError``
        for a question that only says what to leave out.
        """
        text = query.text[:QUERY_CHARACTERS]
        question = Question(text, text) if query.literal else syntax.read(text)
        vector = self._vector(query, question)
        answered: list[_Ranked] = []
        reports: list[ShelfReport] = []
        errors: list[EstanteError] = []
        for name in sorted(shelves):
            try:
                answered.append(self._search_shelf(query, question, vector, name, shelves[name]))
                reports.append(ShelfReport(name, True))
            except EstanteError as error:
                errors.append(error)
                reports.append(ShelfReport(name, False, error.message))
        if errors and not any(ranked.hits for ranked in answered):
            raise errors[0]
        return Results(
            query=query.text,
            hits=_fuse(answered, query.k),
            shelves=tuple(reports),
            took_ms=0.0,
            coverage=max((ranked.coverage for ranked in answered), default=0.0),
            absent=_absent(answered),
        )

    def _vector(self, query: Query, question: Question) -> Quantised | None:
        text = question.text.strip()
        if query.mode == "lexical" or not text:
            return None
        found = self.questions([text])[0]
        return found if found.scale else None

    def questions(self, texts: Sequence[str]) -> list[Quantised]:
        """The vector of each question as a search compares it; all zeros where the encoder has nothing to say."""
        asked = [text[:QUERY_CHARACTERS].strip() for text in texts]
        return vectors(self.encoder, self.encoder.queries, asked)

    def _search_shelf(
        self, query: Query, question: Question, vector: Quantised | None, name: str, store: Store
    ) -> _Ranked:
        with store.view() as view:
            languages = view.languages(query.grant)
            if not languages:  # An empty shelf knows no stop words and has nothing to say about words.
                return _Ranked(name)
            wording = word_for_word(question, languages)
            words, unheld = respelt(wording, languages, view, query.grant) if query.fuzzy else (wording.words, ())
            legs = Legs(view, query, words, wording.demands, wording.phrases, self.weights)
            order, coverage, held = legs.ranked(vector, self.trust)
            marks = Marks(words)
            hits = tuple(
                Hit(rank=rank, score=score, chunk=chunk, shelf=name, legs=found, matches=marks.of(chunk))
                for rank, (chunk, score, found) in enumerate(order, start=1)
            )
        known = (text for text, there in zip(wording.texts, held, strict=True) if there and text not in unheld)
        return _Ranked(name, hits, coverage, frozenset(known), wording.texts)


def _absent(answered: Sequence[_Ranked]) -> tuple[str, ...]:
    """The words of the question that no shelf holds, in their order."""
    held = frozenset().union(*(ranked.held for ranked in answered))
    asked = [ranked.asked for ranked in answered if ranked.asked]
    # A stop word beside one shelf's languages may be a plain word beside another's: only what all asked counts.
    return tuple(word for word in (asked[0] if asked else ()) if word not in held and all(word in one for one in asked))


def _fuse(answered: Sequence[_Ranked], k: int) -> tuple[Hit, ...]:
    """One list out of several shelves', by rank: scores of two shelves cannot be compared."""
    found = [ranked for ranked in answered if ranked.hits]
    if len(found) < 2:
        return found[0].hits[:k] if found else ()
    hits = {(one.shelf, hit.rank): hit for one in found for hit in one.hits}
    scores = reciprocal_ranks([[(one.shelf, hit.rank) for hit in one.hits] for one in found])
    # Equal ranks are settled in favour of the shelf that holds more of the question's words.
    covered = {one.shelf: -one.coverage for one in found}
    order = sorted(hits, key=lambda key: (-scores[key], covered[key[0]], hits[key].document_id, hits[key].chunk.index))
    return tuple(replace(hits[key], rank=rank, score=scores[key]) for rank, key in enumerate(order[:k], start=1))


def _context(chunk: Chunk) -> list[str]:
    """Title and trail, without what the chunk's own beginning says already."""
    opening = chunk.text[:OPENING]
    told = [chunk.title, *chunk.trail]
    return [words for words in dict.fromkeys(told) if words and words not in opening]


def _in_context(chunk: Chunk) -> str:
    """The chunk as the encoder reads it: under its title and headings."""
    return "\n".join([*_context(chunk), chunk.text])


class _Counted:
    """Counts the terms of chunks; titles and headings that chunks share are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Counter[str]] = {}

    def entry(self, chunk: Chunk, vector: Quantised) -> Entry:
        """A chunk's entry; what its text opens with and says above it counts as heading alone."""
        title = self._terms(chunk.title, chunk.language)
        headings = [words for words in dict.fromkeys(chunk.trail) if words != chunk.title]
        trail: Counter[str] = Counter()
        for words in headings:
            trail.update(self._terms(words, chunk.language))
        body = Counter(analyzer.terms(chunk.text, chunk.language))
        opening = chunk.text[:OPENING]
        for words in (chunk.title, *headings):
            if words and words in opening:
                _take_away(body, self._terms(words, chunk.language))
        return Entry(chunk, body, vector, title, trail)

    def _terms(self, words: str, language: str) -> Counter[str]:
        found = self._known.get((words, language))
        if found is None:
            found = self._known[words, language] = Counter(analyzer.terms(words[:HEADING], language))
        return found


def _take_away(counts: Counter[str], gone: Mapping[str, int]) -> None:
    for term, count in gone.items():
        left = counts[term] - count
        if left > 0:
            counts[term] = left
        else:
            counts.pop(term, None)
