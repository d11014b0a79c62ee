"""Handles of the shared library: who may use them, when, and for how long.

A handle is closed once: by its owner, when its owner is collected, or at the exit of the process. In a
forked child all handles are dead, since the connections behind them belong to the parent.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Callable

from .errors import ArgumentError

SLICE = 50_000_000
"""Nanoseconds for which a wait does not look for signals such as Ctrl-C."""
_SHARED_SLICE = 1_000_000  # of a communicator that several threads use: they wait for each other's slices
_PATIENCE = 1.0  # seconds at exit for a thread that is in a call


class Turn:
    """The right to use a communicator, which one thread has at a time. Fair: a thread that gives its
    turn back and asks again comes after the threads that wait."""

    def __init__(self) -> None:
        self._next = threading.RLock()
        self._now = threading.RLock()
        self._thread = 0
        self.slice = SLICE

    def __enter__(self, get_ident: Callable[[], int] = threading.get_ident) -> None:
        # Bound here, since handles are closed at the exit of Python, too, which clears the names of modules.
        try:
            with self._next:
                self._now.acquire()
        except BaseException:  # Ctrl-C, maybe just after the lock was acquired
            self._release_if_owned()
            raise
        thread = get_ident()
        if thread != self._thread:
            self.slice = _SHARED_SLICE if self._thread else SLICE
            self._thread = thread

    def __exit__(self, *_: object) -> None:
        self._now.release()

    def keep(self, seconds: float) -> bool:
        """Enters for good, if that is possible within a time: no other thread enters after it."""
        return self._next.acquire(timeout=seconds) and self._now.acquire(timeout=seconds)

    def _release_if_owned(self) -> None:
        if self._now._is_owned():  # type: ignore[attr-defined]
            self._now.release()


try:  # a quick one
    from ._fast import Turn  # type: ignore[assignment]
except ImportError:
    pass


class Handle:
    """A pointer of the shared library, and the function that frees it."""

    __slots__ = ("_pointer", "_free", "_name", "_why", "turn", "__weakref__")

    def __init__(self, pointer: int, free: Callable[[int], None], name: str, turn: Turn) -> None:
        self._pointer: int | None = pointer
        self._free = free
        self._name = name
        self._why = "is closed"
        self.turn = turn
        _open.add(self)

    @property
    def pointer(self) -> int:
        """The pointer. Raises ArgumentError if it may not be used any more."""
        if self._pointer is None:
            raise ArgumentError(f"this {self._name} {self._why}")
        return self._pointer

    @property
    def is_open(self) -> bool:
        return self._pointer is not None

    def release(self) -> int:
        """Closes the handle without freeing the pointer, and returns it."""
        pointer, self._pointer = self.pointer, None
        return pointer

    def close(self) -> None:
        if self._pointer is None:
            return
        with self.turn:
            self._close_now()

    def _close_now(self) -> None:
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            self._free(pointer)

    def _close_at_exit(self) -> None:
        """A thread that is in a call keeps its handles; the end of the process ends it. Threads that
        call later find no turn, and so no closed handle."""
        if self._pointer is not None and self.turn.keep(_PATIENCE):
            self._close_now()

    def _forget(self) -> None:
        self._pointer = None
        self.turn = Turn()  # a thread that the child does not have may have held the other one
        self._why = (
            "belongs to the parent process, and a forked child cannot use it: "
            "start the child with multiprocessing's 'spawn', or call tutti only in the parent"
        )

    def __reduce__(self) -> str:
        raise TypeError(f"a {self._name} belongs to its process, and is neither pickled nor copied")

    def __del__(self) -> None:
        if getattr(self, "_pointer", None) is not None:
            self.close()


_open: weakref.WeakSet[Handle] = weakref.WeakSet()


def close_all() -> None:
    """Closes all handles: what was made of a communicator before the communicator. Memory stays, since
    arrays of the program may lie in it."""
    for handle in sorted(_open, key=lambda handle: handle._name == "communicator"):
        if handle._name != "memory":
            handle._close_at_exit()


def _forget_all() -> None:
    for handle in list(_open):
        handle._forget()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget_all)
