"""What can be done to a bookcase, as values; what each does; and what a case must hold before, during and after."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from estante.shelf.bookcase import Bookcase
from tests.faults.cases import OWNER, case_at
from tests.faults.journal import Journal
from tests.faults.killing import say

FOLDER = "notes"


@dataclass(frozen=True)
class Held:
    """A document as it must be found."""

    text: str
    readers: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    amended: Mapping[str, Any] | None = None
    private: Held | None = None
    """What the private shelf holds of it as well, while it comes to the shared one."""

    @property
    def shared(self) -> bool:
        return "*" in self.readers

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.given if self.amended is None else self.amended


State = dict[str, Held]


@dataclass(frozen=True)
class Deed:
    """One call on a bookcase. For a refresh, ``texts`` are the files that the folder holds then."""

    kind: str
    texts: Mapping[str, str] = field(default_factory=dict)
    readers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Deed:
        return cls(**{**told, "readers": tuple(told["readers"]), "ids": tuple(told["ids"])})

    def do(self, case: Bookcase) -> None:
        """Does it."""
        if self.kind == "add":
            outcome = case.add(self.texts, metadata=self.metadata or None, readers=self.readers or None)
            assert not outcome.skipped, outcome
        elif self.kind == "refresh":
            outcome = case.refresh()
            assert not outcome.skipped, outcome
        elif self.kind == "delete":
            # What a deed that was cut short has taken away already is not there to be taken away again.
            case.delete(*(key for key in self.ids if key in case))
        elif self.kind == "update":
            case.update_metadata(self.ids[0], dict(self.metadata), merge=False)
        elif self.kind == "compact":
            case.compact()
        elif self.kind == "rebuild":
            case.rebuild()
        else:
            raise ValueError(self.kind)

    def after(self, before: State) -> State:
        """What a case holds once it is done."""
        if self.kind == "add":
            held = {key: Held(text, self.readers, self.metadata.get(key, {})) for key, text in self.texts.items()}
            # A text that is there already for the same readers is not read again, so what was amended stays.
            for key, one in held.items():
                old = before.get(key)
                if old is not None and replace(old, amended=None) == one:
                    held[key] = old
            return {**before, **held}
        if self.kind == "refresh":
            return {**self._beside(before), **in_folder(self.texts)}
        if self.kind == "delete":
            return {key: one for key, one in before.items() if key not in self.ids}
        if self.kind == "update":
            return {**before, self.ids[0]: replace(before[self.ids[0]], amended=dict(self.metadata))}
        return dict(before)

    def during(self, before: State) -> list[State]:
        """Every whole state that a kill may leave."""
        found = [before]
        if self.kind == "add":
            found.append(self._between(before))
        if self.kind == "refresh":
            # What is gone from the folder is taken away first.
            found.append(
                {key: one for key, one in before.items() if not _foldered(key) or key in in_folder(self.texts)}
            )
        found.append(self.after(before))
        return found

    def _between(self, before: State) -> State:
        """Two shelves have no common commit: a text that is closed is on neither for a moment, never on both.

        One that is opened is on both, where its old and its new readers find it.
        """
        moving = {key for key in self.texts if key in before and before[key].shared != ("*" in self.readers)}
        if "*" not in self.readers:
            return {key: one for key, one in before.items() if key not in moving}
        arrived = {key: replace(self.after(before)[key], private=before[key]) for key in moving}
        return {**self.after(before), **arrived} if moving else before

    @staticmethod
    def _beside(before: State) -> State:
        return {key: one for key, one in before.items() if not _foldered(key)}


def _foldered(key: str) -> bool:
    return key.startswith(f"{FOLDER}/")


def in_folder(files: Mapping[str, str]) -> State:
    """The documents of a folder that everyone may read."""
    return {f"{FOLDER}/{name}": Held(text, ("*",)) for name, text in files.items()}


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Makes a folder hold these files and no others; what has not changed is left alone."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.name not in files:
            file.unlink()
    for name, text in files.items():
        file = folder / name
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def fresh(state: State, folder: Path) -> Bookcase:
    """A case in memory that was given what a state holds, and nothing else."""
    case = case_at()
    for key, one in sorted(state.items()):
        if not _foldered(key):
            case.add({key: one.text}, metadata={key: one.given} if one.given else None, readers=one.readers or None)
            if one.amended is not None:
                case.update_metadata(key, dict(one.amended), merge=False)
    case.add(folder, readers=["*"])
    return case


def found(case: Bookcase) -> dict[str, list[tuple[str, bool, dict[str, Any]]]]:
    """What each shelf really holds: text, whether it is shared, metadata. A list, for an id may stand on both."""
    held: dict[str, list[tuple[str, bool, dict[str, Any]]]] = {}
    for name, store in case._shelves.named().items():
        with store.view() as view:
            for one in view.listings(OWNER, None):
                document = view.document(one.document_id, OWNER)
                assert document.scope.shared == (name == "shared")
                row = (document.text, document.scope.shared, dict(document.metadata))
                held.setdefault(one.document_id, []).append(row)
    return held


def expected(state: State) -> dict[str, list[tuple[str, bool, dict[str, Any]]]]:
    """The same of a state."""
    both = {key: [one] if one.private is None else [one, one.private] for key, one in state.items()}
    return {key: [(one.text, one.shared, dict(one.metadata)) for one in ones] for key, ones in both.items()}


def toil(home: str, journal: str, deeds: list[dict[str, Any]], hold: bool) -> None:
    """Opens a case and does the deeds one after the other, noting each; then waits for its end.

    With ``hold``, the case is still open then.
    """
    notes = Journal(Path(journal))
    with case_at(Path(home)) as case:
        say(ready=True)
        for deed in map(Deed.of, deeds):
            notes.note(begun=deed.kind)
            deed.do(case)
            notes.note(done=deed.kind)
        if hold:
            say(finished=True)
            time.sleep(60)
    say(finished=True)
    time.sleep(60)
