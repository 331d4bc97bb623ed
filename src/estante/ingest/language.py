"""The language of a text, told from its commonest words and its script."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

UNKNOWN: Final = "und"
LANGUAGES: Final = ("pt", "en", "es", "fr", "de", "it")

_PIECE: Final = 1500
_MARGIN: Final = 1.6
_ENOUGH: Final = 40.0
_FLOOR: Final = 0.08
# Where nothing else decides, a text is rather in one of the first two languages.
_PRIOR: Final = (0.7, 0.7, 0.0, 0.0, 0.0, 0.0)

# How many of a thousand words of running text each word is, roughly; a word without a number is one of a thousand.
_COMMON: Final[Mapping[str, str]] = {
    "pt": """
        de:50 a:35 o:33 que:25 e:32 do:20 da:20 em:17 um:12 para:12 é:10 com:11 não:10 uma:10 os:11 no:9 se:10 na:9
        por:8 mais:5 as:7 dos:7 como:6 mas:4 foi:4 ao:4 das:5 ou:5 são:4 à:3 sua:3 seu:2 ser:3 está:3 nos:3 este:2
        esta:2 pelo:2 pela:2 também:2 pode:2 quando:2 muito já:2 há só até:1.5 isso entre:1.5 sem:1.5 mesmo aos ter
        seus nas:2 ele:2 ela tem:2 era depois me:1 esse:0.6 essa:0.6 eles:0.6 estão você:2 foram num:0.4 nem:0.5
        suas meu:0.4 às:0.5 minha:0.4 têm:0.5 numa:0.3 pelos:0.5 pelas:0.4 seja:0.7 qual:0.7 será:0.8 nós:0.4
        isto:0.5 podem deve devem:0.5 sobre:1.5 cada onde então:0.5 assim ainda através:0.4 outro:0.5 outra:0.5
        outros:0.6 outras:0.5 apenas todos todas:0.6 todo:0.4 toda:0.4 qualquer:0.7 usar:0.5 usado:0.5 fazer:0.5
        nao:2 sao:1 voce:0.5 tambem:0.4 ate:0.3 ja:0.4 sera:0.2 entao:0.2 pois:0.5 caso:0.8 porque:0.5 lhe:0.3
        deste:0.5 desta:0.5 neste:0.5 nesta:0.5 nesse:0.2 dessa:0.2 desse:0.2 ano:0.6 anos:0.7 lei:0.5 bem:0.5 dia:0.5
        novo:0.5 nova:0.5 eu:1 quem:0.5 uso:0.4 sendo:0.5 nenhum:0.3 nenhuma:0.3 arquivo:0.4 arquivos:0.4 biblioteca:0.3
        ferramenta:0.3 dados:0.5 sistema:0.5 pacote:0.4 contém:0.3 para:12 quais:0.4 dele:0.3 dela:0.3 deles:0.2 diz:0.2
        possível:0.3 além:0.4 após:0.5 segundo:0.4 conforme:0.4 art:0.3 quanto:0.4 tal:0.3 fim:0.4 meio:0.3 parte:0.5
        nome:0.5 página:0.4 páginas:0.3 lista:0.3 valor:0.4 índice:0.2 capítulo:0.3 usuário:0.4 usuários:0.3 função:0.4
        tipo:0.4 erro:0.3 número:0.4 linha:0.4 texto:0.4 caixa:0.3 abre:0.2 criar:0.3 alterar:0.2 serviço:0.4
        serviços:0.4 saída:0.3 entrada:0.3 nota:0.3 comando:0.3 comandos:0.3 processo:0.4 contrato:0.2 município:0.3
        """,
    "en": """
        the:60 of:30 and:27 to:26 a:21 in:20 is:11 that:10 for:10 it:9 as:7 was:6 with:7 be:7 on:7 by:6 this:6 are:6
        or:6 from:5 at:4 not:5 you:5 have:4 an:4 which:3 can:4 will:3 has:2 if:3 but:3 all:2 they:2 their:2 your:2
        its:2 also:1.5 use:2 used:2 when:2 no:1.5 more:1.5 one:2 may:1.5 other:1.5 such these:1.5 there:1.5 into than
        then any some only been would should about we:2 he:2 his:2 who what how i:3 do:1.5 were had her so up out
        where each using does must between same:0.7 very:0.7 most:0.7 many:0.7 new:0.8 over:0.6 after:0.7 before:0.5
        them:0.8 our:0.6 my:0.7 could:0.7 she:0.8 file:0.6 files:0.5 data:0.7 library:0.3 package:0.4 provides:0.4
        based:0.4 support:0.4 system:0.4 like:0.7 just:0.5 both:0.5 first:0.6 two:0.7 see:0.5 while:0.5 because:0.5
        through:0.5 contains:0.4 without:0.4 within:0.3 under:0.4 set:0.4 time:0.6 way:0.4 work:0.4 get:0.4 make:0.4
        name:0.6 page:0.4 list:0.4 value:0.4 changed:0.3 version:0.4 note:0.4 return:0.4 object:0.4 remove:0.3
        create:0.3 command:0.3 options:0.3 user:0.5 users:0.4 function:0.4 type:0.4 default:0.4 description:0.3
        """,
    "es": """
        de:60 la:38 que:30 el:32 en:26 y:28 a:21 los:17 se:13 del:12 las:11 un:11 por:9 con:9 una:9 no:9 para:8 es:8
        al:6 lo:6 como:5 su:5 más:4 o:4 pero:3 sus:2 le:2 ha:2 este:2 si:3 esta:2 entre:1.5 cuando:1.5 muy sin:1.5
        sobre:1.5 ser:1.5 también:1.5 son:2 fue:2 está:2 hay ya todo:0.8 esto:0.6 desde:1 todos:0.8 donde:0.8 puede:2
        pueden:0.7 ese:0.4 otro:0.5 otra:0.5 otros:0.6 nos:0.7 mi:0.6 me:1 porque:0.6 ella:0.4 él:0.5 esa:0.3 estos:0.4
        uno:0.6 dos:0.8 tiene:0.8 hasta:0.7 cada:0.7 sólo:0.4 solo:0.4 qué:0.4 ni:0.5 han:0.5 así:0.6 hacer:0.4
        además:0.5 según:0.4 años:0.6 año:0.5 mas:0.3 nuestro:0.3 mismo:0.5 estas:0.3 e:0.5 u:0.3 había:0.4 era:0.7
        ley:0.3 bien:0.4 tras:0.2 durante:0.4 parte:0.5 sistema:0.4 usted:0.3 archivo:0.3 archivos:0.3 paquete:0.2
        nombre:0.5 página:0.4 lista:0.3 valor:0.4 índice:0.2 capítulo:0.3 usuario:0.4 usuarios:0.3 función:0.4 tipo:0.4
        número:0.4 línea:0.4 texto:0.4 crear:0.3 servicio:0.4 servicios:0.4 salida:0.3 entrada:0.3 nota:0.3 contrato:0.2
        """,
    "fr": """
        de:50 la:28 le:27 et:24 les:22 des:20 à:18 en:15 un:13 du:13 une:12 est:11 que:9 pour:9 qui:8 dans:9 a:7 par:7
        plus:5 pas:5 au:6 sur:6 ne:5 se:4 ce:5 il:6 sont:3 avec:4 ou:4 son:3 cette:2 aux:2 d':15 l':15 qu:4 n':4 s':4
        c':4 j':1 je:2 nous:2 vous:3 elle:2 être:2 comme:2 mais:2 on:3 tout:1.5 ses sa:1.5 leur:1.5 ces:1.5 si:1.5
        fait été ont peut:1.5 sans deux même aussi où votre:0.8 entre:0.8 ainsi:0.6 cet:0.5 dont:0.6 ils elles:0.4
        très:0.6 encore:0.4 après:0.5 avant:0.3 tous:0.7 toutes:0.4 donc:0.5 lorsque:0.4 fichier:0.4 fichiers:0.3
        était:0.6
        """,
    "de": """
        die:33 der:33 und:28 in:18 den:14 das:14 zu:13 von:12 ist:11 mit:10 nicht:9 ein:9 eine:9 sich:9 des:9 auf:9
        dem:9 für:8 im:8 es:7 werden:6 als:6 auch:6 an:5 wird:5 sie:7 aus:4 bei:4 oder:4 er:5 ich:5 dass:3 sind:4
        nach:4 wie:4 einer:4 einen:4 um:3 am:3 zur:3 zum:3 noch:2 haben:2 hat:3 war:3 nur:2 so:3 einem:2 über:3 kann:3
        können:1.5 wenn:2.5 aber:2 durch:2 man:2 vor:2 bis:1.5 dieser:2 diese:2 wir:2 ihr ihre sein mehr keine:0.7
        unter:0.7 sowie:0.6 dann:0.7 mich:0.5 mir:0.5 wurde:1 wurden:0.5 vom:0.8 beim:0.4 kein:0.5 datei:0.4 sehr:0.5
        """,
    "it": """
        di:35 e:27 la:20 il:20 che:18 a:15 un:12 in:13 è:11 per:12 una:10 i:10 non:9 le:9 con:7 si:8 del:9 della:9 da:7
        dei:4 delle:4 al:4 alla:4 nel:4 nella:3 sono:4 più:3 l':15 lo:4 gli:5 come:4 ma:4 anche:3 o:4 se:3 dell:6 all:3
        dal:2 dalla:2 su:2 ha:3 questo:2 questa:2 essere:2 ed d':3 c':2 ci:2 tra quando:0.8 degli:2 agli:0.5 cui può:1.5
        stato:0.8 suo:0.8 sua:0.8 perché:0.8 dopo:0.6 ogni:0.6 nell:0.8 sul:0.8 sulla:0.7 quale:0.5 molto:0.5 tutto:0.5
        tutti:0.5 file:0.4 era:0.8 loro:0.5 senza:0.5 dove:0.4 qui:0.3 poi:0.4 così:0.4 già:0.4 mi:0.8 fatto:0.4
        """,
}
# Looks of a word that point to a language, with the weight in nats.
_LOOKS: Final = (
    ("pt", 2.2, r"[ãõ]|ções$|ção$|nh[aeo]|lh[aeo]|[aei]r-se$"),
    ("pt", 1.0, r"ç|ão$|dade$|[áéí]vel$|ência$|ância$|agem$|[ai]ndo$|eiro$|eira$|ário$|ária$|izar$|ê|â|ô"),
    ("pt", 0.5, r"mento$|mentos$|mente$|cao$|coes$|ado$|ados$|ada$|adas$|ores$|[ei]a$|ss[aeo]|[õó]"),
    ("en", 1.2, r"^th|^wh|ght|ing$|tion$|tions$|ness$|ck|sh|oo|ough|^kn"),
    ("en", 0.5, r"ly$|ed$|er$|ers$|ment$|ty$|y$|ea|w"),
    ("es", 2.2, r"ñ|ción$|ciones$|[¿¡]|ll[aeo]|dades$|ij[ao]"),
    ("es", 1.0, r"dad$|iento|uev|ue[rnl]|ie[rnm]|aje$|ió$|ía$|ón$"),
    ("es", 0.4, r"mente$|ado$|ados$|ando$|ario$|aria$"),
    ("fr", 1.6, r"eaux?$|eux$|oi[rst]|û|î|œ|aux$|ement$|ée?s?$|è|ë"),
    ("fr", 0.8, r"ques?$|eur$|ê|tion$"),
    ("fr", 0.4, r"ç|ou|ai"),
    ("de", 1.8, r"ß|ung$|ungen$|sch|lich|keit$|heit$|ä|ö|ü"),
    ("de", 0.5, r"ei|en$|cht|z"),
    ("it", 1.6, r"zion[ei]$|gli|cch|zz|ità$|ò|ù$|ggi|tt[aeio]$|cc|pp"),
    ("it", 0.4, r"[ai]re$|ato$|ati$|ente$|ell[aei]"),
)


def _table() -> dict[str, tuple[float, ...]]:
    """For each common word the logarithm of its frequency in each language."""
    shares: dict[str, dict[str, float]] = {}
    for language, text in _COMMON.items():
        for entry in text.split():
            word, _, share = entry.partition(":")
            shares.setdefault(word, {})[language] = float(share or 1)
    return {
        word: tuple(math.log(found.get(language, 0) + _FLOOR) for language in LANGUAGES)
        for word, found in shares.items()
    }


_WORDS: Final = _table()
_PATTERNS: Final = tuple((LANGUAGES.index(name), weight, re.compile(look)) for name, weight, look in _LOOKS)
# No language of ours has these Latin letters.
_STRANGE: Final = re.compile("[ąćčďđěęğįłńňőřśşšťůűųźżžħıāēīūșț]")
# A single consonant is a word where an apostrophe follows it; elsewhere it is the name of a column or a variable.
_WORD: Final = re.compile(r"(?<!\w)[cdjlns]'(?=\w)|[^\W\d_]+")
_NOT_LATIN: Final = re.compile("[\u0370-\u1cff\u2e80-\ud7ff\uf900-\ufdff\ufe70-\ufeff\uff66-\uff9d]")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff\uff66-\uff9d]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", re.compile("[\u2e80-\u2fdf\u3400-\u9fff\uf900-\ufaff]")),
    ("ru", re.compile("[\u0400-\u052f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")),
    ("he", re.compile("[\u0590-\u05ff\ufb1d-\ufb4f]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
# Letters of other languages in the same script: Ukrainian, Belarusian and Serbian; Persian and Urdu.
_NEIGHBOURS: Final = {"ru": re.compile("[іїєґўјљњћђѓќ]"), "ar": re.compile("[پچژگکیےٹڈ]")}


def language_of(text: str) -> str:
    """``pt``, ``en``, ``es``, ``fr``, ``de``, ``it``, a language known by its script, or ``und`` when unsure.

    Looks at the beginning, the middle and the end of a long text. The same text always gives the same answer.
    """
    sample = _sample(text).lower().replace("\u2019", "'")
    foreign = _NOT_LATIN.findall(sample)
    words = _WORD.findall(sample)
    if foreign and len(foreign) * 2 > sum(map(len, words)):
        return _by_script("".join(foreign))
    if not sample.isascii() and len(_STRANGE.findall(sample)) * 80 > len(sample):
        return UNKNOWN
    return _by_words(Counter(words))


def primary(tag: str) -> str:
    """The language of a tag such as ``pt-BR`` or ``en_US.UTF-8``; empty for what is no tag of a language."""
    found = re.fullmatch(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8}){0,4}(?:\.[-A-Za-z0-9]+)?\s*", tag[:60])
    return found[1].lower() if found and found[1].lower() != UNKNOWN else ""


def _sample(text: str) -> str:
    if len(text) <= 3 * _PIECE:
        return text
    middle = (len(text) - _PIECE) // 2
    return f"{text[:_PIECE]} {text[middle : middle + _PIECE]} {text[-_PIECE:]}"


def _by_script(letters: str) -> str:
    counts = {name: len(script.findall(letters)) for name, script in _SCRIPTS}
    # Japanese mixes its kana with the characters of Chinese.
    if counts["ja"] * 20 > counts["zh"]:
        counts["ja"] += counts["zh"]
        counts["zh"] = 0
    best = max(counts, key=lambda name: counts[name])
    if counts[best] * 2 < len(letters):
        return UNKNOWN
    neighbours = _NEIGHBOURS.get(best)
    if neighbours is not None and len(neighbours.findall(letters)) * 50 > len(letters):
        return UNKNOWN
    return best


def _by_words(words: Counter[str]) -> str:
    scores = list(_PRIOR)
    known = 0
    for word, count in words.items():
        row = _WORDS.get(word)
        if row is not None:
            known += count
            for at, value in enumerate(row):
                scores[at] += value * count
    if _lead(scores) < _ENOUGH:
        _add_looks(words, scores)
    total = sum(words.values())
    # A language that is not one of ours shares a few short words with each of them.
    if _lead(scores) < _MARGIN or (total >= 12 and known * 8 < total):
        return UNKNOWN
    return LANGUAGES[scores.index(max(scores))]


def _lead(scores: list[float]) -> float:
    first, second = sorted(scores)[-1:-3:-1]
    return first - second


def _add_looks(words: Counter[str], scores: list[float]) -> None:
    for word in words:
        if word in _WORDS or len(word) < 3:
            continue
        for at, weight, pattern in _PATTERNS:
            if pattern.search(word):
                scores[at] += weight
