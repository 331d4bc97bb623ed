"""Everything that can go wrong, as one tree; each error says what to do next."""

from __future__ import annotations

from typing import ClassVar


class EstanteError(Exception):
    """What happened, with the value, and the next step in ``hint``.

    ``exit_code`` is what the command line returns and ``http_status`` what the HTTP door answers.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(kind: type[EstanteError], message: str, hint: str) -> EstanteError:
    return kind(message, hint=hint)


class SettingsError(EstanteError):
    """A setting, an argument or a combination of them is not usable; nothing was touched."""

    exit_code = 2


class QueryError(SettingsError):
    """A question or a filter cannot be understood."""

    http_status = 400


class UnknownName(SettingsError):
    """A plug-in, source or setting of that name does not exist."""

    http_status = 404


class NameTaken(SettingsError):
    """Two things claim one name or one identity."""

    http_status = 404


class MissingExtra(EstanteError):
    """A plug-in is known, but the optional packages it needs are not installed."""

    exit_code = 3
    http_status = 501


class Denied(EstanteError):
    """The asker may not do this."""

    exit_code = 4
    http_status = 403


class NotSignedIn(Denied):
    """There is no asker, so there is no answer."""

    http_status = 401


class OutsideRoot(Denied):
    """A path leads out of the folder it was given under."""


class NotFound(EstanteError):
    """It does not exist, or the asker may not know that it does."""

    exit_code = 5
    http_status = 404


class ShelfError(EstanteError):
    """A shelf cannot be used as it is."""

    exit_code = 6
    http_status = 409


class StaleShelf(ShelfError):
    """The shelf was made by another model, analyzer or format."""


class CorruptShelf(ShelfError):
    """A file of the shelf is damaged; nothing is answered from it."""


class LockedShelf(ShelfError):
    """Another process is writing to the shelf."""


class FullDisk(ShelfError):
    """There was no room to write; the shelf stands as it was before."""

    http_status = 507


class Unavailable(EstanteError):
    """A shelf or a service does not answer now."""

    exit_code = 7
    http_status = 503


class ContractBroken(EstanteError):
    """A plug-in returned what its port forbids."""


class CorruptModel(EstanteError):
    """The weights of an encoder are not those that they should be."""


class Unreadable(EstanteError):
    """One item could not be read; it is skipped and reported, the others go on."""
