"""Calls of several tensors each. All arguments are checked before the first call starts, and tensors that share memory
get their results one after the other."""

from __future__ import annotations

from typing import Any, Callable, NoReturn, Sequence

from torch import Tensor
from torch.distributed import Work

from ..errors import ArgumentError
from ._checks import check_blocks, check_lengths
from ._options import AsyncOptions, factor_of, operator_of, scaled
from ._tensors import Output, counts_of, read, shared
from ._works import TuttiWork


class CoalescedCalls:
    """A part of GroupCalls."""

    _together: list[TuttiWork] | None = None  # the calls of a coalescing manager
    _run: Callable[..., Work]
    _all: Callable[[Sequence[Work]], Work]
    _size: Callable[[], int]

    def _reject(self, name: str, error: Exception, **peers: Any) -> NoReturn:
        raise NotImplementedError

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: Any = None) -> Work:
        try:
            ops = [operator_of(opts, x) for x in tensors]
            factors = [factor_of(opts, x) for x in tensors]
            are_apart, _ = shared(tensors)
            outputs = [Output([x], True, is_apart) for x, is_apart in zip(tensors, are_apart)]
            _in_order(outputs)
        except Exception as error:
            self._reject("all_reduce", error)
        for output, factor in zip(outputs, factors):
            if factor is not None:
                output.array.mul_(factor)
        parts = AsyncOptions(opts)
        calls = zip(tensors, outputs, ops)
        return self._all(
            [self._run("all_reduce", made.array, None, parts, [x], made.finish, op=op) for x, made, op in calls]
        )

    def reduce_scatter_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        try:
            arrays, made = _apart("reduce_scatter_single_coalesced", inputs, outputs)
            ops = [operator_of(opts, x) for x in inputs]
            arrays = [scaled(x, opts) for x in arrays]
        except Exception as error:
            self._reject("reduce_scatter", error)
        parts = AsyncOptions(opts)
        calls = zip(arrays, made, outputs, ops)
        return self._all(
            [self._run("reduce_scatter", x, to.array, parts, [out], to.finish, op=op) for x, to, out, op in calls]
        )

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def allgather_coalesced(
        self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        """outputs: for each rank a list of its inputs."""
        try:
            if any(len(outs) != len(inputs) for outs in outputs):
                raise ArgumentError(f"all_gather_coalesced: each rank's list must have {len(inputs)} outputs")
            by_input = [list(outs) for outs in zip(*outputs)]
            for outs in by_input:
                check_blocks("all_gather_coalesced", self._size(), outs)
            are_apart, are_copied = shared([x for outs in by_input for x in outs], inputs)
            count = len(outputs)
            made = [
                Output(outs, False, any(are_apart[i * count : (i + 1) * count])) for i, outs in enumerate(by_input)
            ]
            _in_order(made)
            arrays = [read(x.clone() if is_copied else x) for x, is_copied in zip(inputs, are_copied)]
        except Exception as error:
            self._reject("all_gather", error)
        parts = AsyncOptions(opts)
        calls = zip(arrays, made, by_input)
        return self._all(
            [
                self._run("all_gather", x, to.array, parts, outs, to.finish, counts=counts_of(outs))
                for x, to, outs in calls
            ]
        )

    def all_gather_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        try:
            arrays, made = _apart("all_gather_single_coalesced", inputs, outputs)
        except Exception as error:
            self._reject("all_gather", error)
        parts = AsyncOptions(opts)
        calls = zip(arrays, made, outputs)
        return self._all([self._run("all_gather", x, to.array, parts, [out], to.finish) for x, to, out in calls])

    allgather_into_tensor_coalesced = all_gather_single_coalesced
    all_gather_into_tensor_coalesced = all_gather_single_coalesced

    def start_coalescing(self, *_: Any) -> None:
        self._together = []

    def end_coalescing(self, *_: Any) -> Work:
        works, self._together = self._together or [], None
        return self._all(works)

    _start_coalescing = start_coalescing
    _end_coalescing = end_coalescing


def _in_order(outputs: Sequence[Output]) -> None:
    """Makes results that are copied at the end of calls come in the order of the calls, once all have ended."""
    finishes = [made.finish for made in outputs if made.finish is not None]
    left = list(finishes)

    def finish() -> None:
        left.pop()
        for each in [] if left else finishes:
            each()

    for made in outputs:
        made.finish = None if made.finish is None else finish


def _apart(name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Output]]:
    """The arrays of calls that run at once. An array that shares memory with another output is copied."""
    check_lengths(name, inputs, outputs)
    are_apart, are_copied = shared(outputs, inputs)
    made = [Output([out], False, is_apart) for out, is_apart in zip(outputs, are_apart)]
    _in_order(made)
    return [read(x.clone() if is_copied else x) for x, is_copied in zip(inputs, are_copied)], made
