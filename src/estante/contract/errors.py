"""Everything that can go wrong at the border between a host and a pipeline, as one tree.

The messages say what happened, with the value, and then what to do. No class has attributes of its own: an error of a
back end is wrapped with ``raise ... from error``, so ``__cause__`` is the original.
"""

from __future__ import annotations


class ConnectorError(RuntimeError):
    """The root of the tree: catch it to catch every failure at the border and no other."""


class ConnectorOperationalError(ConnectorError):
    """The operation is supported and its back end failed: evidence is missing, which is not an empty result."""


class UnsupportedCapability(ConnectorError):
    """The pipeline does not offer this optional operation; nothing was tried."""


class GenerationNotImplemented(UnsupportedCapability, NotImplementedError):
    """The pipeline writes no answers; also a ``NotImplementedError``, for hosts that catch that one."""


class ConnectorContractError(ConnectorError):
    """What was handed over breaks the contract."""


class ContractValueError(ConnectorContractError, ValueError):
    """One value breaks the contract: a cursor, a limit, a field of a record; also a ``ValueError``."""


class ConnectorRegistrationError(ConnectorError, ValueError):
    """A connector cannot be registered, or not be rebuilt safely; also a ``ValueError``."""


class PromptTemplateError(ConnectorContractError):
    """A declared prompt, or what was rendered from one, is not legal."""


class RetrievalModeError(ConnectorError, ValueError):
    """A retrieval mode, an override of one, or a threshold beside one is not legal; also a ``ValueError``."""


class DatasetIntegrityError(ConnectorError, ValueError):
    """A Dataset folder is not what its manifest says; also a ``ValueError``."""
