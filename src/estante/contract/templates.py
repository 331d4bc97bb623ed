"""Declared prompts: the templates that a pipeline answers with, told so that others can render and measure them.

A template has one place for the block of chunks and at least one for the question. It is filled literally, by nothing
else, and it is one-shot: it holds no conversation and asks for none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from estante.contract.errors import ContractValueError, PromptTemplateError
from estante.contract.folding import folded
from estante.contract.oneshot import history_marks, is_history_name

RAG_BLOCK_PLACEHOLDER: Final = "{rag_block}"
QUERY_PLACEHOLDER: Final = "{query}"
PROMPT_TEMPLATE_PLACEHOLDERS: Final = (RAG_BLOCK_PLACEHOLDER, QUERY_PLACEHOLDER)

CACHE_BREAKPOINT_NONE: Final = "none"
CACHE_BREAKPOINT_SYSTEM_END: Final = "system_end"
CACHE_BREAKPOINT_BEFORE_RAG_BLOCK: Final = "before_rag_block"
CACHE_BREAKPOINT_AFTER_RAG_BLOCK: Final = "after_rag_block"
CACHE_BREAKPOINT_POSITIONS: Final = (
    CACHE_BREAKPOINT_NONE,
    CACHE_BREAKPOINT_SYSTEM_END,
    CACHE_BREAKPOINT_BEFORE_RAG_BLOCK,
    CACHE_BREAKPOINT_AFTER_RAG_BLOCK,
)

_ID: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLACEHOLDER: Final = re.compile(r"\{[^\W\d]\w*\}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ONE_SHOT: Final = "a declared prompt is one-shot: exactly one user message and no turns before it"
_NOT_CACHED: Final = (
    "A cache finds a prompt again by its exact prefix, and one with the question in it is another for every question. "
    "The parts are NOT reordered for you, because what is measured must be what is sent. Declare a separate variant "
    "whose template has the block first, or set cache_breakpoint='none'"
)


def template_sha256(*, system: str | None, template: str) -> str:
    """The SHA-256, 64 hex digits, of what a model is told: the two texts and nothing of what is said about them.

    Raises ``ContractValueError`` when one of them is no text, or has a lone surrogate.
    """
    for name, text in (("system", system), ("template", template)):
        if text is not None and (not isinstance(text, str) or _SURROGATE.search(text)):
            raise ContractValueError(f"{name!r} is no text that can be encoded as UTF-8; write it as a string")
    payload = {"system": system, "template": template, "version": 1}
    canonical = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One declared prompt. Building one checks nothing; ``validate()`` and ``render_prompt`` do.

    ``template`` is the user message, ``system`` the system message if there is one. ``cache_breakpoint`` is one of
    ``CACHE_BREAKPOINT_POSITIONS`` and a permission, not a promise. ``decoding`` is what goes to the model beside it.
    """

    id: str
    description: str
    template: str
    system: str | None = None
    cache_breakpoint: str = CACHE_BREAKPOINT_NONE
    decoding: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def template_sha256(self) -> str:
        """The SHA-256 of the two texts: another id or description leaves it as it is."""
        return template_sha256(system=self.system, template=self.template)

    def validate(self) -> None:
        """Raises ``PromptTemplateError`` with every problem there is."""
        validate_prompt_template(self)

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order, and the SHA-256."""
        return {
            "id": self.id,
            "description": self.description,
            "template": self.template,
            "system": self.system,
            "cache_breakpoint": self.cache_breakpoint,
            "decoding": dict(self.decoding),
            "metadata": dict(self.metadata),
            "template_sha256": self.template_sha256,
        }


def prompt_template_problems(template: object) -> list[str]:
    """Everything that makes a template illegal, always in the same order; empty when it is legal. Never raises."""
    if not isinstance(template, PromptTemplate):
        return [f"expected a PromptTemplate, got {type(template).__name__}"]
    problems = [*_id_problems(template.id), *_description_problems(template.description)]
    if not isinstance(template.template, str) or not template.template.strip():
        return [*problems, "'template' is empty; write the user message, with {rag_block} and {query}"]
    return [
        *problems,
        *_body_problems(template.template),
        *_system_problems(template.system),
        *_history_problems("template", template.template),
        *_history_problems("system", template.system),
        *_breakpoint_problems(template),
        *_rest_problems(template),
    ]


def validate_prompt_template(template: object) -> None:
    """Raises ``PromptTemplateError`` with every problem of the template."""
    problems = prompt_template_problems(template)
    if problems:
        shown = f" {template.id!r}" if isinstance(template, PromptTemplate) else ""
        raise PromptTemplateError(f"prompt template{shown} is no legal one-shot prompt: {'; '.join(problems)}")


def validate_prompt_templates(templates: Sequence[PromptTemplate]) -> tuple[PromptTemplate, ...]:
    """The templates, each legal and each under an id of its own. Raises ``PromptTemplateError`` when they are not."""
    if isinstance(templates, str | Mapping | PromptTemplate) or not hasattr(templates, "__iter__"):
        raise PromptTemplateError(
            f"prompt_templates() returned a {type(templates).__name__}; return a list of templates"
        )
    checked = tuple(templates)
    if not checked:
        raise PromptTemplateError(
            "prompt_templates() returned none; declare at least one, or do not offer the method at all"
        )
    places: dict[str, int] = {}
    for at, template in enumerate(checked):
        if not isinstance(template, PromptTemplate):
            raise PromptTemplateError(
                f"prompt_templates()[{at}] is of type {type(template).__name__}, not PromptTemplate"
            )
        template.validate()
        if template.id in places:
            raise PromptTemplateError(
                f"prompt_templates() declares the id {template.id!r} twice, at {places[template.id]} and at {at}; "
                "give each its own, because a prompt is found by its id"
            )
        places[template.id] = at
    return checked


# --- problems, part by part ------------------------------------------------------------------------------------


def _id_problems(name: object) -> Iterator[str]:
    if not isinstance(name, str) or not name.strip():
        yield "'id' is empty; give a name that hosts can store and find the prompt by"
    elif not _ID.fullmatch(name):
        yield (
            f"'id' {name!r} is not a stable id; use 1 to 64 of letters, digits, '.', '_' and '-', a letter or digit "
            "first, so that it can stand in a file's name and in an address"
        )


def _description_problems(description: object) -> Iterator[str]:
    if not isinstance(description, str) or not description.strip():
        yield "'description' is empty; say what this prompt does, for whoever chooses between several"


def _body_problems(body: str) -> Iterator[str]:
    blocks = body.count(RAG_BLOCK_PLACEHOLDER)
    if blocks != 1:
        yield f"'template' has {{rag_block}} {blocks} times; it must stand there exactly once"
    if QUERY_PLACEHOLDER not in body:
        yield "'template' has no {query}; the question would not reach the model"
    for name in sorted(_placeholders(body) - set(PROMPT_TEMPLATE_PLACEHOLDERS)):
        if is_history_name(name):
            yield f"'template' asks for {name}, which is conversation history; remove it: {_ONE_SHOT}"
        else:
            yield (
                f"'template' has the unknown placeholder {name}; only {{rag_block}} and {{query}} are filled in, so "
                "the model would be sent it as it stands"
            )


def _system_problems(system: object) -> Iterator[str]:
    if system is None:
        return
    if not isinstance(system, str):
        yield f"'system' is of type {type(system).__name__}; give text or None"
        return
    for name in sorted(_placeholders(system)):
        if is_history_name(name):
            yield f"'system' contains {name}, which is conversation history; remove it: {_ONE_SHOT}"
        else:
            yield (
                f"'system' contains {name}, and nothing is filled in there, so the model would be sent it as it "
                "stands; move it into 'template' or write it out"
            )


def _placeholders(text: str) -> set[str]:
    """Every ``{identifier}``, as it is written; looked for in the folded text, because accents may stand apart."""
    fold = folded(text)
    return {fold.original(*found.span()) for found in _PLACEHOLDER.finditer(fold.text)}


def _history_problems(name: str, text: object) -> Iterator[str]:
    if isinstance(text, str):
        for mark in history_marks(text):
            yield f"{name!r} contains {mark.found!r}, {mark.meaning}; remove it: {_ONE_SHOT}"


def _breakpoint_problems(template: PromptTemplate) -> Iterator[str]:
    position = template.cache_breakpoint
    if position not in CACHE_BREAKPOINT_POSITIONS:
        yield f"'cache_breakpoint' {position!r} is not one of {CACHE_BREAKPOINT_POSITIONS}"
    elif position == CACHE_BREAKPOINT_SYSTEM_END:
        if not isinstance(template.system, str) or not template.system.strip():
            yield (
                f"'cache_breakpoint' is {position!r} and there is no system message that could end; write one, or set "
                "cache_breakpoint='none'"
            )
    elif position != CACHE_BREAKPOINT_NONE:
        before, block, _ = template.template.partition(RAG_BLOCK_PLACEHOLDER)
        if block and QUERY_PLACEHOLDER in before:
            yield f"'cache_breakpoint' is {position!r} and {{query}} stands before it. {_NOT_CACHED}"


def _rest_problems(template: PromptTemplate) -> Iterator[str]:
    for name in ("decoding", "metadata"):
        value = getattr(template, name)
        if not isinstance(value, Mapping):
            yield f"{name!r} is of type {type(value).__name__}; give a dict"
    for name in ("description", "template", "system"):
        value = getattr(template, name)
        if isinstance(value, str) and _SURROGATE.search(value):
            yield f"{name!r} has a lone surrogate, which is no text; decode its bytes again"


__all__ = [
    "CACHE_BREAKPOINT_AFTER_RAG_BLOCK",
    "CACHE_BREAKPOINT_BEFORE_RAG_BLOCK",
    "CACHE_BREAKPOINT_NONE",
    "CACHE_BREAKPOINT_POSITIONS",
    "CACHE_BREAKPOINT_SYSTEM_END",
    "PROMPT_TEMPLATE_PLACEHOLDERS",
    "QUERY_PLACEHOLDER",
    "RAG_BLOCK_PLACEHOLDER",
    "PromptTemplate",
    "prompt_template_problems",
    "template_sha256",
    "validate_prompt_template",
    "validate_prompt_templates",
]
