"""Where the words of a text are, in any language."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from typing import Final

from estante.index.languages import citations, compounds
from estante.index.languages.units import compound, units
from estante.index.languages.words import Word, parts, read

_ALONE: Final = r"[A-Za-zÀ-ÖØ-öø-ÿ]++(?=[\n,;)\]\"!?>*|=\u201d]| [^0-9]|\.[ \n][^0-9])"
"""Most words: letters that nothing can follow. The other patterns would find the same, more slowly."""

_JOINING: Final = re.compile(r"[-_./@:&+\\,\u2010\u2011]")
_SHORT: Final = 3
_NUMBERS: Final = re.compile(r"[0-9]+(?:[-./;][0-9]+)*")
_CITED: Final = re.compile(r"art\.[0-9]+[a-z]?|§[0-9]+")
_CITING: Final = re.compile("[0-9§]")


@cache
def runs() -> re.Pattern[str]:
    """Finds the runs of characters that hold words; `split` says which words.

    What a run holds depends on its characters alone, so it can be remembered.
    """
    return re.compile(f"{_ALONE}|{citations.pattern()}|{compound()}")


def words(text: str, *, asked: bool = False) -> Iterator[Word]:
    """The words of a text, by their starts, as `split` gives them."""
    for run in runs().finditer(text):
        offset = run.start()
        for start, end, word in split(run.group(), asked=asked):
            yield offset + start, offset + end, word


def split(run: str, *, asked: bool = False) -> list[Word]:
    """The words of one run: a whole stands among its parts.

    A question is `asked` for what it means: `camelCase` and `5º` are one word each, and of the parts of a whole those
    are left out that say little without it.
    """
    if not run.isalnum():
        cited = citations.wholes(run) if _CITING.search(run) else None
        if cited is not None:
            found = _cited(run, cited, asked)
            return _meant(found) if asked else found
        if _JOINING.search(run):
            found = compounds.split(run, fine=not asked)
            return _meant(found) if asked else found
    found, _ = read(run)
    return sorted(found if asked else [*found, *parts(run, found)])


def _cited(run: str, wholes: list[Word], asked: bool) -> list[Word]:
    """The words of a citation, and what it is indexed as. A question for `art. 5º` means the number."""
    found = set(wholes)
    if run[0] == "§":
        found.add((0, len(run) - len(run.lstrip("§")), "§"))
    for unit in units().finditer(run):
        words, _ = read(unit.group())
        inside = parts(unit.group(), words)
        chosen = (inside or words) if asked else [*words, *inside]
        found.update((unit.start() + start, unit.start() + end, word) for start, end, word in chosen)
    return sorted(found)


def _meant(found: list[Word]) -> list[Word]:
    """The words without those that a whole makes needless: short parts of a word, all numbers of a number but one."""
    needless: set[Word] = set()
    for whole in found:
        start, end, text = whole
        first = bisect_left(found, (start,))
        last = bisect_left(found, (end,))
        inside = [word for word in found[first:last] if word[1] <= end and word != whole]
        if not inside:
            continue
        if text.isalpha():
            needless.update(word for word in inside if len(word[2]) <= _SHORT)
        elif _NUMBERS.fullmatch(text) or _CITED.fullmatch(text):
            numbers = sorted((word for word in inside if word[2].isdigit()), key=lambda word: -len(word[2]))
            needless.update(numbers[1:])
        if _CITED.fullmatch(text):
            needless.update(word for word in inside if not word[2].isdigit())
    return [word for word in found if word not in needless]
