"""Spanish: stop words, and stems of folded words.

Snowball takes most plurals; those whose singular has an accent or another letter (`alemanes`, `franceses`, `luces`)
are made singular first. Its rules for -ción and -logía read accents, so these endings get them back for its eyes.
"""

from typing import Final

from estante.index.languages.letters import unaccented
from estante.index.languages.lists import listed
from estante.index.languages.snowball import stemmer

STOP_WORDS: Final = frozenset(
    listed("""
    a al ante bajo con contra de del desde durante e el ella ellas ellos en entre hacia hasta la las le les lo los me
    mi mis mediante ni nos nosotras nosotros o os para pero por que quien quienes se segun si sino sobre su sus te
    ti tu tus u un una unas uno unos usted ustedes vosotras vosotros y ya yo cual cuales cuando cuanto como donde
    porque pues aunque mientras tambien tampoco tan tanto mas menos muy mucho mucha muchos muchas poco poca pocos pocas
    no nunca siempre solo asi aqui ahi alli entonces luego despues antes aun cada todo toda todos todas otro otra otros
    otras mismo misma mismos mismas algo alguien algun alguna algunas alguno algunos nada nadie ningun ninguna ninguno
    este esta estos estas ese esa esos esas aquel aquella aquellos aquellas esto eso aquello cuyo cuya cuyos cuyas
    nuestro nuestra nuestros nuestras vuestro vuestra vuestros vuestras suyo suya suyos suyas mio mia mios mias
    ser soy eres es somos son era eran fue fueron fui sea sean sera seran seria serian siendo sido
    estar estoy esta estamos estan estaba estaban estuvo este esten estando haber he ha hemos han hay habia
    habian hubo haya hayan habra habria habiendo tener tengo tiene tenemos tienen tenia tenian tuvo tenga tengan tendra
    teniendo tenido
    """)
)

_IN_CES: Final = ("escoces", "frances")
"""Of one; `luces` is of luz."""

_ACCENTED: Final = (("cion", "ción"), ("logia", "logía"))

_snowball = stemmer("es")


def stem(word: str) -> str:
    """The stem of a folded word; a stop word is its own, and no other word's."""
    if word in STOP_WORDS:
        return word
    singular = _singular(word)
    found = unaccented(_snowball(_accented(singular)))
    if len(found) < 3 or found in STOP_WORDS:
        return word if singular in STOP_WORDS else singular
    return found


def _singular(word: str) -> str:
    while word.endswith(("nes", "eses", "ades")) and len(word) > 4:  # libaneses, libanes
        word = word[:-2]
    if word.endswith("ces") and len(word) > 4 and not word.endswith(_IN_CES):
        return word[:-3] + "z"
    return word


def _accented(word: str) -> str:
    for plain, written in _ACCENTED:
        if word.endswith(plain):
            return word[: -len(plain)] + written
    return word
