"""The declared prompts of the reference pipeline: the question first, and the passages first."""

from __future__ import annotations

from typing import Final

from estante.contract.prompts import CACHE_BREAKPOINT_AFTER_RAG_BLOCK, CACHE_BREAKPOINT_NONE, PromptTemplate

_INSTRUCTIONS: Final = (
    "You are given numbered passages and a question. Base the answer on the passages and on nothing else; when they do "
    "not hold it, write that they do not. Mark every claim with the number of its passage, like [1]. Reply with one "
    'JSON object: "answer" is the text, "citations" the list of chunk_id values that the answer rests on.'
)

REFERENCE_PROMPT_TEMPLATES: Final = (
    PromptTemplate(
        id="question-first-json-v1",
        description="The question, then the passages; the reply is JSON with an answer and its citations.",
        template=_INSTRUCTIONS + "\n\nQuestion: {query}\n\nPassages:\n{rag_block}",
        cache_breakpoint=CACHE_BREAKPOINT_NONE,
    ),
    PromptTemplate(
        id="context-first-json-v1",
        description="The passages, then the question, so that what stands before it can be cached.",
        template=_INSTRUCTIONS + "\n\nPassages:\n{rag_block}\n\nQuestion: {query}",
        cache_breakpoint=CACHE_BREAKPOINT_AFTER_RAG_BLOCK,
    ),
)
"""The declared prompts; the first is the one that ``generate`` uses."""

DEFAULT_REFERENCE_PROMPT_ID: Final = REFERENCE_PROMPT_TEMPLATES[0].id


def reference_prompt_template(prompt_id: str) -> PromptTemplate:
    """The declared prompt of this id. Raises ``KeyError`` with the declared ids; there is no default."""
    for one in REFERENCE_PROMPT_TEMPLATES:
        if one.id == prompt_id:
            return one
    known = ", ".join(one.id for one in REFERENCE_PROMPT_TEMPLATES)
    raise KeyError(f"there is no prompt {prompt_id!r}; the declared ids are: {known}")
