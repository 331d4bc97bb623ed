"""The sources that a bookcase knows: those of the settings, and those that were added by hand and remembered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from estante.ingest.sourcing import SOURCES
from estante.model.access import ANYONE, Claim, Readers
from estante.model.content import Item
from estante.model.errors import NameTaken, NotFound, SettingsError
from estante.model.ports import Skipped, Source
from estante.security.paths import shown
from estante.security.scrub import scrub

MAX_BYTES: Final = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A folder that a bookcase reads from; with ``files``, only these of its files."""

    name: str
    root: str
    use: str = "folder"
    readers: tuple[str, ...] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    max_bytes: int = MAX_BYTES
    metadata: str = "{}"
    by_hand: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", scrub(shown(self.name))[0])

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the settings say of who may read it; saying nothing seals."""
        if self.readers is None:
            return ()
        return (Claim(readers_of(self.readers), "the source's readers", self.name),)

    def label(self) -> str:
        """Its readers for people."""
        if not self.readers:
            return "private"
        return "shared" if "*" in self.readers else ",".join(self.readers)

    def items(self, readable: Callable[[str], bool], within: str = "") -> Iterable[Item | Skipped]:
        """Its items, or those at and below ``within``."""
        metadata: dict[str, object] = json.loads(self.metadata)
        for item in self._folder(readable).items():
            if within and not (item.uri == within or item.uri.startswith(within + "/")):
                continue
            if self.files is not None and item.uri not in self.files:
                continue
            yield replace(item, metadata=metadata) if metadata and isinstance(item, Item) else item

    def check(self, readable: Callable[[str], bool]) -> None:
        """Raises ``SettingsError`` when its patterns cannot be read."""
        self._folder(readable)

    @property
    def place(self) -> Path:
        """Its folder, without links."""
        return Path(os.path.realpath(self.root))

    def _folder(self, readable: Callable[[str], bool]) -> Source:
        include, exclude = self.include, self.exclude
        if self.files is not None:
            # The folder around the files may be large: what is below it is not looked into.
            include, exclude = tuple(pattern(file) for file in self.files), (*exclude, "*/")
        made: Source = SOURCES.load(self.use)(
            self.name,
            Path(self.root),
            include=include,
            exclude=exclude,
            claims=self.claims,
            max_bytes=self.max_bytes,
            known=readable,
        )
        return made


def pattern(path: str) -> str:
    """A pattern that matches this path below the root, and nothing else."""
    return "/" + "".join(map(_escaped, path))


def _escaped(letter: str) -> str:
    if letter in "\\*?[]!# ":
        return f"\\{letter}"
    # Blanks at the end of a pattern do not count, and of them only a space can be escaped.
    return f"[{letter}]" if letter.isspace() else letter


def readers_of(readers: Iterable[str]) -> Readers:
    """Reader keys as given by people: ``*`` among them is everyone in the tenant."""
    keys = frozenset(readers)
    return ANYONE if "*" in keys else keys


class Sources:
    """All known sources by name; a value, changed by making another."""

    def __init__(self, known: Sequence[Known] = ()) -> None:
        self.known = tuple(sorted(known, key=lambda one: one.name))

    @classmethod
    def remembered(cls, told: str | None, settled: Sequence[Known]) -> Sources:
        """Those of the settings, and those remembered whose name and folder the settings do not describe.

        What the settings describe is forgotten otherwise: taken out of the settings, it must not open again.
        """
        names = {one.name.casefold() for one in settled}
        places = {one.place for one in settled}
        by_hand = [_known(row) for row in json.loads(told or "[]")]
        return cls(
            [
                *settled,
                *(
                    one
                    for one in by_hand
                    if one.name.casefold() not in names and not (one.files is None and one.place in places)
                ),
            ]
        )

    def to_text(self) -> str:
        """Those added by hand, to be remembered."""
        # Undecodable bytes of a path are half characters, which only escapes can carry.
        return json.dumps([asdict(one) for one in self.known if one.by_hand])

    def find(self, name: str) -> Known:
        """The source of this name. Raises ``NotFound``."""
        for one in self.known:
            if one.name.casefold() == name.casefold():
                return one
        raise NotFound(f"there is no source {name!r}", hint="List them with: estante status")

    def __contains__(self, name: object) -> bool:
        return any(one.name == name for one in self.known)

    def files(self, name: str) -> tuple[str, ...] | None:
        """The files that a source of this name reads; None for all of its folder, () without such a source."""
        return next((one.files for one in self.known if one.name == name), ())

    def without(self, name: str) -> Sources:
        """All but one."""
        return Sources([one for one in self.known if one.name != name])

    def holding(self, path: Path) -> tuple[Known, str] | None:
        """The source whose whole folder holds a path, and the path inside it ('' for the folder itself)."""
        best: tuple[Known, str] | None = None
        for one in self.known:
            root = one.place
            if one.files is None and (path == root or root in path.parents):
                inside = "" if path == root else path.relative_to(root).as_posix()
                if best is None or len(root.parts) > len(best[0].place.parts):
                    best = (one, shown(inside))
        return best

    def parts(self, whole: Known) -> list[str]:
        """The folders (with a slash at the end) and files inside a source that are left to sources of their own."""
        if whole.files is not None:
            return []
        found = set()
        for one in self.known:
            if one.files is None and whole.place in one.place.parents:
                found.add(one.place.relative_to(whole.place).as_posix() + ("/" if one.place.is_dir() else ""))
            elif one.files is not None and one.name != whole.name and whole.place in (one.place, *one.place.parents):
                found |= {(one.place / file).relative_to(whole.place).as_posix() for file in one.files}
        return sorted(map(shown, found))

    def twice(self, name: str) -> str:
        """What is to be said of a folder that other sources read, too; empty when none does."""
        one = self.find(name)
        # Files that were added alone stay with the source that holds them, and come up once.
        folders = [other for other in self.known if other.files is None and other.place == one.place]
        others = [other.name for other in folders if other.name != one.name]
        if one.files is not None or not others:
            return ""
        return f"the folder of {one.name!r} is read by {', '.join(map(repr, others))}, too; its passages come up twice"

    def owns(self, one: Known) -> Callable[[str], bool]:
        """Whether a source still has an item that it brought: not when it now stands in a source of its own."""
        if one.files is not None:
            return frozenset(one.files).__contains__
        parts = self.parts(one)
        folders = tuple(path for path in parts if path.endswith("/"))
        return lambda uri: uri not in parts and not uri.startswith(folders)

    def adding(self, path: Path, options: Mapping[str, Any]) -> tuple[Sources, Known, str]:
        """With a path added: the sources, the one that now holds it, and the part of it that was meant."""
        try:
            path = Path(path).resolve()
            there = path.exists()
        except (ValueError, OSError, RuntimeError) as error:  # A NUL in it, a name too long, links in a ring.
            raise SettingsError(
                f"{shown(str(path))[:80]!r} is no path: {scrub(str(error))[0][:120]}", hint="Check the path."
            ) from error
        if not there:
            raise NotFound(f"there is no file or folder {shown(str(path))!r}", hint="Check the path.")
        held = self._named(options["name"], path) if options.get("name") else self.holding(path)
        self._refuse_many(path, options)
        if held is not None:
            changed = _changed(held[0], options) if held[1] == "" else held[0]
            self._refuse_other_readers(held[0], changed, options, inside=bool(held[1]))
            return self._with(changed), changed, held[1]
        return self._new_folder(path, options) if path.is_dir() else self._new_file(path, options)

    def _refuse_many(self, path: Path, options: Mapping[str, Any]) -> None:
        """Raises ``SettingsError`` where several sources read this folder and nothing says which is meant."""
        names = [one.name for one in self.known if one.files is None and one.place == path]
        if len(names) > 1 and not options.get("name"):
            raise SettingsError(
                f"several sources read this folder: {', '.join(names)}", hint=f"Say which one: --name {names[0]}"
            )

    def _named(self, name: str, path: Path) -> tuple[Known, str] | None:
        """The source of this name, where it is this very folder."""
        for one in self.known:
            if one.name.casefold() == _spelt(name).casefold() and one.files is None and one.place == path:
                return one, ""
        return None

    @staticmethod
    def _refuse_other_readers(before: Known, after: Known, options: Mapping[str, Any], *, inside: bool) -> None:
        readers = options.get("readers")
        if inside and readers is not None and set(readers) != set(before.readers or ()):
            raise SettingsError(
                f"{before.name!r} is read by {before.label()}, a part of it cannot have other readers",
                hint="Give the part a name of its own: --name NAME, or set readers for the whole source.",
            )
        if not before.by_hand and after != before:
            raise SettingsError(
                f"the source {before.name!r} is described in the settings", hint="Change it in estante.toml."
            )

    def _new_folder(self, path: Path, options: Mapping[str, Any]) -> tuple[Sources, Known, str]:
        """A whole folder. It takes in those of its files that were added before under its name, in the same way."""
        wanted = _changed(Known(name=_spelt(options.get("name") or path.name), root=str(path)), options)
        files = next((one for one in self._files_in(path) if _alike(one, wanted) and one.name == wanted.name), None)
        rest = self if files is None else self.without(files.name)
        made = replace(wanted, name=rest._free(wanted.name, options))
        return rest._with(made), made, ""

    def _new_file(self, path: Path, options: Mapping[str, Any]) -> tuple[Sources, Known, str]:
        """A file. It joins the files of its folder that were added in the same way, and leaves those it was with."""
        file, folder = shown(path.name), path.parent
        holder = next((one for one in self._files_in(folder) if file in (one.files or ())), None)
        fresh = Known(name=_spelt(options.get("name") or folder.name), root=str(folder))
        wanted = _changed(holder or fresh, options)
        rest = self
        if holder is not None:
            others = tuple(other for other in holder.files or () if other != file)
            if _fits(holder, options) and (not others or _alike(holder, wanted)):
                return self._with(wanted), wanted, file
            rest = self._with(replace(holder, files=others)) if others else self.without(holder.name)
        alike = [one for one in rest._files_in(folder) if _alike(one, wanted) and _fits(one, options)]
        base = alike[0] if alike else replace(wanted, name=rest._free(fresh.name, options), files=())
        grown = replace(base, files=tuple(sorted({*(base.files or ()), file})))
        return rest._with(grown), grown, file

    def _files_in(self, folder: Path) -> list[Known]:
        return [one for one in self.known if one.files is not None and one.place == folder]

    def _with(self, one: Known) -> Sources:
        return Sources([*(other for other in self.known if other.name != one.name), one])

    def _free(self, name: str, options: Mapping[str, Any]) -> str:
        """The name, or the name with the first number that is free. Raises ``NameTaken`` for a name asked for."""
        taken = {one.name.casefold(): one for one in self.known}
        if options.get("name") and name.casefold() in taken:
            raise NameTaken(
                f"the source {taken[name.casefold()].name!r} reads {taken[name.casefold()].root}",
                hint="Choose another --name.",
            )
        candidate, number = name, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{name}-{number}"
        return candidate


def _spelt(name: str) -> str:
    return scrub(shown(name))[0].replace("/", "-").strip() or "files"


def _alike(one: Known, other: Known) -> bool:
    """Whether both are read in the same way and for the same readers."""
    same_readers = (one.readers is None) == (other.readers is None) and set(one.readers or ()) == set(
        other.readers or ()
    )
    return same_readers and (one.include, one.exclude, one.metadata) == (other.include, other.exclude, other.metadata)


def _fits(one: Known, options: Mapping[str, Any]) -> bool:
    """Whether a source has the name that was asked for, if one was."""
    return not options.get("name") or one.name.casefold() == _spelt(options["name"]).casefold()


def _changed(one: Known, options: Mapping[str, Any]) -> Known:
    """The source with what was asked for; what was not mentioned stays."""
    changed = one
    if options.get("readers") is not None:
        changed = replace(changed, readers=tuple(options["readers"]))
    if options.get("include"):
        changed = replace(changed, include=tuple(options["include"]))
    if options.get("exclude"):
        changed = replace(changed, exclude=tuple(options["exclude"]))
    if options.get("metadata") is not None:
        changed = replace(changed, metadata=json.dumps(options["metadata"], ensure_ascii=False, sort_keys=True))
    return changed


def _known(row: Mapping[str, Any]) -> Known:
    lists = {key: tuple(row[key]) if row[key] is not None else None for key in ("readers", "files")}
    plain = {key: tuple(row[key]) for key in ("include", "exclude")}
    return Known(**{**row, **lists, **plain})
