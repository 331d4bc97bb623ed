"""Speed of the analysis on one core, beside the plainest one there is, and how long it makes texts.

Reads the collections in the corpora/ folder of ESTANTE_DATA (or ../shared/data). Figures are megabytes of UTF-8 for
each second of processor time, the best of three runs: *first* through a collection with nothing remembered, *again*
with the words remembered, and *places* with the offsets of every word, nothing remembered. *Plain* is lower case, a
pattern for words and Snowball with a memory. The last column is what whole forms add.

    python bench/analysis.py
"""

from __future__ import annotations

import gzip
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import Stemmer

from estante.index import analyzer

DATA = Path(os.environ.get("ESTANTE_DATA", Path(__file__).parents[2] / "shared" / "data"))
COLLECTIONS: Final = {
    "libreoffice-help-pt-BR": "pt",
    "debian-handbook-pt-BR": "pt",
    "debdesc-pt_BR": "pt",
    "debdesc-en": "en",
    "python-doc": "en",
    "postgresql-doc": "en",
}
MEGABYTES: Final = 12
RUNS: Final = 3


def texts(name: str) -> list[str]:
    """The texts of a collection, up to some megabytes."""
    found, size = [], 0
    with gzip.open(DATA / "corpora" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            found.append(json.loads(line)["text"])
            size += len(found[-1].encode())
            if size > MEGABYTES * 1e6:
                break
    return found


def rate(work: Callable[[str], object], corpus: list[str], before: Callable[[], object] = lambda: None) -> float:
    """Megabytes a second of processor time."""
    size, best = sum(len(text.encode()) for text in corpus), float("inf")
    for _ in range(RUNS):
        before()
        started = time.process_time()
        for text in corpus:
            work(text)
        best = min(best, time.process_time() - started)
    return size / best / 1e6


def plain(language: str) -> Callable[[str], list[str]]:
    stemmer = Stemmer.Stemmer(language, 100_000)
    word = re.compile(r"\w+")
    return lambda text: stemmer.stemWords(word.findall(text.lower()))


def forget() -> None:
    """Empties what the analysis remembers; its patterns stay."""
    analyzer._memory.cache_clear()
    analyzer.terms("x", "pt")


def longer(corpus: list[str], language: str) -> float:
    """How many terms more there are than words of letters and digits."""
    word = re.compile(r"[^\W_]+")
    return sum(len(analyzer.terms(text, language)) for text in corpus) / sum(len(word.findall(text)) for text in corpus)


def main() -> None:
    print("| collection | MB | first | again | places | plain | terms a word |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, language in COLLECTIONS.items():
        corpus = texts(name)
        some = corpus[:2_000]
        figures = (
            rate(lambda text, code=language: analyzer.terms(text, code), corpus, forget),  # type: ignore[misc]
            rate(lambda text, code=language: analyzer.terms(text, code), corpus),  # type: ignore[misc]
            rate(lambda text, code=language: list(analyzer.tokens(text, code)), some, forget),  # type: ignore[misc]
            rate(plain(language), corpus),
        )
        size = sum(len(text.encode()) for text in corpus) / 1e6
        print(
            f"| {name} | {size:.1f} | {' | '.join(f'{figure:.1f}' for figure in figures)} "
            f"| {longer(corpus, language):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
