"""Styles and list definitions of a word processor's document, looked up by paragraph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from estante.ingest.numbering import Counter, Level

_HEADING: Final = re.compile(r"(?:heading|t[ií]?tulo|titre|titolo|überschrift|encabezado)\s*([1-9])", re.IGNORECASE)
_TITLE: Final = re.compile(r"title|t[ií]?tulo|titre|titolo|titel", re.IGNORECASE)
_DEEPEST_CHAIN: Final = 20
_BODY_LEVEL: Final = 9


@lru_cache(maxsize=4096)
def _after_brace(tag: str) -> str:
    return tag.rpartition("}")[2]


def local(element: Any) -> str:
    """The name of the element without its namespace; empty for a comment. Word has two for the same names."""
    tag = element.tag
    return _after_brace(tag) if isinstance(tag, str) else ""


def value(element: Any, name: str = "val") -> str:
    """The attribute of this name in whatever namespace; empty when it is missing."""
    for key, text in element.attrib.items():
        if _after_brace(key) == name:
            return str(text)
    return ""


def child(element: Any, *path: str) -> Any:
    """The first element down this path; None when there is none."""
    for name in path:
        element = next((inner for inner in element if local(inner) == name), None)
        if element is None:
            return None
    return element


def switched_on(properties: Any, name: str) -> bool | None:
    """Whether a property is on; None when nothing is said of it."""
    found = child(properties, name) if properties is not None else None
    return None if found is None else value(found) not in ("0", "false", "off")


def whole_number(text: str, default: int) -> int:
    """The number that the text is, when it is a sensible one."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,6}", text) else default


@dataclass(frozen=True, slots=True)
class Style:
    """What a style says itself: None and empty are for what it leaves to the style that it is based on."""

    name: str = ""
    parent: str = ""
    outline: int | None = None
    hidden: bool | None = None
    number: str = ""
    level: int = 0


class Styles:
    """The styles of a document, with what each takes over from those it is based on."""

    def __init__(self, root: Any = None) -> None:
        elements = [] if root is None else [element for element in root if local(element) == "style"]
        self._styles = {value(element, "styleId"): _style(element) for element in elements}
        defaults = [
            value(e, "styleId") for e in elements if value(e, "default") == "1" and value(e, "type") == "paragraph"
        ]
        self.default = defaults[0] if defaults else ""

    def _chain(self, style: str) -> list[tuple[str, Style]]:
        found: list[tuple[str, Style]] = []
        while style in self._styles and len(found) < _DEEPEST_CHAIN:
            found.append((style, self._styles[style]))
            style = self._styles[style].parent
        return found

    def heading(self, style: str) -> int:
        """The level of heading (from 1) that the style makes; 0 for text."""
        for name, own in self._chain(style):
            if own.outline is not None:
                return own.outline + 1 if 0 <= own.outline < _BODY_LEVEL else 0
            found = _HEADING.fullmatch(own.name) or _HEADING.fullmatch(name)
            if found:
                return int(found[1])
        found = _HEADING.fullmatch(style) if style not in self._styles else None
        return int(found[1]) if found else 0

    def title(self, style: str) -> bool:
        """Whether the style is that of the document's title."""
        names = [style, *(own.name for _, own in self._chain(style)[:1])]
        return any(_TITLE.fullmatch(name) for name in names)

    def hidden(self, style: str) -> bool:
        """Whether text in this style is not shown."""
        return next((own.hidden for _, own in self._chain(style) if own.hidden is not None), False)

    def numbered(self, style: str) -> tuple[str, int]:
        """The list and the level in it that the style puts its paragraphs in; an empty list for none."""
        return next(((own.number, own.level) for _, own in self._chain(style) if own.number), ("", 0))


def _style(element: Any) -> Style:
    name, parent = child(element, "name"), child(element, "basedOn")
    outline = child(element, "pPr", "outlineLvl")
    number, level = child(element, "pPr", "numPr", "numId"), child(element, "pPr", "numPr", "ilvl")
    return Style(
        name=value(name) if name is not None else "",
        parent=value(parent) if parent is not None else "",
        outline=whole_number(value(outline), _BODY_LEVEL) if outline is not None else None,
        hidden=switched_on(child(element, "rPr"), "vanish"),
        number=value(number) if number is not None else "",
        level=whole_number(value(level), 0) if level is not None else 0,
    )


def counter(root: Any) -> Counter:
    """The lists that the part with the numbering defines."""
    abstract: dict[str, dict[int, Level]] = {}
    links: dict[str, str] = {}
    styles: dict[str, str] = {}
    for element in root:
        if local(element) == "abstractNum":
            name = value(element, "abstractNumId")
            abstract[name] = _levels(element)
            for inner in element:
                if local(inner) == "numStyleLink":
                    links[name] = value(inner)
                elif local(inner) == "styleLink":
                    styles[value(inner)] = name
    lists: dict[str, dict[int, Level]] = {}
    shared: dict[str, str] = {}
    for element in root:
        if local(element) == "num":
            number, base = value(element, "numId"), child(element, "abstractNumId")
            name = value(base) if base is not None else ""
            name = styles.get(links.get(name, ""), name)
            lists[number] = {**abstract.get(name, {}), **_overrides(element, abstract.get(name, {}))}
            if child(element, "lvlOverride", "startOverride") is None:
                shared[number] = f"abstract {name}"
    return Counter(lists, shared)


def _levels(element: Any) -> dict[int, Level]:
    return {whole_number(value(inner, "ilvl"), 0): _level(inner) for inner in element if local(inner) == "lvl"}


def _level(element: Any) -> Level:
    kind, start, text = child(element, "numFmt"), child(element, "start"), child(element, "lvlText")
    return Level(
        kind=value(kind) if kind is not None else "decimal",
        start=whole_number(value(start), 1) if start is not None else 1,
        text=value(text)[:100] if text is not None else "",
    )


def _overrides(element: Any, base: dict[int, Level]) -> dict[int, Level]:
    found: dict[int, Level] = {}
    for inner in element:
        if local(inner) == "lvlOverride":
            at = whole_number(value(inner, "ilvl"), 0)
            own, start = child(inner, "lvl"), child(inner, "startOverride")
            level = _level(own) if own is not None else base.get(at, Level())
            if start is not None:
                level = Level(level.kind, whole_number(value(start), 1), level.text)
            found[at] = level
    return found
