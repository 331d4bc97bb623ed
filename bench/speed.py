"""Speed, memory and disk, beside a peer in the same run: writes docs/measurements.md.

Builds a shelf of 1,000, 10,000 and 50,000 real documents (Portuguese and English) with Estante and with arara-rag in
fresh processes, one after the other, then asks both the same questions. Machines are shared and noisy: compare the two
within a run, never a figure of one run with a figure of another.

    python bench/speed.py                      everything, with the peer
    python bench/speed.py --sizes 1000 --no-peer
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("ESTANTE_DATA", ROOT.parent / "shared" / "data"))
PEER_SCRIPT = DATA.parent / "bench" / "peer_arara.py"
PEER = "arara-rag==0.6.0"
PORTUGUESE = (
    "debdesc-pt_BR",
    "libreoffice-help-pt-BR",
    "debian-handbook-pt-BR",
    "installation-guide-pt",
    "manpages-pt-br",
)
ENGLISH = ("debdesc-en",)
QUESTIONS = 300
FIRST = 7


# --- the corpus ----------------------------------------------------------------------------------------------------


def documents(names: tuple[str, ...]) -> Iterator[dict[str, str]]:
    for name in names:
        with gzip.open(DATA / "corpora" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                one = json.loads(line)
                yield {"_id": f"{name}/{one['_id']}", "title": one.get("title", ""), "text": one["text"]}


def mixed(size: int) -> list[dict[str, str]]:
    """As many documents as asked for, a quarter of them Portuguese while they last, in one fixed order."""
    shuffle = random.Random(7).shuffle
    portuguese, english = list(documents(PORTUGUESE)), list(documents(ENGLISH))
    shuffle(portuguese)
    shuffle(english)
    share = min(len(portuguese), size // 4)
    picked = [*portuguese[:share], *english[: size - share]]
    shuffle(picked)
    return picked


def questions(corpus: list[dict[str, str]]) -> list[dict[str, str]]:
    """Three to seven consecutive words out of documents, as a person remembers them."""
    chance = random.Random(11)
    found: list[dict[str, str]] = []
    while len(found) < QUESTIONS:
        words = re.findall(r"\w+", chance.choice(corpus)["text"])
        if len(words) > 12:
            start = chance.randrange(len(words) - 8)
            text = " ".join(words[start : start + chance.randint(3, 7)])
            found.append({"_id": str(len(found)), "text": text})
    return found


# --- what runs in a fresh process -------------------------------------------------------------------------------


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lines(path: str) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def build(corpus: str, folder: str) -> dict[str, float]:
    import estante

    started, used = time.perf_counter(), cpu()
    with estante.create(folder) as case:
        # In parts, as one reads a large collection: the whole of it never stands in memory.
        part: dict[str, str] = {}
        added = 0
        for one in lines(corpus):
            part[one["_id"]] = f"{one['title']}\n\n{one['text']}".strip()
            if len(part) == 5_000:
                added += case.add(part).added
                part = {}
        added += case.add(part).added if part else 0
        wall, spent = time.perf_counter() - started, cpu() - used
        chunks = sum(shelf.chunks for shelf in case.status().shelves)
    size = sum(file.stat().st_blocks * 512 for file in Path(folder).rglob("*") if file.is_file())
    return {
        "docs": added,
        "chunks": chunks,
        "wall_s": wall,
        "cpu_s": spent,
        "peak_mb": peak_mb(),
        "disk_mb": size / 1e6,
    }


def serve(queries: str, folder: str, mode: str) -> dict[str, float]:
    import estante

    started = time.perf_counter()
    case = estante.open(folder)
    opened = time.perf_counter() - started
    asked = [one["text"] for one in lines(queries)]
    case.search(asked[0], 10, mode=mode)  # type: ignore[arg-type]
    wall, spent = [], []
    for text in asked[1:]:
        at, used = time.perf_counter(), time.process_time()
        case.search(text, 10, mode=mode)  # type: ignore[arg-type]
        wall.append((time.perf_counter() - at) * 1e3)
        spent.append((time.process_time() - used) * 1e3)
    return {"open_ms": opened * 1e3, **percentiles("", wall), **percentiles("cpu_", spent), "peak_mb": peak_mb()}


def first(queries: str, folder: str, number: str) -> dict[str, float]:
    """Opening and the first question of a process."""
    import estante

    text = list(lines(queries))[int(number)]["text"]
    started = time.perf_counter()
    estante.open(folder).search(text, 10)
    return {"first_ms": (time.perf_counter() - started) * 1e3}


def change(folder: str, _: str) -> dict[str, float]:
    """Adding one document and finding it, and replacing a thousand."""
    import estante

    with estante.open(folder) as case:
        case.search("aquecimento")
        at = time.perf_counter()
        case.add({"novidade": "zebra listrada africana"})
        assert case.search("zebra listrada")[0].document_id == "novidade"
        one = time.perf_counter() - at
        texts = {entry.document_id: entry.document_id for entry in case.documents()[:1_000]}
        replaced = {key: case.text(key)[2] + "\nalterado" for key in texts}
        at = time.perf_counter()
        case.add(replaced)
        return {"add_one_ms": one * 1e3, "replace_1000_s": time.perf_counter() - at}


def percentiles(name: str, values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {f"{name}p50": statistics.median(ordered), f"{name}p95": ordered[int(len(ordered) * 0.95)]}


# --- the run -------------------------------------------------------------------------------------------------------


def ran(*command: str, environ: dict[str, str] | None = None) -> dict[str, Any]:
    """The dict that a fresh process prints last."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environ or {})}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    told = done.stdout.strip().splitlines()[-1]
    # The peer's script prints numpy's repr of numbers.
    return json.loads(re.sub(r"np\.float64\(([^)]*)\)", r"\1", told).replace("'", '"'))


def ours(*arguments: str) -> dict[str, Any]:
    return ran(sys.executable, __file__, "--step", *arguments)


def peer_python(wanted: bool) -> str | None:
    """The interpreter of a virtual environment that holds the peer, made once."""
    if not wanted or not PEER_SCRIPT.exists():
        return None
    home = ROOT / ".venv-peer"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", PEER], check=True)
    return str(python)


def measure(size: int, python: str | None, folder: Path) -> dict[str, dict[str, Any]]:
    corpus = mixed(size)
    asked = questions(corpus)
    paths = folder / "corpus.jsonl", folder / "queries.jsonl"
    for path, rows in zip(paths, (corpus, asked), strict=True):
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    texts, queries = map(str, paths)
    home, other = str(folder / "estante"), str(folder / "peer")
    found: dict[str, dict[str, Any]] = {"corpus": {"mb": sum(len(one["text"].encode()) for one in corpus) / 1e6}}
    if python:
        found["peer build"] = ran(python, str(PEER_SCRIPT), "build", "lex", str(size), texts, queries, other)
    found["build"] = ours("build", texts, home)
    if python:
        found["peer serve"] = ran(python, str(PEER_SCRIPT), "serve", "lex", str(size), texts, queries, other)
    for mode in ("lexical", "hybrid"):
        found[f"serve {mode}"] = ours("serve", queries, home, mode)
    firsts = sorted(ours("first", queries, home, str(number))["first_ms"] for number in range(FIRST))
    found["first"] = {"p50": statistics.median(firsts), "p95": firsts[-1]}
    found["change"] = ours("change", home, "-")
    return found


def page(figures: dict[int, dict[str, dict[str, Any]]], python: str | None) -> str:
    head = (
        "# Measurements\n\nWritten by `make bench`. Both systems ran in this one run, each step in a fresh process, "
        f"on {os.cpu_count()} cores of {machine()}, Python {platform.python_version()}. The machine is shared: compare "
        "rows with one another, not with other pages. CPU seconds are less noisy than wall time.\n\n"
        "Documents: Debian package descriptions in English, and descriptions, LibreOffice help, handbook, installation "
        "guide and manual pages in Portuguese, whole. Questions: 299, of three to seven consecutive words of a "
        "document. Estante indexes words *and* vectors (`static` encoder), keeps the text, finds the language, scrubs "
        f"secrets and marks matches; the peer ({PEER}, one worker) runs as its fastest self, without an encoder: words "
        "alone.\n"
    )
    rows = ["build", "disk", "first question", "question", "change"]
    return head + "\n" + "\n".join(section(name, figures, python) for name in rows)


def machine() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def section(name: str, figures: dict[int, dict[str, dict[str, Any]]], python: str | None) -> str:
    rows = [row for size, found in figures.items() for row in TABLES[name](size, found, python)]
    title, columns = TITLES[name]
    line = "|" + "|".join("---" if i < 2 else "---:" for i in range(columns.count("|") + 1)) + "|"
    return f"## {title}\n\n| {columns} |\n{line}\n" + "\n".join(rows) + "\n"


TITLES = {
    "build": ("Building", "documents | system | documents/s | documents per CPU second | peak memory MB"),
    "disk": ("On disk", "documents | system | MB | bytes a document | text alone MB"),
    "first question": ("Opening and the first question (cold process)", "documents | system | p50 ms | p95 ms"),
    "question": ("A question (warm)", "documents | system | p50 ms | p95 ms | peak memory MB"),
    "change": ("Changes", "documents | system | add one and find it, ms | replace 1,000, s"),
}


def build_rows(size: int, found: dict[str, dict[str, Any]], python: str | None) -> list[str]:
    own, rows = found["build"], []
    rows.append(
        f"| {size:,} | Estante, words and vectors | {own['docs'] / own['wall_s']:,.0f} | "
        f"{own['docs'] / own['cpu_s']:,.0f} | {own['peak_mb']:.0f} |"
    )
    if python:
        peer = found["peer build"]
        rows.append(
            f"| | peer, words | {peer['docs_per_s']:,.0f} | {peer['docs_per_cpu_s']:,.0f} | {peer['peak_rss_mb']:.0f} |"
        )
        ratio = own["docs"] / own["cpu_s"] / peer["docs_per_cpu_s"]
        memory = own["peak_mb"] / peer["peak_rss_mb"]
        rows.append(
            f"| | *ratio* | {own['docs'] / own['wall_s'] / peer['docs_per_s']:.1f}x | {ratio:.1f}x | {memory:.2f}x |"
        )
    return rows


def disk_rows(size: int, found: dict[str, dict[str, Any]], python: str | None) -> list[str]:
    text, own = found["corpus"]["mb"], found["build"]["disk_mb"]
    rows = [f"| {size:,} | Estante, words and vectors | {own:.1f} | {own * 1e6 / size:,.0f} | {text:.1f} |"]
    if python:
        peer = found["peer build"]["index_mb"]
        rows.append(f"| | peer, words | {peer:.1f} | {peer * 1e6 / size:,.0f} | {text:.1f} |")
    return rows


def first_rows(size: int, found: dict[str, dict[str, Any]], python: str | None) -> list[str]:
    rows = [f"| {size:,} | Estante, words and vectors | {found['first']['p50']:.0f} | {found['first']['p95']:.0f} |"]
    if python:
        rows.append(f"| | peer, opening alone | {found['peer serve']['open_ms']:.0f} | |")
    return rows


def question_rows(size: int, found: dict[str, dict[str, Any]], python: str | None) -> list[str]:
    rows = []
    for mode, label in (("hybrid", "words and vectors"), ("lexical", "words")):
        one = found[f"serve {mode}"]
        head = f"{size:,}" if mode == "hybrid" else ""
        rows.append(f"| {head} | Estante, {label} | {one['p50']:.2f} | {one['p95']:.2f} | {one['peak_mb']:.0f} |")
    if python:
        peer, own = found["peer serve"], found["serve lexical"]
        rows.append(f"| | peer, words | {peer['p50']:.2f} | {peer['p95']:.2f} | {peer['peak_rss_mb']:.0f} |")
        memory = own["peak_mb"] / peer["peak_rss_mb"]
        rows.append(
            f"| | *ratio, words* | {own['p50'] / peer['p50']:.2f}x | {own['p95'] / peer['p95']:.2f}x | {memory:.2f}x |"
        )
    return rows


def change_rows(size: int, found: dict[str, dict[str, Any]], python: str | None) -> list[str]:
    one = found["change"]
    return [f"| {size:,} | Estante | {one['add_one_ms']:.0f} | {one['replace_1000_s']:.2f} |"]


TABLES = {
    "build": build_rows,
    "disk": disk_rows,
    "first question": first_rows,
    "question": question_rows,
    "change": change_rows,
}
STEPS = {"build": build, "serve": serve, "first": first, "change": change}


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        print(json.dumps(STEPS[sys.argv[2]](*sys.argv[3:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "measurements.md")
    chosen = parser.parse_args()
    if not (DATA / "corpora").is_dir():
        raise SystemExit("The corpora are not here: set ESTANTE_DATA to the folder that holds corpora/.")
    python = peer_python(not chosen.no_peer)
    figures: dict[int, dict[str, dict[str, Any]]] = {}
    for size in chosen.sizes:
        folder = Path(tempfile.mkdtemp(prefix="estante-bench-"))
        try:
            figures[size] = measure(size, python, folder)
        finally:
            shutil.rmtree(folder)
        print(json.dumps({size: figures[size]}, indent=1), flush=True)
    chosen.out.write_text(page(figures, python), encoding="utf-8")
    print(f"written: {chosen.out}")


if __name__ == "__main__":
    main()
