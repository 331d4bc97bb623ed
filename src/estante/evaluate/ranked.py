"""The arithmetic of ranked measures: that of trec_eval, through ir_measures.

Rankings go in, not scores. trec_eval orders hits by score, with ties by name and scores rounded to 32 bits, so that a
pipeline's own order can be lost in it; here the first of a ranking is the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estante.evaluate.errors import missing
from estante.evaluate.measures import Measure

Qrels = Mapping[str, Mapping[str, int]]
"""Judgements: a grade for each judged name, by question."""
Rankings = Mapping[str, Sequence[str]]
"""What was found, by question: names, the best first, each once."""
Values = dict[str, float]
"""What a measure says of each question."""


def values(measures: Sequence[Measure], qrels: Qrels, rankings: Rankings) -> dict[Measure, Values]:
    """What each measure says of each question with a judgement, in the order of the judgements.

    A question without a ranking, or with an empty one, counts 0; one without a relevant name counts 0, too, as in
    trec_eval; a name without a judgement is not relevant. Rankings of questions without judgements are left out.
    Raises ``MissingLibrary`` where ir_measures is not installed.
    """
    library = _library()
    judged = {question: grades for question, grades in qrels.items() if grades}
    if not measures or not judged:
        return {measure: {} for measure in measures}
    told, run = {}, {}
    questions = {str(at): question for at, question in enumerate(judged)}
    for key, question in questions.items():
        names = list(dict.fromkeys((*judged[question], *rankings.get(question, ()))))
        # trec_eval's texts are those of C: what stands behind a NUL, or is no text, would be lost to it.
        plain = {name: str(at) for at, name in enumerate(names)}
        told[key] = {plain[name]: grade for name, grade in judged[question].items()}
        found = rankings.get(question, ())
        if found:
            # Whole numbers, because 32 bits hold them exactly.
            run[key] = {plain[name]: float(len(found) - place) for place, name in enumerate(found)}
    theirs = {_of_library(library, measure): measure for measure in measures}
    made: dict[Measure, Values] = {measure: dict.fromkeys(judged, 0.0) for measure in measures}
    for row in library.iter_calc(list(theirs), told, run):
        made[theirs[row.measure]][questions[row.query_id]] = float(row.value)
    return made


def _library() -> Any:
    try:
        import ir_measures
        import pytrec_eval  # noqa: F401 - without it the other has no arithmetic.
    except ImportError as error:
        raise missing("ir-measures", error) from error
    return ir_measures


def _of_library(library: Any, measure: Measure) -> Any:
    """The library's own measure. Not from its parser, which needs what Python 3.14 no longer has."""
    given = {"cutoff": measure.cutoff, "rel": measure.rel}
    kind = library.measures.registry[measure.name]
    return kind(**{name: value for name, value in given.items() if value is not None})
