"""The way through a corpus page by page, with an eye on cursors that never end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from estante.contract.errors import ConnectorContractError, ContractValueError
from estante.contract.models import ChunkPage, ChunkRecord

PAGE_SIZE = 1000
"""How many chunks a page is asked for when the corpus is read whole."""


class Reader(Protocol):
    """How a page is read: ``list_chunks`` of a pipeline."""

    def __call__(self, *, cursor: str | None, limit: int) -> ChunkPage:
        """The page that begins at the cursor; None is the beginning."""


class Walk:
    """One reading of a whole corpus. It can be gone once.

    ``who`` is named in complaints. After ``most`` pages, or ``most_empty`` without a chunk in a row, the cursors are
    taken for endless; an empty page with a cursor is legal, because a back end may filter what it has read.
    """

    def __init__(self, read: Reader, *, who: str, most: int, most_empty: int) -> None:
        self._read = read
        self._who = who
        self._most = most
        self._most_empty = most_empty
        self._cursors: set[str] = set()
        self._ids: set[str] = set()
        self._empty = 0

    def pages(self) -> Iterator[list[ChunkRecord]]:
        """The chunks of each page, in order. Raises ``ConnectorContractError`` when the pages go in circles."""
        cursor: str | None = None
        for _ in range(self._most):
            items, cursor = self._opened(self._read(cursor=cursor, limit=PAGE_SIZE))
            # The empty string is a cursor like any other; None alone is the end.
            if cursor is not None:
                self._expect_new_cursor(cursor)
                self._expect_new_chunk(items)
            yield items
            if cursor is None:
                return
        raise self._endless(f"went on after {self._most} pages")

    def _opened(self, page: ChunkPage) -> tuple[list[ChunkRecord], str | None]:
        """The chunks of a page and its cursor. Refuses what is no page, because it may come from anywhere."""
        if not (hasattr(page, "items") and hasattr(page, "next_cursor")):
            raise ConnectorContractError(f"{self._who} gave a {type(page).__name__}; let it give a ChunkPage")
        held: object = page.items
        if isinstance(held, str | bytes) or not isinstance(held, Iterable):
            raise ConnectorContractError(f"{self._who} gave a page of a {type(held).__name__}; let it hold chunks")
        try:
            hash(page.next_cursor)
        except TypeError as error:
            kind = type(page.next_cursor).__name__
            raise ConnectorContractError(
                f"{self._who} gave a {kind} as its cursor; let it be a text or None"
            ) from error
        return list(page.items), page.next_cursor

    def _expect_new_cursor(self, cursor: str) -> None:
        if cursor in self._cursors:
            raise self._endless(f"gave the repeated cursor {cursor!r}")
        self._cursors.add(cursor)

    def _expect_new_chunk(self, items: list[ChunkRecord]) -> None:
        self._empty = 0 if items else self._empty + 1
        if self._empty > self._most_empty:
            raise self._endless(f"gave {self._empty} pages without a chunk in a row")
        before = len(self._ids)
        # A row without an id is for validation to complain of; it says nothing about going in circles.
        named = [item.chunk_id for item in items if isinstance(getattr(item, "chunk_id", None), str)]
        self._ids.update(named)
        if named and len(named) == len(items) and len(self._ids) == before:
            raise self._endless(f"gave a page of known chunks alone, such as {named[0]!r}, and a new cursor")

    def _endless(self, what: str) -> ConnectorContractError:
        return ConnectorContractError(
            f"{self._who} {what}, so the corpus would have no end; let each next_cursor lead on to what was not read "
            "yet, and be None after the last page"
        )


def offset(cursor: str | None) -> int:
    """The position that a decimal cursor names; None and the empty string are the beginning.

    Raises ``ContractValueError`` for anything else.
    """
    if cursor is None or cursor == "":
        return 0
    digits = str(cursor)
    if digits.isascii() and digits.isdigit() and len(digits) <= 18:
        return int(digits)
    raise ContractValueError(
        f"the cursor {cursor!r} is none that list_chunks gave; begin with None and follow next_cursor"
    )


def page_limit(limit: int) -> int:
    """The limit as it is. Raises ``ContractValueError`` for one that never advances, or is no whole number."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ContractValueError(f"the limit {limit!r} of list_chunks would never advance; give a number from 1 on")
    return limit
