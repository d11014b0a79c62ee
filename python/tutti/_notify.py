"""How a coroutine waits for the end of a request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._library import library
from .errors import check

if TYPE_CHECKING:
    from .requests import Request

_SHORTEST = 0.0001  # seconds between two looks
_LONGEST = 0.005


async def ended(request: Request[Any]) -> None:
    """Returns when a request has ended. Raises its error."""
    if request.test():
        return
    # A notice lets a thread of tutti run the call, which must not run operators in Python.
    if request.operator is None and await _noticed(request):
        return
    await _looked_for(request)


async def _noticed(request: Request[Any]) -> bool:
    """Waits for the notice of a request's end. Returns whether there are notices here."""
    import asyncio  # dear, and few programs need it

    handle = request.handle
    try:
        notify = library.tutti_request_notify
        file = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    except (AttributeError, ImportError, OSError):
        return False
    loop = asyncio.get_running_loop()
    came: asyncio.Future[None] = loop.create_future()

    def note() -> None:
        if not came.done():
            came.set_result(None)

    try:
        loop.add_reader(file, note)
    except NotImplementedError:  # a loop without files
        os.close(file)
        return False
    try:
        with handle.turn:
            check(notify(handle.pointer, file))
        await came
    finally:
        loop.remove_reader(file)
        if handle.is_open:
            with handle.turn:
                notify(handle.pointer, -1)
        os.close(file)
    return request.test()


async def _looked_for(request: Request[Any]) -> None:
    import asyncio

    pause = 0.0
    while not request.test():
        await asyncio.sleep(pause)
        pause = min(_LONGEST, 2 * pause + _SHORTEST)
