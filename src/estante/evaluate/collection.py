"""What a pipeline is measured with: questions, what is relevant to each, and the texts that they are asked of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from estante.evaluate.errors import Incomparable
from estante.evaluate.spans import TextSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the grade of each name that somebody judged for it, and the spans that answer it."""

    id: str
    text: str
    judged: Mapping[str, int] = field(default_factory=dict)
    gold: tuple[TextSpan, ...] = ()

    @property
    def mark(self) -> str:
        """16 hex digits that change with the judgements."""
        return digest([sorted(self.judged.items()), spans_told(self.gold)])[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text of the corpus."""

    id: str
    title: str
    text: str

    @property
    def head(self) -> str:
        """What stands before the text where the two are one: the title and a blank line, or nothing."""
        return f"{self.title}\n\n" if self.title else ""

    @property
    def whole(self) -> str:
        """Title and text as one, which is what is put on a shelf and what places are counted in."""
        return self.head + self.text


@dataclass(frozen=True, kw_only=True)
class Collection:
    """Questions in their order, and the corpus if it is known.

    ``unasked`` are ids that judgements name and no question has; ``elsewhere`` counts questions that belong to another
    part of the collection. Neither is measured, both are told.
    """

    name: str
    questions: tuple[Question, ...]
    sources: tuple[Source, ...] | None = None
    unasked: tuple[str, ...] = ()
    elsewhere: int = 0

    def first(self, count: int | None) -> Collection:
        """The same with the first questions alone."""
        return self if count is None else replace(self, questions=self.questions[:count])

    def judged_alone(self) -> Collection:
        """The same without the questions that nobody judged, which then count as belonging elsewhere."""
        kept = tuple(one for one in self.questions if one.judged or one.gold)
        return replace(self, questions=kept, elsewhere=self.elsewhere + len(self.questions) - len(kept))

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements, by question."""
        return {one.id: dict(one.judged) for one in self.questions}

    @property
    def gold(self) -> dict[str, tuple[TextSpan, ...]]:
        """The gold spans of each question that has some."""
        return {one.id: one.gold for one in self.questions if one.gold}

    @cached_property
    def marks(self) -> dict[str, str | None]:
        """SHA-256 of the questions, the judgements and the corpus, in whatever order they stand."""
        return {
            "questions_sha256": digest(sorted([one.id, one.text] for one in self.questions)),
            "judgements_sha256": digest(sorted([one.id, one.mark] for one in self.questions)),
            "corpus_sha256": None
            if self.sources is None
            else digest(sorted([one.id, one.title, one.text] for one in self.sources)),
        }

    def absent(self, known: Iterable[str] | None = None) -> list[str]:
        """The names judged relevant that are no text of the corpus, sorted; none where no corpus is known."""
        if known is None:
            if self.sources is None:
                return []
            known = (one.id for one in self.sources)
        there = set(known)
        wanted = {name for one in self.questions for name, grade in one.judged.items() if grade > 0}
        wanted |= {span.document for one in self.questions for span in one.gold}
        return sorted(wanted - there)


def refuse_empty(collection: Collection) -> Collection:
    """The collection. Raises ``Incomparable`` when there is nothing to ask, or nothing is judged."""
    if not collection.questions:
        raise Incomparable(f"{collection.name} has no question", hint="Check its files and --limit.")
    if not any(one.judged or one.gold for one in collection.questions):
        raise Incomparable(
            f"none of the {len(collection.questions):,} questions of {collection.name} has a judgement",
            hint="Check that questions and judgements have the same ids.",
        )
    return collection


def spans_told(spans: Iterable[TextSpan]) -> list[list[str | int]]:
    """Spans as JSON, sorted."""
    return [[one.document, one.start, one.end] for one in sorted(spans)]


def digest(value: object) -> str:
    """The SHA-256, 64 hex digits, of a value as JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
