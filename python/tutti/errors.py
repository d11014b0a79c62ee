"""The errors of tutti."""

from __future__ import annotations

import builtins
import ctypes
from typing import Any, NoReturn

from . import _declarations
from ._library import library


class Error(RuntimeError):
    """A call of tutti failed.

    After any error but ArgumentError and ObjectError the communicator stays failed: all later calls
    raise the same error, on all ranks.

    code: the kind, such as "timeout".
    rank: the rank at fault, or -1 if none is known.
    cause: the kind of the first error, of an "aborted" one; else as code.
    call: the number of the collective at fault, or 0.
    """

    code: str
    rank: int
    cause: str
    call: int
    _code = "transport"

    def __init__(self, text: str, code: str = "", rank: int = -1, cause: str = "", call: int = 0) -> None:
        super().__init__(text)
        self.code = code or self._code
        self.rank = rank
        self.cause = cause or self.code
        self.call = call

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.code, self.rank, self.cause, self.call)


class ArgumentError(Error, ValueError):
    """The call was wrong and had no effect. The communicator stays usable."""

    _code = "invalid_argument"


class MismatchError(Error):
    """Ranks called different collectives, or the same one with other arguments."""

    _code = "mismatch"


class TimeoutError(Error, builtins.TimeoutError):
    """The deadline passed. The text names the awaited rank."""

    _code = "timeout"


class PeerDeadError(Error):
    """A rank of the communicator has ended."""

    _code = "peer_dead"


class AbortedError(Error):
    """A rank gave up: a request was dropped, or an exception ended a call."""

    _code = "aborted"


class TransportError(Error):
    """The operating system or the MPI reported an error, or memory ran out."""

    _code = "transport"


class ObjectError(Error):
    """Objects could not be moved. The communicator stays usable."""

    _code = "object"


class BugError(Error):
    """An invariant of tutti does not hold. Please report it."""

    _code = "bug"


_CLASSES: dict[str, type[Error]] = {
    kind._code: kind
    for kind in (
        ArgumentError,
        MismatchError,
        TimeoutError,
        PeerDeadError,
        AbortedError,
        TransportError,
        ObjectError,
        BugError,
    )
}
_CODES = {number: code for code, number in _declarations.STATUSES.items()}


def last_error() -> Error:
    """The last error of this thread."""
    last = _declarations.Error(size=ctypes.sizeof(_declarations.Error))
    library.tutti_last_error(ctypes.byref(last))
    code = _CODES.get(last.status, "bug")
    cause = _CODES.get(last.cause, code)
    text = (last.text or b"").decode("utf-8", "replace").replace("tutti::cuda::", "tutti.cuda.")
    return _CLASSES.get(code, BugError)(text, code, last.rank, cause, last.call)


def raise_last() -> NoReturn:
    """Raises the last error of this thread."""
    raise last_error()


def check(status: int) -> None:
    """Raises the last error of this thread, unless a status is "ok"."""
    if status:
        raise last_error()
