"""Titles of documents: from their first line, their properties, or their file's name."""

from __future__ import annotations

import re
from posixpath import basename
from typing import Final

LONGEST_LINE: Final = 120
LONGEST_PROPERTY: Final = 300

_FURNITURE: Final = re.compile(r"^[\s#=*\-+>/;%\"'.:|_~]+|[\s#=*|]+$")
# What programs write where a title should stand.
_NO_TITLE: Final = re.compile(
    r"(?:untitled|sem t[ií]tulo|sin t[ií]tulo|title|t[ií]tulo|document|documento|microsoft word|word document|"
    r"powerpoint presentation|apresenta[cç][aã]o do powerpoint|print|anonymous|slide)[\s\d().-]*"
    r"|microsoft \w+ - .*|.*\.(?:docx?|odt|rtf|dvi|pdf|ps|tex|html?|indd|qxd|pptx?|xlsx?|fm|txt)",
    re.IGNORECASE,
)


def stem(uri: str) -> str:
    """The last name of the uri without its suffix."""
    name = basename(uri)
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name


def from_first_line(text: str) -> str:
    """The first line with a letter in it, if it is short; else empty. Signs around it are taken off."""
    for found in re.finditer(r"[^\n]+", text[:4000]):
        line = found[0]
        if line.isspace() or not any(map(str.isalpha, line)):
            continue
        return _FURNITURE.sub("", line) if len(line) <= LONGEST_LINE else ""
    return ""


def from_property(value: object) -> str:
    """A title that a document tells of itself, if it is one; else empty."""
    title = " ".join(value.split()) if isinstance(value, str) else ""
    if len(title) > LONGEST_PROPERTY or not any(map(str.isalpha, title)) or _NO_TITLE.fullmatch(title):
        return ""
    return title
