"""Reductions of integers as numbers, which are exact: integers of Python have any size.

Several numbers of 64 bits stand for an integer. The sum of parts of 32 bits does not overflow. Products, and operators
of bits, are those of all ranks' integers, which are gathered. One more number tells all ranks that need the result of
an integer that is too large.
"""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import sys
from typing import Any, Callable

from ._declarations import DATATYPES
from ._numbers import is_numpy_scalar
from .arrays import Buffer
from .errors import ArgumentError

_INT64 = DATATYPES["int64"]
_PART = 32
_PARTS = 4
_MASK = (1 << _PART) - 1
_LARGEST = 1 << (_PART * _PARTS - 1)
_SUM = ctypes.c_int64 * (_PARTS + 1)
_PAIR = ctypes.c_int64 * 2

_FOLDS: dict[str, Callable[[list[int]], int]] = {
    "prod": math.prod,
    "bit_and": functools.partial(functools.reduce, operator.and_),
    "bit_or": functools.partial(functools.reduce, operator.or_),
    "bit_xor": functools.partial(functools.reduce, operator.xor),
}
EXACT = frozenset({"sum", "min", "max", *_FOLDS})
"""The operators that this module has."""


def _split(x: int) -> tuple[int, ...]:
    """The parts of an integer, and whether it is too large."""
    if 0 <= x <= _MASK:
        return (x,)
    if -_LARGEST <= x < _LARGEST:
        return x & _MASK, x >> _PART & _MASK, x >> 2 * _PART & _MASK, x >> 3 * _PART
    return 0, 0, 0, 0, 1


def _join(parts: Any) -> int | None:
    """The integer of parts, or None if it is too large."""
    a, b, c, d, are_wrong = parts
    if are_wrong:
        return None
    if not (b or c or d):
        return int(a)
    return int(a + (b << _PART) + (c << 2 * _PART) + (d << 3 * _PART))


class Integer:
    """The integer of a rank in a reduction, and its result. As Numbers.

    gathers: whether the ranks' integers are gathered, in place of the reduction.
    """

    def __init__(self, x: Any, call: str, op: str, ranks: int, size: int) -> None:
        """ranks: the number of first ranks whose integers make this rank's result; 0: it has none. size: that of the
        communicator, or 0 on a rank that gets no integers."""
        self._kind = type(x) if is_numpy_scalar(x) else int
        self._call = call
        self._op = op
        self._ranks = ranks
        value = operator.index(x)
        self.gathers = op in _FOLDS
        self._all: Any = None
        if op == "sum" or self.gathers:
            self._own: Any = _SUM(*_split(value))
            self._limit = _PART * _PARTS - 1
        else:
            is_wrong = not -(2**63) <= value < 2**63
            self._own = _PAIR(0, -1 if op == "min" else 1) if is_wrong else _PAIR(value, 0)
            self._limit = 63
        self.is_wrong = self._own[-1] != 0
        self.buffer = _buffer_of(self._own)
        if self.gathers and size > 0:
            self._all = (ctypes.c_int64 * (len(self._own) * size))()
            self.output = _buffer_of(self._all)
        else:
            self.output = self.buffer

    def values(self) -> list[Any]:
        """The result, or None. Raises ArgumentError if an integer is too large."""
        if self.is_wrong:
            raise self.error()
        if self._ranks == 0:
            return [None]
        result = self._folded() if self.gathers else self._reduced()
        if result is None:
            raise self.error()
        return [result if self._kind is int else _as_kind(result, self._kind)]

    def _reduced(self) -> int | None:
        if self._op == "sum":
            return _join(self._own)
        return None if self._own[1] else int(self._own[0])

    def _folded(self) -> int | None:
        step = _PARTS + 1
        values = [_join(self._all[i * step : (i + 1) * step]) for i in range(self._ranks)]
        return None if None in values else _FOLDS[self._op](values)  # type: ignore[arg-type]

    def error(self) -> ArgumentError:
        return ArgumentError(
            f"{self._call}: an integer of {'this' if self.is_wrong else 'another'} rank does not fit into "
            f"{self._limit} bits and a sign: use .objects.all_reduce, which takes any integer"
        )


def _as_kind(value: int, kind: Any) -> Any:
    """An integer as a scalar of numpy, if it fits."""
    info = sys.modules["numpy"].iinfo(kind)
    return kind(value) if info.min <= value <= info.max else value


def _buffer_of(array: Any) -> Buffer:
    return Buffer(ctypes.addressof(array), (len(array),), _INT64, 8, array)
