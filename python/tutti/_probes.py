"""Messages that have come and that no call receives yet."""

from __future__ import annotations

import ctypes
import time
from typing import NamedTuple

from . import _declarations
from ._declarations import ANY_RANK, FOREVER, PENDING
from ._handles import Handle
from ._library import library
from ._numbers import index_of
from ._options import nanoseconds
from .errors import TimeoutError, check


class Arrival(NamedTuple):
    """A message that has come and was not received yet: its sender, its tag, and its length."""

    source: int
    tag: int
    bytes: int


def probe(handle: Handle, source: int, tag: int, timeout: float | None, usual_timeout: int) -> Arrival:
    """As Communicator.probe, for a communicator's handle. usual_timeout: nanoseconds, without another timeout."""
    turn = handle.turn
    limit = nanoseconds(timeout, "probe") or usual_timeout
    end = FOREVER if limit == FOREVER else time.monotonic_ns() + limit
    while True:
        with turn:
            arrival = probe_for(handle, source, tag, max(0, min(turn.slice, end - time.monotonic_ns())))
        if arrival is not None:
            return arrival
        if time.monotonic_ns() >= end:
            whom = "any rank" if source == ANY_RANK else f"rank {source}"
            raise TimeoutError(f"no message of tag {tag} from {whom} came within {limit / 1e9:g} s", rank=source)


def probe_for(handle: Handle, source: int, tag: int, slice: int) -> Arrival | None:
    """Looks for a message during a slice of nanoseconds, in the turn of the thread."""
    source, tag = index_of(source, "probe: the source"), index_of(tag, "probe: the tag")
    arrival = _declarations.Arrival(size=ctypes.sizeof(_declarations.Arrival))
    status = library.tutti_probe(handle.pointer, source, tag, slice, ctypes.byref(arrival))
    if status == PENDING:
        return None
    check(status)
    return Arrival(arrival.from_, arrival.tag, arrival.bytes)
