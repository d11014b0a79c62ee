"""Pending calls, calls that run many times, and calls that start together."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Generator, Generic, Iterable, Iterator, NoReturn, TypeVar

from . import _notify, _quick
from ._calls import Prepared
from ._declarations import FOREVER, PENDING
from ._handles import Handle
from ._library import library
from ._numbers import list_of
from ._options import nanoseconds
from .arrays import Array
from .errors import AbortedError, ArgumentError, Error, TimeoutError, check, raise_last

if TYPE_CHECKING:
    from .communicator import Communicator

T = TypeVar("T")
_ROUND = 1_000_000  # nanoseconds for each of several communicators, which all must make progress


def wait_in_slices(handle: Handle, wait_for: Callable[[int, int], int], timeout: int = 0) -> bool:
    """Waits for a handle, and looks for signals such as Ctrl-C in between.

    wait_for: a function of the shared library. timeout: nanoseconds; 0: no limit.
    Returns whether it is done. Raises its error.
    """
    end = time.monotonic_ns() + timeout if 0 < timeout < FOREVER else FOREVER
    while True:
        with handle.turn:
            left = end - time.monotonic_ns()
            status = wait_for(handle.pointer, max(0, min(handle.turn.slice, left)))
        if status != PENDING:
            check(status)
            return True
        if left <= handle.turn.slice and time.monotonic_ns() >= end:
            return False


def raise_failure(prepared: Prepared, error: Error) -> NoReturn:
    """Raises the exception of a call's operator or, if there is none, the call's own error."""
    failure = prepared.operator.take_failure() if prepared.operator is not None else None
    try:
        if failure is not None:
            raise failure from error
        raise error
    finally:
        del failure, error, prepared  # an error that its own frame keeps would keep the arrays, too


class Request(Generic[T]):
    """A call under way. It may be awaited. It keeps its arrays alive, and until it has ended no other
    code may write to memory that it reads or writes, nor read memory that it writes.

    A pending request that is dropped fails its communicator, since other ranks wait for it.
    """

    def __init__(self, world: Communicator, handle: Handle, prepared: Prepared) -> None:
        self._handle: Handle | None = handle
        self._world = world
        self._prepared = prepared
        self._error: BaseException | None = None

    @property
    def handle(self) -> Handle:
        """Its handle, while it is pending."""
        assert self._handle is not None
        return self._handle

    @property
    def notices(self) -> _notify.Notices:
        """The notices of its communicator."""
        return self._world._notices

    @property
    def notify(self) -> Callable[[int, int], int]:
        """The function that asks for a notice of its end."""
        return library.tutti_request_notify  # type: ignore[no-any-return]

    def wait(self, timeout: float | None = None) -> T:
        """Waits for the end, and returns the result.

        timeout: seconds. If the call takes longer, TimeoutError is raised, the call goes on, and it may be
            waited for again.
        """
        if self._handle is not None and self._error is None:
            with self._ending():
                if not self._ends_within(timeout):
                    raise TimeoutError(f"{self._prepared.spec.name} has not ended after {timeout} s; wait again for it")
        return self._result()

    def _ends_within(self, timeout: float | None) -> bool:
        quick = self._world._fast
        if timeout is None and quick is not None and quick.wait(self._handle) is True:
            return True
        return wait_in_slices(self.handle, library.tutti_wait_for, nanoseconds(timeout, "wait"))

    def test(self) -> bool:
        """Whether the call has ended. Makes progress. Raises the call's error."""
        return self._wait_for(0)

    def _wait_for(self, slice: int) -> bool:
        if self._handle is None:
            self._result()
            return True
        with self._ending():
            with self._handle.turn:
                pointer = self._handle.pointer
                status = library.tutti_wait_for(pointer, slice) if slice else library.tutti_test(pointer)
            if status == PENDING:
                return False
            check(status)
        self._result()
        return True

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """Keeps the error of a call that has failed."""
        try:
            yield
        except ArgumentError:
            raise
        except AbortedError as error:
            self._error = error
            raise_failure(self._prepared, error)
        except TimeoutError as error:
            if error.call or error.rank >= 0:  # not one of wait(timeout)
                self._error = error
            raise
        except Error as error:
            self._error = error
            raise

    def _result(self) -> T:
        if self._error is not None:
            raise self._error
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.close()
        return self._prepared.arguments.finish()  # type: ignore[no-any-return]

    def __await__(self) -> Generator[Any, None, T]:
        yield from _notify.ended(self).__await__()
        return self._result()

    def __repr__(self) -> str:
        state = "ended" if self._handle is None else "failed" if self._error else "pending"
        return f"<tutti.Request of {self._prepared.spec.name}, {state}>"


def start(world: Communicator, prepared: Prepared) -> Request[Any]:
    """Starts a call."""
    handle = Handle(library.tutti_request_free, "request", world._handle.turn)
    try:
        with world._handle.turn:
            status = library.tutti_start(world._handle.pointer, prepared.call, prepared.options_pointer(), handle)
        check(status)
        return Request(world, handle, prepared)
    except Error as error:
        raise_failure(prepared, error)
    except BaseException:  # Ctrl-C, maybe just after the start
        handle.close()
        raise


def _requests_of(requests: Iterable[Request[Any]], call: str) -> list[Request[Any]]:
    everything = list_of(requests, f"{call}: requests", "requests")
    for position, request in enumerate(everything):
        if not isinstance(request, Request):
            raise TypeError(
                f"{call}: element {position} is a {type(request).__name__}, and must be a Request, as world.start "
                "returns it; others have a wait of their own"
            )
    return everything


def wait_all(requests: Iterable[Request[Any]]) -> list[Any]:
    """Waits for all requests, of one communicator or several, also if some fail. Returns their
    results, or raises the first error."""
    everything = _requests_of(requests, "wait_all")
    pending = list(everything)
    first: Error | None = None
    while pending:
        turns = {request._handle.turn for request in pending if request._handle is not None}
        slice = _ROUND if len(turns) > 1 else max((turn.slice for turn in turns), default=0)
        left = []
        for request in pending:
            try:
                if not request._wait_for(slice):
                    left.append(request)
            except Error as error:
                first = first or error
        pending = left
    if first is not None:
        raise first
    return [request._result() for request in everything]


def wait_any(requests: Iterable[Request[Any]]) -> int:
    """Waits until one of several requests has ended, and returns its position, or raises its error. They may be of
    several communicators. Leave a request that was returned out of the next call, since it has ended already."""
    everything = _requests_of(requests, "wait_any")
    if not everything:
        raise ArgumentError("wait_any: there is no request to wait for")
    slice = 0
    while True:
        for position, request in enumerate(everything):
            if request._wait_for(slice):
                return position
        slice = _ROUND  # after a look at all of them


class Plan:
    """A call that was prepared once and runs again and again. Ranks make the same plans in the same
    order, and start each equally often. One run at a time.

    algorithm: what runs, such as "ring".
    """

    def __init__(self, world: Communicator, prepared: Prepared) -> None:
        self._world = world
        self._prepared = prepared
        self._running: Prepared | None = None
        turn = world._handle.turn
        self._handle = Handle(library.tutti_plan_free, "plan", turn)
        try:
            with turn:
                status = library.tutti_make_plan(
                    world._handle.pointer, prepared.call, prepared.options_pointer(), self._handle
                )
            check(status)
        except Error as error:
            raise_failure(prepared, error)
        except BaseException:
            self._handle.close()
            raise

    @property
    def algorithm(self) -> str:
        return (library.tutti_plan_algorithm(self._handle.pointer) or b"").decode()

    def start(self, x: Array | None = None, out: Array | None = None) -> Plan:
        """Starts a run.

        x, out: other arrays than the plan was made with, of the same sizes; as in the call that made it.
        """
        running = self._prepared
        if x is not None or out is not None:
            running = Prepared(self._world, running.spec, x, out)
            self._check_same(running)
        with self._handle.turn:
            status = library.tutti_plan_start(self._handle.pointer, running.call.in_, running.call.out)
        check(status)
        self._running = running
        return self

    def _check_same(self, other: Prepared) -> None:
        for made, given in ((self._prepared.arguments.input, other.arguments.input),
                            (self._prepared.arguments.output, other.arguments.output)):  # fmt: skip
            if made is None or given is None:
                continue
            if (made.count, made.type, made.itemsize) != (given.count, given.type, given.itemsize):
                raise ArgumentError(
                    f"the plan was made for {made.count} elements of {made.dtype}, got {given.count} of {given.dtype}"
                )
        if self._prepared.call.type != other.call.type:
            raise ArgumentError("the plan was made for pairs of another type of value")

    def wait(self) -> None:
        """Waits for the end of the run."""
        try:
            wait_in_slices(self._handle, library.tutti_plan_wait_for)
        except AbortedError as error:
            raise_failure(self._prepared, error)
        self._running = None

    def test(self) -> bool:
        """Whether no run is pending. Makes progress."""
        with self._handle.turn:
            status = library.tutti_plan_test(self._handle.pointer)
        if status == PENDING:
            return False
        try:
            check(status)
        except AbortedError as error:
            raise_failure(self._prepared, error)
        self._running = None
        return True

    def close(self) -> None:
        """Frees the plan. A pending run fails the communicator."""
        self._handle.close()

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tutti.Plan of {self._prepared.spec.name}, {self.algorithm if self._handle.is_open else 'closed'}>"


class _Batch(threading.local):
    """The calls of a thread in a batch; None outside."""

    requests: list[Request[Any]] | None = None


_batch = _Batch()


def in_batch() -> bool:
    """Whether this thread collects the calls of a batch."""
    return _batch.requests is not None


def add_to_batch(world: Communicator, prepared: Prepared) -> Any:
    """Adds a blocking call to the batch of this thread. Returns its array, whose elements come later."""
    if prepared.arguments.numbers is not None:
        raise ArgumentError(
            f"{prepared.spec.name}: a number has no place for a result that comes at the end of a batch: "
            "pass an array, or use .start"
        )
    assert _batch.requests is not None
    _batch.requests.append(start(world, prepared))
    return prepared.arguments.result


@contextlib.contextmanager
def batch() -> Iterator[None]:
    """Calls in the block start together at its end, which waits for those that block: their results
    are complete then. They may be of several communicators. If the block raises, none of them starts."""
    check(library.tutti_batch_begin())
    _batch.requests = []
    _quick.count_batches(1)
    try:
        yield
    except BaseException:
        _batch.requests = None
        library.tutti_batch_cancel()
        raise
    finally:
        _quick.count_batches(-1)
    requests, _batch.requests = _batch.requests, None
    status = library.tutti_batch_end()
    if status:
        raise_last()
    wait_all(requests)
