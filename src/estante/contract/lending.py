"""Connectors of this contract lent to rag-connector: the same pipelines and records, in its own classes.

rag-connector knows its pipelines, specs and records by their classes. ``lent_spec`` gives a spec of that library which
builds pipelines of that library, each of which forwards to one of ours and translates what goes in and comes out. The
library is imported when one of these is called, and needed for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any

from estante.contract.capabilities import supports
from estante.contract.errors import ConnectorError, ConnectorRegistrationError
from estante.contract.foreign import METHODS, THEIRS, ours, theirs
from estante.contract.params import BASIC_KEYS, ParamField, param_from_text
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec

_TEXTS = ("string", "path", "enum", "secret")
"""Types whose values are texts as they are given."""


def lent_spec(spec: ConnectorSpec) -> Any:
    """A spec of rag-connector that stands for ours. Raises ``ConnectorRegistrationError`` where that is not installed.

    Parameters are texts there, so each is shown as one, and read by the type that ours has.
    """

    def build(connection: Mapping[str, Any]) -> Any:
        with lent_errors():
            return lent(spec.build(dict(connection)))

    def connect(params: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        with lent_errors():
            pipeline, connection = spec.connect_with(_read(spec, params))
            return lent(pipeline), connection

    def list_datasets(params: Mapping[str, Any]) -> Any:
        with lent_errors():
            return theirs(spec.datasets_with(_read(spec, params)))

    return _library().ConnectorSpec(
        connector_type=spec.connector_type,
        label=spec.label,
        description=spec.description,
        build=build,
        connect=connect if spec.connect is not None else None,
        params=[_lent_field(one) for one in spec.params],
        list_datasets=list_datasets if spec.list_datasets is not None else None,
        connector_info=spec.connector_info,
        prompt_templates=_for_them(spec.prompt_templates) if spec.prompt_templates is not None else None,
    )


def lent(pipeline: RagPipeline) -> Any:
    """A pipeline of rag-connector that forwards to ours. What it does not know, it gives as ours has it."""
    base = _library().RagPipeline
    offered = {name: _forwarding(name) for name in METHODS if supports(pipeline, name)}
    own = {
        "__init__": _hold,
        "__getattr__": _look_up,
        "info": _forwarding("info"),
        "name": property(lambda self: self.lender.name),
        "retrieval_mode": property(lambda self: self.lender.retrieval_mode),
    }
    return type(type(pipeline).__name__, (base,), {**offered, **own})(pipeline)


@contextmanager
def lent_errors() -> Iterator[None]:
    """Raises an error of ours as rag-connector's of the same name, or of the nearest that it has, from ours."""
    try:
        yield
    except ConnectorError as error:
        library = _library()
        kinds = (getattr(library, one.__name__, None) for one in type(error).__mro__)
        raise next(kind for kind in kinds if kind is not None)(str(error)) from error


def _hold(self: Any, lender: RagPipeline) -> None:
    self.lender = lender


def _look_up(self: Any, name: str) -> Any:
    if name == "lender":  # It is being copied, and there is nothing to look in yet.
        raise AttributeError(name)
    return getattr(self.lender, name)


def _forwarding(name: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        with lent_errors():
            given = {key: ours(value) for key, value in named.items()}
            return theirs(getattr(self.lender, name)(*map(ours, arguments), **given))

    method.__name__ = name
    method.__doc__ = getattr(RagPipeline, name, method).__doc__
    return method


def _for_them(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with lent_errors():
            return theirs(function(*arguments, **named))

    return called


def _lent_field(field: ParamField) -> ParamField:
    """The field as far as rag-connector knows fields. What is required only beside another value is not required."""
    told: ParamField = {key: field[key] for key in BASIC_KEYS if key in field}
    told |= {"type": "string", "required": bool(field.get("required")) and not field.get("when")}
    return told


def _read(spec: ConnectorSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with texts read by their types; an empty text is what a form gives for nothing."""
    kinds = {field["name"]: field for field in spec.params}
    found: dict[str, Any] = {}
    for name, value in params.items():
        if value == "" and not kinds.get(name, {}).get("required"):
            continue
        is_text = isinstance(value, str) and kinds.get(name, {}).get("type", "string") not in _TEXTS
        found[name] = param_from_text(kinds[name], value) if is_text else value
    return found


def _library() -> Any:
    try:
        return import_module(THEIRS)
    except ModuleNotFoundError as error:
        if error.name != THEIRS:
            raise
        raise ConnectorRegistrationError("rag-connector is not installed; run: pip install rag-connector") from error


__all__ = ["lent", "lent_errors", "lent_spec"]
