"""Opening a bookcase as a pipeline: the one in a folder, or one that is open already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from estante.contract.errors import ConnectorRegistrationError
from estante.model.errors import EstanteError, Unavailable
from estante.shelf.assemble import open_bookcase
from estante.shelf.binding import Binding
from estante.shelf.bookcase import Bookcase, parts_of
from estante.shelf.border import border
from estante.shelf.harness import BookcaseHarness
from estante.shelf.pipeline import BookcasePipeline
from estante.shelf.provisioning import refuse_unfinished, skipped_for, standing
from estante.shelf.settings import Settings, load

Kind = TypeVar("Kind", bound=BookcasePipeline)

_TRIES: Final = 20


def as_pipeline(case: Bookcase, **binding: Any) -> BookcasePipeline:
    """An open bookcase as a pipeline; it stays the caller's to close.

    Keywords are those of ``Binding``: ``asker`` (``everyone``, ``reader``, ``owner``), ``keys``, ``shelf``, ``mode``,
    ``where``. Without a word it is asked as everyone, who may read what is shared. Raises
    ``ConnectorRegistrationError`` for what makes no sense together.
    """
    _refuse_unknown(binding)
    bound = Binding.of(binding)
    with border("opening the bookcase", frank=True):
        tenant, engine, shelves = parts_of(case)
        # One in memory has no settings; the place to plant documents in is then made as for a new one.
        settings = load(case.home) if case.home is not None else load(Path.cwd(), environ={}, files=False)
    return BookcasePipeline(
        tenant=tenant,
        engine=engine,
        shelves=shelves,
        binding=bound,
        path=None if case.home is None else str(case.home),
        harness=lambda: BookcaseHarness(settings, bound),
    )


def opened(path: str, binding: Binding, kind: type[Kind], **more: Any) -> Kind:
    """The bookcase in a folder, opened for a pipeline of this class; ``more`` is what the class takes besides.

    Raises ``ConnectorOperationalError`` where there is none, where another model or analyzer made it, where it is
    damaged or unfinished; ``ConnectorRegistrationError`` for settings that cannot be used.
    """
    home = absolute(path)
    with border("opening the bookcase", frank=True):
        case, settings = _opened(Path(home), binding)
    try:
        tenant, engine, shelves = parts_of(case)
        made = kind(
            tenant=tenant,
            engine=engine,
            shelves=shelves,
            binding=binding,
            path=home,
            release=case.close,
            harness=lambda: BookcaseHarness(settings, binding),
            **more,
        )
        made.skipped_items = skipped_for(Path(home), binding.reads_of)
        return made
    except BaseException:
        case.close()
        raise


def _opened(home: Path, binding: Binding) -> tuple[Bookcase, Settings]:
    """The bookcase that stands. One that is replaced while it is opened is opened as it stands then."""
    for _ in range(_TRIES):
        before = standing(home)
        try:
            refuse_unfinished(home)
            settings = load(home)
            return _looked_at(open_bookcase(home, settings), binding), settings
        except EstanteError:
            if standing(home) == before:
                raise
    raise Unavailable(f"{home} is replaced faster than it can be opened", hint="Try again when provisioning has ended.")


def _looked_at(case: Bookcase, binding: Binding) -> Bookcase:
    """The bookcase, its files opened: what is damaged shows now, and what is swept later is still there."""
    try:
        for name, store in parts_of(case)[2].named().items():
            if binding.opens(name):
                with store.view():
                    pass
    except EstanteError:
        case.close()
        raise
    return case


def absolute(path: object) -> str:
    """The absolute form of a path as an operator writes it. Raises ``ConnectorRegistrationError`` for what is none."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise ConnectorRegistrationError(f"path is {path!r}; give the folder of the bookcase")
    return os.path.abspath(os.path.expanduser(str(os.fspath(path))))


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    unknown = sorted(given.keys() - Binding.__dataclass_fields__.keys())
    if unknown:
        known = ", ".join(Binding.__dataclass_fields__)
        raise ConnectorRegistrationError(f"{unknown[0]!r} says nothing of who asks and how; there are: {known}")
