"""Frozen corpora of chunks in a folder that any tool can read, written once and verified on every read."""

from estante.contract.dataset.chunking import (
    CHUNKER_METHOD,
    CHUNKER_VERSION,
    CHUNKING_EXPORTED,
    chunker_chunking,
    exported_chunking,
)
from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.difference import Changes, DatasetDifference, dataset_difference
from estante.contract.dataset.digests import chunk_inventory_sha256, compute_core_sha256, dataset_id_for_inventory
from estante.contract.dataset.extensions import ExtensionEnvelope, list_extensions, write_extension_envelope
from estante.contract.dataset.layout import (
    CHUNKS_FILE,
    CORE_FILES,
    DATASET_SPEC_ID,
    DATASET_SPEC_VERSION,
    EXTENSION_ENVELOPE_FILE,
    EXTENSIONS_DIR,
    LAYOUT_CORE,
    LEGACY_LAYOUT_RAGAUGE_V0,
    MANIFEST_FILE,
    SOURCES_FILE,
    TESTSETS_DIR,
)
from estante.contract.dataset.legacy import read_legacy_dataset_folder
from estante.contract.dataset.making import build_dataset_from_folder, export_dataset_from_connector
from estante.contract.dataset.notes import dataset_notes
from estante.contract.dataset.reading import dataset_problems, read_dataset_folder
from estante.contract.dataset.sources import source_manifest_from_chunks
from estante.contract.dataset.writing import write_dataset_folder
from estante.contract.errors import DatasetIntegrityError

__all__ = [
    "CHUNKER_METHOD",
    "CHUNKER_VERSION",
    "CHUNKING_EXPORTED",
    "CHUNKS_FILE",
    "CORE_FILES",
    "DATASET_SPEC_ID",
    "DATASET_SPEC_VERSION",
    "EXTENSIONS_DIR",
    "EXTENSION_ENVELOPE_FILE",
    "LAYOUT_CORE",
    "LEGACY_LAYOUT_RAGAUGE_V0",
    "MANIFEST_FILE",
    "SOURCES_FILE",
    "TESTSETS_DIR",
    "Changes",
    "Dataset",
    "DatasetDifference",
    "DatasetIntegrityError",
    "ExtensionEnvelope",
    "build_dataset_from_folder",
    "chunk_inventory_sha256",
    "chunker_chunking",
    "compute_core_sha256",
    "dataset_difference",
    "dataset_id_for_inventory",
    "dataset_notes",
    "dataset_problems",
    "export_dataset_from_connector",
    "exported_chunking",
    "list_extensions",
    "read_dataset_folder",
    "read_legacy_dataset_folder",
    "source_manifest_from_chunks",
    "write_dataset_folder",
    "write_extension_envelope",
]
