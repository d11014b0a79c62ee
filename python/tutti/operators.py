"""Operators of reductions: those on pairs, and those that a program defines."""

from __future__ import annotations

import ctypes
import importlib
import itertools
from typing import Any, Callable

from . import arrays
from ._callbacks import Callback, Failures, watch
from ._declarations import CombineFunction, ReleaseFunction
from ._handles import Handle, Turn
from ._library import library
from .arrays import Array
from .errors import ArgumentError, check

PAIR_OPERATORS = frozenset({"min_loc", "max_loc"})


class Operator:
    """A function that combines the elements of two arrays, made by `operator`."""

    def __init__(self, function: Callable[[Array, Array], Array], commutative: bool) -> None:
        self.function = function
        self.commutative = commutative
        self._failures = Failures()
        self._handles: dict[tuple[int, int], Handle] = {}

    def pointer_for(self, datatype: int, itemsize: int, has_progress_thread: bool) -> int:
        """The operator of the shared library for elements of a datatype."""
        if has_progress_thread:
            raise ArgumentError(
                "an operator in Python runs in the thread that waits, and a communicator with progress_thread "
                "has another one: use a communicator without it, or an operator of tutti"
            )
        watch()
        found = self._handles.get((datatype, itemsize))
        if found is None or not found.is_open:
            found = self._handles[datatype, itemsize] = self._make(datatype, itemsize)
        return found.pointer

    def _make(self, datatype: int, itemsize: int) -> Handle:
        view, store = _views_of(datatype, itemsize)
        user, succeed = self.function, library.tutti_operator_error  # not self: calls under way keep combine

        def combine(_: int, left: int, right: int, out: int, count: int) -> None:
            store(user(view(left, count, False), view(right, count, False)), view(out, count, True), user)
            succeed(None)

        number = next(_numbers)
        function = CombineFunction(Callback(combine, self._failures, _tell))
        handle = Handle(library.tutti_operator_free, "operator", Turn())
        try:
            _functions[number] = function
            check(library.tutti_make_checked_operator(function, number, self.commutative, _release, handle))
            return handle
        except BaseException:
            if not handle.is_open:
                _functions.pop(number, None)
            handle.close()
            raise

    def take_failure(self) -> BaseException | None:
        """The exception of the function since the last call of this."""
        return self._failures.take()


def _tell(error: BaseException) -> None:
    """Gives the other ranks' errors the text of an exception."""
    library.tutti_operator_error(f"{type(error).__name__}: {error}".encode("utf-8", "replace"))


_numbers = itertools.count(1)
_functions: dict[int, Any] = {}  # by their numbers, while a call may use them
_release = ReleaseFunction(_functions.pop)  # in C, so that no signal's exception ends it


View = Callable[[int, int, bool], Any]
Store = Callable[[Any, Any, Any], None]


def _views_of(datatype: int, itemsize: int) -> tuple[View, Store]:
    """Two functions: one makes arrays of numpy of a call's memory, one stores a function's result in such an array."""
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

    def store(result: Any, out: Any, function: Any) -> None:
        got = numpy.asarray(result)
        if got.shape == out.shape and (got.dtype == dtype or numpy.can_cast(got.dtype, dtype, "same_kind")):
            out[...] = got
            return
        name = getattr(function, "__name__", type(function).__name__)
        what = "None; is a return missing?" if result is None else f"shape {got.shape} and dtype {got.dtype}"
        kind = TypeError if result is None or got.shape == out.shape else ValueError
        raise kind(f"the operator {name} must return an array of shape {out.shape} and dtype {dtype}, got {what}")

    return view, store


def operator(function: Callable[[Array, Array], Array], *, commutative: bool) -> Operator:
    """An operator for reductions: `world.all_reduce(x, op=tutti.operator(f, commutative=True))`.

    function: gets two arrays of numpy of equal length and returns one of that length and dtype, whose element i
        combines their elements i. It must be associative, and must not call tutti nor keep its arguments. If it
        raises, the call raises the same on this rank, and the communicator fails: other ranks get
        AbortedError with its text from this call, or from their next one if they have all their
        operands already.
    commutative: whether operands may be exchanged.
    """
    if not callable(function):
        raise ArgumentError(f"an operator needs a function of two arrays, got a {type(function).__name__}")
    return Operator(function, commutative)
