"""Calls of the shared library that block and cannot wait in slices, beside signals such as Ctrl-C.

The main thread lets another thread make such a call, and looks for signals meanwhile. A signal that
raises an exception interrupts the call, which then ends within milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import queue
import threading
from typing import Any, Callable, TypeVar

from ._library import library
from .errors import check

T = TypeVar("T")

_LOOKS = 0.05  # seconds between two looks for signals, for systems on which a wait does not end with one
_PATIENCE = 2.0  # seconds for the end of a call that was interrupted


class _Helper:
    """A thread that runs functions for the main thread."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._flag = ctypes.c_int32(0)  # not zero: calls of the thread end
        self._interrupt_by = library.tutti_interrupt_by
        self.is_busy = False
        self._is_left = False
        threading.Thread(target=self._serve, name="tutti", daemon=True).start()

    def _serve(self) -> None:
        self._interrupt_by(self._flag)
        while not self._is_left:
            self._work.get()()
        self._interrupt_by(None)

    def leave(self) -> None:
        """Lets the thread end after its work."""
        self._is_left = True
        self._work.put(lambda: None)

    def run(self, function: Callable[[], T]) -> T:
        done = threading.Event()
        result: list[T] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                result.append(function())
            except BaseException as error:
                failure.append(error)
            done.set()

        self._flag.value = 0
        self.is_busy = True
        try:
            self._work.put(work)
            while not done.wait(_LOOKS):
                pass
        except BaseException:
            self._flag.value = 1
            self.is_busy = not done.wait(_PATIENCE)
            raise
        self.is_busy = False
        if failure:
            raise failure.pop()
        return result[0]


_idle: list[_Helper] = []


def run_apart(function: Callable[[], T]) -> T:
    """Runs a function that blocks. Ctrl-C ends it, and fails the communicator that it uses."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    helper = _idle.pop() if _idle else _Helper()
    try:
        return helper.run(function)
    finally:
        if helper.is_busy:
            helper.leave()
        else:
            _idle.append(helper)


def make_apart(function: Callable[[Any], int], free: Callable[[Any], None]) -> int | None:
    """Runs a function that makes a handle, as run_apart, and returns the handle. If Ctrl-C comes, a
    handle that was made is freed.

    function: of the place where it stores the handle. Returns a status.
    """
    made = ctypes.c_void_p()
    lock = threading.Lock()
    is_made, is_wanted = False, True

    def make() -> None:
        nonlocal is_made
        check(function(ctypes.byref(made)))
        with lock:
            is_made = True
            if not is_wanted:
                free(made)

    try:
        run_apart(make)
    except BaseException:
        with lock:
            is_wanted = False
            if is_made:
                free(made)
        raise
    return made.value


os.register_at_fork(after_in_child=_idle.clear)
