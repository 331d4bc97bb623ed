"""A notebook as a pipeline: the one place where the back end's rows become the contract's values."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from estante.contract import (
    ChunkPage,
    ChunkRecord,
    ConnectorError,
    ConnectorHealth,
    ConnectorOperationalError,
    ContractValueError,
    GeneratedAnswer,
    PromptTemplate,
    RagPipeline,
    RenderedPrompt,
    RetrievedChunk,
    render_numbered_rag_block,
    render_prompt,
)
from estante.contract.fingerprints import embedding_fingerprint
from estante_connector_example.answers import PROMPTS, answered
from estante_connector_example.notebook import TOKENIZER, Facts, Key, Notebook, NotebookError, Passage

SNAPSHOT_SCHEMA: Final = "estante-connector-example.run-snapshot.v1"

_CHUNK: Final = re.compile("(?P<note>[a-z0-9][a-z0-9-]{0,63})#(?P<position>0|[1-9][0-9]{0,8})")
_CURSOR: Final = re.compile("(?P<revision>[0-9]{1,12}):(?P<after>.+)")


class NotebookPipeline(RagPipeline):
    """A notebook that answers questions. It reads and never writes, and holds nothing open between two calls."""

    name = "notebook"
    retrieval_mode = "scored"

    def __init__(self, path: str, *, token: str | None = None, archived: bool = False) -> None:
        """Opens the notebook once, so that a wrong path or token is found out now and not by the first question."""
        self._notebook = Notebook(path, token=token, archived=archived)
        self._facts()

    # --- required: search, and one way to read the corpus -----------------------------------------------------------

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The passages with the words of the question, best first."""
        if top_k < 0:
            raise ContractValueError(f"top_k is {top_k}; ask for 0 hits or more")
        with self._reaching("the search"):
            found = self._notebook.search(text, top_k)
        return [
            RetrievedChunk(
                chunk_id=chunk_id_of(passage),
                text=passage.text,
                # Better is smaller there and larger here, so the number is turned round and the original kept.
                score=-bm25,
                raw_score=bm25,
                rank=rank,
                doc_id=passage.note,
                metadata={"title": passage.title},
            )
            for rank, (passage, bm25) in enumerate(found)
        ]

    def list_chunks(self, *, cursor: str | None = None, limit: int = 1000) -> ChunkPage:
        """The next passages. The bulk read comes with it, because the base class follows the cursors."""
        if limit < 1:
            raise ContractValueError(f"the limit is {limit}; ask for 1 chunk or more")
        expected, after = _position(cursor)
        with self._reaching("the corpus read"):
            # One more than is asked for tells whether there is a next page.
            revision, passages = self._notebook.page(after, limit + 1)
        if expected not in (None, revision):
            # Pages from before and after a change together are a corpus that never was.
            raise ConnectorOperationalError("the notebook was written while it was read; begin again without a cursor")
        items = [record_of(passage) for passage in passages[:limit]]
        self.validate_chunks(items)
        return ChunkPage(items, f"{revision}:{items[-1].chunk_id}" if len(passages) > limit else None)

    def info(self) -> dict[str, Any]:
        """What a run should remember."""
        return {
            **super().info(),
            # No model embeds anything here. What turns texts into what is compared is the tokenizer, and a host that
            # keeps this beside its numbers notices when it becomes another one.
            "embedding_fingerprint": embedding_fingerprint(
                provider="sqlite-fts5", model=TOKENIZER, dimensions=None, normalize=None
            ),
            "distance": "bm25",
            "exact_spans": True,
            "internal_filters": [] if self._notebook.archived else [ARCHIVED_FILTER],
        }

    # --- optional: each is offered by being written -----------------------------------------------------------------

    def get_chunks(self, chunk_ids: Sequence[str]) -> dict[str, ChunkRecord]:
        """The passages of these ids. Without this method the whole corpus would be read for it."""
        keys = [key for one in chunk_ids if (key := _key(one)) is not None]
        with self._reaching("the read by id"):
            found = self._notebook.passages(keys)
        return {chunk_id_of(passage): record_of(passage) for passage in found}

    def health(self) -> ConnectorHealth:
        """Whether the notebook opens. The one method that tells of a failure instead of raising it."""
        try:
            facts = self._facts()
        except ConnectorOperationalError as error:
            return ConnectorHealth(ok=False, detail=str(error))
        return ConnectorHealth(ok=True, detail=f"{facts.notes} notes, {facts.passages} passages")

    def run_snapshot(self) -> dict[str, Any]:
        """How the connector is set, and what it found when it was asked. No secret, and no time of its own."""
        facts = self._facts()
        return {
            "schema": SNAPSHOT_SCHEMA,
            "settings": {"tokenizer": TOKENIZER, "ranking": "bm25", "archived": self._notebook.archived},
            "observations": {"notes": facts.notes, "passages": facts.passages, "revision": facts.revision},
        }

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """An answer from what ``query`` finds. What fails is the answer's ``error``, so that a run records it."""
        try:
            hits = self.query(text, top_k)
        except ConnectorError as error:
            return GeneratedAnswer(text, "", [], error=str(error))
        if not hits:
            return GeneratedAnswer(text, "The notebook does not say.", [])
        ids = [hit.chunk_id for hit in hits if hit.chunk_id is not None]
        prompt = render_prompt(PROMPTS[0], query=text, rag_block=self.render_rag_block(hits), chunk_ids=ids)
        return self.generate_from_prompt(prompt, contexts=hits, llm=llm)

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The declared prompts, the same that the spec tells of."""
        return PROMPTS

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The chunks as the prompts show them."""
        return render_numbered_rag_block(chunks)

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """The model's answer to a prompt as it stands. ``llm`` is called with its text, and gives a text."""
        return answered(prompt, contexts, llm, {**prompt.decoding, **(decoding or {})})

    # --- the border -------------------------------------------------------------------------------------------------

    def _facts(self) -> Facts:
        with self._reaching("the look at it"):
            return self._notebook.facts()

    @contextmanager
    def _reaching(self, what: str) -> Iterator[None]:
        """Lets every failure of the back end become the contract's, with the original as its cause."""
        try:
            yield
        except (NotebookError, sqlite3.Error) as error:
            raise ConnectorOperationalError(
                f"{what} failed in notebook {self._notebook.path}: {error}; check the file and the token"
            ) from error


ARCHIVED_FILTER: Final = {
    "name": "archived",
    "description": "archived notes are neither searched nor read",
    "value": False,
}


def chunk_id_of(passage: Passage) -> str:
    """The id of a passage, in hits, pages and reads by id: of its lasting key, never of the number of its row."""
    return f"{passage.note}#{passage.position}"


def record_of(passage: Passage) -> ChunkRecord:
    """A passage as a chunk of the corpus."""
    return ChunkRecord(
        chunk_id=chunk_id_of(passage),
        doc_id=passage.note,
        source_file=passage.title,
        doc_chunk_index=passage.position,
        # Notes have no order among one another; None says so, for every chunk.
        global_index=None,
        text=passage.text,
        char_start=passage.start,
        char_end=passage.start + len(passage.text),
        # By this a host notices which documents have changed.
        metadata={"source_fingerprint": passage.digest, "file_type": "txt"},
    )


def _key(chunk_id: object) -> Key | None:
    """The key that an id was made of; None for what no id of ours looks like, because it is not in the corpus."""
    read = _CHUNK.fullmatch(chunk_id) if isinstance(chunk_id, str) else None
    return (read["note"], int(read["position"])) if read else None


def _position(cursor: str | None) -> tuple[int | None, Key]:
    """The revision that a cursor was given for, and the key that its page begins behind."""
    if cursor is None:
        return None, ("", 0)
    read = _CURSOR.fullmatch(cursor)
    after = _key(read["after"]) if read else None
    if read is None or after is None:
        raise ContractValueError(f"the cursor {cursor!r} is none of this connector; begin with None")
    return int(read["revision"]), after
