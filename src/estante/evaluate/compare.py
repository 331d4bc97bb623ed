"""Two runs or more, question by question: differences, whether they are chance, and whether something fell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from estante.evaluate.errors import Incomparable
from estante.evaluate.measures import Measure
from estante.evaluate.results import Results
from estante.evaluate.statistics import Paired, holm, paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How the runs are compared: draws and their seed, the level of significance, and whether all pairs are."""

    rounds: int = 10_000
    seed: int = 0
    alpha: float = 0.05
    all_pairs: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise Incomparable(f"a level of {self.alpha} is none", hint="Give one between 0 and 1, such as 0.05.")
        if self.rounds < 100:
            raise Incomparable(f"{self.rounds} draws are too few", hint="Give 100 or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A measure of two runs; ``p`` is that of the randomisation by Holm's rule over all that was compared."""

    measure: Measure
    first: str
    second: str
    paired: Paired
    p: float
    p_bootstrap: float
    significant: bool

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON."""
        told = asdict(self.paired)
        means = {"first_mean": told.pop("first"), "second_mean": told.pop("second")}
        named = {"measure": str(self.measure), "first": self.first, "second": self.second}
        return {
            **named,
            **means,
            **told,
            "p_holm": self.p,
            "p_bootstrap_holm": self.p_bootstrap,
            "significant": self.significant,
        }


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to be known of what was compared: the key of its words, and what fills them."""

    key: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was compared, with what must be known of it."""

    measures: tuple[Measure, ...]
    names: tuple[str, ...]
    questions: tuple[str, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[Remark, ...]
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A question and what two runs have of it."""

    question: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """The second less the first."""
        return self.second - self.first


def compare(runs: Sequence[Results], measures: Sequence[Measure] = (), trial: Trial | None = None) -> Comparison:
    """Compares each run with the first, or all with one another.

    Only questions that every run was asked, with the same judgements, are compared; how many were left out is told.
    Raises ``Incomparable`` for fewer than two runs, for no such question, and for a measure that one of them lacks.
    """
    trial = trial or Trial()
    names = _names(runs)
    chosen = tuple(measures) or _common_measures(runs)
    questions = _common_questions(runs)
    pairs = list(combinations(range(len(runs)), 2)) if trial.all_pairs else [(0, at) for at in range(1, len(runs))]
    found: list[tuple[Measure, int, int, Paired]] = []
    for measure in chosen:
        columns = [[run.values(measure)[name] for name in questions] for run in runs]
        for one, other in pairs:
            result = paired(
                columns[one], columns[other], rounds=trial.rounds, seed=trial.seed, confidence=1 - trial.alpha
            )
            found.append((measure, one, other, result))
    adjusted = holm([result.p_randomisation for *_, result in found])
    adjusted_bootstrap = holm([result.p_bootstrap for *_, result in found])
    differences = tuple(
        Difference(
            measure=measure,
            first=names[one],
            second=names[other],
            paired=result,
            p=p,
            p_bootstrap=p_other,
            significant=p < trial.alpha,
        )
        for (measure, one, other, result), p, p_other in zip(found, adjusted, adjusted_bootstrap, strict=True)
    )
    return Comparison(
        measures=chosen,
        names=names,
        questions=tuple(questions),
        differences=differences,
        warnings=tuple(_warnings(runs, names, len(questions))),
        trial=trial,
    )


def furthest(first: Results, second: Results, measure: Measure, count: int) -> list[Apart]:
    """The questions that the two differ most in, the furthest first; equal ones by their ids."""
    mine, theirs = first.values(measure), second.values(measure)
    apart = [
        Apart(question=name, first=mine[name], second=theirs[name])
        for name in _common_questions((first, second))
        if mine[name] != theirs[name]
    ]
    return sorted(apart, key=lambda one: (-abs(one.difference), one.question))[:count]


def fallen(comparison: Comparison, max_drop: float) -> list[Difference]:
    """What fell against the first run, significantly and by more than ``max_drop``."""
    return [one for one in comparison.differences if one.significant and one.paired.difference < -max_drop]


# --- what can be compared -----------------------------------------------------------------------------------------


def _names(runs: Sequence[Results]) -> tuple[str, ...]:
    """A name for each run; those of one name are numbered."""
    if len(runs) < 2:
        raise Incomparable(f"{len(runs)} run cannot be compared", hint="Name two runs, or a --baseline.")
    found: list[str] = []
    for run in runs:
        name, number = run.name, 1
        while name in found:
            number += 1
            name = f"{run.name} ({number})"
        found.append(name)
    return tuple(found)


def _common_measures(runs: Sequence[Results]) -> tuple[Measure, ...]:
    found = tuple(one for one in runs[0].measures if all(one in run.measures for run in runs))
    if not found:
        raise Incomparable("the runs have no measure in common", hint="Measure them again with the same -m for each.")
    return found


def _common_questions(runs: Sequence[Results]) -> list[str]:
    """The questions of every run that were judged alike, in the order of the first."""
    marks = [{row.id: row.mark for row in run.rows} for run in runs]
    found = [name for name, mark in marks[0].items() if all(other.get(name) == mark for other in marks[1:])]
    if not found:
        raise Incomparable(
            "no question with the same judgements is in all the runs", hint="Measure them with the same collection."
        )
    return found


def _warnings(runs: Sequence[Results], names: Sequence[str], compared: int) -> Iterator[Remark]:
    """What may make a difference other than the pipeline: another corpus, other questions, errors."""
    for name, run in zip(names, runs, strict=True):
        if other := len(run.rows) - compared:
            yield Remark("left_out", {"run": name, "count": other, "all": len(run.rows)})
        if run.errors:
            yield Remark("run_errors", {"run": name, "count": run.errors})
        if absent := run.counts["judged_absent"]:
            yield Remark("run_absent", {"run": name, "count": absent})
    for name, run in zip(names[1:], runs[1:], strict=True):
        yield from _otherwise(names[0], runs[0], name, run)


def _otherwise(first: str, mine: Results, second: str, theirs: Results) -> Iterator[Remark]:
    """What of the second run is another than of the first."""
    about = {"run": second, "first": first}
    if _other(mine.pipeline.get("fingerprint"), theirs.pipeline.get("fingerprint")):
        yield Remark("other_pipeline_corpus", about)
    if _other(mine.collection.get("corpus_sha256"), theirs.collection.get("corpus_sha256")):
        yield Remark("other_corpus", about)
    same = {row.id for row in mine.rows} == {row.id for row in theirs.rows}
    if same and _other(mine.collection.get("questions_sha256"), theirs.collection.get("questions_sha256")):
        yield Remark("other_wording", about)
    for name in ("top_k", "by"):
        one, other = mine.settings.get(name), theirs.settings.get(name)
        if one != other:
            yield Remark("other_setting", {**about, "name": name, "value": other, "other": one})


def _other(mine: object, theirs: object) -> bool:
    """Whether both are known and not the same."""
    return mine is not None and theirs is not None and mine != theirs
