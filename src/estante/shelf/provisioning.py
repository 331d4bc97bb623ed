"""Provisioning: a folder of documents made into a bookcase beside the one that stands, and then put in its place.

What is built stands in ``.estante/builds/NAME``. When it is whole and checked it gets its completion record, and only
then is ``estante.toml`` replaced, which says where the shelves stand: that one step is the commit. A provisioning that
fails or is killed leaves the shelves that stood before as they were. Who reads the old ones goes on reading them; the
next provisioning sweeps them.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from estante.index.lock import WriterLock
from estante.index.segments import sync_directory
from estante.ingest.chunking import CHUNKERS
from estante.ingest.pipeline import chunker
from estante.model.errors import CorruptShelf, NotFound, SettingsError
from estante.model.ports import Outcome, Progress
from estante.security.paths import private_directory
from estante.shelf.assemble import create, open_bookcase
from estante.shelf.builds import sweep, write_whole
from estante.shelf.local import PRIVATE, SHARED
from estante.shelf.settings import BUILDS, FILE, FOLDER, load

RECORD: Final = "provision.json"
FORMAT: Final = "estante.provision.v1"
_SPECIAL: Final = re.compile(r"[\\*?\[\]!# ]")
MARK: Final = "# Written by provisioning, which replaces this file and what it stands for.\n"

SIZES: Final[Mapping[str, tuple[str, str | None]]] = {"headings": ("max_chars", None), "windows": ("size", "overlap")}
"""For each chunker the options that stand for a chunk's size and for an overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be built. ``readers`` are those of ``Bookcase.add``; what else is None is as the environment says."""

    documents: Path
    readers: tuple[str, ...] | None = None
    tenant: str | None = None
    encoder: str | None = None
    chunker: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


def provision(home: Path, plan: Plan, *, progress: Progress | None = None, wait: float = 10.0) -> Outcome:
    """Builds a bookcase of the documents and puts it where ``home`` is opened; what was skipped is in the outcome.

    Raises ``NotFound`` where there are no documents, ``SettingsError`` for a folder whose bookcase is kept by hand and
    for documents that hold nothing to read, and whatever goes wrong while it is built; then all is as before.
    """
    home = Path(os.path.abspath(home))
    check(home, plan)
    private_directory(home / FOLDER)
    builds = private_directory(home / FOLDER / BUILDS)
    with WriterLock(builds, wait).held("provision"):
        _refuse_kept(home)
        sweep(builds, standing(home))
        build = private_directory(builds / secrets.token_hex(8))
        try:
            outcome = _built(build, plan, home, progress)
        except BaseException:
            shutil.rmtree(build, ignore_errors=True)
            raise
        # The commit: before it the old shelves are opened, behind it the new ones.
        write_whole(home / FILE, _settings_text(plan, home, f"{FOLDER}/{BUILDS}/{build.name}/"))
    return outcome


def check(home: Path, plan: Plan) -> None:
    """Raises what ``provision`` would raise of a plan before it builds anything; nothing is touched."""
    if not plan.documents.exists():
        raise NotFound(f"there are no documents at {plan.documents}", hint="Check the path.")
    use = _chunker(home, plan)
    CHUNKERS.load(use)
    if sizes := _sizes(use, plan):
        chunker(use, dict(sizes))
    _refuse_kept(home)


def skipped_for(home: Path, reads: Callable[[Sequence[str]], bool]) -> int | None:
    """How many items the provisioning of what stands left out; None where there was none, or where it is not told.

    ``reads`` says of the readers of what was provisioned whether all of it is the asker's to read.
    """
    for build in standing(Path(os.path.abspath(home))):
        try:
            record = json.loads((build / RECORD).read_text("utf-8"))
            return len(record["skipped"]) if reads(record["readers"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
    return None


def standing(home: Path) -> frozenset[Path]:
    """The builds that the settings of a provisioned bookcase lead to: one, unless somebody has edited them."""
    if not _provisioned(home):
        return frozenset()
    settings = load(home)
    parents = {Path(os.path.abspath(one.path)).parent for one in (settings.shared, settings.private)}
    return frozenset(one for one in parents if one.parent == home / FOLDER / BUILDS)


def refuse_unfinished(home: Path) -> None:
    """Raises ``CorruptShelf`` when shelves that were provisioned stand without their completion record."""
    for build in standing(Path(os.path.abspath(home))):
        try:
            told = json.loads((build / RECORD).read_text("utf-8"))["format"]
        except (OSError, ValueError, KeyError, TypeError):
            told = None
        if told != FORMAT:
            raise CorruptShelf(f"the build at {build} has no completion record", hint="Provision it again.")


# --- building -------------------------------------------------------------------------------------------------------


def _built(build: Path, plan: Plan, home: Path, progress: Progress | None) -> Outcome:
    """Makes the shelves in the build's folder, looks at them as a reader would, and writes the completion record."""
    write_whole(build / FILE, _settings_text(plan, home, ""))
    settings = load(build, environ={})
    with create(build, settings) as case:
        outcome = case.add(plan.documents, readers=plan.readers, exclude=_own(home, plan.documents), progress=progress)
        documents = len(case)
    if not outcome.chunks:
        raise SettingsError(
            f"there is nothing to read in {plan.documents}: {_left_out(outcome)}", hint="Name a folder with documents."
        )
    with open_bookcase(build, settings) as case:
        status = case.status()
        problems = case.check()
    held = {name: sum(getattr(one, name) for one in status.shelves) for name in ("documents", "chunks")}
    if problems or held != {"documents": documents, "chunks": outcome.chunks}:
        told = "; ".join(problems[:3]) or f"it holds {held}, not {documents} documents of {outcome.chunks} chunks"
        raise CorruptShelf(f"what was written is not what is read: {told}", hint="Check the disk, and provision again.")
    skipped = [{"uri": one.uri, "reason": one.reason} for one in outcome.skipped]
    made = {"encoder": status.encoder, "analyzer": status.analyzer, "chunker": status.chunker}
    told_readers = list(plan.readers or ())
    record = {"format": FORMAT, **held, "readers": told_readers, "skipped": skipped, **made}
    write_whole(build / RECORD, json.dumps(record, indent=2) + "\n")
    (build / FILE).unlink()
    with suppress(OSError):  # Made for every bookcase; the shelves of a build stand beside it.
        (build / FOLDER).rmdir()
    sync_directory(build)
    return outcome


def _left_out(outcome: Outcome) -> str:
    """What was skipped, in words: how many, and the first."""
    if not outcome.skipped:
        return "it holds no files"
    first = outcome.skipped[0]
    count = len(outcome.skipped)
    return f"{count} {'item was' if count == 1 else 'items were'} skipped, such as {first.uri}: {first.reason}"


def _own(home: Path, documents: Path) -> list[str]:
    """The pattern of the settings file where the bookcase stands among the documents: it is none of them."""
    file, root = home.resolve() / FILE, documents.resolve()
    if not file.is_relative_to(root):
        return []
    return [f"/{_SPECIAL.sub(lambda found: chr(92) + found[0], file.relative_to(root).as_posix())}"]


def _settings_text(plan: Plan, home: Path, shelves: str) -> str:
    """The settings file: everything that shapes the shelves, so that whoever opens them goes on in the same way."""
    told = load(home, files=False)
    use = _chunker(home, plan)
    sections: dict[str, dict[str, Any]] = {
        "": {"tenant": plan.tenant or told.tenant},
        "encoder": {"use": plan.encoder or told.encoder.use, **plan.options},
        "chunker": {"use": use, **_sizes(use, plan)},
        f"shelf.{SHARED}": {"path": f"{shelves}{SHARED}"},
        f"shelf.{PRIVATE}": {"path": f"{shelves}{PRIVATE}"},
    }
    lines = [MARK]
    for name, values in sections.items():
        lines += [f"[{name}]"] if name else []
        # JSON's texts, numbers and truth values are TOML's.
        lines += [*(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()), ""]
    return "\n".join(lines)


def _chunker(home: Path, plan: Plan) -> str:
    return plan.chunker or load(home, files=False).chunker.use


def _sizes(use: str, plan: Plan) -> dict[str, int]:
    """The options of the chunker that stand for the size and the overlap of chunks."""
    found: dict[str, int] = {}
    names = SIZES.get(use, (None, None))
    for what, name, value in zip(("size", "overlap"), names, (plan.chunk_size, plan.chunk_overlap), strict=True):
        if value is not None and name is None:
            raise SettingsError(f"the chunker {use!r} has no {what} of chunks", hint="Leave it out.")
        if value is not None and name is not None:
            found[name] = value
    return found


# --- files ----------------------------------------------------------------------------------------------------------


def _refuse_kept(home: Path) -> None:
    """Raises ``SettingsError`` for a bookcase, or settings, that somebody keeps by hand: they are never replaced."""
    if _provisioned(home):
        return
    for kept in (home / FILE, home / FOLDER / PRIVATE, home / FOLDER / SHARED):
        if os.path.lexists(kept):
            raise SettingsError(
                f"{kept} is kept by hand, and provisioning would replace it",
                hint="Provision into a folder of its own; into this one, add documents with: estante add",
            )


def _provisioned(home: Path) -> bool:
    try:
        return (home / FILE).read_text("utf-8").startswith(MARK)
    except (OSError, UnicodeDecodeError):
        return False
