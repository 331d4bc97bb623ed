"""Hits that stand for chunks without being one: summaries of several, and the finding that nothing answers.

A hit declares what it is in its metadata, under the keys below. A hit without any of them is a plain chunk. Not to
declare what is covered credits the hit's own id; to declare an empty list credits nothing. Keys of a vendor's own are
named ``<vendor>_*``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estante.contract.errors import ContractValueError

ITEM_INDEX_KEY = "item_index"
ITEM_COVERED_IDS_KEY = "item_covered_ids"
ITEM_KIND_KEY = "item_kind"
ITEM_LABEL_KEY = "item_label"
ITEM_CURATED_KEY = "item_curated"
ITEM_KEYS = (ITEM_INDEX_KEY, ITEM_COVERED_IDS_KEY, ITEM_KIND_KEY, ITEM_LABEL_KEY, ITEM_CURATED_KEY)

ITEM_KIND_CHUNK = "chunk"
ITEM_KIND_SUMMARY = "summary"
ITEM_KIND_GAP = "gap"
ITEM_KINDS = (ITEM_KIND_CHUNK, ITEM_KIND_SUMMARY, ITEM_KIND_GAP)
ITEM_KIND_SYNONYMS = {"group": ITEM_KIND_SUMMARY}


@dataclass(frozen=True, slots=True)
class DerivedResult:
    """What a hit stands for.

    ``covered_ids`` is None when nothing was declared, and empty when it was declared that nothing is covered. Hits of
    one query that share an ``index`` are one item in one place. ``curated`` holds notes of a curator, which are no part
    of the text.
    """

    chunk_id: str | None
    text: str
    kind: str
    covered_ids: tuple[str, ...] | None
    curated: str | None = None
    index: int | None = None
    label: str | None = None
    kind_declared: bool = False

    @property
    def credited_ids(self) -> tuple[str, ...]:
        """The corpus ids that the hit counts for: those covered, or else its own."""
        if self.covered_ids is not None:
            return self.covered_ids
        return () if self.chunk_id is None else (self.chunk_id,)

    @property
    def is_gap(self) -> bool:
        """Whether the hit says that the corpus does not answer."""
        return self.kind == ITEM_KIND_GAP


def normalize_item_kind(value: object) -> str:
    """The kind by its own name or a synonym of it. Raises ``ContractValueError`` for anything else."""
    if isinstance(value, str):
        kind = ITEM_KIND_SYNONYMS.get(value, value)
        if kind in ITEM_KINDS:
            return kind
    raise ContractValueError(
        f"{ITEM_KIND_KEY} {value!r} is not one of {ITEM_KINDS}, nor the synonym {', '.join(ITEM_KIND_SYNONYMS)!r}"
    )


def derived_result_problems(hit: Any) -> list[str]:
    """What is malformed in a hit's declaration, a line each, as far as it shows without the corpus."""
    return _problems(_declared(hit), hit.chunk_id)


def read_derived_result(hit: Any) -> DerivedResult:
    """What a hit stands for. Raises ``ContractValueError`` with every problem of its declaration."""
    declared = _declared(hit)
    problems = _problems(declared, hit.chunk_id)
    if problems:
        raise ContractValueError(f"malformed declaration of a derived result: {'; '.join(problems)}")
    covered = declared.get(ITEM_COVERED_IDS_KEY)
    default = ITEM_KIND_CHUNK if covered is None else ITEM_KIND_SUMMARY
    return DerivedResult(
        chunk_id=hit.chunk_id,
        text=hit.text,
        kind=normalize_item_kind(declared.get(ITEM_KIND_KEY, default)),
        covered_ids=None if covered is None else tuple(covered),
        curated=declared.get(ITEM_CURATED_KEY),
        index=declared.get(ITEM_INDEX_KEY),
        label=declared.get(ITEM_LABEL_KEY),
        kind_declared=ITEM_KIND_KEY in declared,
    )


def derived_result_metadata(
    *,
    kind: str,
    covered_ids: Sequence[str] | None = None,
    curated: str | None = None,
    index: int | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """The metadata that declares a hit, with the keys given alone.

    Raises ``ContractValueError`` with what ``derived_result_problems`` would find, for a gap that covers chunks, and
    for a summary that does not say what it covers. That a chunk covers its own id shows only beside the hit.
    """
    kind = normalize_item_kind(kind)
    if isinstance(covered_ids, str | bytes):
        raise ContractValueError(
            f"covered_ids must be a list of chunk ids, not {type(covered_ids).__name__}; put one id into a list"
        )
    if kind == ITEM_KIND_SUMMARY and covered_ids is None:
        raise ContractValueError("a summary must declare the chunk ids that it covers; give an empty list for none")
    made: dict[str, Any] = {ITEM_KIND_KEY: kind}
    if covered_ids is not None or kind == ITEM_KIND_GAP:
        made[ITEM_COVERED_IDS_KEY] = list(covered_ids or ())
    given = {ITEM_CURATED_KEY: curated, ITEM_INDEX_KEY: index, ITEM_LABEL_KEY: label}
    made.update({key: value for key, value in given.items() if value is not None})
    problems = [*_covered_problems(made), *_note_problems(made)]
    if kind == ITEM_KIND_GAP and covered_ids:
        problems.append(f"a gap covers no chunks, but was given {covered_ids!r}; leave covered_ids out")
    # The hit's own id is not known here, but that there is exactly one is.
    if kind == ITEM_KIND_CHUNK and len(made.get(ITEM_COVERED_IDS_KEY, ("own",))) != 1:
        problems.append(f"a chunk covers exactly itself, but was given {covered_ids!r}; leave covered_ids out")
    if problems:
        raise ContractValueError("; ".join(problems))
    return made


def _declared(hit: Any) -> Mapping[str, Any]:
    metadata = getattr(hit, "metadata", None)
    return metadata if isinstance(metadata, Mapping) else {}


def _problems(declared: Mapping[str, Any], chunk_id: str | None) -> list[str]:
    return [*_covered_problems(declared), *_kind_problems(declared, chunk_id), *_note_problems(declared)]


def _covered_problems(declared: Mapping[str, Any]) -> Iterator[str]:
    if ITEM_COVERED_IDS_KEY not in declared:
        return
    covered = declared[ITEM_COVERED_IDS_KEY]
    if not isinstance(covered, list | tuple):
        yield f"{ITEM_COVERED_IDS_KEY} must be a list of chunk ids, not {type(covered).__name__}"
    elif not all(isinstance(one, str) and one for one in covered):
        yield f"{ITEM_COVERED_IDS_KEY} must hold non-empty strings only"
    elif len(set(covered)) < len(covered):
        yield f"{ITEM_COVERED_IDS_KEY} lists the same chunk id twice"


def _kind_problems(declared: Mapping[str, Any], chunk_id: str | None) -> Iterator[str]:
    if ITEM_KIND_KEY not in declared:
        return
    try:
        kind = normalize_item_kind(declared[ITEM_KIND_KEY])
    except ContractValueError as error:
        yield str(error)
        return
    covered = declared.get(ITEM_COVERED_IDS_KEY)
    covered = list(covered) if isinstance(covered, list | tuple) else None
    if kind == ITEM_KIND_GAP and covered:
        yield f"a gap covers no chunks, but this one has {ITEM_COVERED_IDS_KEY}={covered!r}"
    if kind == ITEM_KIND_CHUNK and not chunk_id:
        yield "a chunk must carry its own chunk_id"
    elif kind == ITEM_KIND_CHUNK and covered is not None and covered != [chunk_id]:
        yield f"a chunk covers exactly itself, [{chunk_id!r}], but this one has {ITEM_COVERED_IDS_KEY}={covered!r}"


def _note_problems(declared: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(declared.get(ITEM_CURATED_KEY, ""), str):
        yield f"{ITEM_CURATED_KEY} must be a string"
    if not isinstance(declared.get(ITEM_LABEL_KEY), str | None):
        yield f"{ITEM_LABEL_KEY} must be a string"
    index = declared.get(ITEM_INDEX_KEY, 0)
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        yield f"{ITEM_INDEX_KEY} must be a non-negative integer"
