"""A folder of files as documents with stable names, and documents as chunks with stable ids.

Text and Markdown give the same documents on every machine. What PDF, Word and RTF files give depends on their parsers,
which are reached by name and only when such a file is there.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from estante.contract.errors import ConnectorOperationalError, ContractValueError
from estante.contract.fingerprints import document_source_fingerprint, document_source_identity
from estante.contract.models import ChunkRecord
from estante.contract.windows import check_windows, window_spans

MAX_SOURCE_BYTES: Final = 200_000_000
"""A larger file is not read, unless the caller says otherwise."""

_MOST_TOLD: Final = 20


@dataclass
class LoadedDocument:
    """One file, read. ``filepath`` is absolute; ``relative_path`` and ``source_identity`` have forward slashes.

    ``file_type`` is the suffix in lower case without its dot. Offsets of chunks are code points in ``content``.
    """

    filename: str
    filepath: str
    relative_path: str
    file_type: str
    content: str
    source_identity: str
    source_fingerprint: str


class SourceNote(NamedTuple):
    """A file or folder, by its path below the root, and what is to be said of it."""

    path: str
    reason: str


class LoadedDocuments(list[LoadedDocument]):
    """The documents of a folder in order, and what did not become one.

    ``skipped`` should have been read and could not be; ``passed_over`` is left out by rule: another suffix, a pattern
    of the caller, a link to a folder.
    """

    def __init__(
        self,
        documents: Iterable[LoadedDocument] = (),
        *,
        skipped: Iterable[SourceNote] = (),
        passed_over: Iterable[SourceNote] = (),
    ) -> None:
        super().__init__(documents)
        self.skipped = tuple(skipped)
        self.passed_over = tuple(passed_over)

    @property
    def blank(self) -> list[str]:
        """The relative paths of documents without text, such as scans: they give no chunks."""
        return [document.relative_path for document in self if not document.content.strip()]


class UnreadableSources(ConnectorOperationalError, ValueError):
    """Some files or folders could not be read; ``loaded`` holds the documents of all others, and ``skipped`` these."""

    def __init__(self, message: str, *, loaded: LoadedDocuments | None = None) -> None:
        super().__init__(message)
        self.loaded = LoadedDocuments() if loaded is None else loaded

    @property
    def skipped(self) -> tuple[SourceNote, ...]:
        """What could not be read, with reasons."""
        return self.loaded.skipped


@dataclass(frozen=True, slots=True)
class _Parser:
    """What turns the bytes of a file into text (``module:attribute``), the distribution it needs, and who brings it.

    ``module`` is what that distribution is imported as; empty when nothing is needed.
    """

    target: str
    module: str = ""
    distribution: str = ""
    command: str = ""


_TEXT: Final = _Parser("estante.contract.loading:text_of")
_PARSERS: Final = {
    ".txt": _TEXT,
    ".md": _TEXT,
    ".pdf": _Parser("estante.ingest.parsing:pdf_text", "pypdfium2", "pypdfium2", "pip install estante"),
    ".docx": _Parser("estante.ingest.parsing:docx_text", "lxml", "lxml", "pip install estante"),
    ".rtf": _Parser("estante.ingest.parsing:rtf_text", "striprtf", "striprtf", 'pip install "estante[rtf]"'),
}

SUPPORTED_SOURCE_EXTENSIONS: Final = tuple(_PARSERS)
"""The suffixes of the files that are read, with their dots."""


def load_documents(
    folder_path: str | os.PathLike[str],
    *,
    strict: bool = True,
    extensions: Collection[str] = SUPPORTED_SOURCE_EXTENSIONS,
    exclude: Collection[str] = (),
    max_bytes: int = MAX_SOURCE_BYTES,
) -> LoadedDocuments:
    """The documents of a folder and its subfolders, in the code-point order of their relative paths.

    Read are the files with one of the ``extensions``, also through a link; left out are folders whose name begins with
    a dot, linked folders, and relative paths that match a pattern of ``exclude`` (``*`` takes slashes, too). A blank
    file is a document.

    A file or folder that cannot be read never ends the reading of the others. If there is one, a strict call raises
    ``UnreadableSources``, a ``ValueError`` that names each and has the rest in ``loaded``: a part of a corpus is not a
    smaller corpus. With ``strict=False`` they stand in ``skipped`` of what is returned. Raises ``FileNotFoundError``
    without the folder, ``ImportError`` when strict and a parser is not installed, before anything is read, and always
    ``ContractValueError`` for two files with one identity, whose chunks would have the same ids.
    """
    if not Path(folder_path).is_dir():
        raise FileNotFoundError(
            f"the folder {os.fspath(folder_path)!r} does not exist, or is no folder; check the path"
        )
    root = Path(folder_path).resolve()
    listing = _Listing(root, _suffixes(extensions), _patterns(exclude))
    for note in listing.unlisted:
        # A folder that is closed for a while must not look like an empty one.
        if note.path == ".":
            raise UnreadableSources(f"{root}: {note.reason}; check its permissions") from listing.cause
    parsers = _parsers_of(listing.files, strict)
    reader = _Reader(root, parsers, max_bytes)
    documents = [document for path in listing.files if (document := reader.document(path)) is not None]
    notes = sorted([*listing.unlisted, *reader.skipped])
    loaded = LoadedDocuments(documents, skipped=notes, passed_over=sorted(listing.passed_over))
    refuse_collisions(loaded)
    if notes and strict:
        raise UnreadableSources(_told(root, loaded), loaded=loaded) from (reader.cause or listing.cause)
    return loaded


def _suffixes(extensions: Collection[str]) -> frozenset[str]:
    if isinstance(extensions, str) or not set(extensions) <= set(SUPPORTED_SOURCE_EXTENSIONS):
        known = ", ".join(SUPPORTED_SOURCE_EXTENSIONS)
        raise ContractValueError(f"extensions must be some of {known}, got {extensions!r}")
    return frozenset(extensions)


def _patterns(exclude: Collection[str]) -> tuple[str, ...]:
    if isinstance(exclude, str):
        raise ContractValueError(f"exclude must be a list of patterns, got a text; write [{exclude!r}]")
    return tuple(exclude)


def _told(root: Path, loaded: LoadedDocuments) -> str:
    lines = [f"{root / note.path}: {note.reason}" for note in loaded.skipped[:_MOST_TOLD]]
    if len(loaded.skipped) > _MOST_TOLD:
        lines.append(f"and {len(loaded.skipped) - _MOST_TOLD} more")
    listed = "\n  ".join(line.encode("utf-8", "backslashreplace").decode("utf-8") for line in lines)
    return (
        f"{len(loaded.skipped)} of the sources cannot be read; mend or remove them, or load the others alone with "
        f"strict=False:\n  {listed}"
    )


class _Listing:
    """What stands below a folder: the files to read, and notes on everything else; paths relative with slashes."""

    def __init__(self, root: Path, suffixes: frozenset[str], exclude: tuple[str, ...]) -> None:
        self.root = root
        self.suffixes = suffixes
        self.exclude = exclude
        self.files: list[Path] = []
        self.unlisted: list[SourceNote] = []
        self.passed_over: list[SourceNote] = []
        self.cause: OSError | None = None
        for folder, folders, names in os.walk(root, onerror=self._unlisted):
            self._folder(Path(folder), folders, names)
        self.files.sort(key=self._below)

    def _folder(self, folder: Path, folders: list[str], names: list[str]) -> None:
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            if os.path.islink(folder / name):
                self.passed_over.append(SourceNote(self._below(folder / name), "a link to a folder is not followed"))
        for path in (folder / name for name in names):
            below = self._below(path)
            if path.suffix.lower() not in self.suffixes:
                self.passed_over.append(SourceNote(below, f"not one of {', '.join(sorted(self.suffixes))}"))
            elif any(fnmatchcase(below, pattern) for pattern in self.exclude):
                self.passed_over.append(SourceNote(below, "excluded by the caller"))
            else:
                self.files.append(path)

    def _unlisted(self, error: OSError) -> None:
        self.cause = self.cause or error
        below = self._below(Path(error.filename))
        self.unlisted.append(SourceNote(below, f"the folder cannot be listed: {error.strerror}"))

    def _below(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


_Parse = Callable[[bytes], str]


def _parsers_of(files: Iterable[Path], strict: bool) -> dict[str, _Parse | ImportError]:
    """For each suffix that occurs, what reads it, or why nothing does."""
    found: dict[str, _Parse | ImportError] = {}
    for path in files:
        suffix = path.suffix.lower()
        if suffix not in found:
            try:
                found[suffix] = _load(suffix, _PARSERS[suffix])
            except ImportError as error:
                if strict:
                    raise
                found[suffix] = error
    return found


def _load(suffix: str, parser: _Parser) -> _Parse:
    try:
        if parser.module:
            import_module(parser.module)
    except ImportError as error:
        raise ImportError(
            f"{suffix} files are read with {parser.distribution}, which is not installed; run: {parser.command}",
            name=parser.module,
        ) from error
    module, _, attribute = parser.target.partition(":")
    parse: _Parse = getattr(import_module(module), attribute)
    return parse


class _Reader:
    """Reads file after file, and keeps a note on each that cannot be read."""

    def __init__(self, root: Path, parsers: dict[str, _Parse | ImportError], max_bytes: int) -> None:
        self.root = root
        self.parsers = parsers
        self.max_bytes = max_bytes
        self.skipped: list[SourceNote] = []
        self.cause: Exception | None = None

    def document(self, path: Path) -> LoadedDocument | None:
        """The document in a file; None after a note when there is none."""
        below = path.relative_to(self.root).as_posix()
        try:
            below.encode("utf-8")
            content = self._content(path)
            file_type = path.suffix.lower().removeprefix(".")
            return LoadedDocument(
                filename=path.name,
                filepath=str(path),
                relative_path=below.replace("\\", "/"),
                file_type=file_type,
                content=content,
                source_identity=document_source_identity(self.root, path),
                source_fingerprint=document_source_fingerprint(file_type, content),
            )
        except (OSError, ValueError, ImportError, RecursionError, MemoryError) as error:
            self.cause = self.cause or error
            self.skipped.append(SourceNote(below, _reason(path, error)))
            return None

    def _content(self, path: Path) -> str:
        status = path.stat()
        # A pipe would wait for a writer for ever.
        if not stat.S_ISREG(status.st_mode):
            raise ContractValueError("not a regular file")
        parse = self.parsers[path.suffix.lower()]
        if isinstance(parse, ImportError):
            raise parse
        with path.open("rb") as file:
            data = file.read(self.max_bytes + 1)
        if len(data) > self.max_bytes:
            raise ContractValueError(f"more than the limit of {self.max_bytes:,} bytes; split it, or raise max_bytes")
        return parse(data)


def _reason(path: Path, error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "its name is not UTF-8; rename it"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (at byte {error.start}); re-encode it as UTF-8 or remove it"
    if isinstance(error, FileNotFoundError) and os.path.islink(path):
        return "a link to what is not there"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or type(error).__name__}"
    if isinstance(error, RecursionError | MemoryError):
        return "too large or too deeply nested to read"
    return str(error)


def text_of(data: bytes) -> str:
    """The text of UTF-8 bytes without a byte order mark, its line ends made LF. Raises ``UnicodeDecodeError``."""
    return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def refuse_collisions(documents: Iterable[LoadedDocument]) -> None:
    """Raises ``ContractValueError``, naming both, for two documents whose chunks would have the same ids.

    Beside equal identities this refuses those that differ only in how an accented letter is composed: file systems and
    programs change that on the way.
    """
    seen: dict[str, LoadedDocument] = {}
    clashes = []
    for document in documents:
        key = unicodedata.normalize("NFC", document.source_identity)
        if key in seen:
            clashes.append((seen[key], document))
        seen.setdefault(key, document)
    if clashes:
        _refuse_clashes(clashes)


def _refuse_clashes(clashes: list[tuple[LoadedDocument, LoadedDocument]]) -> NoReturn:
    told = [f"{_named(first)} and {_named(second)}" for first, second in clashes[:_MOST_TOLD]]
    more = f" and {len(clashes) - _MOST_TOLD} more pairs" if len(clashes) > _MOST_TOLD else ""
    raise ContractValueError(
        f"two documents have one identity, and their chunks would have the same ids: {'; '.join(told)}{more}; "
        "rename or remove one of each pair"
    )


def _named(document: LoadedDocument) -> str:
    # Escaped, because two such names may look the same on paper.
    return f"{document.filepath!a} (identity {document.source_identity!a})"


def chunk_loaded_documents(
    documents: Iterable[LoadedDocument], *, chunk_size: int, chunk_overlap: int
) -> list[ChunkRecord]:
    """The chunks of the documents in order: windows as ``window_spans`` cuts them, numbered from 0 in each document.

    A chunk's id is ``<source_identity>:chunk-<number>``; ``content[char_start:char_end]`` is its text. Raises
    ``ContractValueError`` for a size or overlap that makes no sense, even without documents, and for two documents
    with one identity.
    """
    check_windows(chunk_size, chunk_overlap)
    given = list(documents)
    refuse_collisions(given)
    records: list[ChunkRecord] = []
    for document in given:
        for record in _chunks(document, chunk_size, chunk_overlap):
            record.global_index = len(records)
            records.append(record)
    return records


def _chunks(document: LoadedDocument, chunk_size: int, chunk_overlap: int) -> Iterator[ChunkRecord]:
    for index, (start, end) in enumerate(window_spans(document.content, chunk_size, chunk_overlap)):
        yield ChunkRecord(
            chunk_id=f"{document.source_identity}:chunk-{index}",
            doc_id=document.source_identity,
            source_file=document.relative_path,
            doc_chunk_index=index,
            global_index=None,
            text=document.content[start:end],
            char_start=start,
            char_end=end,
            content_module_id=document.source_identity,
            metadata={
                "source_identity": document.source_identity,
                "source_fingerprint": document.source_fingerprint,
                "relative_path": document.relative_path,
                "filename": document.filename,
                "file_type": document.file_type,
                "document_filepath": document.filepath,
            },
        )
