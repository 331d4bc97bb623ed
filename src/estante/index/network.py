"""A network in a file of ONNX, run by ONNX Runtime on the processor."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.index.batches import by_length
from estante.model.errors import CorruptModel
from estante.model.plugins import required

BATCH: Final = 64
"""Windows that go through a network at one time, at most."""

THREADS: Final = 8
"""Threads unless more are asked for: a question has too few tokens to keep more of them busy."""


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Network:
    """A network, ready to run; ``threads`` 0 stands for all cores, eight at most. Safe to use from several threads.

    Raises ``MissingExtra`` without onnxruntime and ``CorruptModel`` for what is no network.
    """

    def __init__(self, model: bytes | str, *, threads: int, extra: str) -> None:
        runtime: Any = required("onnxruntime", extra)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or min(cores(), THREADS)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that wait busily take the cores of whoever else has work to do.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # The library's errors share no class but this.
            where = model if isinstance(model, str) else "the network"
            raise CorruptModel(f"{where} cannot be run: {type(error).__name__}", hint="Make it again.") from error
        self.inputs = {one.name: one.type for one in self._session.get_inputs()}
        self.outputs = {one.name: one.shape for one in self._session.get_outputs()}

    def run(self, output: str, feeds: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """One output for these inputs."""
        found: NDArray[np.float32] = self._session.run([output], dict(feeds))[0]
        return found


def padded(windows: Sequence[Sequence[int]], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Windows of tokens as one array, and where it holds tokens: (windows, longest) each."""
    longest = max(map(len, windows))
    tokens = np.full((len(windows), longest), padding, np.int64)
    mask = np.zeros((len(windows), longest), np.int64)
    for row, window in enumerate(windows):
        tokens[row, : len(window)] = window
        mask[row, : len(window)] = 1
    return tokens, mask


def batched(windows: Sequence[Sequence[int]], budget: int) -> list[list[int]]:
    """The places of windows in batches of at most ``budget`` tokens."""
    return by_length([len(one) for one in windows], budget, BATCH)
