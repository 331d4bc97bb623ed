"""Checks of a search: its hits, their ids, what they stand for, their order and their scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from estante.contract.checks.attempts import Attempt, Missing, attempt, kind, shown, text, told
from estante.contract.checks.facts import distance, mode, question
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import corpus
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.checks.views import HitView, hit_view
from estante.contract.derived import (
    ITEM_COVERED_IDS_KEY,
    ITEM_INDEX_KEY,
    ITEM_KEYS,
    ITEM_KIND_CHUNK,
    ITEM_KIND_GAP,
    ITEM_KIND_KEY,
    ITEM_KIND_SUMMARY,
    derived_result_problems,
    normalize_item_kind,
)
from estante.contract.errors import ConnectorError
from estante.contract.models import RetrievedChunk

_HITS: Final = "query() retrieves ranked chunks"
_LISTED: Final = 8
_SAME: Final = 1e-4
"""How far apart two scores of one hit may be: more than graphics cards add up otherwise."""
_FEW: Final = 3
"""Hits below which an order cannot be told from chance."""


BROKEN: Final = f'query() gave no list of hits for an ordinary question; see "{_HITS}"'
"""Why a check is skipped that would put other questions."""


@dataclass(frozen=True, slots=True)
class Search:
    """What the question found. ``compared`` says whether the hits' ids are to be compared with the corpus."""

    outcome: Outcome
    hits: list[HitView] = field(default_factory=list)
    compared: bool = False
    broken: bool = False
    """Whether there was no list of hits at all, so that nothing else can be told from another question."""
    given: Any = ()
    """The very list that was handed over."""


def search(probe: Probe) -> Search:
    """The question, put once."""
    return probe.once("the hits", lambda: _search(probe))


def expect_search(probe: Probe) -> None:
    """Raises ``Missing`` where an ordinary question is not answered: then no other one has to be put."""
    if search(probe).broken:
        raise Missing(BROKEN)


def hits(probe: Probe) -> list[HitView]:
    """The hits of the question. Raises ``Missing`` when there are none to look at."""
    found = search(probe).hits
    if not found:
        raise Missing("the question found no hits to look at")
    return found


def credited(hit: HitView) -> list[str | None]:
    """The corpus ids that a hit counts for, by what they print; None where it has no id."""
    covered = hit.metadata.get(ITEM_COVERED_IDS_KEY)
    if isinstance(covered, list | tuple):
        return [text(one) for one in covered]
    return [hit.chunk_id]


def unknown_ids(probe: Probe, found: list[HitView]) -> list[str | None]:
    """The credited ids that the corpus does not have."""
    known = corpus(probe).by_id
    return [one for hit in found for one in credited(hit) if one is None or one not in known]


def plain_hits(probe: Probe) -> list[HitView]:
    """The hits that stand for one chunk of the corpus, which are those that can be compared with it."""
    known = corpus(probe).by_id
    return [
        hit
        for hit in hits(probe)
        if hit.chunk_id in known and ITEM_COVERED_IDS_KEY not in hit.metadata and _kind(hit) == ITEM_KIND_CHUNK
    ]


def read_hits(answer: Attempt) -> tuple[list[HitView], str]:
    """The hits of an answer, or else what is wrong with it as a list of hits."""
    if answer.error is not None:
        return [], f"raised {told(answer.error)}"
    if not isinstance(answer.value, list):
        return [], f"gave {kind(answer.value)}, not a list"
    strange = [one for one in answer.value if not isinstance(one, RetrievedChunk)]
    if strange:
        return [], f"gave a list that holds {kind(strange[0])}, not only RetrievedChunks"
    return [hit_view(one) for one in answer.value], ""


def _probe(probe: Probe) -> Outcome | None:
    if probe.setting.sample_query:
        return None
    return warned(
        f"derived from corpus text: {shown(question(probe))}",
        'Give a question that the corpus can answer (--query "..."): words taken from it are the easiest.',
    )


def _search(probe: Probe) -> Search:
    asked, top_k = question(probe), probe.setting.top_k
    answer = probe.call("query", asked, top_k)
    if isinstance(answer.error, NotImplementedError):
        fix = "Write query(): it is what a pipeline is for."
        return Search(failed("query() is not implemented", fix), broken=True)
    found, problem = read_hits(answer)
    if problem:
        return Search(failed(f"query() {problem}", _raised_fix(answer)), broken=True)
    detail = f"{counted(len(found), 'hit')} for probe {shown(asked)}"
    if not found:
        return Search(
            warned(
                f"{detail}: legal, but whether ids match was not seen",
                "Give a question that the corpus can answer.",
            )
        )
    return replace(_bounded(probe, found, detail), given=answer.value)


def _raised_fix(answer: Attempt) -> str:
    if isinstance(answer.error, ConnectorError):
        return "Let the back end answer this question: see its address, its key and what it says. Then run this again."
    if answer.error is not None:
        return "Mend what raises; where the back end fails, raise ConnectorOperationalError from its error."
    return "Give a list of RetrievedChunk, best first; raise ConnectorOperationalError when the back end fails."


def _bounded(probe: Probe, found: list[HitView], detail: str) -> Search:
    """The search whose hits are hits, held to ``top_k`` and to their ranks."""
    details = [detail]
    if len(found) > probe.setting.top_k:
        if mode(probe) != "complete_set":
            fix = "Give at most top_k hits, or declare retrieval_mode 'complete_set' if the system bounds the list."
            return Search(failed(f"{detail}, more than top_k={probe.setting.top_k}", fix), found)
        details.append(f"more than top_k={probe.setting.top_k}, which is legal in mode complete_set")
    ranks = [hit.rank for hit in found]
    if ranks != list(range(len(found))):
        details.append(f"ranks are {shown(ranks)}, not 0, 1, 2, ... in order")
        return Search(warned(details, "Let rank be the place in the list, from 0."), found, compared=True)
    return Search(passed(*details), found, compared=True)


def _query(probe: Probe) -> Outcome:
    return search(probe).outcome


def _ids(probe: Probe) -> Outcome | None:
    found = search(probe)
    if not found.compared:
        return None
    unknown = unknown_ids(probe, found.hits)
    if not unknown:
        return passed("every scored id exists in the pulled corpus")
    example = next(iter(corpus(probe).by_id))
    return failed(
        f"{len(unknown)} scored ids are not in the corpus: query() gives {shown(unknown[0])}, "
        f"pull_all_chunks() gives ids like {shown(example)}",
        "Use one id for a chunk in both. What is no chunk of the corpus declares what it stands for, with "
        "item_covered_ids in its metadata.",
    )


def _derived(probe: Probe) -> Outcome:
    found = [(at, hit) for at, hit in enumerate(search(probe).hits) if any(key in hit.metadata for key in ITEM_KEYS)]
    if not found:
        return skipped("no hit declares an item_* key: each stands for its own chunk")
    failures = [
        f"hit {at}: {problem}" for at, hit in found for problem in attempt(derived_result_problems, hit).value or []
    ]
    failures += _disagreements(found)
    if failures:
        fix = "Declare hits with derived_result_metadata(), which refuses what is malformed."
        return failed(failures[:_LISTED], fix)
    warnings = [f"hit {at}: {one}" for at, hit in found for one in _doubts(probe, hit)]
    if warnings:
        fix = "Say what each item is and what it covers; leave its own id None or in a name space of its own."
        return warned(warnings[:_LISTED], fix)
    return passed(f"{counted(len(found), 'hit')} declared")


def _disagreements(found: list[tuple[int, HitView]]) -> Iterator[str]:
    """Hits of one item that do not say the same of it."""
    said: dict[int, tuple[int, tuple[str, str]]] = {}
    for at, hit in found:
        index = hit.metadata.get(ITEM_INDEX_KEY)
        if not isinstance(index, int) or isinstance(index, bool):
            continue
        own = (repr(hit.metadata.get(ITEM_COVERED_IDS_KEY)), repr(hit.metadata.get(ITEM_KIND_KEY)))
        first, told_first = said.setdefault(index, (at, own))
        if told_first != own:
            yield f"hits {first} and {at} share item_index {index}, but not what they cover or their kind"


def _doubts(probe: Probe, hit: HitView) -> Iterator[str]:
    covered = hit.metadata.get(ITEM_COVERED_IDS_KEY)
    item = _kind(hit)
    if isinstance(covered, list | tuple) and not covered and item != ITEM_KIND_GAP:
        yield f"covers nothing and is a {item}; if it says that the corpus does not answer, declare item_kind='gap'"
    if item != ITEM_KIND_CHUNK and hit.chunk_id is not None and hit.chunk_id in corpus(probe).by_id:
        yield f"is a {item} under {shown(hit.chunk_id)}, the id of a chunk of the corpus"
    if ITEM_KIND_KEY not in hit.metadata:
        yield f"declares no item_kind, and is read as {item!r}"


def _kind(hit: HitView) -> str:
    """The kind that a hit declares, or the one that holds without a declaration."""
    default = ITEM_KIND_CHUNK if hit.metadata.get(ITEM_COVERED_IDS_KEY) is None else ITEM_KIND_SUMMARY
    declared = attempt(normalize_item_kind, hit.metadata.get(ITEM_KIND_KEY, default)).value
    return declared if isinstance(declared, str) else default


def _determinism(probe: Probe) -> Outcome:
    found = search(probe).hits
    if not found:
        return skipped("there are no hits to compare")
    fix = "Break ties by a fixed rule, such as the id, so that a run can be repeated."
    second, problem = read_hits(probe.call("query", question(probe), probe.setting.top_k))
    if problem:
        return warned(f"the second query() {problem}", fix)
    if [hit.chunk_id for hit in found] != [hit.chunk_id for hit in second]:
        return warned("the same question found other hits, or in another order", fix)
    if mode(probe) == "scored" and any(
        _moved(one.score, other.score) for one, other in zip(found, second, strict=True)
    ):
        return warned("the same question found the same hits with other scores", fix)
    return passed()


def _moved(one: float | None, other: float | None) -> bool:
    """Whether two scores differ by more than the order of additions does."""
    if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
        return False
    return not math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _cardinality(probe: Probe) -> Outcome | None:
    if mode(probe) != "complete_set":
        return None
    top_k = probe.setting.top_k
    breadths = (top_k, 2 * top_k or 10)
    counts: list[int] = []
    for breadth in breadths:
        answer = probe.call("query", question(probe), breadth)
        counted: Any = attempt(len, answer.value).value
        if answer.error is not None or not isinstance(counted, int):
            return skipped(f"query(top_k={breadth}) gave no list to count")
        counts.append(counted)
    told_counts = ", ".join(f"top_k={breadth}: {count}" for breadth, count in zip(breadths, counts, strict=True))
    if counts[0] == counts[1]:
        return passed(f"{told_counts}; breadth changes nothing, the system alone bounds the list")
    return passed(f"{told_counts}; the system takes top_k as a hint of breadth")


def _scores(probe: Probe) -> Outcome:
    declared, found = mode(probe), search(probe).hits
    if declared != "scored":
        return skipped(f"mode {declared}: the order counts, scores are evidence only")
    if not found:
        return skipped("there are no hits with scores")
    strange = [hit.strange["score"] for hit in found if "score" in hit.strange and hit.score is None]
    if strange:
        return failed(f"{len(strange)} hits: score {strange[0]}", "Give every hit a float as its score.")
    missing = sum(hit.score is None for hit in found)
    if missing:
        return failed(
            f"{missing} of {len(found)} hits have score None",
            "Give every hit a score, or declare retrieval_mode 'ordered' or 'complete_set', where none is needed.",
        )
    return _direction([hit.score for hit in found if hit.score is not None], distance(probe))


def _direction(scores: list[float], named: str) -> Outcome:
    details = [
        f"scores: {shown([round(one, 4) for one in scores], 120)}",
        f"the store's metric is named {named!r}; the direction is the same for every metric"
        if named
        else "no metric of the store is named, and none needs to be",
    ]
    ascending = len(scores) > 1 and all(one < other for one, other in pairwise(scores))
    if ascending:
        return failed(
            ["scores grow down the list, as distances do", *details],
            "Convert distances with cosine_distance_to_similarity() or l2_distance_to_score(), and keep the store's "
            "number in raw_score.",
        )
    if len(scores) < _FEW:
        return skipped(f"{len(scores)} hits are too few to judge the direction", *details)
    if all(one >= other for one, other in pairwise(scores)):
        return passed(*details, "a store's own number, where one was converted, belongs into raw_score")
    return warned(
        ["scores do not fall down the list", *details],
        "Legal where a reranker orders; then its own number should be the score. Otherwise sort by score.",
    )


RULES: Final = (
    Rule(
        "probe-query",
        "Probe query",
        "The question was given by someone who knows the corpus, not taken from its text. No row when it was.",
        "Give a question that the corpus can answer.",
        _probe,
    ),
    Rule(
        "query-hits",
        _HITS,
        "A question gives a list of hits, no more than top_k where that bounds it, ranked from 0.",
        "Give a list of RetrievedChunk, best first, rank being the place.",
        _query,
    ),
    Rule(
        "query-ids",
        "query() ids match pull_all_chunks() ids (THE classic bug)",
        "Every id that a hit counts for is the id of a chunk of the corpus. No row when there are no hits.",
        "Use one id for a chunk in search and in every way to read the corpus.",
        _ids,
    ),
    Rule(
        "derived-results",
        "Derived-result declarations are well-formed",
        "Hits that stand for chunks without being one declare it as the contract says.",
        "Make the declaration with derived_result_metadata().",
        _derived,
    ),
    Rule(
        "query-determinism",
        "query() is deterministic for a repeated query",
        "The same question finds the same hits in the same order.",
        "Break ties by a fixed rule.",
        _determinism,
    ),
    Rule(
        "complete-set-cardinality",
        "complete_set: returned cardinality vs two top_k values (informational)",
        "Tells whether a system that bounds its own lists minds top_k. It never fails; in other modes it has no row.",
        "Nothing is to be mended.",
        _cardinality,
    ),
    Rule(
        "score-direction",
        "Scores are canonical: higher = better",
        "Scores do not grow down the list, as distances would.",
        "Convert distances by the contract's functions and keep the store's number in raw_score.",
        _scores,
    ),
)
