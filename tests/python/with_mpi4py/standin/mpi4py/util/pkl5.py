"""mpi4py.util.pkl5, which sends memory of arrays beside pickles, as world.objects does: all calls are its own."""

from __future__ import annotations

from typing import Any

from .._base import PROC_NULL, call
from .._comm import Comm as _Comm
from .._messages import Missing
from .._requests import ANY_SOURCE, ANY_TAG, Request, set_status

pickle: Any = None
_bigmpi: Any = None


class Pickle:
    THRESHOLD = PROTOCOL = 0

    def dumps_oob(self, obj: Any) -> None:
        raise Missing("mpi4py's form of a pickle")


class _BigMPI:
    blocksize = 0


class Message:
    def __init__(self, *_: Any) -> None:
        raise Missing("matched probes")


class Intracomm(_Comm):
    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        if dest == PROC_NULL:
            return Request(step=lambda: True)
        started = call(self.world.objects.start.send, obj, dest, tag=tag)
        return Request(step=lambda: call(started.test))

    issend = ibsend = isend

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        if dest != PROC_NULL:
            call(self.world.objects.send, obj, dest, tag=tag)

    ssend = bsend = send

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        raise RuntimeError("mpi4py.util.pkl5 has none")

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Any:
        if source == PROC_NULL:
            return None
        arrival = call(self.world.probe, source, max(tag, 0))
        set_status(status, arrival)
        return call(self.world.objects.recv, arrival.source, tag=arrival.tag)


Comm = Intracomm
