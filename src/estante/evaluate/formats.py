"""Collections as they stand on disk: folders of BEIR, of the chunking evaluation, files of TREC, JSONL of questions."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from estante.evaluate import trec
from estante.evaluate.collection import Collection, Question, Source
from estante.evaluate.errors import AbsentFile, UnreadableFile
from estante.evaluate.lines import grade_of, rows_of, text_field, text_of, wrong
from estante.evaluate.spans import TextSpan

CORPUS: Final = "corpus.jsonl"
QUERIES: Final = "queries.jsonl"
QRELS: Final = "qrels"
CHUNKING: Final = "questions_df.csv"

_IDS: Final = ("_id", "id", "query_id", "question_id")
_TEXTS: Final = ("text", "question", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where a collection stands, and what is to be read instead of what stands there.

    ``place`` is a folder of BEIR or of the chunking evaluation, a file ``.jsonl`` of questions, or one of topics.
    ``split`` names one of several judgements in ``qrels/``.
    """

    place: Path
    queries: Path | None = None
    qrels: Path | None = None
    corpus: Path | None = None
    split: str | None = None


def load(files: Files) -> Collection:
    """The collection. Raises ``AbsentFile`` and ``UnreadableFile``."""
    place = files.place
    if not place.exists():
        raise AbsentFile(f"there is no collection at {place}", hint="Name a folder of BEIR, or a file of questions.")
    if place.is_dir():
        if (place / CHUNKING).is_file():
            return _chunking(place)
        if files.queries is None and not (place / QUERIES).is_file():
            raise AbsentFile(
                f"there is no {QUERIES} in {place}", hint="A folder of BEIR has corpus, queries and qrels."
            )
        return _beir(files)
    questions = _questions(place)
    corpus = None if files.corpus is None else tuple(sources(files.corpus))
    judged = None if files.qrels is None else trec.qrels(files.qrels)
    return _joined(place.stem, questions, judged, corpus)


def sources(path: Path) -> list[Source]:
    """The texts of a corpus, a JSON object a line. Raises ``UnreadableFile`` for an id that stands twice."""
    found: dict[str, Source] = {}
    for number, row in rows_of(path):
        name = text_field(row, ("_id", "id", "doc_id"), path, number)
        title, text = row.get("title") or "", row.get("text") or ""
        if not isinstance(title, str) or not isinstance(text, str):
            raise wrong(path, number, "title and text are no texts")
        if name in found:
            raise wrong(path, number, f"the id {name!r} stands twice")
        found[name] = Source(id=name, title=title.strip(), text=text)
    return list(found.values())


# --- BEIR -----------------------------------------------------------------------------------------------------------


def _beir(files: Files) -> Collection:
    place = files.place
    corpus = files.corpus or place / CORPUS
    texts = tuple(sources(corpus)) if files.corpus or corpus.is_file() else None
    chosen, others = (files.qrels, []) if files.qrels is not None else _splits(place, files.split)
    questions = _questions(files.queries or place / QUERIES)
    elsewhere = {name for path in others for name in trec.qrels(path)}
    judged = trec.qrels(chosen)
    kept = [one for one in questions if one.id in judged or one.id not in elsewhere or one.judged or one.gold]
    return _joined(place.resolve().name, kept, judged, texts, elsewhere=len(questions) - len(kept))


def _splits(place: Path, split: str | None) -> tuple[Path, list[Path]]:
    """The judgements that are meant, and those of the other parts."""
    flat = [path for path in (place / f"{QRELS}.tsv", place / f"{QRELS}.txt") if path.is_file()]
    parts = {path.stem: path for path in sorted((place / QRELS).glob("*.tsv"))}
    if split is None and flat:
        return flat[0], []
    if not parts:
        raise AbsentFile(f"there are no judgements in {place}", hint="Put them into qrels/test.tsv or qrels.tsv.")
    wanted = split or ("test" if "test" in parts else next(iter(parts)) if len(parts) == 1 else "")
    if wanted not in parts:
        what = f"there is no {wanted!r} among" if wanted else "it must be said which to take of"
        raise AbsentFile(f"{what} the judgements of {place}", hint=f"Give --split with one of: {', '.join(parts)}.")
    return parts[wanted], [path for name, path in parts.items() if name != wanted]


def write_beir(folder: Path, collection: Collection) -> None:
    """Writes the collection as a folder of BEIR; the folder is there and empty."""
    rows = [{"_id": one.id, "title": one.title, "text": one.text} for one in collection.sources or ()]
    _write(folder / CORPUS, rows)
    _write(folder / QUERIES, [{"_id": one.id, "text": one.text} for one in collection.questions])
    (folder / QRELS).mkdir()
    lines = ["query-id\tcorpus-id\tscore\n"]
    for one in collection.questions:
        lines += [f"{one.id}\t{name}\t{grade}\n" for name, grade in sorted(one.judged.items())]
    (folder / QRELS / "test.tsv").write_bytes("".join(lines).encode("utf-8"))


def _write(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8"))


# --- questions ------------------------------------------------------------------------------------------------------


def _questions(path: Path) -> list[Question]:
    """The questions of a file: JSON objects, or topics of TREC."""
    if path.suffix.casefold() not in (".jsonl", ".ndjson", ".json"):
        found = [Question(id=name, text=text) for name, text in trec.topics(path)]
    else:
        found = [_question(path, number, row) for number, row in rows_of(path)]
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise UnreadableFile(f"{path}: the question {one.id!r} stands twice", hint="Give each an id of its own.")
        seen.add(one.id)
    return found


def _question(path: Path, number: int, row: dict[str, Any]) -> Question:
    """A question with what its row says of it; without an id it is called by the number of its line."""
    name = text_field(row, _IDS, path, number) if any(one in row for one in _IDS) else str(number)
    return Question(
        id=name,
        text=text_field(row, _TEXTS, path, number),
        judged=_relevant(path, number, row.get("relevant")),
        gold=_gold(path, number, row.get("spans")),
    )


def _relevant(path: Path, number: int, told: object) -> dict[str, int]:
    """Relevant names: a list of them, or grades by name."""
    if told is None:
        return {}
    if isinstance(told, Mapping):
        return {str(name): grade_of(grade, path, number) for name, grade in told.items()}
    if isinstance(told, list) and all(isinstance(one, str) for one in told):
        return dict.fromkeys(told, 1)
    raise wrong(path, number, "'relevant' is no list of ids and no object of grades")


def _gold(path: Path, number: int, told: object) -> tuple[TextSpan, ...]:
    if told is None:
        return ()
    try:
        return tuple(sorted(_span(one["document"], one["start"], one["end"]) for one in told))  # type: ignore[attr-defined]
    except (KeyError, TypeError, ValueError) as error:
        raise wrong(
            path, number, "'spans' is no list of places", hint='Write {"document": ID, "start": 0, "end": 9} for each.'
        ) from error


def _span(document: object, start: object, end: object) -> TextSpan:
    if not isinstance(document, str) or type(start) is not int or type(end) is not int:
        raise TypeError
    return TextSpan(document, start, end)


# --- the chunking evaluation ----------------------------------------------------------------------------------------


def _chunking(place: Path) -> Collection:
    """A table of questions with ``references`` (gold spans), beside the texts in ``corpora/``."""
    path = place / CHUNKING
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    texts = [Source(id=one.stem, title="", text=text_of(one)) for one in sorted((place / "corpora").glob("*.md"))]
    questions = []
    for number, row in enumerate(csv.DictReader(io.StringIO(text_of(path), newline="")), start=1):
        try:
            references = json.loads(row["references"])
            spans = {_span(row["corpus_id"], one["start_index"], one["end_index"]) for one in references}
            questions.append(Question(id=f"q{number:04}", text=row["question"], gold=tuple(sorted(spans))))
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableFile(
                f"{path}: question {number} has no text, corpus and references", hint="Get an unchanged copy."
            ) from error
    return Collection(name=place.resolve().name, questions=tuple(questions), sources=tuple(texts))


# --- joining --------------------------------------------------------------------------------------------------------


def _joined(
    name: str,
    questions: list[Question],
    judged: Mapping[str, Mapping[str, int]] | None,
    corpus: tuple[Source, ...] | None,
    *,
    elsewhere: int = 0,
) -> Collection:
    """The collection; judgements of a file stand in for those of the questions, gold spans become places in wholes."""
    heads = {one.id: len(one.head) for one in corpus or ()}
    grades = judged or {}
    made = tuple(
        Question(
            id=one.id,
            text=one.text,
            judged=dict(grades.get(one.id, one.judged)),
            gold=tuple(_moved(span, heads.get(span.document, 0)) for span in one.gold),
        )
        for one in questions
    )
    known = {one.id for one in questions}
    unasked = tuple(sorted(grades.keys() - known))
    return Collection(name=name, questions=made, sources=corpus, unasked=unasked, elsewhere=elsewhere)


def _moved(span: TextSpan, by: int) -> TextSpan:
    return TextSpan(span.document, span.start + by, span.end + by) if by else span
