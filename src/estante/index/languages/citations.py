"""What is written in several words and cited in one way: dates, laws, articles, keys in groups of digits.

Dates are understood as they are written in Portuguese, the day first, unless that cannot be.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from estante.index.languages.units import NUMBER, letter
from estante.index.languages.words import Word

# Ç stands beside ç because case is ignored in ASCII alone.
_MONTHS: Final = (
    "janeiro january enero jan ene",
    "fevereiro february febrero fev feb",
    "março marÇo marc\u0327o marco march marzo mar",
    "abril april abr apr",
    "maio mayo may mai",
    "junho june junio jun",
    "julho july julio jul",
    "agosto august ago aug",
    "setembro september septiembre setiembre set sep sept",
    "outubro october octubre out oct",
    "novembro november noviembre nov",
    "dezembro december diciembre dez dec dic",
)
_NUMBERS: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH: Final = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_SPACE: Final = "[ \u00a0]"
_DE: Final = f"{_SPACE}del?{_SPACE}"
_DAY: Final = r"(?P<day>[0-9]{1,2})"
_YEAR: Final = "(?P<year>[0-9]{4})"
_COUNT: Final = rf"(?:{NUMBER}|[0-9]{{1,4}})(?![.,/]?[0-9])"
_ORDINAL: Final = r"(?:\.?[ºª°]|o)?"
_LONG: Final = (
    rf"{_DAY}(?:[ºª°o]|st|nd|rd|th)?(?:{_DE}|[-/ \u00a0])(?P<month>{_MONTH})(?:{_DE}|\.?,?[-/ \u00a0]){_YEAR}"
)
_MONTH_FIRST: Final = rf"(?P<month>{_MONTH})\.?{_SPACE}{_DAY}(?:st|nd|rd|th)?,?{_SPACE}{_YEAR}"
_LAW: Final = rf"(?P<law>{NUMBER}|[0-9]{{1,6}}),?{_DE}"
_KEY: Final = rf"(?P<key>[0-9]{{4}}(?:{_SPACE}[0-9]{{4}}){{10}})"
"""The access key of an electronic invoice."""

_ARTICLE: Final = (
    rf"art(?:igo|icle|[iíÍ]culo|i\u0301culo)?s?(?:\.{_SPACE}?|{_SPACE})"
    rf"(?P<article>{_COUNT}){_ORDINAL}(?P<letter>-[a-z])?"
)
_PARAGRAPH: Final = rf"(?:§§?{_SPACE}?|par(?:[aáÁ]|a\u0301)grafos?{_SPACE})(?P<paragraph>{_COUNT}){_ORDINAL}"

_WITH_DIGIT: Final = (_LAW + _YEAR, _LAW + _LONG, _LONG, _KEY)
_WITH_LETTER: Final = (_ARTICLE, _PARAGRAPH, _MONTH_FIRST)
_READERS: Final = tuple(re.compile(f"(?ai:{one})") for one in (*_WITH_DIGIT, *_WITH_LETTER, "§"))

_IN_DIGITS_PERHAPS: Final = re.compile("[0-9][-./][0-9]")
_IN_DIGITS: Final = tuple(
    re.compile(rf"(?<![0-9])(?<![0-9][-./]){digits}(?![-./]?[0-9])")
    for digits in (
        r"(?P<year>[0-9]{4})([-./])(?P<month>[0-9]{2})\2(?P<day>[0-9]{2})",
        r"(?P<day>[0-9]{1,2})([-./])(?P<month>[0-9]{1,2})\2(?P<year>[0-9]{4})",
        r"(?P<day>[0-9]{2})(/)(?P<month>[0-9]{2})/(?P<year>[0-9]{2})",
    )
)


@cache
def pattern() -> str:
    """Finds all of them at the beginning of a word; without groups."""
    digit, letter_first = (
        re.sub(r"\(\?P<[a-z]+>", "(?:", "|".join(patterns)) for patterns in (_WITH_DIGIT, _WITH_LETTER)
    )
    # A quick look first: nearly all words are none of them.
    return (
        rf"(?:(?=[0-9])(?ai:{digit})|(?=[§adefjmnopsADEFJMNOPS])"
        rf"(?=§|[a-zA-Z]{{3,10}}+\.?{_SPACE}?[0-9]|[aA][rR][tT]|[pP][aA][rR])(?ai:{letter_first}))(?!{letter()})|§"
    )


def dates(written: str) -> Iterator[Word]:
    """The dates in digits, each as `2024-03-12`."""
    if not _IN_DIGITS_PERHAPS.search(written):
        return
    for pattern in _IN_DIGITS:
        for found in pattern.finditer(written):
            date = _date(found["year"], found["month"], found["day"])
            if date:
                yield found.start(), found.end(), date


def wholes(written: str) -> list[Word] | None:
    """What a citation is indexed as beside its words; None where the text is none.

    A date is `2024-03-12`, a law `8112/1990`, an article `art.5a`, a paragraph `§2`, a key its digits.
    """
    found = next(filter(None, (reader.fullmatch(written) for reader in _READERS)), None)
    if found is None:
        return None
    text = {name: value for name, value in found.groupdict().items() if value is not None}
    wholes: list[Word] = []
    if "month" in text:
        date = _date(text["year"], str(_NUMBERS[text["month"].lower()]), text["day"])
        if date:
            wholes.append((min(found.start("day"), found.start("month")), found.end("year"), date))
    if "law" in text:
        wholes.append((0, len(written), f"{_digits(text['law'])}/{text['year']}"))
    if "key" in text:
        wholes.append((0, len(written), "".join(filter(str.isdigit, written))))
    if "article" in text:
        added = text.get("letter", "").lstrip("-").lower()
        wholes.append((0, len(written), f"art.{_digits(text['article'])}{added}"))
    if "paragraph" in text:
        wholes.append((0, len(written), f"§{_digits(text['paragraph'])}"))
    return wholes


def numbered(number: str, year: str) -> str:
    """A number and its year, of a law or the like: `8112/90` is `8112/1990`; small numbers may be a day."""
    digits = number.replace(".", "").lstrip("0")
    if len(year) == 2 and (len(digits) > 2 or (digits and int(digits) > 31)):
        year = _century(year)
    return f"{number}/{year}"


def _century(year: str) -> str:
    return ("20" if year < "50" else "19") + year


def _digits(text: str) -> str:
    return text.replace(".", "").replace(",", "")


def _date(year: str, month: str, day: str) -> str:
    """The date in its international form; empty where there is no such day."""
    if int(month) > 12 >= int(day):
        month, day = day, month
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    return f"{_century(year) if len(year) == 2 else year}-{int(month):02}-{int(day):02}"
