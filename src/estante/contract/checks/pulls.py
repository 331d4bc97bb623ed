"""The corpus as the checks know it: read in bulk once, and once more by pages or in bulk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from estante.contract.checks.attempts import Missing, attempt, kind, shown, text, told
from estante.contract.checks.probes import Probe
from estante.contract.checks.rules import Outcome, counted, failed, passed
from estante.contract.checks.views import ChunkView, chunk_view
from estante.contract.errors import ConnectorContractError, UnsupportedCapability
from estante.contract.models import ChunkPage, ChunkRecord, ConnectorHealth
from estante.contract.paging import PAGE_SIZE, Walk
from estante.contract.pipeline import RagPipeline

_PAGES: Final = 5
"""Pages that the corpus is read in, to see whether they fit together."""
_SPARE: Final = 6


@dataclass(frozen=True, slots=True)
class Corpus:
    """The chunks of one reading, as they came and as plain values. ``given`` is the very list that was handed over."""

    records: list[ChunkRecord]
    chunks: list[ChunkView]
    by_id: dict[str, ChunkView]
    given: Iterable[object] = ()


@dataclass(frozen=True, slots=True)
class Pull:
    """What the first reading came to: the row of the report, and the corpus when there is one."""

    outcome: Outcome
    corpus: Corpus | None = None


@dataclass(slots=True)
class Paged:
    """What a reading by small pages came to. ``problem`` tells why it did not come to its end."""

    limit: int
    records: list[Any] = field(default_factory=list)
    pages: int = 0
    longest: int = 0
    problem: str = ""

    @property
    def strangers(self) -> int:
        """How many items are no chunks."""
        return sum(not isinstance(record, ChunkRecord) for record in self.records)


class Held(RagPipeline):
    """A corpus in memory, to derive from it what the base class derives, at the price of no further reading."""

    name = "held"

    def __init__(self, records: list[ChunkRecord]) -> None:
        self._records = records

    def query(self, text: str, top_k: int = 5) -> list[Any]:
        """Nothing is searched here."""
        raise UnsupportedCapability("a held corpus cannot be searched; ask the pipeline that it was read from")

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """The records, as a new list."""
        return list(self._records)


def corpus(probe: Probe) -> Corpus:
    """The corpus of the first reading. Raises ``Missing`` when it could not be read."""
    found = pull(probe).corpus
    if found is None:
        raise Missing("the corpus could not be read")
    return found


def pull(probe: Probe) -> Pull:
    """The first reading of the corpus, done once."""
    return probe.once("the corpus", lambda: _pull(probe))


def paged(probe: Probe) -> Paged:
    """The reading by small pages, done once."""
    return probe.once("the corpus by pages", lambda: _paged(probe))


def again(probe: Probe) -> list[Any]:
    """The records of a second reading, done once; an error of the pipeline is raised.

    Where the author wrote paging, small pages are that reading, because they have to be read anyway. Only when they
    do not fit the first reading is a second bulk read done, which tells an unstable corpus from faulty paging.
    """
    return probe.once("the corpus a second time", lambda: _again(probe))


def assembled(records: Iterable[ChunkRecord]) -> Corpus:
    """The records with their plain values; of chunks with one id the first is found by it."""
    kept = list(records)
    chunks = [chunk_view(record) for record in kept]
    by_id: dict[str, ChunkView] = {}
    for chunk in chunks:
        by_id.setdefault(chunk.chunk_id, chunk)
    return Corpus(kept, chunks, by_id)


def bulk_read(probe: Probe) -> Any:
    """The corpus as ``pull_all_chunks`` gives it; whatever it raises is raised.

    The inherited method is gone through here, so that pages without end are noticed before memory is full.
    """
    if probe.supports("pull_all_chunks") or not probe.supports("list_chunks"):
        done = probe.call("pull_all_chunks")
        if done.error is not None:
            raise done.error
        return done.value
    most = probe.setting.most_chunks
    pipeline = probe.pipeline
    walk = Walk(
        lambda *, cursor, limit: _page(probe, cursor, limit, most),
        who=f"{kind(pipeline)}.list_chunks",
        most=pipeline.max_pull_pages,
        most_empty=pipeline.max_empty_pages,
    )
    records: list[ChunkRecord] = []
    for items in walk.pages():
        records += items
        _expect_end(len(records), most)
    return records


def _page(probe: Probe, cursor: str | None, limit: int, most: int) -> ChunkPage:
    """One page, its items in a list. Raises what the pipeline raises, and for what is no page."""
    done = probe.call("list_chunks", cursor=cursor, limit=limit)
    if done.error is not None:
        raise done.error
    if not isinstance(done.value, ChunkPage):
        raise ConnectorContractError(f"list_chunks() gave {kind(done.value)}, not a ChunkPage")
    items = list(islice(iter(done.value.items), most + 1))
    _expect_end(len(items), most)
    return ChunkPage(items, done.value.next_cursor)


def _expect_end(count: int, most: int) -> None:
    if count > most:
        raise ConnectorContractError(
            f"list_chunks() gave more than {most} chunks, which is taken for a corpus without end; "
            "if it is as large as that, allow more"
        )


def _pull(probe: Probe) -> Pull:
    done = attempt(bulk_read, probe)
    if done.error is not None:
        return Pull(_unwell(probe, _unread(done.error)))
    records = done.value
    if not isinstance(records, list) or not records:
        what = "an empty list" if isinstance(records, list) else f"{kind(records)}, not a list"
        fix = "Give a list of every chunk. A corpus without chunks cannot be measured; a failure to read it must raise."
        return Pull(_unwell(probe, failed(f"pull_all_chunks() gave {what}", fix)))
    strangers = [at for at, record in enumerate(records) if not isinstance(record, ChunkRecord)]
    if strangers:
        first = strangers[0]
        told_first = f"item {first} is of type {kind(records[first])}, not ChunkRecord"
        more = f" ({len(strangers)} of {len(records)} items are none)" if len(strangers) > 1 else ""
        return Pull(failed(f"{told_first}{more}", "Map every row of the back end to a ChunkRecord."))
    found = replace(assembled(records), given=records)
    documents = len({chunk.doc_id for chunk in found.chunks})
    return Pull(passed(f"{counted(len(records), 'chunk')}, {counted(documents, 'document')}"), found)


def _unread(error: BaseException) -> Outcome:
    if isinstance(error, Missing):
        raise error
    if isinstance(error, NotImplementedError | UnsupportedCapability):
        return failed(
            f"pull_all_chunks() is not offered: {text(error)}",
            "Write list_chunks(), from which the bulk read is derived, or else pull_all_chunks(): without a corpus "
            "there is nothing to compare hits with.",
        )
    fix = "Mend what raises: a host freezes the corpus by this very call, and would fail in the same way."
    return failed(f"pull_all_chunks() raised {told(error)}", fix)


def _unwell(probe: Probe, outcome: Outcome) -> Outcome:
    """The row of a corpus that could not be had, with what ``health`` names as the obstacle."""
    found = probe.call("health").value if probe.supports("health") and "health" not in probe.hung else None
    if not isinstance(found, ConnectorHealth) or found.ok is not False or not text(found.detail):
        return outcome
    fix = f"Mend what health() names. {outcome.fix}"
    return failed((*outcome.details, f"health() says that it is not well: {text(found.detail, 300)}"), fix)


def _again(probe: Probe) -> list[Any]:
    corpus(probe)
    if probe.supports("list_chunks"):
        read = paged(probe)
        first = {chunk.chunk_id for chunk in corpus(probe).chunks}
        if (
            not read.problem
            and not read.strangers
            and first == {view.chunk_id for view in map(chunk_view, read.records)}
        ):
            return read.records
    records: list[Any] = bulk_read(probe)
    return records


def _paged(probe: Probe) -> Paged:
    count = len(corpus(probe).chunks)
    limit = max(1, (count + _PAGES - 1) // _PAGES)
    read = Paged(limit)
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(count // limit + _SPARE):
        done = attempt(_page, probe, cursor, limit, max(PAGE_SIZE, 2 * count))
        if isinstance(done.error, Missing):
            raise done.error
        if done.error is not None:
            read.problem = f"list_chunks(cursor={shown(cursor)}, limit={limit}) raised {told(done.error)}"
            return read
        page: ChunkPage = done.value
        read.pages += 1
        read.longest = max(read.longest, len(page.items))
        read.records += page.items
        cursor = page.next_cursor
        if cursor is None:
            return read
        if text(cursor) in seen:
            read.problem = f"the repeated cursor {shown(cursor)} leads in circles"
            return read
        seen.add(text(cursor))
    read.problem = f"{read.pages} pages of {limit} did not come to the end of {count} chunks"
    return read
