"""A case on disk and what it must hold, to be worked on by processes that may die."""

from __future__ import annotations

import shutil
from pathlib import Path

from estante.shelf.bookcase import Bookcase
from tests.faults.cases import case_at
from tests.faults.corpus import Writer, begin, script
from tests.faults.deeds import Deed, State, write_folder
from tests.faults.journal import Journal
from tests.faults.killing import Victim, Victims


class Bench:
    """A filled case, its folder, and its state."""

    def __init__(self, where: Path, seed: str) -> None:
        self.home, self.folder, self.where = where / "case", where / "notes", where
        self.writer = Writer(seed)
        self.state, self.files, deeds = begin(self.writer)
        write_folder(self.folder, self.files)
        with case_at(self.home) as case:
            for deed in deeds:
                deed.do(case)
            case.add(self.folder, readers=["*"])
        self.rounds = 0

    def script(self, kind: str) -> list[Deed]:
        """Some deeds of a kind; the folder holds from now on what they need."""
        deeds, self.files = script(kind, self.state, self.files, self.writer)
        write_folder(self.folder, self.files)
        return deeds

    def send(self, victims: Victims, deeds: list[Deed], *, hold: bool = False) -> tuple[Victim, Journal]:
        """A process that begins to do them, and its journal."""
        self.rounds += 1
        journal = Journal(self.where / f"journal-{self.rounds}")
        plain = [deed.plain() for deed in deeds]
        given = {"home": str(self.home), "journal": str(journal.path), "deeds": plain, "hold": hold}
        victim = victims.start("deeds:toil", **given)
        assert victim.hear() == {"ready": True}
        return victim, journal

    def after(self, deeds: list[Deed]) -> State:
        """What the case holds once they are done."""
        state = self.state
        for deed in deeds:
            state = deed.after(state)
        return state

    def do(self, case: Bookcase, deed: Deed) -> None:
        """Does a deed in this process."""
        deed.do(case)
        self.state = deed.after(self.state)

    def thin(self, case: Bookcase) -> None:
        """Takes out the oldest of many texts, so that no round is slower than the last."""
        for shared in (True, False):
            texts = [key for key, one in self.state.items() if "/" not in key and one.shared == shared]
            if surplus := tuple(sorted(texts)[1:-12]):
                self.do(case, Deed("delete", ids=surplus))

    def copy(self, name: str) -> Path:
        """The case once more, in another place."""
        place = self.where / name
        shutil.copytree(self.home, place)
        return place
