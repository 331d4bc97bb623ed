"""What a Dataset that verifies should be told of all the same: rules of chunks that no hash can hold."""

from __future__ import annotations

from collections.abc import Iterator

from estante.contract.dataset.corpus import Dataset
from estante.contract.dataset.sources import source_summary


def dataset_notes(dataset: Dataset) -> Iterator[str]:
    """What in a Dataset is against the rules of chunks or its own summary, and still can be read."""
    ordinals: dict[str, list[int]] = {}
    for chunk in dataset.chunks:
        ordinals.setdefault(chunk.doc_id, []).append(chunk.doc_chunk_index)
    uneven = sorted(document for document, found in ordinals.items() if sorted(found) != list(range(len(found))))
    if uneven:
        yield (
            f"doc_chunk_index does not count 0, 1, 2, ... in {len(uneven)} of {len(ordinals)} documents, "
            f"such as {uneven[0]!r}"
        )
    numbers = [chunk.global_index for chunk in dataset.chunks if chunk.global_index is not None]
    if numbers and len(numbers) != len(dataset.chunks):
        yield f"global_index is given for {len(numbers)} of {len(dataset.chunks)} chunks; give it for all or none"
    if len(set(numbers)) != len(numbers):
        yield f"global_index repeats: {len(numbers)} chunks have {len(set(numbers))} numbers"
    actual = source_summary(dataset.sources)
    for key, value in dataset.source_summary.items():
        if key in actual and actual[key] != value:
            yield f"sources.{key} recorded {str(value)[:80]} but the list of sources has {actual[key]}"
