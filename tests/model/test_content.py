"""Texts on their way in: the canonical form, cutting, and what a chunk says of where it stands."""

from __future__ import annotations

import unicodedata
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.model.access import ANYONE, Scope
from estante.model.content import (
    HEADING,
    LINE,
    LINE_STEP,
    PAGE,
    Document,
    Mark,
    Span,
    canonical,
    canonicalise,
    chunk_id,
    line_marks,
    outline,
)
from estante.model.wire import restore

# Whatever can go wrong when a text is normalised: endings, accents apart, BOM, NUL, surrogates, Hangul, astral.
ODD = st.sampled_from(
    [
        "\r",
        "\n",
        "\r\n",
        "\x00",
        "\ufeff",
        "\ud800",
        "e",
        "\u0301",
        "\u0327",
        "a\u0323",
        "ﬁ",
        "가",
        "ᄀ",
        "ᅡ",
        "ᆨ",
        "😀",
        " ",
    ]
)
TEXTS = st.lists(st.one_of(ODD, st.characters()), max_size=30).map("".join)
SCOPE = Scope("acme", ANYONE)


def document(text: str, marks: tuple[Mark, ...] = (), title: str = "T") -> Document:
    return restore(
        id="s/a",
        uri="a",
        source="s",
        title=title,
        text=text,
        scope=SCOPE,
        language="pt",
        media_type="text/plain",
        marks=marks,
        metadata={"year": 2024},
        redactions=(),
    )


def headed(text: str) -> Document:
    """A document whose lines that begin with ``#`` are headings."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    marks = [
        Mark(HEADING, at, at + len(line), line.lstrip("# "), len(line) - len(line.lstrip("#")))
        for at, line in zip(starts, text.split("\n"), strict=False)
        if line.startswith("#")
    ]
    return document(text, tuple(marks))


# --- spans ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [(0, 0), (3, 3), (3, 2), (-1, 2)])
def test_a_span_is_never_empty_and_never_negative(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="0 <= start < end"):
        Span(*bounds)


def test_spans_are_ordered_by_place_and_have_a_length() -> None:
    assert sorted([Span(3, 5), Span(0, 9), Span(0, 2)]) == [Span(0, 2), Span(0, 9), Span(3, 5)]
    assert len(Span(3, 5)) == 2


# --- the canonical text --------------------------------------------------------------------------------------------


@given(TEXTS)
def test_canonical_twice_is_canonical_once(text: str) -> None:
    once = canonical(text)

    assert canonical(once) == once


@given(TEXTS)
def test_canonical_text_is_nfc_with_newlines_alone_and_can_be_written_to_a_file(text: str) -> None:
    clean = canonical(text)

    assert unicodedata.is_normalized("NFC", clean)
    assert not set(clean) & {"\r", "\x00", "\ufeff"}
    assert clean.encode("utf-8").decode("utf-8") == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\nb"),
        ("a\r\r\nb", "a\n\nb"),
        ("\ufeffa", "a"),
        ("a\ufeffb", "ab"),
        ("a\x00b", "ab"),
        ("e\u0301", "é"),
        ("e\x00\u0301", "é"),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_canonical_by_example(text: str, clean: str) -> None:
    assert canonical(text) == clean


def test_canonical_text_is_given_back_as_it_is() -> None:
    text = "Ação\n"

    assert canonical(text) is text


# --- marks move along ----------------------------------------------------------------------------------------------


@given(st.lists(st.text("aéç \n", min_size=1, max_size=6), min_size=1, max_size=12), st.sampled_from(["NFC", "NFD"]))
def test_a_mark_covers_the_same_words_after_canonicalising(words: list[str], form: str) -> None:
    pieces = [unicodedata.normalize(form, "w" + word) for word in words]  # A letter first: pieces never compose.
    text = "\ufeff" + "\r\n".join(pieces)
    starts = [1, *(1 + at for at in accumulate(len(piece) + 2 for piece in pieces))]
    marks = tuple(Mark("block", at, at + len(piece), piece) for at, piece in zip(starts, pieces, strict=False))

    clean, moved = canonicalise(text, marks)

    assert [clean[mark.start : mark.end] for mark in moved] == [mark.label for mark in moved]
    assert [mark.label for mark in moved] == [canonical(piece) for piece in pieces]


@given(TEXTS, st.data())
def test_a_moved_mark_stays_inside_the_text(text: str, data: st.DataObject) -> None:
    at = st.integers(0, len(text))
    ends = data.draw(st.lists(st.tuples(at, at).map(lambda pair: tuple(sorted(pair))), max_size=5))

    clean, moved = canonicalise(text, [Mark("block", start, end) for start, end in ends])

    assert clean == canonical(text)
    assert all(0 <= mark.start <= mark.end <= len(clean) for mark in moved)


@given(TEXTS, st.integers(0, 30), st.integers(1, 8))
def test_a_mark_that_cuts_through_a_letter_does_not_move_those_after_it(text: str, at: int, size: int) -> None:
    begin, end = min(at, len(text)), len(text) + 1
    whole = text + "\nfim"

    clean, moved = canonicalise(
        whole, [Mark("block", begin, min(begin + size, len(text))), Mark("block", end, end + 3)]
    )

    assert clean[moved[1].start : moved[1].end] == "fim"


def test_the_marks_of_a_canonical_text_are_as_they_were() -> None:
    marks = [Mark(HEADING, 0, 1, "a", 1)]

    assert canonicalise("a", marks) == ("a", tuple(marks))


# --- cutting -------------------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=60), st.data())
def test_a_chunk_is_a_true_slice(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    whole = document(text)

    chunk = whole.cut(7, Span(start, end))

    assert chunk.text == text[start:end] == text[chunk.span.start : chunk.span.end]


def test_a_chunk_has_the_scope_and_the_facts_of_its_document() -> None:
    whole = document("Ação")

    chunk = whole.cut(2, Span(0, 4))

    assert (chunk.scope, chunk.title, chunk.uri, chunk.language) == (SCOPE, "T", "a", "pt")
    assert (chunk.document_id, chunk.index, chunk.metadata) == ("s/a", 2, {"year": 2024})
    assert chunk.id == chunk_id("s/a", 2) == "s/a#2"


def test_a_span_beyond_the_text_is_not_cut() -> None:
    with pytest.raises(ValueError, match="leaves a text of 4 characters"):
        document("Ação").cut(0, Span(3, 5))


# --- the trail -----------------------------------------------------------------------------------------------------


def test_an_outline_closes_what_is_as_deep_or_deeper() -> None:
    marks = [Mark(HEADING, at, at + 1, label, level) for at, label, level in [(0, "A", 1), (2, "B", 3), (4, "C", 2)]]

    assert outline(marks) == ((0, ("A",)), (2, ("A", "B")), (4, ("A", "C")))


def test_a_chunk_before_the_first_heading_has_no_trail() -> None:
    whole = headed("antes\n# Um\ntexto")

    assert whole.trail(Span(0, 5)) == ()


def test_a_chunk_stands_under_the_headings_above_it() -> None:
    whole = headed("# Um\n## Dois\ntexto longo\n# Três\n")
    at = whole.text.index("longo")

    assert whole.trail(Span(at, at + 5)) == ("Um", "Dois")


def test_a_chunk_that_opens_with_a_heading_stands_under_it() -> None:
    whole = headed("# Um\ntexto\n# Dois\nmais")
    at = whole.text.index("# Dois")

    assert whole.trail(Span(at, len(whole.text))) == ("Dois",)


def test_a_chunk_that_opens_with_several_headings_stands_under_the_last() -> None:
    whole = headed("# Um\n\n## Dois\n\n### Três\ntexto")

    assert whole.trail(Span(0, len(whole.text))) == ("Um", "Dois", "Três")


def test_a_heading_inside_a_chunk_does_not_take_the_words_before_it() -> None:
    whole = headed("# Um\npalavras antes\n# Dois\nmais")

    assert whole.trail(Span(0, len(whole.text))) == ("Um",)


def test_a_heading_after_blank_space_and_rules_still_opens_the_chunk() -> None:
    whole = headed("texto\n\n---\n\n# Dois\nmais")
    at = whole.text.index("\n\n---")

    assert whole.trail(Span(at, len(whole.text))) == ("Dois",)


def test_a_sibling_heading_ends_the_one_before() -> None:
    whole = headed("# Um\n## A\ntexto\n## B\nmais")
    at = whole.text.index("mais")

    assert whole.trail(Span(at, at + 4)) == ("Um", "B")


# --- the locator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "label"), [(PAGE, "3"), ("slide", "12"), ("sheet", "Taxas"), ("row", "7")])
def test_a_locator_names_the_place_that_the_chunk_begins_on(kind: str, label: str) -> None:
    whole = document("um dois três", (Mark(kind, 3, 12, label), Mark(kind, 8, 12, "depois")))

    assert whole.locator(Span(4, 12)) == f"{kind} {label}"


def test_a_place_outweighs_a_line() -> None:
    whole = document("um\ndois", (*line_marks("um\ndois"), Mark(PAGE, 0, 7, "1")))

    assert whole.locator(Span(3, 7)) == "page 1"


def test_without_any_mark_there_is_no_locator() -> None:
    assert document("um dois").locator(Span(0, 2)) == ""


@given(st.lists(st.text("ab ", max_size=3), min_size=1, max_size=4 * LINE_STEP), st.integers(1, 500), st.data())
def test_a_line_counts_from_the_first_line_of_the_file(lines: list[str], first: int, data: st.DataObject) -> None:
    text = "\n".join(lines) + "\nfim"
    whole = document(text, tuple(line_marks(text, first)))
    at = data.draw(st.integers(0, len(text) - 1))

    assert whole.locator(Span(at, at + 1)) == f"line {first + text[:at].count(chr(10))}"


@given(st.integers(0, 3 * LINE_STEP))
def test_line_marks_stand_at_every_so_many_lines(lines: int) -> None:
    text = "x\n" * lines

    marks = list(line_marks(text))

    assert [(mark.kind, mark.start) for mark in marks] == [(LINE, 2 * at) for at in range(0, lines + 1, LINE_STEP)]
    assert [int(mark.label) for mark in marks] == list(range(1, lines + 2, LINE_STEP))


def test_documents_and_chunks_print_short() -> None:
    whole = document("palavra\n" * 2_000, title="Um título " * 20)

    assert repr(whole).startswith("<Document 's/a' 'Um título Um título ")
    assert repr(whole).endswith("…': 16,000 characters>")
    assert repr(whole.cut(0, Span(8, 800))).startswith("<Chunk 's/a#0' s/a:8-800 'palavra palavra ")
    assert len(repr(whole)) < 120 > len(repr(whole.cut(0, Span(8, 800))))
