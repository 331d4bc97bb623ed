"""PDF, Word and RTF files as plain texts, for the frozen-chunk kit; read by the extractors that a bookcase reads with.

Each takes the bytes of a file. Its text is blank when there is none in it; what cannot be read at all is a
``ContractValueError``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from estante.contract.errors import ContractValueError
from estante.contract.loading import text_of
from estante.ingest.formats import EXTRACTORS
from estante.model.content import PAGE, Draft, Item
from estante.model.errors import Unreadable

# What extractors say of a whole file without any text; for the kit that is a blank document, like an empty text file.
_BLANK: Final = "no text"


def pdf_text(data: bytes) -> str:
    """The text of the pages, one LF between two of them; a page without text is an empty line."""
    return "\n".join(_pages(draft) for draft in _drafts("pdf", data))


def docx_text(data: bytes) -> str:
    """The text of the body with its tables, notes, headers and comments, blocks set apart by a blank line."""
    return "\n\n".join(draft.text for draft in _drafts("docx", data))


def rtf_text(data: bytes) -> str:
    """The text of an RTF file, read with the package striprtf. Raises ``UnicodeDecodeError`` for what is not UTF-8."""
    source = text_of(data)
    if not source.lstrip().startswith("{\\rtf"):
        raise ContractValueError("damaged: no RTF file that can be read")
    try:
        text = str(import_module("striprtf.striprtf").rtf_to_text(source))
    except Exception as error:  # It is written for whole files only, and fails in any way on others.
        raise ContractValueError("damaged: no RTF file that can be read") from error
    # RTF writes a character beyond U+FFFF as the two halves of UTF-16, and striprtf leaves them apart.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _pages(draft: Draft) -> str:
    texts = {int(mark.label): draft.text[mark.start : mark.end] for mark in draft.marks if mark.kind == PAGE}
    count = draft.metadata["pages"]
    assert isinstance(count, int), "the reader of PDF files tells how many pages there are"
    return "\n".join(texts.get(number, "") for number in range(1, count + 1))


def _drafts(name: str, data: bytes) -> list[Draft]:
    item = Item(source="", uri="", media_type="", revision="", read=lambda: data)
    drafts: Iterable[Draft] = EXTRACTORS.load(name)().drafts(item, data)
    try:
        return list(drafts)
    except Unreadable as error:
        if error.message.startswith(_BLANK):
            return []
        raise ContractValueError(f"{error.message}. {error.hint}") from error
