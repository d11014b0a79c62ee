"""Messages from any rank."""

from __future__ import annotations

import time
from typing import Any, Sequence

from torch import Tensor

from .._declarations import ANY_RANK
from .._probes import probe_for
from ..communicator import Communicator
from ..errors import TimeoutError
from ..requests import Request
from ._works import TuttiWork


class _Receive:
    """The receive of a message whose sender is known once it has come. Used as a Request."""

    def __init__(self, world: Communicator, out: Tensor, tag: int, timeout: float) -> None:
        self._handle = world._handle
        self._world = world
        self._out = out
        self._tag = tag
        self._timeout = timeout
        self._end = time.monotonic() + timeout
        self._request: Request[Any] | None = None
        self.source = -1

    def wait(self) -> None:
        while not self._wait_for(self._handle.turn.slice):
            pass

    def test(self) -> bool:
        return self._wait_for(0)

    def _wait_for(self, slice: int) -> bool:
        if self._request is None and not self._begin(slice):
            return False
        assert self._request is not None
        return self._request._wait_for(slice)

    def _begin(self, slice: int) -> bool:
        """Starts the receive if a message has come. No other thread starts one of the same message."""
        with self._handle.turn:
            arrival = probe_for(self._handle, ANY_RANK, self._tag, slice)
            if arrival is not None:
                self.source = arrival.source
                start = self._world.start
                self._request = start.recv(self._out, self.source, tag=self._tag, timeout=self._timeout)
                return True
        if time.monotonic() >= self._end:
            raise TimeoutError(f"recv of any rank timed out: no message of tag {self._tag} came in {self._timeout:g} s")
        return False


class AnySourceWork(TuttiWork):
    """A pending receive from any rank."""

    def __init__(self, world: Communicator, out: Tensor, tag: int, timeout: float, *others: Any) -> None:
        self._receive = _Receive(world, out, tag, timeout)
        requests: Sequence[Any] = [self._receive]
        super().__init__(requests, *others)
        self._limit = timeout

    def source_rank(self) -> int:
        return self._receive.source

    def _source_rank(self) -> int:
        return self._receive.source
