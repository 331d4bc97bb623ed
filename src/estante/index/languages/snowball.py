"""Snowball stemmers by language code, safe to call from any thread."""

import threading
from collections.abc import Callable
from typing import Final, Protocol

import Stemmer

VERSION: Final = "snowball-" + ".".join(Stemmer.version().split(".")[:2])
"""The rules in use; other rules may give other stems, so it is part of the analyzer's version."""

ALGORITHMS: Final = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

SCRIPTS: Final = {
    "ar": ("ARABIC",),
    "el": ("GREEK",),
    "fa": ("ARABIC",),
    "hi": ("DEVANAGARI",),
    "hy": ("ARMENIAN",),
    "ne": ("DEVANAGARI",),
    "ru": ("CYRILLIC",),
    "sr": ("CYRILLIC", "LATIN"),
    "ta": ("TAMIL",),
    "yi": ("HEBREW",),
}
"""The scripts (first word of a letter's Unicode name) a stemmer reads, where it is not Latin alone."""


class _Engine(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 -- PyStemmer's name


class _Engines(threading.local):
    """One set of engines a thread: an engine keeps the word it works on inside itself."""

    def __init__(self) -> None:
        self.by_algorithm: dict[str, _Engine] = {}


_engines = _Engines()


def known(code: str) -> bool:
    """Whether the installed Snowball stems this language."""
    return ALGORITHMS.get(code) in _INSTALLED


def stemmer(code: str) -> Callable[[str], str]:
    """The function from a lower-case word to its Snowball stem. `code` must be `known`."""
    algorithm = ALGORITHMS[code]

    def stem(word: str) -> str:
        engine = _engines.by_algorithm.get(algorithm)
        if engine is None:
            # No cache inside: the analyzer remembers whole words.
            engine = _engines.by_algorithm[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return engine.stemWord(word)

    return stem


_INSTALLED: Final = frozenset(Stemmer.algorithms())
