"""How the chunks of a Dataset came to be: the block ``chunking`` of its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from estante.contract.errors import ContractValueError

CHUNKER_METHOD: Final = "rag-connector-chunker"
"""Cut by the windows of the contract, which anybody can cut again."""
CHUNKER_VERSION: Final = "1"
CHUNKING_EXPORTED: Final = "exported-from-connector"
"""Read from a connector, which alone knows how it cuts."""


def chunker_chunking(*, chunk_size: int, chunk_overlap: int) -> dict[str, Any]:
    """The block for chunks that are windows of the contract. Raises ``ContractValueError`` for what is no length."""
    block = {
        "method": CHUNKER_METHOD,
        "chunker_version": CHUNKER_VERSION,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
    }
    return _checked(block)


def exported_chunking(connector_type: str) -> dict[str, Any]:
    """The block for chunks that a connector gave. Raises ``ContractValueError`` when its type is not told."""
    return _checked({"method": CHUNKING_EXPORTED, "connector_type": connector_type})


def chunking_problems(block: object) -> list[str]:
    """What is wrong with a block, each naming its key; methods other than the two defined may have any keys."""
    if not isinstance(block, Mapping):
        return ["chunking must be an object"]
    method = block.get("method")
    if not _is_name(method):
        return ["chunking.method must be a non-empty string"]
    problems = []
    if method == CHUNKER_METHOD:
        if not _is_name(block.get("chunker_version")):
            problems.append("chunking.chunker_version must be a non-empty string")
        problems += [
            f"chunking.{key} must be a whole number from 0, got {block.get(key)!r}"
            for key in ("chunk_size", "chunk_overlap")
            if not _is_length(block.get(key))
        ]
    if method == CHUNKING_EXPORTED and not _is_name(block.get("connector_type")):
        problems.append("chunking.connector_type must name the connector")
    return problems


def _checked(block: dict[str, Any]) -> dict[str, Any]:
    problems = chunking_problems(block)
    if problems:
        raise ContractValueError("; ".join(problems))
    return block


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_length(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
