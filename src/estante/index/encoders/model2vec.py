"""Static models of the package model2vec (MIT): any that stands in a folder."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.rows import unit_rows
from estante.index.weights.identity import model_folder, revision
from estante.model.errors import CorruptModel
from estante.model.plugins import located, required
from estante.model.ports import Space

FILES: Final = ("model.safetensors", "tokenizer.json", "config.json")


class Model2VecEncoder:
    """Texts to unit rows by the static model in the folder ``path``; nothing is fetched.

    Questions and passages are encoded alike, each behind its prefix. Safe to use from several threads.
    """

    name: Final = "model2vec"

    def __init__(self, path: str, query: str = "", passage: str = "", models: Path | None = None) -> None:
        located(self.name, self.name)
        self._folder = model_folder(path, FILES, self.name)
        self._query, self._passage = query, passage
        self._model: Any = None
        self._guard = threading.Lock()
        self.space: Final = Space(
            model=f"model2vec {self._folder.name}",
            dimensions=_dimensions(self._folder / FILES[0]),
            revision=revision(self._folder, FILES, (query, passage), models),
        )

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), dimensions)."""
        return self._encoded(self._passage, texts)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``, for questions."""
        return self._encoded(self._query, texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def encode(some: list[str]) -> NDArray[np.float32]:
            # In this process: a pool of others for a long list would load the weights once more in each.
            rows = self._loaded().encode([prefix + text for text in some], max_length=None, use_multiprocessing=False)
            return np.asarray(rows, np.float32)

        return unit_rows(self.name, texts, self.space.dimensions, encode)

    def _loaded(self) -> Any:
        with self._guard:
            if self._model is None:
                self._model = required("model2vec", self.name).StaticModel.from_pretrained(str(self._folder))
            return self._model


def _dimensions(path: Path) -> int:
    """The width of the table in a file of safetensors, read from its head alone."""
    try:
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            head = json.loads(file.read(min(size, 1 << 20)))
        return int(head["embeddings"]["shape"][1])
    except (OSError, struct.error, ValueError, KeyError, IndexError, TypeError) as error:
        raise CorruptModel(f"{path} holds no table of embeddings", hint="Fetch the model again.") from error
