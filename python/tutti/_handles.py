"""Handles of the shared library: their owners, their threads and their lifetime.

A handle is closed once: by its owner, when its owner is collected, or at the exit of the process. In a
forked child all handles are dead, since the connections behind them belong to the parent.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import os
import threading
import weakref
from typing import Any, Callable

from .errors import ArgumentError

SLICE = 50_000_000
"""Nanoseconds for which a wait does not look for signals such as Ctrl-C."""
_SHARED_SLICE = 1_000_000  # of a communicator that several threads use: they wait for each other's slices
_PATIENCE = 1.0  # seconds at exit for a thread that is in a call


class Turn(_thread.RLock):  # type: ignore[misc]  # not final
    """The right to use a communicator, which one thread has at a time. Fair: a thread that gives its
    turn back and asks again comes after the threads that wait."""

    def __init__(self) -> None:
        self._next = threading.RLock()
        self._thread = 0
        self.slice = SLICE

    # Leaving is the lock's own function, in C: a signal's exception at the entry of one in Python would keep the turn.
    def __enter__(self, get_ident: Callable[[], int] = threading.get_ident) -> None:  # type: ignore[override]
        # Bound here, since handles are also closed at the exit of Python, which clears the names of modules.
        try:
            with self._next:
                self.acquire()
            thread = get_ident()
        except BaseException:  # Ctrl-C, maybe just after the lock was acquired
            self._release_if_owned()
            raise
        if thread != self._thread:
            self.slice = _SHARED_SLICE if self._thread else SLICE
            self._thread = thread

    def keep(self, seconds: float) -> bool:
        """Enters for good, if that is possible within a time: no other thread enters after it."""
        return self._next.acquire(timeout=seconds) and self.acquire(timeout=seconds)

    def _release_if_owned(self) -> None:
        if self._is_owned():  # type: ignore[attr-defined]
            self.release()


try:  # a quick one
    from ._fast import Turn  # type: ignore[assignment]
except ImportError:
    pass


class Owned(ctypes.c_void_p):
    """A pointer of the shared library, the place where a function stores it, and the function that frees it.

    It is made before the call that stores the pointer. So a pointer has an owner at any time: Python raises the
    exception of a signal's handler, such as that of Ctrl-C, after any call.

    value: the pointer, or None before it is stored and after the end.
    """

    __slots__ = ("_free", "turn")

    def __init__(self, free: Callable[[Any], Any], turn: Turn) -> None:
        self._free = free
        self.turn = turn

    def close(self) -> None:
        """Frees the pointer, once."""
        if self.value is None:
            return
        try:
            self._close_now()
        except BaseException:  # of a signal, maybe before the pointer was freed
            self._close_now()
            raise

    def _close_now(self) -> None:
        with self.turn:
            if self.value is not None:
                try:
                    self._free(self)
                finally:  # also if a signal has raised after the call
                    self.value = None


class Handle(Owned):
    """A handle that an object of this package owns as long as it lives."""

    __slots__ = ("_name", "_why")
    __hash__ = object.__hash__  # types of ctypes have none

    def __init__(self, free: Callable[[Any], Any], name: str, turn: Turn) -> None:
        super().__init__(free, turn)
        self._name = name
        self._why = "is closed"
        _open.add(self)

    @property
    def pointer(self) -> int:
        """The pointer. Raises ArgumentError if it may not be used any more."""
        if self.value is None:
            raise ArgumentError(f"this {self._name} {self._why}")
        return self.value

    @property
    def is_open(self) -> bool:
        return self.value is not None

    def moved(self, name: str) -> Handle:
        """Moves the pointer to a handle with a turn of its own, and closes this one."""
        other = Handle(self._free, name, Turn())
        other.value, self.value = self.pointer, None  # signals raise after calls, of which there is none between
        return other

    def _close_at_exit(self) -> None:
        """Closes the handle at the exit of the process. A thread that is in a call keeps its handles, and ends
        with the process. Threads that call later get no turn, and so use no closed handle."""
        if self.value is not None and self.turn.keep(_PATIENCE):
            self.close()

    def _forget(self) -> None:
        self.value = None
        self.turn = Turn()  # a thread that the child does not have may have held the other one
        self._why = (
            "belongs to the parent process, and a forked child cannot use it: "
            "start the child with multiprocessing's 'spawn', or call tutti only in the parent"
        )

    def __reduce__(self) -> str:
        raise TypeError(f"a {self._name} belongs to its process, and is neither pickled nor copied")

    def __del__(self) -> None:
        if self.value is not None:
            self.close()


_open: weakref.WeakSet[Handle] = weakref.WeakSet()


def close_all() -> None:
    """Closes all handles: those made of a communicator before the communicator. Memory stays, since
    arrays of the program may lie in it."""
    for handle in sorted(_open, key=lambda handle: handle._name == "communicator"):
        if handle._name != "memory":
            handle._close_at_exit()


def _forget_all() -> None:
    for handle in list(_open):
        handle._forget()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget_all)
