"""What a connector says of itself before it is bound: a ``ConnectorSpec``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estante.contract.connections import CONTRACT_VERSION, plain_connection, version_problem
from estante.contract.errors import ConnectorContractError, ConnectorRegistrationError
from estante.contract.models import DatasetRef
from estante.contract.params import ParamField, schema_problems, validate_params
from estante.contract.pipeline import RagPipeline

if TYPE_CHECKING:
    from estante.contract.prompts import PromptTemplate


@dataclass
class ConnectorSpec:
    """A kind of connector: how to bind one, how to build it again, and what to ask for before.

    ``build`` makes a pipeline of a stored connection document, in a fresh process, with nothing but the document and
    the environment. ``connect`` makes a pipeline and the document to store of parameters; without it the connector is
    not offered to people. ``description`` is one line; ``connector_info`` gives help in Markdown. ``list_datasets``
    and ``prompt_templates`` answer before anything is bound.
    """

    connector_type: str
    label: str
    description: str
    build: Callable[[dict[str, Any]], RagPipeline]
    connect: Callable[[dict[str, Any]], tuple[RagPipeline, dict[str, Any]]] | None = None
    params: list[ParamField] = field(default_factory=list)
    list_datasets: Callable[[dict[str, Any]], list[DatasetRef]] | None = None
    connector_info: Callable[[], str] | None = None
    prompt_templates: Callable[[], Sequence[PromptTemplate]] | None = None
    contract_version: str = CONTRACT_VERSION
    unknown_params: bool = False
    """Whether parameters that ``params`` does not name are handed on instead of refused."""
    advice: Mapping[str, str] = field(default_factory=dict)
    """How to mend what a check finds, by the check's id, where the user of this connector mends it otherwise than the
    author of a pipeline; a pipeline's own ``check_advice`` goes before it."""

    @property
    def user_connectable(self) -> bool:
        """Whether people can connect it from parameters."""
        return self.connect is not None

    @property
    def supports_dataset_listing(self) -> bool:
        """Whether its data sets can be listed before one is bound."""
        return self.list_datasets is not None

    @property
    def supports_prompt_templates(self) -> bool:
        """Whether it declares its prompts."""
        return self.prompt_templates is not None

    @property
    def connection_schema(self) -> list[ParamField]:
        """The same list as ``params``."""
        return self.params

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What it offers besides ``build``, by the names of the fields."""
        offered = ("connect", "list_datasets", "connector_info", "prompt_templates")
        return tuple(name for name in offered if getattr(self, name) is not None)

    def to_public_dict(self) -> dict[str, Any]:
        """What a form needs, as JSON."""
        return {
            "connector_type": self.connector_type,
            "label": self.label,
            "description": self.description,
            "params": deepcopy(self.params),
            "supports_dataset_listing": self.supports_dataset_listing,
        }

    def checked_params(
        self,
        params: Mapping[str, Any],
        *,
        environ: Mapping[str, str] = MappingProxyType({}),
        partial: bool = False,
    ) -> dict[str, Any]:
        """The parameters to connect with, as ``validate_params`` gives them.

        Where the schema is empty nothing was declared, so everything is handed on. Raises ``ParamsError``.
        """
        unknown = self.unknown_params or not self.params
        return validate_params(self.params, params, environ=environ, partial=partial, unknown=unknown)

    def connect_with(
        self, params: Mapping[str, Any], *, environ: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[RagPipeline, dict[str, Any]]:
        """A bound pipeline and the document to store, of parameters that are checked first.

        ``environ`` is where the variables that fields name are looked up. Raises ``ParamsError`` for the parameters,
        ``ConnectorRegistrationError`` for a document that cannot be stored or a connector without ``connect``, and
        ``ConnectorContractError`` when ``connect`` gives anything else than the two.
        """
        if self.connect is None:
            raise ConnectorRegistrationError(
                f"connector {self.connector_type!r} cannot be connected from parameters; build it from a stored "
                "connection document"
            )
        bound = self.connect(self.checked_params(params, environ=environ))
        if not isinstance(bound, tuple) or len(bound) != 2 or not isinstance(bound[1], Mapping):
            raise ConnectorContractError(
                f"connect of connector {self.connector_type!r} gave a {type(bound).__name__}, not a pipeline and its "
                "connection document; ask its author"
            )
        pipeline, document = bound
        try:
            return pipeline, plain_connection(document)
        except ConnectorRegistrationError:
            _close(pipeline)
            raise

    def datasets_with(
        self, params: Mapping[str, Any], *, environ: Mapping[str, str] = MappingProxyType({})
    ) -> list[DatasetRef]:
        """The data sets that these parameters reach; what selects one may be missing.

        Raises ``ParamsError``, and ``ConnectorRegistrationError`` for a connector that lists none.
        """
        if self.list_datasets is None:
            raise ConnectorRegistrationError(
                f"connector {self.connector_type!r} lists no data sets; name one in its parameters"
            )
        return list(self.list_datasets(self.checked_params(params, environ=environ, partial=True)))


def _close(pipeline: object) -> None:
    close = getattr(pipeline, "close", None)
    if callable(close):
        close()


def spec_problems(spec: ConnectorSpec) -> list[str]:
    """What is wrong with a spec that can be listed and built all the same."""
    wrong = [f"parameter {problem}" for problem in schema_problems(spec.params)]
    told = version_problem(spec.contract_version)
    return [*([told] if told else []), *wrong]


def checked_spec(spec: object) -> ConnectorSpec:
    """The spec, which can be registered. Raises ``ConnectorRegistrationError``."""
    if not isinstance(spec, ConnectorSpec):
        raise ConnectorRegistrationError(f"a {type(spec).__name__} is no ConnectorSpec; give one, or what makes one")
    for name in ("connector_type", "label"):
        told = getattr(spec, name)
        if not isinstance(told, str) or not told.strip() or not told.isprintable():
            raise ConnectorRegistrationError(f"a spec has the {name} {told!r}; give it one line of text")
    if not callable(spec.build):
        raise ConnectorRegistrationError(f"connector {spec.connector_type!r} has no build that can be called")
    return spec
