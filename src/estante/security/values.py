"""Whether a value looks like a secret or like what people write in its place."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Final

_DUMMY: Final = re.compile(
    r"""
      <.*> | \{.*\} | \[\w*\] | @\w+@ | \$[a-z_]\w* | \$[{(].*        # to fill in: <token>, {{ token }}, ${TOKEN}
    | %\w+% | %\(.* | %[sdv]
    | (.)\1*                                                        # one character again and again: xxxx, ****
    | [-*._…•·{}<>()\[\]|:;,/\\"'`~=]+                                # nothing but such signs
    | .*(?:example|exemplo|changeme|placeholder|redacted|dummy|xxxx|\.\.\.|…).*
    | (?:your|my|seu|sua|meu|minha)(?:[-_][a-z_-]+|passw(?:or)?d|senha|token|secret|segredo|(?:api)?key)
    | none|null|nil|true|false|undefined|yes|no|sim|n[aã]o
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SYMBOL: Final = re.compile(r"[!@#$%^&*+=~|?]")
_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_WORD: Final = rf"[{_UPPER}]*+[{_LOWER}]*+(?:[{_UPPER}][{_LOWER}]{{2,}}+)*+[{_UPPER}]*+"
_WORDS: Final = re.compile(rf"{_WORD}(?:[-_.:/]{_WORD})*+")
_CODE: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[A-Za-z_][\w.]*[(\[].*")
_NUMBER: Final = re.compile(r"[\d.,:/%-]*")
_DIGIT: Final = re.compile("[0-9]")
_LETTER: Final = re.compile("[A-Za-z]")
_HEX: Final = re.compile("[0-9a-f]{32}")
_WORDS_FOR_IT: Final = frozenset(
    (
        "password",
        "passwd",
        "pass",
        "passw",
        "pwd",
        "pw",
        "senha",
        "secret",
        "segredo",
        "token",
        "x-oauth-basic",
        "x-oauth-token",
    )
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=]{16}")


def _present(value: str) -> bool:
    """Whether it is anything but what stands in the place of a value."""
    return not _DUMMY.fullmatch(value)


def _varied(value: str) -> bool:
    """Whether it is not just a few characters again and again, nor something to fill in."""
    return len(set(value)) >= 6 and _present(value)


def _mixed(value: str) -> bool:
    """Whether it is varied and has a letter and a digit, as random strings of some length do."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None and _varied(value)


def _random(value: str) -> bool:
    """Whether it is mixed and no name of several words: it has letters of both cases, or is hexadecimal."""
    return _mixed(value) and (value.lower() != value != value.upper() or _HEX.search(value) is not None)


def _pair(value: str) -> bool:
    """Whether it is ``user:password`` in base 64."""
    try:
        return b":" in b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if "-" in value or "_" in value else None
        )
    except ValueError:
        return False


def _address(value: str) -> bool:
    """Whether what stands before the ``@`` of an address is a password rather than the word for one."""
    return _present(value) and value.strip("[](){}").casefold() not in _WORDS_FOR_IT


def _bare(value: str) -> bool:
    """Whether a word after ``token:`` is a secret rather than prose, code, a number or a placeholder."""
    value = value.rstrip(".,;:!?)]}")
    if len(value) < 6 or not _present(value) or _CODE.fullmatch(value) or "://" in value or _NUMBER.fullmatch(value):
        return False
    if _DIGIT.search(value) or _SYMBOL.search(value):
        return True
    return value.lower() != value != value.upper() and not _WORDS.fullmatch(value)


def _password(value: str) -> bool:
    """As for a secret, but a password may be all digits."""
    return _bare(value) or (value.isdigit() and len(value) >= 6 and _present(value))


def _told(value: str) -> bool:
    """Whether a word after ``the password is`` is one; words with hyphens are prose there."""
    return "-" not in value and _bare(value)


def _quoted(value: str) -> bool:
    """Whether a text in quotes after ``password =`` is a password rather than a label or a placeholder."""
    if len(value) < 4 or _DUMMY.fullmatch(value):
        return False
    return _bare(value) if " " in value or value.istitle() else True


def _body(value: str) -> bool:
    """Whether the lines of a key hold a key and not dots."""
    return _BASE64.search(value) is not None


def telling(value: str) -> set[str]:
    """The forms in which a value is the same secret wherever it stands; none when it is just a word."""
    forms = {value, value.rstrip(".,:;!?)]}\\")}
    return {form for form in forms if "\n" not in form and (_bare(form) or len(form) >= 20)}


CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "any": lambda value: True,
    "present": _present,
    "varied": _varied,
    "mixed": _mixed,
    "random": _random,
    "pair": _pair,
    "address": _address,
    "bare": _bare,
    "password": _password,
    "told": _told,
    "quoted": _quoted,
    "body": _body,
}
"""What a detector can ask of the value it found, by the name that stands in its row."""
