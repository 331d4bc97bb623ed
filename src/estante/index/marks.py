"""Where the words of a question stand in passages, looked up when somebody asks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import overload

from estante.index.analyzer import Finder
from estante.model.content import Chunk, Span
from estante.model.ports import Word


class Wanted(Collection[str]):
    """The terms of words, those that only begin like one included."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._terms = frozenset(term for word in words for term in word.terms)
        self._ranges = tuple(one for word in words for one in word.ranges)

    def __contains__(self, term: object) -> bool:
        if term in self._terms or not self._ranges:
            return term in self._terms
        return isinstance(term, str) and any(first <= term < last for first, last in self._ranges)

    def __iter__(self) -> Iterator[str]:
        """One term of each, so that all of their first letters are told."""
        yield from self._terms
        yield from (first for first, _ in self._ranges)

    def __len__(self) -> int:
        return len(self._terms) + len(self._ranges)


class Marks:
    """Finds the words of a question in chunks; what was decided of a word in one chunk serves the next."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._wanted = Wanted(words)
        self._finders: dict[str, Finder] = {}

    def of(self, chunk: Chunk) -> Matches:
        """The matching words of a chunk in document offsets, without overlaps."""
        return Matches(self, chunk)

    def find(self, chunk: Chunk) -> tuple[Span, ...]:
        """The same, now."""
        if not self._wanted:
            return ()
        finder = self._finders.get(chunk.language)
        if finder is None:
            finder = self._finders[chunk.language] = Finder(chunk.language, self._wanted)
        found, last, offset = [], 0, chunk.span.start
        for start, end in finder.places(chunk.text):
            if start >= last:
                last = end
                found.append(Span(offset + start, offset + end))
        return tuple(found)


class Matches(Sequence[Span]):
    """The matching words of a chunk: a tuple that is made when it is first looked at.

    To find them takes as long as the search itself, and most who search never look.
    """

    __slots__ = ("_chunk", "_found", "_marks")

    def __init__(self, marks: Marks, chunk: Chunk) -> None:
        self._marks = marks
        self._chunk = chunk
        self._found: tuple[Span, ...] | None = None

    def _spans(self) -> tuple[Span, ...]:
        if self._found is None:
            self._found = self._marks.find(self._chunk)
        return self._found

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, index: int | slice) -> Span | tuple[Span, ...]:
        return self._spans()[index]

    def __len__(self) -> int:
        return len(self._spans())

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Matches):
            return self._spans() == other._spans()
        return self._spans() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._spans())

    def __repr__(self) -> str:
        return repr(self._spans())

    def __reduce__(self) -> tuple[type[tuple[Span, ...]], tuple[tuple[Span, ...]]]:
        return tuple, (self._spans(),)
