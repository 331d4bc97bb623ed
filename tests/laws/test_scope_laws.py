"""Scopes as an algebra: meeting them never opens anything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from estante.model.access import ANYONE, SEALED, Claim, Grant, Readers, Scope, meet
from estante.model.content import Item
from estante.security.principals import owner, reader
from estante.security.resolver import resolve

keys = st.sampled_from(["finance", "board", "staff", "rh"])
sets = st.frozensets(keys)
readers: st.SearchStrategy[Readers] = st.one_of(st.just(ANYONE), sets)
tenants = st.sampled_from(["acme", "outra"])
scopes = st.builds(Scope, tenants, readers)
grants = st.one_of(st.builds(owner, tenants), st.builds(reader, tenants, sets, st.just("ana")))
claims = st.builds(Claim, st.one_of(st.none(), readers), st.just("somebody said so"))


class Failing:
    """A rule that cannot be asked."""

    def claim(self, item: Item) -> Claim | None:
        raise OSError("no answer")


def item(found: list[Claim]) -> Item:
    return Item(source="s", uri="a", media_type="text/plain", revision="1", read=lambda: b"", claims=tuple(found))


@given(scopes, scopes, grants)
def test_what_reads_a_meeting_reads_both_sides(left: Scope, right: Scope, grant: Grant) -> None:
    if left.tenant == right.tenant and grant.covers(left.meet(right)):
        assert grant.covers(left)
        assert grant.covers(right)


@given(scopes, scopes)
def test_scopes_of_two_tenants_seal(left: Scope, right: Scope) -> None:
    if left.tenant != right.tenant:
        assert left.meet(right) == Scope(left.tenant, SEALED)


@given(readers, readers)
def test_meeting_is_free_of_order(left: Readers, right: Readers) -> None:
    assert meet(left, right) == meet(right, left)


@given(readers, readers, readers)
def test_meeting_is_free_of_grouping(one: Readers, two: Readers, three: Readers) -> None:
    assert meet(meet(one, two), three) == meet(one, meet(two, three))


@given(readers)
def test_anyone_is_the_unit_and_meeting_twice_changes_nothing(some: Readers) -> None:
    assert meet(some, ANYONE) == some
    assert meet(some, some) == some
    assert meet(some, SEALED) == SEALED


@given(st.lists(claims, max_size=5), claims, grants)
def test_one_more_claim_never_widens(found: list[Claim], more: Claim, grant: Grant) -> None:
    before, after = resolve(item(found), "acme"), resolve(item([*found, more]), "acme")

    # Where there was no claim at all, nothing was known; the first one says what is so.
    if found and grant.covers(after):
        assert grant.covers(before)


@given(st.lists(claims, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_claims_says_nothing(found: list[Claim], random: st.random_module) -> None:  # type: ignore[valid-type]
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert resolve(item(shuffled), "acme") == resolve(item(found), "acme")


@given(st.lists(claims, max_size=5), sets)
def test_only_the_owner_reads_what_no_claim_a_doubt_or_an_error_sealed(
    found: list[Claim], held: frozenset[str]
) -> None:
    sealed = [
        resolve(item([]), "acme"),
        resolve(item([*found, Claim(None, "in doubt")]), "acme"),
        resolve(item(found), "acme", [Failing()]),
    ]

    assert not any(reader("acme", held, "ana").covers(scope) for scope in sealed)
    assert all(owner("acme").covers(scope) for scope in sealed)


@given(grants, scopes)
def test_a_grant_covers_nothing_of_another_tenant(grant: Grant, scope: Scope) -> None:
    if grant.tenant != scope.tenant:
        assert not grant.covers(scope)


@given(tenants, sets, keys, scopes)
def test_one_more_key_never_closes(tenant: str, held: frozenset[str], key: str, scope: Scope) -> None:
    if reader(tenant, held, "ana").covers(scope):
        assert reader(tenant, held | {key}, "ana").covers(scope)
