"""Operators of reductions that a program defines."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Callable

from . import arrays
from ._handles import Handle, Turn
from ._library import CombineFunction, ReleaseFunction, library
from .arrays import Array
from .errors import ArgumentError, check


class Operator:
    """A function that combines the elements of two arrays, made by `operator`."""

    def __init__(self, function: Callable[[Array, Array], Array], commutative: bool) -> None:
        self.function = function
        self.commutative = commutative
        self.failure: BaseException | None = None
        self._handles: dict[tuple[int, int], tuple[Handle, Any]] = {}

    def pointer_for(self, datatype: int, itemsize: int, has_progress_thread: bool) -> int:
        """The operator of the shared library for elements of a datatype."""
        if has_progress_thread:
            raise ArgumentError(
                "an operator in Python runs in the thread that waits, and a communicator with progress_thread "
                "has another one: use a communicator without it, or an operator of tutti"
            )
        found = self._handles.get((datatype, itemsize))
        if found is None or not found[0].is_open:
            found = self._handles[datatype, itemsize] = self._make(datatype, itemsize)
        return found[0].pointer

    def _make(self, datatype: int, itemsize: int) -> tuple[Handle, Any]:
        view = _view_of(datatype, itemsize)

        def combine(_: int, left: int, right: int, out: int, count: int) -> None:
            try:
                result = self.function(view(left, count, False), view(right, count, False))
                view(out, count, True)[...] = result
            except BaseException as error:  # the shared library cannot pass it on
                self.failure = self.failure or error

        function = CombineFunction(combine)
        made = ctypes.c_void_p()
        check(library.tutti_make_operator(function, None, self.commutative, ReleaseFunction(), made))
        assert made.value is not None
        _functions.append(function)
        return Handle(made.value, library.tutti_operator_free, "operator", Turn()), function

    def raise_failure(self) -> None:
        """Raises what the function raised."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure


_functions: list[Any] = []  # communicators keep operators, so that their functions live as long as the process


def _view_of(datatype: int, itemsize: int) -> Callable[[int, int, bool], Any]:
    """A function that makes arrays of numpy of memory in a call."""
    try:
        numpy = importlib.import_module("numpy")
        name = arrays.name_of(datatype, itemsize)
        if name == "bfloat16":
            dtype = numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
        else:
            dtype = numpy.dtype(f"V{itemsize}" if datatype == arrays.BYTES else name)
    except ImportError as error:
        raise ArgumentError(f"operators in Python need numpy, and ml_dtypes for bfloat16: {error}") from error

    def view(address: int, count: int, is_output: bool) -> Any:
        memory = (ctypes.c_char * (count * itemsize)).from_address(address)
        array = numpy.frombuffer(memory, dtype=dtype)
        array.flags.writeable = is_output
        return array

    return view


def operator(function: Callable[[Array, Array], Array], *, commutative: bool) -> Operator:
    """An operator for reductions: `world.all_reduce(x, op=tutti.operator(f, commutative=True))`.

    function: gets two arrays of numpy of equal length and returns one, whose element i combines their
        elements i. It must be associative, and must not call tutti nor keep its arguments. If it
        raises, the call raises the same on this rank, and the communicator fails on all ranks.
    commutative: whether operands may be exchanged.
    """
    if not callable(function):
        raise ArgumentError(f"an operator needs a function of two arrays, got a {type(function).__name__}")
    return Operator(function, commutative)
