"""Vectors as signed bytes, and their exact cosines.

The dot product of two byte vectors is a sum of whole numbers. Up to 1,040 dimensions it stays below 2**24, so even
float32 arithmetic holds it exactly in any order of summation: every kernel, block size and machine gives the same
cosine to the last bit. That is what makes rankings reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from estante.model.errors import ContractBroken
from estante.model.ports import Quantised

simsimd: Any
try:
    import simsimd
except ImportError:  # pragma: no cover - a platform without its wheel; the answers are the same, only slower
    simsimd = None

BLOCK: Final = 16_384
"""Rows scored at a time: bounds the memory of a scan."""

EXACT_DIMENSIONS: Final = (1 << 24) // (127 * 127)


def quantise(rows: NDArray[np.float32]) -> list[Quantised]:
    """Unit rows (n, d) as bytes with one scale a row; a zero row stays zero.

    Raises ``ContractBroken`` when a value is not finite: an encoder must never give NaN.
    """
    if rows.size and not np.isfinite(rows).all():
        raise ContractBroken("the encoder returned a vector that is not finite", hint="Report it to its author.")
    peaks = np.abs(rows).max(axis=1) if rows.size else np.zeros(len(rows), np.float32)
    scales = (peaks / np.float32(127)).astype(np.float32)
    safe = np.where(scales > 0, scales, np.float32(1))
    values = np.rint(rows / safe[:, None]).astype(np.int8)
    # The quantised row is a little longer or shorter than the original; the scale puts it back to unit length.
    norms = np.sqrt((values.astype(np.float64) ** 2).sum(axis=1))
    units = np.where(norms > 0, 1.0 / np.where(norms > 0, norms, 1.0), 0.0).astype(np.float32)
    return [Quantised(values[i].tobytes(), float(units[i])) for i in range(len(rows))]


def unpack(vectors: Sequence[Quantised], dimensions: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (n, d) and scales (n,) of quantised vectors. Raises ``ContractBroken`` on another length."""
    for vector in vectors:
        if len(vector.values) != dimensions:
            raise ContractBroken(
                f"a vector of {len(vector.values)} dimensions in a space of {dimensions}",
                hint="Rebuild the shelf with one encoder: estante rebuild",
            )
    rows = np.frombuffer(b"".join(vector.values for vector in vectors), np.int8)
    return rows.reshape(len(vectors), dimensions), np.array([vector.scale for vector in vectors], np.float32)


def dots(rows: NDArray[np.int8], vector: NDArray[np.int8]) -> NDArray[np.float64]:
    """The dot product of each row (n, d) with the vector (d,), exact."""
    if not len(rows):
        return np.zeros(0)
    if simsimd is not None:
        # simsimd calls it "dot"; on int8 it sums in int32.
        found = simsimd.cdist(rows, vector[None, :], metric="dot")
        return np.asarray(found, np.float64).reshape(len(rows))
    if rows.shape[1] <= EXACT_DIMENSIONS:
        return (rows.astype(np.float32) @ vector.astype(np.float32)).astype(np.float64)
    return (rows.astype(np.int32) @ vector.astype(np.int32)).astype(np.float64)


def cosines(
    rows: NDArray[np.int8], scales: NDArray[np.float32], vector: NDArray[np.int8], scale: float
) -> NDArray[np.float64]:
    """The cosine of each row with the vector, in blocks, in float64."""
    out = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), BLOCK):
        end = start + BLOCK
        out[start:end] = dots(rows[start:end], vector) * (scales[start:end].astype(np.float64) * scale)
    return out
