"""Matches: the spans of a question's words, exact, and found when somebody looks."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from estante.index import analyzer
from estante.index.marks import Marks
from estante.model.content import Span
from estante.model.ports import Word
from tests.index.building import document

TEXTS = st.lists(
    st.sampled_from(["Férias", "férias", "ferias", "guarda-chuva", "m²", "d’água", "de", "日本語", "\u00ad"])
)


def words_of(question: str, language: str = "pt") -> list[Word]:
    return [Word(word.terms) for word in analyzer.query_terms(question, [language])]


def test_matches_are_spans_of_the_document_and_not_of_the_passage() -> None:
    one = document("a", "Nada aqui. As férias são de trinta dias.")

    found = Marks(words_of("feria dias")).of(one.cut(0, Span(11, len(one.text))))

    assert [one.text[span.start : span.end] for span in found] == ["férias", "dias"]


@given(TEXTS, st.sampled_from(["férias", "guarda", "guarda-chuva", "m2", "água", "日本", "chuva férias"]))
def test_every_match_is_a_word_of_the_text_with_a_wanted_term(words: list[str], question: str) -> None:
    text = " ".join(["x", *words])
    wanted = {term for word in words_of(question) for term in word.terms}
    one = document("a", text)

    found = list(Marks(words_of(question)).of(one.cut(0, Span(0, len(text)))))

    expected, last = [], 0
    for start, end, term in analyzer.tokens(text, "pt"):
        if term in wanted and start >= last:
            expected.append(Span(start, end))
            last = end
    assert found == expected


def test_a_beginning_marks_all_words_that_begin_so() -> None:
    one = document("a", "Licita, licitações e lícito; ilícito não.")
    word = Word((), (("pt:licit", "pt:licit\U0010ffff"),))

    found = Marks([word]).of(one.cut(0, Span(0, len(one.text))))

    assert [one.text[span.start : span.end] for span in found] == ["Licita", "licitações", "lícito"]


def test_matches_are_a_sequence_like_a_tuple() -> None:
    one = document("a", "dez dias, dez")
    found = Marks(words_of("dez")).of(one.cut(0, Span(0, 13)))
    spans = (Span(0, 3), Span(10, 13))

    assert (len(found), found[1], found[:1], tuple(found)) == (2, spans[1], spans[:1], spans)
    assert (found == spans, spans == found, hash(found) == hash(spans), repr(found)) == (True, True, True, repr(spans))
    assert pickle.loads(pickle.dumps(found)) == spans
