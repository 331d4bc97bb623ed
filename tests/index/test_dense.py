"""Vectors as signed bytes: unit length again, exact products, and hardly anything lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from estante.index import dense
from estante.index.dense import EXACT_DIMENSIONS, cosines, dots, quantise, unpack
from estante.model.errors import ContractBroken
from estante.model.ports import Quantised
from tests.index.building import unit_rows


def bytes_of(seed: int, count: int, dimensions: int) -> NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-127, 128, (count, dimensions)).astype(np.int8)


# --- quantising ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([1, 7, 16, 384]), st.floats(1e-6, 1e6))
def test_a_quantised_row_is_of_unit_length_whatever_it_was(seed: int, count: int, width: int, scale: float) -> None:
    found = quantise(unit_rows(seed, count, width) * np.float32(scale))

    for one in found:
        restored = np.frombuffer(one.values, np.int8).astype(np.float64) * one.scale
        assert np.linalg.norm(restored) == pytest.approx(1.0, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 384]))
def test_a_quantised_row_points_where_the_row_did(seed: int, width: int) -> None:
    rows = unit_rows(seed, 4, width)

    for row, one in zip(rows, quantise(rows), strict=True):
        assert float(np.frombuffer(one.values, np.int8) * np.float64(one.scale) @ row) > 0.9995


def test_a_zero_row_stays_zero() -> None:
    rows = unit_rows(1, 3, 4)
    rows[1] = 0

    assert quantise(rows)[1] == Quantised(bytes(4), 0.0)


def test_no_rows_give_no_vectors() -> None:
    assert quantise(np.zeros((0, 4), np.float32)) == []


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused(wrong: float) -> None:
    rows = unit_rows(1, 3, 4)
    rows[2, 1] = wrong

    with pytest.raises(ContractBroken, match="not finite"):
        quantise(rows)


def test_no_byte_is_the_one_without_an_opposite() -> None:
    values = [np.frombuffer(one.values, np.int8) for one in quantise(-np.abs(unit_rows(3, 50, 16)))]

    assert min(int(one.min()) for one in values) == -127


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_a_row_is_quantised_by_itself(seed: int, count: int) -> None:
    rows = unit_rows(seed, count, 16)

    assert quantise(rows) == [quantise(rows[at : at + 1])[0] for at in range(count)]


def test_vectors_are_unpacked_as_they_were_quantised() -> None:
    found = quantise(unit_rows(5, 6, 16))

    rows, scales = unpack(found, 16)

    assert [Quantised(row.tobytes(), float(scale)) for row, scale in zip(rows, scales, strict=True)] == found


def test_a_vector_of_another_length_is_refused_with_a_way_out() -> None:
    with pytest.raises(ContractBroken, match="16 dimensions in a space of 8") as caught:
        unpack(quantise(unit_rows(5, 2, 16)), 8)

    assert "estante rebuild" in caught.value.hint


def test_nothing_unpacks_to_no_rows() -> None:
    rows, scales = unpack([], 16)

    assert (rows.shape, scales.shape) == ((0, 16), (0,))


# --- products ------------------------------------------------------------------------------------------------------

KERNELS = ["simsimd", "numpy"]


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of multiplying: with the library, and as on a machine without it."""
    if request.param == "numpy":
        monkeypatch.setattr(dense, "simsimd", None)
    else:
        assert dense.simsimd is not None
    return str(request.param)


@pytest.mark.parametrize("width", [1, 3, 16, 384, EXACT_DIMENSIONS, EXACT_DIMENSIONS + 1, 3_000])
@pytest.mark.parametrize("count", [1, 2, 33])
def test_products_are_exact(kernel: str, count: int, width: int) -> None:
    rows, vector = bytes_of(width, count, width), bytes_of(width + 1, 1, width)[0]

    assert dots(rows, vector).tolist() == (rows.astype(np.int64) @ vector.astype(np.int64)).tolist()


@pytest.mark.parametrize("width", [EXACT_DIMENSIONS, EXACT_DIMENSIONS + 1, 4_096])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_products_are_exact(kernel: str, width: int, sign: int) -> None:
    rows, vector = np.full((2, width), 127, np.int8), np.full(width, sign * 127, np.int8)

    assert dots(rows, vector).tolist() == [sign * 127 * 127 * width] * 2


def test_products_with_no_rows_are_none(kernel: str) -> None:
    assert dots(np.zeros((0, 16), np.int8), np.ones(16, np.int8)).tolist() == []


def test_rows_picked_out_and_rows_that_may_not_be_written_are_multiplied_alike(kernel: str) -> None:
    rows, vector = bytes_of(1, 40, 384), bytes_of(2, 1, 384)[0]
    frozen = np.frombuffer(rows.tobytes(), np.int8).reshape(40, 384)
    picked = np.array([3, 17, 39])

    assert dots(frozen, vector).tolist() == dots(rows, vector).tolist()
    assert dots(frozen[picked], vector).tolist() == dots(rows, vector)[picked].tolist()


@pytest.mark.parametrize("block", [1, 2, 7, 1_000])
def test_the_size_of_a_block_changes_no_bit(kernel: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, scales = unpack(quantise(unit_rows(7, 50, 384)), 384)
    one = quantise(unit_rows(8, 1, 384))[0]
    vector = np.frombuffer(one.values, np.int8)
    whole = cosines(rows, scales, vector, one.scale)

    monkeypatch.setattr(dense, "BLOCK", block)

    assert cosines(rows, scales, vector, one.scale).tobytes() == whole.tobytes()


def test_both_kernels_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, scales = unpack(quantise(unit_rows(9, 200, 384)), 384)
    one = quantise(unit_rows(10, 1, 384))[0]
    vector = np.frombuffer(one.values, np.int8)
    fast = cosines(rows, scales, vector, one.scale)

    monkeypatch.setattr(dense, "simsimd", None)

    assert cosines(rows, scales, vector, one.scale).tobytes() == fast.tobytes()


def test_the_cosine_of_a_vector_with_itself_is_one() -> None:
    found = quantise(unit_rows(11, 20, 384))
    rows, scales = unpack(found, 384)

    own = [cosines(rows, scales, np.frombuffer(one.values, np.int8), one.scale)[at] for at, one in enumerate(found)]

    assert own == pytest.approx([1.0] * 20, abs=1e-6)


# --- what is lost --------------------------------------------------------------------------------------------------


def clustered(seed: int, count: int, width: int) -> NDArray[np.float32]:
    """Vectors around fifty centres, as passages on fifty subjects."""
    centres = unit_rows(20, 50, width)
    rows = centres[np.arange(count) % 50] + 0.35 * unit_rows(seed, count, width)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("spread", [unit_rows, clustered])
def test_the_ten_nearest_are_hardly_ever_others(spread: object) -> None:
    rows = spread(21, 3_000, 384)  # type: ignore[operator]
    asked = spread(23, 60, 384)  # type: ignore[operator]
    packed, scales = unpack(quantise(rows), 384)
    kept = 0
    for row, one in zip(asked, quantise(asked), strict=True):
        exact = np.argsort(-(rows.astype(np.float64) @ row.astype(np.float64)), kind="stable")[:10]
        found = np.argsort(-cosines(packed, scales, np.frombuffer(one.values, np.int8), one.scale), kind="stable")[:10]
        kept += len(set(exact.tolist()) & set(found.tolist()))

    assert kept / (10 * len(asked)) >= 0.95
