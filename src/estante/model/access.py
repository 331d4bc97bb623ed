"""Who may read what: scopes, grants, and the claims they follow from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal


class Anyone(Enum):
    """The set of all reader keys of a tenant: the unit of intersection."""

    ANYONE = "*"

    def __repr__(self) -> str:
        return "ANYONE"


ANYONE: Final = Anyone.ANYONE
Readers = frozenset[str] | Literal[Anyone.ANYONE]
SEALED: Final[frozenset[str]] = frozenset()


def meet(left: Readers, right: Readers) -> Readers:
    """The readers that both sides admit: set intersection, with ANYONE as its unit."""
    if left is ANYONE:
        return right
    if right is ANYONE:
        return left
    return left & right


@dataclass(frozen=True, slots=True)
class Scope:
    """Who may read a text: a tenant, and reader keys within it.

    ``readers`` is ANYONE (everyone in the tenant), a set of keys, or the empty set, which is *sealed*: the
    shelf's owner alone.
    """

    tenant: str
    readers: Readers

    @property
    def shared(self) -> bool:
        """Whether everyone in the tenant may read it."""
        return self.readers is ANYONE

    def meet(self, other: Scope) -> Scope:
        """The most restrictive of both. Scopes of two tenants have no reader in common, so they seal."""
        if self.tenant != other.tenant:
            return Scope(self.tenant, SEALED)
        return Scope(self.tenant, meet(self.readers, other.readers))

    def label(self) -> str:
        """``shared``, ``private``, or the reader keys, for people."""
        if self.readers is ANYONE:
            return "shared"
        return "private" if not self.readers else ",".join(sorted(self.readers))


@dataclass(frozen=True, slots=True)
class Grant:
    """What one asker may read. Made by ``security.principals`` only.

    ``owner`` opens sealed texts of the same tenant; ``subject`` names the asker in the log.
    """

    tenant: str
    keys: frozenset[str]
    subject: str
    owner: bool = False

    def covers(self, scope: Scope) -> bool:
        """Whether the asker may read a text of this scope. Tenants are compared first."""
        if self.tenant != scope.tenant:
            return False
        return self.owner or scope.readers is ANYONE or not self.keys.isdisjoint(scope.readers)


@dataclass(frozen=True, slots=True)
class Claim:
    """One piece of evidence about who may read an item; ``readers`` is None when in doubt, and doubt seals."""

    readers: Readers | None
    reason: str
    evidence: str = ""
