"""What a Dataset folder is called and what stands where in it."""

from __future__ import annotations

from typing import Final

DATASET_SPEC_ID: Final = "rag-connector-dataset"
DATASET_SPEC_VERSION: Final = "1.0"
SUPPORTED_MAJOR: Final = "1"

LAYOUT_CORE: Final = DATASET_SPEC_ID
"""The layout of a folder with a manifest of this specification."""
LEGACY_LAYOUT_RAGAUGE_V0: Final = "ragauge-v0"
"""The layout of a folder from before it, which records nothing that could be verified."""

MANIFEST_FILE: Final = "dataset.json"
CHUNKS_FILE: Final = "data/chunks.jsonl"
SOURCES_FILE: Final = "data/sources.json"
CORE_FILES: Final = (MANIFEST_FILE, CHUNKS_FILE, SOURCES_FILE)
"""The files that are written once, together, and never changed."""

TESTSETS_DIR: Final = "testsets"
EXTENSIONS_DIR: Final = "extensions"
EXTENSION_ENVELOPE_FILE: Final = "extension.json"
