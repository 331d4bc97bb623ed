"""The patterns that find what is written together: units, and compounds of units.

Every repetition is bounded or of one set that is never given back, so matching is linear.
"""

import re
from functools import cache
from typing import Final

from estante.index.languages.letters import APOSTROPHES, separators
from estante.index.languages.words import ELISION

NUMBER: Final = (
    # 8.112 or 8,112: groups of three digits; with a nought in front only if there are more than two groups
    r"(?:[1-9](?<![0-9][.,].)[0-9]{0,2}|0(?<![0-9][.,].)[0-9]{1,2}(?=(?:\.[0-9]{3}){2}))"
    r"(?:(?:\.[0-9]{3}){1,6}(?!\.?[0-9])|(?:,[0-9]{3}){1,6}(?!,?[0-9]))"
)

_JOINS: Final = r"[-_./@:&+\\\u2010\u2011]|__|::|,(?=[0-9])(?<=[0-9],)"


@cache
def letter() -> str:
    """The pattern of a character that may stand in a word."""
    return f"[^{separators()}]"


@cache
def _unit() -> str:
    word = letter()
    possessive = rf"[{APOSTROPHES}][sStT](?!{word})"
    return (
        rf"(?:{NUMBER}"
        # d'água; then anything between separators, with the end of "council's", "don't", "C++", "C#" or "R$"
        rf"|(?:{ELISION}[{APOSTROPHES}](?![sStT](?!{word}))(?={word}))?+"
        rf"{word}++(?:{possessive}|\+\+|\#(?!{word})|\$)?)"
        r"(?:[ºª°](?<=[0-9].)|\.[ºª](?<=[0-9]..))?"
    )


@cache
def units() -> re.Pattern[str]:
    """Finds what is written without a space or a joining sign."""
    return re.compile(_unit())


@cache
def compound() -> str:
    """The pattern of units and the signs that join them."""
    # Signs of ASCII alone, and no = whose stroke stands behind it: composed text has another sign there.
    address = rf"://(?:{letter()}|[-!$%&*+,./:;?@\\_~#]|=(?!\u0338))++"
    return rf"/?{_unit()}(?:(?:(?:{_JOINS}){_unit()})++|{address})?"
