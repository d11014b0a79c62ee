"""Functions of Python that the shared library calls, and exceptions that leave them.

Python raises the exception of a signal's handler, such as that of Ctrl-C, also at the entry of a function, before its
first statement. No function can catch that one. ctypes passes it to sys.unraisablehook, and the callback returns what
its memory had before, which may be 0. So the shared library needs another sign of success, and a hook keeps the
exception for the caller.
"""

from __future__ import annotations

import sys
from typing import Any, Callable


class Failures:
    """The exceptions of callbacks."""

    def __init__(self) -> None:
        self._first: BaseException | None = None

    def keep(self, error: BaseException) -> None:
        self._first = self._first or error

    def take(self) -> BaseException | None:
        """The first exception since the last call of take."""
        failure, self._first = self._first, None
        return failure


class Callback:
    """A callback that returns 0 unless a function raises.

    failures: keep what the function raises. describe: called with it.
    """

    def __init__(
        self,
        function: Callable[..., None],
        failures: Failures,
        describe: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._function = function
        self._failures = failures
        self._describe = describe

    def __call__(self, *arguments: Any) -> int:
        try:
            self._function(*arguments)
        except BaseException as error:  # the shared library cannot pass it on
            self._failures.keep(error)
            self._describe(error)
            return 1
        return 0


_watching: Callable[[Any], Any] | None = None


def watch() -> None:
    """Keeps exceptions that leave callbacks of later calls. Other exceptions are handled as before."""
    global _watching
    previous = sys.unraisablehook
    if previous is _watching:
        return

    def hook(unraisable: Any, code: Any = Callback.__call__.__code__) -> None:
        trace = unraisable.exc_traceback
        if trace is None or trace.tb_frame.f_code is not code:
            previous(unraisable)
            return
        error = unraisable.exc_value
        trace.tb_frame.f_locals["self"]._failures.keep(unraisable.exc_type() if error is None else error)

    sys.unraisablehook = _watching = hook
