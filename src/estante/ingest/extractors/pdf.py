"""PDF files: the text of their pages, in the order in which PDFium reads it."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from itertools import pairwise
from threading import Lock
from typing import Any, Final

import pypdfium2 as pdfium

from estante.ingest.manuscript import draft, in_order, refuse_empty
from estante.ingest.titles import from_first_line, from_property, stem
from estante.model.content import HEADING, PAGE, Draft, Item, Mark, canonical
from estante.model.errors import Unreadable

MOST_PAGES: Final = 10_000
MOST_CHARACTERS: Final = 100_000_000
MOST_SECONDS: Final = 120.0
_MOST_BOOKMARKS: Final = 5_000
_PASSWORD: Final = 4

# PDFium may be used by one thread at a time.
_PDFIUM: Final = Lock()

_BREAKS: Final = re.compile(r"\r\n?|[\u2028\u2029\x0b\x0c]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\uffff\ufdd0-\ufdef]")
_BLANKS: Final = re.compile(r"[ \t\xa0]{2,}|\xa0|\t")
_TRAILING: Final = re.compile(r" +(?=\n)|(?<=\n) +")
# Shapes of letters for print: Latin and Armenian ligatures, Hebrew and Arabic forms.
_SHAPES: Final = re.compile(r"[\ufb00-\ufb4f\ufb50-\ufdfb\ufe70-\ufefc]")
# An alef cannot stand before an alef with a sign: there the parts of the ligature lam-alef came in the wrong order.
_LAM_ALEF: Final = re.compile("ا([إأآ])ل")
# Possessive, and only from the start of a word: a page can be one endless word.
_HYPHEN: Final = re.compile(
    r"(?<![\w-])(?P<before>[^\W\d_]++(?:-[^\W\d_]++)*+)(?:[\ufffe\x02\xad]\n?|-\n)(?P<after>[^\W\d_]+)"
)
_STRAY_HYPHEN: Final = re.compile(r"[\ufffe\x02]\n?")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PRONOUNS: Final = frozenset(
    ["se", "me", "te", "lhe", "lhes", "nos", "vos", "lo", "la", "los", "las", "no", "na", "o", "a", "os", "as"]
)
_NUMBERING: Final = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.(?:\d+\.?)*|[IVXLC]+\.)\s+(?=\S)")
_DATE: Final = re.compile(r"D:(\d{4})(\d{2})(\d{2})")


class PdfExtractor:
    """The text of the pages, two line ends between them; pages and the outline's headings are marked.

    A file that takes longer than ``seconds`` is given up.
    """

    def __init__(self, seconds: float = MOST_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """One draft. Raises ``Unreadable`` for what is encrypted, damaged, too long, or has no text layer."""
        refuse_empty(data)
        with _PDFIUM:
            pages, bookmarks, properties, attached = self._read(data)
        pages = _cleaned(pages)
        blank = [str(number) for number, text in enumerate(pages, start=1) if not text]
        if len(blank) == len(pages):
            raise Unreadable(
                f"no text layer in {_counted(len(pages), 'page')} (a scan?)",
                hint="Run OCR on it, and add what comes out.",
            )
        text = "\n\n".join(filter(None, pages))
        marks = list(_page_marks(pages))
        headings = list(_headings(text, {int(mark.label): mark for mark in marks}, bookmarks))
        yield draft(
            title=from_property(properties.get("Title")) or from_first_line(text) or stem(item.uri),
            text=text,
            marks=in_order([*marks, *headings]),
            metadata=_metadata(properties, len(pages)),
            losses=_losses(blank, attached),
        )

    def _read(self, data: bytes) -> tuple[list[str], list[tuple[int, str, int]], dict[str, str], int]:
        deadline = self.clock() + self.seconds
        try:
            with closing(pdfium.PdfDocument(data)) as document:
                count = len(document)
                if count > MOST_PAGES:
                    raise Unreadable(f"{count:,} pages, more than {MOST_PAGES:,}", hint="Split the file.")
                pages, total = [], 0
                for number in range(count):
                    pages.append(_page_text(document, number))
                    total += len(pages[-1])
                    if total > MOST_CHARACTERS or self.clock() > deadline:
                        raise Unreadable(f"too much to read, given up at page {number + 1:,}", hint="Split the file.")
                return pages, list(_bookmarks(document)), _properties(document), document.count_attachments()
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD:
                raise Unreadable("encrypted: needs a password", hint="Save it without a password.") from error
            raise Unreadable("damaged: no PDF that can be read", hint="Get the file again.") from error


def _page_text(document: Any, number: int) -> str:
    """The text of one page; empty when that page alone is damaged."""
    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            return str(text.get_text_range())
    except pdfium.PdfiumError:
        return ""


def _bookmarks(document: Any) -> Iterator[tuple[int, str, int]]:
    """Page (from 1), title and level (from 1) of each entry of the outline; a damaged one is passed over."""
    for count, bookmark in enumerate(document.get_toc()):
        if count >= _MOST_BOOKMARKS:
            return
        with suppress(UnicodeDecodeError, pdfium.PdfiumError):
            target = bookmark.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None and page >= 0:
                yield page + 1, canonical(bookmark.get_title()), bookmark.level + 1


def _properties(document: Any) -> dict[str, str]:
    try:
        return {key: canonical(value) for key, value in document.get_metadata_dict().items()}
    except (pdfium.PdfiumError, UnicodeDecodeError):
        return {}


def _metadata(properties: dict[str, str], pages: int) -> dict[str, object]:
    found: dict[str, object] = {"pages": pages}
    for name, key in (("created", "CreationDate"), ("modified", "ModDate")):
        date = _DATE.match(properties.get(key, ""))
        if date and 1 <= int(date[2]) <= 12 and 1 <= int(date[3]) <= 31:
            found[name] = "-".join(date.groups())
    return found


def _cleaned(pages: list[str]) -> list[str]:
    """The pages with letters for their printed shapes, words that a line end had cut whole again, no controls."""
    pages = [_BREAKS.sub("\n", page) for page in pages]
    if any(_HYPHEN.search(page) for page in pages):
        known = {word.lower() for page in pages for word in _WORD.findall(page)}
        pages = [_HYPHEN.sub(lambda found: _joined(found, known), page) for page in pages]
    return [_clean(_STRAY_HYPHEN.sub("-", page)) for page in pages]


def _joined(found: re.Match[str], known: set[str]) -> str:
    """The word in one, with its hyphen where the file writes it so elsewhere, or where it binds a pronoun."""
    before, after = found["before"], found["after"]
    whole, hyphened = before + after, f"{before}-{after}"
    if whole.lower() in known and hyphened.lower() not in known:
        return whole
    if hyphened.lower() in known or "-" in before or not after[0].islower() or after in _PRONOUNS:
        return hyphened
    return whole


def _clean(page: str) -> str:
    page = _SHAPES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), page)
    page = _LAM_ALEF.sub(r"ال\1", page)
    page = _CONTROLS.sub("", page).replace("\uf0b7", "•")
    page = _TRAILING.sub("", _BLANKS.sub(" ", page))
    return canonical(page).strip()


def _page_marks(pages: list[str]) -> Iterator[Mark]:
    """A mark on each page with text; the others have no place in it."""
    start = 0
    for number, page in enumerate(pages, start=1):
        if page:
            yield Mark(PAGE, start, start + len(page), str(number))
            start += len(page) + 2


def _headings(text: str, pages: dict[int, Mark], bookmarks: list[tuple[int, str, int]]) -> Iterator[Mark]:
    """A heading for each entry of the outline whose title is a line, or two lines, of its page."""
    taken: set[int] = set()
    lines: dict[int, dict[str, list[tuple[int, int]]]] = {}
    for number, title, level in bookmarks:
        mark = pages.get(number)
        if mark is None:
            continue
        if number not in lines:
            lines[number] = _lines(text, mark)
        keys = (_key(title), _key(_NUMBERING.sub("", title)))
        places = next((lines[number][key] for key in keys if key in lines[number]), [])
        place = next((place for place in places if place[0] not in taken), None)
        if place is not None:
            taken.add(place[0])
            yield Mark(HEADING, *place, " ".join(text[slice(*place)].split()), level)


def _lines(text: str, page: Mark) -> dict[str, list[tuple[int, int]]]:
    """Where each line of the page stands, and each two lines, by their words with and without numbering."""
    bounds = [(found.start(), found.end()) for found in re.finditer(r"[^\n]+", text[page.start : page.end])]
    spans = [(page.start + start, page.start + end) for start, end in bounds]
    pairs = [(first[0], second[1]) for first, second in pairwise(spans)]
    found: dict[str, list[tuple[int, int]]] = {}
    for start, end in [*spans, *pairs]:
        if end - start <= 400:
            words = text[start:end]
            for key in dict.fromkeys((_key(words), _key(_NUMBERING.sub("", words)))):
                if key:
                    found.setdefault(key, []).append((start, end))
    return found


def _key(words: str) -> str:
    return "".join(unicodedata.normalize("NFKC", words).split()).casefold().rstrip(".:")


def _losses(blank: list[str], attached: int) -> list[str]:
    losses = []
    if blank:
        shown = ", ".join(blank[:20]) + (f" and {len(blank) - 20:,} more" if len(blank) > 20 else "")
        losses.append(f"page{'s' if len(blank) > 1 else ''} {shown}: no text layer")
    if attached > 0:
        losses.append(f"{_counted(attached, 'attached file')} not read")
    return losses


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
