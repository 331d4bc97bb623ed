"""The whole main job where no socket can be made: to the library and through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = Path(__file__).resolve().parents[1] / "offline"
REFUSED = 97

QUESTION = "Abri um requerimento no protocolo. Qual o prazo atual para a Prefeitura responder?"
ANSWER = "leis/decreto-0541-2025-prazo-protocolo.md"

JOB = """
import sys
import estante

home, library = sys.argv[1:]
with estante.create(home) as case:
    outcome = case.add(library, readers=["*"])
    assert outcome.added == 52, outcome
    assert not outcome.skipped, outcome.skipped
with estante.open(home) as case:
    hits = case.search({question!r})
    assert any(hit.document_id.endswith({answer!r}) for hit in hits[:3]), hits
    refreshed = case.refresh()
    assert (refreshed.unchanged, refreshed.changed, refreshed.removed) == (52, 0, 0), refreshed
    assert case.check() == []
print("done")
"""


def offline(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ESTANTE_")}
    environ["PYTHONPATH"] = str(OFFLINE)
    return subprocess.run([sys.executable, *command], cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def estante(*words: str, cwd: Path) -> str:
    done = offline("-m", "estante.serve.cli.main", *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "reach",
    ["socket.socket()", "socket.getaddrinfo('example.org', 80)", "socket.create_connection(('192.0.2.1', 80))"],
)
def test_reaching_out_ends_the_process(tmp_path: Path, reach: str) -> None:
    code = f"import socket\ntry:\n    {reach}\nexcept BaseException:\n    pass"

    assert offline("-c", code, cwd=tmp_path).returncode == REFUSED


def test_the_library_does_the_whole_job_offline(tmp_path: Path, corpus: Path) -> None:
    job = JOB.format(question=QUESTION, answer=ANSWER)

    done = offline("-c", job, str(tmp_path / "case"), str(corpus), cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_command_line_does_the_whole_job_offline(tmp_path: Path, corpus: Path) -> None:
    estante("init", cwd=tmp_path)
    added = json.loads(estante("add", str(corpus), "--shared", "--strict", "--json", cwd=tmp_path))
    found = json.loads(estante("search", QUESTION, "--json", cwd=tmp_path))
    refreshed = json.loads(estante("refresh", "--json", cwd=tmp_path))

    assert (added["added"], added["skipped"]) == (52, [])
    assert any(hit["document_id"].endswith(ANSWER) for hit in found["hits"][:3])
    assert (refreshed["unchanged"], refreshed["changed"], refreshed["removed"]) == (52, 0, 0)
