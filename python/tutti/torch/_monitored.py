"""A barrier that names the ranks that do not come."""

from __future__ import annotations

import array
import contextlib
import time
from typing import Any

from ..communicator import Communicator
from ..errors import Error, TimeoutError
from ..requests import Request

TAG = 8191  # the largest one of tutti, which programs do not get
_GRACE = 10.0  # seconds for which the other ranks wait longer for the answer of rank 0


def monitored_barrier(world: Communicator, limit: float, is_complete: bool) -> None:
    """Each rank sends a message to rank 0, which answers all when all have come, or at the timeout.

    limit: seconds, also if they are more than those of the group. is_complete: whether all absent ranks are
        awaited, and named, or only the first.
    """
    if world.rank == 0:
        missing = _await_others(world, limit, is_complete)
        if missing:
            raise _absence(missing, limit)
    else:
        _await_root(world, limit)


def _absence(missing: list[int], limit: float) -> TimeoutError:
    if limit <= 0:
        return TimeoutError("Rank 0 timed out in monitoredBarrier after 0 ms: no time was given", rank=0)
    ranks = ("Ranks " if len(missing) > 1 else "Rank ") + ", ".join(map(str, missing))
    return TimeoutError(f"{ranks} failed to pass monitoredBarrier in {limit * 1000:g} ms", rank=missing[0])


def _await_others(world: Communicator, limit: float, is_complete: bool) -> list[int]:
    """Returns the ranks that have not come."""
    end = time.monotonic() + limit
    options = _options(limit)
    waiting = {rank: world.start.recv(bytearray(1), rank, **options) for rank in range(1, world.size)}
    missing = []
    for rank, request in waiting.items():
        if not _ends(request, end):
            missing.append(rank)
            if not is_complete:
                break
    answer = array.array("i", [*missing, *[-1] * (world.size - len(missing))])
    present = [rank for rank in waiting if rank not in missing and _ends(waiting[rank], 0.0)]
    answers = [world.start.send(answer, rank, **options) for rank in present]
    end = time.monotonic() + _GRACE
    for sent in answers:
        _ends(sent, end)
    if missing:  # the return drops receives, and that failure may overtake an answer that was not read
        with contextlib.suppress(Error):
            for read in [world.start.recv(bytearray(1), rank, **options) for rank in present]:
                _ends(read, end)
    return missing


def _await_root(world: Communicator, limit: float) -> None:
    end = time.monotonic() + limit + _GRACE
    answer = array.array("i", [-1] * world.size)
    sent = world.start.send(bytearray(1), 0, **_options(limit))
    received = world.start.recv(answer, 0, **_options(limit))
    if not _ends(sent, end) or not _ends(received, end):
        raise _absence([0], limit)
    missing = [rank for rank in answer if rank >= 0]
    if missing:
        with contextlib.suppress(Error):
            _ends(world.start.send(bytearray(1), 0, **_options(limit)), end)
        error = _absence(missing, limit)
        text = (
            f"Rank {world.rank} successfully reached monitoredBarrier, but received errors while waiting for "
            f"send/recv from rank 0: {error}"
        )
        raise TimeoutError(text, rank=missing[0])


def _options(limit: float) -> dict[str, Any]:
    """A deadline of calls that passes later than those of this barrier."""
    return {"tag": TAG, "timeout": max(limit, 0.0) + 3 * _GRACE}


def _ends(request: Request[Any], end: float) -> bool:
    """Whether a request ends in time."""
    left = max(end - time.monotonic(), 0.0)
    try:
        if left:
            request.wait(left)
        return request.test()
    except TimeoutError as error:
        if error.call or error.rank >= 0:  # the request itself has failed
            raise
        return False
