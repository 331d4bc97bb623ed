"""Typed parameters: what a connector asks for before it can be bound, and the check of what it is given.

A schema is a list of fields, and a field is a dict. ``name``, ``label``, ``type``, ``required`` and ``default`` are the
keys that every host reads; ``help``, ``placeholder``, ``choices``, ``minimum``, ``maximum``, ``pattern``, ``env`` and
``when`` say more, and keys that begin with ``x_`` are the author's own. The types:

- ``string`` (also without a type), ``integer``, ``number``, ``boolean``: JSON's own. A whole number is a number, true
  is none;
- ``enum``: one of ``choices``;
- ``path``: a file or folder, as text;
- ``secret``: a reference, ``env:NAME`` or ``file:/absolute/path``, and never the secret itself;
- ``any``: whatever it is, unchecked.

Nothing is converted. A value that is None counts as not given; the variable that ``env`` names stands in for a value
that is not given, and the default for both. A path may be given as a ``pathlib.Path``.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from estante.contract.errors import ConnectorRegistrationError, ContractValueError
from estante.contract.references import SecretText, is_secret_reference, is_variable, resolve_secret
from estante.contract.secrecy import secret_paths

ParamField = dict[str, Any]
"""One parameter; a plain dict, so that hosts can print and store it."""

PARAM_KEYS: Final = (
    "name",
    "label",
    "type",
    "required",
    "default",
    "help",
    "placeholder",
    "choices",
    "minimum",
    "maximum",
    "pattern",
    "env",
    "when",
)
BASIC_KEYS: Final = PARAM_KEYS[:5]
"""The keys that rag-connector knows."""

_NUMBERS: Final = ("integer", "number")
_OPEN_KEY: Final = "x_"
_SHOWN: Final = 40
_WHOLE: Final = re.compile("[+-]?[0-9]+")
_FRACTION: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ParamProblem:
    """What is wrong with one parameter, or with its field; ``name`` is empty when it is with all of them."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


class ParamsError(ConnectorRegistrationError):
    """Parameters cannot be used; ``problems`` holds all that is wrong with them, for a form to show."""

    def __init__(self, message: str, problems: Sequence[ParamProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of its pairs, for ``json.loads(..., object_pairs_hook=each_once)``.

    Raises ``ContractValueError`` for a name that is given twice: one of the two values would be lost without a word.
    """
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ContractValueError(f"the name {name!r} is given twice")
        made[name] = value
    return made


# --- types --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Type:
    """How values of a type are called, recognised, and read from a text."""

    noun: str
    fits: Callable[[Any], bool]
    read: Callable[[str], Any] = str


def _is_text(value: object) -> bool:
    # A lone surrogate is no text: it could not be stored.
    return isinstance(value, str) and not isinstance(value, SecretText) and not _SURROGATE.search(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_path(value: object) -> bool:
    return _is_text(value) and "\0" not in str(value)


def _read_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError
    return int(text)


def _read_number(text: str) -> int | float:
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _FRACTION.fullmatch(text):
        raise ValueError
    return float(text)


def _read_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TYPES: Final[Mapping[str, _Type]] = {
    "string": _Type("a text", _is_text),
    "integer": _Type("a whole number", _is_whole, _read_whole),
    "number": _Type("a number", _is_number, _read_number),
    "boolean": _Type("true or false", lambda value: isinstance(value, bool), _read_boolean),
    "enum": _Type("one of its choices", lambda value: _is_text(value) or _is_number(value)),
    "path": _Type("a path as text", _is_path),
    "secret": _Type(
        "a reference, env:NAME or file:/absolute/path, never the secret itself",
        is_secret_reference,
    ),
    "any": _Type("a JSON value", lambda value: True, json.loads),
}
PARAM_TYPES: Final = tuple(_TYPES)


def _wrong(field: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value for this field; empty when nothing is. The schema is sound."""
    name, kind = field.get("type", "string"), _TYPES[field.get("type", "string")]
    if not kind.fits(value):
        return f"must be {kind.noun}" + ("" if name == "secret" else f", not {_shown(field, value)}")
    if name == "enum" and not _among(value, field["choices"]):
        return f"is {_shown(field, value)}, and must be {_either(field['choices'])}{_near(value, field['choices'])}"
    if name in _NUMBERS:
        if (least := field.get("minimum")) is not None and value < least:
            return f"is {_shown(field, value)}, and must be at least {least}"
        if (most := field.get("maximum")) is not None and value > most:
            return f"is {_shown(field, value)}, and must be at most {most}"
    if field.get("pattern") and not re.fullmatch(field["pattern"], value):
        form = f"such as {field['placeholder']}" if field.get("placeholder") else f"by the pattern {field['pattern']}"
        return f"is {_shown(field, value)}, and must be of another form, {form}"
    return ""


def param_from_text(field: Mapping[str, Any], text: str) -> Any:
    """The value that a text means for this field, for command lines and variables; it is not checked further.

    Numbers are in decimals, booleans ``true`` or ``false``, ``any`` is JSON; a choice is found by its text. Raises
    ``ParamsError`` for a text that is none of these.
    """
    kind = field.get("type", "string")
    if kind == "enum":
        return next((choice for choice in field["choices"] if str(choice) == text), text)
    try:
        return _TYPES[kind].read(text)
    except (ValueError, RecursionError):
        problem = ParamProblem(field["name"], f"must be {_TYPES[kind].noun}, not {_shown(field, text)}")
    raise ParamsError(f"this parameter cannot be used: {problem}", [problem])


# --- values -------------------------------------------------------------------------------------------------------


def validate_params(
    params: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
    *,
    environ: Mapping[str, str] = MappingProxyType({}),
    partial: bool = False,
    unknown: bool = False,
) -> dict[str, Any]:
    """The values to connect with: those given, with variables and defaults, in the order of the schema.

    With ``partial`` a required parameter may be missing, as before a data set is chosen. With ``unknown`` a parameter
    that the schema does not name is handed on behind the others; without, it is a problem. Raises ``ParamsError`` with
    all problems at once; no message holds a secret.
    """
    faults = schema_problems(params)
    if faults:
        raise ParamsError(f"the parameters cannot be checked, their schema is faulty: {_told(faults)}", faults)
    if not isinstance(values, Mapping):
        raise ParamsError(f"parameters are an object of names and values, not a {type(values).__name__}")
    check = _Check(values, environ, partial)
    for field in params:
        check.take(field)
    names = [field["name"] for field in params]
    others = {name: value for name, value in values.items() if name not in names}
    if unknown:
        check.result.update(others)
    else:
        check.problems += [ParamProblem(str(name), f"is no parameter{_near(name, names)}") for name in others]
    if check.problems:
        raise ParamsError(f"these parameters cannot be used: {_told(check.problems)}", check.problems)
    return check.result


class _Check:
    """One pass over the fields in order; whether a field applies depends on the values before it."""

    def __init__(self, values: Mapping[str, Any], environ: Mapping[str, str], partial: bool) -> None:
        self.values = values
        self.variables = environ
        self.partial = partial
        self.result: dict[str, Any] = {}
        self.problems: list[ParamProblem] = []
        self.unclear: set[str] = set()

    def take(self, field: Mapping[str, Any]) -> None:
        """Notes the value of one field, or what is wrong with it."""
        name, when = field["name"], field.get("when") or {}
        if not self.unclear.isdisjoint(when):
            self.unclear.add(name)  # Whether it applies cannot be known, so nothing is said about it.
            return
        missed = [other for other, wanted in when.items() if not _among(self.result.get(other), _several(wanted))]
        if missed:
            told = " and ".join(f"{other!r} is {_either(_several(when[other]))}" for other in missed)
            value, wrong = None, f"applies only when {told}; leave it out" if self.values.get(name) is not None else ""
        else:
            value, wrong = self._applied(field)
        if wrong:
            self.unclear.add(name)
            self.problems.append(ParamProblem(name, wrong))
        elif value is not None:
            self.result[name] = value

    def _applied(self, field: Mapping[str, Any]) -> tuple[Any, str]:
        value, wrong = self._found(field)
        required = bool(field.get("required")) and not self.partial
        if wrong or (value is None and not required):
            return value, wrong
        if value is None or (required and isinstance(value, str) and not value.strip()):
            return value, "is required"
        return value, _wrong(field, value)

    def _found(self, field: Mapping[str, Any]) -> tuple[Any, str]:
        """The value given, of the variable, or by default; and what is wrong with the variable."""
        given, variable = self.values.get(field["name"]), field.get("env", "")
        kind = field.get("type", "string")
        if given is not None:
            return (os.fspath(given) if kind == "path" and isinstance(given, os.PathLike) else given), ""
        if not self.variables.get(variable):
            return deepcopy(field.get("default")), ""
        if kind == "secret":
            return f"env:{variable}", ""
        try:
            value = param_from_text(field, self.variables[variable])
        except ParamsError as error:
            return None, f"{error.problems[0].message} (from the variable {variable})"
        return value, ""


# --- schemas ------------------------------------------------------------------------------------------------------


def schema_problems(params: object) -> list[ParamProblem]:
    """All that is wrong with a schema; never raises."""
    if not isinstance(params, Sequence) or isinstance(params, str | bytes):
        return [ParamProblem("", f"a schema is a list of fields, not a {type(params).__name__}")]
    found: list[ParamProblem] = []
    before: dict[str, Mapping[str, Any]] = {}
    for place, field in enumerate(params):
        name = field.get("name") if isinstance(field, Mapping) else None
        if not isinstance(name, str) or not name or not name.isprintable() or " " in name or "=" in name:
            found.append(ParamProblem(f"field {place}", "is no object with a name; a name has no blank and no ="))
            continue
        wrong = [*_field_problems(field)] or [*_value_problems(field, before)]
        if name in before:
            wrong.append("is declared twice")
        found += [ParamProblem(name, message) for message in wrong]
        before[name] = {"name": name, "type": "any"} if wrong else field
    return found


def _field_problems(field: Mapping[str, Any]) -> list[str]:
    """What is wrong with the keys of a field, each by itself."""
    kind = field.get("type", "string")
    wrong = [
        f"has the unknown key {key!r}{_near(key, PARAM_KEYS)}; a key of your own begins with {_OPEN_KEY}"
        for key in field
        if key not in PARAM_KEYS and not (isinstance(key, str) and key.startswith(_OPEN_KEY))
    ]
    if not isinstance(kind, str) or kind not in _TYPES:
        return [*wrong, f"has the type {kind!r}, and must have {_either(PARAM_TYPES)}{_near(kind, PARAM_TYPES)}"]
    wrong += [
        f"has a {key} that is no text"
        for key in ("label", "help", "placeholder", "pattern", "env")
        if key in field and not isinstance(field[key], str)
    ]
    if not isinstance(field.get("required", False), bool):
        wrong.append("has a required that is neither true nor false")
    wrong += [
        f"has the key {key!r}, which a parameter of type {kind!r} cannot have"
        for key, types in _BELONGS.items()
        if key in field and kind not in types
    ]
    return wrong or [*_choice_problems(field, kind), *_bound_problems(field), *_pattern_problems(field)]


_BELONGS: Final[Mapping[str, Sequence[str]]] = {
    "choices": ("enum",),
    "minimum": _NUMBERS,
    "maximum": _NUMBERS,
    "pattern": ("string", "path"),
}


def _choice_problems(field: Mapping[str, Any], kind: str) -> list[str]:
    choices = field.get("choices")
    if kind != "enum":
        return []
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        return ["has no choices; give a list of texts or whole numbers"]
    wrong = [f"has the choice {one!r}, no text and no whole number" for one in choices if not _plain(one)]
    if not wrong and len({str(one) for one in choices}) < len(choices):
        wrong.append("has a choice twice")
    return wrong


def _plain(choice: object) -> bool:
    return _is_text(choice) or _is_whole(choice)


def _bound_problems(field: Mapping[str, Any]) -> list[str]:
    bounds = [field[key] for key in ("minimum", "maximum") if field.get(key) is not None]
    if not all(map(_is_number, bounds)):
        return ["has a minimum or maximum that is no number"]
    return ["has a minimum above its maximum"] if len(bounds) == 2 and bounds[0] > bounds[1] else []


def _pattern_problems(field: Mapping[str, Any]) -> list[str]:
    wrong = []
    try:
        re.compile(field.get("pattern", ""))
    except re.error as error:
        wrong.append(f"has a pattern that is no regular expression: {error}")
    if field.get("env") and not is_variable(field["env"]):
        wrong.append("has an env that no variable can be named")
    return wrong


def _value_problems(field: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong with the values that a sound field holds: its default, and those that decide whether it applies."""
    wrong = []
    default, when = field.get("default"), field.get("when") or {}
    # A blank default is what forms begin with; it fills in nothing that is required.
    if default is not None and default != "" and (told := _wrong(field, default)):
        wrong.append(f"has a default that {told}")
    if not isinstance(when, Mapping):
        return [*wrong, "has a when that is no object of names and values"]
    for other, wanted in when.items():
        if other not in before:
            wrong.append(f"has a when that names {other!r}, which is no parameter above it{_near(other, [*before])}")
            continue
        told = next((told for value in _several(wanted) if (told := _wrong(before[other], value))), "")
        if told or not _several(wanted):
            wrong.append(f"has a when that can never be: {other} {told or 'has no value'}")
    return wrong


# --- words --------------------------------------------------------------------------------------------------------


def _several(wanted: Any) -> Sequence[Any]:
    return wanted if isinstance(wanted, list | tuple) else [wanted]


def _among(value: object, choices: Sequence[Any]) -> bool:
    """Whether it is one of these; true is not 1."""
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in choices)


def _either(choices: Sequence[Any]) -> str:
    told = [repr(one) for one in choices]
    return f"one of {', '.join(told)}" if len(told) > 1 else told[0]


def _near(name: object, known: Sequence[Any]) -> str:
    texts = [one for one in known if isinstance(one, str)]
    if not isinstance(name, str):
        return ""
    # A word cut short means what begins with it, however alike another one looks.
    begun = [one for one in texts if len(name) > 1 and one.startswith(name)]
    near = begun or get_close_matches(name, texts, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


_LOGIN: Final = re.compile(r":[^\s@]+@")
"""What a login with its password has, wherever it stands; not shown, although it may be something else."""


def _shown(field: Mapping[str, Any], value: object) -> str:
    """A value as messages tell it: short, and not at all when it may be a secret."""
    # An address may have a credential in front of its host or behind its question mark.
    if secret_paths({field["name"]: value}) or (
        isinstance(value, str) and (_LOGIN.search(value) or re.search(r"\?\S*=", value))
    ):
        return "what was given"
    told = repr(value)
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."


def _told(problems: Sequence[ParamProblem]) -> str:
    return "; ".join(map(str, problems))


__all__ = [
    "BASIC_KEYS",
    "PARAM_KEYS",
    "PARAM_TYPES",
    "ParamField",
    "ParamProblem",
    "ParamsError",
    "SecretText",
    "each_once",
    "is_secret_reference",
    "param_from_text",
    "resolve_secret",
    "schema_problems",
    "validate_params",
]
