"""The JSON of a Dataset: read without trusting it, written in one manner."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from estante.contract.errors import ContractValueError

# Half of a pair of UTF-16: JSON can name one, a text of UTF-8 cannot hold it.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse(content: bytes) -> Any:
    """The value that UTF-8 bytes hold. Raises ``ContractValueError``, which begins ``not valid JSON`` and tells why.

    Beside what JSON forbids, refused are NaN and infinities, numbers that would become one, a key that an object has
    twice (readers disagree about which one counts), lone surrogates, and what is nested too deeply to be read.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_not_json, parse_float=_finite, object_pairs_hook=_unambiguous)
        # Only an escape can bring one in, and most files have none.
        written = json.dumps(value, ensure_ascii=False) if "\\u" in text else ""
    except json.JSONDecodeError as error:
        raise _refusal(f"{error.msg} at line {error.lineno} column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise _refusal(f"byte {error.start} is not UTF-8") from error
    except RecursionError as error:
        raise _refusal("it is nested too deeply") from error
    except ValueError as error:
        raise _refusal(str(error)) from error
    if _LONE_SURROGATE.search(written):
        raise _refusal("it holds a lone surrogate, which UTF-8 cannot hold")
    return value


def pretty(value: object, what: str) -> bytes:
    """The value as a file: two spaces of indent, letters as they are, LF at the end. Raises as ``canonical`` does."""
    return (_dumps(value, what, indent=2) + "\n").encode("utf-8")


def canonical(value: object, what: str) -> bytes:
    """The value with sorted keys and no blanks, which is what digests are made of.

    Raises ``ContractValueError``, saying of ``what``, for what strict JSON cannot hold: NaN, infinities, keys that are
    no texts, lone surrogates, other objects.
    """
    return _dumps(value, what, sort_keys=True, separators=(",", ":")).encode("utf-8")


def _dumps(value: object, what: str, **manner: Any) -> str:
    try:
        _check_keys(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, **manner)
    except (TypeError, ValueError, RecursionError) as error:
        # The encoder's own words may quote a value, so only their kind is told.
        raise ContractValueError(
            f"{what} cannot be written as JSON ({type(error).__name__}): use texts, numbers, lists and objects"
        ) from error
    if _LONE_SURROGATE.search(text):
        raise ContractValueError(f"{what} holds a lone surrogate, which UTF-8 cannot hold; decode that text again")
    return text


def _check_keys(value: object) -> None:
    """Refuses keys that are no texts: JSON would turn them into texts, and two of them into one."""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key that is not a text")
        for one in value.values():
            _check_keys(one)
    elif isinstance(value, list | tuple):
        for one in value:
            _check_keys(one)


def _refusal(why: str) -> ContractValueError:
    return ContractValueError(f"not valid JSON: {why}")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has one key twice")
    return found
