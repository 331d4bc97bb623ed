"""From text to the terms that are indexed and asked for, by one path for both.

A *word* is what is written between separators; its *term* is what the index holds. Words are folded (lower case, no
accents, plain letters) and then stemmed by the rules of the text's language. A stemmed term carries its language
before a colon, `pt:licit`, so that stems of two languages never meet. A term that no stemmer touched (numbers, codes
such as `m2` and `c++`, words in `und`, scripts the language is not written in) is bare, and meets itself in texts of
any language. A colon separates words, so no term holds another one.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from estante.index.languages import english, portuguese, snowball, spanish
from estante.index.languages.abbreviations import SPELT_OUT
from estante.index.languages.letters import unaccented
from estante.index.languages.runs import runs, split, words
from estante.index.languages.words import WORD_LENGTH

ANALYZER_VERSION: Final = f"2/{snowball.VERSION}"
"""Changes when any text may give other terms; a shelf made with another one must be indexed again."""

QUERY_WORDS: Final = 64
"""The most words of a query that are searched for."""

_QUERY_READ: Final = 64 * QUERY_WORDS  # words of a query looked at, stop words and repetitions included
_REMEMBERED: Final = 1 << 16  # runs of a language
_WORDS: Final = 1 << 14  # words of such runs as hold several, or are written with capitals or accents
_PLACED: Final = 1 << 13  # the same with places: only texts that are shown need them

_RULES: Final = {"pt": portuguese.stem, "en": english.stem, "es": spanish.stem}
_STOP_WORDS: Final = {"pt": portuguese.STOP_WORDS, "en": english.STOP_WORDS, "es": spanish.STOP_WORDS}
_WHOLE: Final = frozenset("./@&+;$~")  # signs that only a whole of several parts holds
_NO_WORDS: Final[frozenset[str]] = frozenset()


class Token(NamedTuple):
    """A written word, `text[start:end]`, and its term. Offsets are code points."""

    start: int
    end: int
    term: str


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query and its distinct terms, one for each language asked, in that order."""

    text: str
    start: int
    end: int
    terms: tuple[str, ...]


def tokens(text: str, language: str) -> Iterator[Token]:
    """The words of a text in the order of their starts, stop words included.

    Words overlap in two cases only: pairs of characters in scripts without spaces, and one character that stands for
    several, such as `½` for 1 and 2. `language` is a code such as `pt` or `pt-BR`; an unknown one is `und`.
    """
    placed = _terms(language).placed
    for run in runs().finditer(text):
        offset = run.start()
        for start, end, term in placed(run.group()):
            yield Token(offset + start, offset + end, term)


class Finder:
    """Finds the words of texts in one language whose term is wanted, and remembers what it decided of each."""

    def __init__(self, language: str, wanted: Collection[str]) -> None:
        self._memory = _terms(language)
        self._wanted = wanted
        self._firsts = self._memory.first_letters(wanted)
        self._decided: dict[str, tuple[tuple[int, int], ...]] = {}

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """The bounds of those of `tokens(text, language)` that have a wanted term."""
        written = set(runs().findall(text))
        if self._firsts is not None:
            written = {run for run in written if run[0] in self._firsts or not _is_one_word(run)}
        wanted = {run: found for run in written if (found := self._decide(run))}
        if not wanted:
            return
        for run in runs().finditer(text):
            for start, end in wanted.get(run.group(), ()):
                yield run.start() + start, run.start() + end

    def _decide(self, run: str) -> tuple[tuple[int, int], ...]:
        found = self._decided.get(run)
        if found is None:
            placed = self._memory.placed(run)
            found = tuple((start, end) for start, end, term in placed if term in self._wanted)
            self._decided[run] = found
        return found


def _is_one_word(run: str) -> bool:
    return run.isascii() and run.isalpha() and (run.islower() or run[1:].islower())


def terms(text: str, language: str) -> list[str]:
    """The terms of `tokens(text, language)`, at the speed of indexing."""
    return list(chain.from_iterable(map(_terms(language).__getitem__, runs().findall(text))))


def is_stopword(word: str, language: str) -> bool:
    """Whether the written word says nothing of a text's subject, as `de` or `the`. Compared folded, never stemmed."""
    folded = [word for _, _, word in words(word, asked=True)]
    return bool(folded) and _STOP_WORDS.get(_code(language), _NO_WORDS).issuperset(folded)


def query_terms(text: str, languages: Sequence[str]) -> list[QueryWord]:
    """The words to search for, at most `QUERY_WORDS`, each with its terms in every language of the shelf.

    A stop word of any of the languages is left out, unless that would leave nothing; so is a word whose terms an
    earlier word has. Without languages words are only folded.
    """
    codes = list(dict.fromkeys(map(_code, languages))) or ["und"]
    stop_words = _stop_words(tuple(codes))
    asked: dict[tuple[str, ...], QueryWord] = {}
    set_aside: dict[tuple[str, ...], QueryWord] = {}
    for start, end, word in islice(words(text, asked=True), _QUERY_READ):
        own = tuple(dict.fromkeys(_memory(code).term(word) for code in codes))
        kept = set_aside if word in stop_words else asked
        kept.setdefault(own, QueryWord(text[start:end], start, end, own))
        if len(asked) == QUERY_WORDS:
            break
    return list((asked or set_aside).values())[:QUERY_WORDS]


@lru_cache(maxsize=64)
def _stop_words(codes: tuple[str, ...]) -> frozenset[str]:
    return _NO_WORDS.union(*(_STOP_WORDS.get(code, _NO_WORDS) for code in codes))


class _Terms(dict[str, tuple[str, ...]]):
    """The terms of each run of characters, for one language; remembers the runs it has met.

    Safe in threads: an entry depends on its key alone, and the stemmers are each thread's own.
    """

    def __init__(self, code: str) -> None:
        super().__init__()
        self._prefix = code + ":"
        self._placed: dict[str, tuple[tuple[int, int, str], ...]] = {}
        self._words: dict[str, str] = {}  # parts of runs stand in many
        self._spelt_out = SPELT_OUT.get(code, {})
        self._scripts = snowball.SCRIPTS.get(code, ("LATIN",))
        self._stem: Callable[[str], str] | None = _RULES.get(code)
        if self._stem is None and snowball.known(code):
            self._stem = snowball.stemmer(code)

    def __missing__(self, run: str) -> tuple[str, ...]:
        if run.islower() and _is_one_word(run):  # most of them; split would say the same
            found: tuple[str, ...] = (self._term(run[:WORD_LENGTH]),)
        else:
            found = tuple([self.term(word) for _, _, word in split(run)])
        if len(run) <= WORD_LENGTH:
            if len(self) >= _REMEMBERED:
                self._forget()
            self[run] = found
        return found

    def _forget(self) -> None:
        """Makes room: compounds and numbers go first, since few of them come again."""
        words = {run: found for run, found in dict(self).items() if run.isalpha()}
        self.clear()
        if len(words) < _REMEMBERED * 3 // 4:
            self.update(words)

    def first_letters(self, terms: Collection[str]) -> frozenset[str] | None:
        """The letters that a plain word must begin with to have one of the terms; None where that cannot be told.

        The rules of our own languages never change a word's first letter, as some stemmers do.
        """
        if self._prefix[:-1] not in _RULES:
            return None
        firsts = {term.removeprefix(self._prefix)[:1] for term in terms}
        return frozenset(firsts | {first.upper() for first in firsts})

    def placed(self, run: str) -> tuple[tuple[int, int, str], ...]:
        """The terms of a run with the places of their words in it."""
        found = self._placed.get(run)
        if found is None:
            found = tuple([(start, end, self.term(word)) for start, end, word in split(run)])
            if len(run) <= WORD_LENGTH:
                if len(self._placed) >= _PLACED:
                    self._placed.clear()
                self._placed[run] = found
        return found

    def term(self, word: str) -> str:
        """The term of a folded word."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= _WORDS:
                self._words.clear()
            found = self._words[word] = self._term(word)
        return found

    def _term(self, word: str) -> str:
        word = self._spelt_out.get(word, word)
        if self._stem is None or not self._is_stemmed(word):
            return word
        stem = self._stem(word) or word
        return self._prefix + (unaccented(stem) if "LATIN" in self._scripts else stem)

    def _is_stemmed(self, word: str) -> bool:
        if word.isascii():
            return word.isalpha() and "LATIN" in self._scripts
        if not _WHOLE.isdisjoint(word) or any(map(str.isnumeric, word)):
            return False
        return unicodedata.name(word[0], "").split(" ")[0] in self._scripts


_memory = cache(_Terms)


def _terms(language: str) -> _Terms:
    return _memory(_code(language))


@lru_cache(maxsize=256)
def _code(language: str) -> str:
    """The code of a language there is a stemmer for, or `und`: `pt` for `pt-BR`, `PT_br` and `pt`."""
    code = re.split("[-_]", language, maxsplit=1)[0].lower()
    return code if code in _RULES or snowball.known(code) else "und"
