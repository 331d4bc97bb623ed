"""What holds of every chunker, whatever the text."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from estante.ingest.chunkers.headings import HeadingsChunker
from estante.ingest.chunkers.windows import WindowsChunker
from estante.ingest.gate import admit
from estante.model.access import ANYONE, Scope
from estante.model.content import Document, Draft, Item, Mark, Span, canonicalise

KINDS = ("heading", "table", "code", "page", "slide", "sheet", "row")

words = st.sampled_from(
    [
        "prazo",
        "de",
        "Ação",
        "e\u0301",
        "art.",
        "5º",
        "fim.",
        "x" * 90,
        "👩\u200d👩\u200d👧",
        "🇧🇷🇵🇹",
        "a\u0323\u0302",
        "日本",
        "|",
        "##",
    ]
)
blanks = st.sampled_from(
    [" ", " ", " ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\u00a0", "\u2028", "", "\n \n", "\x0c"]
)
texts = st.one_of(
    st.lists(st.tuples(words, blanks), max_size=120).map(lambda pairs: "".join(map("".join, pairs))),
    st.text(max_size=300),
    st.builds(
        lambda unit, times: unit * times,
        st.sampled_from(["x", "\u0301", "🇧🇷", "ab ", "\n", "a\u0301"]),
        st.integers(1, 700),
    ),
)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[str, tuple[Mark, ...]]:
    """A text with ink in it, and marks of all kinds anywhere in it."""
    text = draw(
        texts.filter(
            lambda text: any(char != "\x00" and not char.isspace() and category(char) != "Cf" for char in text)
        )
    )
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(lambda ends: tuple(sorted(ends)))
    marks = draw(st.lists(st.tuples(st.sampled_from(KINDS), places, st.integers(1, 4)), max_size=12))
    return text, tuple(Mark(kind, start, end, "título", level) for kind, (start, end), level in marks)


def read(text: str, marks: tuple[Mark, ...]) -> Document:
    item = Item(source="s", uri="a.md", media_type="text/markdown", revision="1", read=text.encode)
    return admit(item, Draft(title="A", text=text, marks=marks, language="pt"), Scope("t", ANYONE))


sizes = st.integers(1, 400)


@given(drafts(), sizes, st.data())
def test_headings_spans_are_in_order_apart_bounded_and_hold_all_that_is_not_blank(
    draft: tuple[str, tuple[Mark, ...]], most: int, data: st.DataObject
) -> None:
    document = read(*draft)
    least = data.draw(st.integers(0, most))

    spans = list(HeadingsChunker(most, least).spans(document))

    assert all(earlier.end <= later.start for earlier, later in pairwise(spans))
    assert all(len(span) <= most for span in spans)
    holds_all_ink(document.text, spans)
    has_no_outer_blanks(document.text, spans)


@given(drafts(), sizes, st.data())
def test_windows_are_in_order_bounded_and_hold_all_that_is_not_blank(
    draft: tuple[str, tuple[Mark, ...]], size: int, data: st.DataObject
) -> None:
    document = read(*draft)
    overlap = data.draw(st.integers(0, size - 1))

    spans = list(WindowsChunker(size, overlap).spans(document))

    assert all(earlier.start <= later.start and earlier.end < later.end for earlier, later in pairwise(spans))
    assert all(len(span) <= size for span in spans)
    holds_all_ink(document.text, spans)
    has_no_outer_blanks(document.text, spans)


@given(drafts(), st.integers(40, 400))
def test_headings_cut_no_word_where_there_is_a_blank_and_no_character_that_fits(
    draft: tuple[str, tuple[Mark, ...]], most: int
) -> None:
    text, marks = draft
    document = read(text, tuple(mark for mark in marks if mark.kind in ("heading", "page")))
    starts = line_starts(document)

    for earlier, later in pairwise(HeadingsChunker(most, most // 8).spans(document)):
        if earlier.end == later.start and later.start not in starts:
            window = document.text[earlier.start + max(1, most // 2) : earlier.start + most + 1]
            assert not any(char.isspace() for char in window)
            if not one_character(document.text[earlier.start : earlier.start + most + 1]):
                assert not joins(document.text, later.start)


@given(drafts(), sizes)
def test_every_chunk_is_a_true_slice(draft: tuple[str, tuple[Mark, ...]], most: int) -> None:
    document = read(*draft)

    for chunker in (HeadingsChunker(most, most // 8), WindowsChunker(most, most // 5)):
        for index, span in enumerate(chunker.spans(document)):
            assert document.cut(index, span).text == document.text[span.start : span.end]


@given(drafts(), sizes)
def test_line_endings_of_the_source_change_no_span(draft: tuple[str, tuple[Mark, ...]], most: int) -> None:
    text, marks = canonicalise(*draft)
    moved = tuple(
        Mark(m.kind, m.start + text.count("\n", 0, m.start), m.end + text.count("\n", 0, m.end), m.label, m.level)
        for m in marks
    )
    plain, windows = read(text, marks), read(text.replace("\n", "\r\n"), moved)

    assert windows.text == plain.text
    for chunker in (HeadingsChunker(most, most // 8), WindowsChunker(most, most // 5)):
        assert list(chunker.spans(windows)) == list(chunker.spans(plain))


def holds_all_ink(text: str, spans: list[Span]) -> None:
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    assert all(not text[end:start].strip() for end, start in zip(ends, starts, strict=True))


def has_no_outer_blanks(text: str, spans: list[Span]) -> None:
    assert all(text[span.start : span.end] == text[span.start : span.end].strip() for span in spans)


def line_starts(document: Document) -> set[int]:
    """Where structure, and not length, asks for a cut."""
    return {mark.start for mark in document.marks}


def joins(text: str, at: int) -> bool:
    """Whether a cut at ``at`` parts a letter from its accent, or an emoji from what belongs to it."""
    flag = range(0x1F1E6, 0x1F200)
    if ord(text[at]) in flag and ord(text[at - 1]) in flag:
        run = len(text[:at]) - len(text[:at].rstrip("".join(map(chr, flag))))
        return run % 2 == 1
    return unicodedata.category(text[at])[0] == "M" or "\u200d" in text[at - 1 : at + 1]


def one_character(window: str) -> bool:
    """Whether there is no place in the window where a cut would leave characters whole."""
    return all(joins(window, at) for at in range(1, len(window)))
