"""The files of TREC: topics, judgements (qrels) and runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from estante.evaluate.errors import UnreadableFile
from estante.evaluate.lines import grade_of, lines_of, text_of, wrong

TAG: Final = "estante"

_TOPIC: Final = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_NUMBER: Final = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]+)", re.IGNORECASE)
_BLANK: Final = re.compile(r"\s")


def topics(path: Path) -> list[tuple[str, str]]:
    """Ids and texts: of ``<top>`` blocks (their ``<num>`` and ``<title>``), else of lines ``id``, tab, text."""
    text = text_of(path)
    blocks = _TOPIC.findall(text)
    if not blocks:
        return [_tabbed(path, number, line) for number, line in lines_of(path)]
    found = []
    for at, block in enumerate(blocks, start=1):
        number, title = _NUMBER.search(block), _TITLE.search(block)
        if number is None or title is None:
            raise UnreadableFile(f"{path}: topic {at} has no <num> or no <title>", hint="Mend that topic.")
        found.append((number[1], " ".join(title[1].split())))
    return found


def _tabbed(path: Path, number: int, line: str) -> tuple[str, str]:
    name, tab, text = line.partition("\t")
    if not tab or not name.strip() or not text.strip():
        raise wrong(path, number, "no id, tab and text", hint="Topics are <top> blocks, or lines of id, tab and text.")
    return name.strip(), text.strip()


def qrels(path: Path) -> dict[str, dict[str, int]]:
    """Grades by question and name: of lines with four columns (TREC), or three that tabs part (BEIR), with a header.

    Raises ``UnreadableFile`` for another line, and for two grades of one name.
    """
    found: dict[str, dict[str, int]] = {}
    for number, line in lines_of(path):
        parts = line.split("\t") if line.count("\t") == 2 else line.split()
        if len(parts) == 4:
            parts = [parts[0], parts[2], parts[3]]
        if len(parts) != 3:
            raise wrong(path, number, f"{len(parts)} columns", hint="Judgements have 3 columns, or 4 as in TREC.")
        question, name, told = (part.strip() for part in parts)
        if number == 1 and not re.match(r"[-+]?[0-9]", told):
            continue  # The header that BEIR has.
        grade = grade_of(told, path, number)
        if found.setdefault(question, {}).setdefault(name, grade) != grade:
            raise wrong(path, number, f"{name!r} has two grades for question {question!r}")
    return found


def run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """What each question found, the best first: by falling score, then by rank. Each name may stand once."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in lines_of(path):
        parts = line.split()
        if len(parts) != 6:
            raise wrong(path, number, f"{len(parts)} columns", hint="Lines of a run have 6: id Q0 name rank score tag.")
        question, _, name, rank, score, _ = parts
        try:
            place, value = float(rank), float(score)
        except ValueError as error:
            raise wrong(path, number, "rank and score are no numbers") from error
        if not (math.isfinite(place) and math.isfinite(value)):
            raise wrong(path, number, "rank and score are no numbers")
        if (question, name) in seen:
            raise wrong(path, number, f"{name!r} stands twice for question {question!r}")
        seen.add((question, name))
        found.setdefault(question, []).append((-value, place, name))
    return {question: [(name, -value) for value, _, name in sorted(rows)] for question, rows in found.items()}


def run_text(rankings: Mapping[str, Sequence[str]], tag: str = TAG) -> str:
    """The run as text. Scores are whole numbers that fall by one, so that any reader finds this very order."""
    lines = []
    for question, names in rankings.items():
        for place, name in enumerate(names):
            lines.append(f"{column(question)} Q0 {column(name)} {place + 1} {len(names) - place} {column(tag)}\n")
    return "".join(lines)


def qrels_text(judged: Mapping[str, Mapping[str, int]]) -> str:
    """Judgements as text in the four columns of TREC."""
    rows: Iterable[tuple[str, str, int]] = (
        (question, name, grade) for question, grades in judged.items() for name, grade in grades.items()
    )
    return "".join(f"{column(question)} 0 {column(name)} {grade}\n" for question, name, grade in rows)


def topics_text(questions: Iterable[tuple[str, str]]) -> str:
    """Topics as text: id, tab, text."""
    return "".join(f"{column(name)}\t{' '.join(text.split())}\n" for name, text in questions)


def column(name: str) -> str:
    """A name as a column: blanks become ``%20`` and the like, because columns are parted by them; the rest stays."""
    return _BLANK.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8")), name) or "%00"
