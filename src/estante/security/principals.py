"""Who asks: the only maker of grants."""

from __future__ import annotations

from collections.abc import Iterable

from estante.model.access import Grant
from estante.model.errors import SettingsError


def owner(tenant: str) -> Grant:
    """The grant of the tenant's owner, who reads every text of the tenant, sealed ones too."""
    return Grant(_tenant(tenant), frozenset(), "owner", owner=True)


def reader(tenant: str, keys: Iterable[str], subject: str) -> Grant:
    """The grant of someone who holds these reader keys; with none, what everyone in the tenant may read."""
    if isinstance(keys, str):
        # A text is an iterable of its letters, and each letter would become a key.
        raise SettingsError("reader keys must be a list, got a text", hint='Pass a list of keys, e.g. ["finance"].')
    held = frozenset(keys)
    for key in held:
        if not isinstance(key, str) or not key.strip():
            raise SettingsError(f"a reader key must be a non-empty text, got {key!r}", hint="Name the key.")
    if not isinstance(subject, str) or not subject.strip():
        raise SettingsError(f"a reader needs a subject for the log, got {subject!r}", hint="Name who asks.")
    return Grant(_tenant(tenant), held, subject)


def _tenant(tenant: str) -> str:
    if not isinstance(tenant, str) or not tenant.strip():
        raise SettingsError(f"a grant needs a tenant, got {tenant!r}", hint="Name the tenant.")
    return tenant
