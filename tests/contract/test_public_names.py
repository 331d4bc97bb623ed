"""The names that a connector imports: those of rag-connector, loaded when they are used."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from estante import contract

FIRST = """
    AnswerGenerator CACHE_BREAKPOINT_AFTER_RAG_BLOCK CACHE_BREAKPOINT_BEFORE_RAG_BLOCK CACHE_BREAKPOINT_NONE
    CACHE_BREAKPOINT_POSITIONS CACHE_BREAKPOINT_SYSTEM_END ChunkPage ChunkRecord ChunkVectorReader
    ConnectorContractError ConnectorDescriptor ConnectorError ConnectorHealth ConnectorOperationalError
    ConnectorRegistrationError ConnectorSpec ContentPublisher DECLARED_PROMPT_METHODS DEFAULT_RETRIEVAL_MODE
    DatasetLister DatasetRef DeclaredPromptGenerator EmbeddingBatch EmbeddingSpaceDescriptor GeneratedAnswer
    GenerationTrace HealthCapability IndexIntrospector PROMPT_TEMPLATE_PLACEHOLDERS PagedCorpusReader
    PromptCacheBreakpoint PromptMessage PromptTemplate PromptTemplateError QUERY_PLACEHOLDER QueryEmbedder
    QueryTelemetryReader RAG_BLOCK_PLACEHOLDER RETRIEVAL_MODES RUN_SNAPSHOT_MAX_BYTES RagConnector RagPipeline
    RenderedPrompt RetrievalModeError RetrievalResult RetrievedChunk RetrievedItem RunSnapshotProvider
    SCORE_CONVENTION ScoreSemantics TokenUsage UnsupportedCapability assert_one_shot block_sha256
    cosine_distance_to_similarity declared_prompt_methods l2_distance_to_score prompt_template_problems
    refuse_threshold_for_mode render_numbered_rag_block render_prompt resolve_retrieval_mode run_snapshot_fingerprint
    similarity_passthrough supports supports_chunk_vectors supports_declared_prompts template_sha256
    token_usage_from_response validate_prompt_template validate_prompt_templates validate_run_snapshot
""".split()
SECOND = """
    DerivedResult ITEM_COVERED_IDS_KEY ITEM_CURATED_KEY ITEM_INDEX_KEY ITEM_KINDS ITEM_KIND_CHUNK ITEM_KIND_GAP
    ITEM_KIND_KEY ITEM_KIND_SUMMARY ITEM_LABEL_KEY derived_result_metadata derived_result_problems read_derived_result
""".split()
OURS = {"ContractValueError", "DatasetIntegrityError", "GenerationNotImplemented"}


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def loaded_by(code: str) -> set[str]:
    """The modules that are there after the code and are not without it."""
    told, bare = (python(f"{one}\nimport json, sys\nprint(json.dumps([*sys.modules]))") for one in (code, ""))
    return set(json.loads(told)) - set(json.loads(bare))


def test_the_names_are_those_of_both_releases_and_three_errors() -> None:
    assert (len(FIRST), len(SECOND)) == (72, 13)
    assert set(contract.__all__) == {*FIRST, *SECOND, *OURS}


@pytest.mark.parametrize("name", [*FIRST, *SECOND, *sorted(OURS)])
def test_every_name_resolves(name: str) -> None:
    value = getattr(contract, name)

    if callable(value):
        assert inspect.getdoc(value)


def test_the_names_are_listed() -> None:
    assert dir(contract) == sorted(contract.__all__)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'register_connector'"):
        _ = contract.register_connector


def test_a_type_checker_sees_the_same_names() -> None:
    tree = ast.parse(Path(contract.__file__).read_text("utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.asname: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }

    assert seen == contract._WHERE


def test_importing_the_contract_loads_no_third_party_module_and_none_of_its_own_yet() -> None:
    loaded = loaded_by("import estante.contract")

    assert {name.partition(".")[0] for name in loaded} - {*sys.stdlib_module_names} == {"estante"}
    assert {name for name in loaded if name.startswith("estante")} == {"estante", "estante.contract"}


def test_a_name_loads_the_module_that_defines_it() -> None:
    loaded = loaded_by("from estante.contract import RETRIEVAL_MODES")

    assert {name for name in loaded if name.startswith("estante.contract.")} == {
        "estante.contract.errors",
        "estante.contract.modes",
    }


def test_all_names_together_load_no_third_party_module() -> None:
    loaded = loaded_by("from estante.contract import *")

    assert "estante.contract.pipeline" in loaded
    assert {name.partition(".")[0] for name in loaded} - {*sys.stdlib_module_names} == {"estante"}


def test_a_pipeline_is_defined_without_loading_what_only_its_twins_need() -> None:
    loaded = loaded_by("from estante.contract import RagPipeline, ConnectorError, supports")

    assert loaded & {"asyncio", "socket", "ssl", "numpy", "sqlite3"} == set()
