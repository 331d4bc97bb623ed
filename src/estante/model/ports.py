"""What each kind of plug-in must offer. A port has one job and speaks the nouns of this floor only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from estante.model.access import Claim, Grant, Scope
from estante.model.asking import Where
from estante.model.content import Chunk, Document, Draft, Item, Metadata, Redaction, Span, Trail


class Source(Protocol):
    """Where items come from."""

    @property
    def name(self) -> str:
        """Its name in the bookcase; the first segment of its documents' ids."""

    def items(self) -> Iterator[Item | Skipped]:
        """Every item in a fixed order, and what had to be left out. Lazy: nothing is read here."""


class ScopeRule(Protocol):
    """One kind of evidence about who may read an item."""

    def claim(self, item: Item) -> Claim | None:
        """What this rule knows of the item; None when it has nothing to say."""


class Extractor(Protocol):
    """Text and structure out of the bytes of an item."""

    def drafts(self, item: Item, data: bytes) -> Iterable[Draft]:
        """The drafts in the item. Raises ``Unreadable`` when it cannot be read; never guesses silently."""


class Chunker(Protocol):
    """Where to cut."""

    @property
    def fingerprint(self) -> str:
        """Its name, version and settings: the same fingerprint cuts the same text the same way."""

    def spans(self, document: Document) -> Iterable[Span]:
        """Spans in order that together hold every non-blank character."""


@dataclass(frozen=True, slots=True)
class Space:
    """The vector space of an encoder. Vectors of two different spaces are never compared."""

    model: str
    dimensions: int
    revision: str
    metric: str = "cosine"
    normalised: bool = True


class Encoder(Protocol):
    """Vectors out of texts."""

    @property
    def space(self) -> Space:
        """Its vector space; known without loading the weights."""

    def passages(self, texts: Sequence[str]) -> Any:
        """A float32 array (n, dimensions) of unit rows; an empty text gives a zero row."""

    def queries(self, texts: Sequence[str]) -> Any:
        """As ``passages``, for questions."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that was left out, and why, in words for people."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Quantised:
    """A unit vector as signed bytes and the factor that restores it: ``values * scale``. Zero is all zeros.

    Dot products of two such vectors are sums of whole numbers, so every machine and every kernel gets the same
    score to the last bit.
    """

    values: bytes
    scale: float

    def floats(self) -> list[float]:
        """The components as plain numbers."""
        return [value * self.scale for value in memoryview(self.values).cast("b")]


@dataclass(frozen=True, slots=True)
class Entry:
    """A chunk ready for a shelf: its terms with their counts, and its vector.

    ``title`` counts the terms of its document's title, ``trail`` those of the headings it stands under, ``terms`` all
    others of its text. A heading that opens the text is counted as a heading and not as text.
    """

    chunk: Chunk
    terms: Mapping[str, int]
    vector: Quantised
    title: Mapping[str, int] = field(default_factory=dict)
    trail: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposit:
    """All that one item brings to a shelf, put in one piece and replacing all that it had brought before.

    ``recipe`` is the fingerprint of everything that shaped the result (extractor, gate, chunker): another
    recipe means the item is read again. An item that could not be read has no documents and a ``reason``.
    """

    source: str
    item: str
    revision: str
    digest: str
    recipe: str
    documents: tuple[tuple[Document, tuple[Entry, ...]], ...] = ()
    losses: tuple[str, ...] = ()
    reason: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What a shelf remembers of an item: what it was when it was read, and what became of it."""

    revision: str
    digest: str
    recipe: str
    reason: str
    documents: tuple[str, ...]
    readers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A document as lists show it."""

    document_id: str
    uri: str
    source: str
    title: str
    chars: int
    chunks: int
    language: str
    scope: Scope
    media_type: str
    added: str
    metadata: Metadata
    redactions: int
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Weights:
    """What BM25 is computed with: its two constants, and what a word counts in each field of a chunk."""

    k1: float = 0.8
    b: float = 0.7
    title: float = 3.0
    trail: float = 0.5
    body: float = 1.0


WEIGHTS: Final = Weights()


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a question: the index terms that stand for it, one for each language of the shelf.

    ``ranges`` are terms too, all those with ``first <= term < last``, for a word of which only the beginning is
    known. ``share`` is what it counts for, below 1 for words that were not asked for but are like one that was.
    """

    terms: tuple[str, ...]
    ranges: tuple[tuple[str, str], ...] = ()
    share: float = 1.0


Field = Literal["any", "title", "heading"]
"""Where in a chunk a word stands: anywhere, in its document's title, or in that or a heading it stands under."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a chunk must hold, or with ``held=False`` must not, to be found at all: one of a word's terms in a field."""

    word: Word
    field: Field = "any"
    held: bool = True


@dataclass(frozen=True, slots=True)
class Similar:
    """A term like another one: how many letters are wrong, and how many chunks hold it."""

    term: str
    edits: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate of a leg. ``ref`` is the view's own handle."""

    ref: int
    score: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a shelf holds. ``average`` is the mean number of words in a chunk."""

    documents: int
    chunks: int
    average: float
    languages: tuple[str, ...]
    redactions: int = 0
    skipped: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Lexical:
    """What the lexical leg found.

    ``coverage`` is the largest share of the words' weight that one allowed chunk holds; ``held`` tells of each word
    whether any chunk holds it which the grant covers and the filter lets through, whatever is demanded.
    """

    found: tuple[Found, ...]
    coverage: float
    held: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Holdings:
    """What of a shelf a grant and a filter let through.

    ``mark`` is a short text that changes when one of these documents comes, goes, is replaced or is described anew,
    and with nothing else.
    """

    documents: int
    chunks: int
    mark: str


class View(Protocol):
    """One whole state of a shelf, unmoved by writers, to search and read.

    Grant, filter and demands are applied before the best are taken, on every leg. What the grant does not cover is
    as if it did not exist: statistics, and so scores, are of what it covers alone.
    """

    def statistics(self) -> Statistics:
        """Counts of the whole shelf."""

    def languages(self, grant: Grant) -> tuple[str, ...]:
        """The languages of the documents that the grant covers, sorted."""

    def lexical(
        self,
        words: Sequence[Word],
        k: int,
        grant: Grant,
        where: Where | None,
        demands: Sequence[Demand] = (),
        weights: Weights = WEIGHTS,
    ) -> Lexical:
        """The k best chunks by BM25 with a score above zero; equal scores by ``tie``."""

    def nearest(
        self, vector: Quantised, k: int, grant: Grant, where: Where | None, demands: Sequence[Demand] = ()
    ) -> tuple[Found, ...]:
        """The k chunks with the greatest cosine, equal ones by ``tie``; a zero vector finds nothing."""

    def frequencies(self, words: Sequence[Word], grant: Grant) -> list[int]:
        """How many chunks hold each word, in any field."""

    def similar(self, term: str, edits: int, grant: Grant) -> list[Similar]:
        """The terms that become this one by at most so many edits, without itself: the nearest first, then the most
        frequent. An edit is a letter too many, missing or wrong, or two that changed places.
        """

    def tie(self, ref: int) -> tuple[str, int]:
        """What settles equal scores, the lower first: document id and position."""

    def bm25(self, words: Sequence[Word], refs: Sequence[int], grant: Grant, weights: Weights = WEIGHTS) -> list[float]:
        """The BM25 score of each given candidate, zero included."""

    def cosines(self, vector: Quantised, refs: Sequence[int]) -> list[float]:
        """The cosine of each given candidate."""

    def chunks(self, refs: Sequence[int], grant: Grant) -> list[Chunk]:
        """The chunks of candidates, read for these alone."""

    def vectors(self, refs: Sequence[int]) -> list[Quantised]:
        """The vector of each candidate as it is kept."""

    def holdings(self, grant: Grant, where: Where | None) -> Holdings:
        """Counts and mark of what the grant covers and the filter lets through."""

    def scan(self, after: tuple[str, int] | None, k: int, grant: Grant, where: Where | None) -> list[int]:
        """The first k candidates behind a place (document id and position) by ``tie``; None is the beginning."""

    def locate(self, places: Sequence[tuple[str, int]], grant: Grant, where: Where | None) -> list[int | None]:
        """The candidate at each place; None where nothing stands, or nothing that may be seen."""

    def preceding(self, document_ids: Sequence[str], grant: Grant, where: Where | None) -> list[int]:
        """How many of the chunks that may be seen stand in documents whose ids come before each of these."""

    def document(self, document_id: str, grant: Grant) -> Document:
        """A document whole. Raises ``NotFound`` when it is absent or not covered."""

    def slice(self, document_id: str, start: int, end: int | None, grant: Grant) -> tuple[int, int, str]:
        """Part of a document's text with its true bounds, without reading the rest."""

    def listings(self, grant: Grant, where: Where | None) -> Iterator[Listing]:
        """The documents that the grant covers, by id."""

    def spans(self, document_id: str, grant: Grant) -> tuple[Span, ...]:
        """The spans of a document's chunks, in order."""

    def entries(self, document_id: str) -> tuple[Entry, ...]:
        """The document's entries as they were put, for copying and checking."""

    def ledger(self, source: str | None = None, items: Sequence[str] | None = None) -> dict[tuple[str, str], LedgerRow]:
        """What is remembered of every item of a source, or of these items, by (source, item)."""

    def item_of(self, document_id: str, grant: Grant) -> tuple[str, str]:
        """The (source, item) that brought a document. Raises ``NotFound``."""

    def recall(self, key: str) -> str | None:
        """A small named value kept beside the documents."""


class Store(Protocol):
    """One shelf. It holds one kind of scope and refuses every other at its own boundary."""

    def view(self) -> AbstractContextManager[View]:
        """The state as it is now, held until the block ends; within a view of the same thread, the state of that."""

    def writing(self, purpose: str) -> AbstractContextManager[None]:
        """Holds the one writer's place. Raises ``LockedShelf``, naming the holder, when it is taken."""

    def put(self, deposits: Sequence[Deposit]) -> None:
        """Puts all of them, or none, and only returns when they are safe."""

    def drop(self, items: Iterable[tuple[str, str]]) -> int:
        """Takes away all that these (source, item) pairs brought; returns how many documents that were."""

    def amend(self, document_id: str, metadata: Metadata) -> None:
        """Replaces the metadata of a document, nothing else. Raises ``NotFound``."""

    def touch(self, revisions: Sequence[tuple[str, str, str]]) -> None:
        """Notes that items have a new revision and the same content: (source, item, revision) of each."""

    def remember(self, key: str, value: str) -> None:
        """Keeps a small named value."""

    def expect(self, *, space: Space, analyzer: str) -> None:
        """Raises ``StaleShelf`` unless the shelf was made with this vector space and analyzer."""

    def rebuild(
        self, make: Callable[[Document, tuple[Span, ...]], tuple[Entry, ...]], identity: Mapping[str, str]
    ) -> None:
        """Makes every entry anew from the documents held, and notes the new identity (space, analyzer)."""

    def compact(self) -> None:
        """Gives back the room of what was replaced or dropped. Answers stay the same to the last bit."""

    def check(self) -> list[str]:
        """Reads everything and returns what is wrong, a line each; empty when all is well."""

    def close(self) -> None:
        """Gives back files and memory. Closing twice is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an addition or a refresh did.

    Counts are of items; ``chunks`` of chunks written, ``masked`` of secrets masked in what was written.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: tuple[Skipped, ...] = ()
    chunks: int = 0
    masked: int = 0
    seconds: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = f"added={self.added}, changed={self.changed}, unchanged={self.unchanged}, removed={self.removed}"
        made = f"chunks={self.chunks}, masked={self.masked}, seconds={self.seconds:.2f}"
        return f"Outcome({counts}, skipped={self.skipped!r}, {made}, notes={self.notes!r})"


class Progress(Protocol):
    """Hears how far a long job is."""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """``done`` items of ``total`` (None while it is not known), now at ``what``."""


__all__ = [
    "WEIGHTS",
    "Chunker",
    "Demand",
    "Deposit",
    "Encoder",
    "Entry",
    "Extractor",
    "Field",
    "Found",
    "Holdings",
    "LedgerRow",
    "Lexical",
    "Listing",
    "Outcome",
    "Progress",
    "Quantised",
    "Redaction",
    "ScopeRule",
    "Similar",
    "Skipped",
    "Source",
    "Space",
    "Statistics",
    "Store",
    "Trail",
    "View",
    "Weights",
    "Word",
]
