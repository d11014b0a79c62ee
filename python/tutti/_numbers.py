"""Calls with numbers, which return numbers."""

from __future__ import annotations

import ctypes
import operator
import sys
from typing import Any

from . import arrays
from ._declarations import DATATYPES
from .arrays import PYTHON_TYPES, SIZES, Buffer, read
from .errors import ArgumentError

_INDEX = "__index__"


def is_number(x: Any) -> bool:
    """Whether x is a number of Python, a scalar of numpy, or an object that is an integer by its __index__."""
    return type(x) in PYTHON_TYPES or is_numpy_scalar(x) or _is_like_a_number(x)


def is_integer(x: Any) -> bool:
    """Whether a number is an integer."""
    if type(x) is int:
        return True
    if is_numpy_scalar(x):
        return bool(x.dtype.kind in "iu")
    return type(x) not in PYTHON_TYPES and hasattr(x, _INDEX)


def is_numpy_scalar(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic)


def _is_like_a_number(x: Any) -> bool:
    """Whether x is a number, or has an __index__ and is no array: arrays of one element have one too."""
    if isinstance(x, (int, float, complex)):
        return True
    return hasattr(type(x), _INDEX) and not arrays.is_array(x)


def plain(x: Any) -> Any:
    """A number as one of Python or a scalar of numpy."""
    if type(x) in PYTHON_TYPES or is_numpy_scalar(x):
        return x
    if hasattr(x, _INDEX):
        return operator.index(x)
    return float(x) if isinstance(x, float) else complex(x)


class Numbers:
    """Memory for numbers of one type."""

    buffer: Buffer

    def __init__(self, example: Any, count: int, call: str) -> None:
        """example: the first number. Others are zeros."""
        example = plain(example)
        if is_numpy_scalar(example):
            if example.dtype.kind in "USO":
                raise ArgumentError(f"{call}: a {type(example).__name__} is no number: use .objects")
            self._array = sys.modules["numpy"].zeros(count, example.dtype)
            self._array[0] = example
            self.buffer = read(self._array, call, "a number")
            return
        name = PYTHON_TYPES[type(example)]
        is_complex = self._is_complex = name == "complex128"
        self._array = (_C_TYPES[type(example)] * (count * (2 if is_complex else 1)))()
        if is_complex:
            self._array[0], self._array[1] = example.real, example.imag
        elif type(example) is int and not -(2**63) <= example < 2**63:
            raise ArgumentError(f"{call}: {example} does not fit into 64 bits: use .objects, which moves any integer")
        else:
            self._array[0] = example
        datatype = DATATYPES[name]
        self.buffer = Buffer(ctypes.addressof(self._array), (count,), datatype, SIZES[datatype], self._array)

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


def integer_of(value: Any, name: str) -> int:
    """An object that is an integer, as one of Python. name: for the error."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}, and must be an integer") from None


def index_of(value: Any, name: str, bits: int = 32) -> int:
    """An integer for the shared library, such as a rank. ctypes would cut off high bits.

    name: for the error. bits: 32 and a sign, or 64 without one.
    """
    number = integer_of(value, name)
    least, most = (-(1 << 31), (1 << 31) - 1) if bits == 32 else (0, (1 << 64) - 1)
    if not least <= number <= most:
        raise ArgumentError(f"{name} is {number}; expected {least} .. {most}")
    return number


def list_of(values: Any, name: str, what: str) -> list[Any]:
    """The elements of an iterable. name, what: for the error."""
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} is a {type(values).__name__}, and must be an iterable of {what}") from None
