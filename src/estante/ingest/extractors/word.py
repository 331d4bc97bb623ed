"""Word documents (docx): all the text that they show, in the order of the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import Any, Final

from estante.ingest.archive import Archive
from estante.ingest.grids import grid
from estante.ingest.manuscript import Manuscript, draft, refuse_empty
from estante.ingest.numbering import BULLET, Counter
from estante.ingest.titles import from_property, stem
from estante.ingest.wordstyles import Styles, child, counter, local, switched_on, value, whole_number
from estante.model.content import TABLE, Draft, Item, canonical
from estante.model.errors import Unreadable

_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LONGEST_HEADING: Final = 300
_WIDEST_SPAN: Final = 63
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?)?")

_DELETED: Final = frozenset(["del", "moveFrom"])
_NOT_TEXT: Final = frozenset(
    [
        "pPr",
        "rPr",
        "sdtPr",
        "sdtEndPr",
        "tblPr",
        "tblGrid",
        "trPr",
        "tcPr",
        "sectPr",
        "instrText",
        "delText",
        "rt",
        "fldData",
    ]
)
_SIGNS: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Where fonts of signs keep the commonest ones.
_SYMBOLS: Final = {0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "➢", 0xF0FC: "✓", 0xF0FE: "☑", 0xF0A8: "☐", 0xF0E0: "→"}


class DocxExtractor:
    """The text of the body with its notes, page headers and comments after it; headings and tables are marked."""

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is encrypted, damaged, swollen, or has no text."""
        refuse_empty(data)
        if data.startswith(_OLE):
            raise _not_docx(data)
        package = _Package(Archive(data))
        reading = _Reading(package)
        script = Manuscript()
        titled = ""
        for block in reading.all_blocks():
            titled = titled or _write(script, block)
        properties = package.properties()
        first = next((mark.label for mark in script.marks if mark.level == 1), "")
        first = first or next((mark.label for mark in script.marks if mark.level), "")
        yield draft(
            title=from_property(properties.get("title")) or from_property(titled) or first or stem(item.uri),
            text=script.text,
            marks=script.marks,
            metadata={name: properties[name] for name in ("created", "modified") if name in properties},
            losses=reading.losses(),
        )


def _not_docx(data: bytes) -> Unreadable:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return Unreadable("encrypted: needs a password", hint="Save it without a password.")
    return Unreadable("an old Word file under a new name", hint="Open it in Word and save it as .docx.")


@dataclass(frozen=True, slots=True)
class _Block:
    """A piece of the document: ``kind`` is text, title, heading, item or table; ``level`` counts from 1."""

    kind: str
    text: str
    level: int = 0


def _write(script: Manuscript, block: _Block) -> str:
    """Writes the block; returns its text when it is the title."""
    if block.kind == "heading":
        script.heading(block.text, block.level)
    elif block.kind == "table":
        script.block(block.text, kind=TABLE)
    elif block.kind == "item":
        # Deeper than this the indentation would outgrow the text.
        indent = "  " * min(block.level - 1, 8)
        script.block(indent + block.text.replace("\n", f"\n{indent}"), gap="\n")
    else:
        script.block(block.text)
    return " ".join(block.text.split()) if block.kind == "title" else ""


class _Package:
    """The parts of the file, found by how they refer to each other."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        top = self._relations("")
        self.main = next((target for kind, target in top.values() if kind == "officeDocument"), "word/document.xml")
        self.core = next((target for kind, target in top.values() if kind == "core-properties"), "")
        if self.main not in archive:
            raise Unreadable("damaged: there is no Word document in it", hint="Open it in Word and save it again.")
        self.relations = self._relations(self.main)

    def _relations(self, part: str) -> dict[str, tuple[str, str]]:
        """By id: the kind of each relation and the part that it leads to."""
        folder = dirname(part)
        name = join(folder, "_rels", f"{part[len(folder) :].lstrip('/')}.rels")
        if name not in self.archive:
            return {}
        found: dict[str, tuple[str, str]] = {}
        for element in self.archive.xml(name):
            target = value(element, "Target")
            path = normpath(target.lstrip("/") if target.startswith("/") else join(folder, target))
            if value(element, "TargetMode") != "External":
                found[value(element, "Id")] = (value(element, "Type").rpartition("/")[2], path)
        return found

    def part(self, kind: str) -> Any:
        """The root of the first part of this kind; None when there is none."""
        name = next((target for own, target in self.relations.values() if own == kind), "")
        return self.archive.xml(name) if name in self.archive else None

    def related(self, number: str) -> Any:
        """The root of the part with this id; None when there is none."""
        name = self.relations.get(number, ("", ""))[1]
        return self.archive.xml(name) if name in self.archive else None

    def properties(self) -> dict[str, str]:
        """Title and dates that the document tells of itself."""
        if self.core not in self.archive:
            return {}
        found = {local(element): canonical(element.text or "").strip() for element in self.archive.xml(self.core)}
        return {name: text for name, text in found.items() if name == "title" or _ISO.fullmatch(text)}


class _Reading:
    """One pass over the parts of a document; counts what it leaves out."""

    def __init__(self, package: _Package) -> None:
        self.package = package
        numbering, styles = package.part("numbering"), package.part("styles")
        self.styles = Styles(styles)
        self.counter = counter(numbering) if numbering is not None else Counter({}, {})
        self.notes: list[tuple[str, str]] = []
        self.hidden = self.objects = self.chunks = 0

    def losses(self) -> list[str]:
        """What was left out, a line each."""
        counts = (
            (self.hidden, "hidden text left out: {:,} characters"),
            (self.objects, "embedded objects not read: {:,}"),
            (self.chunks, "embedded documents not read: {:,}"),
        )
        return [line.format(count) for count, line in counts if count]

    def all_blocks(self) -> Iterator[_Block]:
        """The body, then its notes, then each page header and footer once, then the comments."""
        root = self.package.archive.xml(self.package.main)
        yield from self._blocks(root)
        yield from self._note_blocks()
        yield from self._running_blocks(root)
        comments = self.package.part("comments")
        if comments is not None:
            yield from self._plain(comments)

    def _note_blocks(self) -> Iterator[_Block]:
        parts = {kind: self.package.part(kind) for kind in dict.fromkeys(kind for kind, _ in self.notes)}
        bodies = {(kind, value(note, "id")): note for kind, part in parts.items() if part is not None for note in part}
        for number, reference in enumerate(list(self.notes), start=1):
            if reference in bodies:
                text = " ".join(block.text for block in self._plain(bodies[reference]))
                yield _Block("text", f"[{number}] {text}" if text else "")

    def _running_blocks(self, root: Any) -> Iterator[_Block]:
        """What runs at the head and foot of the pages; a page number alone is nothing."""
        seen: set[str] = set()
        ids = [value(e, "id") for e in root.iter() if local(e) in ("headerReference", "footerReference")]
        for part in map(self.package.related, dict.fromkeys(ids)):
            for block in self._plain(part) if part is not None else ():
                if block.text not in seen and any(map(str.isalpha, block.text)):
                    seen.add(block.text)
                    yield block

    def _plain(self, element: Any) -> Iterator[_Block]:
        """The blocks as mere text: only the body has headings."""
        for block in self._blocks(element):
            yield block if block.kind == "table" else _Block("text", block.text)

    def _blocks(self, element: Any, *, in_cell: bool = False) -> Iterator[_Block]:
        for inner in element:
            name = local(inner)
            if name == "p":
                yield from self._paragraph(inner, in_cell=in_cell)
            elif name == "tbl":
                yield from self._table(inner, in_cell=in_cell)
            elif name == "AlternateContent":
                yield from self._blocks(_chosen(inner), in_cell=in_cell)
            elif name == "altChunk":
                self.chunks += 1
            elif name and name not in _DELETED and name not in _NOT_TEXT:
                yield from self._blocks(inner, in_cell=in_cell)

    def _paragraph(self, element: Any, *, in_cell: bool) -> Iterator[_Block]:
        properties = child(element, "pPr")
        named = child(properties, "pStyle") if properties is not None else None
        style = value(named) if named is not None else self.styles.default
        words = _Words(self, self.styles.hidden(style))
        words.read(element)
        text = "".join(words.pieces).strip(" \n")
        if text.strip():
            yield self._typed(text, properties, style)
        for box in words.boxes:
            yield from self._blocks(box, in_cell=in_cell)

    def _typed(self, text: str, properties: Any, style: str) -> _Block:
        """The paragraph as what its style and its own properties make it."""
        label, depth = self._label(properties, style)
        outline = child(properties, "outlineLvl") if properties is not None else None
        level = whole_number(value(outline), 9) + 1 if outline is not None else self.styles.heading(style)
        if 1 <= level <= 9 and len(text) <= _LONGEST_HEADING:
            return _Block("heading", text if label in ("", BULLET) else f"{label} {text}", level)
        if self.styles.title(style):
            return _Block("title", text)
        if label:
            return _Block("item", f"{label} {text}", depth + 1)
        return _Block("text", text)

    def _label(self, properties: Any, style: str) -> tuple[str, int]:
        """What the list puts before the paragraph, and its depth there."""
        number, depth = self.styles.numbered(style)
        own = child(properties, "numPr") if properties is not None else None
        if own is not None:
            own_number, own_level = child(own, "numId"), child(own, "ilvl")
            number = value(own_number) if own_number is not None else number
            depth = whole_number(value(own_level), 0) if own_level is not None else depth
        if not number or number == "0":
            return "", 0
        depth = min(max(depth, 0), 8)
        return self.counter.label(number, depth), depth

    def _table(self, element: Any, *, in_cell: bool) -> Iterator[_Block]:
        """A table; one with a single column is only a frame, and one in a cell is part of its text."""
        rows = [list(_cells(row)) for row in _rows(element)]
        if max(map(len, rows), default=0) < 2:
            for row in rows:
                for cell, _ in row:
                    yield from self._blocks(cell, in_cell=in_cell)
            return
        texts = [[text for cell, span in row for text in self._spread(cell, span)] for row in rows]
        if in_cell:
            yield _Block("text", "; ".join(" ".join(filter(None, row)) for row in texts if any(row)))
        else:
            yield _Block("table", grid(texts))

    def _spread(self, cell: Any, span: int) -> list[str]:
        merged = child(cell, "tcPr", "vMerge")
        # What a cell merged with the one above holds is not shown.
        shown = merged is None or value(merged) == "restart"
        text = " ".join(block.text for block in self._blocks(cell, in_cell=True)) if shown else ""
        return [text, *[""] * (span - 1)]


def _chosen(element: Any) -> Any:
    """The one of several ways to say the same that has text; the first one, when all have."""
    for option in element:
        if any(local(inner) in ("t", "txbxContent") for inner in option.iter()):
            return option
    return ()


def _rows(table: Any) -> Iterator[Any]:
    for inner in table:
        name = local(inner)
        if name == "tr":
            if child(inner, "trPr", "del") is None:
                yield inner
        elif name and name not in _DELETED and name not in _NOT_TEXT:
            yield from _rows(inner)


def _cells(row: Any) -> Iterator[tuple[Any, int]]:
    """Each cell of a row and how many columns it spans."""
    for inner in row:
        name = local(inner)
        if name == "tc":
            span = child(inner, "tcPr", "gridSpan")
            yield inner, min(max(whole_number(value(span), 1) if span is not None else 1, 1), _WIDEST_SPAN)
        elif name and name not in _DELETED and name not in _NOT_TEXT:
            yield from _cells(inner)


class _Words:
    """The words of one paragraph, and the text boxes that hang on it."""

    def __init__(self, reading: _Reading, hidden: bool) -> None:
        self.reading = reading
        self.pieces: list[str] = []
        self.boxes: list[Any] = []
        self.hidden = hidden

    def read(self, element: Any) -> None:
        """Adds what the element shows. As deep as the XML, which its parser bounds."""
        for inner in element:
            name = local(inner)
            if name == "t":
                self._add(inner.text or "")
            elif name in _SIGNS:
                self._add(_SIGNS[name])
            elif name == "r":
                self._run(inner)
            elif name == "sym":
                self._add(_symbol(value(inner, "char")))
            elif name in ("footnoteReference", "endnoteReference"):
                self.reading.notes.append((f"{name.removesuffix('Reference')}s", value(inner, "id")))
                self._add(f"[{len(self.reading.notes)}]")
            elif name == "txbxContent":
                self.boxes.append(inner)
            elif name == "AlternateContent":
                self.read(_chosen(inner))
            elif name and name not in _DELETED and name not in _NOT_TEXT:
                self.reading.objects += name == "OLEObject"
                self.read(inner)

    def _run(self, element: Any) -> None:
        before = self.hidden
        properties = child(element, "rPr")
        if properties is not None:
            own, style = switched_on(properties, "vanish"), child(properties, "rStyle")
            if own is not None:
                self.hidden = own
            elif style is not None and self.reading.styles.hidden(value(style)):
                self.hidden = True
        self.read(element)
        self.hidden = before

    def _add(self, text: str) -> None:
        if self.hidden:
            self.reading.hidden += len("".join(text.split()))
        else:
            self.pieces.append(text)


def _symbol(code: str) -> str:
    point = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,5}", code) else 0
    if 0xF000 <= point <= 0xF0FF:
        return _SYMBOLS.get(point, "")
    return chr(point) if point >= 0x20 else ""
