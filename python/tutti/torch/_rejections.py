"""Calls whose arguments this rank rejects. They take their places among the calls of all ranks, so that the other ranks
get the reason, and none of their calls meets a later one of this rank."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from .._declarations import COLLECTIVES, Call
from .._library import library
from ..communicator import Communicator
from ..errors import ArgumentError, Error, check
from .errors import of_dist


def reject(
    world: Communicator, name: str, error: Exception, *, to: Any = 0, source: Any = 0, tag: Any = 0, **_: Any
) -> NoReturn:
    """Rejects a call, and raises its error: errors of PyTorch about tensors as ArgumentError.

    name: of the call. to, source, tag: of messages. Without a right one a message has no place.
    """
    call = Call(size=ctypes.sizeof(Call), collective=COLLECTIVES[name])
    call.to, call.from_, call.tag = _number(to), _number(source), _number(tag)
    text = str(error)
    reason = text if text.startswith(name) else f"{name}: {text}"
    try:
        with world._handle.turn:
            check(library.tutti_reject_call(world._handle.pointer, call, reason.encode()))
    except Error:
        pass  # the communicator has failed, or is closed: the other ranks know
    if type(error) is RuntimeError:
        raise of_dist(ArgumentError(reason)) from error
    if isinstance(error, Error) and of_dist(error) is not error:
        raise of_dist(error) from error
    raise error


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else -1
