"""Work under an open umask, watched for files that others could read."""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

from estante.shelf import assemble
from tests.faults.cases import case_at
from tests.faults.corpus import Writer
from tests.faults.killing import say
from tests.faults.points import Points


class Watch(Points):
    """Looks at every file at every point, and in between."""

    def __init__(self, home: Path) -> None:
        super().__init__(None, False, home)
        self.open: dict[str, str] = {}
        self.seen: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    def __enter__(self) -> Watch:
        self.arm()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.look()

    def _point(self, name: str) -> None:
        self.look()

    def _look_on(self) -> None:
        while not self._ended.is_set():
            self.look()
            time.sleep(0.0005)

    def look(self) -> None:
        for folder, _, files in os.walk(self._home):
            for path in (Path(folder), *(Path(folder) / file for file in files)):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    self.seen.add(path.suffix if path.suffix in (".seg", ".staged") else path.name)
                    if stat.S_IMODE(status.st_mode) & 0o077:
                        self.open[str(path)] = stat.filemode(status.st_mode)


def work_openly(home: str, umask: int) -> None:
    """Does everything that can be done to a case."""
    os.umask(umask)
    writer = Writer("modes")
    with Watch(Path(home)) as watch:
        with case_at(Path(home)) as case:
            for readers in (None, ["*"]):
                texts = writer.texts(3)
                case.add(texts, readers=readers)
                case.add(dict.fromkeys(texts, writer.text()), readers=["*"])
                case.update_metadata(min(texts), {"year": 1})
                case.delete(min(texts))
            case.compact()
            case.rebuild()
        with case_at(Path(home)) as case:
            case.search("licitação")
            case.add(writer.texts(2))
    say(open=watch.open, seen=sorted(watch.seen))


def make_openly(home: str) -> None:
    """Makes a bookcase with the settings' own parts and fills it a little."""
    os.umask(0)
    with Watch(Path(home) / ".estante") as watch, assemble.create(home) as case:
        case.add({"a": "A licitação é pública."})
    say(open=watch.open, seen=sorted(watch.seen))
