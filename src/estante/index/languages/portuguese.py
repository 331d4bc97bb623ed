"""Portuguese: stop words, and stems of folded words.

A plural is made singular first (`licitacoes` to `licitacao`, `faceis` to `facil`), because Snowball joins few of
them. Snowball knows -ção, -ência, -ância, -ável and -ível by their accents alone, so these endings get them back for
its eyes: a folded word that ends so was never written without.
"""

from typing import Final

from estante.index.languages.letters import unaccented
from estante.index.languages.lists import listed
from estante.index.languages.snowball import stemmer

# Without sem, poder and dever: to ask for them too finds more (docs/decisions/0004-analysis.md).
STOP_WORDS: Final = frozenset(
    listed("""
    a ao aos as da das de do dos em na nas no nos num numa nuns numas pela pelas pelo pelos o os um uma umas uns
    e ou mas nem que se por para pra pro per com sob sobre entre ate apos ante desde contra durante perante mediante
    conforme exceto como quando onde aonde donde quem qual quais quanto quanta quantos quantas cujo cuja cujos cujas
    porque pois portanto porem todavia contudo entretanto embora enquanto logo assim tambem ainda ja mais menos muito
    muita muitos muitas pouco pouca poucos poucas bem tao tanto tanta tantos tantas so somente apenas sim nao nunca
    sempre talvez quase aqui ali la ca ai demais alem atraves dentro antes depois entao agora etc
    este esta estes estas esse essa esses essas aquele aquela aqueles aquelas isto isso aquilo
    deste desta destes destas desse dessa desses dessas disto disso daquele daquela daqueles daquelas daquilo
    neste nesta nestes nestas nesse nessa nesses nessas nisto nisso naquele naquela naqueles naquelas naquilo
    dele dela deles delas nele nela neles nelas eu tu ele ela eles elas vos voce voces me mim comigo te ti contigo
    si consigo conosco lhe lhes meu minha meus minhas teu tua teus tuas seu sua seus suas nosso nossa nossos nossas
    vosso vossa vossos vossas outro outra outros outras mesmo mesma mesmos mesmas todo toda todos todas tudo nada algo
    alguem ninguem algum alguma alguns algumas nenhum nenhuma cada qualquer quaisquer tal tais ambos ambas
    ser sou es somos sao era eram eramos foi foram fui fomos fosse fossem seja sejam sera serao seria seriam sendo sido
    for forem estar estou estamos estao estava estavam esteve estiveram estive esteja estejam estiver estiverem estando
    ter tem tens tenho temos tinha tinham teve tiveram tive tenha tenham tera terao teria teriam tiver tiverem tivesse
    tendo tido haver ha havia haviam houve haja hajam havera haveria houver havendo vai vao vou
    """)
)

_NOT_PLURAL: Final = frozenset(
    listed("""
    alias atlas bis bonus burgues cais caos campus corpus deus fregues gratis honcongues ingles iris jamais lapis
    luxemburgues noruegues oasis onus onibus pais paris pelvis pires portugues seis simples status tenis tres virus
    """)
)

_SINGULARS: Final = dict(
    pair.split("/")
    for pair in listed("""
    azuis/azul bois/boi bonsais/bonsai cabares/cabare caes/cao caubois/cauboi consules/consul guaranis/guarani
    herois/heroi jacares/jacare joqueis/joquei leis/lei maes/mae males/mal paes/pao pes/pe reis/rei samurais/samurai
    vis/vil
    """)
)

_IN_IL_STRESSED: Final = tuple(
    start + "is"
    for start in listed("""
    abr an ard barr bras bur can cant carr civ cov esmer fabr febr fun fuz gent grad host imbec infant juven mercant
    pastor peitor perf pern primaver puer quadr red ref senhor sen serv subt sut tambor udant varon vir
    """)
)
"""`civis` is of civil, `taxis` of taxi."""

_IN_IL_UNSTRESSED: Final = tuple(
    start + "eis"
    for start in listed("""
    ag deb dific doc duct ester fac fert foss frag fut grac hab inab inconsut miss portat projet rept tat text trat ut
    verossim versat vibrat volat
    """)
)
"""`faceis` is of facil, `hoteis` of hotel: the stress that would tell is folded away."""

_APART: Final = frozenset(
    listed("""
    banca camara camera carga casa conta interesse livre marco media mesa nove objetivo parte prova universidade
    universo vida video
    """)
)
"""Frequent words that Snowball gives the stem of an unrelated one: livre of livro, vida of video, conta of conter."""

_ACCENTED: Final = (
    ("cao", "ção"),
    ("ao", "ão"),
    ("encia", "ência"),
    ("ancia", "ância"),
    ("avel", "ável"),
    ("ivel", "ível"),
)

_ENDS: Final = frozenset(plain[-2:] for plain, _ in _ACCENTED)

_snowball = stemmer("pt")


def stem(word: str) -> str:
    """The stem of a folded word; a stop word is its own, and no other word's."""
    if word in STOP_WORDS:
        return word
    singular = _singular(word)
    if singular in _APART:
        return singular
    found = unaccented(_snowball(_accented(singular)))
    if len(found) < 3 or found in STOP_WORDS:
        return word if singular in STOP_WORDS else singular
    return found


def _singular(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 4 or word[-1] not in "sn" or word in _NOT_PLURAL:
        return word
    if word[-1] == "n":  # plugin, whose plural looks like that of jardim
        return word[:-1] + "m" if word[-2] in "eiou" and len(word) > 4 else word
    before, ending = word[:-3], word[-3:]
    if ending in ("oes", "aes"):
        return before + "ao"
    if ending in ("ais", "ois"):
        return word[:-2] + "l"
    if ending == "eis":
        return before + ("il" if word.endswith(_IN_IL_UNSTRESSED) else "el")
    if ending in ("res", "zes", "ses") and len(word) > 4:
        return word[:-2]
    if ending[1] == "n" and ending[0] in "eiou":
        return word[:-2] + "m"
    if word.endswith(_IN_IL_STRESSED):
        return word[:-1] + "l"
    # Also pixels and bits; but not class.
    return word[:-1] if ending[1] != "s" else word


def _accented(word: str) -> str:
    if word[-2:] not in _ENDS:
        return word
    for plain, written in _ACCENTED:
        if word.endswith(plain):
            return word[: -len(plain)] + written
    return word
