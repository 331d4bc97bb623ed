"""Writes the spans of the answers into the demo library's questions: where each quote stands in its canonical text.

Run it after a change to the library or to an extractor: python tools/locate_answers.py [--check]
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import estante

DEMO = Path(estante.__file__).parent / "demo"


def located(text: str, quote: str) -> tuple[int, int]:
    """The span of a quote, whatever white space the extractor put between its words."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"not found: {quote!r}")
    return found.span()


def main(check: bool) -> None:
    case = estante.memory()
    outcome = case.add(DEMO / "library")
    if outcome.skipped:
        raise SystemExit(f"skipped: {outcome.skipped}")
    path, lines = DEMO / "questions.jsonl", []
    for line in path.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        for answer in question["answers"]:
            text = case.document(f"library/{answer['document']}".casefold()).text
            answer["start"], answer["end"] = located(text, answer["quote"])
            answer["quote"] = text[answer["start"] : answer["end"]]
        lines.append(json.dumps(question, ensure_ascii=False))
    written = "\n".join(lines) + "\n"
    if check and written != path.read_text(encoding="utf-8"):
        raise SystemExit("questions.jsonl is out of date: run python tools/locate_answers.py")
    path.write_text(written, encoding="utf-8")
    print(f"{len(lines)} questions, {written.count('start')} answers located")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
