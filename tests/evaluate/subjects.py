"""Small pipelines and a small collection to be measured with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estante.contract.errors import ConnectorOperationalError
from estante.contract.models import ChunkRecord, RetrievedChunk
from estante.contract.pipeline import RagPipeline
from estante.evaluate.collection import Collection, Question, Source

TEXTS = {
    "sea": "The lighthouse keeper has the keys of the lamp room.",
    "land": "Sheep graze on the hill above the harbour.",
    "sky": "When fog comes the horn is sounded every two minutes.",
}


class WordsPipeline(RagPipeline):
    """Finds documents by how many words of the question they hold; a chunk a document."""

    name = "words"

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(TEXTS if texts is None else texts)

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        wanted = set(text.casefold().rstrip("?").split()) - {"the"}
        scores = {name: len(wanted & set(one.casefold().split())) for name, one in self.texts.items()}
        found = sorted((name for name in scores if scores[name]), key=lambda name: (-scores[name], name))
        return [
            RetrievedChunk(f"{name}#0", self.texts[name], float(scores[name]), rank, doc_id=name)
            for rank, name in enumerate(found[:top_k])
        ]

    def pull_all_chunks(self) -> list[ChunkRecord]:
        return [
            ChunkRecord(f"{name}#0", name, f"{name}.txt", 0, at, text, char_start=0, char_end=len(text))
            for at, (name, text) in enumerate(self.texts.items())
        ]


class FailingPipeline(WordsPipeline):
    """Fails at every question about fog, as a back end does that is away now and then."""

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        if "fog" in text:
            raise ConnectorOperationalError("the back end\ndid not answer")
        return super().query(text, top_k)


class WithoutCorpus(RagPipeline):
    """Answers questions and shows nothing of its corpus."""

    def __init__(self) -> None:
        self._words = WordsPipeline()

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        return self._words.query(text, top_k)


class Giving(WordsPipeline):
    """Gives whatever it was made with for every question."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given

    def query(self, text: str, top_k: int = 5) -> Any:
        return self.given


def collection(**more: Any) -> Collection:
    """Three questions: one each for the sea and the sky, and one that finds nothing."""
    questions = (
        Question(id="q1", text="Who has the keys?", judged={"sea": 1}),
        Question(id="q2", text="When does fog sound the horn?", judged={"sky": 2, "land": 0}),
        Question(id="q3", text="xyzzy?", judged={"land": 1}),
    )
    sources = tuple(Source(id=name, title="", text=text) for name, text in TEXTS.items())
    return Collection(**{"name": "harbour", "questions": questions, "sources": sources, **more})
