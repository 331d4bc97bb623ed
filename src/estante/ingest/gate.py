"""The only maker of documents: what passes here is canonical, scoped and scrubbed."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from functools import partial
from numbers import Integral, Real
from typing import Any, Final

from estante.ingest.language import language_of
from estante.model.access import Scope
from estante.model.content import HEADING, Document, Draft, Item, Mark, Metadata, canonical, canonicalise
from estante.model.errors import ContractBroken, SettingsError, Unreadable
from estante.security.paths import shown
from estante.security.scrub import hidden, scrub, scrub_mapping, telling_values

GATE_VERSION: Final = "1"
"""Part of every recipe: a text that another version let in is let in again."""

MAX_URI: Final = 1000
MAX_DEPTH: Final = 20
MAX_WHOLE: Final = 10**4_000

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def admit(item: Item, draft: Draft, scope: Scope) -> Document:
    """The document that a draft becomes: its text canonical, its secrets masked, its readers fixed.

    Raises ``Unreadable`` for a draft without text, ``ContractBroken`` for marks that leave the text, and
    ``SettingsError`` for a name or metadata that cannot be kept.
    """
    _check_marks(draft)
    text, marks = canonicalise(draft.text, draft.marks)
    if not _visible(text):
        raise Unreadable("no text in it", hint="If it is a scan, run OCR on it first.")
    clean, redactions = scrub(text)
    hide = partial(hidden, values=telling_values(text, redactions))
    uri = _spelt(item.uri)
    return Document(
        # Hidden first: in the id, letters lose their case, and a secret its likeness.
        id=identity(item.source, hide(unicodedata.normalize("NFC", item.uri)), hide(draft.part)),
        uri=hide(uri),
        source=item.source,
        title=_title(draft, uri, hide),
        text=clean,
        scope=scope,
        language=draft.language or language_of(clean),
        media_type=item.media_type,
        marks=_ordered(marks, len(clean), hide),
        # What the source says of an item outweighs what the file says of itself.
        metadata=_clean({**draft.metadata, **item.metadata}, hide),
        redactions=redactions,
    )


def _visible(text: str) -> bool:
    """Whether anything in it can be seen: a text of zero-width characters alone could never be found."""
    return any(not char.isspace() and unicodedata.category(char) != "Cf" for char in text)


def identity(source: str, uri: str, part: str = "") -> str:
    """A document's id, the same on every machine.

    A text given directly (no source) is known by its uri as it stands, any other by source and uri without regard
    to case. ``part`` tells the documents of one item apart.
    """
    if source:
        name = unicodedata.normalize("NFC", f"{_spelt(source)}/{_spelt(uri)}".casefold())
    else:
        name = unicodedata.normalize("NFC", uri)
        _check_name(name)
    return f"{name}!{_spelt(part)}" if part else name


def _check_name(name: str) -> None:
    if not name.strip():
        raise SettingsError("a text needs a name, got an empty one", hint="Give each text an id of its own.")
    if _CONTROL.search(name):
        raise SettingsError(f"the id {name[:80]!r} holds control characters", hint="Use printable characters.")
    if len(name) > MAX_URI:
        raise SettingsError(
            f"an id of {len(name):,} characters is too long: {name[:40]!r}...",
            hint=f"Use at most {MAX_URI:,} characters.",
        )


def _spelt(name: str) -> str:
    """A name in NFC; what cannot be printed, and bytes that are no text, as ``%0A``."""
    return _CONTROL.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode("utf-8")), shown(name))


def _title(draft: Draft, uri: str, hide: Callable[[str], str]) -> str:
    """The draft's title on one line, or the last segment of what it is called."""
    title = " ".join(canonical(draft.title).split())
    return hide(title or re.split(r"[/\\]", (_spelt(draft.part) or uri).rstrip("/\\"))[-1])


def _check_marks(draft: Draft) -> None:
    for mark in draft.marks:
        if not 0 <= mark.start <= mark.end <= len(draft.text):
            problem = f"leaves the text of {len(draft.text):,} characters"
        elif not mark.kind:
            problem = "has no kind"
        elif mark.kind == HEADING and mark.level < 1:
            problem = f"is a heading of level {mark.level}"
        else:
            continue
        raise ContractBroken(
            f"a mark {mark.kind!r} at [{mark.start}, {mark.end}) {problem}",
            hint="Tell the author of the extractor: marks lie within the text, and headings have a level from 1.",
        )


def _ordered(marks: Sequence[Mark], length: int, hide: Callable[[str], str]) -> tuple[Mark, ...]:
    """The marks by place, the wider one first, their labels scrubbed."""
    moved = [
        Mark(m.kind, min(m.start, length), min(max(m.start, m.end), length), _label(m.label, hide), m.level)
        for m in marks
    ]
    return tuple(sorted(moved, key=lambda mark: (mark.start, -mark.end)))


def _label(label: str, hide: Callable[[str], str]) -> str:
    # Most marks are line numbers, and there are many.
    return label if label.isdigit() and len(label) < 8 else hide(canonical(label))


def admit_metadata(metadata: Metadata) -> Metadata:
    """Metadata that was given later, as ``admit`` would have let it in."""
    return _clean(metadata, partial(hidden, values={}))


def _clean(metadata: Metadata, hide: Callable[[str], str]) -> Metadata:
    return scrub_mapping(_mapping(metadata, "metadata", hide, 0))


def _mapping(values: Mapping[Any, object], name: str, hide: Callable[[str], str], depth: int) -> dict[str, object]:
    return {_key(key, name, hide): _json(value, f"{name}.{key}", hide, depth + 1) for key, value in values.items()}


def _json(value: object, name: str, hide: Callable[[str], str], depth: int) -> object:
    """The value as plain JSON in canonical spelling; ``name`` is its path, for the error."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return hide(canonical(str.__str__(value)))
    if isinstance(value, date | time):
        return value.isoformat()
    number = _number(value)
    if number is not None:
        if isinstance(number, int) and not -MAX_WHOLE <= number <= MAX_WHOLE:
            raise SettingsError(f"{name[:200]} is a number of more than 4,000 digits", hint="Write it as a text.")
        return number
    if depth > MAX_DEPTH:
        raise SettingsError(f"{name[:80]} is nested deeper than {MAX_DEPTH}", hint="Flatten the metadata.")
    if isinstance(value, (list, tuple)):
        return [_json(item, f"{name}[{n}]", hide, depth + 1) for n, item in enumerate(value)]
    if isinstance(value, Mapping):
        return _mapping(value, name, hide, depth)
    what = f"the number {value}" if isinstance(value, Real) else f"a {type(value).__name__}"
    raise SettingsError(
        f"{scrub(name[:200])[0]} is {what}, which JSON cannot hold",
        hint="Use texts, finite numbers, true, false, null, dates, and lists and mappings of these.",
    )


def _number(value: object) -> int | float | None:
    """A number of any type as the whole number or the finite float that is exactly it; None when there is none."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value) and float(value) == value:
        return float(value)
    return None


def _key(key: object, name: str, hide: Callable[[str], str]) -> str:
    if not isinstance(key, str):
        raise SettingsError(
            f"{name[:200]} has the key {key!r}, a {type(key).__name__}", hint="Keys of metadata are texts."
        )
    return hide(canonical(key))
