import re

from hypothesis import given
from hypothesis import strategies as st

from estante.index.languages import citations
from estante.index.languages.runs import runs, split, words
from estante.index.languages.units import compound
from tests.index.kinds import KINDS

PIECES = st.sampled_from([*(kind.written for kind in KINDS), *"aZé1º§.,;:-_/@&+#$'’()!?\"*=|\n \u00a0\u0301\u200b漢"])
WRITTEN = st.lists(PIECES, max_size=12).map("".join)
WHOLE_PATTERN = re.compile(f"{citations.pattern()}|{compound()}")


@given(WRITTEN)
def test_the_short_way_for_most_words_finds_what_the_long_way_finds(text: str) -> None:
    assert runs().findall(text) == WHOLE_PATTERN.findall(text)


@given(WRITTEN)
def test_what_is_asked_is_among_what_is_indexed(text: str) -> None:
    assert set(words(text)) >= set(words(text, asked=True))


@given(WRITTEN)
def test_a_run_with_words_is_asked_for_by_one_at_least(text: str) -> None:
    assert all(split(run, asked=True) for run in runs().findall(text) if split(run))


@given(WRITTEN)
def test_no_word_stands_twice_at_a_place(text: str) -> None:
    found = list(words(text))

    assert len(found) == len(set(found))


def test_plain_words_and_numbers_are_one_run_each() -> None:
    assert runs().findall("Um texto, com 12 palavras.") == ["Um", "texto", "com", "12", "palavras"]
