"""A probe: one pipeline under examination, what is known of it so far, and what its calls cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from estante.contract.capabilities import supports
from estante.contract.checks.attempts import Attempt, Missing, attempt
from estante.contract.checks.rebuilding import Origin
from estante.contract.checks.report import FAIL
from estante.contract.checks.security import SecurityHarness
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec

T = TypeVar("T")

MOST_CHUNKS: Final = 2_000_000
"""Chunks beyond which a corpus read by pages is taken for endless, unless more are asked for."""

NO_SUCH_CHUNK: Final = "__rag_connector_validator_no_such_chunk__"
"""An id that no corpus has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a pipeline is examined.

    ``origin`` says how a fresh process makes the pipeline anew, None when nothing tells. ``owned`` says that whoever
    examines the pipeline made it, and therefore closes it.
    """

    sample_query: str | None = None
    top_k: int = 5
    connection: Mapping[str, Any] | None = None
    spec: ConnectorSpec | None = None
    skip_stability: bool = False
    most_chunks: int = MOST_CHUNKS
    origin: Origin | None = None
    harness: SecurityHarness | None = None
    owned: bool = False
    timeout: float | None = None


@dataclass
class Probe:
    """One pipeline under examination."""

    pipeline: RagPipeline
    setting: Setting = field(default_factory=Setting)
    calls: dict[str, list[float]] = field(default_factory=dict)
    """The seconds of every call, by method."""
    hung: set[str] = field(default_factory=set)
    """The methods that did not come back; they are not called again."""
    pending: str = ""
    """The method that is being called."""
    closing: list[Callable[[], None]] = field(default_factory=list)
    """What gives back what the checks hold, called when they are done."""
    _known: dict[str, Any] = field(default_factory=dict)

    def supports(self, name: str) -> bool:
        """Whether the pipeline's author wrote this method."""
        return attempt(supports, self.pipeline, name).value is True

    def call(self, name: str, *arguments: Any, **named: Any) -> Attempt:
        """What a method of the pipeline gives, timed. Raises ``Missing`` for a method that hung before."""
        if name in self.hung:
            raise Missing(f"{name}() did not come back in an earlier check")
        self.pending = name
        began = time.perf_counter()
        done = attempt(lambda: getattr(self.pipeline, name)(*arguments, **named))
        self.calls.setdefault(name, []).append(time.perf_counter() - began)
        self.pending = ""
        return done

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once. Raises ``Missing`` when an earlier attempt to make it did not end."""
        if name not in self._known:
            self._known[name] = Missing(f"{name} could not be had in an earlier check")
            try:
                self._known[name] = make()
            except Missing as missing:
                self._known[name] = missing
        known: T | Missing = self._known[name]
        if isinstance(known, Missing):
            hung = ", ".join(f"{one}()" for one in sorted(self.hung))
            raise Missing(
                f"{known}; {hung} did not come back" if hung and "come back" not in str(known) else str(known)
            )
        return known

    def failed(self, name: str) -> bool:
        """Whether what is known by this name was made, and its row says that it failed."""
        status: object = attempt(lambda: self._known[name].outcome.status).value
        return status == FAIL

    @contextmanager
    def standing_in(self, name: str, function: Callable[..., Any]) -> Iterator[bool]:
        """Puts a function in the place of a method of this one pipeline; gives whether that could be done."""
        own: dict[str, Any] = attempt(lambda: vars(self.pipeline)).value or {}
        before = own.get(name)
        put = attempt(setattr, self.pipeline, name, function).error is None
        try:
            yield put
        finally:
            if put and before is None:
                attempt(delattr, self.pipeline, name)
            elif put:
                attempt(setattr, self.pipeline, name, before)
