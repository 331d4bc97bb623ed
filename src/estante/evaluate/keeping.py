"""Runs as folders: written whole or not at all, and verified whenever they are read.

A folder has ``manifest.json`` (the results, the sums of the other files, and the circumstances), ``questions.jsonl``
(texts and judgements), ``hits.jsonl`` (what was found), ``run.trec`` and ``qrels.trec`` (the same for other programs).
All but the circumstances is the same for the same results.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from estante.evaluate import trec
from estante.evaluate.asking import Asked, Found
from estante.evaluate.collection import Question, digest, spans_told
from estante.evaluate.errors import AbsentFile, EvaluationError, UnreadableFile
from estante.evaluate.lines import rows_of, text_of
from estante.evaluate.results import Results
from estante.evaluate.results import rows_of as rows_of_results
from estante.evaluate.runs import Run
from estante.evaluate.spans import TextSpan

FORMAT: Final = "estante.eval-run.v1"
MANIFEST: Final = "manifest.json"
QUESTIONS: Final = "questions.jsonl"
HITS: Final = "hits.jsonl"
RUN: Final = "run.trec"
QRELS: Final = "qrels.trec"

CLOSE: Final = 1e-9
"""How far a value may be from what it follows from: another version of a library may round otherwise."""


# --- writing --------------------------------------------------------------------------------------------------------


def refuse_occupied(folder: Path) -> None:
    """Raises ``UnreadableFile`` for a folder that holds anything, or a file."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UnreadableFile(f"{folder} is there already", hint="Name a folder that is not there yet.")


def write(folder: Path, run: Run) -> None:
    """Writes the run into a folder that is new or empty. Raises ``UnreadableFile`` and ``OSError``."""
    refuse_occupied(folder)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    making.mkdir()
    try:
        for name, text in files_of(run).items():
            (making / name).write_bytes(_bytes_of(text))
        if folder.exists():
            folder.rmdir()
        os.replace(making, folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def files_of(run: Run) -> dict[str, str]:
    """The text of each file of a run."""
    judged = {one.id: one.judged for one in run.questions}
    files = {
        QUESTIONS: _jsonl(_question_told(one) for one in run.questions),
        HITS: _jsonl(_asked_told(one, run.results.settings.get("by")) for one in run.asked),
        RUN: trec.run_text(run.rankings(), run.results.name),
        QRELS: trec.qrels_text(judged),
    }
    core = {**run.results.to_json(), "files": {name: _sum(text) for name, text in files.items()}}
    manifest = {
        "format": FORMAT,
        "core_sha256": digest(core),
        "core": core,
        "circumstances": dict(run.circumstances),
    }
    return {MANIFEST: _json(manifest, 1) + "\n", **files}


def _question_told(one: Question) -> dict[str, Any]:
    return {"id": one.id, "text": one.text, "judged": dict(one.judged), "gold": spans_told(one.gold)}


def _asked_told(one: Asked, by: object) -> dict[str, Any]:
    return {"id": one.question, "error": one.error, "hits": [_hit_told(hit, by) for hit in one.hits]}


def _hit_told(hit: Found, by: object) -> dict[str, Any]:
    """A hit without what it does not say; where names are documents, the document is not said twice."""
    at = None if hit.span is None else [hit.span.document, hit.span.start, hit.span.end]
    document = None if by == "document" else hit.document
    told = {"name": hit.name, "chunk": hit.chunk, "document": document, "score": hit.score, "at": at}
    return {key: value for key, value in {**told, "length": hit.length or None}.items() if value is not None}


def _jsonl(rows: Any) -> str:
    return "".join(_json(row) + "\n" for row in rows)


def _json(value: object, indent: int | None = None) -> str:
    """The value as JSON with letters as they are, but escaped where it holds half a character, which no file can."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    if any("\ud800" <= char <= "\udfff" for char in text):
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    return text


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _sum(text: str) -> str:
    return hashlib.sha256(_bytes_of(text)).hexdigest()


# --- reading --------------------------------------------------------------------------------------------------------


def read_results(path: Path) -> tuple[Results, dict[str, Any]]:
    """The results and circumstances of a run's folder, or of a manifest that stands alone, as a baseline does.

    Raises ``AbsentFile`` where there is none and ``UnreadableFile`` where it is not as it was written.
    """
    if path.is_dir():
        run = read(path)
        return run.results, dict(run.circumstances)
    manifest = _manifest(path)
    return _results(path, manifest), manifest["circumstances"]


def read(folder: Path) -> Run:
    """The run of a folder. Every sum and every value is computed again; raises as ``read_results`` does."""
    path = folder / MANIFEST
    if not path.is_file():
        raise AbsentFile(f"there is no run in {folder}", hint="Make one with: estante eval run")
    manifest = _manifest(path)
    results = _results(path, manifest)
    for name, told in manifest["core"]["files"].items():
        if name not in (QUESTIONS, HITS, RUN, QRELS):
            raise UnreadableFile(f"{path} names a file {name!r}", hint=_AGAIN)
        if hashlib.sha256(_bytes(folder / name)).hexdigest() != told:
            raise UnreadableFile(f"{folder / name} is not as it was written", hint=_AGAIN)
    try:
        questions = tuple(_question(row) for _, row in rows_of(folder / QUESTIONS))
        by = results.settings.get("by")
        asked = tuple(_asked(row, by) for _, row in rows_of(folder / HITS))
        _refuse_false(path, results, questions, asked)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, EvaluationError):
            raise
        raise UnreadableFile(f"{folder} holds no run of this format", hint=_AGAIN) from error
    return Run(results=results, questions=questions, asked=asked, circumstances=manifest["circumstances"])


_AGAIN: Final = "Get an unchanged copy of it, or measure again."


def texts_of(folder: Path) -> dict[str, str]:
    """The text of each question of a run that was read before; empty for a manifest that stands alone."""
    if not folder.is_dir():
        return {}
    return {row["id"]: row["text"] for _, row in rows_of(folder / QUESTIONS)}


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(text_of(path))
        core, told = manifest["core"], manifest["core_sha256"]
        if manifest["format"] != FORMAT or not isinstance(manifest["circumstances"], dict):
            raise ValueError("another format")
        true = digest(core) == told
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, EvaluationError):
            raise
        raise UnreadableFile(f"{path} is no manifest of a run ({FORMAT})", hint="Name a run's folder.") from error
    if not true:
        raise UnreadableFile(f"{path} was changed after it was written", hint=_AGAIN)
    return dict(manifest)


def _results(path: Path, manifest: Mapping[str, Any]) -> Results:
    try:
        return Results.from_json(manifest["core"])
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableFile(f"{path} lacks {error}", hint=_AGAIN) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise AbsentFile(f"there is no file {path}", hint=_AGAIN) from error


def _question(row: Mapping[str, Any]) -> Question:
    gold = tuple(TextSpan(*one) for one in row["gold"])
    return Question(id=row["id"], text=row["text"], judged=dict(row["judged"]), gold=gold)


def _asked(row: Mapping[str, Any], by: object) -> Asked:
    return Asked(question=row["id"], hits=tuple(_hit(one, by) for one in row["hits"]), error=row["error"])


def _hit(told: Mapping[str, Any], by: object) -> Found:
    at = told.get("at")
    return Found(
        name=told.get("name"),
        chunk=told.get("chunk"),
        document=told.get("name" if by == "document" else "document"),
        score=told.get("score"),
        span=None if at is None else TextSpan(*at),
        length=told.get("length", 0),
    )


def _refuse_false(path: Path, results: Results, questions: tuple[Question, ...], asked: tuple[Asked, ...]) -> None:
    """Raises ``UnreadableFile`` for values that do not follow from hits and judgements."""
    again = rows_of_results(results.measures, questions, asked)
    same = len(again) == len(results.rows) and all(
        (mine.id, mine.mark, mine.hits, mine.error) == (theirs.id, theirs.mark, theirs.hits, theirs.error)
        and all(abs(one - other) <= CLOSE for one, other in zip(mine.values, theirs.values, strict=True))
        for mine, theirs in zip(again, results.rows, strict=True)
    )
    if not same:
        raise UnreadableFile(f"the values in {path} do not follow from its hits and judgements", hint=_AGAIN)
