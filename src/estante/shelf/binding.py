"""Bindings: as whom, and how, a bookcase is asked through the contract. What a connection document says of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.secrecy import secret_paths
from estante.index import filters
from estante.model.access import Grant
from estante.model.asking import Mode, Where, refuse_mode
from estante.model.errors import EstanteError
from estante.model.wire import dumps
from estante.security import principals
from estante.shelf.local import PRIVATE, SHARED

EVERYONE: Final = "everyone"
READER: Final = "reader"
OWNER: Final = "owner"
ASKERS: Final = (EVERYONE, READER, OWNER)

ALL: Final = "all"
SHELVES: Final = (ALL, SHARED, PRIVATE)

SUBJECT: Final = "connector"
"""Who asks, for the log: a host behind a connector says no more of itself."""

DISTANCES: Final[Mapping[Mode, str]] = {"dense": "cosine", "lexical": "bm25", "hybrid": "hybrid"}
"""The names of what scores say. Fused ones are no metric that could be computed again."""

_LONGEST: Final = 4_000
"""Characters of a filter or of keys that a snapshot repeats; of longer ones it has the sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """As whom a bookcase is asked, on which shelf, in which mode, and by which filter.

    Without a word it is everyone, who may read what is shared and nothing else. Raises ``ConnectorRegistrationError``
    for what makes no sense together.
    """

    asker: str = EVERYONE
    keys: tuple[str, ...] = ()
    shelf: str = ALL
    mode: Mode = "hybrid"
    where: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        _refuse("asker", self.asker, ASKERS)
        _refuse("shelf", self.shelf, SHELVES)
        if (self.asker == READER) != bool(self.keys):
            raise ConnectorRegistrationError(
                f"asker is {self.asker!r} with {len(self.keys)} keys; a reader, and nobody else, holds keys"
            )
        if self.asker == EVERYONE and self.shelf == PRIVATE:
            raise ConnectorRegistrationError(
                "everyone is asking, and nothing on the private shelf is for everyone; "
                f"choose shelf {SHARED!r}, or say who asks: asker {OWNER!r}, or {READER!r} with keys"
            )
        with _refusals():
            refuse_mode(self.mode)
            self.grant("any")
            self.condition()
        try:
            dumps(dict(self.where))
        except (TypeError, ValueError) as error:
            told = "where holds what JSON does not know; write dates as texts"
            raise ConnectorRegistrationError(told) from error

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Binding:
        """The binding that parameters or a document describe; what they leave out is the default."""
        known: dict[str, Any] = {one.name: given[one.name] for one in fields(cls) if given.get(one.name) is not None}
        keys, where = known.pop("keys", ()), known.pop("where", {})
        if not isinstance(keys, list | tuple):
            told = f"keys is of type {type(keys).__name__}"
            raise ConnectorRegistrationError(f'{told}; give a list of them, such as ["finance"]')
        if not isinstance(where, Mapping):
            told = f"where is of type {type(where).__name__}"
            raise ConnectorRegistrationError(f'{told}; give a filter, such as {{"year": 2024}}')
        return cls(**known, keys=tuple(keys), where=dict(where))

    def document(self) -> dict[str, Any]:
        """The binding as a connection document holds it; ``of`` reads it back."""
        told: dict[str, Any] = {"asker": self.asker, "shelf": self.shelf, "mode": self.mode}
        if self.keys:
            told["keys"] = list(self.keys)
        if self.where:
            told["where"] = json.loads(dumps(dict(self.where)))
        return told

    def grant(self, tenant: str) -> Grant:
        """What the asker may read in a tenant."""
        return principals.owner(tenant) if self.asker == OWNER else principals.reader(tenant, self.keys, SUBJECT)

    def condition(self) -> Where | None:
        """The filter, parsed; None when there is none."""
        return filters.accept(dict(self.where)) if self.where else None

    def opens(self, shelf: str) -> bool:
        """Whether anything on this shelf can be the asker's to read."""
        return shelf == SHARED or self.asker != EVERYONE

    def reads_of(self, readers: Sequence[str]) -> bool:
        """Whether the asker may read what is for these readers."""
        return self.asker == OWNER or "*" in readers or not set(self.keys).isdisjoint(readers)

    def reads(self, shelf: str) -> bool:
        """Whether this shelf is asked."""
        return self.opens(shelf) and self.shelf in (ALL, shelf)

    @property
    def distance(self) -> str:
        """The name of what scores say."""
        return DISTANCES[self.mode]

    def filters(self) -> list[dict[str, Any]]:
        """What is always applied, for a host to show and never to apply again."""
        who = "Who is asking; what they may not read is never shown."
        told = [{"name": "asker", "description": who, "value": self.asker}]
        if self.shelf != ALL:
            told.append({"name": "shelf", "description": "The one shelf that is asked.", "value": self.shelf})
        if self.where:
            told.append({"name": "where", "description": "A filter of metadata.", "value": self.told_where()})
        return told

    def told_where(self) -> str:
        """The filter as text for people, or its sum where that would tell too much."""
        return bounded(dumps(dict(self.where)))

    def told_keys(self) -> str:
        """The keys as text, or their sum."""
        return bounded(dumps(sorted(self.keys)))


def bounded(text: str) -> str:
    """The text, or its sum when it is long or looks like a secret."""
    if len(text) <= _LONGEST and not secret_paths([json.loads(text)]):
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _refuse(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConnectorRegistrationError(f"{name} is {value!r}; choose one of {', '.join(choices)}")


@contextmanager
def _refusals() -> Iterator[None]:
    """Raises what Estante's own nouns refuse as what a connector refuses."""
    try:
        yield
    except EstanteError as error:
        raise ConnectorRegistrationError(f"{error.message}. {error.hint}") from error
