"""A folder of files as a source of items."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from estante.ingest.formats import extractor_name, media_type, suffix
from estante.model.access import Claim
from estante.model.content import Item
from estante.model.errors import EstanteError, SettingsError
from estante.model.ports import Skipped
from estante.security.paths import read_file, resolve_inside, shown

IGNORE_FILE: Final = ".estanteignore"
MAX_BYTES: Final = 200_000_000


def _readable(uri: str) -> bool:
    return extractor_name(uri) is not None


class FolderSource:
    """The files of a folder, or one file, in the code-point order of their paths.

    ``include`` and ``exclude`` are patterns as in ``.gitignore``; those of a file ``.estanteignore`` in the
    folder come before ``exclude``. ``known`` says whether a file of this uri can be read. Left out without a
    word are names that begin with a dot and what the patterns leave out; all else that is left out is a
    ``Skipped`` with the reason. The uri of a skipped folder ends with ``/``.
    """

    def __init__(
        self,
        name: str,
        root: Path,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        claims: Sequence[Claim] = (),
        max_bytes: int = MAX_BYTES,
        known: Callable[[str], bool] = _readable,
    ) -> None:
        self._name = name
        self.root = root
        self.claims = tuple(claims)
        self.max_bytes = max_bytes
        self.known = known
        self._include = _spec(include, f"include of source {name!r}") if include else None
        self._exclude = tuple(exclude)
        _spec(exclude, f"exclude of source {name!r}")

    @property
    def name(self) -> str:
        """Its name in the bookcase."""
        return self._name

    def items(self) -> Iterator[Item | Skipped]:
        """Every file in order. Raises ``SettingsError`` when the folder itself cannot be listed.

        A folder that is away for a while must not look like one that was emptied.
        """
        root = Path(os.path.realpath(self.root))
        if root.is_file():
            # Known by the name that was given: a link keeps it when its target changes.
            uri = shown(os.path.basename(os.path.abspath(self.root)))
            yield self._item(_File(uri, root.name, root.stat()), root.parent)
            return
        try:
            os.scandir(root).close()
        except OSError as error:
            raise SettingsError(
                f"the folder of source {self.name!r} cannot be listed: {self.root}: {error.strerror}",
                hint="Check the path and the permissions.",
            ) from error
        walk = _Walk(root, self._include, self._excluding(root), self.known)
        for found in walk.files():
            yield found if isinstance(found, Skipped) else self._item(found, root)

    def _item(self, file: _File, root: Path) -> Item | Skipped:
        if not self.known(file.uri):
            ending = suffix(file.uri)
            return Skipped(
                file.uri, f"no extractor for {ending}" if ending else "no extractor for a name without suffix"
            )
        size = file.status.st_size
        if size > self.max_bytes:
            return Skipped(file.uri, f"{size:,} bytes, more than the limit of {self.max_bytes:,}")
        return Item(
            source=self.name,
            uri=file.uri,
            media_type=media_type(file.uri),
            revision=f"{size}-{file.status.st_mtime_ns}",
            read=partial(read_file, root, file.path, self.max_bytes),
            claims=self.claims,
        )

    def _excluding(self, root: Path) -> GitIgnoreSpec:
        """The patterns of what to leave out. A pattern file that cannot be read stops: it may hold things back."""
        lines: list[str] = []
        if os.path.lexists(root / IGNORE_FILE):
            try:
                lines = read_file(root, IGNORE_FILE, 1_000_000).decode("utf-8-sig").splitlines()
            except (EstanteError, UnicodeDecodeError) as error:
                raise SettingsError(
                    f"{IGNORE_FILE} of source {self.name!r} cannot be read: {error}", hint="Mend or remove that file."
                ) from error
        return _spec([*lines, *self._exclude], f"{IGNORE_FILE} of source {self.name!r}")


def _spec(patterns: Sequence[str], where: str) -> GitIgnoreSpec:
    if isinstance(patterns, str):
        raise SettingsError(f"{where} must be a list of patterns, got a text", hint=f'Write ["{patterns}"].')
    try:
        return GitIgnoreSpec.from_lines(unicodedata.normalize("NFC", pattern) for pattern in patterns)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}", hint="Patterns are written as in .gitignore.") from error


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was found: its uri, the name by which the system knows it, and its size and times."""

    uri: str
    path: str
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a directory. ``key`` puts it where its whole path stands in the order of all paths."""

    key: str
    uri: str
    path: str
    entry: os.DirEntry[str]
    directory: bool


class _Walk:
    """One pass over a folder; remembers which identities were already seen."""

    def __init__(
        self, root: Path, include: GitIgnoreSpec | None, exclude: GitIgnoreSpec, known: Callable[[str], bool]
    ) -> None:
        self.root = root
        self.include = include
        self.exclude = exclude
        self.known = known
        self.seen: dict[str, str] = {}
        self.linked: dict[str, str] = {}

    def files(self) -> Iterator[_File | Skipped]:
        """Every file, depth first and in order, without recursion: a folder may be deeper than the stack."""
        stack: list[Iterator[_Name | Skipped]] = [iter(self._names("", ""))]
        while stack:
            name = next(stack[-1], None)
            if name is None:
                stack.pop()
            elif isinstance(name, Skipped):
                yield name
            elif name.directory:
                if not self.exclude.match_file(f"{name.uri}/"):
                    stack.append(iter(self._names(name.path, name.uri)))
            elif (found := self._file(name)) is not None:
                yield found

    def _names(self, path: str, uri: str) -> Sequence[_Name | Skipped]:
        """What stands in one directory, in order."""
        names: list[_Name] = []
        try:
            with os.scandir(self.root / path if path else self.root) as entries:
                names.extend(_name(entry, path, uri) for entry in entries if not entry.name.startswith("."))
        except OSError as error:
            reason = "no permission to list it" if isinstance(error, PermissionError) else f"{error.strerror}"
            return [Skipped(f"{uri}/", f"the folder cannot be listed: {reason}")]
        # Two names may be written alike once normalised; their bytes decide between them.
        return sorted(names, key=lambda name: (name.key, os.fsencode(name.entry.name)))

    def _file(self, name: _Name) -> _File | Skipped | None:
        if self._left_out(name.uri):
            return None
        try:
            status = name.entry.stat(follow_symlinks=False)
            if _is_link(status):
                return self._link(name)
        except OSError as error:
            return Skipped(name.uri, f"cannot be looked at: {error.strerror}")
        if not stat.S_ISREG(status.st_mode):
            return Skipped(name.uri, f"not a regular file but {_kind(status.st_mode)}")
        return self._once(_File(name.uri, name.path, status))

    def _link(self, name: _Name) -> _File | Skipped | None:
        """The file behind a link, unless it leads out or its target is listed in its own right."""
        try:
            target = resolve_inside(self.root, name.path.replace(os.sep, "/"))
        except EstanteError as error:
            return Skipped(name.uri, error.message)
        status = os.stat(self.root / target)
        if stat.S_ISDIR(status.st_mode):
            return Skipped(f"{name.uri}/", "a link to a folder, which is not followed")
        if not stat.S_ISREG(status.st_mode):
            return Skipped(name.uri, f"a link to {_kind(status.st_mode)}")
        parts = target.split(os.sep)
        uri = "/".join(shown(part) for part in parts)
        if self._left_out(uri) or self._in_excluded(uri):
            return Skipped(name.uri, "a link to a file that the patterns leave out")
        if not any(part.startswith(".") for part in parts) and self.known(uri):
            return Skipped(name.uri, f"same identity as {uri}")
        if target in self.linked:
            return Skipped(name.uri, f"same identity as {self.linked[target]}")
        found = self._once(_File(name.uri, name.path, status))
        if isinstance(found, _File):
            self.linked[target] = name.uri
        return found

    def _once(self, file: _File) -> _File | Skipped:
        """The file, unless an earlier one has its identity."""
        identity = unicodedata.normalize("NFC", file.uri.casefold())
        other = self.seen.get(identity)
        if other == file.uri:
            return Skipped(file.uri, f"same identity as {other}")
        if other is not None:
            return Skipped(
                file.uri, f"its name differs from {other!r} only in letter case, which ids ignore: rename one of them"
            )
        self.seen[identity] = file.uri
        return file

    def _left_out(self, uri: str) -> bool:
        if self.include is not None and not self.include.match_file(uri):
            return True
        return self.exclude.match_file(uri)

    def _in_excluded(self, uri: str) -> bool:
        parts = uri.split("/")
        return any(self.exclude.match_file("/".join(parts[:end]) + "/") for end in range(1, len(parts)))


def _name(entry: os.DirEntry[str], path: str, uri: str) -> _Name:
    try:
        directory = entry.is_dir(follow_symlinks=False) and not _is_link(entry.stat(follow_symlinks=False))
    except OSError:
        directory = False
    name = shown(entry.name)
    whole = f"{uri}/{name}" if uri else name
    real = os.path.join(path, entry.name)
    return _Name(f"{name}/" if directory else name, whole, real, entry, directory)


def _is_link(status: os.stat_result) -> bool:
    # Windows has folders that are links by another name.
    mount = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (mount is not None and getattr(status, "st_reparse_tag", 0) == mount)


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))
    return next((words for holds, words in kinds if holds(mode)), "a device")
