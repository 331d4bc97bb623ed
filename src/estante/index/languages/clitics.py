"""Portuguese verbs with a pronoun behind or inside them, in folded words: `faze-lo`, `disse-me`, `da-lo-ia`."""

from collections.abc import Sequence
from typing import Final

_PRONOUNS: Final = frozenset("me te se lhe lhes nos vos o a os as lo la los las no na nas lho lha lhos lhas".split())
_BEHIND: Final = frozenset(("se", "lhe", "lhes"))
"""Those that are nothing else behind a hyphen; `read-me` and `mac-os` are no verbs."""

_SHORT: Final = {"lo": "o", "la": "a", "los": "os", "las": "as"}
"""The pronouns that stand behind a lost r, s or z, and as they are written alone."""

_ENDINGS: Final = frozenset("ei as a emos eis ao ia ias iamos ieis iam".split())
_IRREGULAR: Final = {
    "ei": "eis",
    "fa": "faz",
    "fe": "fez",
    "fi": "fiz",
    "di": "diz",
    "tra": "traz",
    "qui": "quis",
    "que": "quer",
    "pu": "pus",
}


def unfolded(parts: Sequence[str]) -> tuple[str, str] | None:
    """The verb and the pronoun of words that hyphens join, as they are written alone; None for any other words.

    `faze-lo` is fazer and o, `trata-se` trata and se, `da-lo-ia` daria and o, `far-se-a` fara and se.
    """
    if len(parts) == 2:
        return _behind(*parts)
    if len(parts) != 3 or parts[1] not in _PRONOUNS or parts[2] not in _ENDINGS:
        return None
    verb, pronoun, ending = parts
    if pronoun in _SHORT:
        return f"{verb}r{ending}", _SHORT[pronoun]
    return (verb + ending, pronoun) if verb.endswith("r") else None


def _behind(verb: str, pronoun: str) -> tuple[str, str] | None:
    if pronoun in _SHORT:
        return _restored(verb), _SHORT[pronoun]
    if pronoun == "nos" and verb.endswith("mo"):
        return verb + "s", pronoun
    return (verb, pronoun) if pronoun in _BEHIND else None


def _restored(verb: str) -> str:
    """The verb with the letter that it lost before -lo: mostly the r of an infinitive."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("mo"):
        return verb + "s"
    return verb + "r" if verb[-1] in "aeio" else verb
