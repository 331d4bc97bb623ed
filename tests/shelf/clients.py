"""Embedding clients of the tests: small, quick, of any length."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence


class WordClient:
    """Counts words into a few components; its vectors have no unit length."""

    def __init__(self, model_id: str = "words", dimensions: int = 16) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.heard: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text; the texts of each call are kept."""
        self.heard.append(list(texts))
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        row = [0.1] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            row[zlib.crc32(word.encode()) % self.dimensions] += 1.0
        return row


class OddClient(WordClient):
    """Gives what it was told to give."""

    def __init__(self, rows: object) -> None:
        super().__init__()
        self.rows = rows

    def embed_documents(self, texts: list[str]) -> Sequence[list[float]]:  # type: ignore[override]
        """The rows it was told."""
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows  # type: ignore[return-value]
