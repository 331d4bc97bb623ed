"""Connectors and pipelines written for rag-connector, as connectors and pipelines of this contract.

The two libraries say the same in different classes: there a pipeline has another base, raises other errors and hands
over other values. ``adopted`` gives a pipeline that forwards every call and translates what goes in and comes out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Final

from estante.contract.errors import ConnectorContractError
from estante.contract.params import BASIC_KEYS, ParamField, schema_problems
from estante.contract.pipeline import RagPipeline
from estante.contract.specs import ConnectorSpec

THEIRS: Final = "rag_connector"
_OURS: Final = ("estante.contract.models", "estante.contract.errors", "estante.contract.prompts")
METHODS: Final = (
    "query",
    "pull_all_chunks",
    "list_chunks",
    "fingerprint",
    "get_chunks",
    "get_chunk_vectors",
    "list_datasets",
    "generate",
    "prompt_templates",
    "render_rag_block",
    "generate_from_prompt",
    "health",
    "describe_space",
    "embed_queries",
    "run_snapshot",
)


class AdoptedPipeline(RagPipeline):
    """A pipeline that forwards to a foreign one. Attributes that the contract does not know are those of that one."""

    def __init__(self, foreign: Any) -> None:
        self.foreign = foreign

    # The foreign pipeline may change its mode while it lives.
    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the foreign pipeline."""
        return str(getattr(self.foreign, "name", RagPipeline.name))

    @property
    def retrieval_mode(self) -> str:  # type: ignore[override]
        """The mode of the foreign pipeline."""
        return str(getattr(self.foreign, "retrieval_mode", RagPipeline.retrieval_mode))

    def info(self) -> dict[str, Any]:
        """What the foreign pipeline says of itself."""
        if not hasattr(self.foreign, "info"):
            return super().info()
        with translated_errors():
            return dict(self.foreign.info())

    def __getattr__(self, name: str) -> Any:
        if name == "foreign":  # It is being copied, and there is nothing to forward to yet.
            raise AttributeError(name)
        return getattr(self.foreign, name)


def is_pipeline(found: object) -> bool:
    """Whether it is a pipeline of ours, or one written for rag-connector. A class is none."""
    return not isinstance(found, type) and any(cls.__name__ == RagPipeline.__name__ for cls in type(found).__mro__)


def adopted(pipeline: Any) -> RagPipeline:
    """The pipeline itself, or one that stands for it when it was written for rag-connector.

    What its author wrote is forwarded, and ``supports`` says so; what it inherits there is inherited here. Raises
    ``ConnectorContractError`` for what has no ``query``.
    """
    if isinstance(pipeline, RagPipeline):
        return pipeline
    if not callable(getattr(pipeline, "query", None)):
        raise ConnectorContractError(f"a connector built a {type(pipeline).__name__}, which has no query(); mend it")
    methods = {name: _forwarding(name) for name in METHODS if _offers(pipeline, name)}
    kind = type(type(pipeline).__name__, (AdoptedPipeline,), methods)
    made: RagPipeline = kind(pipeline)
    return made


def is_foreign_spec(found: object) -> bool:
    """Whether it is a spec of another class than ours: one written for rag-connector."""
    texts = all(isinstance(getattr(found, name, None), str) for name in ("connector_type", "label", "description"))
    return texts and not isinstance(found, type | ConnectorSpec) and callable(getattr(found, "build", None))


def adopted_spec(foreign: Any) -> ConnectorSpec:
    """A spec of ours that stands for one of rag-connector's; its pipelines are ``adopted``.

    Of its parameters the keys are read that rag-connector knows. A field that says what only we would understand is of
    type ``any``, and parameters that are not declared are handed on, because nothing was ever checked there.
    """

    def build(connection: dict[str, Any]) -> RagPipeline:
        with translated_errors():
            return adopted(foreign.build(connection))

    def connect(params: dict[str, Any]) -> tuple[RagPipeline, dict[str, Any]]:
        with translated_errors():
            pipeline, connection = foreign.connect(params)
            return adopted(pipeline), connection

    def late(name: str) -> Any:
        function = getattr(foreign, name, None)
        return None if function is None else from_theirs(function)

    return ConnectorSpec(
        connector_type=foreign.connector_type,
        label=foreign.label,
        description=foreign.description,
        build=build,
        connect=None if getattr(foreign, "connect", None) is None else connect,
        params=[_adopted_field(one) for one in getattr(foreign, "params", None) or []],
        list_datasets=late("list_datasets"),
        connector_info=late("connector_info"),
        prompt_templates=late("prompt_templates"),
        unknown_params=True,
    )


def _adopted_field(foreign: Mapping[str, Any]) -> ParamField:
    made = {key: foreign[key] for key in BASIC_KEYS if key in foreign}
    # There, a field called secret is given the secret itself.
    return {**made, "type": "any"} if made.get("type") == "secret" or schema_problems([made]) else made


def from_theirs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the other library, with its values and errors as ours."""

    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with translated_errors():
            return ours(function(*arguments, **named))

    return called


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raises our error of the same name for one of the other library, from it."""
    try:
        yield
    except Exception as error:
        kinds = (_our_class(one.__name__) for one in type(error).__mro__ if _is_theirs(one))
        ours = next((kind for kind in kinds if kind is not None and issubclass(kind, Exception)), None)
        if ours is None:
            raise
        raise ours(str(error)) from error


def _offers(pipeline: object, name: str) -> bool:
    """Whether the method is there and is not what the other library's base brings."""
    method = getattr(pipeline, name, None)
    bases = (one for one in type(pipeline).__mro__ if one.__name__ == RagPipeline.__name__ and _is_theirs(one))
    default = getattr(next(bases, None), name, None)
    return callable(method) and getattr(method, "__func__", method) is not default


def _forwarding(name: str) -> Callable[..., Any]:
    def method(self: AdoptedPipeline, *arguments: Any, **named: Any) -> Any:
        with translated_errors():
            given = {key: theirs(value) for key, value in named.items()}
            return ours(getattr(self.foreign, name)(*map(theirs, arguments), **given))

    method.__name__ = name
    method.__doc__ = getattr(RagPipeline, name, method).__doc__
    return method


def _is_theirs(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == THEIRS


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("estante.contract.")


def _our_class(name: str) -> type | None:
    found = (getattr(import_module(module), name, None) for module in _OURS)
    return next((one for one in found if isinstance(one, type)), None)


def _their_class(name: str) -> type | None:
    found = getattr(sys.modules.get(THEIRS), name, None)
    return found if isinstance(found, type) else None


def ours(value: Any) -> Any:
    """A value of the other library, with every record in it as ours of the same name."""
    return _converted(value, _is_theirs, _our_class)


def theirs(value: Any) -> Any:
    """A value of ours, with every record in it as the other library's of the same name."""
    return _converted(value, _is_ours, _their_class)


def _converted(value: Any, source: Callable[[type], bool], target: Callable[[str], type | None]) -> Any:
    """The value with every record of the one library as the record of the same name of the other."""
    if isinstance(value, list | tuple):
        # Texts and vectors have nothing to convert, and vectors are long.
        if not value or isinstance(value[0], str | int | float):
            return value
        made = [_converted(one, source, target) for one in value]
        return tuple(made) if isinstance(value, tuple) else made
    if isinstance(value, dict):
        return {key: _converted(one, source, target) for key, one in value.items()}
    # An author may derive a record of their own, so the class that the library itself brings is looked for.
    bases = (one for one in type(value).__mro__ if is_dataclass(one) and source(one))
    kind = next((found for one in bases if (found := target(one.__name__)) is not None), None)
    if kind is None or not is_dataclass(kind):
        return value
    known = {field.name: field for field in fields(kind) if field.init}
    held = {field.name: getattr(value, field.name) for field in fields(value) if field.name in known}
    missing = [field for name, field in known.items() if name not in held]
    if any(field.default is MISSING and field.default_factory is MISSING for field in missing):
        return value  # Another release of that library has another record under this name.
    # What a mapping inside a record holds is the author's own.
    return kind(**{k: one if isinstance(one, Mapping) else _converted(one, source, target) for k, one in held.items()})
