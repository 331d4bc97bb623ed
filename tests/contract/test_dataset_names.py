"""The public names of Datasets, which need the standard library alone."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import fields

import pytest

from estante.contract import dataset

OF_THE_CONTRACT = """
    CHUNKING_EXPORTED DATASET_SPEC_ID DATASET_SPEC_VERSION Dataset DatasetIntegrityError EXTENSION_ENVELOPE_FILE
    ExtensionEnvelope LAYOUT_CORE LEGACY_LAYOUT_RAGAUGE_V0 build_dataset_from_folder chunk_inventory_sha256
    chunker_chunking compute_core_sha256 dataset_id_for_inventory export_dataset_from_connector exported_chunking
    list_extensions read_dataset_folder read_legacy_dataset_folder source_manifest_from_chunks write_dataset_folder
    write_extension_envelope
""".split()


def test_every_name_of_the_contract_is_there() -> None:
    assert set(OF_THE_CONTRACT) <= set(dataset.__all__)


@pytest.mark.parametrize("name", dataset.__all__)
def test_every_name_resolves_and_says_what_it_is(name: str) -> None:
    found = getattr(dataset, name)

    assert isinstance(found, str | tuple) or inspect.getdoc(found)


def test_the_constants_are_those_of_the_format() -> None:
    assert (dataset.DATASET_SPEC_ID, dataset.DATASET_SPEC_VERSION) == ("rag-connector-dataset", "1.0")
    assert (dataset.LAYOUT_CORE, dataset.LEGACY_LAYOUT_RAGAUGE_V0) == ("rag-connector-dataset", "ragauge-v0")
    assert (dataset.CHUNKING_EXPORTED, dataset.EXTENSION_ENVELOPE_FILE) == ("exported-from-connector", "extension.json")


def test_a_dataset_has_its_fields_in_the_order_of_the_contract() -> None:
    assert [field.name for field in fields(dataset.Dataset)] == (
        "path layout spec_version dataset_id name created_at chunking source_summary chunk_count "
        "chunk_inventory_sha256 core_sha256 corpus_fingerprint chunks sources manifest verified warnings"
    ).split()
    assert [field.name for field in fields(dataset.ExtensionEnvelope)] == (
        "tool path tool_version format_version core_sha256 created_at raw problems".split()
    )


def test_datasets_need_the_standard_library_alone() -> None:
    code = (
        "import json, sys\nbefore = set(sys.modules)\nimport estante.contract.dataset\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(json.loads(done.stdout)) - {*sys.stdlib_module_names, "estante"} == set()
