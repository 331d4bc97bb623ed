"""bge-m3 (Chen et al. 2024, arXiv:2402.03216): 1,024 dimensions, more than 100 languages, as ONNX in a folder.

The folder is the ``onnx`` folder of the model's repository: ``model.onnx``, its data beside it, and ``tokenizer.json``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.network import Network, batched, padded
from estante.index.rows import unit_rows
from estante.index.weights.identity import model_folder, revision
from estante.model.errors import CorruptModel, SettingsError
from estante.model.plugins import located, required
from estante.model.ports import Space

DIMENSIONS: Final = 1_024
LONGEST: Final = 8_192
BUDGET: Final = 4_096
FILES: Final = ("model.onnx", "tokenizer.json")
BESIDE: Final = ("model.onnx_data", "Constant_7_attr__value")


class _Loaded:
    """Network and tokenizer."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.tokenizer: Any = required("tokenizers", "bge-m3").Tokenizer.from_file(str(folder / FILES[1]))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.network = Network(str(folder / FILES[0]), threads=threads, extra="bge-m3")
        marks = self.tokenizer.encode("", add_special_tokens=True).ids
        if len(marks) != 2:
            raise CorruptModel(f"{folder / FILES[1]} is not bge-m3's tokenizer", hint="Fetch the model again.")
        self.start, self.end = marks


class BgeM3Encoder:
    """Texts to unit rows of 1,024 numbers, questions and passages alike, by the model in the folder ``path``.

    A text of more than ``window`` tokens is cut into several windows, and its vector is their mean by length.
    ``threads`` 0 stands for all cores. Nothing is fetched. Safe to use from several threads.
    """

    name: Final = "bge-m3"
    slow: Final = True

    def __init__(self, path: str, threads: int = 0, window: int = 512, models: Path | None = None) -> None:
        for name, value, least, most in (("threads", threads, 0, 1024), ("window", window, 8, LONGEST)):
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise SettingsError(f"{name} is {value!r}", hint=f"Write a whole number from {least} to {most}.")
        located("onnxruntime", self.name)
        located("tokenizers", self.name)
        self._folder = model_folder(path, FILES, self.name)
        self._threads, self._window = threads, window
        self._loaded: _Loaded | None = None
        self._guard = threading.Lock()
        self.space: Final = Space(
            model=self.name,
            dimensions=DIMENSIONS,
            revision=revision(self._folder, (*FILES, *BESIDE), ("first token", window), models),
        )

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), 1024)."""
        return unit_rows(self.name, texts, DIMENSIONS, self._encoded)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``."""
        return self.passages(texts)

    def _encoded(self, texts: list[str]) -> NDArray[np.float64]:
        loaded = self._load()
        windows: list[list[int]] = []
        owners: list[int] = []
        room = self._window - 2
        for owner, one in enumerate(loaded.tokenizer.encode_batch(texts, add_special_tokens=False)):
            for at in range(0, len(one.ids), room):
                windows.append([loaded.start, *one.ids[at : at + room], loaded.end])
                owners.append(owner)
        found = np.zeros((len(texts), DIMENSIONS), np.float64)
        rows = self._rows(loaded, windows)
        for owner, window, row in zip(owners, windows, rows, strict=True):  # in order, so that sums come out the same
            found[owner] += row * len(window)
        return found

    def _rows(self, loaded: _Loaded, windows: list[list[int]]) -> NDArray[np.float32]:
        """The unit vector of each window: the sentence's own output, or that of its first token."""
        rows = np.zeros((len(windows), DIMENSIONS), np.float32)
        network = loaded.network
        output = next((one for one in ("sentence_embedding", "dense_vecs") if one in network.outputs), "")
        output = output or next(iter(network.outputs))
        for batch in batched(windows, BUDGET):
            tokens, mask = padded([windows[place] for place in batch], 1)  # 1 is XLM-RoBERTa's padding
            feeds = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            found = network.run(output, {name: feeds[name] for name in network.inputs})
            found = found[:, 0] if found.ndim == 3 else found
            if found.shape != (len(batch), DIMENSIONS):
                raise CorruptModel(f"{self._folder} gives vectors of shape {found.shape[1:]}", hint="It is not bge-m3.")
            rows[batch] = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return rows

    def _load(self) -> _Loaded:
        with self._guard:
            if self._loaded is None:
                self._loaded = _Loaded(self._folder, self._threads)
            return self._loaded
