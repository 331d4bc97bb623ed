"""Models of the package fastembed (Apache-2.0): any it knows by name, out of a folder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.rows import unit_rows
from estante.index.weights.identity import model_folder, revision
from estante.model.errors import SettingsError, UnknownName
from estante.model.plugins import required
from estante.model.ports import Space

BATCH: Final = 32
TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json")


class FastEmbedEncoder:
    """Texts to unit rows by the model ``model`` of fastembed, whose files stand in ``path``; nothing is fetched.

    ``query`` and ``passage`` are prefixes, for models that were trained with some. ``threads`` 0 stands for all cores.
    Safe to use from several threads.
    """

    name: Final = "fastembed"
    slow: Final = True

    def __init__(
        self,
        model: str,
        path: str,
        query: str = "",
        passage: str = "",
        threads: int = 0,
        models: Path | None = None,
    ) -> None:
        if not isinstance(threads, int) or isinstance(threads, bool) or not 0 <= threads <= 1024:
            raise SettingsError(f"threads is {threads!r}", hint="Write how many, such as 2; 0 stands for all cores.")
        told = self._described(model)
        files = (told["model_file"], *told.get("additional_files", ()), *TOKENIZER)
        self._folder = model_folder(path, files, self.name)
        self._name, self._query, self._passage, self._threads = model, query, passage, threads
        self._model: Any = None
        self._guard = threading.Lock()
        also = ("config.json", "special_tokens_map.json")
        self.space: Final = Space(
            model=f"fastembed {model}",
            dimensions=int(told["dim"]),
            revision=revision(self._folder, {*files, *also}, (model, query, passage), models),
        )

    def _described(self, model: str) -> dict[str, Any]:
        known = {str(one["model"]): one for one in self._library().list_supported_models()}
        if model not in known:
            raise UnknownName(
                f"fastembed has no model {model!r}",
                hint="fastembed.TextEmbedding.list_supported_models() lists those that it has.",
            )
        return dict(known[model])

    def _library(self) -> Any:
        return required("fastembed", self.name).TextEmbedding

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, float32 of shape (len(texts), dimensions)."""
        return self._encoded(self._passage, texts)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``passages``, for questions."""
        return self._encoded(self._query, texts)

    def _encoded(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        def encode(some: list[str]) -> NDArray[np.float32]:
            # By length: it pads a batch to its longest.
            order = sorted(range(len(some)), key=lambda place: len(some[place]))
            rows = list(self._loaded().embed([prefix + some[place] for place in order], batch_size=BATCH))
            found = np.zeros((len(some), len(rows[0])), np.float32)
            found[order] = np.stack(rows)
            return found

        return unit_rows(self.name, texts, self.space.dimensions, encode)

    def _loaded(self) -> Any:
        with self._guard:
            if self._model is None:
                self._model = self._library()(
                    model_name=self._name,
                    specific_model_path=str(self._folder),
                    local_files_only=True,
                    threads=self._threads or None,
                    cuda=False,
                )
            return self._model
