"""Plurals, accents and stop words, by pairs of our own and by a list of Brazilian words where there is one."""

import unicodedata
from pathlib import Path

import pytest

from estante.index.analyzer import is_stopword, terms
from estante.index.languages.portuguese import STOP_WORDS

LIST = Path("/usr/share/dict/brazilian")
"""The list of Debian's package wbrazilian."""

ENDINGS = [
    *(("ão", "ões"), ("al", "ais"), ("el", "éis"), ("ol", "óis"), ("ul", "uis"), ("il", "is"), ("il", "eis")),
    *(("em", "ens"), ("im", "ins"), ("om", "ons"), ("um", "uns"), ("or", "ores"), ("az", "azes"), ("iz", "izes")),
    ("ês", "eses"),
]
"""Ending of the singular and of the plural."""

PAIRS = """
    acórdão/acórdãos alemão/alemães anel/anéis animal/animais armazém/armazéns ação/ações barril/barris bom/bons
    botão/botões capitão/capitães caracol/caracóis cartel/cartéis certidão/certidões cidadão/cidadãos civil/civis
    comum/comuns decisão/decisões degrau/degraus difícil/difíceis edital/editais estável/estáveis exame/exames
    fiscal/fiscais funil/funis fuzil/fuzis fóssil/fósseis gentil/gentis gol/gols hotel/hotéis hífen/hifens
    imóvel/imóveis inglês/ingleses irmão/irmãos item/itens jacaré/jacarés jardim/jardins juiz/juízes lençol/lençóis
    licitação/licitações luz/luzes município/municípios mês/meses móvel/móveis nuvem/nuvens nível/níveis
    opinião/opiniões painel/painéis papel/papéis perfil/perfis português/portugueses projétil/projéteis pé/pés
    questão/questões reunião/reuniões réptil/répteis servidor/servidores sol/sóis som/sons tribunal/tribunais
    têxtil/têxteis túnel/túneis vez/vezes viagem/viagens vil/vis vogal/vogais vírgula/vírgulas órgão/órgãos
    útil/úteis
"""


@pytest.fixture(scope="module")
def dictionary() -> frozenset[str]:
    if not LIST.is_file():
        pytest.skip(f"outside data is absent: {LIST} (Debian's package wbrazilian)")
    return frozenset(LIST.read_text(encoding="utf-8").split())


def plain(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))


def term(word: str) -> str:
    (found,) = terms(word, "pt")
    return found


@pytest.mark.parametrize("pair", PAIRS.split())
def test_a_plural_meets_its_singular_with_and_without_accents(pair: str) -> None:
    singular, plural = pair.split("/")

    assert {term(plural), term(plain(singular)), term(plain(plural))} == {term(singular)}


@pytest.mark.parametrize(("one", "many"), ENDINGS)
def test_of_the_pairs_in_a_list_of_words_95_in_100_meet(dictionary: frozenset[str], one: str, many: str) -> None:
    singulars = [word for word in dictionary if word.endswith(one) and word.removesuffix(one) + many in dictionary]
    if many == "eis":  # of words like fácil; vireis is no plural of viril
        singulars = [word for word in singulars if plain(word) != word]
    pairs = [(word, word.removesuffix(one) + many) for word in singulars]
    apart = [pair for pair in pairs if term(pair[0]) != term(pair[1]) and not any(is_stopword(w, "pt") for w in pair)]

    assert pairs
    assert len(apart) <= 0.05 * len(pairs), apart


def test_no_word_of_a_list_loses_by_its_accents(dictionary: frozenset[str]) -> None:
    assert [word for word in dictionary if terms(word, "pt") != terms(plain(word), "pt")] == []


def test_no_word_of_a_list_has_the_term_of_a_stop_word_that_it_is_not(dictionary: frozenset[str]) -> None:
    stops = {term(word) for word in STOP_WORDS}
    content = [word for word in dictionary if plain(word.lower()) not in STOP_WORDS]

    assert [word for word in content if not stops.isdisjoint(terms(word, "pt"))] == []


def test_every_stop_word_is_known_with_and_without_capitals() -> None:
    assert [word for word in STOP_WORDS if not (is_stopword(word, "pt") and is_stopword(word.upper(), "pt"))] == []
