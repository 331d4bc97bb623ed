"""Words that are almost another one: the distance, and the terms of a segment that are near."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.index.dense import quantise
from estante.index.lexical import language_of
from estante.index.segments import Segment, Shelved, gather, write
from estante.index.typos import distance, edits_of, misspellings, terms_near
from tests.index.building import DIMENSIONS, document, entries, unit_rows

WORDS = st.text("abç日", max_size=6)
TERMS = st.builds("{}{}".format, st.sampled_from(["", "pt:", "en:"]), st.text("abç", min_size=1, max_size=6))


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("prazo", "prazo", 0),
        ("prazo", "praso", 1),
        ("prazo", "przo", 1),
        ("prazo", "praazo", 1),
        ("prazo", "parzo", 1),
        ("prazo", "pazro", 2),
        ("", "ab", 2),
        ("ca", "abc", 3),  # no letter is edited twice
    ],
)
def test_an_edit_is_a_letter_wrong_missing_too_many_or_swapped(one: str, other: str, edits: int) -> None:
    assert distance(one, other) == edits


@given(WORDS, WORDS)
def test_the_distance_is_the_same_both_ways_and_none_only_to_itself(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= distance(one, other) <= max(len(one), len(other))


@given(st.text("abz", min_size=1, max_size=5))
def test_a_misspelling_is_one_edit_away(word: str) -> None:
    found = set(misspellings(word))

    assert {distance(word, one) for one in found} <= {0, 1}
    assert {word[1:], word + "q", "q" + word[1:]} <= found | {word}


@pytest.mark.parametrize(
    ("word", "edits"),
    [("sim", 0), ("prazo", 1), ("licitar", 1), ("licitação", 2), ("8112", 0), ("art5", 0), ("2024-03-12", 0), ("", 0)],
)
def test_short_words_numbers_and_codes_are_never_misspelt(word: str, edits: int) -> None:
    assert edits_of(word) == edits


@given(st.sets(TERMS, min_size=1, max_size=30), TERMS, st.integers(1, 2))
def test_the_near_terms_of_a_segment_are_those_of_its_language_by_the_plain_distance(
    held: set[str], term: str, edits: int
) -> None:
    one = document("a", "x")
    made = Shelved(1, "a", 1, "pt", entries(one, [dict.fromkeys(held, 1)], quantise(unit_rows(1, 1, DIMENSIONS))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.seg"
        segment = Segment(path, *write(path, gather([made], DIMENSIONS)))

        found = terms_near(segment, term, edits)

        segment.close()
    assert found == {
        other: distance(other, term)
        for other in held
        if other != term and language_of(other) == language_of(term) and distance(other, term) <= edits
    }
