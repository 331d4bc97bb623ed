"""Who gets which grant."""

from __future__ import annotations

import pytest

from estante.model.access import ANYONE, SEALED, Scope
from estante.model.errors import SettingsError
from estante.security.principals import owner, reader

SHARED = Scope("acme", ANYONE)
SEALED_SCOPE = Scope("acme", SEALED)
FINANCE = Scope("acme", frozenset(["finance"]))


def test_the_owner_reads_everything_of_the_tenant() -> None:
    assert all(owner("acme").covers(scope) for scope in (SHARED, SEALED_SCOPE, FINANCE))


def test_the_owner_reads_nothing_of_another_tenant() -> None:
    assert not any(owner("outra").covers(scope) for scope in (SHARED, SEALED_SCOPE, FINANCE))


def test_a_reader_reads_what_is_shared_and_what_a_key_opens() -> None:
    grant = reader("acme", ["finance"], "ana")

    assert grant.covers(SHARED)
    assert grant.covers(FINANCE)
    assert not grant.covers(SEALED_SCOPE)


def test_a_reader_without_keys_reads_what_is_shared_only() -> None:
    grant = reader("acme", [], "ana")

    assert grant.covers(SHARED)
    assert not grant.covers(FINANCE)


def test_a_reader_is_no_owner_whatever_the_subject_says() -> None:
    assert not reader("acme", ["owner"], "owner").covers(SEALED_SCOPE)


@pytest.mark.parametrize(
    ("tenant", "keys", "subject"),
    [
        ("", [], "ana"),
        (" ", [], "ana"),
        ("acme", [""], "ana"),
        ("acme", [7], "ana"),
        ("acme", [], ""),
        ("acme", "finance", "ana"),
    ],
)
def test_a_grant_that_names_nobody_or_nothing_is_refused(tenant: str, keys: list[str], subject: str) -> None:
    with pytest.raises(SettingsError):
        reader(tenant, keys, subject)


def test_an_owner_of_no_tenant_is_refused() -> None:
    with pytest.raises(SettingsError):
        owner("")
