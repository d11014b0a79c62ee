"""Numbers: they go in, and numbers come out."""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import Any

from ._library import DATATYPES
from .arrays import PYTHON_TYPES, SIZES, Buffer, read
from .errors import ArgumentError


def is_number(x: Any) -> bool:
    """Whether x is a number of Python or a scalar of numpy."""
    return type(x) in PYTHON_TYPES or _is_numpy_scalar(x)


def _is_numpy_scalar(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic)


class Numbers:
    """Room for numbers of one type."""

    def __init__(self, example: Any, values: list[Any]) -> None:
        if _is_numpy_scalar(example):
            self._array = sys.modules["numpy"].array(values, dtype=example.dtype)
            self.buffer = read(self._array, "a call", "a number")
            return
        name = PYTHON_TYPES[type(example)]
        self._array = (_C_TYPES[type(example)] * (len(values) * (2 if name == "complex128" else 1)))()
        for i, value in enumerate(values):
            self._set(i, value)
        datatype = DATATYPES[name]
        self.buffer = Buffer(ctypes.addressof(self._array), (len(values),), datatype, SIZES[datatype], self._array)
        self._is_complex = name == "complex128"

    def _set(self, i: int, value: Any) -> None:
        if isinstance(value, complex):
            self._array[2 * i], self._array[2 * i + 1] = value.real, value.imag
            return
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise ArgumentError(f"{value} does not fit into 64 bits")
        self._array[i] = value

    def values(self) -> list[Any]:
        if not isinstance(self._array, ctypes.Array):
            return list(self._array)
        if self._is_complex:
            return [complex(self._array[i], self._array[i + 1]) for i in range(0, len(self._array), 2)]
        return list(self._array)


_C_TYPES: dict[Any, Any] = {
    bool: ctypes.c_bool,
    int: ctypes.c_int64,
    float: ctypes.c_double,
    complex: ctypes.c_double,
}


def index_of(value: Any, name: str, bits: int = 32) -> int:
    """An integer that the shared library takes, such as a rank. ctypes would cut off its high bits.

    name: for the error. bits: 32 and a sign, or 64 without one.
    """
    number = operator.index(value)
    least, most = (-(1 << 31), (1 << 31) - 1) if bits == 32 else (0, (1 << 64) - 1)
    if not least <= number <= most:
        raise ArgumentError(f"{name} is {number}; expected {least} .. {most}")
    return number
