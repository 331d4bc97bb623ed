"""A zip file whose bounds are checked before anything in it is unpacked."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from typing import Any, Final

from lxml import etree

from estante.model.errors import Unreadable

MOST_ENTRIES: Final = 10_000
MOST_BYTES: Final = 500_000_000
MOST_XML: Final = 100_000_000
MOST_RATIO: Final = 200
_SMALL: Final = 1_000_000

_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
)


class Archive:
    """The entries of a zip file. Raises ``Unreadable`` for a damaged one, and for one that unpacks beyond bounds."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
            entries = self._zip.infolist()
        except _ZIP_ERRORS as error:
            raise _damaged() from error
        total = sum(entry.file_size for entry in entries)
        swollen = any(
            entry.file_size > _SMALL and entry.file_size > MOST_RATIO * max(entry.compress_size, 1) for entry in entries
        )
        if len(entries) > MOST_ENTRIES or total > MOST_BYTES or swollen:
            raise Unreadable(
                f"unpacks beyond bounds: {len(entries):,} entries of {total:,} bytes", hint="Leave it out, or split it."
            )
        self._entries = {entry.filename: entry for entry in entries}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, limit: int = MOST_BYTES) -> bytes:
        """The bytes of an entry, whatever size it tells of itself."""
        try:
            with self._zip.open(self._entries[name]) as stream:
                data = stream.read(limit + 1)
        except KeyError as error:
            raise Unreadable(f"damaged: {name} is missing", hint="Open it in its program and save it again.") from error
        except _ZIP_ERRORS as error:
            raise _damaged() from error
        if len(data) > limit:
            raise Unreadable(f"{name} unpacks beyond {limit:,} bytes", hint="Leave it out, or split it.")
        return data

    def xml(self, name: str) -> Any:
        """The root element of an entry of XML; no entity is expanded and nothing is fetched."""
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            root: Any = etree.fromstring(self.read(name, MOST_XML), parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise Unreadable(f"damaged: {name} is no XML that can be read", hint="Save it again.") from error
        if root.getroottree().docinfo.doctype:
            raise Unreadable(f"{name} declares a document type, as only attacks do", hint="Leave it out.")
        return root


def _damaged() -> Unreadable:
    return Unreadable("damaged: no zip file that can be read", hint="Get the file again, or save it again.")
