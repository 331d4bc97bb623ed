"""The reference pipeline under the names that rag-connector gave it: collections in a folder, asked by meaning alone.

A connector reads and can do nothing else; ``estante.shelf.reference_provision`` makes what it reads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from estante.contract.errors import (
    ConnectorError,
    ConnectorOperationalError,
    ConnectorRegistrationError,
    ContractValueError,
)
from estante.contract.fingerprints import embedding_fingerprint
from estante.contract.loading import LoadedDocument, chunk_loaded_documents, load_documents
from estante.contract.models import (
    ChunkRecord,
    ConnectorHealth,
    DatasetRef,
    EmbeddingBatch,
    EmbeddingSpaceDescriptor,
    GeneratedAnswer,
    RetrievedChunk,
)
from estante.contract.params import ParamField, validate_params
from estante.contract.pipeline import RagPipeline
from estante.contract.prompts import PromptTemplate, RenderedPrompt, render_numbered_rag_block, render_prompt
from estante.contract.scores import SCORE_CONVENTION
from estante.contract.specs import ConnectorSpec
from estante.model.errors import EstanteError
from estante.shelf import answering, border
from estante.shelf.collection import Collection, Collections, Told, canonical_folder, checked_name, let_go, release
from estante.shelf.embedding import (
    EmbeddingClient,
    get_embedding_client,
    norm_of,
    provider_of,
    space_of,
    vector_of,
)
from estante.shelf.opening import absolute
from estante.shelf.reference_prompts import (
    DEFAULT_REFERENCE_PROMPT_ID,
    REFERENCE_PROMPT_TEMPLATES,
    reference_prompt_template,
)
from estante.shelf.reference_rows import hit, order, records

REFERENCE_TYPE: Final = "reference"
DEFAULT_PERSIST_DIR: Final = "./estante_data/reference"
DEFAULT_EMBEDDING_MODEL: Final = "static"
"""The encoder of every install: nothing is fetched."""

BACKEND: Final = "estante"
DISTANCE: Final = "cosine"
SNAPSHOT_SCHEMA: Final = "reference-rag.run-snapshot.v1"

COLD_READ_RETRY_DELAY_SECONDS: float = 0.25
COLD_READ_SIGNATURE: Final = ("hnsw segment reader", "nothing found on disk")
"""What a Chroma back end says of a segment that is not yet there; for hosts that ask ``is_cold_segment_read``."""

NO_MODEL: Final = "Reference RAG generation requires an LLM"

Read = TypeVar("Read")

_KEYS: Final = frozenset(
    {"type", "contract_version", "persist_dir", "collection_name", "embedding_model", "distance", "normalized"}
)

PARAMS: Final[list[ParamField]] = [
    {
        "name": "persist_dir",
        "label": "Folder",
        "type": "path",
        "required": True,
        "default": DEFAULT_PERSIST_DIR,
        "help": "The folder of the collections.",
    },
    {
        "name": "collection_name",
        "label": "Collection",
        "type": "string",
        "required": True,
        "help": "The collection: letters, digits, dots, hyphens and underscores.",
    },
    {
        "name": "embedding_model",
        "label": "Model",
        "type": "string",
        "required": True,
        "default": DEFAULT_EMBEDDING_MODEL,
        "help": "The model that made the collection: an encoder of Estante's, or one of fastembed's.",
    },
]

INFO: Final = """\
# Reference RAG (local)

A known-good pipeline to develop against: chunks in a folder, found by the meaning of the question, on this machine
alone. Make a collection with `estante-rag-connector reference provision FOLDER --collection NAME`.

- `persist_dir` is the folder of the collections.
- `collection_name` is the one to ask. One that is not there is an error; none is ever made by asking.
- `embedding_model` is the model that made it. A collection of another model is refused.
"""
"""Help; hosts look for its heading and for the three names."""


def is_cold_segment_read(error: BaseException) -> bool:
    """Whether an error is the passing one of a Chroma back end that a second look cures, and no error like it."""
    told = str(error).lower()
    return all(token in told for token in COLD_READ_SIGNATURE)


def canonical_persist_dir(persist_dir: str | os.PathLike[str]) -> str:
    """The one spelling of a folder of collections, whatever links and letters lead to it."""
    return canonical_folder(persist_dir)


def release_store(persist_dir: str | os.PathLike[str]) -> bool:
    """Closes every collection of the folder that this process has open; whether there was one. Raises nothing.

    A connector that was reading opens its collection again when it is next asked.
    """
    return release(persist_dir)


class ReferenceRagConnector(RagPipeline):
    """A collection, to be read. Scores are cosines. Safe to use from several threads.

    ``close`` lets the collection go; a later read opens it again. A read that fails because the collection was
    replaced meanwhile is tried once more on the one that stands.
    """

    name = "reference-estante"
    retrieval_mode = "scored"

    def __init__(
        self,
        *,
        persist_dir: str | os.PathLike[str] = DEFAULT_PERSIST_DIR,
        collection_name: str,
        embedding_client: EmbeddingClient | None = None,
        embedding_model: str = DEFAULT_EMBEDDING_MODEL,
        distance: str = DISTANCE,
        normalized: bool | None = None,
    ) -> None:
        """Opens the collection. Raises ``ConnectorOperationalError`` where there is none, and
        ``ConnectorRegistrationError`` where another model, metric or normalisation made it.
        """
        refuse_declaration(distance, normalized)
        self.persist_dir = os.fspath(persist_dir)
        self.collection_name = checked_name(collection_name)
        self.distance = distance
        self.normalized = normalized
        self._embed = embedding_client or get_embedding_client(provider_of(embedding_model), model=embedding_model)
        self._collection: Any = None
        self._guard = threading.RLock()
        try:
            self._open()
        except ConnectorError:
            raise
        except EstanteError as error:
            raise ConnectorOperationalError(f"Reference RAG opening failed: {error.message}. {error.hint}") from error

    # --- search ------------------------------------------------------------------------------------------------------

    def query(self, text: str, top_k: int = 5) -> list[RetrievedChunk]:
        """The chunks nearest to the question by cosine, best first; ``raw_score`` is the distance, 1 - cosine."""
        question, breadth = border.checked_question(text), border.checked_breadth(top_k)
        if not question.strip():
            return []
        asked = vector_of(self._embed, question).tolist()
        include = ["documents", "metadatas", "distances"]
        found = self._ask(
            "query", lambda held: held.query(query_embeddings=[asked], n_results=breadth, include=include)
        )
        rows = zip(found["ids"][0], found["documents"][0], found["metadatas"][0], found["distances"][0], strict=True)
        return [hit(rank, *row) for rank, row in enumerate(rows)]

    # --- the corpus --------------------------------------------------------------------------------------------------

    def pull_all_chunks(self) -> list[ChunkRecord]:
        """Every chunk with its vector, in the order of the corpus. A row that lost a field is an error."""
        found = self._ask("corpus read", lambda held: held.get(include=["documents", "metadatas", "embeddings"]))
        rows = records(found)
        rows.sort(key=order)
        self.validate_chunks(rows)
        return rows

    def get_chunks(self, chunk_ids: list[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids, read for these alone; an absent one is left out."""
        wanted = border.checked_ids(chunk_ids, "get_chunks")
        if not wanted:
            return {}
        include = ["documents", "metadatas", "embeddings"]
        found = self._ask("read", lambda held: held.get(ids=wanted, include=include))
        return {one.chunk_id: one for one in records(found)}

    def get_chunk_vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vectors that the collection holds; none is made anew. An absent id is left out."""
        wanted = border.checked_ids(ids, "get_chunk_vectors")
        if not wanted:
            return {}
        found = self._ask("vector read", lambda held: held.get(ids=wanted, include=["metadatas", "embeddings"]))
        held = zip(found["ids"], found["metadatas"], found["embeddings"], strict=True)
        return {told.get("chunk_id", name): [float(value) for value in vector] for name, told, vector in held}

    # --- what it says of itself --------------------------------------------------------------------------------------

    def describe_space(self) -> EmbeddingSpaceDescriptor:
        """The vector space; ``normalized`` is what was declared, None when nothing was."""
        space = space_of(self._embed)
        return EmbeddingSpaceDescriptor(
            model=space.model,
            dimension=space.dimensions,
            normalized=self.normalized,
            metric=self.distance,
            fingerprint=embedding_fingerprint(
                provider=self._provider(),
                model=space.model,
                dimensions=space.dimensions,
                normalize=bool(self.normalized),
                model_version=space.revision,
            ),
        )

    def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """The vectors of questions, as the search compares them."""
        if isinstance(texts, str | bytes):
            raise ContractValueError("embed_queries was given one text; put it into a list")
        rows = [vector_of(self._embed, border.checked_question(text)) for text in texts]
        if self.normalized:
            rows = [row / (norm_of(row) or 1.0) for row in rows]
        return EmbeddingBatch([row.tolist() for row in rows], self.describe_space())

    def health(self) -> ConnectorHealth:
        """Whether the collection can be read, and how much it holds."""
        try:
            count = self._count()
        except ConnectorError as error:
            return ConnectorHealth(False, str(error))
        return ConnectorHealth(True, f"{count:,} chunks")

    def info(self) -> dict[str, Any]:
        """What a run should remember of this pipeline."""
        space = self.describe_space()
        return {
            "name": self.name,
            "type": type(self).__name__,
            "connector_type": REFERENCE_TYPE,
            "retrieval_mode": self.retrieval_mode,
            "persist_dir": self.persist_dir,
            "collection": self.collection_name,
            "embedding_provider": self._provider(),
            "embedding_model": space.model,
            "dimensions": space.dimension,
            "distance": self.distance,
            "score_convention": SCORE_CONVENTION,
            "chunk_count": self._count(),
            "embedding_fingerprint": space.fingerprint,
        }

    def run_snapshot(self) -> dict[str, Any]:
        """How it is bound and what it holds. How the chunks were cut is not told: nothing here could prove it."""
        space = self.describe_space()
        return {
            "schema": SNAPSHOT_SCHEMA,
            "settings": {
                "backend": BACKEND,
                "collection": self.collection_name,
                "embedding_provider": self._provider(),
                "embedding_model": space.model,
                "embedding_dimensions": space.dimension,
                "embedding_fingerprint": space.fingerprint,
                "distance": self.distance,
                "normalized": self.normalized,
                "retrieval_mode": self.retrieval_mode,
                "score_convention": SCORE_CONVENTION,
            },
            "observations": {"chunk_count": self._count()},
        }

    def connection(self) -> dict[str, Any]:
        """The document that builds this pipeline again."""
        return {
            "type": REFERENCE_TYPE,
            "persist_dir": self.persist_dir,
            "collection_name": self.collection_name,
            "embedding_model": self._embed.model_id,
            "distance": self.distance,
            "normalized": self.normalized,
        }

    def list_datasets(self) -> list[DatasetRef]:
        """The collections beside this one, and itself; this one stays bound."""
        return collections(self.persist_dir)

    # --- answers -----------------------------------------------------------------------------------------------------

    def generate(self, text: str, *, top_k: int = 5, llm: Any = None) -> GeneratedAnswer:
        """An answer by the model that the caller brings, from what ``query`` finds; a failure is its ``error``."""
        try:
            contexts = self.query(text, top_k)
        except ConnectorError as error:
            return GeneratedAnswer(str(text), "", [], error=str(error))
        if llm is None:
            return GeneratedAnswer(text, "", contexts, error=NO_MODEL)
        prompt = render_prompt(
            reference_prompt_template(DEFAULT_REFERENCE_PROMPT_ID),
            query=text,
            rag_block=self.render_rag_block(contexts),
            chunk_ids=[one.chunk_id for one in contexts if one.chunk_id is not None],
        )
        return self.generate_from_prompt(prompt, contexts=contexts, llm=llm)

    def prompt_templates(self) -> Sequence[PromptTemplate]:
        """The declared prompts."""
        return REFERENCE_PROMPT_TEMPLATES

    def render_rag_block(self, chunks: Sequence[RetrievedChunk]) -> str:
        """The chunks as the prompts show them: numbered, each under its id."""
        return render_numbered_rag_block(chunks)

    def generate_from_prompt(
        self,
        prompt: RenderedPrompt,
        *,
        contexts: Sequence[RetrievedChunk] = (),
        llm: Any = None,
        decoding: Mapping[str, Any] | None = None,
    ) -> GeneratedAnswer:
        """The answer of the caller's model to a prompt as it stands, with the trace of that call."""
        return answering.answered(prompt, contexts, llm, decoding, no_model=NO_MODEL, bare=True)

    # --- opening and closing -----------------------------------------------------------------------------------------

    def close(self) -> bool:
        """Lets the collection go; whether it was held. A later read opens it again."""
        with self._guard:
            held, self._collection = self._collection, None
        if held is None:
            return False
        let_go(held)
        return True

    def _open(self) -> None:
        """Opens the collection that stands, and holds what it was made with against what was declared."""
        found = Collections(Path(canonical_persist_dir(self.persist_dir))).get_collection(self.collection_name)
        try:
            self.normalized = _agreed(found.told, self._embed, self.normalized)
        except ConnectorError:
            let_go(found)
            raise
        with self._guard:
            self._collection = found

    def _held(self) -> Any:
        with self._guard:
            if self._collection is None:
                self._open()
            return self._collection

    def _count(self) -> int:
        return int(self._ask("count", lambda held: held.count()))

    def _ask(self, what: str, work: Callable[[Any], Read]) -> Read:
        """One read. What passes is tried once more on what stands then; all else is an error, and nothing is empty."""
        held: Any = None
        try:
            held = self._held()
            return work(held)
        except ConnectorError:
            raise
        except Exception as error:
            if not is_cold_segment_read(error) and not self._replaced(held):
                raise ConnectorOperationalError(f"Reference RAG {what} failed: {_said(error)}") from error
            first = error
        return self._ask_again(what, work, first)

    def _ask_again(self, what: str, work: Callable[[Any], Read], first: Exception) -> Read:
        release_store(canonical_persist_dir(self.persist_dir))
        time.sleep(COLD_READ_RETRY_DELAY_SECONDS)
        try:
            self._open()
            return work(self._collection)
        except ConnectorError:
            raise
        except Exception as error:
            raise ConnectorOperationalError(
                f"Reference RAG {what} failed, also after re-opening: {_said(error)}; at first: {_said(first)}"
            ) from error

    def _replaced(self, held: Any) -> bool:
        """Whether another build stands now, or the one that was held has been let go."""
        if not isinstance(held, Collection):
            return False
        try:
            told = Collections(Path(canonical_persist_dir(self.persist_dir))).told(self.collection_name)
        except EstanteError:
            return False
        return told.build != held.told.build or held.closed

    def _provider(self) -> str:
        return space_of(self._embed).revision.partition(":")[0]


def _said(error: Exception) -> str:
    return f"{error.message}. {error.hint}" if isinstance(error, EstanteError) else str(error) or type(error).__name__


def refuse_declaration(distance: object, normalized: object) -> None:
    """Raises ``ConnectorRegistrationError``, a ``ValueError``, for a metric or a normalisation that cannot be."""
    if normalized is not None and not isinstance(normalized, bool):
        raise ConnectorRegistrationError(f"normalized is tri-state (true, false or null), not {normalized!r}")
    if distance != DISTANCE:
        raise ConnectorRegistrationError(
            f"the distance {distance!r} is not offered; a collection compares vectors by their cosine: {DISTANCE!r}"
        )


def _agreed(told: Told, client: EmbeddingClient, normalized: bool | None) -> bool | None:
    """The normalisation that both sides declare. Raises ``ConnectorRegistrationError`` for another model or word."""
    space = space_of(client)
    for what, made, asked in (
        ("model", told.model, space.model),
        ("width", told.dimensions, space.dimensions),
        ("model's revision", told.revision, space.revision),
        ("metric", told.distance, DISTANCE),
    ):
        if made != asked:
            raise ConnectorRegistrationError(
                f"the collection was made with the {what} {made!r}, not with {asked!r}; open it with that one"
            )
    if None not in (told.normalized, normalized) and told.normalized != normalized:
        raise ConnectorRegistrationError(
            f"the collection was declared with normalized={told.normalized}, not {normalized}; open it as it was made"
        )
    return told.normalized if normalized is None else normalized


# --- listing --------------------------------------------------------------------------------------------------------


def collections(persist_dir: str | os.PathLike[str]) -> list[DatasetRef]:
    """The collections of a folder by name; one that cannot be counted says why."""
    told = os.fspath(persist_dir)
    there = Collections(Path(absolute(told)))
    with border.border("listing collections", frank=True):
        try:
            names = _collection_names(there)
        except OSError as error:
            raise ConnectorOperationalError(
                f"there is no folder of collections at {told}: {error.strerror}; make one with: "
                "estante-rag-connector reference provision"
            ) from error
    return [_listed(told, there, name) for name in names]


def _collection_names(client: Any) -> list[str]:
    """The names that a client lists, sorted, whether it lists names or objects that have one."""
    return sorted(one if isinstance(one, str) else str(one.name) for one in client.list_collections())


def _listed(persist_dir: str, there: Collections, name: str) -> DatasetRef:
    told: dict[str, Any] = {"backend": BACKEND, "kind": "collection"}
    count: int | None = None
    try:
        held = there.get_collection(name)
        try:
            count = held.count()
        finally:
            let_go(held)
    except EstanteError as error:
        told["error"] = _said(error)
    return DatasetRef(name, name, count, {"persist_dir": persist_dir, "collection_name": name}, told)


# --- the registered connector ---------------------------------------------------------------------------------------


def build(connection: Mapping[str, Any]) -> ReferenceRagConnector:
    """The pipeline of a connection document; a document from before ``normalized`` says nothing of it."""
    unknown = sorted(str(key) for key in connection.keys() - _KEYS)
    if unknown:
        raise ConnectorRegistrationError(f"the connection document says {', '.join(unknown)}, which is not known here")
    name = connection.get("collection_name")
    if not isinstance(name, str) or not name.strip():
        raise ConnectorRegistrationError("collection_name is empty; name the collection")
    model = str(connection.get("embedding_model", DEFAULT_EMBEDDING_MODEL))
    with border.border("opening the collection", frank=True):
        return ReferenceRagConnector(
            persist_dir=connection.get("persist_dir", DEFAULT_PERSIST_DIR),
            collection_name=name,
            embedding_client=get_embedding_client(provider_of(model), model=model),
            embedding_model=model,
            distance=connection.get("distance", DISTANCE),
            normalized=connection.get("normalized"),
        )


def connect(params: Mapping[str, Any]) -> tuple[ReferenceRagConnector, dict[str, Any]]:
    """A pipeline and its document of parameters."""
    declared = {name: params[name] for name in ("distance", "normalized") if name in params}
    known = {one["name"] for one in PARAMS}
    values = validate_params(PARAMS, {name: value for name, value in params.items() if name in known})
    # A document is opened from other working folders, too.
    pipeline = build({**values, **declared, "persist_dir": absolute(values["persist_dir"])})
    return pipeline, pipeline.connection()


def list_datasets(params: Mapping[str, Any]) -> list[DatasetRef]:
    """The collections of the folder that the parameters name."""
    known = {one["name"] for one in PARAMS}
    given = {name: value for name, value in params.items() if name in known}
    return collections(validate_params(PARAMS, given, partial=True)["persist_dir"])


_reference_datasets = list_datasets


def connector_info() -> str:
    """Help in Markdown."""
    return INFO


def prompt_templates() -> Sequence[PromptTemplate]:
    """The declared prompts."""
    return REFERENCE_PROMPT_TEMPLATES


REFERENCE_SPEC: Final = ConnectorSpec(
    connector_type=REFERENCE_TYPE,
    label="Reference RAG (local)",
    description="A known-good pipeline to develop against: chunks in a folder, found by meaning, on this machine.",
    build=build,
    connect=connect,
    params=PARAMS,
    list_datasets=list_datasets,
    connector_info=connector_info,
    prompt_templates=prompt_templates,
)

__all__ = [
    "COLD_READ_RETRY_DELAY_SECONDS",
    "COLD_READ_SIGNATURE",
    "DEFAULT_EMBEDDING_MODEL",
    "DEFAULT_PERSIST_DIR",
    "DEFAULT_REFERENCE_PROMPT_ID",
    "REFERENCE_PROMPT_TEMPLATES",
    "REFERENCE_SPEC",
    "REFERENCE_TYPE",
    "LoadedDocument",
    "ReferenceRagConnector",
    "build",
    "canonical_persist_dir",
    "chunk_loaded_documents",
    "collections",
    "connect",
    "connector_info",
    "get_embedding_client",
    "is_cold_segment_read",
    "list_datasets",
    "load_documents",
    "prompt_templates",
    "reference_prompt_template",
    "release_store",
]
