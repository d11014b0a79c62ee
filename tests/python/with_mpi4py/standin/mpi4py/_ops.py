"""Operators of mpi4py: of arrays, those of tutti by their names; of objects, functions."""

from __future__ import annotations

import operator
from typing import Any, Callable

from ._messages import Missing


class Op:
    def __init__(self, name: str, function: Callable[[Any, Any], Any]) -> None:
        self.name = name
        self._function = function

    def __call__(self, a: Any, b: Any) -> Any:
        return self._function(a, b)

    def Reduce_local(self, *_: Any) -> None:
        raise Missing("a reduction without communication")


def _first(a: Any, b: Any, is_better: bool) -> Any:
    """Returns the better one of two pairs of a value and a place, or the one with the lower place."""
    return (a[0], min(a[1], b[1])) if a[0] == b[0] else a if is_better else b


SUM = Op("sum", operator.add)
PROD = Op("prod", operator.mul)
MAX = Op("max", max)
MIN = Op("min", min)
MAXLOC = Op("", lambda a, b: _first(a, b, a[0] > b[0]))
MINLOC = Op("", lambda a, b: _first(a, b, a[0] < b[0]))
REPLACE = Op("", lambda a, b: b)
NO_OP = Op("", lambda a, b: a)
OP_NULL = Op("", lambda a, b: None)
