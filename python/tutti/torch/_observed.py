"""Calls under observation by a profiler, or by a mode of PyTorch's dispatcher, such as CommDebugMode.

Calls of a group do not pass through the dispatcher, which would take longer than the call itself. If somebody observes
them, they do: from a group of PyTorch with the same backend, where they come back.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

import torch.autograd.profiler
import torch.utils._python_dispatch
from torch import Tensor
from torch.distributed import ProcessGroup, Work

from ._group_calls import GroupCalls
from ._works import TuttiWork

_modes: Any = torch.utils._python_dispatch  # their flags are of all threads; a call of the dispatcher would take longer
_profiler: Any = torch.autograd.profiler
_plain_dispatch = getattr(Tensor, "__torch_dispatch__", None)

_OF_TENSORS = ("allreduce", "allreduce_coalesced", "reduce", "broadcast")
_OF_OUTPUTS = (
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_single_coalesced",
    "allgather",
    "all_gather_single",
    "allgather_coalesced",
    "all_gather_single_coalesced",
    "gather",
    "gather_single",
    "scatter",
    "alltoall",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "_allgather_base",
    "allgather_into_tensor_coalesced",
    "gather_into_tensor",
)


class _Last(threading.local):
    """The Work that the backend returns to a call of this thread. PyTorch returns another one with fewer features."""

    is_wanted = False
    work: TuttiWork | None = None


_last = _Last()


class BackendCalls(GroupCalls):
    """Calls that come from the dispatcher."""

    def _returned(self, work: Work) -> Work:
        if _last.is_wanted and isinstance(work, TuttiWork):
            _last.work = work
        return work


class ObservedCalls(GroupCalls):
    """Calls that come from programs. They pass through the dispatcher if they are observed, or if a tensor is of a
    class that needs it, such as results of functional collectives, which wait when they are used."""

    _dispatching: ProcessGroup | None = None

    def _made_dispatching(self) -> ProcessGroup:
        """A group of PyTorch with the same backend."""
        raise NotImplementedError

    def _run(self, name: str, x: Any, out: Any, opts: Any, result: Any, finish: Any = None, **arguments: Any) -> Work:
        return self._run_now(name, x, out, opts, result, finish, arguments)  # no profiler is there

    def _dispatch(self, name: str, *arguments: Any, **named: Any) -> Work:
        if self._dispatching is None:
            self._dispatching = self._made_dispatching()
        _last.is_wanted = True
        try:
            work: Work = getattr(self._dispatching, name)(*arguments, **named)
        finally:
            own, _last.work, _last.is_wanted = _last.work, None, False
        return work if own is None else self._added(own)

    def all_to_all_single(self, out: Tensor, x: Tensor, *arguments: Any, **named: Any) -> Work:
        if _is_observed(out) or _is_wrapped(x):
            return self._dispatch("all_to_all_single", out, x, *arguments, **named)
        return super().all_to_all_single(out, x, *arguments, **named)

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None, *others: Any, **named: Any) -> Work:
        if _modes._is_in_torch_dispatch_mode or _profiler._is_profiler_enabled:
            return self._dispatch("barrier", opts, *others, **named)
        return GroupCalls.barrier(self, opts, *others, **named) if others or named else GroupCalls.barrier(self, opts)

    def send(self, tensors: Any, to: int, tag: int = 0) -> Work:
        if _is_observed(tensors):
            return self._dispatch("send", tensors, to, tag)
        return super().send(tensors, to, tag)

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        if _is_observed(tensors):
            return self._dispatch("recv", tensors, source, tag)
        return super().recv(tensors, source, tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        if _is_observed(tensors):
            return self._dispatch("recv_anysource", tensors, tag)
        return super().recv_anysource(tensors, tag)


def _is_observed(x: Any) -> bool:
    """Whether a call of a tensor or several has to pass through the dispatcher."""
    first = x[0] if type(x) is list and x else x
    return (
        _modes._is_in_torch_dispatch_mode
        or _profiler._is_profiler_enabled
        or (type(first) is not Tensor and _is_wrapped(first))
    )


def _is_wrapped(x: Any) -> bool:
    """Whether a tensor, or the first of several, is of a class that makes its calls itself, around other tensors."""
    while isinstance(x, (list, tuple)) and x:
        x = x[0]
    return isinstance(x, Tensor) and type(x).__torch_dispatch__ is not _plain_dispatch


def _of_tensors(name: str, own: Callable[..., Work]) -> Callable[..., Work]:
    def call(self: ObservedCalls, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        if _is_observed(tensors):
            return self._dispatch(name, tensors, opts, *others, **named)
        return own(self, tensors, opts, *others, **named) if others or named else own(self, tensors, opts)

    return call


def _of_outputs(name: str, own: Callable[..., Work]) -> Callable[..., Work]:
    def call(self: ObservedCalls, outputs: Any, x: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        if _is_observed(x) or (type(outputs) is not Tensor and _is_wrapped(outputs)):
            return self._dispatch(name, outputs, x, opts, *others, **named)
        return own(self, outputs, x, opts, *others, **named) if others or named else own(self, outputs, x, opts)

    return call


for _names, _wrap in ((_OF_TENSORS, _of_tensors), (_OF_OUTPUTS, _of_outputs)):
    for _name in _names:
        setattr(ObservedCalls, _name, _wrap(_name, getattr(GroupCalls, _name)))
