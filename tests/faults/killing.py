"""Processes that work on a bookcase and can be killed at any moment.

One server imports everything once and forks a child for each piece of work, so that a kill costs milliseconds.
A piece of work is a function named ``module:function``; it is given keyword arguments as JSON, and speaks by ``say``.
"""

from __future__ import annotations

import array
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
"""Seconds after which a silent process counts as hanging."""


def say(**told: object) -> None:
    """Tells the test something; a whole line, or, when killed, nothing of it."""
    os.write(1, json.dumps(told).encode() + b"\n")


class Victim:
    """A process at work."""

    def __init__(self, victims: Victims, pid: int, pipe: int) -> None:
        self.pid = pid
        self._victims = victims
        self._pipe = pipe
        self._said = b""
        self.code: int | None = None

    def hear(self) -> dict[str, Any] | None:
        """The next thing it says; None once it has ended."""
        while b"\n" not in self._said:
            if not select.select([self._pipe], [], [], PATIENCE)[0]:
                self.kill()
                raise AssertionError(f"process {self.pid} hangs; it said {self._said!r}")
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                return None
            self._said += piece
        line, _, self._said = self._said.partition(b"\n")
        try:
            told: dict[str, Any] = json.loads(line)
        except ValueError:
            rest = (line + b"\n" + self._said).decode()
            while piece := os.read(self._pipe, 1 << 16):
                rest += piece.decode()
            raise AssertionError(f"process {self.pid} failed:\n{rest}") from None
        return told

    def all(self) -> Iterator[dict[str, Any]]:
        """Everything it still says, until it ends."""
        while (told := self.hear()) is not None:
            yield told

    def kill(self) -> int:
        """SIGKILL, and how it ended."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """How it ended: its exit code, or minus the signal that killed it."""
        if self.code is None:
            self.code = self._victims.wait(self.pid)
        return self.code

    def bury(self) -> None:
        """Ends it and lets go of its pipe."""
        self.kill()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


class Victims:
    """The server that forks them. Use as a context: nothing survives it."""

    def __enter__(self) -> Victims:
        self._line, theirs = socket.socketpair()
        self._born: list[Victim] = []
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.faults.killing", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        theirs.close()
        return self

    def start(self, work: str, **given: object) -> Victim:
        """A process that runs ``module:function`` of tests.faults with these arguments."""
        ours, theirs = os.pipe()
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(given, file)
        told = json.dumps({"work": work, "given": file.name}).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs]))]
        self._line.sendmsg([told], rights)
        os.close(theirs)
        victim = Victim(self, int(self._answer()), ours)
        self._born.append(victim)
        return victim

    def wait(self, pid: int) -> int:
        self._line.sendall(json.dumps({"wait": pid}).encode())
        return int(self._answer())

    def _answer(self) -> str:
        if not select.select([self._line], [], [], PATIENCE)[0]:
            raise AssertionError("the server of processes hangs")
        return self._line.recv(4096).decode()

    def __exit__(self, *_: object) -> None:
        for victim in self._born:
            victim.bury()
        self._line.close()
        self._server.wait(PATIENCE)


def serve(descriptor: int) -> None:
    """Forks a child for every piece of work, until the other side goes away."""
    with socket.socket(fileno=descriptor) as line:
        while True:
            data, ancillary, _, _ = line.recvmsg(4096, socket.CMSG_LEN(4))
            if not data:
                return
            told = json.loads(data)
            if "wait" in told:
                _, status = os.waitpid(told["wait"], 0)
                line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                continue
            pipe = array.array("i", ancillary[0][2])[0]
            pid = os.fork()
            if pid == 0:
                line.detach()
                os.close(descriptor)
                _live(told["work"], Path(told["given"]), pipe)
            os.close(pipe)
            line.sendall(str(pid).encode())


def _live(work: str, given: Path, pipe: int) -> None:
    code = 1
    try:
        os.dup2(pipe, 1)
        os.dup2(pipe, 2)
        os.close(pipe)
        told = json.loads(given.read_text("utf-8"))
        given.unlink()
        module, _, function = work.partition(":")
        getattr(importlib.import_module(f"tests.faults.{module}"), function)(**told)
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def warm() -> None:
    """Loads all that a bookcase needs, so that children begin at once."""
    from tests.faults.cases import case_at

    for module in ("deeds", "points", "crowd", "scarcity", "modes", "appetite"):
        importlib.import_module(f"tests.faults.{module}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "notes").mkdir()
        (Path(folder) / "notes" / "a.txt").write_text("A leave is asked for in writing.", "utf-8")
        for path in (Path(folder) / "case", None):
            with case_at(path) as case:
                case.add({"a": "A licitação é pública."}, readers=["*"])
                case.add(Path(folder) / "notes")
                case.search("licitação")
                case.rebuild()


if __name__ == "__main__":
    warm()
    serve(int(sys.argv[1]))
