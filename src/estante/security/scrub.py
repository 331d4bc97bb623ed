"""Secrets out of texts: each is masked by as many █, so that no offset moves.

What counts as a secret is data, one row a detector, in ``detectors.toml``. A detector is tried only where one of its
keywords stands, and its pattern begins with that keyword, so the time is linear in the text.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from string import ascii_letters, digits
from typing import Final

from estante.model.content import Redaction, Span
from estante.security.values import CHECKS, telling

MASK: Final = "█"

_TABLE: Final = files("estante.security").joinpath("detectors.toml").read_text("utf-8")

DETECTORS_VERSION: Final = f"1.{sha256(_TABLE.encode()).hexdigest()[:8]}"
"""Part of every recipe: what other detectors let pass is read again."""

_INVISIBLE: Final = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{},;]+")
_PASSES: Final = 8
_FEW: Final = 50

LEAST_UNBROKEN: Final = 20
_LEAST_RUN: Final = b"x" * LEAST_UNBROKEN
_TOKEN_CHARACTERS: Final = frozenset(f"{ascii_letters}{digits}+/=._~:%@-".encode())
_TOKEN_OR_NOT: Final = bytes(b"x"[0] if byte in _TOKEN_CHARACTERS else b" "[0] for byte in range(256))


@dataclass(frozen=True, slots=True)
class Detector:
    """One family of secrets, a row of the table. What each field means is told there."""

    id: str
    description: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int
    folded: bool
    unbroken: bool
    check: Callable[[str], bool]
    run: re.Pattern[str] | None

    def at(self, text: str, place: int) -> tuple[tuple[int, int] | None, int]:
        """The bounds of the secret whose keyword stands at ``place``, if there is one, and where to go on."""
        match = self.pattern.match(text, place)
        if match is not None:
            start, end = match.span(self.group)
            if start < end and self.check(text[start:end]):
                return (start, end), end
        run = self.run.match(text, place) if self.run else None
        return None, run.end() if run else place + 1


_Found = tuple[int, int, int, str]
"""Start, end, rank of the detector in the table (of two that find the same, the first names it), and kind."""

_Ranked = tuple[tuple[int, Detector], ...]


def scrub(text: str) -> tuple[str, tuple[Redaction, ...]]:
    """The text with every secret masked, and what was masked, in order.

    The result is as long as the text and has its line breaks. Scrubbing it again changes nothing.
    """
    redactions: list[Redaction] = []
    values: dict[str, str] = {}
    # A mask can end the word that had hidden the secret beside it, so the result is looked at once more.
    for _ in range(_PASSES):
        found = _merged([*_secrets(text), *_recurring(text, values)])
        if not found:
            break
        values |= telling_values(text, found)
        text = masked(text, found)
        redactions += found
    return text, tuple(sorted(redactions, key=lambda redaction: redaction.span))


def telling_values(text: str, redactions: Iterable[Redaction]) -> dict[str, str]:
    """The masked values of a text that are secrets wherever they stand, with their kinds."""
    return {
        form: redaction.kind
        for redaction in redactions
        for form in telling(text[redaction.span.start : redaction.span.end])
    }


def hidden(text: str, values: Mapping[str, str]) -> str:
    """The text scrubbed, and these values masked in it: for what stands beside the text that they were found in."""
    return scrub(masked(text, _merged(_recurring(text, values))))[0]


def masked(text: str, redactions: Iterable[Redaction]) -> str:
    """The text with these spans masked; they come in order and do not overlap."""
    pieces: list[str] = []
    last = 0
    for redaction in redactions:
        start, end = redaction.span.start, redaction.span.end
        pieces += (text[last:start], mask(text[start:end]))
        last = end
    return "".join((*pieces, text[last:]))


def mask(text: str) -> str:
    """As many █ as the text has characters; line breaks stay, so that lines can still be counted."""
    return "\n".join(MASK * len(line) for line in text.split("\n"))


def scrub_value(value: object) -> object:
    """A metadata value with every secret masked, at any depth.

    What stands under a key that names a credential is masked whole. The keys themselves are scrubbed too.
    """
    if isinstance(value, str):
        return scrub(value)[0]
    if isinstance(value, Mapping):
        return scrub_mapping(value)
    if isinstance(value, (list, tuple)):
        return [scrub_value(item) for item in value]
    return value


def scrub_mapping(values: Mapping[str, object]) -> dict[str, object]:
    """A mapping of metadata with every secret masked, as ``scrub_value`` does."""
    clean: dict[str, object] = {}
    for key, value in values.items():
        shown = scrub(key)[0]
        clean[shown] = _blanked(value) if names_secret(key) or names_secret(shown) else scrub_value(value)
    return clean


_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CREDENTIALS: Final = """
token secret segredo password passwd passphrase senha pwd cookie credential credentials credencial credenciais bearer
authorization apikey accesskey privatekey secretkey sessionid
"""
_SECRET_WORDS: Final = frozenset(_CREDENTIALS.split())
_SECRET_PAIRS: Final = frozenset(
    [("api", "key"), ("private", "key"), ("access", "key"), ("session", "id"), ("chave", "acesso"), ("chave", "api")]
)
_ABOUT: Final = frozenset(("count", "limit", "length", "policy", "type", "expires", "expiry"))


def names_secret(key: str) -> bool:
    """Whether a name is that of a credential: ``api_key``, ``accessToken``, ``senha``; not ``tokenizer``."""
    words = [word.lower() for word in _WORDS.findall(key) if word.lower() not in ("de", "do", "da")]
    if not words or words[-1] in _ABOUT:
        return False
    return not _SECRET_WORDS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words))


def _blanked(value: object) -> object:
    """The value with every text and number in it masked; true, false and null say nothing and stay."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {scrub(key)[0]: _blanked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_blanked(item) for item in value]
    return value if isinstance(value, bool) or value is None else MASK * len(str(value))


def _secrets(text: str) -> Iterator[_Found]:
    """Every secret in the text that is not masked yet, in no order."""
    if _INVISIBLE.search(text) is None:
        yield from _visible_secrets(text)
        return
    # Characters that nobody sees must not break a secret in two: look without them, then count them in again.
    gone = [match.start() - n for n, match in enumerate(_INVISIBLE.finditer(text))]
    for start, end, rank, kind in _visible_secrets(_INVISIBLE.sub("", text)):
        yield start + bisect_right(gone, start), end + bisect_right(gone, end - 1), rank, kind


def _visible_secrets(text: str) -> Iterator[_Found]:
    folded = _folded(text)
    unbroken = _unbroken(text)
    for (keyword, is_folded, is_unbroken), ranked in _by_keyword().items():
        if is_unbroken and keyword not in unbroken:
            continue
        where = folded if is_folded else text
        for start, end, rank, kind in _around(text, where, keyword, ranked):
            if MASK not in text[start:end]:
                yield start, end, rank, kind


def _around(text: str, where: str, keyword: str, ranked: _Ranked) -> Iterator[_Found]:
    """What the detectors find at the places of their keyword in ``where``, a form of the text."""
    resume = [0] * len(ranked)
    place = where.find(keyword)
    while place >= 0:
        for n, (rank, detector) in enumerate(ranked):
            if place >= resume[n]:
                found, resume[n] = detector.at(text, place)
                if found is not None:
                    yield *found, rank, detector.id
        place = where.find(keyword, max(place + len(keyword), min(resume)))


def _folded(text: str) -> str:
    """The text in lower case, each character in its place."""
    # This is the one letter that becomes two in lower case.
    return text.replace("\u0130", "i").lower()


def _unbroken(text: str) -> str:
    """All that can hold a token: runs of ``LEAST_UNBROKEN`` characters and more without a blank."""
    kinds = text.encode("ascii", "replace").translate(_TOKEN_OR_NOT)
    runs = []
    place = kinds.find(_LEAST_RUN)
    while place >= 0:
        end = kinds.find(b" ", place)
        end = end if end >= 0 else len(kinds)
        runs.append(text[place:end])
        place = kinds.find(_LEAST_RUN, end)
    return " ".join(runs)


def _recurring(text: str, values: Mapping[str, str]) -> Iterator[_Found]:
    """Where secrets that were found by what stands beside them stand again alone."""
    if len(values) <= _FEW:
        for value, kind in values.items():
            place = text.find(value)
            while place >= 0:
                yield place, place + len(value), len(detectors()), kind
                place = text.find(value, place + len(value))
        return
    # To look for each of many would cost squared time, so only whole words are compared.
    for match in _WORD.finditer(text):
        for form in (match[0], match[0].rstrip(".,:;!?")):
            if form in values:
                yield match.start(), match.start() + len(form), len(detectors()), values[form]


def _merged(found: Iterable[_Found]) -> list[Redaction]:
    """Redactions in order, those that overlap made one, of the kind that begins first, is longest, stands first."""
    merged: list[Redaction] = []
    for start, end, _, kind in sorted(found, key=lambda entry: (entry[0], -entry[1], entry[2])):
        if merged and start < merged[-1].span.end:
            last = merged[-1]
            merged[-1] = Redaction(last.kind, Span(last.span.start, max(last.span.end, end)))
        else:
            merged.append(Redaction(kind, Span(start, end)))
    return merged


@cache
def detectors() -> tuple[Detector, ...]:
    """All detectors, in the order of the table."""
    return tuple(
        Detector(
            id=row["id"],
            description=row["description"],
            keywords=tuple(row["keywords"]),
            pattern=re.compile(row["pattern"], re.IGNORECASE if row.get("folded") else 0),
            group=row.get("group", 0),
            folded=row.get("folded", False),
            unbroken=row.get("unbroken", False),
            check=CHECKS[row.get("check", "any")],
            run=re.compile(row["run"]) if "run" in row else None,
        )
        for row in tomllib.loads(_TABLE)["detector"]
    )


@cache
def _by_keyword() -> dict[tuple[str, bool, bool], _Ranked]:
    """The detectors to try where a keyword stands, with their ranks; each keyword is looked for once."""
    table: dict[tuple[str, bool, bool], _Ranked] = {}
    for rank, detector in enumerate(detectors()):
        for keyword in detector.keywords:
            key = (keyword, detector.folded, detector.unbroken)
            table[key] = (*table.get(key, ()), (rank, detector))
    return table
