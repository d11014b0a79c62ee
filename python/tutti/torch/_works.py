"""Pending calls of torch.distributed.

Data moves only while the program is in a call of tutti. So a wait for one communicator also polls the
others. A call whose Work the program drops continues, as with other backends.
"""

from __future__ import annotations

import sys
import threading
import time
import types
import weakref
from datetime import timedelta
from typing import Any, Callable, Sequence

import torch
from torch import Tensor
from torch.distributed import Work

from ..errors import Error, TimeoutError
from ..requests import Request
from ._backward import is_at_end_of_backward, watch
from ._futures import CppFuture, PythonFuture, is_asked_from_cpp
from .errors import of_dist

_ROUND = 1_000_000  # nanoseconds of a wait between two looks at calls of other communicators
_MANY = 8  # calls under way, from which on a new one looks for some that have ended

_PYTHON = ("tutti.torch.", "torch.distributed.distributed_c10d")  # modules that keep a Work while they wait

_pending: dict[int, TuttiWork] = {}


class TuttiWork(Work):
    """A pending call, of one request or several.

    finish: called once when all have ended, to copy results. tensors: the result. is_message: whether it is
    of two ranks only. limit: the seconds that it may take.
    """

    def __init__(
        self,
        requests: Sequence[Request[Any]],
        tensors: Sequence[Tensor],
        finish: Callable[[], None] | None = None,
        is_message: bool = False,
        limit: float = 0.0,
    ) -> None:
        super().__init__()
        self._requests = list(requests)
        self._tensors = tensors
        self._finish = finish
        self.is_message = is_message
        self._limit = limit
        self._source = -1
        self._error: Error | None = None
        self._future: PythonFuture | CppFuture | None = None
        self._is_complete = False  # the future
        self._lock = threading.RLock()
        handle = self._requests[0]._handle if self._requests else None
        self._turn = None if handle is None else handle.turn
        if self._requests:
            _pending[id(self)] = self
            if len(_pending) > _MANY:
                poll()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits for the end. timeout: if the call takes longer, this raises an error, and the call continues."""
        limit = timeout.total_seconds() if timeout else 0.0
        end = time.monotonic() + limit if limit > 0 else None
        while not self._advance(_ROUND if self._has_company() else 0, end):
            if end is not None and time.monotonic() >= end:
                raise of_dist(TimeoutError(f"the call has not ended after {limit} s; wait again for it"))
            poll(self)
        self._raise()
        return True

    def _advance(self, slice: int, end: float | None = None) -> bool:
        """Makes progress. slice: nanoseconds; 0: until the end. Returns whether all has ended."""
        with self._lock:
            try:
                while self._requests:
                    request = self._requests[0]
                    if slice == 0 and end is None:
                        request.wait()
                    elif not request._wait_for(slice or _ROUND):
                        return False
                    self._requests.pop(0)
            except Error as error:
                self._fail(error)
            self._end()
        return True

    def _fail(self, error: Error) -> None:
        self._error = of_dist(error)
        self._error.__cause__ = error
        self._requests.clear()

    def _end(self) -> None:
        if _pending.pop(id(self), None) is None and self._finish is None:
            return
        finish, self._finish = self._finish, None
        if self._error is None and finish is not None:
            finish()

    def _has_company(self) -> bool:
        return is_any_pending_beside(self._turn)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def is_completed(self) -> bool:
        return self._poll()

    def _poll(self) -> bool:
        """Makes progress, unless another thread waits for it."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            while self._requests:
                if not self._requests[0].test():
                    return False
                self._requests.pop(0)
            self._end()
        except Error as error:
            self._fail(error)
            self._end()
        finally:
            self._lock.release()
        return True

    def is_success(self) -> bool:
        return self._poll() and self._error is None

    def exception(self) -> Any:
        return self._error

    def result(self) -> list[Tensor]:
        return list(self._tensors)

    def synchronize(self) -> None:
        self.wait()

    def source_rank(self) -> int:
        return self._source

    def _source_rank(self) -> int:
        return self._source

    def get_future(self) -> torch.futures.Future[Any]:
        """A future of the tensors. In backward it is completed at the end of backward, in the same thread;
        otherwise by a thread of its own. A wait for it in Python completes it too."""
        if self._future is None:
            self._future = CppFuture(self._tensors) if is_asked_from_cpp() else PythonFuture(self)
            self._complete_in_time()
        return self._future if isinstance(self._future, PythonFuture) else self._future.future

    def _complete_in_time(self) -> None:
        """Makes sure that the future is completed."""
        if is_at_end_of_backward():  # a callback queued now may come after a wait of DistributedDataParallel
            self._complete_or_raise()
            return
        try:  # also where the call has ended: callbacks that communicate come in the same order on all ranks
            torch.autograd.Variable._execution_engine.queue_callback(self._complete_or_raise)
        except RuntimeError:  # not in backward
            if self._poll():
                self._complete()
            else:
                threading.Thread(target=self._complete, name="tutti", daemon=True).start()
        else:
            watch(self._complete, lambda: self._is_complete, self._limit)

    def _complete_or_raise(self) -> None:
        self._complete()
        self._raise()

    def _complete(self) -> None:
        """Waits for the end, and completes the future, once."""
        try:
            self.wait()
        except Exception as error:
            self._complete_by(error)
        else:
            self._complete_by(None)

    def _complete_by(self, error: Exception | None) -> None:
        with self._lock:
            future, self._is_complete = None if self._is_complete else self._future, True
        if future is not None:
            future.complete(error, self.result())  # runs what the program does next, without the lock


class AllWork(TuttiWork):
    """Several pending calls as one."""

    def __init__(self, parts: Sequence[TuttiWork]) -> None:
        limit = max((part._limit for part in parts), default=0.0)
        super().__init__([], [x for part in parts for x in part.result()], limit=limit)
        self._parts = parts

    def _advance(self, slice: int, end: float | None = None) -> bool:
        return all([part._advance(slice, end) for part in self._parts]) and self._note()

    def _poll(self) -> bool:
        return all([part._poll() for part in self._parts]) and self._note()

    def _note(self) -> bool:
        self._error = next((part._error for part in self._parts if part._error is not None), None)
        return True

    def _has_company(self) -> bool:
        return True


class _Done(Work):
    """A call that has ended, and whose result is not used."""

    def result(self) -> list[Tensor]:
        return []

    def get_future(self) -> torch.futures.Future[Any]:
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(self.result())
        return future

    def wait(self, timeout: timedelta | None = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True


DONE = _Done()


def kept(work: Work) -> Work:
    """A Work that a call from C++ may return in older versions of PyTorch. These keep only the part of it in C++,
    and would never end a wait without the part in Python, so the call's tensors keep that."""
    if not isinstance(work, TuttiWork) or not _is_called_from_cpp():
        return work
    if not work._tensors:
        work.wait()
        return DONE
    owners, work._tensors = work._tensors, [x.detach() for x in work._tensors]
    for x in owners:
        weakref.finalize(x, _release, work).atexit = False
    return work


def _release(_: TuttiWork) -> None:
    """Called at the end of a tensor that has kept a Work."""


def _is_called_from_cpp() -> bool:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals["__name__"].startswith(_PYTHON[0]):
        frame = frame.f_back
    return frame is None or frame.f_globals["__name__"] != _PYTHON[1]


def poll(but: TuttiWork | None = None) -> None:
    """Makes progress on all pending calls."""
    for work in list(_pending.values()):
        if work is not but:
            work._poll()


def is_any_pending_beside(turn: object) -> bool:
    """Whether calls of another communicator than the one with this turn are pending."""
    return bool(_pending) and any(work._turn is not turn for work in list(_pending.values()))


def drain(works: Sequence[TuttiWork], seconds: float) -> None:
    """Waits for the end of calls whose Work the program has dropped, for a time at most."""
    end = time.monotonic() + seconds
    left = list(works)
    while left and time.monotonic() < end:
        left = [work for work in left if not work._advance(_ROUND, end)]


def end_all(works: Sequence[TuttiWork]) -> None:
    """Waits until calls have ended. Their errors are raised by their own wait."""
    for work in works:
        work._advance(0)


def pending_of(turn: object) -> list[TuttiWork]:
    """Pending calls of the communicator with this turn."""
    return [work for work in list(_pending.values()) if work._turn is turn]
