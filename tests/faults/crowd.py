"""Work for many processes and threads at one bookcase."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from estante.model.errors import EstanteError, Unavailable
from estante.shelf.bookcase import Bookcase
from tests.faults.cases import OWNER, SHELVES, STRANGER, case_at
from tests.faults.corpus import Writer
from tests.faults.killing import say

READERS = {"private": None, "shared": ["*"]}


def version(number: int) -> str:
    """The word that both texts of a pair carry in one version."""
    return "zv" + "".join("bcdfghjklm"[int(digit)] + "a" for digit in f"{number:04d}")


def pair(shelf: str, number: int) -> dict[str, str]:
    """Two texts that always change together, of another length each time."""
    lines = "\n\n".join(["O par diz a licitação e o prazo."] * (1 + number % 5))
    return {f"{shelf}-{half}": f"{version(number)} {half}.\n\n{lines}" for half in ("left", "right")}


def add_pairs(case: Bookcase, number: int) -> None:
    for shelf in SHELVES:
        case.add(pair(shelf, number), readers=READERS[shelf])


def write_pairs(home: str, until: str, seed: str) -> None:
    """Adds, replaces, deletes, compacts and rebuilds until a file appears; tells each version once it is done."""
    rng, writer, number, extra = random.Random(seed), Writer(seed), 0, []
    with case_at(Path(home)) as case:
        while not Path(until).exists():
            number += 1
            add_pairs(case, number)
            say(done=number)
            texts = writer.texts(rng.randint(1, 4))
            case.add(texts, readers=rng.choice([None, ["*"]]))
            extra += texts
            if len(extra) > 20:
                case.delete(*(extra.pop(rng.randrange(len(extra))) for _ in range(rng.randint(1, 15))))
            case.update_metadata("private-left", {"version": number})
            if number % 4 == 0:
                case.compact()
            if number % 11 == 0:
                case.rebuild()


def read_pairs(home: str, until: str) -> None:
    """Reads whole states until a file appears; then tells the last version and how much it read."""
    last = dict.fromkeys(SHELVES, 0)
    reads = changes = 0
    with case_at(Path(home)) as case:
        while not Path(until).exists():
            for shelf in SHELVES:
                seen = whole_state(case, shelf)
                if seen < last[shelf]:
                    raise AssertionError(f"{shelf}: version {seen} after {last[shelf]}")
                changes += seen != last[shelf]
                last[shelf] = seen
                reads += 1
        say(versions={shelf: whole_state(case, shelf) for shelf in SHELVES}, reads=reads, changes=changes)


def whole_state(case: Bookcase, shelf: str) -> int:
    """Reads one state of a shelf in every way. Returns its version; raises when the ways disagree."""
    with case._shelves.named()[shelf].view() as view:
        told = view.statistics()
        listings = list(view.listings(OWNER, None))
        assert told.documents == len(listings)
        assert told.chunks == sum(one.chunks for one in listings)
        assert told.chunks == sum(len(view.entries(one.document_id)) for one in listings)
        assert sorted(key for row in view.ledger().values() for key in row.documents) == [
            one.document_id for one in listings
        ]
        texts = {key: view.document(key, OWNER).text for key in (f"{shelf}-left", f"{shelf}-right")}
    markers = {text.split()[0] for text in texts.values()}
    assert len(markers) == 1, markers
    asker = OWNER if shelf == "private" else STRANGER
    results = case.search("par licitação prazo", 40, asker=asker)
    for report in results.shelves:
        if report.reason == "the shelf was closed":
            raise Unavailable(report.reason, hint="Open the bookcase again.")
        assert report.ok, report
    hits = [hit for hit in results.hits if hit.shelf == shelf]
    found = {hit.document_id: hit.chunk.text for hit in hits if hit.document_id.startswith(shelf)}
    for hit in hits:
        assert hit.chunk.span.end - hit.chunk.span.start == len(hit.chunk.text)
    assert set(found) == set(texts)
    opened = {hit.chunk.text.split()[0] for hit in hits if hit.document_id in texts and hit.chunk.index == 0}
    assert len(opened) == 1, opened
    return number_of(markers.pop())


def number_of(word: str) -> int:
    return int("".join(str("bcdfghjklm".index(letter)) for letter in word[2::2]))


# --- locks -------------------------------------------------------------------------------------------------------


def hold(home: str, purpose: str, until: str) -> None:
    """Holds the writer's place until a file appears."""
    with case_at(Path(home)) as case, case._shelves.writing(purpose):
        say(holding=os.getpid())
        while not Path(until).exists():
            time.sleep(0.01)


def add_own(home: str, name: str, count: int) -> None:
    """Adds texts one by one, waiting for its turn each time."""
    writer = Writer(name)
    with case_at(Path(home), wait=60.0) as case:
        say(ready=name)
        for number in range(count):
            case.add({f"{name}-{number}": writer.text()}, readers=READERS["shared"] if number % 2 else None)
    say(done=name)


def open_and_close(home: str, times: int) -> None:
    """Opens, reads and closes again and again."""
    for _ in range(times):
        with case_at(Path(home), wait=60.0) as case:
            assert len(case.documents()) >= 4
            case.add({f"own-{os.getpid()}": "A licitação é pública."})
    say(done=os.getpid())


# --- threads -----------------------------------------------------------------------------------------------------


def _together(works: list[Callable[[], None]]) -> list[str]:
    """Runs them in threads; what went wrong."""
    wrong: list[str] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def search_in_threads(home: str, rounds: int) -> None:
    """Eight threads read one bookcase while one adds and compacts."""
    sys.setswitchinterval(1e-5)
    ended = threading.Event()
    with case_at(Path(home)) as case:

        def read() -> None:
            while not ended.is_set():
                for shelf in SHELVES:
                    whole_state(case, shelf)
                case.search("licitação", where={"version": {"$gte": 1}})

        def write() -> None:
            try:
                for number in range(1, rounds + 1):
                    add_pairs(case, number)
                    case.update_metadata("private-left", {"version": number})
                    if number % 5 == 0:
                        case.compact()
            finally:
                ended.set()

        wrong = _together([read] * 8 + [write])
    say(wrong=wrong)


def close_under_readers(home: str) -> None:
    """Closes a bookcase while eight threads read it; each may only be told that it is closed."""
    sys.setswitchinterval(1e-5)
    case = case_at(Path(home))
    told: list[str] = []
    begun = threading.Barrier(9)

    def read() -> None:
        begun.wait()
        try:
            while True:
                for shelf in SHELVES:
                    whole_state(case, shelf)
        except Unavailable as error:
            told.append(error.hint)

    def close() -> None:
        begun.wait()
        time.sleep(random.Random(home).random() * 0.2)
        case.close()
        case.close()

    wrong = _together([read] * 8 + [close])
    say(wrong=wrong, told=len(told))


# --- read only ---------------------------------------------------------------------------------------------------


def become(uid: int) -> None:
    """Gives up being root, for good."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def read_only(home: str, uid: int) -> None:
    """Reads as somebody who may not write, then tries to write."""
    become(uid)
    refused: list[str] = []
    with case_at(Path(home)) as case:
        versions = {shelf: whole_state(case, shelf) for shelf in SHELVES}
        documents = [one.document_id for one in case.documents()]
        for write in (
            lambda: case.add({"new": "A licitação é pública."}),
            lambda: case.delete("private-left"),
            lambda: case.update_metadata("private-left", {"year": 1}),
            case.compact,
            case.rebuild,
            case.refresh,
        ):
            try:
                write()
                refused.append("written")
            except EstanteError as error:
                refused.append(f"{type(error).__name__}: {error.message} / {error.hint}")
        problems = case.check()
    say(versions=versions, documents=documents, refused=refused, problems=problems)


def follow(home: str, uid: int, until: str) -> None:
    """Reads as somebody who may not write, while somebody else does; tells what it sees each time it is asked."""
    become(uid)
    told = 0
    with case_at(Path(home)) as case:
        while not Path(until).exists():
            asked = len(list(Path(until).parent.glob("ask-*")))
            if asked > told:
                told = asked
                try:
                    say(documents=[one.document_id for one in case.documents()], problems=case.check())
                except EstanteError as error:
                    say(error=type(error).__name__, message=error.message)
            time.sleep(0.01)
