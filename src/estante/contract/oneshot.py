"""Marks of a conversation in a prompt that must have none: a declared prompt is one question, asked for the first time.

English and Portuguese. Texts are folded first, so that accents, invisible characters and look-alike letters hide
nothing. What only resembles a mark is left alone: a product's ``Model:``, a request not to ask a follow-up question, a
statement that there is no history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from estante.contract.folding import folded
from estante.contract.speakers import answer_heading, answer_label, exchange

_LONGEST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class HistoryMark:
    """One mark: the words as they stand in the text (shortened when long), and what they are."""

    found: str
    meaning: str


def history_marks(text: str) -> list[HistoryMark]:
    """The marks of a conversation in a text; of each kind the first, in a fixed order of kinds.

    A ``{placeholder}`` is none, whatever its name: ``is_history_name`` is asked about it.
    """
    fold = folded(text)
    masked = _PLAIN_BLANK.sub(lambda found: f"{{{'_' * (len(found[0]) - 2)}}}", fold.text)
    marks = []
    for meaning, find in _KINDS:
        span = find(masked)
        if span is not None:
            shown = " ".join(fold.original(*span).split())
            cut = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
            marks.append(HistoryMark(cut, meaning))
    return marks


_Span = tuple[int, int]
_Find = Callable[[str], _Span | None]

# --- names of placeholders -------------------------------------------------------------------------------------

_NAME_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HISTORY_WORDS: Final = frozenset(
    (
        "history histories conversation conversations messages turns transcript dialogue dialog memory chathistory"
        " historico historicos conversa conversas mensagens turnos transcricao dialogo memoria"
    ).split()
)
_HISTORY_NAMES: Final = frozenset(
    "chat chatlog batepapo previousanswers priorreplies interacoes respostasanteriores".split()
)


def is_history_name(name: str) -> bool:
    """Whether a placeholder of this name asks for a conversation: ``chat_history``, ``mensagensAnteriores``."""
    words = [word.lower() for word in _NAME_PARTS.findall(folded(name).text)]
    return not _HISTORY_WORDS.isdisjoint(words) or "".join(words) in _HISTORY_NAMES


_OTHER_BLANKS: Final = re.compile(
    r"\{\{?[-~]?\s*(?P<a>[\w.]+)\s*(?:[|!\[][^{}\n]{0,80})?[-~]?\}"
    r"|\{%-?\s*(?:for\s+\w+\s+in|if)\s+(?P<b>[\w.]+)"
    r"|\{\{[#^/]\s*(?:each\s+|if\s+|with\s+)?(?P<c>[\w.]+)"
    r"|%\((?P<d>\w+)\)[sd]|\$(?P<e>\w+)|<<(?P<f>\w+)>>|\[\[(?P<g>\w+)\]\]|<%=?\s*(?P<h>\w+)\s*%>"
)
_PLAIN_BLANK: Final = re.compile(r"\{[^\W\d]\w*\}")


def _other_blank(text: str) -> _Span | None:
    """A place for a conversation in the manner of another template language."""
    found = _OTHER_BLANKS.finditer(text)
    return next((one.span() for one in found if is_history_name(one[one.lastgroup or 0])), None)


# --- prose -----------------------------------------------------------------------------------------------------

_TALK: Final = r"conversation|chat|dialogue|dialog|discussion|exchange"
_CONVERSA: Final = r"conversa|dialogo|chat|bate-papo|discussao"
_WHOSE: Final = r"user|assistant|chat|ai|bot|model|human|customer|conversation(?:al)?|of|your|my|our|the|and|or"

_NEGATED: Final = re.compile(r"\b(?:not|never|don't|cannot|nao|nunca|nem|jamais)\b[^.!?;\n]*$", re.IGNORECASE)
_ABSENT: Final = re.compile(
    r"(?:(?:^|[.!?:;,(\n]\s*|\b(?:is|are|was|has|have|had|with|be|there's|contains?|carries|gets?|sees?|assume|or|and)\s+)"
    r"(?:no)|\b(?:without|zero|lacks?|independent(?:ly)?\s+of))\s+"
    r"(?:(?:any|all|the|an?|other|access\s+to|knowledge\s+of|memory\s+of)\s+)*$",
    re.IGNORECASE,
)
_AUSENTE: Final = re.compile(
    r"\b(?:sem|nao\s+(?:ha|existem?|tem|temos|possui)|nenhuma?|independentemente\s+d[aeo]s?)\s+"
    r"(?:(?:nenhuma?|qualquer|quaisquer|acesso\s+a[os]?|conhecimento\s+d[aeo]s?|[ao]s?|uma?)\s+)*$",
    re.IGNORECASE,
)
_ASKED_FOR: Final = re.compile(
    r"\b(?:ask|asking|pose|posing|suggest|suggesting|offer|offering|propose|proposing|(?:end|ending|close|finish)\s+with"
    r"|generate|write|add|append|include|invite|requires?|needs?)"
    r"(?:\s+(?:me|them|the\s+(?:user|customer|reader)|an?|any|one|another|at\s+most|up\s+to|only|single|short|brief"
    r"|relevant|clarifying))*\s+$"
    r"|\b(?:faca|fazer|fazendo|facas|pergunte|sugira|sugerir|sugerindo|proponha|propor|ofereca|oferecer|inclua|incluir"
    r"|acrescente|(?:termine|encerre|conclua|finalize)\s+com|formule|formular|gere|gerar|escreva|precisa\s+de|exige)"
    r"(?:\s+(?:uma?|nenhuma|qualquer|outra|so|apenas|no\s+maximo|ao\s+(?:usuario|cliente|leitor)|unica|breve|curta))*\s+$",
    re.IGNORECASE,
)
_BY_THEM: Final = re.compile(
    r"\b(?:users?|customers?|humans?|clients?|people|they|he|she|usuari[oa]s?|clientes?)\b(?!\s+(?:an?|any|one|uma?)\b)"
    r"[^.!?;\n]{0,25}$",
    re.IGNORECASE,
)
_BACK: Final = 80
"""How far before a mark its sentence is looked at."""


def _never(_match: re.Match[str]) -> bool:
    return False


def _before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - _BACK) : match.start()]


def _absent(match: re.Match[str]) -> bool:
    """Whether the text says that there is none: "there is no conversation history"."""
    found = _ABSENT.search(_before(match))
    return found is not None and not _NEGATED.search(_before(match)[: found.start()])


def _ausente(match: re.Match[str]) -> bool:
    """The same in Portuguese, where the English "no" is "in the"."""
    found = _AUSENTE.search(_before(match))
    return found is not None and not _NEGATED.search(_before(match)[: found.start()])


def _to_be_written(match: re.Match[str]) -> bool:
    """Whether the question is one to ask, or not to ask, and not one that was asked."""
    found = _ASKED_FOR.search(_before(match))
    if found is not None:
        return not _BY_THEM.search(_before(match)[: found.start()])
    return _absent(match) or _ausente(match)


def _forbidden(match: re.Match[str]) -> bool:
    return _NEGATED.search(_before(match)) is not None


def _first(
    pattern: str, *, unless: Callable[[re.Match[str]], bool] = _never, whole: bool = True, exact: bool = False
) -> _Find:
    """Finds the first match that counts; ``whole`` words only, and in any case unless ``exact``."""
    # Letters alone end a word here, because chat_history is two of them.
    bounded = rf"(?<![^\W\d_])(?:{pattern})(?![^\W\d_])" if whole else pattern
    compiled = re.compile(bounded, 0 if exact else re.IGNORECASE)

    def find(text: str) -> _Span | None:
        return next((match.span() for match in compiled.finditer(text) if not unless(match)), None)

    return find


def _any(*finds: _Find) -> _Find:
    """The earliest of what these find."""

    def find(text: str) -> _Span | None:
        return min(_spans(finds, text), default=None)

    return find


def _spans(finds: Sequence[_Find], text: str) -> Iterator[_Span]:
    for one in finds:
        span = one(text)
        if span is not None:
            yield span


_REFERENCE: Final = "a reference to "

_HISTORY: Final = _any(
    _first(r"(?:chat|conversation(?:al)?|message|dialogue|dialog)[\s_-]*history", unless=_absent),
    _first(
        rf"history\s+of\s+(?:(?:the|this|our|your|all|previous)\s+)*(?:{_TALK}|messages|turns)",
        unless=_absent,
    ),
    _first(
        r"historicos?[\s_-]+(?:(?:d[aeo]s?|dest[ae]|dess[ae]|com\s+[ao])[\s_-]+)?(?:noss[ao]s?[\s_-]+)?"
        rf"(?:{_CONVERSA}|conversas|mensagens|interacoes|turnos|conversacional)",
        unless=_ausente,
    ),
)
_SO_FAR: Final = _any(
    _first(rf"(?:{_TALK}|messages?)\s+so\s+far", unless=_absent),
    _first(
        rf"(?:{_CONVERSA}|mensagens|perguntas|respostas|turnos|interacao|interacoes|tudo|dit[ao]s?|dissemos|disse"
        r"|falad[ao]s?|falamos|discutid[ao]s?|discutimos|conversad[ao]s?|conversamos|perguntad[ao]s?|perguntei"
        r"|respondid[ao]s?|tratamos|combinamos|combinad[ao]s?|vimos)\s+(?:[a-z]+\s+){0,4}ate\s+(?:aqui|agora)",
        unless=_ausente,
    ),
    _first(rf"(?:{_CONVERSA})\s+(?:[a-z]+\s+){{0,3}}ate\s+(?:o\s+(?:momento|presente)|este\s+ponto)", unless=_ausente),
    _first(rf"ate\s+(?:aqui|agora|o\s+momento)\s*,?\s+(?:n[ao]|nest[ae]|ness[ae]|dest[ae])\s+(?:{_CONVERSA})"),
)
_EARLIER_IN: Final = _any(
    _first(rf"earlier\s+in\s+(?:the|this|our|your)\s+(?:{_TALK})"),
    _first(
        r"(?:anteriormente|antes|mais\s+cedo|no\s+(?:inicio|comeco)|acima|ja\s+\w+)\s*,?\s+"
        r"(?:n[ao]|d[ao]|nest[ae]|ness[ae]|dest[ae]|dess[ae]|em)\s+(?:nossa\s+|presente\s+)?"
        rf"(?:{_CONVERSA})"
    ),
)
_ABOVE: Final = _any(
    _first(r"(?:the\s+)?(?:conversation|dialogue|dialog|chat|exchange)\s+above", unless=_absent),
    _first(r"above\s+(?:conversation|dialogue|dialog|chat|exchange)", unless=_absent),
    _first(rf"(?:{_CONVERSA}|mensagens|troca)\s+acima", unless=_ausente),
)
_PREVIOUS: Final = _any(
    _first(
        rf"(?:previous|prior|earlier|preceding|past)\s+(?:(?:{_WHOSE})\s+){{0,4}}"
        r"(?:turns?|messages?|exchanges?|conversation|repl(?:y|ies)|responses?)",
        unless=_absent,
    ),
    _first(
        rf"(?:previous|prior|earlier|preceding)\s+(?:(?:{_WHOSE})\s+){{0,4}}"
        r"(?:answers?|questions?|dialogue|dialog|chat|discussion|queries)",
        unless=_absent,
    ),
    _first(r"(?:your|my|our|user's|assistant's)\s+last\s+(?:answer|message|reply|response|question|turn)"),
    _first(
        r"(?:mensage(?:m|ns)|turnos?|respostas?|trocas?|interac(?:ao|oes)|falas?|perguntas?|conversa|dialogo|chat|bate-papo)\s+"
        r"(?:d[aeo]s?\s+(?:usuari[oa]|assistente|cliente|chat|conversa|ia|modelo)\s+)?"
        r"(?:anterior(?:es)?|previ[ao]s?|precedentes?|passad[ao]s?)",
        unless=_ausente,
    ),
    _first(r"(?:anteriores|previ[ao]s)\s+(?:mensagens|respostas|perguntas|turnos|interacoes)", unless=_ausente),
    _first(r"(?:sua|tua|minha|nossa)s?\s+ultimas?\s+(?:mensage(?:m|ns)|respostas?|perguntas?|interacao)"),
)
_FOLLOW_UP: Final = _any(
    _first(r"follow[\s-]?up\s+question", unless=_to_be_written),
    _first(r"pergunta\s+de\s+(?:acompanhamento|seguimento|continuacao|follow[\s-]?up)", unless=_to_be_written),
)
_DISSE: Final = (
    "disse|dissemos|falou|falei|falamos|mencionou|mencionei|respondeu|perguntou|perguntei|explicou|informou|conversamos"
    "|discutimos"
)
_SAID: Final = _any(
    _first(
        r"(?:you|i|we)\s+(?:(?:just|have|had|already)\s+)*"
        r"(?:said|told|asked|answered|discussed|explained|replied|mentioned|wrote|talked|spoke)\s+(?:\w+\s+){0,2}"
        r"(?:earlier|before|previously|last\s+time)"
    ),
    _first(
        r"(?:you|i|we)\s+(?:previously|earlier)\s+(?:said|told|asked|answered|discussed|explained|replied|mentioned)"
    ),
    _first(r"(?:earlier|previously|before)\s*,?\s+(?:you|i|we)\s+(?:said|told|asked|answered|discussed|mentioned)"),
    _first(r"as\s+(?:we\s+(?:discussed|said|agreed)|you\s+(?:said|told|answered))"),
    _first(
        rf"(?:voce|eu|nos|a\s+gente|ja)\s+(?:ja\s+|me\s+|te\s+|lhe\s+)*(?:{_DISSE})\s+(?:\w+\s+){{0,2}}"
        r"(?:antes|anteriormente|mais\s+cedo)"
    ),
    _first(rf"(?:anteriormente|antes|mais\s+cedo)\s*,?\s+(?:voce|eu|nos)\s+(?:me\s+|te\s+|lhe\s+)?(?:{_DISSE})"),
    _first(r"(?:como|conforme)\s+(?:ja\s+)?(?:conversamos|discutimos|combinamos|falamos|dissemos)"),
)
_GOES_ON: Final = _any(
    _first(
        r"(?:continue|continuing|resume|carry\s+on|pick\s+up)\s+(?:with\s+)?(?:the|this|our|your)\s+"
        r"(?:conversation|chat|dialogue|discussion)",
        unless=_forbidden,
    ),
    _first(
        r"(?:continu[ae]r?|continuando|retome|retomar|prossiga|prosseguir|de\s+continuidade)\s+(?:com\s+)?"
        r"(?:[ao]|ess[ae]|est[ae]|nossa)\s+(?:nossa\s+|presente\s+)?(?:conversa|dialogo|chat|bate-papo)",
        unless=_forbidden,
    ),
)

# --- marks of machines -----------------------------------------------------------------------------------------

_TAG: Final = _any(
    _first(
        r"</?(?:assistant|assistente|ai|ia|bot|chatbot|robo)(?:[ _-]?(?:message|response|reply|turn|answer))?"
        r"(?:\s[^<>]{0,80})?/?>",
        whole=False,
    ),
    _first(
        r"</?(?:history|historico|turns|turnos|[a-z]+[_-]history|(?:previous|prior|past)[_-]\w{1,20}"
        r"|historico[_-]\w{1,30}|\w{1,20}[_-]anteriore?s?)(?:\s[^<>]{0,80})?/?>",
        whole=False,
    ),
)
_DELIMITER: Final = _any(
    _first(r"<\|[^|<>\n]{1,40}\|>", whole=False),
    # Small letters are an institution.
    _first(r"\[\s?/?INST\s?\]", whole=False, exact=True),
    _first(r"<</?SYS>>|</?(?:start|end)_of_turn>", whole=False),
    _first(r"\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]", whole=False, exact=True),
)
_QUOTE: Final = "\\\\?[\"'“”]"
_ROLES: Final = "assistant|ai|bot|chatbot|model|gpt|chatgpt|agent|assistente|ia|robo|agente|modelo"
_ROLE: Final = _any(
    _first(
        rf"(?:{_QUOTE})?(?:role|from|sender|author|speaker|papel|autor|remetente)(?:{_QUOTE})?\s{{0,5}}[:=]\s{{0,5}}{_QUOTE}"
        rf"(?:{_ROLES}){_QUOTE}",
        whole=False,
    ),
    _first(rf"type{_QUOTE}\s{{0,5}}[:=]\s{{0,5}}{_QUOTE}(?:ai|aimessage){_QUOTE}", whole=False),
    # Without quotes it may be a role to play, so what is said must stand beside it.
    _first(
        rf"(?:role|papel)\s{{0,5}}[:=]\s{{0,5}}(?:{_ROLES})\s{{0,5}}[,;\n]\s{{0,20}}"
        r"(?:content|text|message|conteudo|mensagem|texto)\s{0,5}[:=]"
    ),
    _first(r"\b(?:ai|assistant)message\s?\(", whole=False),
    _first(r"\\?[\"'](?:assistant|assistente)\\?[\"']\s{0,5}:", whole=False),
)

_KINDS: Final[tuple[tuple[str, _Find], ...]] = (
    ("the label of an assistant's turn, which only a transcript has", answer_label),
    ("the tag of an assistant's turn or of a history", _TAG),
    ("a delimiter of a chat template", _DELIMITER),
    ("an assistant's turn as data", _ROLE),
    ("the heading of an answer that was given", answer_heading),
    ("an exchange of turns", exchange),
    ("a place for a conversation history", _other_blank),
    (f"{_REFERENCE}conversation history", _HISTORY),
    (f"{_REFERENCE}the conversation so far", _SO_FAR),
    (f"{_REFERENCE}what came earlier in the conversation", _EARLIER_IN),
    (f"{_REFERENCE}a conversation above the prompt", _ABOVE),
    (f"{_REFERENCE}earlier turns", _PREVIOUS),
    ("a follow-up question, which needs a turn to follow", _FOLLOW_UP),
    (f"{_REFERENCE}something said before", _SAID),
    ("a conversation that goes on", _GOES_ON),
)

__all__ = ["HistoryMark", "history_marks", "is_history_name"]
