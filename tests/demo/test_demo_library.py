"""The bundled library and its questions hold what they promise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import estante

DEMO = Path(estante.__file__).parent / "demo"
TOOLS = Path(__file__).parents[2] / "tools"
QUESTIONS = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def library() -> Iterator[estante.Bookcase]:
    with estante.memory() as case:
        case.add(DEMO / "library")
        yield case


def test_every_document_can_be_read() -> None:
    with estante.memory() as case:
        outcome = case.add(DEMO / "library")

        assert (outcome.skipped, outcome.added) == ((), 52)


def test_half_of_the_documents_are_portuguese_and_half_english(library: estante.Bookcase) -> None:
    assert Counter(one.language for one in library.documents()) == {"pt": 26, "en": 26}


def test_the_planted_secrets_are_masked(library: estante.Bookcase) -> None:
    masked = {one.document_id: one.redactions for one in library.documents() if one.redactions}

    assert sum(masked.values()) == 7
    assert len(masked) == 6


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_the_span_of_every_answer_is_its_quote(library: estante.Bookcase, question: dict) -> None:
    for answer in question["answers"]:
        document_id = f"library/{answer['document']}".casefold()

        assert library.text(document_id, answer["start"], answer["end"])[2] == answer["quote"]


def test_there_are_questions_of_every_kind() -> None:
    assert len(QUESTIONS) >= 80
    assert min(Counter(one["language"] for one in QUESTIONS).values()) >= 40
    assert sum(not one["answers"] for one in QUESTIONS) >= 10
    assert sum(one["cross"] for one in QUESTIONS) >= 12


def test_the_checker_of_the_library_agrees() -> None:
    done = subprocess.run([sys.executable, str(TOOLS / "check_demo.py")], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_most_questions_are_answered_in_the_first_ten(library: estante.Bookcase) -> None:
    asked = [one for one in QUESTIONS if one["answers"] and not one["cross"]]

    found = sum(
        any(_overlaps(hit, answer) for hit in library.search(one["question"]) for answer in one["answers"])
        for one in asked
    )

    assert found / len(asked) > 0.75


def _overlaps(hit: estante.Hit, answer: dict) -> bool:
    return (
        hit.document_id == f"library/{answer['document']}".casefold()
        and hit.span.start < answer["end"]
        and answer["start"] < hit.span.end
    )
