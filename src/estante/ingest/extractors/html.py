"""HTML pages: the text that a reader of the page came for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from estante.ingest.decoding import decode
from estante.ingest.formats import suffix
from estante.ingest.grids import grid
from estante.ingest.language import UNKNOWN, language_of, primary
from estante.ingest.manuscript import Manuscript, draft, refuse_empty
from estante.ingest.titles import from_property, stem
from estante.model.content import CODE, TABLE, Draft, Item, canonical
from estante.model.errors import Unreadable

_DECLARED: Final = re.compile(
    rb"<meta\s[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,30})|<\?xml\s[^>]{0,100}?"
    rb"encoding\s*=\s*[\"']([\w.:-]{2,30})",
    re.IGNORECASE,
)
_CLOSED: Final = re.compile(
    r"<(script|style|title|iframe|textarea|noscript|a|b|i|div|span|p|td|th|li)(\s[^<>]{0,500})?/>"
)
_NESTING: Final = re.compile(
    r"<(?:(/?)(?:div|section|article|aside|main|nav|header|footer|ul|ol|dl|blockquote|center|details|dir|fieldset|"
    r"figure|form|hgroup|menu|pre|address|table|span|font|b|i|a|u|em|strong|small|big|s|tt|code|nobr|strike|object|"
    r"button)|(p|li|dt|dd|h[1-6]|hr|summary))\b",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"""<[a-zA-Z](?:[^>=]++|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+""")
_QUOTED: Final = re.compile(r"""=\s*+(?:"[^"]*+"|'[^']*+')""")
_LONG_TAG: Final = 2000
_DEEPEST: Final = 25_000
_MOST_WORK: Final = 1_000_000_000

_UNSEEN_TAGS: Final = (
    "head title script style noscript template nav input select option optgroup datalist textarea button svg canvas "
    "iframe object embed audio video map rp annotation annotation-xml"
)
_UNSEEN_NAMES: Final = (
    "headerlink viewcode-link linenos sphinxsidebar mw-editsection mw-jump-link vector-menu vector-dropdown navbox "
    "printfooter catlinks noprint sr-only visually-hidden screen-reader-text skip-link"
)
_BLOCK_TAGS: Final = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu ol p pre search section summary table tbody td "
    "tfoot th thead tr ul"
)
_UNSEEN: Final = frozenset(_UNSEEN_TAGS.split())
_UNSEEN_CLASSES: Final = frozenset(_UNSEEN_NAMES.split())
_BLOCKS: Final = frozenset(_BLOCK_TAGS.split())
_UNSEEN_ROLES: Final = frozenset(["navigation", "banner", "contentinfo", "search"])
_KEPT_ASIDES: Final = re.compile(r"footnote|citation|topic|admonition|note|warning|sidebar-title", re.IGNORECASE)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LISTS: Final = frozenset(["ul", "ol", "menu", "dir"])
_SECTIONS: Final = frozenset(["main", "article", "section"])
_INVISIBLE: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|!|$)",
    re.IGNORECASE,
)
_SPACE: Final = re.compile(r"[\s\xa0]+")
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_CODE_CLASS: Final = re.compile(r"(?:^|\s)(?:language|lang|highlight)-([\w+#.-]{1,30})")
_MAIN: Final = ("main", "[role=main]")
_ARTICLE: Final = ("article", "div.document", "div.body", "div#content", "div.content")
_KEPT_NAMES: Final = ("description", "keywords", "author", "date")


class HtmlExtractor:
    """The main text of the page, its headings, tables and code marked."""

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is not text, has none, or is nested beyond reason."""
        refuse_empty(data)
        found = _DECLARED.search(data, 0, 8192)
        declared = (found[1] or found[2]).decode("ascii", "replace") if found else None
        decoded = decode(data, declared=declared)
        source = canonical(decoded.text)
        if suffix(item.uri) == ".xhtml" or source[:100].lstrip().startswith("<?xml"):
            # In XML any element may close itself; to HTML the rest of the page would be inside it.
            source = _CLOSED.sub(r"<\1\2></\1>", source)
        _refuse_bombs(source)
        try:
            # Without events: with them a long list of options takes minutes.
            tree = LexborHTMLParser(source, options=LexborDocumentOptions.WO_EVENTS)
            page = _read(tree)
        except (SelectolaxError, ValueError, RecursionError) as error:
            raise Unreadable(
                f"no HTML that can be read: {error}", hint="Open it in a browser and save it again."
            ) from error
        text, hidden = page.script.text, page.hidden
        losses = [f"hidden text left out: {hidden:,} characters"] if hidden else []
        yield draft(
            title=_title(tree, item.uri),
            text=text,
            marks=page.script.marks,
            metadata={**_metadata(tree), **decoded.metadata},
            losses=(*decoded.losses, *losses),
            language=_language(tree, text),
        )


def _refuse_bombs(source: str) -> None:
    """Raises ``Unreadable`` for a page that takes the parser hours.

    For each element it looks at all around it, and for each attribute at all before it.
    """
    depth = work = deepest = 0
    for found in _NESTING.finditer(source):
        if not found[2]:
            depth = max(0, depth - 1) if found[1] else depth + 1
            deepest = max(deepest, depth)
        work += depth
    for tag in _TAG.finditer(source):
        if tag.end() - tag.start() > _LONG_TAG:
            work += len(_QUOTED.sub(" ", tag[0]).replace("/", " ").split()) ** 2
    if deepest > _DEEPEST or work > _MOST_WORK:
        raise Unreadable(
            "elements nested too deeply or with too many attributes",
            hint="No page for people is like this; leave it out.",
        )


def _read(tree: LexborHTMLParser) -> _Page:
    """The page as text: its main part, or all of it when that has none."""
    body = tree.body
    if body is None:
        return _Page()
    for root in (_main(tree, body), body):
        page = _Page()
        page.read(root, whole=False)
        if page.script.length:
            return page
    page = _Page()
    page.read(body, whole=True)
    return page


def _main(tree: LexborHTMLParser, body: LexborNode) -> LexborNode:
    """The element that holds what the page is about; the body when none stands out."""
    for selector in _MAIN:
        found = tree.css_first(selector)
        if found is not None:
            return found
    everything = len(body.text())
    for selector in _ARTICLE:
        candidates = tree.css(selector)
        # One of several articles, or a small part, is not what the page is about.
        if len(candidates) == 1 and len(candidates[0].text()) * 3 > everything:
            return candidates[0]
    return body


def _title(tree: LexborHTMLParser, uri: str) -> str:
    """The page's title without the name of the site, where the first heading tells which part is which."""
    named = tree.css_first("title")
    title = from_property(canonical(named.text())) if named is not None else ""
    top = tree.css_first("h1")
    heading = from_property(canonical(top.text()).replace("¶", " ")) if top is not None else ""
    if heading and (not title or heading.casefold() in title.casefold()):
        return heading
    return title or heading or stem(uri)


def _metadata(tree: LexborHTMLParser) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.css("meta[name]"):
        name = (node.attributes.get("name") or "").lower()
        content = _SPACE.sub(" ", canonical(node.attributes.get("content") or "")).strip()
        if name in _KEPT_NAMES and content:
            found.setdefault(name, content[:2000])
    return found


def _language(tree: LexborHTMLParser, text: str) -> str:
    """The language that the page tells, unless its text clearly is in another: templates often tell it wrongly."""
    html = tree.css_first("html")
    told = primary(html.attributes.get("lang") or "") if html is not None else ""
    return told if told and language_of(text) in (told, UNKNOWN) else ""


def _walk(root: LexborNode, sight: _Sight) -> Iterator[tuple[LexborNode, str, bool]]:
    """Each visible node with its tag as it is entered and as it is left, without recursion; texts are entered only."""
    entered: list[LexborNode] = []
    node: LexborNode | None = root
    while node is not None:
        tag = node.tag or ""
        if node.is_text_node:
            yield node, "", True
        elif node.is_element_node and (not entered or sight.shows(node, tag)):
            yield node, tag, True
            sight.enter(tag)
            child = node.child
            if child is not None:
                entered.append(node)
                node = child
                continue
            sight.leave(tag)
            yield node, tag, False
        following = node.next if entered else None
        while following is None and entered:
            node = entered.pop()
            tag = node.tag or ""
            sight.leave(tag)
            yield node, tag, False
            following = node.next if entered else None
        node = following


class _Sight:
    """What a reader of the page sees of it, and how much text is kept from them.

    ``inside`` says that the reading begins within the main part, where a header is not that of the site.
    """

    def __init__(self, *, inside: bool, whole: bool) -> None:
        self.sections = int(inside)
        self.whole = whole
        self.hidden = 0

    def enter(self, tag: str) -> None:
        self.sections += tag in _SECTIONS

    def leave(self, tag: str) -> None:
        self.sections -= tag in _SECTIONS

    def shows(self, node: LexborNode, tag: str) -> bool:
        if tag in _UNSEEN and not (self.whole and tag == "nav"):
            return False
        if tag in ("header", "footer") and not self.sections and not self.whole:
            return False
        attributes = node.attributes
        classes = attributes.get("class") or ""
        if tag == "aside" and not self.whole and not _KEPT_ASIDES.search(classes):
            return False
        if not attributes and tag != "dialog":
            return True
        if _hides(tag, attributes):
            self.hidden += len("".join(node.text().split()))
            return False
        role = attributes.get("role") or ""
        return (self.whole or role not in _UNSEEN_ROLES) and _UNSEEN_CLASSES.isdisjoint(classes.split())


def _hides(tag: str, attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        return True
    if (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    return _INVISIBLE.search(attributes.get("style") or "") is not None


def _layouts(root: LexborNode, sight: _Sight) -> set[int]:
    """The tables that only put things in their places: with tables, headings or code in them, or one column."""
    found: set[int] = set()
    open_tables: list[tuple[int, list[int]]] = []
    for node, tag, entering in _walk(root, sight):
        if tag == "table" and entering:
            if open_tables:
                found.add(open_tables[-1][0])
            if (node.attributes.get("role") or "") in ("presentation", "none"):
                found.add(node.mem_id)
            open_tables.append((node.mem_id, [0]))
        elif tag == "table":
            table, widths = open_tables.pop()
            if max(widths) < 2:
                found.add(table)
        elif entering and open_tables:
            if tag == "tr":
                open_tables[-1][1].append(0)
            elif tag in ("td", "th"):
                open_tables[-1][1][-1] += 1
            elif tag in _HEADINGS or tag == "pre":
                found.add(open_tables[-1][0])
    return found


class _Page:
    """The text of a page while it is written."""

    def __init__(self) -> None:
        self.script = Manuscript()
        self.hidden = 0
        self.layouts: set[int] = set()
        self.pieces: list[str] = []
        self.lists: list[int] = []
        self.bullet = ""
        self.heading = False
        self.verbatim = False
        self.rows: list[list[str]] | None = None
        self.gap = "\n\n"

    def read(self, root: LexborNode, *, whole: bool) -> None:
        """Writes what is seen below the root; ``whole`` keeps the site's navigation too."""
        inside = root.tag != "body"
        if root.css_first("table") is not None:
            self.layouts = _layouts(root, _Sight(inside=inside, whole=whole))
        sight = _Sight(inside=inside, whole=whole)
        for node, tag, entering in _walk(root, sight):
            if not tag:
                self._text(node.text_content or "")
            elif tag == "br":
                if entering:
                    self.pieces.append("\n")
            elif tag in _BLOCKS:
                self._enter(node, tag) if entering else self._leave(node, tag)
        self._flush()
        self.hidden = sight.hidden

    def _text(self, text: str) -> None:
        self.pieces.append(text if self.verbatim else _SPACE.sub(" ", text))

    def _enter(self, node: LexborNode, tag: str) -> None:
        self._flush()
        if self.rows is not None:
            if tag == "tr":
                self.rows.append([])
            elif tag in ("td", "th", "caption"):
                self.pieces.clear()
        elif tag in _LISTS:
            if not self.lists:
                self.gap = "\n\n"
            self.lists.append(_number(node.attributes.get("start")) if tag == "ol" else 0)
        elif tag == "li":
            self._item()
        elif tag in _HEADINGS:
            self.heading = True
        elif tag == "pre":
            self.verbatim = True
        elif tag == "table" and node.mem_id not in self.layouts:
            self.rows = []

    def _item(self) -> None:
        sign = "-"
        if self.lists and self.lists[-1]:
            sign = f"{self.lists[-1]}."
            self.lists[-1] += 1
        self.bullet = f"{sign} "

    def _leave(self, node: LexborNode, tag: str) -> None:
        if tag in _HEADINGS and self.heading:
            self.heading = False
            self.script.heading(self._taken(), _HEADINGS[tag])
        elif tag == "pre" and self.verbatim:
            code = "".join(self.pieces)
            self.pieces.clear()
            self.verbatim = False
            self.script.block(code, kind=CODE, label=_code_language(node))
        elif self.rows is not None and tag in ("td", "th", "caption", "table"):
            self._leave_table(tag)
        else:
            self._flush()
            if tag in _LISTS and self.lists:
                self.lists.pop()
                self.gap = "\n" if self.lists else "\n\n"

    def _leave_table(self, tag: str) -> None:
        rows = self.rows if self.rows is not None else []
        if tag == "caption":
            self.script.block(self._taken())
        elif tag == "table":
            self.rows = None
            self.pieces.clear()
            self.script.block(grid(rows), kind=TABLE)
        else:
            if not rows:
                rows.append([])
            rows[-1].append(self._taken())

    def _taken(self) -> str:
        text = " ".join("".join(self.pieces).split())
        self.pieces.clear()
        return text

    def _flush(self) -> None:
        """Ends a block; within a heading, a cell or code it is only a space."""
        if self.verbatim:
            return
        if self.heading or self.rows is not None:
            self.pieces.append(" ")
            return
        lines = [" ".join(line.split()) for line in "".join(self.pieces).split("\n")]
        self.pieces.clear()
        text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
        if not text:
            return
        # Deeper than this the indentation would outgrow the text.
        indent = "  " * min(max(len(self.lists) - bool(self.bullet), 0), 8)
        self.script.block(indent + self.bullet + text.replace("\n", f"\n{indent}"), gap=self.gap)
        self.bullet = ""
        self.gap = "\n" if self.lists else "\n\n"


def _number(value: str | None) -> int:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 7 and int(value) else 1


def _code_language(node: LexborNode) -> str:
    """The language that the code, its frame or the highlighter's frame names."""
    candidates = [node.css_first("code"), node, node.parent, node.parent.parent if node.parent else None]
    for candidate in candidates:
        classes = (candidate.attributes.get("class") or "") if candidate is not None else ""
        found = _CODE_CLASS.search(classes)
        if found and found[1] not in ("default", "none", "text"):
            return found[1]
    return ""
