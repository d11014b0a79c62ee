"""Futures of pending calls: for programs in Python, and for PyTorch's own code in C++."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Protocol, Sequence

import torch
from torch import Tensor

_SCRIPT = """
def tensors_after(tensors: List[Tensor], gate: Future[int]) -> List[Tensor]:
    torch.jit.wait(gate)
    return tensors

def future_after(tensors: List[Tensor], gate: Future[int]) -> Future[List[Tensor]]:
    return torch.jit.fork(tensors_after, tensors, gate)
"""


class Call(Protocol):
    """A pending call, as its future uses it."""

    def _poll(self) -> bool: ...

    def _complete(self) -> None: ...


class PythonFuture(torch.futures.Future[Any]):
    """The future of a call, or of a function that `then` calls after it. A hook of DistributedDataParallel may wait
    for it within backward, whose end would complete it."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call: Call | None = call

    def wait(self) -> Any:
        call, self._call = self._call, None
        if call is not None:
            call._complete()
        return super().wait()

    def done(self) -> bool:
        call = self._call
        if call is not None and call._poll():
            call._complete()
        return super().done()

    def then(self, callback: Callable[[Any], Any]) -> Any:
        if self._call is None:
            return super().then(callback)
        following = PythonFuture(self._call)

        def follow(future: torch.futures.Future[Any]) -> None:
            try:
                result = callback(future)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(follow)
        return following

    def complete(self, error: Exception | None, result: list[Tensor]) -> None:
        self._call = None
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)


class CppFuture:
    """A future for code in C++, which takes lists of tensors and errors of C++ only. Futures made in Python hold
    objects of Python: TorchScript makes one that waits for a gate, and then has the list."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._gate: torch.futures.Future[Any] = torch.futures.Future()
        self.future = _script().future_after(list(tensors), self._gate.then(_raise_or_pass))

    def complete(self, error: Exception | None, _: list[Tensor]) -> None:
        self._gate.set_result(error)


def _raise_or_pass(gate: torch.futures.Future[Any]) -> int:
    error = gate.value()
    if error is not None:
        raise error
    return 0


@functools.cache
def _script() -> Any:
    return torch.jit.CompilationUnit(_SCRIPT)


def is_asked_from_cpp() -> bool:
    """Whether C++ has called the calling function: then that does not stand in the code of the frame below."""
    asked = sys._getframe(1)
    below = asked.f_back
    return below is None or asked.f_code.co_name not in below.f_code.co_names
