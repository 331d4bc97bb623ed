"""Checks at the edges: pages, and questions for no hits, for more than there are, of no words and of very many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from estante.contract.checks.attempts import Attempt, attempt, listed, shown, told
from estante.contract.checks.facts import mode, question
from estante.contract.checks.probes import NO_SUCH_CHUNK, Probe
from estante.contract.checks.pulls import corpus, paged
from estante.contract.checks.retrieval import expect_search, read_hits, search, unknown_ids
from estante.contract.checks.rules import Outcome, Rule, failed, passed, skipped, warned
from estante.contract.errors import ConnectorError

_BEYOND: Final = 10
_WIDEST: Final = 10_000
"""What no back end is asked to exceed in one list."""

_LONG: Final = 20_000
"""Characters of a very long question."""


def _top_k(probe: Probe) -> Outcome:
    expect_search(probe)
    count = len(corpus(probe).chunks)
    problems: list[str] = []
    for top_k in (0, 1, min(count + _BEYOND, _WIDEST)):
        answer = probe.call("query", question(probe), top_k)
        if top_k == 0 and _refused(answer):
            continue
        problems += [f"query(top_k={top_k}) {problem}" for problem in _breadth_problems(probe, answer, top_k)]
    if problems:
        return failed(
            problems, "Give at most top_k hits for any top_k, all of them when there are fewer, and none for 0."
        )
    return passed(f"asked for 0, 1 and {min(count + _BEYOND, _WIDEST)} of {count} chunks")


def _breadth_problems(probe: Probe, answer: Attempt, top_k: int) -> Iterator[str]:
    found, problem = read_hits(answer)
    if problem:
        yield problem
        return
    if len(found) > top_k and mode(probe) != "complete_set":
        yield f"gave {len(found)} hits"
    # Where the ordinary question gives unknown ids, they say nothing about the breadth.
    unknown = unknown_ids(probe, found)
    if unknown and not unknown_ids(probe, search(probe).hits):
        yield f"gave {len(unknown)} ids that are not in the corpus, such as {shown(unknown[0])}"


def _odd_questions(probe: Probe) -> Outcome:
    expect_search(probe)
    asked = question(probe)
    questions = {
        "an empty question": "",
        "a blank question": " \n\t ",
        f"a question of {_LONG} characters": (f"{asked} " * (_LONG // (len(asked) + 1) + 1))[:_LONG],
        "a question of signs alone": "?!%&\"'()[]{}*~^:\\/ -- \u0000 \U0001f99c",
    }
    problems: list[str] = []
    for what, one in questions.items():
        answer = probe.call("query", one, probe.setting.top_k)
        if answer.error is not None and not _refused(answer):
            problems.append(f"{what}: query() raised {told(answer.error)}")
        elif answer.error is None and (problem := read_hits(answer)[1]):
            problems.append(f"{what}: query() {problem}")
    if problems:
        return failed(
            problems, "Answer every text with a list, or refuse it with a ConnectorError or a ValueError that says why."
        )
    return passed(f"{len(questions)} odd questions were answered or refused")


def _pages(probe: Probe) -> Outcome:
    if not probe.supports("list_chunks"):
        return skipped("paging is derived from pull_all_chunks(), which the contract does")
    read, problems = paged(probe), []
    if read.longest > read.limit:
        problems.append(f"a page of {read.limit} held {read.longest} chunks")
    for what, named in (
        ("for a cursor that was never given", {"cursor": NO_SUCH_CHUNK, "limit": 1}),
        ("for a limit of 0", {"cursor": None, "limit": 0}),
    ):
        answer = probe.call("list_chunks", **named)
        given = attempt(lambda answer=answer: len(listed(answer.value.items))).value
        if answer.error is not None and not _refused(answer):
            problems.append(f"list_chunks() raised {told(answer.error)} {what}")
        elif answer.error is None and given != 0:
            problems.append(f"list_chunks() gave chunks {what}")
    if problems:
        return warned(
            problems, "Give at most limit chunks, and refuse what cannot be a page with a ConnectorError or ValueError."
        )
    return passed(f"no page of {read.limit} held more; an unknown cursor and a limit of 0 give nothing")


def _refused(answer: Attempt) -> bool:
    """Whether the question was refused in a way that a host can tell from a fault."""
    return isinstance(answer.error, ConnectorError | ValueError)


RULES: Final = (
    Rule(
        "page-limits",
        "Pages keep to their limit and refuse what is no page",
        "No page holds more than was asked for; an unknown cursor or a limit of 0 is refused or gives nothing.",
        "Give at most limit chunks; refuse with a ConnectorError or a ValueError.",
        _pages,
    ),
    Rule(
        "top-k-edges",
        "query() keeps to any breadth: 0, 1, beyond the corpus",
        "No more than top_k hits come for any top_k where that bounds the list, and more than there are is no fault. "
        "0 may also be refused.",
        "Give at most top_k hits, all of them when there are fewer, and none for 0.",
        _top_k,
    ),
    Rule(
        "odd-questions",
        "query() answers or refuses empty, very long and odd text",
        "No text makes a search fail in a way that a host cannot tell from a fault.",
        "Answer with a list, or refuse with a ConnectorError or a ValueError.",
        _odd_questions,
    ),
)
