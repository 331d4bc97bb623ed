import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from estante.index import analyzer
from estante.index.analyzer import (
    ANALYZER_VERSION,
    QUERY_WORDS,
    QueryWord,
    is_stopword,
    query_terms,
    terms,
    tokens,
)
from estante.index.languages.words import WORD_LENGTH
from tests.growth import BETWEEN, ratio


def written(text: str, language: str = "und") -> list[str]:
    return [text[token.start : token.end] for token in tokens(text, language)]


# Folding


def test_accents_do_not_change_the_terms() -> None:
    assert terms("Licitação à órgãos públicos", "pt") == terms("licitacao a orgaos publicos", "pt")


def test_decomposed_text_gives_the_terms_of_composed_text() -> None:
    text = "São Łódź が 한국어 новый क़"

    assert terms(unicodedata.normalize("NFD", text), "pt") == terms(unicodedata.normalize("NFC", text), "pt")


def test_a_token_of_decomposed_text_covers_the_accents() -> None:
    text = unicodedata.normalize("NFD", "é pão.")

    assert written(text) == [unicodedata.normalize("NFD", "é"), unicodedata.normalize("NFD", "pão")]


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Straße", "strasse"),
        ("Ø", "o"),
        ("Łódź", "lodz"),
        ("Æsir", "aesir"),
        ("Đặng", "dang"),
        ("İstanbul", "istanbul"),
        ("ısı", "isi"),
        ("Œuvre", "oeuvre"),
    ],
)
def test_letters_without_decomposition_are_folded_inside_the_word(word: str, folded: str) -> None:
    assert terms(word, "und") == [folded]


def test_a_ligature_is_its_letters() -> None:
    assert terms("Uniﬁed", "en") == terms("Unified", "en")


def test_full_width_letters_are_plain_ones() -> None:
    assert terms("ＡＢＣ１２", "und") == ["abc12"]


@pytest.mark.parametrize(
    ("ordinal", "expected"), [("5º", "5o"), ("5°", "5o"), ("5.º", "5o"), ("5o", "5o"), ("1ª", "1a")]
)
def test_an_ordinal_is_its_number_and_what_is_typed_without_the_sign(ordinal: str, expected: str) -> None:
    assert terms(ordinal, "und") == [expected[0], expected]


@pytest.mark.parametrize("ordinal", ["1st", "2nd", "3rd", "24th"])
def test_an_english_ordinal_is_its_number_too(ordinal: str) -> None:
    assert terms(ordinal, "en") == [ordinal[:-2], ordinal]


def test_the_number_of_an_ordinal_ends_before_its_letter() -> None:
    assert written("5\u00ado") == ["5", "5\u00ado"]


def test_the_number_sign_does_not_glue_to_the_number() -> None:
    assert terms("nº8112", "und") == ["n", "8112"]


def test_a_unit_keeps_its_exponent() -> None:
    assert terms("m² km² H₂O", "pt") == ["m2", "km2", "h2o"]


def test_the_number_of_a_note_is_not_part_of_the_word() -> None:
    assert terms("palavra¹ 10²³", "und") == ["palavra", "1", "10", "23"]


def test_a_vulgar_fraction_is_two_numbers() -> None:
    assert terms("3½", "pt") == ["3", "1", "2"]


def test_both_numbers_of_a_fraction_stand_at_its_character() -> None:
    assert [(token.start, token.end) for token in tokens("3½", "pt")] == [(0, 1), (1, 2), (1, 2)]


# Separators and joiners


@pytest.mark.parametrize("joiner", ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"])
def test_an_invisible_character_joins(joiner: str) -> None:
    assert terms(f"optional{joiner}hyphen", "und") == ["optionalhyphen"]


@pytest.mark.parametrize("separator", ["\u00a0", "\u2013", "\u2014", "“", "”", "«", "/", "\u3000", "😀"])
def test_a_separator_separates(separator: str) -> None:
    assert terms(f"guarda{separator}chuva", "und") == ["guarda", "chuva"]


def test_a_dash_between_years_separates() -> None:
    assert terms("2020–2024", "und") == ["2020", "2024"]


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ", "＇"])
def test_an_apostrophe_separates(apostrophe: str) -> None:
    assert terms(f"l{apostrophe}homme", "und") == ["l", "homme"]


@pytest.mark.parametrize("apostrophe", ["'", "’", "ʼ", "＇"])
def test_an_elided_de_is_de_and_part_of_a_compound(apostrophe: str) -> None:
    assert terms(f"d{apostrophe}água", "und") == ["de", "dagua", "agua"]


@pytest.mark.parametrize("apostrophe", ["'", "’"])
@pytest.mark.parametrize("language", ["en", "pt", "und"])
def test_a_possessive_is_the_word(apostrophe: str, language: str) -> None:
    assert terms(f"the council{apostrophe}s plan", language) == terms("the council plan", language)


def test_the_possessive_ending_is_not_part_of_the_token() -> None:
    assert written("the council's plan") == ["the", "council", "plan"]


def test_a_contracted_not_is_joined() -> None:
    assert terms("isn't", "und") == ["isnt"]


def test_the_signs_of_c_plus_plus_and_c_sharp_are_kept() -> None:
    assert terms("C++, C# and c++11", "en") == ["c++", "c#", "en:and", "c++", "11"]


def test_the_sign_after_a_longer_word_is_not_kept() -> None:
    assert terms("notepad++ page#top", "und") == ["notepad", "page", "top"]


# Numbers


@pytest.mark.parametrize("number", ["8112", "8.112", "8,112"])
def test_thousands_meet_however_they_are_written(number: str) -> None:
    assert terms(number, "pt") == ["8112"]


def test_a_number_of_a_registration_may_begin_with_a_nought() -> None:
    assert terms("012.345.678-90", "pt") == ["012345678", "01234567890", "90"]


@pytest.mark.parametrize("text", ["192.168.1.1", "3.11.123.4", "0.123", "1234.567.8"])
def test_versions_and_addresses_are_not_thousands(text: str) -> None:
    assert {text, *text.split(".")} <= set(terms(text, "und"))


def test_a_version_is_found_by_its_beginning() -> None:
    assert {"3.11", "3.11.4"} <= set(terms("3.11.4", "und"))


def test_digits_of_other_scripts_are_digits() -> None:
    assert terms("٢٠٢٤", "und") == ["2024"]


def test_a_token_with_a_digit_is_the_same_in_every_language() -> None:
    assert terms("8112 m2 covid19", "pt") == terms("8112 m2 covid19", "en") == ["8112", "m2", "covid19"]


# Scripts


def test_han_and_kana_are_indexed_by_pairs() -> None:
    assert terms("東京都に行く。", "und") == ["東京", "京都", "都に", "に行", "行く"]


def test_a_character_alone_is_a_term() -> None:
    assert terms("学 2024年", "und") == ["学", "2024", "年"]


def test_half_width_kana_meet_full_width_ones() -> None:
    assert terms("ｶﾞｷﾞ", "und") == terms("ガギ", "und")


def test_thai_is_indexed_by_pairs() -> None:
    assert terms("ไทย", "und") == ["ไท", "ทย"]


def test_a_thai_vowel_sign_stays_with_its_consonant() -> None:
    assert terms("กิน", "und") == ["กิน"]


def test_a_latin_word_beside_han_is_a_word() -> None:
    assert terms("你好world系统", "und") == ["你好", "world", "系统"]


@pytest.mark.parametrize("word", ["한국어", "Москва", "العربية", "שלום", "हिन्दी"])
def test_other_scripts_are_indexed_by_words(word: str) -> None:
    assert terms(word, "und") == [word.lower()]


def test_vowel_points_are_left_out() -> None:
    assert terms("כָּתַב كِتَاب", "und") == ["כתב", "كتاب"]


def test_short_i_is_a_letter_of_its_own_in_russian() -> None:
    assert terms("новый ёлка", "und") == ["новый", "елка"]


def test_a_final_sigma_is_a_sigma() -> None:
    assert terms("Σοφός ΣΟΦΟΣ", "und") == ["σοφοσ", "σοφοσ"]


def test_a_lone_surrogate_separates() -> None:
    assert terms("a\ud800b", "und") == ["a", "b"]


@pytest.mark.parametrize("char", ["\ud800", "😀", "≠", "=\u0338", "\0", "…"])
def test_only_plain_signs_are_part_of_an_address(char: str) -> None:
    assert set(terms(f"http://um.br/c{char}d", "und")) == {"http", "um", "br", "c", "d", "um.br", "um.br/c"}


# Languages


def test_a_stem_carries_its_language() -> None:
    assert (terms("licitações", "pt"), terms("running", "en")) == (["pt:licit"], ["en:run"])


def test_a_region_does_not_change_the_terms() -> None:
    assert terms("licitações", "pt-BR") == terms("licitações", "PT_br") == terms("licitações", "pt")


@pytest.mark.parametrize("language", ["und", "xx", "", "zh"])
def test_a_language_without_stemmer_is_folded_only(language: str) -> None:
    assert terms("Licitações", language) == ["licitacoes"]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [("fr", "maisons", "maison"), ("de", "Häuser", "haus"), ("it", "gatti", "gatto"), ("ru", "новый", "новая")],
)
def test_other_languages_are_stemmed(language: str, one: str, other: str) -> None:
    assert terms(one, language) == terms(other, language)


def test_a_word_in_a_script_foreign_to_the_language_is_bare() -> None:
    assert (terms("Москва", "pt"), terms("Debian", "ru")) == (["москва"], ["debian"])


def test_serbian_in_both_alphabets_meets() -> None:
    assert terms("човек", "sr") == terms("čovek", "sr")


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("licitação", "licitações"),
        ("ação", "ações"),
        ("pão", "pães"),
        ("mão", "mãos"),
        ("legal", "legais"),
        ("papel", "papéis"),
        ("fácil", "fáceis"),
        ("civil", "civis"),
        ("anzol", "anzóis"),
        ("azul", "azuis"),
        ("táxi", "táxis"),
        ("homem", "homens"),
        ("plugin", "plugins"),
        ("pixel", "pixels"),
        ("mulher", "mulheres"),
        ("luz", "luzes"),
        ("país", "países"),
        ("lei", "leis"),
        ("herói", "heróis"),
        ("responsável", "responsáveis"),
        ("ciência", "ciências"),
    ],
)
def test_a_portuguese_plural_meets_its_singular(singular: str, plural: str) -> None:
    assert terms(plural, "pt") == terms(singular, "pt")


@pytest.mark.parametrize(
    ("one", "other"),
    [("livro", "livre"), ("vida", "vídeo"), ("objeto", "objetivo"), ("pai", "país"), ("mês", "mesa"), ("não", "na")],
)
def test_unrelated_portuguese_words_stay_apart(one: str, other: str) -> None:
    assert terms(one, "pt") != terms(other, "pt")


@pytest.mark.parametrize(
    ("one", "other"), [("organ", "organization"), ("police", "policy"), ("experiment", "experience")]
)
def test_unrelated_english_words_stay_apart(one: str, other: str) -> None:
    assert terms(one, "en") != terms(other, "en")


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("licitación", "licitaciones"), ("luz", "luces"), ("alemán", "alemanes"), ("francés", "franceses")],
)
def test_a_spanish_plural_meets_its_singular(singular: str, plural: str) -> None:
    assert terms(plural, "es") == terms(singular, "es")


def test_british_and_american_spelling_meet() -> None:
    assert terms("organisation", "en") == terms("organizations", "en")


# Stop words


@pytest.mark.parametrize(("word", "language"), [("Você", "pt"), ("também", "pt"), ("The", "en"), ("También", "es")])
def test_a_stop_word_is_known_in_any_spelling(word: str, language: str) -> None:
    assert is_stopword(word, language)


@pytest.mark.parametrize("word", ["Minas", "aliar", "caso", "dia", "parte", "forma", "tipo", "comando"])
def test_a_content_word_is_no_stop_word(word: str) -> None:
    assert not is_stopword(word, "pt")


@pytest.mark.parametrize("text", ["", "...", "8112"])
def test_what_is_no_word_is_no_stop_word(text: str) -> None:
    assert not is_stopword(text, "pt")


def test_the_index_keeps_stop_words() -> None:
    assert terms("de para", "pt") == ["pt:de", "pt:para"]


@pytest.mark.parametrize(("word", "stop_word"), [("comando", "com"), ("parado", "para"), ("paras", "para")])
def test_a_content_word_never_shares_the_term_of_a_stop_word(word: str, stop_word: str) -> None:
    assert terms(word, "pt") != terms(stop_word, "pt")


def test_minas_keeps_a_term_of_its_own() -> None:
    assert [word.text for word in query_terms("Minas Gerais", ["pt"])] == ["Minas", "Gerais"]


# Queries


def test_a_query_word_has_a_term_for_each_language() -> None:
    assert query_terms("licitações", ["pt", "en"]) == [QueryWord("licitações", 0, 10, ("pt:licit", "en:licitaco"))]


def test_a_bare_term_is_asked_for_once() -> None:
    assert query_terms("8.112", ["pt", "en", "und"]) == [QueryWord("8.112", 0, 5, ("8112",))]


def test_stop_words_of_any_language_are_left_out() -> None:
    assert [word.text for word in query_terms("the lei de licitações", ["pt", "en"])] == ["lei", "licitações"]


def test_a_query_of_stop_words_keeps_them() -> None:
    assert [word.text for word in query_terms("ser ou não ser", ["pt"])] == ["ser", "ou", "não"]


def test_a_repeated_word_is_kept_once() -> None:
    assert [word.text for word in query_terms("licitação, licitações", ["pt"])] == ["licitação"]


def test_a_query_asks_for_the_whole_and_the_parts() -> None:
    assert [word.text for word in query_terms("guarda-chuva", ["pt"])] == ["guarda", "guarda-chuva", "chuva"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pós-graduação", ["pós-graduação", "graduação"]),
        ("8.112/1990", ["8.112", "8.112/1990"]),
        ("12/03/2024", ["12/03/2024", "2024"]),
        ("12 de março de 2024", ["12 de março de 2024", "março", "2024"]),
        ("art. 5º", ["art. 5º", "5"]),
        ("§ 2º", ["§ 2º", "2"]),
        ("1º", ["1º"]),
        ("1.234,56", ["1.234", "1.234,56"]),
    ],
)
def test_a_query_asks_for_no_part_that_says_little_beside_the_whole(text: str, expected: list[str]) -> None:
    assert [word.text for word in query_terms(text, ["pt"])] == expected


def test_a_query_asks_for_an_identifier_in_camel_case_as_one_word() -> None:
    assert [word.terms for word in query_terms("getUserName", ["und"])] == [("getusername",)]


def test_a_query_is_its_first_words() -> None:
    text = " ".join(f"w{number}" for number in range(3 * QUERY_WORDS))

    assert [word.text for word in query_terms(text, ["pt"])] == text.split()[:QUERY_WORDS]


def test_a_query_without_languages_is_folded_only() -> None:
    assert query_terms("Ação", []) == [QueryWord("Ação", 0, 4, ("acao",))]


def test_a_query_without_words_is_empty() -> None:
    assert query_terms("?! …", ["pt"]) == []


# Limits


def test_a_long_word_is_cut_in_its_term() -> None:
    assert terms("x" * 300, "und") == ["x" * WORD_LENGTH]


def test_a_long_word_is_whole_in_its_token() -> None:
    assert [(token.start, token.end) for token in tokens("é" * 300, "und")] == [(0, 300)]


def test_the_version_names_the_stemmer() -> None:
    assert "snowball-" in ANALYZER_VERSION


def test_forgetting_does_not_change_the_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"palavra licitações{chr(97 + number % 26)}" for number in range(100))
    before = terms(text, "pt")

    monkeypatch.setattr(analyzer, "_REMEMBERED", 3)
    analyzer._memory.cache_clear()

    assert terms(text, "pt") == before


def test_threads_agree() -> None:
    texts = [f"licitações running {chr(97 + number % 26)}{chr(97 + number // 26)}mentos" for number in range(600)]
    alone = [terms(text, "pt") + terms(text, "en") for text in texts]
    analyzer._memory.cache_clear()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: terms(text, "pt") + terms(text, "en"), texts))

    assert together == alone


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "é",
        "\u0301\u0323",
        "क\u093c\u094d",
        "1",
        "1.",
        ".234",
        ",234",
        "a'",
        "n't",
        "c++",
        "a#",
        "😀",
        "\u200d",
        "漢",
        "²",
        "-a",
        "_1",
        ".a",
        "/a",
        "aA",
        "d'a",
        "-lo",
        "a-lo.",
        " 1234",
        "§",
        "art. 5",
        "1 de maio de 2024 ",
        "1º",
        "://",
        "/\u200b",
    ],
)
def test_the_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    terms("1" + piece * 50_000, "pt")

    assert ratio(lambda size: terms("1" + piece * size, "pt"), 50_000) < BETWEEN
