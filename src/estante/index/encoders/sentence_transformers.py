"""Models of the package sentence-transformers (Apache-2.0): any that stands in a folder, run on the processor."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.rows import unit_rows
from estante.index.weights.identity import model_folder, revision
from estante.model.plugins import located, required
from estante.model.ports import Space

BATCH: Final = 32
EXTRA: Final = "sentence-transformers"


class SentenceTransformersEncoder:
    """Texts to unit rows by the model in the folder ``path``; nothing is fetched, and no code in it is run.

    ``query`` and ``passage`` are prefixes, for models that were trained with some. To know its dimensions the model is
    loaded at once. Safe to use from several threads.
    """

    name: Final = "sentence-transformers"
    slow: Final = True

    def __init__(self, path: str, query: str = "", passage: str = "", models: Path | None = None) -> None:
        located("sentence_transformers", EXTRA)
        folder = model_folder(path, ("modules.json",), self.name)
        library = required("sentence_transformers", EXTRA)
        self._model: Any = library.SentenceTransformer(
            str(folder), device="cpu", local_files_only=True, trust_remote_code=False
        )
        self._query, self._passage = query, passage
        self._guard = threading.Lock()
        files = [str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()]
        self.space: Final = Space(
            model=f"sentence-transformers {folder.name}",
            dimensions=int(self._model.get_sentence_embedding_dimension()),
            revision=revision(folder, files, (query, passage), models),
        )

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), dimensions)."""
        return self._encoded(self._passage, texts)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``, for questions."""
        return self._encoded(self._query, texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def encode(some: list[str]) -> NDArray[np.float32]:
            with self._guard:
                told = [prefix + text for text in some]
                rows = self._model.encode(told, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
            return np.asarray(rows, np.float32)

        return unit_rows(self.name, texts, self.space.dimensions, encode)
