"""The calls that programs make most often, by the extension tutti._fast if it can be imported.

It runs calls on arrays in memory of the host, without options. All others take the general way.
"""

from __future__ import annotations

import ctypes
import pickle
from typing import TYPE_CHECKING, Any, Callable, Sequence, Unpack

from . import _declarations, _pickles, memory
from ._collectives import Calls, Op
from ._declarations import ANY_RANK, OPERATORS
from ._handles import Handle, Turn
from ._library import library
from ._options import CallOptions
from .arrays import Array
from .errors import raise_last
from .operators import PAIR_OPERATORS

if TYPE_CHECKING:
    from . import _fast
else:
    try:
        from . import _fast
    except ImportError:  # a Python that it was not built for
        _fast = None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Binding:
    """Whether the extension has the functions of the shared library."""

    is_bound = False


def calls_of(handle: Handle, rank: int) -> _fast.Calls | None:
    """The quick calls of a communicator, or None without the extension."""
    if _fast is None:
        return None
    if not _Binding.is_bound:
        options = _declarations.Options()
        library.tutti_options_defaults(options, ctypes.sizeof(options))
        options.visible = 1
        _fast.bind(
            _address(library.tutti_run_for),
            _address(library.tutti_wait_for),
            _address(library.tutti_test),
            _address(library.tutti_request_free),
            ctypes.addressof(options),
            raise_last,
            {name: number for name, number in OPERATORS.items() if name not in PAIR_OPERATORS},
            memory._visible,
            memory.is_visible,
        )
        _Binding.is_bound = True
    return _fast.Calls(handle, handle.turn, rank)


def bind_objects(call: _declarations.ObjectCall, new_handle: Callable[[Turn], Handle]) -> None:
    """Gives the extension the functions for objects. call: the members that are the same in all calls; kept alive."""
    if _fast is not None:
        _fast.bind_objects(
            _address(library.tutti_objects_start),
            _address(library.tutti_objects_wait_for),
            _address(library.tutti_objects_count),
            _address(library.tutti_objects_get),
            _address(library.tutti_objects_free),
            _address(library.tutti_probe),
            ctypes.addressof(call),
            pickle.Pickler,
            _pickles.Pieces,
            _pickles.join,
            pickle.loads,
            _pickles.loads_with_buffers,
            _pickles.fail_to_decode,
            new_handle,
        )


def count_batches(more: int) -> None:
    """While a batch is open, no call is quick. more: 1 or -1."""
    if _fast is not None:
        _fast.count_batches(more)


class QuickCalls(Calls[Any]):
    """Blocking calls that try the extension first."""

    _fast: _fast.Calls | None = None

    def all_reduce(
        self, x: Array, out: Array | None = None, *, op: Op = "sum", **options: Unpack[CallOptions]
    ) -> Any:
        if self._fast is not None and not options:
            result = self._fast.all_reduce(x, out, op)
            if result is not NotImplemented:
                return result
        return super().all_reduce(x, out, op=op, **options)

    def broadcast(self, x: Array, *, root: int = 0, **options: Unpack[CallOptions]) -> Any:
        if self._fast is not None and not options:
            result = self._fast.broadcast(x, root)
            if result is not NotImplemented:
                return result
        return super().broadcast(x, root=root, **options)

    def all_gather(
        self,
        x: Array,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        if self._fast is not None and counts is None and not options:
            result = self._fast.all_gather(x, out)
            if result is not NotImplemented:
                return result
        return super().all_gather(x, out, counts=counts, **options)

    def reduce_scatter(
        self,
        x: Array,
        out: Array,
        *,
        op: Op = "sum",
        counts: Sequence[int] | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        if self._fast is not None and counts is None and not options:
            result = self._fast.reduce_scatter(x, out, op)
            if result is not NotImplemented:
                return result
        return super().reduce_scatter(x, out, op=op, counts=counts, **options)

    def send(self, x: Array, to: int, *, tag: int = 0, **options: Unpack[CallOptions]) -> Any:
        if self._fast is not None and not options:
            result = self._fast.send(x, to, tag)
            if result is not NotImplemented:
                return result
        return super().send(x, to, tag=tag, **options)

    def recv(self, out: Array, source: int = ANY_RANK, *, tag: int = 0, **options: Unpack[CallOptions]) -> Any:
        if self._fast is not None and not options:
            result = self._fast.recv(out, source, tag)
            if result is not NotImplemented:
                return result
        return super().recv(out, source, tag=tag, **options)

    def barrier(self, **options: Unpack[CallOptions]) -> Any:
        if self._fast is not None and not options:
            result = self._fast.barrier()
            if result is not NotImplemented:
                return result
        return super().barrier(**options)
