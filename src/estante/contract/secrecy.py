"""Where secrets stand in a document that is to be stored in plain text: by the name of a key, or by the value's look.

A name counts whatever its spelling: ``apiKey``, ``X-API-KEY`` and ``api_key`` are one, ``chave_api`` and ``senha`` are
names, too. A reference to a secret (``env:NAME``, ``file:/absolute/path``) is no secret and may stand anywhere.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from estante.contract.folding import folded
from estante.contract.references import SecretText, is_secret_reference


class _Weight(Enum):
    """What the name of a key says of its value."""

    NONE = "nothing"
    TEXT = "a secret when it is a text; a number, a switch or a section is none"
    PLAIN = "a secret when it is a text or a number; a switch or a section is none"
    ALWAYS = "a secret"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- names of keys ---------------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")

_EVER: Final = _set("password passwd passphrase secret apikey credential credencia contrasen palavrapasse chaveapi")
"""Found wherever they stand in a name, whatever is around them."""

_KEYS: Final = re.compile(
    "(?:private|access|signing|encryption|master|ssh|subscription|account|shared|hmac|service|auth|session|storage)key"
    "|chave(?:d[ea])?(?:api|privada|cripto|assinatura)|apichave"
)
_SECRET_WORDS: Final = re.compile("senha[a-z]*|segredos?|pwd|[a-z]*pwd|pwds")
_PLACES: Final = _set("path file filename name url arquivo caminho nome")
"""What makes the name of a key (not of a password) the name of the place where it lies."""

_HARMLESS: Final = re.compile("secretar(?:y|ies|ial|iats?|ias?|ios?|iados?)")
"""Offices, not secrets: in Portuguese, every department of a government is one."""

_TEXT_WORDS: Final = _set("auth authentication autenticacao sessions cookies pass")
_PLAIN_WORDS: Final = re.compile(
    "authorizations?|autorizacao|bearer|(?:set)?cookie|session(?:id)?|[a-z]*sessid|jwt|[a-z]*dsn"
)
_ABOUT: Final = _set(
    "timeout ttl count max min limit name type mode method scheme url uri endpoint enabled required provider size"
    " policy domain path lifetime expiry expires age affinity pool version class backend strategy"
)
"""Beside a word of these two: the value tells about the thing and is not the thing."""

_PASS_OF: Final = _set("db user smtp ftp imap proxy login admin root my pg redis mysql postgres basic http ldap mail")

_ACCESS: Final = _set("access auth refresh api bearer session secret user login csrf oauth jwt personal service admin")
_MEASURES: Final = _set(
    "max min num n number total count counts counted limit budget size length len usage estimate estimated per overlap"
    " window ids cost price ratio offset position maximo maximos minimo minimos limite quantidade"
    " eos bos pad unk cls sep mask stop special pattern filter filters char chars embedding embeddings vector vectors"
    " weight weights level based chunker splitter counter set sort similarity"
)
"""Beside ``token``: what is counted, or what a model reads."""
_PARTS: Final = _set("used context chunk prompt input output completion cached cache reasoning generated")
"""Beside ``tokens``, the same; a single token of these may be one to sign in with."""
_TOKENIZING: Final = re.compile("[a-z]*tokeni[sz][a-z]*")
_COUNTED: Final = re.compile(
    "(?:max|min|num|n|total|input|output|prompt|completion|cached)tokens?"
    "|tokens?(?:count|counts|limit|budget|size|length|usage|overlap|window)"
)

# --- values ----------------------------------------------------------------------------------------------------

_BLANK: Final = re.compile(
    r"\$\{?\w+\}?|\{+[\w. -]+\}+|<[^<>]{1,40}>|%\(\w+\)s|%\w+%|[*•.█]+|x{3,}|\[[\w ]+\]|redacted", re.IGNORECASE
)
"""A blank to fill in, or a mask."""
_MANNER: Final = re.compile(
    "none|null|nil|true|false|auto|default|unlimited|inf|basic|bearer|oauth2?|oidc|kerberos|ntlm|digest|jwt|tokens?"
    "|api_?key|saml|ldap|mtls|anonymous|disabled|enabled|required|optional|authentication|auth|scheme|only",
    re.IGNORECASE,
)
"""The name of a way to sign in, or of none."""
_NUMBER: Final = re.compile(r"[\d.,]+")

_PRIVATE: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_LOGIN: Final = re.compile(r"//[^\s/?#@:]*:(?P<value>[^\s/?#@]+)@|(?<!\S)[\w.-]+:(?P<raw>[^\s/@]+)@(?:tcp|unix)\(")
_LONE_LOGIN: Final = re.compile(r"https?://(?P<value>[^\s/?#@:]+)@", re.IGNORECASE)
_LEAST_TOKEN: Final = 20
_PAIR: Final = re.compile(
    r"(?:^|[?&;,\s{(\"'])-{0,2}(?P<key>[A-Za-z][\w.-]{1,40})[\"']?\s{0,3}=\s{0,3}(?P<value>\"[^\"]*\"|'[^']*'|[^;&,\s]+)"
)
_QUOTED: Final = re.compile(
    r"\\?[\"'](?P<key>[A-Za-z][\w .-]{1,40})\\?[\"']\s{0,3}:\s{0,3}\\?[\"'](?P<value>[^\"'\\]+)"
)
"""A name and a text within a text that is itself JSON, or much like it."""
_HEADER: Final = re.compile(
    r"(?:^|[\s\"'])(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?:bearer|basic|digest|negotiate|token|apikey)\s{1,3})?(?P<value>[^\s\"']+)",
    re.IGNORECASE,
)
_LINE: Final = re.compile(r"(?P<key>[A-Za-z][\w-]{1,40})\s{0,3}:\s{1,3}(?P<value>\S+)\s*")
_BEARER: Final = re.compile(r"\s*bearer\s+(?P<value>\S+)\s*", re.IGNORECASE)
_BASIC: Final = re.compile(r"\bbasic\s{1,3}(?P<value>[A-Za-z0-9+/]{4,}={0,2})(?![A-Za-z0-9+/=])", re.IGNORECASE)
_BEARER_WITHIN: Final = re.compile(
    r"\bbearer\s{1,3}(?P<value>[\w.~+/-]{20,}|(?=[^\s\d]*\d)[\w.~+/-]{8,})", re.IGNORECASE
)
_COOKIE: Final = re.compile(r"(?:^|\s)(?:set-)?cookie\s{0,3}:\s{0,3}\S+=\S+", re.IGNORECASE)
_SHAPES: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"
    r"|(?:sk|rk)[-_](?=[A-Za-z_-]*\d)[\w-]{20,}"
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}"
    r"|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|(?:hf|npm)_[A-Za-z0-9]{30,}"
    r"|dckr_pat_[\w-]{20,}|pypi-AgE[\w-]{16,}|SG\.[\w-]{16,64}\.[\w-]{30,}"
    r"|hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{16,}"
    r")"
)
_SIGNATURES: Final = _set("sig signature xamzsignature xgoogsignature xamzsecuritytoken")


# --- the search ------------------------------------------------------------------------------------------------


def secret_paths(value: object) -> list[str]:
    """The places of secrets in a value of mappings, lists and tuples, in order: ``auth.api_key``, ``headers[0].token``.

    Paths alone are given, never a value. A key that is itself a secret is shown by its number: ``<key 0>``.
    """
    found: list[str] = []
    opened: set[int] = set()
    # A stack of our own: how deep a document is nested must not decide whether it is searched.
    steps: list[_Step] = [_Step(value)]
    while steps:
        step = steps.pop()
        if step.leaves:
            opened.discard(id(step.value))
            continue
        if step.bare or _is_secret(step.value, step.weight):
            found.append(step.path())
        if isinstance(step.value, Mapping | list | tuple) and id(step.value) not in opened:
            opened.add(id(step.value))
            steps.append(_Step(step.value, leaves=True))
            steps += reversed(list(_children(step)))
    return found


@dataclass(frozen=True, slots=True)
class _Step:
    """One value on the way through the document, with what its key says of it."""

    value: object
    name: str = ""
    above: _Step | None = None
    weight: _Weight = _Weight.NONE
    bare: bool = False
    """The key is itself a secret."""
    leaves: bool = False
    """The value's parts have all been seen."""

    def path(self) -> str:
        """The names from the top down to this value."""
        names: list[str] = []
        step: _Step | None = self
        while step is not None:
            names.append(step.name)
            step = step.above
        return "".join(reversed(names)).removeprefix(".")


def _children(step: _Step) -> Iterator[_Step]:
    if isinstance(step.value, Mapping):
        stated = _stated(step.value)
        for number, (key, value) in enumerate(step.value.items()):
            name = str(key)
            bare = holds_secret(name)
            weight = stated if stated and name.casefold() in ("value", "valor") else _weight(name)
            yield _Step(value, f".<key {number}>" if bare else f".{name}", step, weight, bare)
    elif isinstance(step.value, list | tuple):
        paired = _paired(step)
        for number, value in enumerate(step.value):
            yield _Step(value, f"[{number}]", step, paired if number else _Weight.NONE)


def _paired(step: _Step) -> _Weight:
    """What the first of two says of the second in a list of pairs, as headers are also written."""
    pair, above = step.value, step.above
    if not isinstance(pair, list | tuple) or len(pair) != 2 or above is None:
        return _Weight.NONE
    named = isinstance(above.value, list | tuple) and isinstance(pair[0], str)
    return _weight(pair[0]) if named else _Weight.NONE


def _stated(mapping: Mapping[object, object]) -> _Weight | None:
    """What ``{"name": "x-api-key", "value": ...}`` says of its value: the name is a value there."""
    for key in ("name", "key", "header", "nome", "chave"):
        name = mapping.get(key)
        if isinstance(name, str):
            return _weight(name)
    return None


def _is_secret(value: object, weight: _Weight) -> bool:
    if isinstance(value, SecretText):
        return True
    if _refers(value):
        return False
    if weight is _Weight.ALWAYS:
        return True
    if weight is _Weight.TEXT and _tells(value):
        return not (isinstance(value, str) and _NUMBER.fullmatch(value.strip()))
    if weight is _Weight.PLAIN and (_is_number(value) or _tells(value)):
        return True
    return isinstance(value, str) and holds_secret(value)


def _refers(value: object) -> bool:
    """Whether the value is a reference, or a section of references and nothing else."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return bool(value) and all(is_secret_reference(one) for one in value)
    return is_secret_reference(value)


def _tells(value: object) -> bool:
    """Whether it is a text, or a list with one, that says more than how to sign in."""
    if isinstance(value, list | tuple):
        return any(_tells(one) for one in value if not isinstance(one, list | tuple))
    if isinstance(value, bytes | bytearray):
        return bool(value)
    return isinstance(value, str) and not _says_nothing(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _says_nothing(text: str) -> bool:
    told = text.strip().strip("\"'")
    return not told or is_secret_reference(told) or any(one.fullmatch(told) for one in (_BLANK, _MANNER))


def holds_secret(text: str) -> bool:
    """Whether a text looks like a secret or has one inside, whatever its key is called.

    Private keys, logins within addresses, signed-in headers, ``password=...`` of connection strings, and tokens whose
    issuers gave them a shape.
    """
    if is_secret_reference(text):
        return False
    if _PRIVATE.search(text) or _SHAPES.search(text) or _COOKIE.search(text) or any(_logins(text)):
        return True
    return any(not _says_nothing(value) for value in _given(text))


def _logins(text: str) -> Iterator[bool]:
    """For each login that the text has, whether its password stands there."""
    for found in _LOGIN.finditer(text):
        yield not _BLANK.fullmatch(found["value"] or found["raw"])
    for found in _LONE_LOGIN.finditer(text):
        yield len(found["value"]) >= _LEAST_TOKEN or "%3a" in found["value"].lower()
    for found in _BASIC.finditer(text):
        whole = found["value"].rstrip("=")[: len(found["value"]) // 4 * 4]
        yield b":" in b64decode(whole + "=" * (-len(whole) % 4))


def _given(text: str) -> Iterator[str]:
    """The values that the text gives for something that should be secret."""
    for found in (*_HEADER.finditer(text), *_BEARER_WITHIN.finditer(text)):
        yield found["value"]
    if whole := _BEARER.fullmatch(text):
        yield whole["value"]
    line = _LINE.fullmatch(text)
    for found in (*_PAIR.finditer(text), *_QUOTED.finditer(text), *((line,) if line else ())):
        compact = "".join(_words(found["key"]))
        if _weight(found["key"]) is _Weight.ALWAYS or compact in _SIGNATURES:
            yield found["value"]


# --- what a name says ------------------------------------------------------------------------------------------


def _words(key: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(folded(key).text))


@lru_cache(maxsize=4096)
def _weight(key: str) -> _Weight:
    words = tuple(word for word in _words(key) if not _HARMLESS.fullmatch(word))
    compact = "".join(words)
    if any(one in compact for one in _EVER) or any(_SECRET_WORDS.fullmatch(word) for word in words):
        return _Weight.ALWAYS
    weights = [_token_weight(words, compact)]
    if _KEYS.search(compact) and not _PLACES.intersection(words):
        weights.append(_Weight.ALWAYS)
    weights.append(_Weight.NONE if _ABOUT.intersection(words) else _sign_in_weight(words))
    return max(weights, key=list(_Weight).index)


def _sign_in_weight(words: Sequence[str]) -> _Weight:
    """What a name says that is also the name of a section, of a switch or of a count."""
    if any(_PLAIN_WORDS.fullmatch(word) for word in words):
        return _Weight.PLAIN
    told = _TEXT_WORDS.intersection(words)
    if told == {"pass"} and len(words) > 1 and _PASS_OF.isdisjoint(words):
        return _Weight.NONE
    return _Weight.TEXT if told else _Weight.NONE


def _token_weight(words: Sequence[str], compact: str) -> _Weight:
    """Tokens are a secret to the one who signs in and a measure to the one who counts them."""
    rest = [word for word in words if not _TOKENIZING.fullmatch(word)]
    named = [word for word in rest if "token" in word]
    if not named:
        # Split where capitals stand, as in toKEN, the word is there all the same.
        hidden = "token" in "".join(rest) and "token" in compact
        return _Weight.ALWAYS if hidden else _Weight.NONE
    others = set(rest).difference(named)
    if others & _ACCESS:
        return _Weight.ALWAYS
    if all(_COUNTED.fullmatch(word) for word in named):
        return _Weight.NONE
    if not set(named) <= {"token", "tokens"}:
        return _Weight.ALWAYS
    if others & _MEASURES or ("token" not in named and others & _PARTS):
        return _Weight.NONE
    return _Weight.ALWAYS if "token" in named else _Weight.TEXT


__all__ = ["holds_secret", "secret_paths"]
