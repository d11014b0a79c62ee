"""Requests and statuses of mpi4py over those of tutti."""

from __future__ import annotations

import time
from typing import Any, Callable, ClassVar

import tutti

from ._messages import Datatype, Missing

UNDEFINED = -32766
ANY_SOURCE = ANY_TAG = -1


class Status:
    def __init__(self) -> None:
        self.source, self.tag, self.error, self.bytes = ANY_SOURCE, ANY_TAG, 0, 0

    def set(self, arrival: tutti.Arrival | None) -> None:
        if arrival is not None:
            self.source, self.tag, self.bytes = arrival

    def Get_count(self, datatype: Datatype | None = None) -> int:
        return self.bytes // (datatype.size if datatype is not None else 1)

    Get_elements = Get_count

    def Is_cancelled(self) -> bool:
        raise Missing("cancelling")


def set_status(status: Status | None, arrival: tutti.Arrival | None) -> None:
    if status is not None:
        status.set(arrival)


class Request:
    """A call under way, or none. step: makes progress, and returns whether the call has ended."""

    progress: ClassVar[list[Callable[[], None]]] = []  # of communicators with receives that no message has come for

    def __init__(self, other: Request | None = None, *, step: Callable[[], bool] | None = None) -> None:
        self._step = step if other is None else other._step
        self.value: Any = None
        self.arrival: tutti.Arrival | None = None
        self.is_persistent = False

    def __bool__(self) -> bool:
        return self._step is not None

    def __eq__(self, other: object) -> bool:
        return self._step == other._step if isinstance(other, Request) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return self._step != other._step if isinstance(other, Request) else NotImplemented

    def _is_active(self) -> bool:
        return self._step is not None

    def has_ended(self) -> bool:
        for progress in Request.progress:
            progress()
        return self._step is None or self._step()

    def _end(self, status: Status | None) -> Any:
        set_status(status, self.arrival)
        value, self.value = self.value, None
        self._step = None
        return value

    def wait(self, status: Status | None = None) -> Any:
        while not self.has_ended():
            time.sleep(0)
        return self._end(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        return (True, self._end(status)) if self.has_ended() else (False, None)

    def Wait(self, status: Status | None = None) -> bool:
        self.wait(status)
        return True

    def Test(self, status: Status | None = None) -> bool:
        return self.test(status)[0]

    def get_status(self, status: Status | None = None) -> bool:
        if not self.has_ended():
            return False
        set_status(status, self.arrival)
        return True

    def Free(self) -> None:
        self.wait()

    def Cancel(self) -> None:
        raise Missing("cancelling")

    cancel = Cancel
    Get_status = get_status

    # Several requests.

    @classmethod
    def testall(cls, requests: list[Any], statuses: Any = None) -> tuple[bool, Any]:
        if not all([request.has_ended() for request in requests]):
            return False, None
        return True, cls.waitall(requests, statuses)

    @classmethod
    def waitall(cls, requests: list[Any], statuses: Any = None) -> list[Any]:
        found = _statuses(statuses, len(requests))
        return [request.wait(status) for request, status in zip(requests, found)]

    @classmethod
    def testsome(cls, requests: list[Any], statuses: Any = None) -> tuple[Any, Any]:
        if not any(request._is_active() for request in requests):
            return None, None
        ended = [i for i, request in enumerate(requests) if request._is_active() and request.has_ended()]
        found = _statuses(statuses, len(ended))
        return ended, [requests[i].wait(status) for i, status in zip(ended, found)]

    @classmethod
    def waitsome(cls, requests: list[Any], statuses: Any = None) -> tuple[Any, Any]:
        while (found := cls.testsome(requests, statuses))[0] == []:
            time.sleep(0)
        return found

    @classmethod
    def testany(cls, requests: list[Any], status: Status | None = None) -> tuple[int, bool, Any]:
        active = [i for i, request in enumerate(requests) if request._is_active()]
        for i in active:
            if requests[i].has_ended():
                return i, True, requests[i].wait(status)
        return UNDEFINED, not active, None

    @classmethod
    def waitany(cls, requests: list[Any], status: Status | None = None) -> tuple[int, Any]:
        while not (found := cls.testany(requests, status))[1]:
            time.sleep(0)
        return found[0], found[2]

    @classmethod
    def get_status_all(cls, requests: list[Any], statuses: Any = None) -> bool:
        if not all([request.has_ended() for request in requests]):
            return False
        for request, status in zip(requests, _statuses(statuses, len(requests))):
            set_status(status, request.arrival)
        return True

    Testall = classmethod(lambda cls, *a: cls.testall(*a)[0])
    Waitall = classmethod(lambda cls, *a: cls.waitall(*a) is not None)
    Testany = classmethod(lambda cls, *a: cls.testany(*a)[:2])
    Waitany = classmethod(lambda cls, *a: cls.waitany(*a)[0])
    Testsome = classmethod(lambda cls, *a: cls.testsome(*a)[0])
    Waitsome = classmethod(lambda cls, *a: cls.waitsome(*a)[0])


def _statuses(statuses: Any, count: int) -> list[Status | None]:
    """As many statuses as requests: a list of fewer grows."""
    if isinstance(statuses, list):
        statuses += [Status() for _ in range(count - len(statuses))]
        return statuses[:count]
    return [*(statuses or ()), *[None] * count][:count]


class Prequest(Request):
    """A call that starts again and again. make: starts it."""

    def __init__(self, make: Callable[[], Request]) -> None:
        super().__init__(step=lambda: self._running is None or self._running.has_ended())
        self._make = make
        self._running: Request | None = None

    def _is_active(self) -> bool:
        return self._running is not None

    def Start(self) -> None:
        self._running = self._make()

    @classmethod
    def Startall(cls, requests: list[Prequest]) -> None:
        for request in requests:
            request.Start()

    def _end(self, status: Status | None) -> Any:
        running, self._running = self._running, None
        return None if running is None else running.wait(status)

    def Free(self) -> None:
        self.wait()
        self._step = None
