"""Signs in a question: what they demand, and where they are text as any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.index.syntax import CHARACTERS, Clause, Question, read
from estante.model.errors import QueryError


@pytest.mark.parametrize(
    ("text", "clauses", "words"),
    [
        ('"prazo recursal"', [Clause("prazo recursal")], "prazo recursal"),
        ('prazo "de dez dias" hoje', [Clause("de dez dias")], "prazo de dez dias hoje"),
        ("prazo -minuta", [Clause("minuta", left_out=True)], "prazo "),
        ('prazo -"versão de teste"', [Clause("versão de teste", left_out=True)], "prazo "),
        ("licit* prazo", [Clause("licit", begins=True, demands=False)], " prazo"),
        ("title:férias", [Clause("férias", "title")], "férias"),
        ("TITLE:férias prazo", [Clause("férias", "title")], "férias prazo"),
        ('title:"banco de horas"', [Clause("banco de horas", "title")], "banco de horas"),
        ("heading:recurso", [Clause("recurso", "heading")], "recurso"),
        ("trail:recurso", [Clause("recurso", "heading")], "recurso"),
        ("title:licit*", [Clause("licit", "title", begins=True)], ""),
        ("x -title:minuta", [Clause("minuta", "title", left_out=True)], "x "),
        ("x -licit*", [Clause("licit", left_out=True, begins=True)], "x "),
    ],
)
def test_a_sign_at_the_beginning_of_a_word_demands_something(text: str, clauses: list[Clause], words: str) -> None:
    found = read(text)

    assert list(found.clauses) == clauses
    assert found.words == words


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prazo recursal",
        "guarda-chuva",
        "o prazo - se houver - conta",
        "às 10:30",
        "https://example.org/a",
        "uri:férias",
        "title: férias",
        'uma "aspa sozinha',
        'cano de 3" ou 4"',
        "5 -3",
        "*",
        "a*",
        "C*a",
        '""',
        "-",
        'o que é "diligência prévia"?',
        "prazo\n-minuta",
        "prazo -minuta " + "x" * CHARACTERS,
    ],
)
def test_anything_else_is_text_as_it_stands(text: str) -> None:
    assert read(text) == Question(text, text)


@pytest.mark.parametrize("text", ["-minuta", '-"versão de teste"', "-minuta -rascunho", " -minuta "])
def test_a_question_that_only_leaves_out_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(QueryError, match="only what to leave out") as caught:
        read(text)

    assert "what to look for" in caught.value.hint


def test_what_is_asked_for_in_plain_words_holds_beginnings_and_nothing_that_is_left_out() -> None:
    found = read('licit* "prazo recursal" -minuta')

    assert found.text.split() == ["licit", "prazo", "recursal"]
    assert found.words.split() == ["prazo", "recursal"]


@given(st.text('ab "-*:title heading\n?', max_size=40))
def test_any_text_beside_a_word_is_read(text: str) -> None:
    found = read(f"{text} palavra")

    assert "palavra" in found.words or any("palavra" in clause.text for clause in found.clauses)
    assert all(clause.text in text + " palavra" for clause in found.clauses)
    assert found.clauses or found.text == f"{text} palavra"
