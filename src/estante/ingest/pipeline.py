"""The river: from items to documents and the spans of their chunks.

A step takes a value and returns a new one. What fails in an item is told of that item; the others go on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estante.ingest import gate
from estante.ingest.chunking import CHUNKERS
from estante.ingest.formats import EXTRACTORS, READERS_VERSION, extractor_name
from estante.model.access import Claim, Scope
from estante.model.content import Document, Draft, Item, Metadata, Span, canonical
from estante.model.errors import ContractBroken, SettingsError, Unreadable
from estante.model.ports import Chunker, Extractor
from estante.model.wire import plain
from estante.security.scrub import DETECTORS_VERSION, scrub

PIPELINE_VERSION = "1"

Admitted = tuple[Document, tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of an item: its documents with their spans, or the reason why there are none."""

    digest: str
    documents: tuple[Admitted, ...] = ()
    losses: tuple[str, ...] = ()
    reason: str = ""


class River:
    """Reads items with one set of settings: which extractor reads which suffix, and how texts are cut."""

    def __init__(self, chunker: Chunker, extractors: dict[str, str] | None = None) -> None:
        self.chunker = chunker
        self.chosen = dict(extractors or {})
        self._loaded: dict[str, Extractor] = {}

    def known(self, uri: str) -> bool:
        """Whether there is an extractor for a file of this name."""
        return self._name(uri) is not None

    def recipe(self, item: Item, extractor: str | None = None) -> str:
        """The fingerprint of all that shapes what comes of an item: another one means it is read again."""
        given = json.dumps(plain(item.metadata), sort_keys=True, default=repr) if item.metadata else ""
        made = (PIPELINE_VERSION, READERS_VERSION, gate.GATE_VERSION, DETECTORS_VERSION, self.chunker.fingerprint)
        parts = (*made, extractor or self._name(item.uri) or "", item.media_type, given)
        return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def read(self, item: Item, data: bytes, scope: Scope, extractor: str | None = None) -> Reading:
        """The documents of an item, let in and cut. Never raises for what the item holds."""
        digest = hashlib.sha256(data).hexdigest()[:32]
        try:
            drafts = tuple(self._drafts(item, data, extractor))
            documents = tuple(self._flow(item, drafts, scope))
        except (Unreadable, ContractBroken, SettingsError) as error:
            return Reading(digest, reason=error.message)
        except RecursionError:
            return Reading(digest, reason="it is nested too deep to read")
        except MemoryError:
            return Reading(digest, reason="it is too large for this machine's memory")
        if not documents:
            return Reading(digest, reason="no text in it")
        return Reading(digest, documents, tuple(scrub(loss)[0] for draft in drafts for loss in draft.losses))

    def _flow(self, item: Item, drafts: Sequence[Draft], scope: Scope) -> Iterator[Admitted]:
        for draft in drafts:
            document = gate.admit(item, draft, scope)
            yield document, tuple(self.chunker.spans(document))

    def _name(self, uri: str) -> str | None:
        for suffix, name in self.chosen.items():
            if uri.lower().endswith(suffix.lower()):
                return name
        return extractor_name(uri)

    def _drafts(self, item: Item, data: bytes, extractor: str | None) -> Iterator[Draft]:
        name = extractor or self._name(item.uri)
        if name is None:
            raise Unreadable(f"no extractor for {item.uri!r}", hint="Choose one in the settings: [extractors].")
        if name not in self._loaded:
            self._loaded[name] = EXTRACTORS.load(name)()
        yield from self._loaded[name].drafts(item, data)


def chunker(name: str, options: dict[str, object]) -> Chunker:
    """The chunker of this name with these options. Raises ``SettingsError`` on an option it does not have."""
    kind = CHUNKERS.load(name)
    try:
        made: Chunker = kind(**options)
    except TypeError as error:
        raise SettingsError(
            f"chunker {name!r}: {error}", hint="Its options stand in docs/reference/settings.md."
        ) from error
    return made


def text_item(text_id: str, text: str, claims: tuple[Claim, ...], metadata: Metadata) -> Item:
    """A text given directly, as an item."""
    data = canonical(text).encode("utf-8")
    return Item(
        source="",
        uri=text_id,
        media_type="text/plain",
        revision=hashlib.sha256(data).hexdigest()[:16],
        read=lambda: data,
        claims=claims,
        metadata=metadata,
    )


def clean_metadata(metadata: Metadata) -> Metadata:
    """Metadata as the gate lets it in."""
    return gate.admit_metadata(metadata)
