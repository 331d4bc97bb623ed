"""Failures at the border of the contract, as errors of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from estante.model.errors import ContractBroken, EstanteError, MissingExtra, NotFound, SettingsError, UnknownName

if TYPE_CHECKING:
    from estante.contract.errors import ConnectorError

_HINTS: Final = {
    "DatasetIntegrityError": "Get an unchanged copy of the folder; estante dataset verify tells all that is wrong.",
    "ConnectorRegistrationError": "Check the type of the connector and its parameters.",
    "ConnectorOperationalError": "See that what stands behind it answers and can be read, then run it again.",
    "UnsupportedCapability": "Use a connector that offers this.",
    "ConnectorContractError": "Mend what the message names, or ask whoever made it.",
}
"""By the classes of the contract: what to do next, where the message does not say it. The nearest one counts."""


def contract_error(error: BaseException) -> EstanteError | None:
    """A failure of the contract with what to do next; None for any other error."""
    from estante.contract.errors import ConnectorError

    return _told(error) if isinstance(error, ConnectorError) else None


def lacks_library(error: BaseException) -> bool:
    """Whether a connector says that a library which it needs is not installed."""
    return any(kind.__name__ == "MissingLibrary" for kind in type(error).__mro__)


def _told(error: ConnectorError) -> EstanteError:
    if lacks_library(error):
        return MissingExtra(str(error), hint="Install it in the same environment, then run the same command again.")
    kinds = (kind.__name__ for kind in type(error).__mro__)
    hint = next((_HINTS[kind] for kind in kinds if kind in _HINTS), _HINTS["ConnectorContractError"])
    return ContractBroken(str(error) or type(error).__name__, hint=hint)


_MEASURING: Final[dict[str, type[EstanteError]]] = {
    "AbsentFile": NotFound,
    "UnknownMeasure": UnknownName,
    "MissingLibrary": MissingExtra,
}
"""By the classes of measuring: what they are to the command line; any other is a call that cannot be used."""


def evaluation_error(error: BaseException) -> EstanteError | None:
    """A failure of measuring, with its own hint; None for any other error."""
    from estante.evaluate.errors import EvaluationError

    if not isinstance(error, EvaluationError):
        return None
    return _MEASURING.get(type(error).__name__, SettingsError)(error.message, hint=error.hint)


@contextmanager
def kit(what: str) -> Iterator[None]:
    """Inside, the kit of the contract fails as every command does; ``what`` is a folder that should be there, or not.

    Failures of the contract itself need no help: the command line knows them.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(_said(error), hint=f"Say where {what} can be found.") from error
    except FileExistsError as error:
        raise SettingsError(_said(error), hint="Name a folder that is not there yet.") from error
    except ImportError as error:
        raise MissingExtra(str(error), hint="Install what is missing, then run it again.") from error


def _said(error: OSError) -> str:
    """The words of the kit, or those of the system without its number."""
    return str(error) if error.strerror is None else f"{error.filename}: {error.strerror}"


@contextmanager
def strangers(who: str) -> Iterator[None]:
    """Inside, code of others runs: whatever it raises, beside failures of the contract, becomes one that names it."""
    from estante.contract.errors import ConnectorError

    try:
        yield
    except (ConnectorError, EstanteError):
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())
        raise ContractBroken(
            f"{who} failed: {type(error).__name__}{f': {text[:500]}' if text else ''}",
            hint="Mend it, or ask whoever made it; --verbose prints the traceback.",
        ) from error
