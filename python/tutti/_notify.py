"""How a coroutine waits for the end of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .requests import Request

_SHORTEST = 0.0001  # seconds between two looks
_LONGEST = 0.005


async def ended(request: Request[Any]) -> None:
    """Returns when a request has ended. Raises its error."""
    import asyncio  # dear, and few programs need it

    pause = 0.0
    while not request.test():
        await asyncio.sleep(pause)
        pause = min(_LONGEST, 2 * pause + _SHORTEST)
