"""Traces: what went to a model and what came back, so that an answer can be judged by what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from estante.contract.rendered import PromptMessage, RenderedPrompt
from estante.contract.usage import TokenUsage

TRACE_SCHEMA: Final = "rag-connector.generation-trace.v1"
"""The name of the trace's form, the same as rag-connector's, because the form is."""


@dataclass(frozen=True, slots=True)
class GenerationTrace:
    """One call of a model with a rendered prompt.

    ``decoding`` is what was in effect. ``cache_breakpoint_applied`` tells "declared and not applied" from "applied and
    missed". A failure while the answer was written is ``error``.
    """

    prompt: RenderedPrompt
    response: str = ""
    model: str | None = None
    decoding: Mapping[str, Any] = field(default_factory=dict)
    usage: TokenUsage = field(default_factory=TokenUsage)
    cache_breakpoint_applied: bool = False
    error: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        """The messages that were sent."""
        return self.prompt.messages

    @property
    def template_id(self) -> str:
        """The id of the declared prompt."""
        return self.prompt.template_id

    @property
    def template_sha256(self) -> str:
        """The SHA-256 of the declared prompt."""
        return self.prompt.template_sha256

    @property
    def block_sha256(self) -> str:
        """The SHA-256 of the block of chunks that was shown."""
        return self.prompt.block_sha256

    def to_dict(self) -> dict[str, Any]:
        """The form ``rag-connector.generation-trace.v1``; JSON, as far as decoding and metadata are."""
        return {
            "schema": TRACE_SCHEMA,
            "prompt": self.prompt.to_dict(),
            "response": self.response,
            "model": self.model,
            "decoding": dict(self.decoding),
            "usage": self.usage.to_dict(),
            "cache_breakpoint_applied": self.cache_breakpoint_applied,
            "error": self.error,
            "metadata": dict(self.metadata),
        }


__all__ = ["TRACE_SCHEMA", "GenerationTrace"]
