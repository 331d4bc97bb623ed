"""Graphs in the format of ONNX, written without the onnx package: only what an encoder needs of it.

The field numbers are those of onnx.proto (https://github.com/onnx/onnx, Apache-2.0), IR version 9.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

IR_VERSION: Final = 9
OPSET: Final = 18
MICROSOFT: Final = "com.microsoft"
"""The domain of the operators that only ONNX Runtime has."""

_TYPES: Final = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5

Attribute = int | float | Sequence[int]
Shape = tuple[str, Sequence[int | str]]
"""A type and the sizes, a name standing for one that varies."""


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _int(field: int, number: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(number)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode("utf-8") if isinstance(value, str) else value
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data


def _float(field: int, number: float) -> bytes:
    return _varint(field << 3 | _FIXED32) + struct.pack("<f", number)


def _tensor(name: str, values: NDArray[Any]) -> bytes:
    dims = b"".join(_int(1, size) for size in values.shape)
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return dims + _int(2, _TYPES[values.dtype.name]) + _bytes(8, name) + _bytes(9, little.tobytes())


def _attribute(name: str, value: Attribute) -> bytes:
    told = _bytes(1, name)
    if isinstance(value, float):
        return told + _float(2, value) + _int(20, 1)
    if isinstance(value, int):
        return told + _int(3, value) + _int(20, 2)
    return told + b"".join(_int(8, one) for one in value) + _int(20, 7)


def _value(name: str, dtype: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_bytes(1, _int(1, one) if isinstance(one, int) else _bytes(2, one)) for one in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _int(1, _TYPES[dtype]) + _bytes(2, dims)))


class Graph:
    """A graph that grows: constants and operators get names of their own, and each operator gives its output's."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._count = 0

    def constant(self, values: NDArray[Any]) -> str:
        """The name of an array that is kept with the graph."""
        name = self._name("c")
        self._constants.append(_tensor(name, values))
        return name

    def operator(self, kind: str, *inputs: str, domain: str = "", output: str = "", **attributes: Attribute) -> str:
        """The name of an operator's one output; an input that is left out is ``""``."""
        output = output or self._name("t")
        node = b"".join(_bytes(1, one) for one in inputs) + _bytes(2, output) + _bytes(3, output) + _bytes(4, kind)
        node += b"".join(_bytes(5, _attribute(name, value)) for name, value in sorted(attributes.items()))
        self._nodes.append(node + (_bytes(7, domain) if domain else b""))
        return output

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def model(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> bytes:
        """The whole model with its inputs and outputs, each a name with a type and a shape."""
        graph = [_bytes(1, node) for node in self._nodes]
        graph += [_bytes(2, "encoder"), *(_bytes(5, one) for one in self._constants)]
        graph += _values(11, inputs)
        graph += _values(12, outputs)
        opsets = _bytes(8, _bytes(1, "") + _int(2, OPSET)) + _bytes(8, _bytes(1, MICROSOFT) + _int(2, 1))
        return _int(1, IR_VERSION) + _bytes(2, "estante") + _bytes(7, b"".join(graph)) + opsets


def _values(field: int, told: Mapping[str, Shape]) -> Iterable[bytes]:
    return [_bytes(field, _value(name, dtype, shape)) for name, (dtype, shape) in told.items()]
