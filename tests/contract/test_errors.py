"""The errors of the contract: one tree, which callers of the older bases can go on catching."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from estante.contract import errors
from estante.contract.errors import (
    ConnectorContractError,
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
    DatasetIntegrityError,
    GenerationNotImplemented,
    PromptTemplateError,
    RetrievalModeError,
    UnsupportedCapability,
)

BASES = {
    ConnectorError: (RuntimeError,),
    ConnectorOperationalError: (ConnectorError,),
    UnsupportedCapability: (ConnectorError,),
    GenerationNotImplemented: (UnsupportedCapability, NotImplementedError),
    ConnectorContractError: (ConnectorError,),
    ContractValueError: (ConnectorContractError, ValueError),
    ConnectorRegistrationError: (ConnectorError, ValueError),
    PromptTemplateError: (ConnectorContractError,),
    RetrievalModeError: (ConnectorError, ValueError),
    DatasetIntegrityError: (ConnectorError, ValueError),
}
KINDS = sorted(BASES, key=lambda kind: kind.__name__)
NAMES = [kind.__name__ for kind in KINDS]


def tree(root: type[Exception]) -> Iterator[type[Exception]]:
    if root.__module__ == errors.__name__:
        yield root
    for one in root.__subclasses__():
        yield from tree(one)


def test_every_error_is_in_the_tree() -> None:
    assert sorted({kind.__name__ for kind in tree(ConnectorError)}) == NAMES


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_an_error_has_the_bases_that_callers_catch(kind: type[Exception]) -> None:
    assert kind.__bases__ == BASES[kind]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_an_error_says_what_it_is(kind: type[Exception]) -> None:
    assert (kind.__doc__ or "").strip().endswith(".")


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_an_error_has_its_message_and_nothing_of_its_own(kind: type[Exception]) -> None:
    error = kind("o quê")

    assert str(error) == "o quê"
    assert vars(error) == {}


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
@pytest.mark.parametrize("moved", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_keeps_its_message_on_the_way(kind: type[Exception], moved: object) -> None:
    other = moved(kind("o quê"))  # type: ignore[operator]

    assert type(other) is kind
    assert str(other) == "o quê"


def test_the_original_of_a_wrapped_error_is_its_cause() -> None:
    original = TimeoutError("30 s")

    with pytest.raises(ConnectorOperationalError) as caught:
        raise ConnectorOperationalError("backend unavailable") from original

    assert caught.value.__cause__ is original


def test_a_failure_of_the_back_end_and_a_breach_of_the_contract_are_told_apart() -> None:
    assert not issubclass(ConnectorOperationalError, ConnectorContractError)
    assert not issubclass(ConnectorContractError, ConnectorOperationalError)
    assert not issubclass(UnsupportedCapability, ConnectorOperationalError)
