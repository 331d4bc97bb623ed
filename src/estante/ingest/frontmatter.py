"""The YAML block at the head of a text file, as JSON values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any, Final

import yaml

_LONGEST: Final = 64_000
_DEEPEST: Final = 8
_OPENING: Final = re.compile(r"---[ \t]*\n")
_CLOSING: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stood at the head: its values, where the text after it begins, and what could not be kept."""

    values: Mapping[str, object] = field(default_factory=dict)
    end: int = 0
    losses: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """Safe YAML without references: a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("references are not read")
        return super().compose_node(parent, index)


def front_matter(text: str) -> FrontMatter:
    """The values of the block that opens the text; nothing, when there is none or it cannot be read."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end(), opening.end() + _LONGEST) if opening else None
    if opening is None or closing is None:
        return FrontMatter()
    try:
        loaded = yaml.load(text[opening.end() : closing.start()], _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return FrontMatter(losses=(f"front matter that cannot be read ({type(error).__name__}) stays in the text",))
    if loaded is None:
        return FrontMatter(end=closing.end())
    if not isinstance(loaded, dict):
        # A line of prose between two rules is no front matter.
        return FrontMatter()
    dropped: list[str] = []
    values = _mapping(loaded, "", 0, dropped)
    losses = tuple(f"front matter: {name} is no JSON value and was left out" for name in dropped[:20])
    return FrontMatter(values, closing.end(), losses)


_NOTHING: Final = object()
_LARGEST: Final = 10**4_000  # more digits than Python turns into a text


def _mapping(value: Mapping[Any, Any], name: str, depth: int, dropped: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, inner in value.items():
        path = f"{name}.{key}" if name else str(key)
        kept = _json(inner, path, depth + 1, dropped)
        if kept is not _NOTHING:
            found[str(key)] = kept
    return found


def _json(value: Any, name: str, depth: int, dropped: list[str]) -> object:
    """The value as JSON knows it, or ``_NOTHING`` after noting its name."""
    if value is None or isinstance(value, str | bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if depth < _DEEPEST and isinstance(value, Mapping):
        return _mapping(value, name, depth, dropped)
    if depth < _DEEPEST and isinstance(value, list | tuple | set):
        values = sorted(value, key=str) if isinstance(value, set) else value
        kept = [_json(inner, f"{name}[{at}]", depth + 1, dropped) for at, inner in enumerate(values)]
        return [inner for inner in kept if inner is not _NOTHING]
    dropped.append(name[:80])
    return _NOTHING
