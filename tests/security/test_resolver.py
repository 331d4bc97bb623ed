"""From evidence to scope."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from estante.model.access import ANYONE, SEALED, Claim, Readers, Scope
from estante.model.content import Item
from estante.security.resolver import claims_of, resolve, shelf_of

FINANCE = frozenset(["finance"])
BOARD = frozenset(["finance", "board"])


def item(*claims: Claim) -> Item:
    return Item(source="s", uri="a.md", media_type="text/plain", revision="1", read=lambda: b"", claims=claims)


@dataclass
class Rule:
    """A rule that always says the same, or fails."""

    answer: Claim | None = None
    failure: Exception | None = None

    def claim(self, item: Item) -> Claim | None:
        if self.failure is not None:
            raise self.failure
        return self.answer


def said(readers: Readers | None) -> Claim:
    return Claim(readers, "somebody said so")


def test_what_every_claim_admits_is_admitted() -> None:
    assert resolve(item(said(ANYONE), said(BOARD), said(FINANCE)), "acme") == Scope("acme", FINANCE)


def test_claims_of_the_item_and_of_rules_weigh_alike() -> None:
    assert resolve(item(said(BOARD)), "acme", [Rule(said(FINANCE))]) == Scope("acme", FINANCE)
    assert resolve(item(said(FINANCE)), "acme", [Rule(said(BOARD))]) == Scope("acme", FINANCE)


def test_no_claim_seals() -> None:
    assert resolve(item(), "acme") == Scope("acme", SEALED)


def test_rules_with_nothing_to_say_leave_an_item_sealed() -> None:
    assert resolve(item(), "acme", [Rule(), Rule()]) == Scope("acme", SEALED)


def test_a_doubt_seals_whatever_else_is_claimed() -> None:
    assert resolve(item(said(ANYONE), said(None)), "acme") == Scope("acme", SEALED)


def test_a_rule_that_fails_seals() -> None:
    assert resolve(item(said(ANYONE)), "acme", [Rule(failure=TimeoutError())]) == Scope("acme", SEALED)


@pytest.mark.parametrize(
    "readers", ["*", ["finance"], {"finance"}, "finance", 1, True, frozenset([""]), frozenset([1])]
)
def test_readers_of_any_other_form_seal(readers: object) -> None:
    assert resolve(item(Claim(readers, "odd")), "acme") == Scope("acme", SEALED)  # type: ignore[arg-type]


def test_a_rule_that_answers_with_something_else_seals() -> None:
    assert resolve(item(said(ANYONE)), "acme", [Rule("shared")]) == Scope("acme", SEALED)  # type: ignore[arg-type]


def test_a_failed_rule_is_explained_without_its_message() -> None:
    claims = claims_of(item(), [Rule(failure=ValueError("token ghp_0123456789abcdef"))])

    assert claims == (Claim(None, "Rule failed with ValueError"),)


def test_the_absence_of_claims_is_explained() -> None:
    assert claims_of(item()) == (Claim(None, "nothing says who may read it"),)


def test_what_everyone_may_read_stands_on_the_shared_shelf_and_all_else_on_the_private_one() -> None:
    assert shelf_of(Scope("acme", ANYONE)) == "shared"
    assert shelf_of(Scope("acme", FINANCE)) == "private"
    assert shelf_of(Scope("acme", SEALED)) == "private"
