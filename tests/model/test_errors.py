"""Every error says what to do next, and has the code and the status that the doors answer with."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from estante.model import errors
from estante.model.errors import EstanteError

# Exit code of the command line, status of the HTTP door.
CODES = {
    "EstanteError": (1, 500),
    "SettingsError": (2, 500),
    "QueryError": (2, 400),
    "UnknownName": (2, 404),
    "NameTaken": (2, 404),
    "MissingExtra": (3, 501),
    "Denied": (4, 403),
    "NotSignedIn": (4, 401),
    "OutsideRoot": (4, 403),
    "NotFound": (5, 404),
    "ShelfError": (6, 409),
    "StaleShelf": (6, 409),
    "CorruptShelf": (6, 409),
    "LockedShelf": (6, 409),
    "FullDisk": (6, 507),
    "Unavailable": (7, 503),
    "ContractBroken": (1, 500),
    "CorruptModel": (1, 500),
    "Unreadable": (1, 500),
}


def tree(root: type[EstanteError]) -> Iterator[type[EstanteError]]:
    """An error and all below it that this floor defines."""
    if root.__module__ == errors.__name__:
        yield root
    for one in root.__subclasses__():
        yield from tree(one)


ALL = sorted(tree(EstanteError), key=lambda kind: kind.__name__)
NAMES = [kind.__name__ for kind in ALL]


def test_every_error_has_its_row() -> None:
    assert sorted(CODES) == NAMES


@pytest.mark.parametrize("kind", ALL, ids=NAMES)
def test_an_error_has_its_exit_code_and_status(kind: type[EstanteError]) -> None:
    assert (kind.exit_code, kind.http_status) == CODES[kind.__name__]


@pytest.mark.parametrize("kind", ALL, ids=NAMES)
def test_an_error_says_what_it_is(kind: type[EstanteError]) -> None:
    assert (kind.__doc__ or "").strip().endswith(".")


@pytest.mark.parametrize("kind", ALL, ids=NAMES)
def test_an_error_cannot_be_made_without_a_hint(kind: type[EstanteError]) -> None:
    with pytest.raises(TypeError, match="hint"):
        kind("what happened")  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", ALL, ids=NAMES)
@pytest.mark.parametrize("moved", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_keeps_its_message_and_hint_on_the_way(kind: type[EstanteError], moved: object) -> None:
    error = kind("o quê", hint="e agora")

    other = moved(error)  # type: ignore[operator]

    assert type(other) is kind
    assert (other.message, other.hint, str(other)) == ("o quê", "e agora", "o quê")


def test_what_stands_on_a_shelf_and_what_is_wrong_with_it_are_told_apart() -> None:
    assert not issubclass(errors.NotFound, errors.ShelfError)
    assert issubclass(errors.QueryError, errors.SettingsError)
    assert issubclass(errors.NotSignedIn, errors.Denied)
