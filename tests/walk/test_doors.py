"""One question, every door: the same corpus and the same asker get the same chunks in the same order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import estante

LIBRARY = Path(estante.__file__).parent / "demo" / "library"
QUESTIONS = [
    "Abri um requerimento no protocolo. Qual o prazo atual para a Prefeitura responder?",
    "Why couldn't payroll be brought up in the flood simulation?",
    "Em que dia vai ser a Festa do Pequi este ano?",
    "taxas",
    "",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case")
    with estante.create(folder) as case:
        case.add(LIBRARY)
    return folder


def through_python(home: Path, question: str) -> list[str]:
    with estante.open(home) as case:
        return [hit.chunk.id for hit in case.search(question)]


def through_memory(home: Path, question: str) -> list[str]:
    with estante.memory() as case:
        case.add(LIBRARY)
        return [hit.chunk.id for hit in case.search(question)]


def through_command_line(home: Path, question: str) -> list[str]:
    command = [sys.executable, "-m", "estante", "--home", str(home), "search", question, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    return [hit["chunk_id"] for hit in json.loads(done.stdout)["hits"]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_door_gives_the_same_chunks_in_the_same_order(home: Path, question: str) -> None:
    answers = [door(home, question) for door in (through_python, through_memory, through_command_line)]

    assert answers[0] == answers[1] == answers[2]
    assert bool(answers[0]) == bool(question)
