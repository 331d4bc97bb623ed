"""The sources that a bookcase knows: those of the settings, and those that were added by hand and remembered."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from estante.ingest.sourcing import SOURCES
from estante.model.access import ANYONE, Claim, Readers
from estante.model.content import Item
from estante.model.errors import NotFound, SettingsError
from estante.model.ports import Skipped, Source

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

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the settings say of who may read it; saying nothing seals."""
        if self.readers is None:
            return ()
        return (Claim(readers_of(self.readers), "the source's readers", self.name),)

    def label(self) -> str:
        """Its readers for people."""
        if self.readers is None:
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

    def _folder(self, readable: Callable[[str], bool]) -> Source:
        include = self.include
        if self.files is not None:
            include = tuple("/" + _escaped(file) for file in self.files)
        made: Source = SOURCES.load(self.use)(
            self.name,
            Path(self.root),
            include=include,
            exclude=self.exclude,
            claims=self.claims,
            max_bytes=self.max_bytes,
            known=readable,
        )
        return made


def _escaped(path: str) -> str:
    """A path as a pattern that matches it and nothing else."""
    return "".join(f"\\{letter}" if letter in "\\*?[]!# " else letter for letter in path)


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
        """Those of the settings, and those remembered that the settings do not name."""
        names = {one.name for one in settled}
        by_hand = [_known(row) for row in json.loads(told or "[]") if row["name"] not in names]
        return cls([*settled, *by_hand])

    def to_text(self) -> str:
        """Those added by hand, to be remembered."""
        return json.dumps([asdict(one) for one in self.known if one.by_hand], ensure_ascii=False)

    def find(self, name: str) -> Known:
        """The source of this name. Raises ``NotFound``."""
        for one in self.known:
            if one.name == name:
                return one
        raise NotFound(f"there is no source {name!r}", hint="List them with: estante status")

    def without(self, name: str) -> Sources:
        """All but one."""
        return Sources([one for one in self.known if one.name != name])

    def holding(self, path: Path) -> tuple[Known, str] | None:
        """The source whose whole folder holds a path, and the path inside it ('' for the folder itself)."""
        best: tuple[Known, str] | None = None
        for one in self.known:
            root = Path(one.root)
            if one.files is None and root.is_dir() and (path == root or root in path.parents):
                inside = "" if path == root else path.relative_to(root).as_posix()
                if best is None or len(one.root) > len(best[0].root):
                    best = (one, unicodedata.normalize("NFC", inside))
        return best

    def adding(self, path: Path, options: Mapping[str, Any]) -> tuple[Sources, Known, str]:
        """With a path added: the sources, the one that now holds it, and the part of it that was meant."""
        path = Path(path).resolve()
        if not path.exists():
            raise NotFound(f"there is no file or folder {str(path)!r}", hint="Check the path.")
        held = None if options.get("name") else self.holding(path)
        if held is not None:
            changed = _changed(held[0], options) if held[1] == "" else held[0]
            self._refuse_other_readers(held[0], changed, options, inside=bool(held[1]))
            return self._with(changed), changed, held[1]
        return self._new(path, options)

    @staticmethod
    def _refuse_other_readers(before: Known, after: Known, options: Mapping[str, Any], *, inside: bool) -> None:
        readers = options.get("readers")
        if inside and readers is not None and tuple(readers) != before.readers:
            raise SettingsError(
                f"{before.name!r} is read by {before.label()}, a part of it cannot have other readers",
                hint="Give the part a name of its own: --name NAME, or set readers for the whole source.",
            )
        if not before.by_hand and after != before:
            raise SettingsError(
                f"the source {before.name!r} is described in the settings", hint="Change it in estante.toml."
            )

    def _new(self, path: Path, options: Mapping[str, Any]) -> tuple[Sources, Known, str]:
        root, file = (path, None) if path.is_dir() else (path.parent, path.name)
        same = next((one for one in self.known if Path(one.root) == root and one.files is not None and file), None)
        if same is not None and file is not None and (options.get("readers") is None or options.get("name") is None):
            grown = replace(_changed(same, options), files=tuple(sorted({*(same.files or ()), file})))
            return self._with(grown), grown, unicodedata.normalize("NFC", file)
        made = _changed(
            Known(name=self._free(options.get("name") or root.name or "files", root), root=str(root)), options
        )
        if file is not None:
            made = replace(made, files=(file,))
        within = "" if file is None else unicodedata.normalize("NFC", file)
        return self._with(made), made, within

    def _with(self, one: Known) -> Sources:
        return Sources([*(other for other in self.known if other.name != one.name), one])

    def _free(self, name: str, root: Path) -> str:
        """The name, or the name with the first number that is free."""
        name = unicodedata.normalize("NFC", name).replace("/", "-").strip() or "files"
        taken = {one.name.casefold(): one for one in self.known}
        candidate, number = name, 1
        while candidate.casefold() in taken and Path(taken[candidate.casefold()].root) != root:
            number += 1
            candidate = f"{name}-{number}"
        return candidate


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
