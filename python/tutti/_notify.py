"""The wait of a coroutine for the end of a request."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Callable, Protocol

from .errors import check

if TYPE_CHECKING:
    from ._handles import Handle, Turn

_SHORTEST = 0.0001  # seconds between two looks
_LONGEST = 0.005


class Pending(Protocol):
    """A request that coroutines wait for."""

    @property
    def handle(self) -> Handle:
        """Its handle, while it is pending."""

    @property
    def notices(self) -> Notices:
        """The notices of its communicator."""

    @property
    def notify(self) -> Callable[[int, int], int]:
        """The function of the shared library that asks for a notice of its handle."""

    def test(self) -> bool:
        """Whether it has ended. Makes progress. Raises its error."""


class Notices:
    """The notices of a communicator, for which coroutines wait. While there is one, a thread of tutti runs
    the communicator's calls, and operators in Python must not run in that thread. So a communicator that has
    run such an operator sends no notices any more, and coroutines poll for the ends of calls."""

    def __init__(self) -> None:
        self._are_over = False
        self._waiting: dict[Handle, tuple[Callable[[int, int], int], Callable[[], None]]] = {}

    def add(self, request: Pending, file: int, wake: Callable[[], None]) -> bool:
        """Asks for a notice, unless there are none, or another coroutine waits for it. Returns whether it
        comes. wake: called if it is withdrawn."""
        handle, notify = request.handle, request.notify
        with handle.turn:
            if self._are_over or handle in self._waiting:
                return False
            self._waiting[handle] = notify, wake  # first, so that a notice is withdrawn if a signal raises
            try:
                check(notify(handle.pointer, file))
            except BaseException:
                self.withdraw(handle)
                raise
            return True

    def withdraw(self, handle: Handle) -> None:
        """Withdraws the notice of a request, if it has not come."""
        with handle.turn:
            notify, _ = self._waiting.pop(handle, (None, None))
            if notify is not None and handle.is_open:
                notify(handle.pointer, -1)

    def end(self, turn: Turn) -> None:
        """Withdraws all notices, before a call with an operator in Python."""
        if self._are_over:
            return
        with turn:
            self._are_over = True
            for handle, (_, wake) in list(self._waiting.items()):
                self.withdraw(handle)
                wake()


async def ended(request: Pending) -> None:
    """Returns when a request has ended. Raises its error."""
    if request.test():
        return
    if await _noticed(request):
        return
    await _looked_for(request)


async def _noticed(request: Pending) -> bool:
    """Waits for the notice of a request's end. Returns whether there are notices here."""
    import asyncio  # dear, and few programs need it

    try:
        file = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    except OSError:
        return False
    handle, notices = request.handle, request.notices
    loop = asyncio.get_running_loop()
    came: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not came.done():
            came.set_result(None)

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(note)

    try:
        loop.add_reader(file, note)
    except NotImplementedError:  # a loop without files
        os.close(file)
        return False
    try:
        if not notices.add(request, file, wake):
            return False
        try:
            await came
        finally:
            notices.withdraw(handle)
    finally:
        loop.remove_reader(file)
        os.close(file)
    return request.test()


async def _looked_for(request: Pending) -> None:
    import asyncio

    pause = 0.0
    while not request.test():
        await asyncio.sleep(pause)
        pause = min(_LONGEST, 2 * pause + _SHORTEST)
