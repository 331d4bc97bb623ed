"""Rendered prompts: the messages that go to a model, and how much of them a cache may keep."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from estante.contract.errors import ContractValueError, PromptTemplateError


def sha256_of(text: str | None, what: str) -> str:
    """The SHA-256, 64 hex digits, of a text in UTF-8; None counts as empty.

    Raises ``ContractValueError`` when it is no text, or has a lone surrogate; ``what`` names it there.
    """
    if text is not None and not isinstance(text, str):
        raise ContractValueError(f"{what} must be text, got {type(text).__name__}; convert it to a string")
    try:
        return hashlib.sha256((text or "").encode("utf-8")).hexdigest()
    except UnicodeEncodeError as error:
        reason = f"the lone surrogate U+{ord(error.object[error.start]):04X} at character {error.start}"
    # Not from the error, which would tell the whole text.
    raise ContractValueError(f"{what} has {reason}, which is no text; decode its bytes again, or leave it out")


def block_sha256(text: str | None) -> str:
    """The SHA-256, 64 hex digits, of a block of chunks as a prompt shows it. Raises as ``sha256_of`` does."""
    return sha256_of(text, "the block")


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message to a model. In a prompt of one turn the role is ``system`` or ``user``."""

    role: str
    content: str

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class PromptCacheBreakpoint:
    """Up to where a prompt is the same for every question: ``char_offset`` characters into one of its messages."""

    position: str
    message_index: int
    char_offset: int

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order."""
        return {"position": self.position, "message_index": self.message_index, "char_offset": self.char_offset}


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A declared prompt filled with one question and one block, ready to be sent, and what it was made from."""

    template_id: str
    template_sha256: str
    messages: tuple[PromptMessage, ...]
    query: str
    rag_block: str
    block_sha256: str
    chunk_ids: tuple[str, ...] = ()
    decoding: Mapping[str, Any] = field(default_factory=dict)
    cache_breakpoint: PromptCacheBreakpoint | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system_message(self) -> PromptMessage | None:
        """The system message, if there is one."""
        return next((message for message in self.messages if message.role == "system"), None)

    @property
    def user_message(self) -> PromptMessage:
        """The user message. Raises ``PromptTemplateError`` when there is none."""
        for message in self.messages:
            if message.role == "user":
                return message
        raise PromptTemplateError("the rendered prompt has no user message; make prompts with render_prompt()")

    @property
    def text(self) -> str:
        """All messages as one text, a blank line between them: what an answer calls its ``hydrated_prompt``."""
        return "\n\n".join(message.content for message in self.messages)

    def cacheable_prefix(self) -> str | None:
        """What stands before the breakpoint, the messages joined without anything between; None without one."""
        if self.cache_breakpoint is None:
            return None
        index, offset = self.cache_breakpoint.message_index, self.cache_breakpoint.char_offset
        before = [message.content for message in self.messages[:index]]
        return "".join([*before, self.messages[index].content[:offset]])

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names, in order; messages and breakpoint as dicts, tuples as lists."""
        return {
            "template_id": self.template_id,
            "template_sha256": self.template_sha256,
            "messages": [message.to_dict() for message in self.messages],
            "query": self.query,
            "rag_block": self.rag_block,
            "block_sha256": self.block_sha256,
            "chunk_ids": list(self.chunk_ids),
            "decoding": dict(self.decoding),
            "cache_breakpoint": self.cache_breakpoint.to_dict() if self.cache_breakpoint else None,
            "metadata": dict(self.metadata),
        }


def assert_one_shot(messages: Sequence[PromptMessage]) -> None:
    """Raises ``PromptTemplateError`` unless this is one question: at most one system message, then one user message."""
    roles = []
    for at, message in enumerate(messages):
        role = getattr(message, "role", None)
        if not isinstance(role, str):
            raise PromptTemplateError(f"message {at} is of type {type(message).__name__}; give a PromptMessage")
        roles.append(role)
    reason = _not_one_shot(roles)
    if reason:
        raise PromptTemplateError(f"{reason}; a declared prompt is one-shot: one optional system message, one question")


def _not_one_shot(roles: list[str]) -> str:
    """Why messages of these roles are not one question asked once; empty when they are."""
    answered = [at for at, role in enumerate(roles) if role == "assistant"]
    if answered:
        return f"the prompt has an assistant turn, at {answered}"
    if roles.count("user") != 1:
        return f"the prompt has {roles.count('user')} user message(s) and needs exactly one (its roles: {roles})"
    if roles.count("system") > 1:
        return f"the prompt has {roles.count('system')} system messages and may have one"
    if "system" in roles and roles.index("system") > roles.index("user"):
        return "the system message follows the user message and must come first"
    others = sorted({repr(role) for role in roles if role not in ("system", "user")})
    return (
        f"the prompt has messages of the role {', '.join(others)}, which is neither system nor user" if others else ""
    )


__all__ = [
    "PromptCacheBreakpoint",
    "PromptMessage",
    "RenderedPrompt",
    "assert_one_shot",
    "block_sha256",
    "sha256_of",
]
