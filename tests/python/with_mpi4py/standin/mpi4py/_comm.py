"""Communicators of mpi4py over those of tutti."""

from __future__ import annotations

import functools
from typing import Any, Iterable

from . import _ops
from ._base import call
from ._collectives import Collectives
from ._p2p import Messages


class Comm(Collectives, Messages):
    """All calls; this class adds the calls on objects."""

    def barrier(self) -> None:
        self._block("barrier")

    def bcast(self, obj: Any, root: int = 0) -> Any:
        return call(self.world.objects.broadcast, obj, root=root)

    def gather(self, obj: Any, root: int = 0) -> Any:
        return call(self.world.objects.gather, obj, root=root)

    def scatter(self, objs: Iterable[Any] | None, root: int = 0) -> Any:
        return call(self.world.objects.scatter, [None] * self.size if objs is None else objs, root=root)

    def allgather(self, obj: Any) -> Any:
        return call(self.world.objects.all_gather, obj)

    def alltoall(self, objs: Iterable[Any] | None) -> Any:
        return call(self.world.objects.all_to_all, [None] * self.size if objs is None else objs)

    def reduce(self, obj: Any, op: Any = _ops.SUM, root: int = 0) -> Any:
        return call(self.world.objects.reduce, obj, op, root=root)

    def allreduce(self, obj: Any, op: Any = _ops.SUM) -> Any:
        return call(self.world.objects.all_reduce, obj, op)

    def scan(self, obj: Any, op: Any = _ops.SUM) -> Any:
        return functools.reduce(op, self.allgather(obj)[: self.rank + 1])

    def exscan(self, obj: Any, op: Any = _ops.SUM) -> Any:
        before = self.allgather(obj)[: self.rank]
        return functools.reduce(op, before) if before else None
