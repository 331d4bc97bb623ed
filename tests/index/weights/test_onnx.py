"""Graphs that are written here, run by the real ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from estante.index.network import Network, padded
from estante.index.weights.onnx import Graph
from estante.model.errors import CorruptModel


def product(weights: np.ndarray) -> bytes:
    graph = Graph()
    found = graph.operator("MatMul", "x", graph.constant(weights))
    graph.operator("LeakyRelu", found, output="y", alpha=0.5)
    return graph.model({"x": ("float32", ("n", len(weights)))}, {"y": ("float32", ("n", weights.shape[1]))})


def test_a_graph_computes_what_numpy_does() -> None:
    rng = np.random.default_rng(1)
    weights, x = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=(5, 4)).astype(np.float32)

    found = Network(product(weights), threads=1, extra="e5").run("y", {"x": x})

    wanted = x @ weights
    assert np.allclose(found, np.where(wanted > 0, wanted, wanted / 2), atol=1e-6)


def test_lists_and_whole_numbers_are_attributes_too() -> None:
    graph = Graph()
    turned = graph.operator("Transpose", "x", perm=[1, 0])
    graph.operator("Softmax", turned, output="y", axis=-1)
    model = graph.model({"x": ("float32", ("n", "m"))}, {"y": ("float32", ("m", "n"))})

    found = Network(model, threads=1, extra="e5").run("y", {"x": np.zeros((2, 3), np.float32)})

    assert np.allclose(found, np.full((3, 2), 0.5))


def test_the_same_graph_has_the_same_bytes() -> None:
    weights = np.eye(3, dtype=np.float32)

    assert product(weights) == product(weights)


def test_a_network_tells_its_inputs_and_outputs() -> None:
    network = Network(product(np.eye(3, dtype=np.float32)), threads=1, extra="e5")

    assert network.inputs == {"x": "tensor(float)"}
    assert network.outputs == {"y": ["n", 3]}


@pytest.mark.parametrize("data", [b"", b"not a network", product(np.eye(3, dtype=np.float32))[:40]])
def test_what_is_no_network_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptModel, match="cannot be run"):
        Network(data, threads=1, extra="e5")


def test_windows_are_padded_to_the_longest() -> None:
    tokens, mask = padded([[5, 6], [7]], 9)

    assert tokens.tolist() == [[5, 6], [7, 9]]
    assert mask.tolist() == [[1, 1], [1, 0]]
