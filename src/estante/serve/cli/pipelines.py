"""A pipeline named on the command line: by the type of its connector, or by the class that makes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estante.model.errors import ContractBroken, NotFound, SettingsError, UnknownName
from estante.serve.cli.borders import lacks_library, strangers

if TYPE_CHECKING:
    from estante.contract.pipeline import RagPipeline
    from estante.contract.specs import ConnectorSpec


@contextmanager
def pipeline_of(
    connector_type: str | None, params: str | None, target: str | None, kwargs: str | None
) -> Iterator[RagPipeline]:
    """The pipeline that the flags ``--connector-type`` and ``--params``, or ``--import`` and ``--kwargs``, stand for.

    It is closed behind the block, if it can be. Raises ``SettingsError`` for flags that make no sense together or are
    not JSON, ``UnknownName`` for a type that nobody registered, ``ContractBroken`` when what was named fails.
    """
    if (connector_type is None) == (target is None):
        raise SettingsError(
            "name one pipeline, by the type of its connector or by what makes it",
            hint="Give either --connector-type TYPE or --import MOD:ATTR.",
        )
    if connector_type is not None:
        _refuse_other(kwargs, "--kwargs", "--import")
        pipeline = _connected(connector_type, object_of(params, "--params"))
    else:
        _refuse_other(params, "--params", "--connector-type")
        pipeline = _imported(str(target), object_of(kwargs, "--kwargs"))
    with closing(pipeline):
        yield pipeline


@contextmanager
def closing(pipeline: RagPipeline) -> Iterator[None]:
    """Closes a pipeline behind the block, if it can be closed; what goes wrong then is told as its author's."""
    try:
        yield
    finally:
        close = getattr(pipeline, "close", None)
        if callable(close):
            with strangers(f"close of {type(pipeline).__name__}"):
                close()


def _refuse_other(given: str | None, option: str, partner: str) -> None:
    if given is not None:
        raise SettingsError(f"{option} goes with {partner}", hint=f"Leave {option} out.")


def object_of(text: str | None, option: str) -> dict[str, Any]:
    """The JSON object that an option holds; none is an empty one. The value is never shown: it may hold a secret."""
    import json

    from estante.contract.errors import ContractValueError
    from estante.contract.params import each_once

    hint = f"""Write {option} '{{"name": "value"}}'."""
    if text is None:
        return {}
    try:
        held = json.loads(text, object_pairs_hook=each_once)
    except ContractValueError as error:
        raise SettingsError(f"{option}: {error}", hint="Leave one of the two out.") from error
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise SettingsError(f"{option} is not JSON{where}", hint=hint) from error
    if not isinstance(held, dict):
        raise SettingsError(f"{option} is no JSON object", hint=hint)
    return held


def spec_of(connector_type: str) -> ConnectorSpec:
    """The connector of this type. Raises ``UnknownName`` with the nearest one, or all there are."""
    from difflib import get_close_matches

    from estante.contract.registry import connector_errors, get_connector, registered_types

    spec = get_connector(connector_type)
    if spec is not None:
        return spec
    broken = next((row for row in connector_errors() if row.type == connector_type), None)
    if broken is not None:
        raise ContractBroken(
            f"connector {connector_type!r} of {broken.origin} cannot be loaded: {broken.error}",
            hint="Update or uninstall that package; if it is yours, mend what is told.",
        )
    types = registered_types()
    near = get_close_matches(connector_type, types, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Registered: {', '.join(types) or 'none'}."
    raise UnknownName(f"connector {connector_type!r} is not registered", hint=hint)


def _connected(connector_type: str, params: dict[str, Any]) -> RagPipeline:
    spec = spec_of(connector_type)
    with strangers(f"connector {connector_type!r}"):
        if spec.connect is None:
            # Then the parameters are taken for the connection document itself.
            return _checked(spec.build(params), f"build of connector {connector_type!r}")
        pipeline, _ = connected(spec, params)
        return _checked(pipeline, f"connect of connector {connector_type!r}")


def connected(spec: ConnectorSpec, given: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    """The pipeline and the document of parameters. Raises ``SettingsError`` for those that the connector refuses."""
    from estante.contract.errors import ConnectorRegistrationError
    from estante.shelf.settings import environment

    try:
        return spec.connect_with(given, environ=environment())
    except ConnectorRegistrationError as error:
        if spec.connect is None or lacks_library(error):
            raise
        raise SettingsError(str(error), hint=f"Run: estante connectors {spec.connector_type}") from error


def _imported(target: str, kwargs: dict[str, Any]) -> RagPipeline:
    module, colon, attribute = target.partition(":")
    if not (colon and module and attribute):
        raise SettingsError(f"{target!r} is no module and attribute", hint="Write --import package.module:Class")
    # Behind everything else, so that no file of the current folder stands in for a module of Python's.
    sys.path.append(str(Path.cwd()))
    with strangers(target):
        try:
            made: Any = import_module(module)
        except ModuleNotFoundError as error:
            if error.name and (module == error.name or module.startswith(f"{error.name}.")):
                raise NotFound(f"there is no module {error.name!r}", hint="Check its name and the path.") from error
            raise
        for name in attribute.split("."):
            if not hasattr(made, name):
                raise NotFound(f"{module} has no {attribute!r}", hint="Check the name behind the colon.")
            made = getattr(made, name)
        maker: Callable[..., object] = made
        return _checked(maker(**kwargs), target)


def _checked(made: object, who: str) -> RagPipeline:
    """The pipeline, or one that stands for it when it was written for rag-connector."""
    from estante.contract.foreign import adopted
    from estante.contract.pipeline import RagPipeline

    theirs = any(kind.__name__ == "RagPipeline" for kind in type(made).__mro__)
    if not isinstance(made, RagPipeline) and not theirs:
        raise ContractBroken(f"{who} gave a {type(made).__name__}, which is no RagPipeline", hint="Ask its author.")
    return adopted(made)
