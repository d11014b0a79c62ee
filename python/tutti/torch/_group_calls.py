"""The calls of torch.distributed, as methods of its process groups and backends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Callable, NoReturn, Sequence

import torch
from torch import Tensor
from torch.distributed import Work

from ..communicator import Communicator
from ..errors import ArgumentError, Error
from ._any_source import AnySourceWork
from ._checks import check_blocks, check_rows, check_tag
from ._coalesced import CoalescedCalls
from ._monitored import monitored_barrier
from ._options import AsyncOptions, factor_of, operator_of, options_of, root_of, scaled
from ._rejections import reject
from ._sparse import all_reduce_sparse
from ._tensors import Output, counts_of, is_plain, plain_arrays, read, read_together, row_counts
from ._works import DONE, AllWork, TuttiWork, drain, end_all, is_any_pending_beside, pending_of
from .errors import as_dist_errors, of_dist

_is_profiled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", lambda: False)
_LAST = 2.0  # seconds for calls whose Work was dropped, when the group ends


def _one(tensors: Any) -> Any:
    """The only element of a list; a tensor as it is."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise ArgumentError(f"a call takes one tensor of each rank, got {len(tensors)}")
    return tensors[0]


class GroupCalls(CoalescedCalls):
    """Calls among the ranks of a communicator. All end in `_run`, or, with wrong arguments, in `_reject`."""

    _world: Communicator
    _timeout: float | None = None
    _count = 0  # of collectives
    _options: Any = None  # as PyTorch shows them

    def _size(self) -> int:
        return self._world.size

    def _reject(self, name: str, error: Exception, **peers: Any) -> NoReturn:
        """Raises the error of a call with wrong arguments. Other ranks get it too, unless their arguments are wrong."""
        self._count += name not in ("send", "recv")
        reject(self._world, name, error, **peers)

    def _run(
        self,
        name: str,
        x: Any,
        out: Any,
        opts: Any,
        result: Sequence[Tensor],
        finish: Callable[[], None] | None = None,
        **arguments: Any,
    ) -> Work:
        """Runs a call to its end, or starts it if options say so."""
        if _is_profiled():
            with torch.autograd.profiler.record_function(f"tutti:{name}"):
                return self._run_now(name, x, out, opts, result, finish, arguments)
        return self._run_now(name, x, out, opts, result, finish, arguments)

    def _run_now(
        self,
        name: str,
        x: Any,
        out: Any,
        opts: Any,
        result: Sequence[Tensor],
        finish: Callable[[], None] | None,
        arguments: dict[str, Any],
    ) -> Work:
        self._count += name not in ("send", "recv")
        timeout = getattr(opts, "timeout", None)
        if timeout is not None and timeout.total_seconds() > 0:
            arguments["timeout"] = timeout.total_seconds()
        elif self._timeout is not None:
            arguments["timeout"] = self._timeout
        is_part = isinstance(opts, AsyncOptions)
        try:
            is_async = self._together is not None or getattr(opts, "asyncOp", True)
            if is_async or is_any_pending_beside(self._world._handle.turn):
                work = self._start(name, x, out, result, finish, arguments)
                if not is_async:
                    work.wait()
                return work if is_part else self._returned(work)
            _call(self._world, name, x, out, arguments)
        except ArgumentError as error:
            self._count -= name not in ("send", "recv")
            others = plain_arrays(name, x, out, finish)
            if others is None:
                self._reject(name, error, **arguments)
            x, out, finish = others
            return self._run_now(name, x, out, opts, result, finish, arguments)
        except Error as error:
            raise of_dist(error) from error
        if finish is not None:
            finish()
        return DONE

    def _start(
        self,
        name: str,
        x: Any,
        out: Any,
        result: Sequence[Tensor],
        finish: Callable[[], None] | None,
        arguments: dict[str, Any],
    ) -> TuttiWork:
        request = _call(self._world.start, name, x, out, arguments)
        limit = arguments.get("timeout", self._limit())
        return self._added(TuttiWork([request], result, finish, name in ("send", "recv"), limit))

    def _added(self, work: TuttiWork) -> TuttiWork:
        if self._together is not None:
            self._together.append(work)
        return work

    def _all(self, works: Sequence[Work]) -> Work:
        """One Work of several."""
        pending = [work for work in works if isinstance(work, TuttiWork)]
        return self._returned(AllWork(pending)) if pending else DONE

    def _returned(self, work: Work) -> Work:
        """The Work that a call returns."""
        return work

    # Reductions.

    def allreduce(self, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            x = _one(tensors)
            op = operator_of(opts, x)
            factor = factor_of(opts, x)
            output = None if x.layout is torch.sparse_coo else Output([x], is_read=True)
        except Exception as error:
            self._reject("all_reduce", error)
        if output is None:
            return self._all_reduce_sparse(x, op, factor)
        if factor is not None:
            output.array.mul_(factor)
        return self._run("all_reduce", output.array, None, opts, [x], output.finish, op=op)

    def _all_reduce_sparse(self, x: Tensor, op: str, factor: Any) -> Work:
        if op not in ("sum", "average"):
            self._reject("all_reduce", ArgumentError("sparse tensors can be summed only"))
        with as_dist_errors():
            all_reduce_sparse(self._world, x, op, factor)
        return self._returned(TuttiWork([], [x]))

    allreduce_sparse = allreduce

    def reduce(self, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            x = _one(tensors)
            root = root_of(opts)
            op = operator_of(opts, x)
            factor = factor_of(opts, x)
            output = Output([x], is_read=True) if self._world.rank == root else None
            array = read(x) if output is None else output.array
        except Exception as error:
            self._reject("reduce", error)
        if factor is not None:
            array = (array * factor).to(x.dtype) if output is None else array.mul_(factor)
        finish = None if output is None else output.finish
        return self._run("reduce", array, None, opts, [x], finish, op=op, root=root)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            out, parts = _one(outputs), inputs[0] if isinstance(inputs[0], (list, tuple)) else inputs
            output = Output([out])
            check_blocks("reduce_scatter", self._world.size, parts)
            op, counts, x = operator_of(opts, out), counts_of(parts), scaled(read_together(parts), opts)
        except Exception as error:
            self._reject("reduce_scatter", error)
        return self._run("reduce_scatter", x, output.array, opts, [out], output.finish, op=op, counts=counts)

    def reduce_scatter_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        try:
            output = Output([out])
            op, x = operator_of(opts, x), scaled(read(x), opts)
        except Exception as error:
            self._reject("reduce_scatter", error)
        return self._run("reduce_scatter", x, output.array, opts, [out], output.finish, op=op)

    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor = reduce_scatter_single

    # Copies.

    def broadcast(self, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            x = _one(tensors)
            root = root_of(opts)
            output = Output([x], is_read=self._world.rank == root)
        except Exception as error:
            self._reject("broadcast", error)
        return self._run("broadcast", output.array, None, opts, [x], output.finish, root=root)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            outs, x = outputs[0] if outputs and isinstance(outputs[0], (list, tuple)) else outputs, read(_one(inputs))
            check_blocks("all_gather", self._world.size, outs)
            output = Output(outs)
            counts = counts_of(outs)
        except Exception as error:
            self._reject("all_gather", error)
        return self._run("all_gather", x, output.array, opts, outs, output.finish, counts=counts)

    def all_gather_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        try:
            output = Output([out])
            x = read(x)
        except Exception as error:
            self._reject("all_gather", error)
        return self._run("all_gather", x, output.array, opts, [out], output.finish)

    _allgather_base = all_gather_single
    all_gather_into_tensor = all_gather_single

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            x, root, outs = read(_one(inputs)), root_of(opts), []
            if self._world.rank == root:
                outs = _one(outputs)
                check_blocks("gather", self._world.size, outs, x.numel())
            output = Output(outs) if outs else None
        except Exception as error:
            self._reject("gather", error)
        return self._run_gather(x, output, opts, outs, root)

    def gather_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        try:
            x, root = read(x), root_of(opts)
            output = Output([out]) if self._world.rank == root else None
        except Exception as error:
            self._reject("gather", error)
        return self._run_gather(x, output, opts, [out], root)

    gather_into_tensor = gather_single

    def _run_gather(self, x: Tensor, output: Output | None, opts: Any, outs: Sequence[Tensor], root: int) -> Work:
        if output is None:
            return self._run("gather", x, None, opts, [], root=root)
        return self._run("gather", x, output.array, opts, outs, output.finish, root=root)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        try:
            opts = options_of(opts, others, named) if others or named else opts
            out = _one(outputs)
            output = Output([out])
            root = root_of(opts)
            x = None
            if self._world.rank == root:
                check_blocks("scatter", self._world.size, _one(inputs), out.numel())
                x = read_together(_one(inputs))
        except Exception as error:
            self._reject("scatter", error)
        return self._run("scatter", x, output.array, opts, [out], output.finish, root=root)

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> Work:
        try:
            output = Output(outputs)
            counts = ([x.numel() for x in inputs], [x.numel() for x in outputs])
            x = read_together(inputs)
        except Exception as error:
            self._reject("all_to_all", error)
        return self._run("all_to_all", x, output.array, opts, outputs, output.finish, counts=counts)

    def all_to_all_single(
        self,
        out: Tensor,
        x: Tensor,
        out_splits: Sequence[int] | None = None,
        in_splits: Sequence[int] | None = None,
        opts: Any = None,
    ) -> Work:
        try:
            output = Output([out])
            counts, size = None, self._world.size
            check_rows(size, x, in_splits)
            check_rows(size, out, out_splits)
            if out_splits or in_splits:
                counts = row_counts(size, x, in_splits), row_counts(size, out, out_splits)
            x = read(x)
        except Exception as error:
            self._reject("all_to_all", error)
        return self._run("all_to_all", x, output.array, opts, [out], output.finish, counts=counts)

    def barrier(self, opts: Any = None, *others: Any, **named: Any) -> Work:
        """Also ends earlier collectives of this rank, but not messages, which may need calls after the barrier."""
        opts = options_of(opts, others, named) if others or named else opts
        before = [work for work in pending_of(self._world._handle.turn) if not work.is_message]
        return self._run("barrier", None, None, opts, [], lambda: end_all(before) if before else None)

    # Messages.

    def send(self, tensors: Any, to: int, tag: int = 0) -> Work:
        try:
            x = _one(tensors)
            check_tag(tag)
            array = read(x)
        except Exception as error:
            self._reject("send", error, to=to, tag=tag)
        return self._run("send", array, None, None, [x], to=to, tag=tag)

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        try:
            x = _one(tensors)
            check_tag(tag)
            output = Output([x])
        except Exception as error:
            self._reject("recv", error, source=source, tag=tag)
        work = self._run("recv", None, output.array, None, [x], output.finish, source=source, tag=tag)
        if isinstance(work, TuttiWork):
            work._source = source
        return work

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        try:
            x = _one(tensors)
            check_tag(tag)
            output = Output([x], is_apart=not is_plain(x))
        except Exception as error:
            self._reject("recv", error, source=-1, tag=tag)
        work = AnySourceWork(self._world, output.array, tag, self._limit(), [x], output.finish, True)
        return self._returned(self._added(work))

    # The end.

    def monitored_barrier(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier that names the ranks that do not come within a time, a number of seconds or a timedelta."""
        limit = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        with as_dist_errors():
            monitored_barrier(self._world, self._limit() if limit is None else limit, wait_all_ranks)

    def _limit(self) -> float:
        """The timeout of the group, in seconds."""
        return self._world._timeout / 1e9 if self._timeout is None else self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout.total_seconds()
        if self._options is not None:
            self._options._timeout = timeout

    _set_default_timeout = set_timeout

    def shutdown(self) -> None:
        """Leaves the group."""
        leave(self._world)

    def abort(self) -> None:
        self._world.close()

    def getSequenceNumberForGroup(self) -> int:
        return self._count

    def setSequenceNumberForGroup(self) -> None:
        """Does nothing: the numbers of all ranks begin with 0."""

    _get_sequence_number_for_group = getSequenceNumberForGroup
    _set_sequence_number_for_group = setSequenceNumberForGroup

    def getBackendName(self) -> str:
        return "tutti"


def leave(world: Communicator) -> None:
    """Leaves a world, once calls have ended whose Work the program has dropped."""
    drain(pending_of(world._handle.turn), _LAST)
    world.close()


def _call(calls: Any, name: str, x: Any, out: Any, arguments: dict[str, Any]) -> Any:
    """A call of a communicator, or of its start."""
    function = getattr(calls, name)
    if name == "barrier":
        return function(**arguments)
    if name == "recv":
        return function(out, **arguments)
    if name in ("send", "broadcast"):
        return function(x, **arguments)
    return function(x, out, **arguments)
