"""English: stop words, and stems of folded words by Snowball (porter2)."""

from typing import Final

from estante.index.languages.lists import listed
from estante.index.languages.snowball import stemmer

STOP_WORDS: Final = frozenset(
    listed("""
    a an the and or but nor so yet if then else because as until while of at by for with about against between into
    through during before after above below to from up down in out on off over under again further once upon within
    without toward towards via per than that this these those such here there where when why how what which who whom
    whose all any both each every few more most much many other some no not only own same too very just also even ever
    never i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves one ones
    am is are was were be been being have has had having do does did doing done can could will would shall should may
    might must ought cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt arent wasnt werent mustnt shouldnt
    wont wouldnt aint ve ll let lets etc
    """)
)

_APART: Final = {
    word: line.split()[0]
    for line in """
    experienc experience experiences experienced experiencing
    internal internals internally
    international internationally
    organiz organize organizes organized organizing organizer organizers organization organizations organizational
    organiz organise organises organised organising organiser organisers organisation organisations organisational
    policy policies
    university universities
    """.strip().splitlines()
    for word in line.split()
}
"""Frequent words that Snowball gives the stem of an unrelated one: organization of organ, policy of police."""

_snowball = stemmer("en")


def stem(word: str) -> str:
    """The stem of a folded word; a stop word is its own, and no other word's."""
    if word in STOP_WORDS:
        return word
    found = _APART.get(word) or _snowball(word)
    return word if found in STOP_WORDS else found
