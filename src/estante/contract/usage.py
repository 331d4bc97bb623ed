"""How many tokens a call of a model took, read from whatever a provider answers with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_Path = tuple[str, ...]


def _paths(names: str) -> tuple[_Path, ...]:
    return tuple(tuple(name.split(".")) for name in names.split())


_PLACES: Final[dict[str, tuple[_Path, ...]]] = {
    "input_tokens": _paths(
        "input_tokens prompt_tokens promptTokens inputTokens prompt_token_count promptTokenCount prompt_eval_count"
    ),
    "output_tokens": _paths(
        "output_tokens completion_tokens completionTokens outputTokens candidates_token_count candidatesTokenCount"
        " eval_count"
    ),
    "cache_creation_input_tokens": _paths(
        "cache_creation_input_tokens cacheCreationInputTokens cache_creation cache_write_tokens cache_creation_tokens"
        " cacheWriteInputTokens cache_write_input_tokens input_token_details.cache_creation"
        " prompt_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_tokens"
        " prompt_tokens_details.cache_creation_input_tokens"
    ),
    "cache_read_input_tokens": _paths(
        "cache_read_input_tokens cacheReadInputTokens cache_read cached_tokens cache_read_tokens"
        " prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens input_token_details.cache_read"
        " promptTokensDetails.cachedTokens inputTokensDetails.cachedTokens prompt_cache_hit_tokens"
        " cached_content_token_count cachedContentTokenCount"
    ),
}
"""Where providers tell each number; the first that has one counts. A dot leads into a part."""

_WRITTEN_BY_AGE: Final = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""What Anthropic's ``cache_creation`` splits the written tokens into; together they are all of them."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call. None is "not reported", which is not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def to_dict(self) -> dict[str, int | None]:
        """The fields by their names, in order."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
        }

    @classmethod
    def from_mapping(cls, raw: Any) -> TokenUsage:
        """The usage that a mapping, or an object with attributes, tells in a provider's own names.

        Never raises. What is no count (a text, a switch, a negative number, not a number, infinity) is not reported.
        """
        counts = {name: _first_count(raw, places) for name, places in _PLACES.items()}
        if counts["cache_creation_input_tokens"] is None:
            counts["cache_creation_input_tokens"] = _written_by_age(_read(raw, "cache_creation"))
        return cls(**counts)


def token_usage_from_response(response: Any) -> TokenUsage:
    """The usage that a model's response tells: in ``usage_metadata``, in ``usage`` or in ``response_metadata``.

    The first that has any number counts. Never raises.
    """
    metadata = _read(response, "response_metadata")
    return _first_usage(
        (
            _read(response, "usage_metadata"),
            _read(response, "usage"),
            _read(metadata, "token_usage"),
            _read(metadata, "usage"),
        )
    )


def _first_usage(candidates: Iterable[object]) -> TokenUsage:
    empty = TokenUsage()
    usages = (TokenUsage.from_mapping(one) for one in candidates)
    return next((usage for usage in usages if usage != empty), empty)


def _first_count(raw: object, places: Iterable[_Path]) -> int | None:
    for place in places:
        value = raw
        for name in place:
            value = _read(value, name)
        count = _count(value)
        if count is not None:
            return count
    return None


def _written_by_age(parts: object) -> int | None:
    counts = [count for name in _WRITTEN_BY_AGE if (count := _count(_read(parts, name))) is not None]
    return sum(counts) if counts else None


def _read(source: object, name: str) -> object:
    """What a mapping has under a key, or an object as an attribute; None when it has neither."""
    if source is None:
        return None
    try:
        found = source.get(name) if isinstance(source, Mapping) else None
        return getattr(source, name, None) if found is None else found
    except Exception:  # noqa: BLE001  # Usage is a remark beside an answer: no provider's object may lose the answer.
        return None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A count that is no number would be compared with others and spoil every sum.
    return int(value) if (isinstance(value, int) or math.isfinite(value)) and value >= 0 else None


__all__ = ["TokenUsage", "token_usage_from_response"]
