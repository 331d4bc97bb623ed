"""The engine: documents to entries, and a query to hits.

A query becomes words and a vector. Each shelf ranks its chunks by both legs under the asker's grant and the filter;
the candidates of both are scored by both and blended; shelves are fused by rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from estante.index import analyzer
from estante.index.boundary import space_to_text
from estante.index.embedding import vectors
from estante.index.fusion import Blend, blend, reciprocal_ranks
from estante.index.ranking import ordered
from estante.model.asking import Hit, Leg, Query, Results, ShelfReport
from estante.model.content import Chunk, Document, Span
from estante.model.errors import EstanteError, NotFound
from estante.model.ports import Encoder, Entry, Found, Quantised, Store, View, Word

CANDIDATES: Final = 100
"""Chunks that each leg brings to the fusion, or k if that is more."""

QUERY_CHARACTERS: Final = 4_000
"""As much of a question as is looked at; the rest of a pasted page adds noise and time."""

ENTRIES_VERSION: Final = "1"
"""Part of the analyzer's identity: how titles and trails join a chunk's own words."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What one shelf found, best first."""

    shelf: str
    hits: tuple[Hit, ...]
    coverage: float
    held: frozenset[str]
    asked: tuple[str, ...]


class Engine:
    """Searches shelves with one encoder. Holds no state of any shelf; safe to use from several threads."""

    translator: str = "none"
    """The name of what translates questions, for whoever records how a search was made."""

    def __init__(self, encoder: Encoder, trust: Blend) -> None:
        self.encoder = encoder
        self.trust = trust

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
        return [
            tuple(Entry(chunk, _terms(chunk), known[text]) for chunk, text in zip(chunks, texts, strict=True))
            for chunks, texts in zip(cut, read, strict=True)
        ]

    # --- query to hits -------------------------------------------------------------------------------------------

    def search(self, query: Query, shelves: Mapping[str, Store]) -> Results:
        """The k best hits of all shelves, and which of them answered.

        Raises a shelf's own error when no other has a hit: an error is never an empty result.
        """
        vector = self._vector(query)
        answered: list[_Ranked] = []
        reports: list[ShelfReport] = []
        errors: list[EstanteError] = []
        for name in sorted(shelves):
            try:
                answered.append(self._search_shelf(query, vector, name, shelves[name]))
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

    def _vector(self, query: Query) -> Quantised | None:
        text = query.text[:QUERY_CHARACTERS].strip()
        if query.mode == "lexical" or not text:
            return None
        found = self.questions([text])[0]
        return found if found.scale else None

    def questions(self, texts: Sequence[str]) -> list[Quantised]:
        """The vector of each question as a search compares it; all zeros where the encoder has nothing to say."""
        asked = [text[:QUERY_CHARACTERS].strip() for text in texts]
        return vectors(self.encoder, self.encoder.queries, asked)

    def _search_shelf(self, query: Query, vector: Quantised | None, name: str, store: Store) -> _Ranked:
        with store.view() as view:
            languages = view.languages(query.grant)
            if not languages:  # An empty shelf knows no stop words and has nothing to say about words.
                return _Ranked(name, (), 0.0, frozenset(), ())
            asked = analyzer.query_terms(query.text[:QUERY_CHARACTERS], languages)
            words = [Word(word.terms) for word in asked]
            depth = max(CANDIDATES, query.k)
            lexical = view.lexical(words, depth, query.grant, query.where)
            found = () if query.mode == "dense" else lexical.found
            near = () if vector is None else view.nearest(vector, depth, query.grant, query.where)
            best = self._order(view, query, words, vector, found, near, lexical.coverage)[: query.k]
            chunks = view.chunks([ref for ref, _ in best], query.grant)
        legs = {"lexical": _places(found), "dense": _places(near)}
        matches = _Matches(frozenset(term for word in words for term in word.terms))
        hits = tuple(
            Hit(rank=rank, score=score, chunk=chunk, shelf=name, legs=_legs(ref, legs), matches=matches.of(chunk))
            for rank, ((ref, score), chunk) in enumerate(zip(best, chunks, strict=True), start=1)
        )
        held = frozenset(word.text for word, found in zip(asked, lexical.held, strict=True) if found)
        return _Ranked(name, hits, lexical.coverage, held, tuple(word.text for word in asked))

    def _order(
        self,
        view: View,
        query: Query,
        words: Sequence[Word],
        vector: Quantised | None,
        found: tuple[Found, ...],
        near: tuple[Found, ...],
        coverage: float,
    ) -> list[tuple[int, float]]:
        """The candidates of both legs as (ref, score), best first."""
        if not near:
            return [(one.ref, one.score) for one in found]
        if not found:
            return [(one.ref, one.score) for one in near]
        refs = list(dict.fromkeys(one.ref for one in (*found, *near)))
        by_words, by_vector = view.bm25(words, refs, query.grant), view.cosines(_known(vector), refs)
        scores = blend(by_words, by_vector, self.trust.weight(coverage))
        return ordered(zip(refs, scores, strict=True), view.tie)


def _known(vector: Quantised | None) -> Quantised:
    if vector is None:
        raise NotFound("a dense leg without a vector", hint="This is a fault of Estante; please report it.")
    return vector


def _places(found: Sequence[Found]) -> dict[int, tuple[int, float]]:
    return {one.ref: (rank, one.score) for rank, one in enumerate(found, start=1)}


def _legs(ref: int, places: Mapping[str, Mapping[int, tuple[int, float]]]) -> tuple[Leg, ...]:
    return tuple(Leg(name, *found[ref]) for name, found in places.items() if ref in found)


class _Matches:
    """Where a question's words stand in chunks; what was decided of a word in one chunk serves the next."""

    def __init__(self, terms: frozenset[str]) -> None:
        self._terms = terms
        self._finders: dict[str, analyzer.Finder] = {}

    def of(self, chunk: Chunk) -> tuple[Span, ...]:
        """The matching words of a chunk in document offsets, without overlaps."""
        if not self._terms:
            return ()
        finder = self._finders.get(chunk.language)
        if finder is None:
            finder = self._finders[chunk.language] = analyzer.Finder(chunk.language, self._terms)
        found, last, offset = [], 0, chunk.span.start
        for start, end in finder.places(chunk.text):
            if start >= last:
                last = end
                found.append(Span(offset + start, offset + end))
        return tuple(found)


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
    opening = chunk.text[:200]
    told = [chunk.title, *chunk.trail]
    return [words for words in dict.fromkeys(told) if words and words not in opening]


def _in_context(chunk: Chunk) -> str:
    """The chunk as the encoder reads it: under its title and headings."""
    return "\n".join([*_context(chunk), chunk.text])


def _terms(chunk: Chunk) -> Counter[str]:
    """The chunk's terms with their counts; title and headings count once beside its own words."""
    found = Counter(analyzer.terms(chunk.text, chunk.language))
    for words in _context(chunk):
        found.update(analyzer.terms(words, chunk.language))
    return found
