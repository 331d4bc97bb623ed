"""Which extractor reads what: names, suffixes and media types."""

from __future__ import annotations

from posixpath import basename
from typing import Final

from estante.model.plugins import Builtin, Plugins

READERS_VERSION: Final = "1"
"""For the recipe: what another version of these extractors has read should be read again."""

_HOME: Final = "estante.ingest.extractors"

EXTRACTORS: Final = Plugins(
    "extractor",
    "estante.extractors",
    {
        "plain": Builtin(f"{_HOME}.plain:PlainExtractor"),
        "markdown": Builtin(f"{_HOME}.markdown:MarkdownExtractor"),
        "html": Builtin(f"{_HOME}.html:HtmlExtractor"),
        "csv": Builtin(f"{_HOME}.table:CsvExtractor"),
        "pdf": Builtin(f"{_HOME}.pdf:PdfExtractor"),
        "docx": Builtin(f"{_HOME}.word:DocxExtractor"),
    },
)

_TEXT: Final = "txt text log rst rest adoc asciidoc org tex textile wiki srt vtt po pot diff patch"
_DATA: Final = "json jsonl ndjson geojson yaml yml toml xml xsd xsl xslt ini cfg conf properties"
_CODE: Final = (
    "py pyi ipynb js mjs cjs ts jsx tsx java kt kts scala groovy c h cc cpp cxx hpp hh cs go rs rb php pl pm lua r jl "
    "swift m sh bash zsh fish ps1 bat cmd sql css scss less vue dart ex exs erl hs ml clj lisp el vb pas asm f90 tf "
    "proto graphql gradle cmake mk dockerfile"
)
_UNSUFFIXED: Final = (
    "readme license licence copying notice authors contributors changelog changes news todo install makefile "
    "dockerfile vagrantfile jenkinsfile gemfile rakefile procfile codeowners leiame licenca"
)


def _dotted(words: str) -> list[str]:
    return [f".{word}" for word in words.split()]


SOURCE_SUFFIXES: Final = frozenset(_dotted(f"{_CODE} {_DATA}"))
"""Programs and data: their first line is no title."""

SUFFIXES: Final[dict[str, str]] = {
    **dict.fromkeys(_dotted(f"{_TEXT} {_DATA} {_CODE}"), "plain"),
    ".md": "markdown",
    ".markdown": "markdown",
    ".mkd": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
}

NAMES: Final = frozenset(_UNSUFFIXED.split())
"""Files without a suffix that are text, by their names in lower case."""

MEDIA_TYPES: Final[dict[str, str]] = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mkd": "text/markdown",
    ".mdx": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docm": "application/vnd.ms-word.document.macroEnabled.12",
    ".rst": "text/x-rst",
    ".rest": "text/x-rst",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".xml": "application/xml",
}


def suffix(uri: str) -> str:
    """The suffix of the last name in lower case with its dot; empty when it has none."""
    stem, dot, last = basename(uri).rpartition(".")
    return f".{last.lower()}" if dot and stem else ""


def extractor_name(uri: str) -> str | None:
    """The name of the extractor that reads a file of this name; None when none does."""
    ending = suffix(uri)
    if ending:
        return SUFFIXES.get(ending)
    return "plain" if basename(uri).lower() in NAMES else None


def media_type(uri: str) -> str:
    """What kind of content a file of this name has."""
    ending = suffix(uri)
    if ending in MEDIA_TYPES:
        return MEDIA_TYPES[ending]
    return "text/plain" if extractor_name(uri) == "plain" else "application/octet-stream"
