"""Known-item questions from titles and headings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.models import ChunkRecord
from estante.evaluate.errors import Incomparable
from estante.evaluate.knownitem import Titled, known_items, normal, text_of, titled


def chunk(document: str, index: int, title: str, *trail: str, text: str = "x", **more: Any) -> ChunkRecord:
    metadata = {"title": title, "trail": list(trail)}
    return ChunkRecord(f"{document}#{index}", document, document, index, None, text, metadata=metadata, **more)


LIBRARY = [
    chunk("leave", 0, "Leave of absence", "Annual leave days"),
    chunk("leave", 1, "Leave of absence", "Annual leave days", "Scope and purpose"),
    chunk("travel", 0, "Travel expenses paid", "Scope  and PURPOSE"),
    chunk("travel", 1, "Travel expenses paid", "Hotels"),
    chunk("old", 0, "travel expenses PAID", "Mileage by car"),
]


def asked(**more: Any) -> dict[str, str]:
    made = known_items(titled(LIBRARY), name="made", **more)
    return {one.text: next(iter(one.judged)) for one in made.collection.questions}


def test_a_heading_that_one_document_alone_has_asks_for_it() -> None:
    assert asked() == {"Leave of absence": "leave", "Annual leave days": "leave", "Mileage by car": "old"}


@pytest.mark.parametrize(
    "line", ["Annual leave days", "## annual  leave days ##", "2.1 Annual leave days", "* Annual leave days"]
)
def test_a_heading_that_another_document_has_as_a_line_asks_for_neither(line: str) -> None:
    other = Titled(id="faq", title="", headings=(), text=f"See also:\n{line}\n")

    made = known_items([*titled(LIBRARY), other], name="made")

    assert "Annual leave days" not in [one.text for one in made.collection.questions]
    assert made.repeated == 3


def test_what_was_left_out_is_counted_by_its_reason() -> None:
    made = known_items(titled(LIBRARY), name="made", count=1)

    assert (made.repeated, made.short, made.unchosen, made.unwritable) == (2, 1, 2, 0)


def test_shorter_headings_can_be_let_in() -> None:
    assert asked(least_words=1)["Hotels"] == "travel"


def test_a_title_that_is_a_heading_of_its_own_document_is_one_question() -> None:
    made = known_items(titled([chunk("a", 0, "One title here", "One title here")]), name="made")

    assert len(made.collection.questions) == 1


def test_the_corpus_has_every_document_with_its_title() -> None:
    made = known_items(titled(LIBRARY), name="made", count=1)

    assert [(one.id, one.title) for one in made.collection.sources or ()] == [
        ("leave", "Leave of absence"),
        ("old", "travel expenses PAID"),
        ("travel", "Travel expenses paid"),
    ]


def test_the_same_seed_makes_the_same_questions_in_whatever_order_the_chunks_come() -> None:
    assert known_items(titled(LIBRARY[::-1]), name="made", count=2) == known_items(
        titled(LIBRARY), name="made", count=2
    )


def test_another_seed_draws_others() -> None:
    assert len({tuple(asked(count=1, seed=seed)) for seed in range(12)}) > 1


def test_another_document_changes_no_question_that_is_still_drawn() -> None:
    before = known_items(titled(LIBRARY), name="made").collection.questions
    after = known_items(
        titled([*LIBRARY, chunk("new", 0, "Something else entirely")]), name="made"
    ).collection.questions

    assert [one for one in after if one in before] == list(before)


def test_a_document_whose_id_would_break_a_table_is_left_out() -> None:
    made = known_items(titled([*LIBRARY, chunk("a\tb", 0, "Quite another title")]), name="made")

    assert made.unwritable == 1
    assert "a\tb" not in [one.id for one in made.collection.sources or ()]


def test_a_shelf_without_titles_makes_no_questions() -> None:
    with pytest.raises(Incomparable, match="none of 0 titles"):
        known_items(titled([ChunkRecord("a#0", "a", "a", 0, None, "x")]), name="made")


def test_a_text_is_put_together_by_its_spans() -> None:
    whole = "0123456789"
    pieces = [
        chunk("d", at, "", text=whole[start:end], char_start=start, char_end=end)
        for at, (start, end) in enumerate([(0, 4), (2, 6), (8, 10)])
    ]

    assert text_of(pieces) == "012345\n\n89"


def test_a_text_without_spans_is_one_chunk_below_the_other() -> None:
    assert text_of([chunk("d", 0, "", text="one"), chunk("d", 1, "", text="two")]) == "one\n\ntwo"


@given(st.text(max_size=40), st.data())
def test_a_text_that_was_cut_with_overlaps_is_whole_again(whole: str, data: st.DataObject) -> None:
    size, step = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    step = min(step, size)
    pieces = [
        chunk("d", at, "", text=whole[start : start + size], char_start=start, char_end=min(len(whole), start + size))
        for at, start in enumerate(range(0, len(whole), step))
    ]

    assert text_of(pieces) == whole


@given(st.text(max_size=20))
def test_case_and_blanks_make_no_other_heading(text: str) -> None:
    assert normal(f"  {text} ") == normal(text)
