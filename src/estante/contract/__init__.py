"""What any retrieval pipeline can promise, and the checks that hold it to that; standard library only.

The names below are those of rag-connector, so a connector moves between the two by changing its import. Each is loaded
when it is first used, so importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from estante.contract.capabilities import DECLARED_PROMPT_METHODS as DECLARED_PROMPT_METHODS
    from estante.contract.capabilities import AnswerGenerator as AnswerGenerator
    from estante.contract.capabilities import ChunkVectorReader as ChunkVectorReader
    from estante.contract.capabilities import ContentPublisher as ContentPublisher
    from estante.contract.capabilities import DatasetLister as DatasetLister
    from estante.contract.capabilities import DeclaredPromptGenerator as DeclaredPromptGenerator
    from estante.contract.capabilities import HealthCapability as HealthCapability
    from estante.contract.capabilities import IndexIntrospector as IndexIntrospector
    from estante.contract.capabilities import PagedCorpusReader as PagedCorpusReader
    from estante.contract.capabilities import QueryEmbedder as QueryEmbedder
    from estante.contract.capabilities import QueryTelemetryReader as QueryTelemetryReader
    from estante.contract.capabilities import RagConnector as RagConnector
    from estante.contract.capabilities import RunSnapshotProvider as RunSnapshotProvider
    from estante.contract.capabilities import declared_prompt_methods as declared_prompt_methods
    from estante.contract.capabilities import supports as supports
    from estante.contract.capabilities import supports_chunk_vectors as supports_chunk_vectors
    from estante.contract.capabilities import supports_declared_prompts as supports_declared_prompts
    from estante.contract.derived import ITEM_COVERED_IDS_KEY as ITEM_COVERED_IDS_KEY
    from estante.contract.derived import ITEM_CURATED_KEY as ITEM_CURATED_KEY
    from estante.contract.derived import ITEM_INDEX_KEY as ITEM_INDEX_KEY
    from estante.contract.derived import ITEM_KIND_CHUNK as ITEM_KIND_CHUNK
    from estante.contract.derived import ITEM_KIND_GAP as ITEM_KIND_GAP
    from estante.contract.derived import ITEM_KIND_KEY as ITEM_KIND_KEY
    from estante.contract.derived import ITEM_KIND_SUMMARY as ITEM_KIND_SUMMARY
    from estante.contract.derived import ITEM_KINDS as ITEM_KINDS
    from estante.contract.derived import ITEM_LABEL_KEY as ITEM_LABEL_KEY
    from estante.contract.derived import DerivedResult as DerivedResult
    from estante.contract.derived import derived_result_metadata as derived_result_metadata
    from estante.contract.derived import derived_result_problems as derived_result_problems
    from estante.contract.derived import read_derived_result as read_derived_result
    from estante.contract.errors import ConnectorContractError as ConnectorContractError
    from estante.contract.errors import ConnectorError as ConnectorError
    from estante.contract.errors import ConnectorOperationalError as ConnectorOperationalError
    from estante.contract.errors import ConnectorRegistrationError as ConnectorRegistrationError
    from estante.contract.errors import ContractValueError as ContractValueError
    from estante.contract.errors import DatasetIntegrityError as DatasetIntegrityError
    from estante.contract.errors import GenerationNotImplemented as GenerationNotImplemented
    from estante.contract.errors import PromptTemplateError as PromptTemplateError
    from estante.contract.errors import RetrievalModeError as RetrievalModeError
    from estante.contract.errors import UnsupportedCapability as UnsupportedCapability
    from estante.contract.models import ChunkPage as ChunkPage
    from estante.contract.models import ChunkRecord as ChunkRecord
    from estante.contract.models import ConnectorDescriptor as ConnectorDescriptor
    from estante.contract.models import ConnectorHealth as ConnectorHealth
    from estante.contract.models import DatasetRef as DatasetRef
    from estante.contract.models import EmbeddingBatch as EmbeddingBatch
    from estante.contract.models import EmbeddingSpaceDescriptor as EmbeddingSpaceDescriptor
    from estante.contract.models import GeneratedAnswer as GeneratedAnswer
    from estante.contract.models import RetrievalResult as RetrievalResult
    from estante.contract.models import RetrievedChunk as RetrievedChunk
    from estante.contract.models import RetrievedItem as RetrievedItem
    from estante.contract.models import ScoreSemantics as ScoreSemantics
    from estante.contract.modes import DEFAULT_RETRIEVAL_MODE as DEFAULT_RETRIEVAL_MODE
    from estante.contract.modes import RETRIEVAL_MODES as RETRIEVAL_MODES
    from estante.contract.modes import refuse_threshold_for_mode as refuse_threshold_for_mode
    from estante.contract.modes import resolve_retrieval_mode as resolve_retrieval_mode
    from estante.contract.pipeline import RagPipeline as RagPipeline
    from estante.contract.prompts import CACHE_BREAKPOINT_AFTER_RAG_BLOCK as CACHE_BREAKPOINT_AFTER_RAG_BLOCK
    from estante.contract.prompts import CACHE_BREAKPOINT_BEFORE_RAG_BLOCK as CACHE_BREAKPOINT_BEFORE_RAG_BLOCK
    from estante.contract.prompts import CACHE_BREAKPOINT_NONE as CACHE_BREAKPOINT_NONE
    from estante.contract.prompts import CACHE_BREAKPOINT_POSITIONS as CACHE_BREAKPOINT_POSITIONS
    from estante.contract.prompts import CACHE_BREAKPOINT_SYSTEM_END as CACHE_BREAKPOINT_SYSTEM_END
    from estante.contract.prompts import PROMPT_TEMPLATE_PLACEHOLDERS as PROMPT_TEMPLATE_PLACEHOLDERS
    from estante.contract.prompts import QUERY_PLACEHOLDER as QUERY_PLACEHOLDER
    from estante.contract.prompts import RAG_BLOCK_PLACEHOLDER as RAG_BLOCK_PLACEHOLDER
    from estante.contract.prompts import GenerationTrace as GenerationTrace
    from estante.contract.prompts import PromptCacheBreakpoint as PromptCacheBreakpoint
    from estante.contract.prompts import PromptMessage as PromptMessage
    from estante.contract.prompts import PromptTemplate as PromptTemplate
    from estante.contract.prompts import RenderedPrompt as RenderedPrompt
    from estante.contract.prompts import TokenUsage as TokenUsage
    from estante.contract.prompts import assert_one_shot as assert_one_shot
    from estante.contract.prompts import block_sha256 as block_sha256
    from estante.contract.prompts import prompt_template_problems as prompt_template_problems
    from estante.contract.prompts import render_numbered_rag_block as render_numbered_rag_block
    from estante.contract.prompts import render_prompt as render_prompt
    from estante.contract.prompts import template_sha256 as template_sha256
    from estante.contract.prompts import token_usage_from_response as token_usage_from_response
    from estante.contract.prompts import validate_prompt_template as validate_prompt_template
    from estante.contract.prompts import validate_prompt_templates as validate_prompt_templates
    from estante.contract.scores import SCORE_CONVENTION as SCORE_CONVENTION
    from estante.contract.scores import cosine_distance_to_similarity as cosine_distance_to_similarity
    from estante.contract.scores import l2_distance_to_score as l2_distance_to_score
    from estante.contract.scores import similarity_passthrough as similarity_passthrough
    from estante.contract.snapshots import RUN_SNAPSHOT_MAX_BYTES as RUN_SNAPSHOT_MAX_BYTES
    from estante.contract.snapshots import run_snapshot_fingerprint as run_snapshot_fingerprint
    from estante.contract.snapshots import validate_run_snapshot as validate_run_snapshot
    from estante.contract.specs import ConnectorSpec as ConnectorSpec

_WHERE = {
    name: f"estante.contract.{module}"
    for module, names in {
        "capabilities": """
            DECLARED_PROMPT_METHODS AnswerGenerator ChunkVectorReader ContentPublisher DatasetLister
            DeclaredPromptGenerator HealthCapability IndexIntrospector PagedCorpusReader QueryEmbedder
            QueryTelemetryReader RagConnector RunSnapshotProvider declared_prompt_methods supports
            supports_chunk_vectors supports_declared_prompts
        """,
        "derived": """
            ITEM_COVERED_IDS_KEY ITEM_CURATED_KEY ITEM_INDEX_KEY ITEM_KINDS ITEM_KIND_CHUNK ITEM_KIND_GAP
            ITEM_KIND_KEY ITEM_KIND_SUMMARY ITEM_LABEL_KEY DerivedResult derived_result_metadata
            derived_result_problems read_derived_result
        """,
        "errors": """
            ConnectorContractError ConnectorError ConnectorOperationalError ConnectorRegistrationError
            ContractValueError DatasetIntegrityError GenerationNotImplemented PromptTemplateError RetrievalModeError
            UnsupportedCapability
        """,
        "models": """
            ChunkPage ChunkRecord ConnectorDescriptor ConnectorHealth DatasetRef EmbeddingBatch
            EmbeddingSpaceDescriptor GeneratedAnswer RetrievalResult RetrievedChunk RetrievedItem ScoreSemantics
        """,
        "modes": """
            DEFAULT_RETRIEVAL_MODE RETRIEVAL_MODES refuse_threshold_for_mode resolve_retrieval_mode
        """,
        "pipeline": "RagPipeline",
        "prompts": """
            CACHE_BREAKPOINT_AFTER_RAG_BLOCK CACHE_BREAKPOINT_BEFORE_RAG_BLOCK CACHE_BREAKPOINT_NONE
            CACHE_BREAKPOINT_POSITIONS CACHE_BREAKPOINT_SYSTEM_END PROMPT_TEMPLATE_PLACEHOLDERS QUERY_PLACEHOLDER
            RAG_BLOCK_PLACEHOLDER GenerationTrace PromptCacheBreakpoint PromptMessage PromptTemplate RenderedPrompt
            TokenUsage assert_one_shot block_sha256 prompt_template_problems render_numbered_rag_block render_prompt
            template_sha256 token_usage_from_response validate_prompt_template validate_prompt_templates
        """,
        "scores": """
            SCORE_CONVENTION cosine_distance_to_similarity l2_distance_to_score similarity_passthrough
        """,
        "snapshots": "RUN_SNAPSHOT_MAX_BYTES run_snapshot_fingerprint validate_run_snapshot",
        "specs": "ConnectorSpec",
    }.items()
    for name in names.split()
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'estante.contract' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
