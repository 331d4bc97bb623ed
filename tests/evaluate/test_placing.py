"""Where the text of a hit stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from estante.evaluate.collection import Collection, Source
from estante.evaluate.placing import Places, collapsed, spanned
from estante.evaluate.spans import TextSpan

TEXT = "One two three.\n\nFour  five\nsix. One two."


def places(title: str = "", **more: str) -> Places:
    texts = {"d": TEXT, **more}
    made = tuple(Source(id=name, title=title, text=text) for name, text in texts.items())
    return Places(Collection(name="c", questions=(), sources=made))


def test_a_true_span_is_taken() -> None:
    assert places().place("d", "One two", 32, 39) == TextSpan("d", 32, 39)


def test_a_false_span_is_looked_for_by_its_text() -> None:
    assert places().place("d", "three", 0, 5) == TextSpan("d", 8, 13)


def test_a_span_counted_without_the_title_is_moved_behind_it() -> None:
    assert places("T").place("d", "three", 8, 13) == TextSpan("d", 11, 16)
    assert places("T").place("d", "T\n\nOne", 0, 6) == TextSpan("d", 0, 6)


def test_what_stands_twice_has_no_place() -> None:
    assert places().place("d", "One two", None, None) is None
    assert places(e="three").place(None, "three", None, None) is None


def test_what_stands_nowhere_has_no_place() -> None:
    assert places().place("d", "seven", None, None) is None
    assert places().place("gone", "three", None, None) is None
    assert places().place("d", "", 0, 0) is None
    assert places().place("d", "  \n", None, None) is None


def test_a_text_without_a_document_is_looked_for_in_all() -> None:
    assert places(e="other").place(None, "five\nsix", None, None) == TextSpan("d", 22, 30)


def test_blanks_that_were_joined_are_found_again() -> None:
    found = places().place("d", "three. Four five six.", None, None)

    assert found is not None
    assert TEXT[found.start : found.end] == "three.\n\nFour  five\nsix."


def test_without_a_corpus_the_pipeline_is_believed() -> None:
    believing = Places(Collection(name="c", questions=()))

    assert believing.place("d", "anything", 3, 9) == TextSpan("d", 3, 9)
    assert believing.place("d", "anything", None, None) is None
    assert believing.place(None, "anything", 3, 9) is None


def test_offsets_that_are_no_whole_numbers_are_none() -> None:
    assert spanned({"char_start": 1, "char_end": 4}) == (1, 4)
    assert spanned({"char_start": True, "char_end": 4}) == (None, None)
    assert spanned({"char_start": 1}) == (None, None)


@given(st.text(alphabet="a b\n\t", max_size=30))
def test_every_character_of_a_collapsed_text_stands_where_it_says(text: str) -> None:
    short, at = collapsed(text)

    assert len(short) == len(at)
    assert short.split() == text.split()
    assert "  " not in short
    assert all(
        one == text[place] or (one == " " and text[place].isspace()) for one, place in zip(short, at, strict=True)
    )


@given(st.text(alphabet="abc \n", min_size=1, max_size=40), st.data())
def test_a_place_always_holds_the_text_up_to_blanks(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    found = Places(Collection(name="c", questions=(), sources=(Source(id="d", title="", text=text),))).place(
        "d", text[start:end], None, None
    )

    assert found is None or text[found.start : found.end].split() == text[start:end].split()
