"""Checks of what is said against what is so: hits against the corpus, one way to read against another."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from estante.contract.checks.attempts import Missing, attempt, shown, told
from estante.contract.checks.facts import info
from estante.contract.checks.probes import Probe
from estante.contract.checks.pulls import again, corpus, paged
from estante.contract.checks.reading import by_id
from estante.contract.checks.retrieval import expect_search, hits, plain_hits, read_hits, search
from estante.contract.checks.rules import Outcome, Rule, counted, failed, passed, skipped, warned
from estante.contract.checks.views import ChunkView, HitView, chunk_view
from estante.contract.derived import ITEM_INDEX_KEY
from estante.contract.models import ChunkRecord

_LISTED: Final = 5
_CHUNKS: Final = 5
"""Chunks whose own words are asked for."""
_WORDS: Final = 8
_LONGEST: Final = 2_000
_OWN_FIX: Final = (
    "See that the search asks the index that the corpus stands in, under its name and with its filters: a search that "
    "finds none of its own texts measures nothing."
)
EXACT_SPANS_KEY: Final = "exact_spans"
"""The key by which ``info()`` promises that a text is its document's between ``char_start`` and ``char_end``."""


def _hit_fields(probe: Probe) -> Outcome:
    problems = [
        f"hit {at}: {name} {what}".replace("  ", " ")
        for at, hit in enumerate(hits(probe))
        for name, what in hit.strange.items()
    ]
    return _row(problems, "Fill the fields with values of the types that RetrievedChunk names.")


def _own_words(probe: Probe) -> Outcome:
    expect_search(probe)
    if search(probe).hits:
        return passed("the question found hits")
    asked = [chunk.text for chunk in corpus(probe).chunks if chunk.text.strip()]
    asked = asked[:: max(1, len(asked) // _CHUNKS)][:_CHUNKS]
    for at, words in enumerate(asked, start=1):
        # First as somebody would ask, then all of it, for a search that needs much in common.
        for question in dict.fromkeys((" ".join(words.split()[:_WORDS]), words[:_LONGEST])):
            found, problem = read_hits(probe.call("query", question, probe.setting.top_k))
            if problem:
                return failed(f"query() of words of a chunk {problem}", _OWN_FIX)
            if found:
                return passed(f"words of {counted(at, 'chunk')} were asked for; the last found {len(found)} hits")
    detail = f"words of {counted(len(asked), 'chunk')} were asked for, and nothing was found for any"
    return failed(detail, _OWN_FIX) if len(asked) > 1 else warned(detail, _OWN_FIX)


def _hit_texts(probe: Probe) -> Outcome:
    known = corpus(probe).by_id
    wrong = [
        f"the text of {shown(hit.chunk_id)} {_difference(hit.text, known[hit.chunk_id].text)}"
        for hit in plain_hits(probe)
        if hit.chunk_id is not None and hit.text != known[hit.chunk_id].text
    ]
    return _row(
        wrong,
        "Serve the chunk's own text under its id. A longer or another text stands under no id of the corpus and "
        "declares what it covers (item_covered_ids).",
    )


def _hit_documents(probe: Probe) -> Outcome:
    known = corpus(probe).by_id
    wrong = [
        f"{shown(hit.chunk_id)} is said to be of {shown(hit.doc_id)}, and is of {shown(known[hit.chunk_id].doc_id)}"
        for hit in plain_hits(probe)
        if hit.chunk_id is not None and hit.doc_id is not None and hit.doc_id != known[hit.chunk_id].doc_id
    ]
    return _row(wrong, "Give the document's id as the corpus has it, or None.")


def _hit_duplicates(probe: Probe) -> Outcome:
    listed = Counter(hit.chunk_id for hit in hits(probe) if hit.chunk_id is not None and _alone(hit))
    twice = [f"{shown(one)} is listed {count} times" for one, count in listed.items() if count > 1]
    return _row(twice, "List a chunk once: what is found by several ways has one place, its best.")


def _alone(hit: HitView) -> bool:
    """Whether the hit is an item by itself; rows that share an item are one."""
    return ITEM_INDEX_KEY not in hit.metadata


def _finite_scores(probe: Probe) -> Outcome:
    wrong = [
        f"hit {at}: {name} is {value}"
        for at, hit in enumerate(hits(probe))
        for name, value in (("score", hit.score), ("raw_score", hit.raw_score))
        if value is not None and not math.isfinite(value)
    ]
    return _row(wrong, "Give finite numbers: NaN and infinity compare with nothing and are no JSON.")


def _texts_agree(probe: Probe) -> Outcome:
    compared = dict(_other_reads(probe))
    if not compared:
        return skipped("every other way to read is derived from the bulk read, and it was read once")
    known = corpus(probe).by_id
    wrong = [
        f"{way}: {name} of {shown(view.chunk_id)} {_difference(getattr(view, name), getattr(first, name))}"
        for way, views in compared.items()
        for view in views
        if (first := known.get(view.chunk_id)) is not None
        for name in ("text", "doc_id", "ordinal", "char_start", "char_end")
        if getattr(view, name) != getattr(first, name)
        # A way to read that gives less is no lie; only one that gives otherwise is.
        and not (name.startswith("char") and None in (getattr(view, name), getattr(first, name)))
    ]
    if wrong:
        return _row(wrong, "Serve every way to read from the same rows by the same mapping.")
    return passed(*(f"{way}: {len(views)} chunks are those of the bulk read" for way, views in compared.items()))


def _other_reads(probe: Probe) -> Iterator[tuple[str, list[ChunkView]]]:
    """The chunks of each other way to read that its author wrote."""
    if probe.supports("list_chunks"):
        yield "list_chunks()", _views(paged(probe).records)
    if probe.supports("get_chunks"):
        yield "get_chunks()", _views(by_id(probe).found.values())
    if not probe.supports("list_chunks") and not probe.setting.skip_stability:
        yield "pull_all_chunks() again", _views(attempt(again, probe).value or ())


def _views(records: Iterable[Any]) -> list[ChunkView]:
    return [chunk_view(record) for record in records if isinstance(record, ChunkRecord)]


def _difference(one: object, other: object) -> str:
    """How two values differ, without telling a text."""
    if not isinstance(one, str) or not isinstance(other, str):
        return f"is {shown(one)}, and {shown(other)} in the corpus"
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"differs from the corpus at character {at} (lengths {len(one)} and {len(other)})"


def _spans(probe: Probe) -> Outcome:
    chunks = corpus(probe).chunks
    fix = "Give both or neither, as code points of the document's text, the start before the end."
    exact = attempt(lambda: info(probe).get(EXACT_SPANS_KEY)).value is True
    problems = [f"{shown(chunk.chunk_id)}: {problem}" for chunk in chunks for problem in _span_problems(chunk, exact)]
    if exact and not problems:
        problems = list(_overlap_problems(chunks))
    if problems:
        return _row(problems, fix)
    spanned = [chunk for chunk in chunks if chunk.char_start is not None]
    if not spanned:
        return skipped("no chunk has a span, which is legal")
    back = _backward(spanned)
    if back:
        return warned(
            [f"in {len(back)} documents spans do not follow doc_chunk_index, such as {shown(back[0])}"],
            "Number the chunks in the order in which they stand in the document.",
        )
    return passed(f"{len(spanned)} of {len(chunks)} chunks have a span")


def _span_problems(chunk: ChunkView, exact: bool) -> Iterator[str]:
    for name in ("char_start", "char_end"):
        if name in chunk.strange:
            yield f"{name} {chunk.strange[name]}"
    start, end = chunk.char_start, chunk.char_end
    if start is None and end is None:
        return
    if start is None or end is None:
        if not chunk.strange:
            yield f"char_{'start' if start is None else 'end'} is missing beside the other"
        return
    if not 0 <= start < end:
        yield f"the span {start} to {end} is none"
    elif exact and end - start != len(chunk.text):
        yield f"the span has {end - start} characters and the text {len(chunk.text)}, though info() says they are exact"


def _overlap_problems(chunks: list[ChunkView]) -> Iterator[str]:
    """Neighbours that have a part of their document in common, and not the same text there."""
    documents = defaultdict[str, list[ChunkView]](list)
    for chunk in chunks:
        if chunk.char_start is not None:
            documents[chunk.doc_id].append(chunk)
    for found in documents.values():
        for one, other in pairwise(sorted(found, key=lambda chunk: chunk.char_start or 0)):
            start = (other.char_start or 0) - (one.char_start or 0)
            common = one.text[start:]
            width = min(len(common), len(other.text))
            if common[:width] != other.text[:width]:
                yield f"{shown(one.chunk_id)} and {shown(other.chunk_id)} differ where their spans are the same"


def _backward(chunks: list[ChunkView]) -> list[str]:
    """The documents whose spans do not start further on with every chunk."""
    documents = defaultdict[str, list[tuple[int, int]]](list)
    for chunk in chunks:
        if chunk.ordinal is not None and chunk.char_start is not None:
            documents[chunk.doc_id].append((chunk.ordinal, chunk.char_start))
    return [
        doc_id
        for doc_id, found in documents.items()
        if any(one[1] > other[1] for one, other in pairwise(sorted(found)))
    ]


def _metadata(probe: Probe) -> Outcome:
    holders: list[tuple[str, ChunkView | HitView]] = [
        (f"chunk {shown(chunk.chunk_id)}", chunk) for chunk in corpus(probe).chunks
    ]
    holders += [(f"hit {at}", hit) for at, hit in enumerate(_hits_or_none(probe))]
    problems = [f"{who}: {problem}" for who, holder in holders if (problem := _not_json(holder.metadata))]
    return _row(problems, "Keep to strict JSON in metadata: texts, finite numbers, lists, and objects with text keys.")


def _hits_or_none(probe: Probe) -> list[HitView]:
    try:
        return hits(probe)
    except Missing:
        return []


def _not_json(metadata: dict[Any, Any]) -> str:
    """Why the metadata cannot be written as JSON; empty when it can."""
    if not metadata:
        return ""
    if any(not isinstance(key, str) for key in metadata):
        return "a key of its metadata is no text"
    done = attempt(lambda: json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode())
    return "" if done.error is None else f"its metadata is no JSON: {told(done.error)}"


def _row(problems: list[str], fix: str) -> Outcome:
    """A failure that lists the first problems, or a pass."""
    if not problems:
        return passed()
    more = [f"and {len(problems) - _LISTED} more"] if len(problems) > _LISTED else []
    return failed([*problems[:_LISTED], *more], fix)


RULES: Final = (
    Rule(
        "own-words",
        "Words of the corpus find something",
        "Where the question found nothing, words taken from several chunks find something: the search asks the index "
        "that the corpus stands in.",
        "Ask the index that the corpus stands in, under its name and with its filters.",
        _own_words,
    ),
    Rule(
        "hit-fields",
        "Fields of hits have their types",
        "Every field of a hit has a value of the type that it is declared with.",
        "Fill the fields with values of their types.",
        _hit_fields,
    ),
    Rule(
        "hit-texts",
        "Hit text equals the corpus text",
        "What is served under the id of a chunk is that chunk's text, to the character.",
        "Serve the chunk's own text; declare what is longer or other as an item of its own.",
        _hit_texts,
    ),
    Rule(
        "hit-documents",
        "Hit doc_id is the document of its chunk",
        "A hit names the document that the corpus names for the chunk, or none.",
        "Give the document's id as the corpus has it, or None.",
        _hit_documents,
    ),
    Rule(
        "hit-duplicates",
        "No chunk is listed twice in one result",
        "A chunk has one place in a list of hits.",
        "Merge what is found by several ways.",
        _hit_duplicates,
    ),
    Rule(
        "finite-scores",
        "Numbers of hits are finite",
        "No score is NaN or infinite.",
        "Give finite numbers, or None in a mode where scores are evidence only.",
        _finite_scores,
    ),
    Rule(
        "read-agreement",
        "Every way to read gives the same text",
        "Paged reads and reads by id give the text, the document and the ordinal that the bulk read gives.",
        "Serve every way to read from the same rows.",
        _texts_agree,
    ),
    Rule(
        "char-spans",
        "Character spans are whole and in order",
        "char_start and char_end are given both or not at all, the start before the end, in the order of the chunks; "
        "as long as the text where info() has exact_spans true.",
        "Give both or neither; number chunks in the order of the document.",
        _spans,
    ),
    Rule(
        "metadata-json",
        "Metadata is strict JSON",
        "The metadata of every chunk and hit can be stored and sent.",
        "Keep to texts, finite numbers, lists, and objects with text keys.",
        _metadata,
    ),
)
