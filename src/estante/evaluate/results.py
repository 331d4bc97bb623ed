"""The results of a run: what each measure says of each question, and of what and with what it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from estante.evaluate.asking import Asked
from estante.evaluate.collection import Collection, Question, digest
from estante.evaluate.errors import Incomparable
from estante.evaluate.measures import Measure, mean, measure_of
from estante.evaluate.ranked import values as ranked_values
from estante.evaluate.spans import span_values

SHOWN = 20
"""Names that are listed of those that no corpus has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question: the mark of its judgements, a value for each measure, how many hits it had, and its error."""

    id: str
    mark: str
    values: tuple[float, ...]
    hits: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a run came to. ``counts`` tells what a mean does not show; the mappings are JSON.

    ``collection`` has the sums of questions, judgements and corpus, ``pipeline`` what the pipeline said of itself.
    """

    name: str
    measures: tuple[Measure, ...]
    rows: tuple[Row, ...]
    counts: Mapping[str, int]
    absent: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    collection: Mapping[str, Any] = field(default_factory=dict)
    pipeline: Mapping[str, Any] = field(default_factory=dict)

    def values(self, measure: Measure) -> dict[str, float]:
        """The value of each question. Raises ``Incomparable`` for a measure that was not taken."""
        if measure not in self.measures:
            raise Incomparable(
                f"{self.name} has no {measure}",
                hint=f"Measure it again with -m {measure}; it has {', '.join(map(str, self.measures))}.",
            )
        at = self.measures.index(measure)
        return {row.id: row.values[at] for row in self.rows}

    def means(self) -> dict[Measure, float]:
        """The mean of each measure over all questions."""
        return {measure: mean(self.values(measure)) for measure in self.measures}

    @property
    def errors(self) -> int:
        """How many questions the pipeline failed at."""
        return self.counts["errors"]

    def to_json(self) -> dict[str, Any]:
        """The results as JSON, the same for the same results."""
        return {
            "name": self.name,
            "measures": [str(measure) for measure in self.measures],
            "means": {str(measure): value for measure, value in self.means().items()},
            "counts": dict(self.counts),
            "judged_absent": list(self.absent),
            "settings": dict(self.settings),
            "collection": dict(self.collection),
            "pipeline": dict(self.pipeline),
            "questions": [
                {
                    "id": row.id,
                    "judgements": row.mark,
                    "hits": row.hits,
                    "error": row.error,
                    "values": list(row.values),
                }
                for row in self.rows
            ],
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Results:
        """The results again. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what ``to_json`` did not make."""
        rows = tuple(
            Row(
                id=one["id"],
                mark=one["judgements"],
                hits=one["hits"],
                error=one["error"],
                values=tuple(map(float, one["values"])),
            )
            for one in told["questions"]
        )
        measures = tuple(measure_of(one) for one in told["measures"])
        if any(len(row.values) != len(measures) for row in rows):
            raise ValueError("a question has too few values, or too many")
        return cls(
            name=told["name"],
            measures=measures,
            rows=rows,
            counts=dict(told["counts"]),
            absent=tuple(told["judged_absent"]),
            settings=told["settings"],
            collection=told["collection"],
            pipeline=told["pipeline"],
        )


def rows_of(measures: Sequence[Measure], questions: Sequence[Question], asked: Sequence[Asked]) -> tuple[Row, ...]:
    """The value of each question for each measure. What failed, found nothing or was not judged counts 0."""
    by_question = {one.question: one for one in asked}
    ranked = [one for one in measures if not one.of_spans]
    spanned = [one for one in measures if one.of_spans]
    said: dict[Measure, dict[str, float]] = ranked_values(
        ranked, {one.id: one.judged for one in questions}, {name: one.ranking() for name, one in by_question.items()}
    )
    passages = {name: [hit.passage for hit in one.hits] for name, one in by_question.items()}
    said |= span_values(spanned, {one.id: one.gold for one in questions if one.gold}, passages)
    return tuple(
        Row(
            id=one.id,
            mark=one.mark,
            hits=len(by_question[one.id].hits),
            error=by_question[one.id].error,
            values=tuple(said[measure].get(one.id, 0.0) for measure in measures),
        )
        for one in questions
    )


def results_of(
    name: str,
    measures: Sequence[Measure],
    collection: Collection,
    asked: Sequence[Asked],
    *,
    settings: Mapping[str, Any],
    pipeline: Mapping[str, Any],
    names: set[str] | None = None,
) -> Results:
    """The results of what was asked. ``names`` are all that the pipeline's own corpus has, None if it is not known."""
    absent = collection.absent(names)
    return Results(
        name=name,
        measures=tuple(measures),
        rows=rows_of(measures, collection.questions, asked),
        counts={**_counts(collection, asked, measures, settings), "judged_absent": len(absent)},
        absent=tuple(absent[:SHOWN]),
        settings=dict(settings),
        collection={
            "name": collection.name,
            **collection.marks,
            "documents": None if collection.sources is None else len(collection.sources),
            "absent_sha256": digest(absent) if absent else None,
        },
        pipeline=dict(pipeline),
    )


def _counts(
    collection: Collection, asked: Sequence[Asked], measures: Sequence[Measure], settings: Mapping[str, Any]
) -> dict[str, int]:
    questions = collection.questions
    depth = max((one.cutoff or 0 for one in measures if not one.of_spans), default=0)
    top_k = int(settings.get("top_k") or 0)
    gold = collection.gold
    return {
        "questions": len(questions),
        "without_judgements": sum(not (one.judged or one.gold) for one in questions),
        "without_relevant": sum(
            bool(one.judged) and max(one.judged.values()) <= 0 and not one.gold for one in questions
        ),
        "without_results": sum(one.error is None and not one.hits for one in asked),
        "errors": sum(one.error is not None for one in asked),
        "judged_without_question": len(collection.unasked),
        "of_other_parts": collection.elsewhere,
        "hits_without_name": sum(hit.name is None for one in asked for hit in one.hits),
        "hits_without_place": sum(hit.span is None for one in asked if one.question in gold for hit in one.hits),
        # A full list of hits that holds fewer names than the measures look at: more hits might have more.
        "cut_short": sum(len(one.hits) >= top_k > 0 and len(one.ranking()) < depth for one in asked),
    }
