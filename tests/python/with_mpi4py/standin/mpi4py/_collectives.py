"""Collectives on arrays. Each has two forms, such as Bcast and Ibcast: run is how tutti's call runs in either."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ops
from ._base import Base, is_in_place
from ._messages import Message, Missing
from ._requests import Request


class Collectives(Base):
    def _bcast(self, run: Any, buf: Any, root: int = 0) -> Any:
        return run("broadcast", Message(buf).array, root=root)

    def _gather(self, run: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        if self.rank != root:
            return run("gather", Message(sendbuf).array, root=root)
        whole = Message(recvbuf, self.size).array
        return run("gather", *([whole] if is_in_place(sendbuf) else [Message(sendbuf).array, whole]), root=root)

    def _scatter(self, run: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        if self.rank != root:
            return run("scatter", None, Message(recvbuf).array, root=root)
        whole = Message(sendbuf, self.size, each=True)
        own = whole.block(root) if is_in_place(recvbuf) else Message(recvbuf).array
        return run("scatter", whole.array, own, root=root)

    def _allgather(self, run: Any, sendbuf: Any, recvbuf: Any) -> Any:
        whole = Message(recvbuf, self.size).array
        return run("all_gather", *([whole] if is_in_place(sendbuf) else [Message(sendbuf).array, whole]))

    def _alltoall(self, run: Any, sendbuf: Any, recvbuf: Any) -> Any:
        whole = Message(recvbuf, self.size).array
        return run("all_to_all", whole if is_in_place(sendbuf) else Message(sendbuf, self.size).array, whole)

    def _reduce(self, run: Any, sendbuf: Any, recvbuf: Any, op: Any = _ops.SUM, root: int = 0) -> Any:
        if self.rank != root:
            return run("reduce", Message(sendbuf).array, op=op.name, root=root)
        return run("reduce", *self._pair(sendbuf, recvbuf), op=op.name, root=root)

    def _pair(self, sendbuf: Any, recvbuf: Any) -> list[Any]:
        out = Message(recvbuf).array
        return [out] if is_in_place(sendbuf) else [Message(sendbuf).array, out]

    def _allreduce(self, run: Any, sendbuf: Any, recvbuf: Any, op: Any = _ops.SUM) -> Any:
        return run("all_reduce", *self._pair(sendbuf, recvbuf), op=op.name)

    def _scan(self, run: Any, sendbuf: Any, recvbuf: Any, op: Any = _ops.SUM) -> Any:
        return run("scan", *self._pair(sendbuf, recvbuf), op=op.name)

    def _exscan(self, run: Any, sendbuf: Any, recvbuf: Any, op: Any = _ops.SUM) -> Any:
        return run("exscan", *self._pair(sendbuf, recvbuf), op=op.name)

    def _reduce_scatter(
        self, run: Any, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = _ops.SUM, **options: Any
    ) -> Any:
        out = Message(recvbuf)
        if not is_in_place(sendbuf):
            if recvcounts is None:
                recvcounts = self.world.objects.all_gather(out.elements.size)
            return run("reduce_scatter", Message(sendbuf).array, out.array, op=op.name, counts=recvcounts)
        whole = out.elements
        first = whole[: recvcounts[self.rank]]
        own = np.empty_like(first)  # MPI's result is the first block, and tutti's in place the own one

        def end() -> None:
            first[:] = own

        return run("reduce_scatter", whole, own, op=op.name, counts=recvcounts, end=end)

    def _reduce_scatter_block(self, run: Any, sendbuf: Any, recvbuf: Any, op: Any = _ops.SUM) -> Any:
        if is_in_place(sendbuf):
            count = Message(recvbuf).elements.size // self.size
            return self._reduce_scatter(run, sendbuf, recvbuf, [count] * self.size, op)
        return run("reduce_scatter", Message(sendbuf).array, Message(recvbuf).array, op=op.name)

    # With a count for each rank. Displacements cost a copy if blocks do not follow each other.

    def _gatherv(self, run: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        if self.rank != root:
            return run("gather", Message(sendbuf).array, root=root, counts=())
        whole = Message(recvbuf, self.size, each=True)
        packed = whole.array
        arrays = [packed] if is_in_place(sendbuf) else [Message(sendbuf).array, packed]
        return run("gather", *arrays, root=root, counts=whole.counts, end=lambda: whole.store(packed))

    def _scatterv(self, run: Any, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        if self.rank != root:
            return run("scatter", None, Message(recvbuf).array, root=root, counts=())
        whole = Message(sendbuf, self.size, each=True)
        return run("scatter", whole.array, Message(recvbuf).array, root=root, counts=whole.counts)

    def _allgatherv(self, run: Any, sendbuf: Any, recvbuf: Any) -> Any:
        whole = Message(recvbuf, self.size, each=True)
        packed = whole.array
        arrays = [packed] if is_in_place(sendbuf) else [Message(sendbuf).array, packed]
        return run("all_gather", *arrays, counts=whole.counts, end=lambda: whole.store(packed))

    def _alltoallv(self, run: Any, sendbuf: Any, recvbuf: Any) -> Any:
        received = Message(recvbuf, self.size, each=True)
        sent = received if is_in_place(sendbuf) else Message(sendbuf, self.size, each=True)
        packed = received.array
        given = packed if sent is received else sent.array
        counts = (sent.counts, received.counts)
        return run("all_to_all", given, packed, counts=counts, end=lambda: received.store(packed))

    def _alltoallw(self, run: Any, *_: Any) -> Any:
        raise Missing("a datatype for each rank")

    def _barrier(self, run: Any) -> Any:
        return run("barrier")


def _define_both_forms(name: str) -> None:
    function = getattr(Collectives, f"_{name}")

    def blocking(comm: Collectives, *arguments: Any, **options: Any) -> None:
        function(comm, comm._block, *arguments, **options)

    def nonblocking(comm: Collectives, *arguments: Any, **options: Any) -> Request:
        return function(comm, comm._start, *arguments, **options)

    setattr(Collectives, name.capitalize(), blocking)
    setattr(Collectives, f"I{name}", nonblocking)


for _name in (
    "barrier bcast gather scatter allgather alltoall reduce allreduce scan exscan reduce_scatter reduce_scatter_block "
    "gatherv scatterv allgatherv alltoallv alltoallw"
).split():  # fmt: skip
    _define_both_forms(_name)
