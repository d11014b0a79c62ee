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

from ._handles import Handle
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


def make(handle: Handle, function: Callable[[Handle], int], build: Callable[[Handle], T]) -> T:
    """Makes a handle's pointer, and the owner of the handle. If that fails, or a signal raises, the handle is closed.

    function: stores the pointer in the handle, and returns a status. build: makes the result of the handle.
    """
    try:
        check(function(handle))
        return build(handle)
    except BaseException:
        handle.close()
        raise


def make_apart(handle: Handle, function: Callable[[Handle], int], build: Callable[[Handle], T]) -> T | None:
    """As make, for a function that blocks, see run_apart. Returns None if the function has stored no pointer."""
    is_wanted = True

    def store() -> None:
        try:
            check(function(handle))
        finally:
            if not is_wanted:
                handle.close()

    try:
        run_apart(store)
        return build(handle) if handle.is_open else None
    except BaseException:
        is_wanted = False
        handle.close()
        raise


os.register_at_fork(after_in_child=_idle.clear)
