"""References to secrets: ``env:NAME`` and ``file:/absolute/path`` stand wherever the secret itself must not.

A document with references can be stored and shown. The secret is read when it is used, and goes no further.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import Final

from estante.contract.errors import ConnectorRegistrationError

MOST_BYTES: Final = 65_536
"""A file with more is no secret."""

_VARIABLE: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_FORMS: Final = "env:NAME or file:/absolute/path"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class SecretText(str):
    """A secret. It is a text like any other, except that its ``repr`` does not show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"


def is_secret_reference(value: object) -> bool:
    """Whether it is ``env:NAME`` or ``file:/absolute/path``, whatever stands behind it."""
    if not isinstance(value, str) or isinstance(value, SecretText):
        return False
    kind, _, rest = value.partition(":")
    return (kind == "env" and is_variable(rest)) or (kind == "file" and _is_path(rest))


def is_variable(name: str) -> bool:
    """Whether a variable of the environment can have this name."""
    return _VARIABLE.fullmatch(name) is not None


def _is_path(path: str) -> bool:
    # An absolute path means the same file in every process; a sign below the blank is no part of any.
    return os.path.isabs(path) and path.isprintable()


def resolve_secret(reference: str, environ: Mapping[str, str]) -> SecretText:
    """The secret that a reference stands for, without the line feed at a file's end.

    A file must be a regular one, in UTF-8, of this user or of root, and closed to everyone else (mode 0600 or 0400).
    Raises ``ConnectorRegistrationError`` with the reference, never with what it holds.
    """
    if not is_secret_reference(reference):
        # What was given may be the secret itself, so it is not told.
        raise ConnectorRegistrationError(f"this is no reference to a secret; write {_FORMS}, never the secret itself")
    kind, _, rest = reference.partition(":")
    found = environ.get(rest, "") if kind == "env" else _read(reference, rest)
    if found:
        return SecretText(found)
    what = f"set the variable {rest}" if kind == "env" else f"write the secret into {rest}"
    raise ConnectorRegistrationError(f"{reference} holds nothing; {what}")


def _read(reference: str, path: str) -> str:
    try:
        wrong, content = _content(path)
    except OSError as error:
        told = f"{reference} cannot be read: {error.strerror}; check the path and who may read it"
        raise ConnectorRegistrationError(told) from error
    text = _decoded(content)
    if text is None:
        wrong = "is not UTF-8; write the secret as text"
    if wrong or text is None:
        raise ConnectorRegistrationError(f"{reference} {wrong}")
    return text.removesuffix("\n").removesuffix("\r")


def _content(path: str) -> tuple[str, bytes]:
    """Why the file is not to be used, or what it holds; asked of the open file, so that both are true of the same."""
    # Not blocking, because a pipe without a writer would never open.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        if wrong := _wrong(os.fstat(handle), path):
            return wrong, b""
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        return f"has more than {MOST_BYTES} bytes; name the file that holds the secret alone", b""
    return "", content


def _wrong(status: os.stat_result, path: str) -> str:
    """Why this file is not to be trusted with a secret; empty when it is."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a file; name one"
    if os.name == "nt":
        return ""
    if status.st_mode & _OTHERS:
        return f"is open to others (mode {stat.S_IMODE(status.st_mode):04o}); run: chmod 600 {path}"
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to another user ({status.st_uid}); make it yours"
    return ""


def _decoded(content: bytes) -> str | None:
    # None instead of an error: a UnicodeDecodeError carries the bytes with it.
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
