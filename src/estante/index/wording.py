"""A question in the terms of a shelf: words to score, what must be held, and phrases to look up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from estante.index import analyzer, lexical
from estante.index.phrases import Phrase
from estante.index.syntax import Clause, Question
from estante.model.ports import Demand, Word

UNSTEMMED: Final = ("und",)
"""The language whose terms are the words themselves, folded."""

_LAST: Final = "\U0010ffff"
"""Behind every character of a term."""

_ENDINGS: Final = (
    *("a", "o", "e", "s", "as", "os", "es", "ar", "er", "ir", "ado", "ida", "mente", "cao", "ao", "oes", "dade"),
    *("ed", "ing", "ion", "ions", "ment", "ly", "ity"),
)
"""How words go on whose stem is shorter than the beginning that is asked for: `licitaçõ*` is of the stem `licit`."""


_Readings = list[tuple[str, tuple[str, ...]]]
"""Words as they are written and their terms in each language."""


@dataclass(frozen=True, slots=True)
class Wording:
    """``texts`` are the words as they were written, one for each of ``words``."""

    texts: tuple[str, ...]
    words: tuple[Word, ...]
    demands: tuple[Demand, ...] = ()
    phrases: tuple[Phrase, ...] = ()


def word_for_word(question: Question, languages: Sequence[str]) -> Wording:
    """The question in the terms of these languages."""
    asked = analyzer.query_terms(question.words, languages)
    texts = [word.text for word in asked]
    words = [Word(word.terms) for word in asked]
    if not question.clauses:
        return Wording(tuple(texts), tuple(words))
    demands: list[Demand] = []
    phrases: list[Phrase] = []
    for clause in question.clauses:
        word = _beginning(clause.text, languages) if clause.begins else None
        if clause.begins and not clause.left_out:
            more = [(one.text, Word(one.terms)) for one in analyzer.query_terms(clause.text, languages)]
            for text, one in more if word is None else [(f"{clause.text}*", word)]:
                texts.append(text)
                words.append(one)
        if word is not None and clause.demands:
            demands.append(Demand(word, clause.field, not clause.left_out))
        elif clause.demands:
            held, whole = _held(clause, languages)
            demands += held
            phrases += [Phrase(clause.text, clause.field, clause.left_out)] if whole else []
    room = slice(analyzer.QUERY_WORDS)
    return Wording(tuple(texts[room]), tuple(words[room]), tuple(demands), tuple(phrases))


def whole_word(text: str) -> str | None:
    """The one word that a text is, folded; None where it is none or several."""
    found = [word.terms[0] for word in analyzer.query_terms(text, UNSTEMMED) if word.end - word.start == len(text)]
    return found[0] if len(found) == 1 else None


def _beginning(text: str, languages: Sequence[str]) -> Word | None:
    """The terms of all words that begin like this; None where it is more than one word."""
    word = whole_word(text)
    if word is None:
        return None
    codes = list(dict.fromkeys(map(lexical.tongue, languages)))
    ranges = [(f"{code}:{word}", f"{code}:{word}{_LAST}") for code in codes]
    terms: dict[str, None] = {}
    for language in languages if word.isalpha() else ():
        for ending in ("", *_ENDINGS):
            found = analyzer.terms(word + ending, language)
            terms |= dict.fromkeys(found if len(found) == 1 and ":" in found[0] else ())
    return Word(tuple(terms), (*ranges, *_bare(word, codes)))


def _bare(text: str, codes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The ranges of terms that name no language and begin like this: `e` does not stand for all of `en:`."""
    cuts = [edge for code in sorted(codes) if code.startswith(text) for edge in (f"{code}:", f"{code};")]
    yield from list(pairwise([text, *cuts, text + _LAST]))[::2]


def _held(clause: Clause, languages: Sequence[str]) -> tuple[list[Demand], bool]:
    """The words that a chunk must hold for a clause to be met, and whether their order is to be looked up too."""
    together = _together(clause.text, languages)
    whole = len(together) > 1 or any(len(some) > 1 for some in together)
    if clause.left_out:
        # To hold all words of a phrase is no reason to be left out: their order decides.
        return ([] if whole else [Demand(Word(_terms(some)), clause.field, False) for some in together]), whole
    telling = [some for some in together if not _is_common(some, languages)]
    return [Demand(Word(_terms(some)), clause.field) for some in telling or together], whole


def _is_common(some: _Readings, languages: Sequence[str]) -> bool:
    return any(analyzer.is_stopword(word, language) for word, _ in some for language in languages)


def _terms(some: _Readings) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for _, terms in some for term in terms))


def _together(text: str, languages: Sequence[str]) -> list[_Readings]:
    """The words of a text; those that overlap are readings of the same, of which a chunk needs to hold only one."""
    found: list[_Readings] = []
    last = 0
    for words in zip(*(analyzer.tokens(text, language) for language in languages), strict=True):
        start, end, _ = words[0]
        if start >= last or not found:
            found.append([])
        last = max(last, end)
        found[-1].append((text[start:end], tuple(word.term for word in words)))
    return found
