"""The language of a text, told from its commonest words and its script."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

UNKNOWN: Final = "und"
LANGUAGES: Final = (
    *("pt", "en", "es", "fr", "de", "it"),
    *("ca", "cs", "da", "et", "eu", "fi", "ga", "hu", "id", "lt", "nl", "no", "pl", "ro", "sv", "tr"),
)
"""Those told by their words; others are told by their script."""

_OURS: Final = 6

_PIECE: Final = 1500
_MARGIN: Final = 1.6
_CERTAIN: Final = 4.0  # for all but the first languages
_FEW: Final = 3
_ENOUGH: Final = 40.0
_FLOOR: Final = 0.08
# Where nothing else decides, a text is rather in one of the first two languages.
_PRIOR: Final = (0.7, 0.7, *(0.0,) * (len(LANGUAGES) - 2))

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
    "ca": """
        de:50 la:30 i:30 el:25 que:25 a:22 en:17 els:15 per:14 les:12 un:12 del:12 una:10 amb:9 no:9 és:8 al:7 es:7
        com:6 dels:6 o:5 se:5 més:5 ha:4 són:3 aquest:3 aquesta:3 però:3 si:3 també:3 seva:2 seu:2 pot:2 fer:2 tot:2
        entre:2 ser:2 això:2 sobre:2 hi:3 ho:2 molt:1.5 quan:1.5 on:2 dos:1 sense:1 fins:1 des:2 tots:1 aquests va:3
        """,
    "cs": """
        a:30 v:20 je:18 se:18 na:17 že:10 to:10 s:8 z:9 do:8 o:7 pro:8 i:6 jsou:4 jako:4 k:4 za:4 by:4 ale:3 po:4
        od:3 není:2 nebo:4 ve:4 který:2 která:1.5 které:2 jeho:1.5 být:2 bude:2 tak:2 jen:1.5 také:1.5 až:1.5 při:3
        když:1.5 pokud:2 podle:1.5 než:1.5 jsem:2 byl:2 bylo:1.5 ze:2 si:3 pouze:1 může:1.5 tento:1 tato:1 toto:1
        jak:2 už:1
        """,
    "da": """
        og:30 i:26 at:24 er:18 en:16 det:17 til:16 på:13 for:14 den:13 af:16 de:12 med:11 som:10 der:12 et:9 har:7
        ikke:7 om:5 fra:5 var:5 kan:6 vi:3 jeg:4 han:4 så:4 ved:3 skal:2 men:4 eller:4 hvis:2 være:2 blev:2 også:2
        efter:2 når:2 denne:2 dette:1.5 nogle:1 bliver:1 sig:3 kun:1.5 hvor:2 mange end:1.5 mere:1.5 bruges filen
        """,
    "et": """
        ja:30 on:28 ei:12 et:12 see:7 kui:7 ka:7 oli:6 ta:5 mis:5 või:5 aga:4 nii:3 oma:5 siis:3 selle:3 kes:2
        seda:3 pole olla:1.5 võib:1.5 ainult kõik:1.5 sest mida:1.5 kuid:1.5 ning:5 pärast nende välja tema:2
        veel:1.5 üks:1.5 üle
        """,
    "eu": """
        eta:40 da:25 du:10 ez:8 ere:7 bat:12 izan:8 dira:8 den:6 zen:7 dute:4 egin:4 baina:3 hau:2 hori:2 edo:5
        dela:3 beste:3 egiten:2 diren:3 bere:4 batean:2 izango:1 zuen:3 baino:1 zituen:1 ziren:2 dituen:1 dago:2
        ditu:2 bi:1
        """,
    "fi": """
        ja:35 on:28 ei:9 se:8 että:9 oli:7 hän:5 ovat:5 myös:4 ole:3 mutta:3 kuin:4 joka:4 tai:6 jos:4 niin:3 kun:3
        vain:2 sen:4 tämä:3 tämän:1.5 jotka:2 voi:3 mukaan:2 kanssa:1.5 sekä:2 ollut:2 siitä:1 mitä:1 nyt:1 jo:2
        sitä:1 olla:1.5 käyttää:1 ne:1 jonka:1 mikä:1 kaikki:1.5 sitten:1 ennen:1 tulee:1 jossa:1 ettei
        """,
    "ga": """
        an:50 na:25 a:35 agus:22 ar:18 is:14 go:15 i:14 le:12 ní:6 bhí:7 sé:7 tá:9 do:9 ag:9 seo:6 sin:5 nó:4 mar:5
        leis:4 ach:3 chun:2 atá:4 don:2 den:2 gur:3 iad:2 siad:2 as:3 faoi:3 nach:2 bhfuil:2 sa:8 aon:2
        """,
    "hu": """
        a:60 az:25 és:22 hogy:10 nem:9 is:9 egy:12 van:4 ez:4 meg:3 csak:3 de:4 már:2 vagy:6 ha:4 azt:2 volt:3 be:2
        el:2 ki:2 kell:2 még:2 fel:1.5 után:1.5 ezt:1.5 minden:1.5 lehet:2 nincs:1 amely:2 szerint:1 által:1
        között:1 így:1 pedig:1 ezek:1 majd:1 mint:4 aki:1 ami:1.5 ezen:1 olyan:1 esetén:1 nélkül:1 fájl:1
        használható:1
        """,
    "id": """
        yang:30 dan:28 di:20 ini:9 itu:6 dengan:11 untuk:13 tidak:6 dari:13 dalam:11 akan:5 pada:10 juga:4 adalah:8
        ke:7 ada:3 karena:2 bisa:2 atau:6 oleh:5 sebagai:5 dapat:5 seperti:3 telah:3 sudah:1.5 lebih:2 tersebut:2
        anda:3 saya:2 mereka:2 kita:2 hanya:1.5 jika:2 satu:2 bahwa:2 secara:2 menjadi:2 tahun:2 digunakan:1
        """,
    "lt": """
        ir:40 yra:12 kad:8 į:10 iš:9 su:9 tai:7 kaip:7 bet:3 o:5 ne:4 ar:4 buvo:5 per:3 už:3 nuo:3 jis:2 prie:2
        dėl:2 tik:2 po:2 jau:1.5 taip:2 savo:3 labai:1 apie:2 kai:2 jei:1 dar:1.5 šis:1 arba:2 iki:2 jo:2 bus:1
        gali:2 metais:1
        """,
    "nl": """
        de:55 van:28 het:24 een:23 en:24 in:19 is:14 dat:12 op:10 te:12 zijn:8 met:8 voor:9 niet:8 aan:6 er:6 om:5
        ook:5 als:6 dan:4 maar:4 bij:4 nog:3 uit:3 door:5 over:3 naar:4 heeft:2 wordt:6 worden:4 deze:3 dit:4 die:9
        of:6 hij:4 ze:3 je:4 wij:1 kan:3 geen:2.5 meer:2 wat:2 werd:2 tot:3 hebben:1.5 was:5 u:4 kunnen:1 moet:1
        wel:1 alle:1 tussen:1 gebruikt:1 bestand:1
        """,
    "no": """
        og:30 i:28 det:18 er:17 på:16 en:16 som:15 til:14 for:14 å:14 av:14 med:11 at:10 den:11 har:8 ikke:7 de:9
        et:9 om:5 fra:5 var:5 kan:5 vi:4 jeg:4 han:4 så:4 men:4 skal:3 eller:4 hvis:1.5 være:2 ble:3 også:2 etter:2
        når:2 denne:2 dette:2 bare:1.5 noen:1 blir:2 seg:4 hvor:1.5 ved:3 bruk:1 filen
        """,
    "pl": """
        i:25 w:30 na:18 z:18 się:17 nie:14 do:15 to:9 że:8 jest:9 jak:5 o:7 po:4 tak:2 za:4 od:5 ale:3 czy:2 tylko:2
        już:1.5 może:2 przez:4 dla:4 są:4 oraz:3 być:2 ten:1.5 który:2 która:1 które:2 tym:2 lub:4 jego:2 jej:1
        ich:1.5 przy:2 można:1.5 także:1 jeśli:1.5 został:1 ma:2 był:2 a:6 ze:2 co:3 gdy:1 pliku:1 jako:2 tego:2
        """,
    "ro": """
        și:26 şi:20 de:45 în:22 a:22 la:15 nu:9 se:9 cu:10 că:7 pe:10 din:11 pentru:9 este:9 o:14 un:9 care:8 mai:5
        sau:5 să:10 ce:4 au:4 ca:4 fi:4 fost:2 al:4 sunt:4 ale:2 dar:2 prin:3 după:2 acest:1.5 această:1 dacă:2
        poate:1.5 lui:3 lor:1.5 între:1 fiind:0.5 numai:0.5 toate:1 cel:1.5 cea:1 unei:1 unui:1 către:1 fără:0.7
        când:1
        """,
    "sv": """
        och:30 i:26 att:24 det:15 som:18 en:17 på:15 är:14 av:15 för:14 med:12 till:12 den:12 har:8 de:9 inte:7 om:6
        ett:9 men:4 var:4 sig:4 från:5 vi:4 så:4 kan:5 när:2 eller:4 ska:2 vid:2 man:3 också:2 efter:2 alla:1.5
        blir:1.5 finns:1.5 detta:2 dessa:1 denna:1 hade:2 under:2 utan:1 jag:4 han:4 hur:1 här:1 skall:1 används:1
        filen:0.7
        """,
    "tr": """
        ve:30 bir:28 bu:14 da:8 de:9 için:10 ile:8 olarak:5 çok:3 daha:3 olan:3 ne:2 gibi:3 kadar:2 var:2 o:4
        değil:1.5 ise:2 ya:2 her:2 sonra:2 ancak:1 bütün:0.7 olduğu:1.5 veya:4 tarafından:1.5 böyle:0.7 iki:1.5
        şey:0.7 eğer:1 yok:0.7 en:2 mi:1 dosya:1 kullanılır:1 olur:1 üzere:0.7 diye:1 ki:1.5
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


def _table() -> dict[str, tuple[tuple[int, float], ...]]:
    """For each common word how much likelier it is in each language that has it than in the others."""
    shares: dict[str, dict[int, float]] = {}
    for language, text in _COMMON.items():
        for entry in text.split():
            word, _, share = entry.partition(":")
            shares.setdefault(word, {})[LANGUAGES.index(language)] = float(share or 1)
    return {
        word: tuple((at, math.log((share + _FLOOR) / _FLOOR)) for at, share in found.items())
        for word, found in shares.items()
    }


_WORDS: Final = _table()
_PATTERNS: Final = tuple((LANGUAGES.index(name), weight, re.compile(look)) for name, weight, look in _LOOKS)
# None of the first languages has these Latin letters.
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
    ("hy", re.compile("[\u0530-\u058f\ufb13-\ufb17]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
)
# Neighbours in a script: letters that the first language lacks, those that the neighbour alone has, those it lacks.
_NEIGHBOURS: Final = {
    "ru": (
        ("sr", re.compile("[јљњћђџ]"), re.compile("[ћђ]"), re.compile("[ќѓѕщыэъ]")),
        ("uk", re.compile("[іїєґ]"), re.compile("[їєґ]"), re.compile("[ўыэъ]")),
        (UNKNOWN, re.compile("[іїєґўјљњћђѓќ]"), re.compile(""), re.compile("$.")),
    ),
    "ar": (
        ("fa", re.compile("[پچژگکی]"), re.compile("[پچژگکی]"), re.compile("[ٹڈےں]")),
        (UNKNOWN, re.compile("[پچژگکیےٹڈ]"), re.compile(""), re.compile("$.")),
    ),
}
_OWN: Final = 50  # one in so many letters is a neighbour's


def language_of(text: str) -> str:
    """``pt``, ``en``, ``es``, ``fr``, ``de``, ``it``, a language known by its script, or ``und`` when unsure.

    Looks at the beginning, the middle and the end of a long text. The same text always gives the same answer.
    """
    sample = _sample(text).lower().replace("\u2019", "'")
    foreign = _NOT_LATIN.findall(sample)
    words = _WORD.findall(sample)
    if foreign and len(foreign) * 2 > sum(map(len, words)):
        return _by_script("".join(foreign))
    strange = not sample.isascii() and len(_STRANGE.findall(sample)) * 80 > len(sample)
    return _by_words(Counter(words), strange)


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
    for name, strange, own, foreign in _NEIGHBOURS.get(best, ()):
        enough = len(strange.findall(letters)) * _OWN > len(letters)
        if enough and len(own.findall(letters)) > 2 * len(foreign.findall(letters)):
            return name
    return best


def _by_words(words: Counter[str], strange: bool) -> str:
    scores = list(_PRIOR)
    known = [0] * len(scores)
    known_to_ours = 0
    for word, count in words.items():
        found = _WORDS.get(word, ())
        known_to_ours += count if found and found[0][0] < _OURS else 0
        for at, value in found:
            known[at] += count
            scores[at] += value * count
    ours, others = scores[:_OURS], scores[_OURS:]
    if not strange and _lead(ours) < _ENOUGH:
        _add_looks(words, ours)
    total = sum(words.values())
    best, other = max(ours), max(others)
    if strange or other > best + _MARGIN:
        at = _OURS + others.index(other)
        # Letters that no other has say more than words; and languages of long words have few common ones.
        sure = other > (0.0 if strange else best) + _CERTAIN and known[at] * (16 if strange else 8) >= total
        return LANGUAGES[at] if sure and _lead(others) >= _MARGIN and _words_of(at, words) >= _FEW else UNKNOWN
    at = ours.index(best)
    # A language that is none of these shares a few short words with each of them.
    if _lead(ours) < _MARGIN or (total >= 12 and known_to_ours * 8 < total):
        return UNKNOWN
    return LANGUAGES[at]


def _words_of(language: int, words: Counter[str]) -> int:
    """How many different words of more than a letter are common in the language."""
    return sum(len(word) > 1 and any(at == language for at, _ in _WORDS.get(word, ())) for word in words)


def _lead(scores: list[float]) -> float:
    first, second = sorted(scores)[-1:-3:-1]
    return first - second


def _add_looks(words: Counter[str], scores: list[float]) -> None:
    for word in words:
        known = _WORDS.get(word)
        if len(word) < 3 or (known and known[0][0] < _OURS):
            continue
        for at, weight, pattern in _PATTERNS:
            if pattern.search(word):
                scores[at] += weight
