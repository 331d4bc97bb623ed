"""Phrases: words one behind the other, in any way in which text and phrase can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.index.phrases import Phrase, readings, stands
from estante.model.content import Mark, Span
from tests.index.building import document

WORDS = st.lists(st.sampled_from(["um", "dois", "prazo", "de", "casa"]), min_size=1, max_size=8)


def held(phrase: str, text: str, language: str = "pt") -> bool:
    return stands(readings(phrase, language), readings(text, language))


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("prazo recursal", "O prazo recursal corre."),
        ("prazos recursais", "o prazo recursal"),
        ("PRAZO de dez", "o prazo de dez dias"),
        ("prazo, recursal", "prazo recursal"),
        ("guarda chuva", "um guarda-chuva preto"),
        ("guardachuva preto", "um guarda-chuva preto"),
        ("guarda-chuva preto", "um guarda chuva preto"),
        ("de água", "copo d'água fria"),
        ("Lei 8112/1990", "a Lei 8.112/1990"),
        ("東京都", "それは東京都です"),
        ("dez", "dez"),
    ],
)
def test_a_phrase_stands_where_its_words_follow_each_other(phrase: str, text: str) -> None:
    assert held(phrase, text)


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("prazo recursal", "recursal prazo"),
        ("prazo recursal", "prazo do recursal"),
        ("prazo recursal", "prazo"),
        ("um um", "um dois um"),
        ("東京都", "東京と京都"),
        ("", "prazo"),
        ("?!", "prazo"),
    ],
)
def test_and_nowhere_else(phrase: str, text: str) -> None:
    assert not held(phrase, text)


@given(WORDS, WORDS)
def test_plain_words_stand_as_a_list_stands_in_a_list(phrase: list[str], text: list[str]) -> None:
    size = len(phrase)

    expected = any(text[at : at + size] == phrase for at in range(len(text) - size + 1))

    assert held(" ".join(phrase), " ".join(text)) == expected


def test_a_phrase_of_a_field_looks_there_alone() -> None:
    text = "# Recurso\n\nO prazo de dez dias."
    one = document("a", text, title="Guia de prazos", marks=(Mark("heading", 2, 9, "Recurso", 1),))
    chunk = one.cut(0, Span(11, len(text)))

    assert [Phrase(words, "title").meets(chunk) for words in ("guia de prazo", "recurso", "dez dias")] == [
        True,
        False,
        False,
    ]
    assert [Phrase(words, "heading").meets(chunk) for words in ("guia de prazo", "recurso", "dez dias")] == [
        True,
        True,
        False,
    ]
    assert [Phrase(words).meets(chunk) for words in ("guia de prazo", "recurso", "dez dias")] == [True] * 3
    assert not Phrase("dez dias", left_out=True).meets(chunk)


def test_no_phrase_runs_from_the_title_into_the_text() -> None:
    one = document("a", "recursal corre", title="prazo")

    assert not Phrase("prazo recursal").meets(one.cut(0, Span(0, 8)))
