"""What ``eval run`` measures: a pipeline that is named, a bookcase, or one that is built from the collection."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from estante.model.errors import NotFound, SettingsError
from estante.serve.cli.borders import strangers
from estante.serve.cli.output import Output, counted
from estante.serve.cli.pipelines import closing, pipeline_of, spec_of
from estante.serve.cli.progress import progress

if TYPE_CHECKING:
    from estante.contract.pipeline import RagPipeline
    from estante.evaluate.collection import Collection
    from estante.evaluate.knownitem import Titled
    from estante.model.ports import Outcome
    from estante.shelf.bookcase import Bookcase

_OWN: Final = ("mode", "asker", "keys", "chunker", "chunk_size", "chunk_overlap")
"""What can be said of a bookcase and of no other pipeline."""
_CUT: Final = ("chunker", "chunk_size", "chunk_overlap")
"""What can be said of one that is built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The flags that say what is measured."""

    target: str | None = None
    kwargs: str | None = None
    connector_type: str | None = None
    params: str | None = None
    connection: Path | None = None
    bookcase: Path | None = None
    run_file: Path | None = None
    build: bool = False
    mode: str | None = None
    asker: str | None = None
    keys: tuple[str, ...] = ()
    chunker: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None

    def __post_init__(self) -> None:
        others = [self.target, self.connector_type, self.connection, self.run_file]
        own = self.build or self.bookcase is not None
        if sum(one is not None for one in others) + own != 1:
            raise SettingsError(
                "say what is measured, in one way",
                hint="Give --build, --bookcase, --connector-type, --connection, --import or --run-file.",
            )
        for name in _OWN:
            if getattr(self, name) not in (None, ()) and not own:
                raise SettingsError(
                    f"--{_flag(name)} says something of a bookcase", hint="Leave it out, or give --bookcase or --build."
                )
        if not self.build and any(getattr(self, name) is not None for name in _CUT):
            raise SettingsError("a bookcase that stands is cut already", hint="Give --chunker together with --build.")
        if self.build and (self.asker or self.keys):
            raise SettingsError("what is built is read by its owner", hint="Leave --asker and --key out.")


def _flag(name: str) -> str:
    return "key" if name == "keys" else name.replace("_", "-")


@contextmanager
def subject_of(given: Subject, collection: Collection, out: Output) -> Iterator[tuple[RagPipeline, dict[str, Any]]]:
    """The pipeline, closed behind the block, and what a run should keep of how it was built."""
    if given.connection is not None:
        with _connected(given.connection) as pipeline:
            yield pipeline, {}
    elif given.build:
        with _built(given, collection, out) as made:
            yield made
    elif given.bookcase is not None:
        params = _params(given, given.bookcase)
        with pipeline_of("estante", json.dumps(params), None, None) as pipeline:
            _refuse_bare(pipeline)
            yield pipeline, {}
    else:
        with pipeline_of(given.connector_type, given.params, given.target, given.kwargs) as pipeline:
            yield pipeline, {}


def titled_of(place: Path, asker: str | None, keys: Sequence[str]) -> list[Titled]:
    """The documents of a bookcase that this asker may read, with their titles and headings."""
    from estante.evaluate.knownitem import Titled
    from estante.model.content import HEADING
    from estante.shelf.assemble import open_bookcase
    from estante.shelf.binding import Binding
    from estante.shelf.bookcase import parts_of

    binding = Binding.of(_params(Subject(bookcase=place, asker=asker, keys=tuple(keys)), place))
    with open_bookcase(place) as case:
        tenant, _, _ = parts_of(case)
        grant = binding.grant(tenant)
        held = [case.document(one.document_id, asker=grant) for one in case.documents(asker=grant)]
    if not held:
        raise NotFound(f"there is nothing in {place} that {binding.asker} may read", hint=_AS_OWNER)
    return [
        Titled(
            id=one.id,
            title=one.title,
            headings=tuple(mark.label for mark in one.marks if mark.kind == HEADING),
            text=one.text,
        )
        for one in held
    ]


_AS_OWNER: Final = "With --asker owner the bookcase is read as its owner reads it."


def _params(given: Subject, place: Path) -> dict[str, Any]:
    asker = given.asker or ("reader" if given.keys else None)
    told = {"path": str(place), "mode": given.mode, "asker": asker, "keys": list(given.keys) or None}
    return {name: value for name, value in told.items() if value is not None}


def _refuse_bare(pipeline: RagPipeline) -> None:
    """Raises ``NotFound`` for a bookcase that has nothing for its asker: every question would find nothing."""
    health = pipeline.health()  # type: ignore[attr-defined]
    if not health.ok:
        raise NotFound(str(health.detail), hint=_AS_OWNER)


@contextmanager
def _connected(path: Path) -> Iterator[RagPipeline]:
    """The pipeline of a connection document that was saved."""
    from estante.contract.connections import read_connection
    from estante.contract.foreign import adopted

    try:
        document = read_connection(path)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}", hint="Save one with: estante connect TYPE --save FILE") from error
    named = document.get("type") or document.get("connector_type")
    if not isinstance(named, str):
        raise SettingsError(f"{path} does not say the type of its connector", hint="Save it with: estante connect")
    with strangers(f"build of connector {named!r}"):
        pipeline = adopted(spec_of(named).build(document))
    with closing(pipeline):
        yield pipeline


# --- building -------------------------------------------------------------------------------------------------------


@contextmanager
def _built(given: Subject, collection: Collection, out: Output) -> Iterator[tuple[RagPipeline, dict[str, Any]]]:
    """A bookcase of the collection's corpus: in a folder that is named, which stays, else in one that goes."""
    from estante.shelf.assemble import create
    from estante.shelf.opening import as_pipeline
    from estante.shelf.settings import load

    if not collection.sources:
        raise SettingsError(
            f"{collection.name} has no corpus to build from",
            hint="A folder of BEIR has corpus.jsonl; or --corpus FILE.",
        )
    home = given.bookcase or Path(tempfile.mkdtemp(prefix="estante-eval-"))
    try:
        home.mkdir(parents=True, exist_ok=True)
        if text := _settings_text(given):
            (home / "estante.toml").write_text(text, "utf-8")
        with create(home, load(home)) as case:
            texts = {one.id: one.whole for one in collection.sources if one.whole.strip()}
            with progress(out) as heard:
                outcome = case.add(texts, readers=["*"], progress=heard)
            told = _tell_built(out, case, outcome, blank=len(collection.sources) - len(texts), wanted=set(texts))
            binding = {"asker": "owner", **({"mode": given.mode} if given.mode else {})}
            pipeline = as_pipeline(case, **binding)
            try:
                yield pipeline, {"built": told}
            finally:
                pipeline.close()
    finally:
        if given.bookcase is None:
            shutil.rmtree(home, ignore_errors=True)


def _settings_text(given: Subject) -> str:
    """The settings of a bookcase with a chunker of its own; empty when the usual one will do."""
    from estante.shelf.provisioning import SIZES

    sizes = (given.chunk_size, given.chunk_overlap)
    if given.chunker is None and sizes == (None, None):
        return ""
    chunker = given.chunker or next(iter(SIZES))
    lines = ["[chunker]", f"use = {json.dumps(chunker)}"]
    for what, name, value in zip(("size", "overlap"), SIZES.get(chunker, (None, None)), sizes, strict=True):
        if value is not None and name is None:
            raise SettingsError(f"the chunker {chunker!r} has no {what} of chunks", hint=f"Leave --chunk-{what} out.")
        if value is not None:
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"


def _tell_built(out: Output, case: Bookcase, outcome: Outcome, *, blank: int, wanted: set[str]) -> dict[str, Any]:
    """How it was built; told is what of the corpus is not in it as it was: nobody may take that for a poor search."""
    held = {one.document_id for one in case.documents()}
    skipped = len(outcome.skipped)
    counts = {"blank": blank, "skipped": skipped, "renamed": max(0, len(wanted - held) - skipped)}
    for what, count in counts.items():
        if count:
            out.warn(f"{counted(count, 'document')} {_BUILT[what]}")
    if outcome.masked:
        out.note(("note:", "bold"), f" {counted(outcome.masked, 'secret')} masked, as in every bookcase")
    return {"chunker": case.status().chunker, "chunks": outcome.chunks, "masked": outcome.masked, **counts}


_BUILT: Final = {
    "blank": "without any text, which no search can find",
    "skipped": "that could not be read",
    "renamed": "under another id than in the corpus, because it looks like a secret or is not normalised",
}
