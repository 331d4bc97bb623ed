"""The chunks and sources of a Dataset folder, read and digested in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from estante.contract.dataset.digests import id_problem
from estante.contract.dataset.files import MAX_SOURCES_BYTES, opened, read_bytes, read_lines
from estante.contract.dataset.jsontext import parse
from estante.contract.dataset.layout import CHUNKS_FILE, SOURCES_FILE
from estante.contract.dataset.sources import source_problems
from estante.contract.errors import ContractValueError, DatasetIntegrityError
from estante.contract.jsonl import chunks_from_lines
from estante.contract.models import ChunkRecord


@dataclass
class Content:
    """What stands in the two data files. What could not be read is None, and ``problems`` says why."""

    chunks: list[ChunkRecord] | None = None
    chunks_sha256: str | None = None
    sources: list[dict[str, Any]] | None = None
    sources_sha256: str | None = None
    problems: list[str] = field(default_factory=list)


def read_content(root: Path, *, sources_may_miss: bool = False) -> Content:
    """The content of a folder. Never raises for what is wrong with it: that is told in ``problems``."""
    content = Content()
    try:
        with opened(root, CHUNKS_FILE) as file:
            _read_chunks(file, root, content)
    except FileNotFoundError:
        content.problems.append(f"missing a core file: {CHUNKS_FILE}")
    except DatasetIntegrityError as error:
        content.problems.append(str(error))
    try:
        _read_sources(read_bytes(root, SOURCES_FILE, MAX_SOURCES_BYTES), content)
    except FileNotFoundError:
        if not sources_may_miss:
            content.problems.append(f"missing a core file: {SOURCES_FILE}")
    except DatasetIntegrityError as error:
        content.problems.append(str(error))
    return content


def _read_chunks(file: BinaryIO, root: Path, content: Content) -> None:
    digest = hashlib.sha256()
    lines = read_lines(file, root / CHUNKS_FILE)

    def decoded() -> Iterator[str]:
        for number, line in enumerate(lines, start=1):
            digest.update(line)
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ContractValueError(f"line {number}: byte {error.start} is not UTF-8") from error

    try:
        chunks = list(chunks_from_lines(decoded()))
        _refuse_ids(chunks)
        content.chunks = chunks
    except ContractValueError as error:
        content.problems.append(f"{CHUNKS_FILE}: {error}")
        for line in lines:
            digest.update(line)
    content.chunks_sha256 = digest.hexdigest()


def _refuse_ids(chunks: list[ChunkRecord]) -> None:
    for chunk in chunks:
        problem = id_problem(chunk.chunk_id)
        if problem:
            raise ContractValueError(problem)


def _read_sources(content: bytes, into: Content) -> None:
    into.sources_sha256 = hashlib.sha256(content).hexdigest()
    try:
        rows = parse(content)
    except ContractValueError as error:
        into.problems.append(f"{SOURCES_FILE} is {error}")
        return
    if not isinstance(rows, list):
        into.problems.append(f"{SOURCES_FILE}: sources must be an array of objects")
        return
    problems = [f"{SOURCES_FILE}: {problem}" for problem in source_problems(rows)]
    into.problems += problems[:10]
    if not problems:
        into.sources = rows
