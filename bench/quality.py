"""How well the right passage is found: nDCG@10 and R@10, for each leg and for both together.

The demo library is always measured: an answer is found by the first hit that overlaps its span. With ESTANTE_DATA set
(or ../shared/data there), the collections in its eval/ folder are measured too: a document is found by its best
passage. A translator of questions is chosen with ESTANTE_SEARCH_TRANSLATE, as anywhere. Prints a table;
`--json FILE` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import estante
from estante.model.asking import MODES, Mode
from estante.shelf.assemble import create
from estante.shelf.settings import load

K = 10
DEMO = Path(estante.__file__).parent / "demo"
DATA = Path(os.environ.get("ESTANTE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def ndcg(gains: Sequence[int], wanted: int) -> float:
    """Binary nDCG@10: gains in the order of the hits, against the best order of ``wanted`` answers."""
    found = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:K]))
    return found / sum(1 / math.log2(rank + 2) for rank in range(min(wanted, K)))


def lines(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def passage_gains(hits: Iterable[estante.Hit], answers: list[dict]) -> list[int]:
    """1 for a hit that is the first to overlap an answer, else 0."""
    left = list(answers)
    gains = []
    for hit in hits:
        met = [
            one
            for one in left
            if hit.document_id == f"library/{one['document']}".casefold()
            and hit.span.start < one["end"]
            and one["start"] < hit.span.end
        ]
        left = [one for one in left if one not in met]
        gains.append(1 if met else 0)
    return gains


def demo(mode: Mode, encoder: str) -> dict[str, dict[str, float]]:
    """Figures of the demo library: all questions, and by language."""
    questions = [one for one in lines(DEMO / "questions.jsonl") if one["answers"]]
    scores: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, made(folder, encoder) as case:
        case.add(DEMO / "library")
        for one in questions:
            gains = passage_gains(case.search(one["question"], K, mode=mode), one["answers"])
            # Two answers in one passage are one gain, so the ideal is what this cutting allows at best.
            wanted = best_gains(case, one["answers"])
            score = ndcg(gains, wanted), sum(gains) / wanted
            group = "across languages" if one["cross"] else one["language"]
            for name in ("demo", f"demo, {group}"):
                scores.setdefault(name, []).append(score)
    return {name: means(rows) for name, rows in sorted(scores.items())}


def best_gains(case: estante.Bookcase, answers: list[dict]) -> int:
    """How many passages are needed to hold all answers."""
    needed = set()
    for one in answers:
        document = f"library/{one['document']}".casefold()
        spans = case.spans(document)
        needed.add(
            (document, next(i for i, span in enumerate(spans) if span.start < one["end"] and one["start"] < span.end))
        )
    return len(needed)


def made(home: str, encoder: str) -> estante.Bookcase:
    """A new bookcase with an encoder."""
    return create(home, load(home, flags={"encoder.use": encoder}))


def collection(folder: Path, limit: int, encoder: str, queries: str = "queries.jsonl") -> dict[str, dict[str, float]]:
    """Figures of a judged collection, by documents, for each mode."""
    texts = {one["_id"]: f"{one.get('title', '')}\n\n{one['text']}".strip() for one in lines(folder / "corpus.jsonl")}
    judged: dict[str, set[str]] = {}
    for row in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        parts = row.split("\t")
        if float(parts[-1]) > 0:
            judged.setdefault(parts[0], set()).add(parts[-2])
    asked = [one for one in lines(folder / queries) if one["_id"] in judged][:limit]
    figures = {}
    with tempfile.TemporaryDirectory() as home, made(home, encoder) as case:
        case.add({key: text for key, text in texts.items() if text})
        for mode in MODES:
            rows = []
            for one in asked:
                ranked = dict.fromkeys(hit.document_id for hit in case.search(one["text"], 3 * K, mode=mode))
                gains = [1 if key in judged[one["_id"]] else 0 for key in list(ranked)[:K]]
                rows.append((ndcg(gains, len(judged[one["_id"]])), sum(gains) / len(judged[one["_id"]])))
            figures[mode] = means(rows)
    return figures


def means(rows: list[tuple[float, float]]) -> dict[str, float]:
    return {
        "questions": len(rows),
        "nDCG@10": sum(row[0] for row in rows) / len(rows),
        "R@10": sum(row[1] for row in rows) / len(rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    parser.add_argument("--limit", type=int, default=1_000, help="questions of each collection (default 1,000)")
    parser.add_argument("--encoder", default="static", help="what turns texts into vectors (default static)")
    parser.add_argument("--only", nargs="*", help="collections to measure")
    chosen = parser.parse_args()
    kept: dict[str, dict[str, dict[str, float]]] = {}
    for mode in MODES:
        for name, row in demo(mode, chosen.encoder).items():
            kept.setdefault(name, {})[mode] = row
    folder = DATA / "eval"
    names = sorted(one.name for one in folder.iterdir() if (one / "qrels.tsv").exists()) if folder.is_dir() else []
    for name in names:
        if chosen.only is None or name in chosen.only:
            started = time.perf_counter()
            kept[name] = collection(folder / name, chosen.limit, chosen.encoder)
            if (folder / name / "queries_noaccents.jsonl").exists():
                kept[f"{name}, no accents"] = collection(
                    folder / name, chosen.limit, chosen.encoder, "queries_noaccents.jsonl"
                )
            print(f"# {name}: {time.perf_counter() - started:.0f} s", flush=True)
    report(kept)
    if chosen.json:
        chosen.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def report(kept: dict[str, dict[str, dict[str, float]]]) -> None:
    print("| collection | questions | words nDCG@10 / R@10 | meaning nDCG@10 / R@10 | both nDCG@10 / R@10 |")
    print("|---|---:|---|---|---|")
    for name, modes in kept.items():
        cells = [f"{modes[m]['nDCG@10']:.3f} / {modes[m]['R@10']:.3f}" for m in ("lexical", "dense", "hybrid")]
        print(f"| {name} | {modes['hybrid']['questions']:.0f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
