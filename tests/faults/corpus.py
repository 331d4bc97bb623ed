"""Small texts in two languages, each with a word that stands nowhere else."""

from __future__ import annotations

import random

from tests.faults.deeds import Deed, Held, State, in_folder

WORDS = (
    *("licitação", "licitações", "contrato", "férias", "servidor", "prazo", "edital", "recurso", "câmara"),
    *("município", "orçamento", "portaria", "budget", "leave", "server", "deadline", "committee", "procurement"),
    *("annual", "report", "archive", "review", "decision", "appeal"),
)
QUESTIONS = ["licitação do município", "annual leave of the server", "prazo do recurso", "committee", ""]


class Writer:
    """Writes texts; the same seed writes the same ones."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self._named = 0

    def marker(self) -> str:
        """A word that no other text holds."""
        return "zq" + "".join(self.rng.choice("bcdfgjklmnprtv") + self.rng.choice("aeiou") for _ in range(5))

    def name(self) -> str:
        """An id that was never used."""
        self._named += 1
        return f"texto-{self._named:03d}"

    def text(self, size: int | None = None) -> str:
        """Some sentences, the marker in each paragraph."""
        marker = self.marker()
        paragraphs, length = [], 0
        wanted = size or self.rng.choice((80, 400, 900))
        while length < wanted:
            words = [self.rng.choice(WORDS) for _ in range(self.rng.randint(6, 30))]
            paragraphs.append(f"O {marker} e a {' '.join(words)}.")
            length += len(paragraphs[-1])
        return "\n\n".join(paragraphs)

    def texts(self, count: int) -> dict[str, str]:
        return {self.name(): self.text() for _ in range(count)}

    def files(self, count: int) -> dict[str, str]:
        return {f"ato-{number:02d}.txt": self.text() for number in range(count)}


def marker_of(text: str) -> str:
    """The word that stands in this text alone."""
    return text.split()[1]


def first_deeds(writer: Writer) -> list[Deed]:
    """What fills a case: texts for all and for few, one of them of several pages of the catalog."""
    return [
        Deed("add", writer.texts(6), ("*",), {}),
        Deed("add", {**writer.texts(6), "long": writer.text(40_000)}),
        Deed("add", writer.texts(3), ("finance",), {}),
    ]


def script(kind: str, state: State, files: dict[str, str], writer: Writer) -> tuple[list[Deed], dict[str, str]]:
    """Some deeds of one kind that make sense in this state, and the files of the folder from then on."""
    rng = writer.rng
    texts = sorted(key for key in state if "/" not in key)
    shared = [key for key in texts if state[key].shared]
    private = [key for key in texts if not state[key].shared]
    if kind == "add":
        news = Deed("add", writer.texts(3), rng.choice([(), ("*",), ("finance",)]))
        metadata = {key: {"year": rng.randint(2000, 2030)} for key in rng.sample(private, 2)}
        changed = {key: writer.text() for key in metadata}
        return [news, Deed("add", changed, state[min(metadata)].readers and ("finance",), metadata)], files
    if kind == "refresh":
        kept = dict(files)
        for name in rng.sample(sorted(files), 2):
            del kept[name]
        for name in rng.sample(sorted(kept), 2):
            kept[name] = writer.text()
        kept |= {f"novo-{rng.randint(0, 9999):04d}.txt": writer.text() for _ in range(3)}
        return [Deed("refresh", dict(list(kept.items())[:10]))], dict(list(kept.items())[:10])
    if kind == "delete":
        gone = rng.sample(private, 2), rng.sample(shared, 2)
        back = [Deed("add", writer.texts(2)), Deed("add", writer.texts(2), ("*",))]
        return [Deed("delete", ids=tuple(gone[0])), Deed("delete", ids=tuple(gone[1])), *back], files
    if kind == "update":
        return [
            Deed("update", ids=(key,), metadata={"year": rng.randint(2000, 2030), "note": writer.marker()})
            for key in rng.sample(texts, 3)
        ], files
    if kind == "unshare":
        moved = {key: state[key].text for key in rng.sample(shared, 3)}
        again = {key: writer.text() for key in rng.sample(shared, 1)}
        return [Deed("add", moved), Deed("add", moved, ("*",)), Deed("add", again), Deed("add", again, ("*",))], files
    if kind in ("compact", "rebuild"):
        gone = rng.sample(private, 1)
        return [Deed("delete", ids=tuple(gone)), Deed("add", writer.texts(1)), Deed(kind)], files
    raise ValueError(kind)


def begin(writer: Writer) -> tuple[State, dict[str, str], list[Deed]]:
    """The deeds that fill a case, what it holds then, and the files of its folder."""
    files, state = writer.files(8), {}
    deeds = first_deeds(writer)
    for deed in deeds:
        state = deed.after(state)
    return {**state, **in_folder(files)}, files, deeds


__all__ = ["QUESTIONS", "Held", "Writer", "begin", "first_deeds", "marker_of", "script"]
