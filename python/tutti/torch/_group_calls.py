"""The calls of torch.distributed, as methods of its process groups and backends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Callable, Sequence

import torch
from torch import Tensor
from torch.distributed import Work

from ..communicator import Communicator
from ..errors import ArgumentError, Error
from ._any_source import AnySourceWork
from ._checks import check_blocks, check_rows, check_tag
from ._monitored import monitored_barrier
from ._options import AsyncOptions, factor_of, operator_of, options_of, root_of, scaled
from ._tensors import Output, counts_of, read, read_together
from ._works import DONE, AllWork, TuttiWork, drain, end_all, is_any_pending_beside, pending_of
from .errors import as_dist_errors, of_dist

_is_profiled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", lambda: False)
_LAST = 2.0  # seconds for calls whose Work was dropped, when the group ends


def _one(tensors: Any) -> Any:
    """The only element of a list; a tensor as it is."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise of_dist(ArgumentError(f"a call takes one tensor of each rank, got {len(tensors)}"))
    return tensors[0]


class GroupCalls:
    """Calls among the ranks of a communicator. All end in `_run`."""

    _world: Communicator
    _timeout: float | None = None
    _count = 0  # of collectives
    _options: Any = None  # as PyTorch shows them
    _together: list[TuttiWork] | None = None  # the calls of a coalescing manager

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
        return self._added(TuttiWork([request], result, finish, name in ("send", "recv")))

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
        opts = options_of(opts, others, named) if others or named else opts
        x = _one(tensors)
        if x.layout is torch.sparse_coo:
            return self._all_reduce_sparse(x, opts)
        output = Output([x], is_read=True)
        factor = factor_of(opts)
        if factor is not None:
            output.array.mul_(factor)
            return self._run("all_reduce", output.array, None, opts, [x], output.finish, op="sum")
        return self._run("all_reduce", output.array, None, opts, [x], output.finish, op=operator_of(opts, x))

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: Any = None) -> Work:
        works = {id(x): self.allreduce([x], AsyncOptions(opts)) for x in {id(x): x for x in tensors}.values()}
        return self._all([works[id(x)] for x in tensors])  # one that is there twice is reduced once

    def _all_reduce_sparse(self, x: Tensor, opts: Any) -> Work:
        """Sums of sparse tensors: all ranks' indices and values, coalesced."""
        if operator_of(opts, x) not in ("sum", "average"):
            raise of_dist(ArgumentError("sparse tensors can be summed only"))
        own = x.detach().coalesce()
        world = self._world
        with as_dist_errors():
            counts = world.all_gather(int(own._nnz()))
            indices = self._gather_rows(own.indices().t().contiguous(), counts)
            values = self._gather_rows(own.values().contiguous(), counts)
        total = torch.sparse_coo_tensor(indices.t(), values, x.shape).coalesce()
        if operator_of(opts, x) == "average":
            total = (total / world.size).coalesce()
        x.copy_(total)
        return self._returned(TuttiWork([], [x]))

    def _gather_rows(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        out = rows.new_empty((sum(counts), *rows.shape[1:]))
        width = rows[0].numel() if len(rows) else out[:1].numel() or 1
        self._world.all_gather(rows, out, counts=[count * width for count in counts])
        return out

    allreduce_sparse = allreduce

    def reduce(self, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        x = _one(tensors)
        root = root_of(opts)
        if self._world.rank == root:
            output = Output([x], is_read=True)
            array, finish = output.array, output.finish
            if factor_of(opts) is not None:
                array.mul_(factor_of(opts))
        else:
            array, finish = scaled(read(x), opts), None
        return self._run("reduce", array, None, opts, [x], finish, op=operator_of(opts, x), root=root)

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        out, parts = _one(outputs), inputs[0] if isinstance(inputs[0], (list, tuple)) else inputs
        output = Output([out])
        check_blocks("reduce_scatter", self._world.size, parts)
        op, counts, x = operator_of(opts, out), counts_of(parts), scaled(read_together(parts), opts)
        return self._run("reduce_scatter", x, output.array, opts, [out], output.finish, op=op, counts=counts)

    def reduce_scatter_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        output = Output([out])
        op, x = operator_of(opts, x), scaled(read(x), opts)
        return self._run("reduce_scatter", x, output.array, opts, [out], output.finish, op=op)

    def reduce_scatter_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        return self._all([self.reduce_scatter_single(out, x, AsyncOptions(opts)) for out, x in zip(outputs, inputs)])

    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # Copies.

    def broadcast(self, tensors: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        x = _one(tensors)
        root = root_of(opts)
        output = Output([x], is_read=self._world.rank == root)
        return self._run("broadcast", output.array, None, opts, [x], output.finish, root=root)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        outs, x = outputs[0] if outputs and isinstance(outputs[0], (list, tuple)) else outputs, _one(inputs)
        check_blocks("all_gather", self._world.size, outs)
        output = Output(outs)
        counts = counts_of(outs)
        return self._run("all_gather", read(x), output.array, opts, outs, output.finish, counts=counts)

    def all_gather_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        output = Output([out])
        return self._run("all_gather", read(x), output.array, opts, [out], output.finish)

    def allgather_coalesced(
        self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        """outputs: for each rank a list of its inputs."""
        if any(len(outs) != len(inputs) for outs in outputs):
            raise of_dist(ArgumentError(f"all_gather_coalesced: each rank's list must have {len(inputs)} outputs"))
        by_input = zip(zip(*outputs), inputs)
        return self._all([self.allgather([list(outs)], [x], AsyncOptions(opts)) for outs, x in by_input])

    def all_gather_single_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        return self._all([self.all_gather_single(out, x, AsyncOptions(opts)) for out, x in zip(outputs, inputs)])

    _allgather_base = all_gather_single
    all_gather_into_tensor = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    all_gather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        x, root = read(_one(inputs)), root_of(opts)
        if self._world.rank != root:
            return self._run("gather", x, None, opts, [], root=root)
        outs = _one(outputs)
        check_blocks("gather", self._world.size, outs, x.numel())
        output = Output(outs)
        return self._run("gather", x, output.array, opts, outs, output.finish, root=root)

    def gather_single(self, out: Tensor, x: Tensor, opts: Any = None) -> Work:
        root = root_of(opts)
        if self._world.rank != root:
            return self._run("gather", read(x), None, opts, [], root=root)
        output = Output([out])
        return self._run("gather", read(x), output.array, opts, [out], output.finish, root=root)

    gather_into_tensor = gather_single

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, *others: Any, **named: Any) -> Work:
        opts = options_of(opts, others, named) if others or named else opts
        out = _one(outputs)
        output = Output([out])
        root = root_of(opts)
        x = None
        if self._world.rank == root:
            check_blocks("scatter", self._world.size, _one(inputs), out.numel())
            x = read_together(_one(inputs))
        return self._run("scatter", x, output.array, opts, [out], output.finish, root=root)

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> Work:
        output = Output(outputs)
        counts = ([x.numel() for x in inputs], [x.numel() for x in outputs])
        return self._run("all_to_all", read_together(inputs), output.array, opts, outputs, output.finish, counts=counts)

    def all_to_all_single(
        self,
        out: Tensor,
        x: Tensor,
        out_splits: Sequence[int] | None = None,
        in_splits: Sequence[int] | None = None,
        opts: Any = None,
    ) -> Work:
        output = Output([out])
        counts = None
        check_rows(self._world.size, x, in_splits)
        check_rows(self._world.size, out, out_splits)
        if out_splits or in_splits:
            counts = self._counts_of(x, in_splits), self._counts_of(out, out_splits)
        return self._run("all_to_all", read(x), output.array, opts, [out], output.finish, counts=counts)

    def _counts_of(self, x: Tensor, splits: Sequence[int] | None) -> list[int]:
        rows = len(x) if x.dim() else 0
        width = x.numel() // rows if rows else 0
        return [rows // self._world.size * width] * self._world.size if not splits else [n * width for n in splits]

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None, *others: Any, **named: Any) -> Work:
        """Also ends collectives of this rank that began before. Messages may need what follows the barrier."""
        opts = options_of(opts, others, named) if others or named else opts
        before = [work for work in pending_of(self._world._handle.turn) if not work.is_message]
        return self._run("barrier", None, None, opts, [], lambda: end_all(before) if before else None)

    # Messages.

    def send(self, tensors: Any, to: int, tag: int = 0) -> Work:
        x = _one(tensors)
        check_tag(tag)
        return self._run("send", read(x), None, None, [x], to=to, tag=tag)

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        x = _one(tensors)
        check_tag(tag)
        output = Output([x])
        work = self._run("recv", None, output.array, None, [x], output.finish, source=source, tag=tag)
        if isinstance(work, TuttiWork):
            work._source = source
        return work

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        x = _one(tensors)
        check_tag(tag)
        output = Output([x])
        work = AnySourceWork(self._world, output.array, tag, self._limit(), [x], output.finish, True)
        return self._returned(self._added(work))

    # Several calls together, and the end.

    def start_coalescing(self, *_: Any) -> None:
        self._together = []

    def end_coalescing(self, *_: Any) -> Work:
        works, self._together = self._together or [], None
        return self._all(works)

    _start_coalescing = start_coalescing
    _end_coalescing = end_coalescing

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
        """Nothing to agree on: the numbers of all ranks begin with 0."""

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
        return function(out, arguments.pop("source"), **arguments)
    if name == "send":
        return function(x, arguments.pop("to"), **arguments)
    if name == "broadcast":
        return function(x, **arguments)
    return function(x, out, **arguments)
