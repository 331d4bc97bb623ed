import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from estante.index.analyzer import QUERY_WORDS, Finder, is_stopword, query_terms, terms, tokens
from estante.index.languages.words import WORD_LENGTH
from tests.index.kinds import KINDS

ANY = st.text(st.characters(), max_size=60)
AWKWARD = st.text(
    "aeoçãéíñüØßŁæ ﬁ½²ºª1234567890.,'’-–_+#sStTnN\u00ad\u200b\u0301\u0323\u0306ийぷ漢ガ゙ｶﾞ한ภาษิहिन्😀\u00a0", max_size=60
)
WHOLES = st.lists(st.sampled_from([*(kind.written for kind in KINDS), " ", "\n", "é", "-", ".", "/"]), max_size=8).map(
    "".join
)
LATIN = st.text("abcdefghijklmnopqrstuvwxyzáàâãäçéèêíïñóôõöúüÁÇÃÉÑÕŒøłßæđ '’.,-0123456789", max_size=80)
WRITTEN = """
licitação órgãos fáceis ciências responsáveis irmãs José avó três língua niño francés franceses licitaciones café naïve
résumé council’s não você também estão água d’água países reis civis
"""
WORDS = st.lists(st.sampled_from(WRITTEN.split()), max_size=12).map(" ".join)
LANGUAGES = st.sampled_from(["pt", "en", "es", "fr", "ru", "ar", "hi", "sr", "und", "xx", "pt-BR"])


def plain(text: str) -> str:
    """The text as typed without accents."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


@given(ANY | AWKWARD | WHOLES, LANGUAGES)
def test_terms_are_the_terms_of_the_tokens(text: str, language: str) -> None:
    assert terms(text, language) == [token.term for token in tokens(text, language)]


@given(ANY | AWKWARD | WHOLES, LANGUAGES)
def test_every_token_covers_written_text(text: str, language: str) -> None:
    assert all(0 <= token.start < token.end <= len(text) for token in tokens(text, language))


@given(ANY | AWKWARD | WHOLES, LANGUAGES)
def test_tokens_come_in_order(text: str, language: str) -> None:
    spans = [(token.start, token.end) for token in tokens(text, language)]

    assert spans == sorted(spans)


@given(ANY | AWKWARD | WHOLES, LANGUAGES)
def test_no_term_is_empty_or_has_a_space(text: str, language: str) -> None:
    assert all(term.split() == [term] for term in terms(text, language))


@given(ANY | AWKWARD | WHOLES | st.text("aé漢ि", min_size=60, max_size=200), LANGUAGES)
def test_no_term_is_longer_than_its_prefix_and_a_word(text: str, language: str) -> None:
    assert all(len(term) <= len("pt:") + WORD_LENGTH for term in terms(text, language))


@given(ANY | AWKWARD | WHOLES | WORDS, LANGUAGES)
def test_composed_and_decomposed_text_give_the_same_terms(text: str, language: str) -> None:
    assert terms(unicodedata.normalize("NFC", text), language) == terms(unicodedata.normalize("NFD", text), language)


@given(LATIN | WORDS | WHOLES, LANGUAGES)
def test_text_typed_without_accents_gives_the_same_terms(text: str, language: str) -> None:
    assert terms(plain(text), language) == terms(text, language)


@given(LATIN | WORDS, LANGUAGES)
def test_capitals_do_not_change_the_terms(text: str, language: str) -> None:
    assert terms(text.upper(), language) == terms(text.lower(), language)


@given(ANY | AWKWARD | WHOLES, ANY | AWKWARD | WHOLES, LANGUAGES)
def test_words_do_not_depend_on_the_lines_around_them(text: str, other: str, language: str) -> None:
    assert terms(f"{text}\n{other}", language) == terms(text, language) + terms(other, language)


@given(ANY | AWKWARD | WHOLES | WORDS, st.lists(LANGUAGES, max_size=3))
def test_every_term_of_a_query_is_a_term_of_the_same_text(text: str, languages: list[str]) -> None:
    indexed = {term for language in languages or ["und"] for term in terms(text, language)}

    assert indexed.issuperset(term for word in query_terms(text, languages) for term in word.terms)


@given(ANY | AWKWARD | WHOLES | WORDS, st.lists(LANGUAGES, max_size=3))
def test_a_query_with_words_is_never_empty(text: str, languages: list[str]) -> None:
    assert bool(query_terms(text, languages)) == bool(terms(text, "und"))


@given(WORDS, st.lists(LANGUAGES, max_size=3))
def test_a_query_holds_no_word_twice(text: str, languages: list[str]) -> None:
    asked = [word.terms for word in query_terms(text, languages)]

    assert len(set(asked)) == len(asked) <= QUERY_WORDS


@given(WORDS)
def test_a_query_asks_for_stop_words_only_if_it_has_no_other(text: str) -> None:
    stops = {is_stopword(word.text, "pt") for word in query_terms(text, ["pt"])}

    assert len(stops) <= 1


@given(LATIN | WORDS | WHOLES, st.lists(LANGUAGES, max_size=3))
def test_a_query_typed_without_accents_asks_for_the_same_terms(text: str, languages: list[str]) -> None:
    asked = [word.terms for word in query_terms(text, languages)]

    assert [word.terms for word in query_terms(plain(text), languages)] == asked


@given(ANY | AWKWARD | WHOLES, st.lists(LANGUAGES, max_size=3))
def test_a_query_composed_or_decomposed_asks_for_the_same_terms(text: str, languages: list[str]) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))

    assert [one.terms for one in query_terms(composed, languages)] == [
        one.terms for one in query_terms(decomposed, languages)
    ]


@given(ANY | AWKWARD | WHOLES, LANGUAGES)
def test_a_query_word_is_written_in_the_query(text: str, language: str) -> None:
    assert all(word.text == text[word.start : word.end] != "" for word in query_terms(text, [language]))


@given(ANY | AWKWARD | WHOLES | LATIN | WORDS, LANGUAGES, st.data())
def test_places_are_those_of_the_tokens_with_a_wanted_term(text: str, language: str, data: st.DataObject) -> None:
    found = list(tokens(text, language))
    wanted = data.draw(st.sets(st.sampled_from([token.term for token in found]), max_size=3)) if found else set()

    bounds = list(Finder(language, wanted).places(text))

    assert bounds == [(token.start, token.end) for token in found if token.term in wanted]


@given(st.sampled_from(["pt", "en", "es"]), st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))
def test_our_own_rules_keep_the_first_letter(language: str, word: str) -> None:
    assert terms(word, language)[0].removeprefix(f"{language}:")[0] == word[0]
