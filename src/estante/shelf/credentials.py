"""Credentials of plug-ins: settings hold references to them, never the secrets themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from estante.contract.errors import ConnectorRegistrationError
from estante.contract.references import SecretText, resolve_secret
from estante.model.errors import SettingsError

_CREDENTIAL: Final = re.compile(r"(?:^|[_-])(?:token|password|passwd|senha|secret|api[_-]?key|credentials?)$", re.I)


def is_credential(name: str) -> bool:
    """Whether an option of this name holds a credential, so that only a reference to it may stand in a file."""
    return _CREDENTIAL.search(name) is not None


def secret(reference: str, environ: Mapping[str, str]) -> SecretText:
    """What a reference stands for: ``env:NAME`` or ``file:/absolute/path``. Raises ``SettingsError``, never with it."""
    try:
        return resolve_secret(reference, environ)
    except ConnectorRegistrationError as error:
        raise SettingsError(str(error), hint='Write "env:NAME" or "file:/absolute/path".') from error
