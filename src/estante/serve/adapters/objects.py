"""Objects of others, found by name: ``module:attribute``, as it is or as what it makes when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from estante.contract.checks.attempts import cause, told
from estante.contract.errors import ConnectorError, ConnectorRegistrationError
from estante.contract.references import resolve_secret

# What a target leads to may be anything, so its type is not known here.
Anything = Any


class MissingLibrary(ConnectorRegistrationError):
    """A connector needs a library that is not installed; the message says how to install it."""


@contextmanager
def library(extra: str) -> Iterator[None]:
    """Inside, a library is imported; without it the error names the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingLibrary(
            f'the {extra} connector needs {error.name}; run: pip install "estante[{extra}]"'
        ) from error


def reach(folder: str) -> None:
    """Lets modules of a folder be imported, behind all others, so that none stands in for a module of Python's."""
    path = os.path.abspath(folder)
    if not os.path.isdir(path):
        raise ConnectorRegistrationError(f"there is no folder {path}; name the one that holds the module")
    if path not in sys.path:
        sys.path.append(path)


def made(
    target: str,
    kwargs: Mapping[str, Any],
    secrets: Mapping[str, str],
    environ: Mapping[str, str],
    ready: Callable[[object], bool],
) -> Anything:
    """What a target leads to. Unless that is ``ready`` to be used, it is called with the arguments.

    Secrets are arguments, too, given by reference. Raises ``ConnectorRegistrationError`` for a target that leads
    nowhere, for arguments to what is no maker, and for a maker that fails.
    """
    found = named(target)
    if ready(found):
        if kwargs or secrets:
            raise ConnectorRegistrationError(
                f"{target} is no function, so it takes no arguments; leave kwargs and secrets out"
            )
        return found
    if not callable(found):
        raise ConnectorRegistrationError(
            f"{target} is a {type(found).__name__}, which this connector cannot use; name what it can, or a function "
            "that makes it"
        )
    arguments = {**kwargs, **{name: resolve_secret(reference, environ) for name, reference in secrets.items()}}
    with _strange(target):
        return found(**arguments)


def named(target: str) -> Anything:
    """The attribute of a module. Raises ``ConnectorRegistrationError`` for one that is not there."""
    module, colon, attribute = target.partition(":")
    if not (colon and module and attribute):
        raise ConnectorRegistrationError(f"{target!r} is no module and attribute; write package.module:attribute")
    with _strange(target):
        try:
            found: Anything = import_module(module)
        except ModuleNotFoundError as error:
            if error.name and (module == error.name or module.startswith(f"{error.name}.")):
                raise ConnectorRegistrationError(
                    f"there is no module {error.name!r}; check its name, and the folder that it stands in"
                ) from error
            raise
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise ConnectorRegistrationError(f"{module} has no {attribute!r}; check the name behind the colon")
        found = getattr(found, name)
    return found


def given(target: str) -> Anything:
    """What a target leads to, or what it gives when it is called. Raises ``ConnectorRegistrationError``."""
    found = named(target)
    with _strange(target):
        return found() if callable(found) else found


def listed(target: str, found: object, mark: str, noun: str) -> list[Anything]:
    """The objects that a target gave, which are known by an attribute. Raises ``ConnectorRegistrationError``."""
    with _strange(target):
        if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping):
            raise ConnectorRegistrationError(f"{target} gives a {type(found).__name__}, not a list of {noun}")
        held = list(found)
        strange = next((one for one in held if not hasattr(one, mark)), None)
        if strange is not None:
            raise ConnectorRegistrationError(f"{target} gives a {type(strange).__name__} among its {noun}")
    return held


@contextmanager
def _strange(target: str) -> Iterator[None]:
    """Inside, code of others runs: whatever it raises becomes an error that names it."""
    try:
        yield
    except ConnectorError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others may raise anything, even ends of programs.
        raise ConnectorRegistrationError(f"{target} failed: {told(error)}") from (
            cause(error) if isinstance(error, Exception) else error
        )
