"""Operators of reductions that a program defines."""

from __future__ import annotations

import ctypes
import importlib
import itertools
from typing import Any, Callable

from . import arrays
from ._handles import Handle, Turn
from ._library import CombineFunction, ReleaseFunction, library
from .arrays import Array
from .errors import ArgumentError, check


class _Failures:
    """What a function raised while the shared library called it."""

    first: BaseException | None = None


class Operator:
    """A function that combines the elements of two arrays, made by `operator`."""

    def __init__(self, function: Callable[[Array, Array], Array], commutative: bool) -> None:
        self.function = function
        self.commutative = commutative
        self._failures = _Failures()
        self._handles: dict[tuple[int, int], Handle] = {}

    def pointer_for(self, datatype: int, itemsize: int, has_progress_thread: bool) -> int:
        """The operator of the shared library for elements of a datatype."""
        if has_progress_thread:
            raise ArgumentError(
                "an operator in Python runs in the thread that waits, and a communicator with progress_thread "
                "has another one: use a communicator without it, or an operator of tutti"
            )
        found = self._handles.get((datatype, itemsize))
        if found is None or not found.is_open:
            found = self._handles[datatype, itemsize] = self._make(datatype, itemsize)
        return found.pointer

    def _make(self, datatype: int, itemsize: int) -> Handle:
        view = _view_of(datatype, itemsize)
        user, failures = self.function, self._failures  # not self: calls under way keep combine

        def combine(_: int, left: int, right: int, out: int, count: int) -> int:
            try:
                result = user(view(left, count, False), view(right, count, False))
                view(out, count, True)[...] = result
            except BaseException as error:  # the shared library cannot pass it on
                failures.first = failures.first or error
                library.tutti_operator_error(f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
                return 1
            return 0

        function = CombineFunction(combine)
        number = next(_numbers)
        _functions[number] = function
        made = ctypes.c_void_p()
        check(library.tutti_make_operator(function, number, self.commutative, _release, made))
        assert made.value is not None
        return Handle(made.value, library.tutti_operator_free, "operator", Turn())

    def take_failure(self) -> BaseException | None:
        """What the function raised since the last look."""
        failure, self._failures.first = self._failures.first, None
        return failure


_numbers = itertools.count(1)
_functions: dict[int, Any] = {}  # by their numbers, while a call may use them
_release = ReleaseFunction(lambda number: _functions.pop(number, None))


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
        raises, the call raises the same on this rank, and the communicator fails: other ranks get
        AbortedError with its text from this call, or from their next one if they have all their
        operands already.
    commutative: whether operands may be exchanged.
    """
    if not callable(function):
        raise ArgumentError(f"an operator needs a function of two arrays, got a {type(function).__name__}")
    return Operator(function, commutative)
