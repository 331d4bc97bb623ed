"""Words of a question that no chunk holds, and the words that they may be misspellings of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from estante.index import analyzer, typos
from estante.index.lexical import language_of
from estante.index.wording import Wording, whole_word
from estante.model.access import Grant
from estante.model.ports import Similar, View, Word

ALTERNATIVES: Final = 5
"""Terms that a misspelt word is looked for by: the nearest, and of these the most frequent."""

SHARE: Final = 0.5
"""What a word counts for with each edit: a passage with the word itself comes first."""


def respelt(
    wording: Wording, languages: Sequence[str], view: View, grant: Grant
) -> tuple[tuple[Word, ...], Collection[str]]:
    """The words, those that no chunk holds changed to what is like them; and which ones these were."""
    counts = view.frequencies(wording.words, grant)
    words, unheld = [], []
    for text, word, count in zip(wording.texts, wording.words, counts, strict=True):
        if not count and not word.ranges:
            unheld.append(text)
            word = _respelt(text, word, languages, view, grant)
        words.append(word)
    return tuple(words), unheld


def _respelt(text: str, word: Word, languages: Sequence[str], view: View, grant: Grant) -> Word:
    written = whole_word(text)
    most = typos.edits_of(written) if written else 0
    if written is None or not most:
        return word
    found = [*_misspelt(written, word, languages, view, grant)]
    for term in word.terms:
        stem = term.removeprefix(f"{language_of(term)}:")
        found += view.similar(term, min(most, typos.edits_of(stem)), grant) if typos.edits_of(stem) else []
    least = min((one.edits for one in found), default=0)
    chunks = {one.term: one.chunks for one in found if one.edits == least}
    terms = sorted(chunks, key=lambda term: (-chunks[term], term))[:ALTERNATIVES]
    return Word(tuple(terms), share=SHARE**least) if terms else word


def _misspelt(written: str, word: Word, languages: Sequence[str], view: View, grant: Grant) -> list[Similar]:
    """The terms of words one edit away: an edit in an ending that is cut off shows in no term."""
    text = " ".join(dict.fromkeys(typos.misspellings(written)))
    terms = list(dict.fromkeys(term for language in languages for term in analyzer.terms(text, language)))
    counts = view.frequencies([Word((term,)) for term in terms], grant)
    return [
        Similar(term, 1, count) for term, count in zip(terms, counts, strict=True) if count and term not in word.terms
    ]
