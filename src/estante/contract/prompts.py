"""Declared prompts from template to message: everything about them, under one name, and the two functions that render.

A prompt is rendered from one template, one question and one block of chunks. Filling in is literal: braces in a
question or a block mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from estante.contract.errors import ContractValueError, PromptTemplateError
from estante.contract.models import RetrievedChunk
from estante.contract.rendered import (
    PromptCacheBreakpoint,
    PromptMessage,
    RenderedPrompt,
    assert_one_shot,
    block_sha256,
)
from estante.contract.templates import (
    CACHE_BREAKPOINT_AFTER_RAG_BLOCK,
    CACHE_BREAKPOINT_BEFORE_RAG_BLOCK,
    CACHE_BREAKPOINT_NONE,
    CACHE_BREAKPOINT_POSITIONS,
    CACHE_BREAKPOINT_SYSTEM_END,
    PROMPT_TEMPLATE_PLACEHOLDERS,
    QUERY_PLACEHOLDER,
    RAG_BLOCK_PLACEHOLDER,
    PromptTemplate,
    prompt_template_problems,
    template_sha256,
    validate_prompt_template,
    validate_prompt_templates,
)
from estante.contract.traces import GenerationTrace
from estante.contract.usage import TokenUsage, token_usage_from_response


def render_numbered_rag_block(chunks: Iterable[RetrievedChunk], *, include_chunk_ids: bool = True) -> str:
    """The chunks as ``[1] chunk_id=...`` and their text beneath, a blank line between them.

    A chunk without an id, or any chunk without ``include_chunk_ids``, has its number alone.
    """
    items = []
    for number, chunk in enumerate(chunks, start=1):
        shown = f" chunk_id={chunk.chunk_id}" if include_chunk_ids and chunk.chunk_id is not None else ""
        items.append(f"[{number}]{shown}\n{chunk.text}")
    return "\n\n".join(items)


def render_prompt(
    template: PromptTemplate,
    *,
    query: str,
    rag_block: str,
    chunk_ids: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> RenderedPrompt:
    """The messages of one question: the system message if there is one, and one user message.

    Raises ``PromptTemplateError`` when the template is not legal, ``ContractValueError`` when the question or the block
    is no text. An empty one is taken as it is.
    """
    validate_prompt_template(template)
    _check_texts(query, rag_block, chunk_ids)
    before, _, after = template.template.partition(RAG_BLOCK_PLACEHOLDER)
    # The two sides apart, so that a {query} in the block stays what it is.
    before, after = (side.replace(QUERY_PLACEHOLDER, query) for side in (before, after))
    system = template.system if template.system and template.system.strip() else None
    messages = [PromptMessage("system", system)] if system is not None else []
    messages.append(PromptMessage("user", f"{before}{rag_block}{after}"))
    assert_one_shot(messages)
    return RenderedPrompt(
        template_id=template.id,
        template_sha256=template.template_sha256,
        messages=tuple(messages),
        query=query,
        rag_block=rag_block,
        block_sha256=block_sha256(rag_block),
        chunk_ids=tuple(str(one) for one in chunk_ids),
        decoding=dict(template.decoding),
        cache_breakpoint=_breakpoint(template.cache_breakpoint, messages, len(before), len(rag_block)),
        metadata=dict(metadata or {}),
    )


def _check_texts(query: object, rag_block: object, chunk_ids: object) -> None:
    for name, value in (("query", query), ("rag_block", rag_block)):
        if not isinstance(value, str):
            raise ContractValueError(f"{name!r} is of type {type(value).__name__}; give text")
    if isinstance(chunk_ids, str):
        # Each of its letters would be an id.
        raise ContractValueError("'chunk_ids' is one text; give a list of ids")


def _breakpoint(
    position: str, messages: Sequence[PromptMessage], before: int, block: int
) -> PromptCacheBreakpoint | None:
    """Where the breakpoint of a template is in the messages made from it; lengths in code points."""
    user = len(messages) - 1
    places = {
        CACHE_BREAKPOINT_SYSTEM_END: (0, len(messages[0].content)),
        CACHE_BREAKPOINT_BEFORE_RAG_BLOCK: (user, before),
        CACHE_BREAKPOINT_AFTER_RAG_BLOCK: (user, before + block),
    }
    return PromptCacheBreakpoint(position, *places[position]) if position in places else None


__all__ = [
    "CACHE_BREAKPOINT_AFTER_RAG_BLOCK",
    "CACHE_BREAKPOINT_BEFORE_RAG_BLOCK",
    "CACHE_BREAKPOINT_NONE",
    "CACHE_BREAKPOINT_POSITIONS",
    "CACHE_BREAKPOINT_SYSTEM_END",
    "PROMPT_TEMPLATE_PLACEHOLDERS",
    "QUERY_PLACEHOLDER",
    "RAG_BLOCK_PLACEHOLDER",
    "GenerationTrace",
    "PromptCacheBreakpoint",
    "PromptMessage",
    "PromptTemplate",
    "PromptTemplateError",
    "RenderedPrompt",
    "TokenUsage",
    "assert_one_shot",
    "block_sha256",
    "prompt_template_problems",
    "render_numbered_rag_block",
    "render_prompt",
    "template_sha256",
    "token_usage_from_response",
    "validate_prompt_template",
    "validate_prompt_templates",
]
