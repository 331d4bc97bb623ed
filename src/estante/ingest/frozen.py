"""The frozen-chunk kit: a folder to documents, documents to chunks with stable ids, chunks to lines of JSON and back.

For hosts that own their corpus and cite chunks by id. The same texts give the same bytes on every machine; nothing here
is scrubbed or scoped, as it is on the way into a bookcase. Needs no parser until a PDF, Word or RTF file is there.

The bundled corpus is the text and Markdown part of the demo library, and is frozen in the package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from estante.contract.dataset.chunking import CHUNKER_METHOD, CHUNKER_VERSION
from estante.contract.errors import ContractValueError
from estante.contract.fingerprints import corpus_fingerprint, document_source_fingerprint, document_source_identity
from estante.contract.jsonl import chunks_from_jsonl, chunks_to_jsonl
from estante.contract.loading import (
    SUPPORTED_SOURCE_EXTENSIONS,
    LoadedDocument,
    LoadedDocuments,
    SourceNote,
    UnreadableSources,
    chunk_loaded_documents,
    load_documents,
)
from estante.contract.models import ChunkRecord

__all__ = [
    "BUNDLED_CHUNKS_SHA256",
    "BUNDLED_CHUNK_OVERLAP",
    "BUNDLED_CHUNK_SIZE",
    "BUNDLED_CORPORA",
    "CHUNKER_METHOD",
    "CHUNKER_VERSION",
    "DEFAULT_BUNDLED_CORPUS",
    "SUPPORTED_SOURCE_EXTENSIONS",
    "ChunkRecord",
    "LoadedDocument",
    "LoadedDocuments",
    "SourceNote",
    "UnreadableSources",
    "build_bundled_chunks",
    "bundled_chunks_path",
    "bundled_corpus_path",
    "chunk_loaded_documents",
    "chunks_from_jsonl",
    "chunks_to_jsonl",
    "corpus_fingerprint",
    "document_source_fingerprint",
    "document_source_identity",
    "load_bundled_chunks",
    "load_bundled_corpus",
    "load_documents",
]

DEFAULT_BUNDLED_CORPUS: Final = "serra_do_jequi"
"""The invented municipality of the demo library."""

BUNDLED_CORPORA: Final = (DEFAULT_BUNDLED_CORPUS,)
"""The names of the corpora in the package."""

BUNDLED_CHUNK_SIZE: Final = 1000
BUNDLED_CHUNK_OVERLAP: Final = 200

BUNDLED_CHUNKS_SHA256: Final = {
    "serra_do_jequi": "91479430018a219174ffb5d23ffc937fc1ea68551c1c60d5c609c1f3bd9cc7c3",
}
"""The SHA-256 of each frozen file, by the name of its corpus."""

_CORPORA: Final = {"serra_do_jequi": ("demo/library", "demo/serra_do_jequi.chunks.jsonl")}
_EXTENSIONS: Final = (".txt", ".md")
# The demo library shows how Estante finds encodings out; the kit reads UTF-8 alone, because it never guesses.
_EXCLUDED: Final = ("runbooks/network-outage.txt", "ti/rotina-de-backup.txt")


@contextmanager
def bundled_corpus_path(name: str = DEFAULT_BUNDLED_CORPUS) -> Iterator[Path]:
    """The folder of a bundled corpus, while the context lasts.

    Raises ``ContractValueError`` with the known names for another one, ``FileNotFoundError`` where the package was
    installed without its data.
    """
    with _resource(name, 0) as path:
        yield path


@contextmanager
def bundled_chunks_path(name: str = DEFAULT_BUNDLED_CORPUS) -> Iterator[Path]:
    """The file of a bundled corpus's frozen chunks, while the context lasts. Raises as ``bundled_corpus_path``."""
    with _resource(name, 1) as path:
        yield path


def load_bundled_corpus(name: str = DEFAULT_BUNDLED_CORPUS) -> LoadedDocuments:
    """The documents of a bundled corpus: those in text and Markdown that are UTF-8. Raises as ``load_documents``."""
    with bundled_corpus_path(name) as folder:
        return load_documents(folder, extensions=_EXTENSIONS, exclude=_EXCLUDED)


def build_bundled_chunks(name: str = DEFAULT_BUNDLED_CORPUS) -> list[ChunkRecord]:
    """The chunks of a bundled corpus cut anew, in their frozen form: without ``document_filepath``."""
    records = chunk_loaded_documents(
        load_bundled_corpus(name), chunk_size=BUNDLED_CHUNK_SIZE, chunk_overlap=BUNDLED_CHUNK_OVERLAP
    )
    for record in records:
        # A path of this machine would make the bytes differ on every other.
        del record.metadata["document_filepath"]
    return records


def load_bundled_chunks(name: str = DEFAULT_BUNDLED_CORPUS) -> list[ChunkRecord]:
    """The frozen chunks of a bundled corpus: the ones to cite. Raises ``ContractValueError`` for a changed file."""
    with bundled_chunks_path(name) as path:
        data = path.read_bytes()
    digest, published = hashlib.sha256(data).hexdigest(), BUNDLED_CHUNKS_SHA256[name]
    if digest != published:
        raise ContractValueError(
            f"the frozen chunks of {name!r} were changed: their SHA-256 is {digest}, not {published}; "
            "install Estante again"
        )
    return chunks_from_jsonl(data.decode("utf-8"))


@contextmanager
def _resource(name: str, which: int) -> Iterator[Path]:
    if name not in _CORPORA:
        raise ContractValueError(f"there is no bundled corpus {name!r}; known: {', '.join(BUNDLED_CORPORA)}")
    inside = _CORPORA[name][which]
    resource = files("estante").joinpath(*inside.split("/"))
    if not (resource.is_dir() or resource.is_file()):
        raise FileNotFoundError(
            f"the bundled corpus {name!r} is not installed: the package data {inside} is missing; install Estante from "
            "its wheel, which holds it"
        )
    with as_file(resource) as path:
        yield path
