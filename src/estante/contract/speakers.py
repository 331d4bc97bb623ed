"""Who speaks on the lines of a text: the labels of a conversation with a machine, in English and Portuguese.

All texts here are folded ones. A label in front of one question (``User:``, ``Question:``) is no conversation; one in
front of an answer is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

_Span = tuple[int, int]

_REPLIER: Final = (
    r"(?:(?:the|your|virtual|digital|ai|chat|llm)[ _-]+){0,2}(?:assistant|ai|bot|chat[ _-]?bot|agent)"
    r"|(?:ai|llm|language)[ _-]+model"
    r"|(?:[oa] )?(?:assistente|ia|robo|chatbot)(?: virtual| digital| inteligente| d[ea] ia)?"
    r"|(?:agente|atendente)(?: virtual| digital| d[ea] ia)|agente"
    r"|(?:resposta|fala|mensagem|turno) d[oae] (?:assistente|ia|robo|bot|agente|modelo|chatbot)"
    r"|turno? \d{1,3} ?\((?:assistant|ai|bot|agent|model|assistente|ia|robo|agente|modelo)\)"
)
"""Whoever answers in a conversation with a machine, in a folded text."""
_MAYBE: Final = (
    r"model|modelo|robot|llm|claude|chat[ -]?gpt(?:[ -]?\w{1,5})?|gpt(?:[ -]?\w{1,5})?|gemini|copilot|llama|grok"
)
"""Names that products have, too."""
_ASKER: Final = r"user|human|usuari[oa]|utilizador|humano|customer|cliente|me|eu|cidada[o]?|visitante|visitor"
_QUESTION: Final = r"question|pergunta|q|p"
_ANSWER: Final = r"answer|response|reply|support|operator|you|a|resposta|suporte|atendente|operador|voce|r"
"""What stands between two lines of one asker in a conversation, and after the one question in a prompt."""

_HEAD: Final = r"(?:[\W\d_]|<(?!br)\w{1,6}>|[a-z]\d{1,3}(?!\w))*"
_TAIL: Final = (
    r"(?:['’]s)?(?:[ _-]+(?:response|reply|answer|message|turn|output|said|says|replied|answered))?"
    r"(?:\s{0,2}\d{1,3}|\s{0,2}\([^()]{0,30}\)|\[\d{1,3}\])?[*_`~)\]]*(?:</\w{1,6}>)?"
)
_SEPARATOR: Final = r"(?:\s{0,5}:(?!:|//)|>|\s?(?:»|→|⇒|=>|->))"
_LABEL: Final = re.compile(
    rf"{_HEAD}(?P<name>(?:(?P<reply>{_REPLIER})|(?P<maybe>{_MAYBE})|(?P<asker>{_ASKER})|(?P<question>{_QUESTION})"
    rf"|(?P<answer>{_ANSWER})){_TAIL}{_SEPARATOR}|[^\W\d_][\w '()/-]{{0,40}}:)",
    re.IGNORECASE,
)
_ALONE: Final = re.compile(
    rf"{_HEAD}(?P<name>(?:(?P<reply>{_REPLIER})|(?P<asker>{_ASKER}))[*_`~)\]:]*)\s*", re.IGNORECASE
)
_HEADING: Final = re.compile(rf"\s*#{{3,}}\W*(?:{_REPLIER})\W*", re.IGNORECASE)
_RESPONSE: Final = re.compile(r"\s*#{3,}\s*(?:response|resposta)\s*:", re.IGNORECASE)
_BRACKETS: Final = re.compile(rf"[\s>*#-]*[\[【]\s*(?:{_REPLIER})\s*[\]】](?!\()", re.IGNORECASE)
_ASKER_WITHIN: Final = re.compile(rf"\b(?:{_ASKER})\s?:|\[(?:user|human|usuari[oa]|utilizador)\]", re.IGNORECASE)
_REPLIER_WITHIN: Final = re.compile(
    r"\b(?:assistant|ai|bot|chatbot|agent|assistente|ia|robo|agente)\s?:"
    r"|\[(?:assistant|chatbot|assistente)\](?!\()",
    re.IGNORECASE,
)
_SPEAKS: Final = re.compile(
    r"\W*(?:hello|hi|hey|sure|certainly|of course|yes|no|ok|okay|great|i|i'm|i'll|you|your|thanks?|sorry|how can|it is"
    r"|it's|the answer|according to|based on|here is|here are|here's|as an ai"
    r"|ola|oi|claro|certamente|com certeza|sim|nao|eu|voce|bom dia|boa tarde|boa noite|obrigad[oa]|posso|desculpe"
    r"|segundo|de acordo com|a resposta|com base)\b",
    re.IGNORECASE,
)
"""How an answer begins, and the name of a product does not."""
_ONLY_BLANK: Final = re.compile(r"\W*\{\w+\}\W*")
# A line break may be written out, as in a text that was JSON.
_BREAK: Final = re.compile(r"\n|\\n|<br ?/?>", re.IGNORECASE)


class _Who(Enum):
    """What the label of a line is."""

    REPLY = "reply"
    MAYBE = "maybe"
    ASKER = "asker"
    QUESTION = "question"
    ANSWER = "answer"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Label:
    """The label at the head of a line, and what stands after it there or, if nothing does, on the next line."""

    who: _Who
    span: _Span
    content: str
    last: bool
    arrow: bool


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines that are not blank, each with where it starts."""
    breaks = [found.span() for found in _BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


def _labels(text: str) -> list[_Label]:
    lines = _lines(text)
    labels = []
    for at, (start, line) in enumerate(lines):
        found = _LABEL.match(line)
        # What ends a tag is no arrow.
        if found is None or (found["name"][-1] == ">" and line[: found.start("name")].endswith(("<", "</"))):
            continue
        who = next((_Who(name) for name, value in found.groupdict().items() if value and name != "name"), _Who.OTHER)
        rest = line[found.end() :].strip(" \t*_`~\"'")
        content = rest or (lines[at + 1][1] if at + 1 < len(lines) else "")
        span = (start + found.start("name"), start + found.end("name"))
        last = not rest and at == len(lines) - 1
        labels.append(_Label(who, span, content, last, found["name"][-1] in ">»"))
    return labels


def answer_label(text: str) -> _Span | None:
    """A line that somebody speaks who answers."""
    labels = _labels(text)
    for at, label in enumerate(labels):
        if label.who is _Who.REPLY or (label.who is _Who.MAYBE and _is_turn(label, labels[at - 1] if at else None)):
            return label.span
    return None


def _is_turn(label: _Label, before: _Label | None) -> bool:
    """Whether a label that may be a product's name is a speaker's: it follows one, speaks, or waits at the end."""
    if label.arrow or label.last or _SPEAKS.match(label.content):
        return True
    if before is None:
        return False
    # After a blank for the question, an answer cannot have been written yet; a product's name can.
    answered = before.who is _Who.QUESTION and not _ONLY_BLANK.fullmatch(before.content)
    return answered or before.who is _Who.ASKER


def exchange(text: str) -> _Span | None:
    """Somebody asks, somebody answers, and the first asks again; or both are named on one line or above their lines."""
    asked = answered = None
    for label in _labels(text):
        if label.who is _Who.ASKER:
            if answered is not None:
                return answered.span
            asked = label
        elif label.who is _Who.ANSWER and asked is not None:
            answered = label
    return _named_alone(text) or _on_one_line(text)


def _named_alone(text: str) -> _Span | None:
    askers: list[_Span] = []
    repliers: list[_Span] = []
    for start, line in _lines(text):
        if found := _ALONE.fullmatch(line):
            span = (start + found.start("name"), start + found.end("name"))
            (repliers if found["reply"] else askers).append(span)
    return repliers[0] if askers and repliers else None


def _on_one_line(text: str) -> _Span | None:
    for start, line in _lines(text):
        asker = _ASKER_WITHIN.search(line)
        replier = _REPLIER_WITHIN.search(line, asker.end()) if asker else None
        if replier is not None:
            return start + replier.start(), start + replier.end()
    return None


def answer_heading(text: str) -> _Span | None:
    """A heading or a bracket that opens an answer."""
    for start, line in _lines(text):
        found = _HEADING.fullmatch(line) or _RESPONSE.match(line) or _BRACKETS.match(line)
        if found is not None:
            return start, start + found.end()
    return None
