"""From evidence to scope: who may read an item, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from estante.model.access import ANYONE, SEALED, Claim, Readers, Scope, meet
from estante.model.content import Item
from estante.model.ports import ScopeRule

_NOTHING: Final = Claim(None, "nothing says who may read it")


def resolve(item: Item, tenant: str, rules: Sequence[ScopeRule] = ()) -> Scope:
    """The scope in which all evidence agrees: the readers that every claim admits.

    No claim, a doubt and a rule that fails all seal, so one more claim never widens a scope.
    """
    readers: Readers = ANYONE
    for claim in claims_of(item, rules):
        readers = meet(readers, _readers(claim))
    return Scope(tenant, readers)


def claims_of(item: Item, rules: Sequence[ScopeRule] = ()) -> tuple[Claim, ...]:
    """All the evidence about an item, never empty: its own claims, then what each rule says of it.

    A rule that fails becomes a doubt with the failure as its reason.
    """
    found = list(item.claims)
    for rule in rules:
        try:
            claim = rule.claim(item)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a rule, the item must not become readable.
            # The message of a stranger's error may quote a credential or the text, so its type alone is kept.
            claim = Claim(None, f"{type(rule).__name__} failed with {type(error).__name__}")
        if claim is not None:
            found.append(claim)
    return tuple(found) or (_NOTHING,)


def _readers(claim: Claim) -> Readers:
    """The readers that a claim admits; what is neither ANYONE nor a set of non-empty texts is a doubt."""
    readers: object = claim.readers if isinstance(claim, Claim) else None
    if readers is ANYONE:
        return ANYONE
    if not isinstance(readers, frozenset) or not all(isinstance(key, str) and key for key in readers):
        return SEALED
    return readers


def shelf_of(scope: Scope) -> Literal["shared", "private"]:
    """The shelf on which a text of this scope stands: shared when everyone in the tenant may read it."""
    return "shared" if scope.readers is ANYONE else "private"
