"""Pairs of a value and an index: the elements of the operators min_loc and max_loc.

A pair lies in memory as C has a struct of both, and as MPI's MPI_DOUBLE_INT and its kin.
"""

from __future__ import annotations

import ctypes
import re
import sys
from typing import Any

from ._declarations import INDEXED
from ._numbers import Numbers, integer_of
from .arrays import BYTES, Buffer, read
from .errors import ArgumentError

# Datatypes by the codes of both members in the module struct, and by the bytes of both.
_LAYOUTS = {
    ("ii", 8): "int32",
    ("li", 8): "int32",  # long of a format with its size, which is of 4 bytes
    ("li", 16): "int64",
    ("qi", 16): "int64",
    ("fi", 8): "float32",
    ("di", 16): "float64",
}
_C_VALUES: dict[str, Any] = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_PAIRS: dict[str, Any] = {
    name: type("Pair", (ctypes.Structure,), {"_fields_": [("value", kind), ("index", ctypes.c_int32)]})
    for name, kind in _C_VALUES.items()
}
_WHAT_TO_PASS = (
    'pass arrays of numpy.dtype([("value", "float64"), ("index", "int32")], align=True), whose value may be '
    f"{', '.join(_C_VALUES)}; or a pair of numbers, such as (2.5, world.rank)"
)


def pairs_of(buffer: Buffer, call: str, op: str) -> int:
    """The datatype of an array of pairs. Raises ArgumentError for other elements."""
    members = re.sub(":[^:]*:", "", buffer.format or "")  # without their names
    struct = re.fullmatch(r"T\{[@=<>^]?(\w)[@=<>^]?(\w)(\d*x)*\}", members)
    name = _LAYOUTS.get((struct[1] + struct[2], buffer.itemsize)) if struct else None
    if name is None:
        layout = f" ({buffer.format})" if buffer.format else ""
        raise ArgumentError(
            f"{call}: operator {op} needs elements of a value and an index, and got {buffer.dtype}{layout}: "
            f"{_WHAT_TO_PASS}"
        )
    return INDEXED[name]


def pairs_of_dtype(dtype: Any, call: str, op: str) -> tuple[int, int]:
    """The datatype of pairs of a dtype of numpy, and its bytes."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(dtype, (numpy.dtype, list)):
        raise ArgumentError(f"{call}: operator {op} needs pairs, and got {dtype!r}: {_WHAT_TO_PASS}")
    buffer = read(numpy.empty(1, dtype), call, "an array of dtype")
    return pairs_of(buffer, call, op), buffer.itemsize


class Pair(Numbers):
    """A value and an index: the argument is a tuple, and so is the result."""

    def __init__(self, pair: tuple[Any, Any], call: str) -> None:
        value, index = pair
        name = {int: "int64", float: "float64"}.get(type(value)) or str(getattr(value, "dtype", type(value).__name__))
        if name not in _PAIRS:
            raise ArgumentError(
                f"{call}: the value of a pair is of {name}, "
                f"and may be an int, a float, or of {', '.join(_PAIRS)} of numpy"
            )
        self._kind = type(value)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ArgumentError(f"{call}: the value of a pair, {value}, does not fit into 64 bits")
        number = integer_of(index, f"{call}: the index of a pair")
        if not -(2**31) <= number < 2**31:
            raise ArgumentError(f"{call}: the index of a pair, {number}, does not fit into 32 bits")
        self._pair = _PAIRS[name](value, number)
        self.buffer = read((_PAIRS[name] * 1).from_buffer(self._pair), call, "a pair")

    def values(self) -> list[Any]:
        return [(self._kind(self._pair.value), self._pair.index)]
