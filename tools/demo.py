"""Show Estante at work with its own commands: index a folder, ask it, print the passages with their evidence.

python tools/demo.py                                    the bundled library and three questions
python tools/demo.py --ask "Quem aprova férias?"        the bundled library and your question
python tools/demo.py --docs folder --ask "a question"   your own folder, in a bookcase that goes when it ends
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "src" / "estante" / "demo" / "library"
KEPT = ROOT / ".demo"
ESTANTE = Path(sys.executable).with_name("estante")

QUESTIONS = (
    (
        "A question in Portuguese; the answer has changed over the years.",
        "Abri um requerimento no protocolo. Qual o prazo atual para a Prefeitura responder?",
    ),
    (
        "A question in English, in other words than the report's.",
        "Why couldn't payroll be brought up in the flood simulation?",
    ),
    (
        "A question that the library does not answer. The nearest passages are shown all the same, but the words that\n"
        "# match are those of any text, and the last line names the one that matters: no passage holds it.",
        "Em que dia vai ser a Festa do Pequi este ano?",
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", default="", help="a folder or file of your own")
    parser.add_argument("--ask", default="", help="a question")
    chosen = parser.parse_args()
    if chosen.docs:
        docs = Path(chosen.docs).expanduser().resolve()
        if not docs.exists():
            print(f"There is no file or folder {docs}.")
            return 2
        with tempfile.TemporaryDirectory(prefix="estante-demo-") as home:
            return show(Path(home), docs, [("", chosen.ask)] if chosen.ask else [])
    shutil.rmtree(KEPT, ignore_errors=True)
    code = show(KEPT, LIBRARY, [("", chosen.ask)] if chosen.ask else list(QUESTIONS))
    if code == 0:
        here = shlex.quote(os.path.relpath(KEPT))
        say(f"The bookcase stays in {here}. Ask it more: {os.path.relpath(ESTANTE)} --home {here} search '...'")
    return code


def show(home: Path, docs: Path, questions: list[tuple[str, str]]) -> int:
    """Runs the commands one after the other; the first one that fails ends it."""
    home.mkdir(parents=True, exist_ok=True)
    say("# A bookcase, and a folder in it that everyone may read")
    for words in (["init", "--quiet"], ["add", str(docs), "--shared"], ["status"]):
        code = estante(home, *words)
        if code:
            return code
    for about, question in questions:
        say(f"# {about}" if about else "# Your question")
        code = estante(home, "search", question, "-k", "3", "--explain")
        if code:
            return code
    if not questions:
        say('Ask it something: make demo DOCS=folder Q="a question"')
    return 0


def estante(home: Path, *words: str) -> int:
    """Runs a command of Estante in a folder, showing it first."""
    say(f"$ estante {' '.join(map(quoted, words))}")
    # What the user has set for a bookcase of their own must not lead elsewhere.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ESTANTE_")}
    command = [str(ESTANTE), "--home", str(home), *words]
    if sys.stdout.isatty():
        return subprocess.run(command, cwd=home, env=environ, check=False).returncode
    environ["PYTHONIOENCODING"] = "utf-8"
    done = subprocess.run(command, cwd=home, env=environ, check=False, capture_output=True, encoding="utf-8")
    say(done.stdout, done.stderr)
    return done.returncode


def quoted(word: str) -> str:
    """A word as a shell takes it; double quotes where they do, because questions have apostrophes."""
    if shlex.quote(word) == word:
        return word
    return f'"{word}"' if not set(word) & set('"$`\\!') else shlex.quote(word)


def say(*texts: str) -> None:
    for text in texts:
        sys.stdout.buffer.write(f"{text.rstrip()}\n".encode() if text.strip() else b"")
    if not texts[0].startswith("$"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
