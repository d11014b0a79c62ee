"""Python stacks of all threads of this process, and the waits of its communicators, as text."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
import traceback
from types import CodeType, FrameType

from . import _handles, communicator
from ._handles import Handle
from ._library import library

_MOST_FRAMES = 30
_TRIES = 20


bottoms: set[CodeType] = set()
"""Functions that call a program's: the frames below them are not the program's."""


def _frames_above_bottom(frame: FrameType) -> traceback.StackSummary:
    entries = []
    for current, line in traceback.walk_stack(frame):
        if current.f_code in bottoms:
            break
        entries.append((current, line))
    return traceback.StackSummary.extract(reversed(entries[:_MOST_FRAMES]))


def threads_text(only: int | None = None) -> str:
    """Returns the stacks of all threads except the caller's, or of the thread `only`."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        is_own = ident == threading.get_ident() or names.get(ident) == "tutti"  # _apart.run_apart
        if not is_own and only in (None, ident):
            stack = textwrap.indent("".join(_frames_above_bottom(frame).format()), "  ")
            parts.append(f"  thread {names.get(ident, ident)}:\n{stack}")
    return "".join(parts)


def waits_text(only: Handle | None = None) -> str:
    """Returns a line for each call in which this process, or its communicator `only`, waits."""
    for _ in range(_TRIES):
        handles = [handle for handle in list(_handles._open) if handle._name == "communicator" and handle.is_open]
        texts = [
            communicator._text(library.tutti_communicator_waits, handle.pointer)
            for handle in handles
            if only in (None, handle)
        ]
        if any(texts):
            break
        time.sleep(0.005)  # a call that waits in slices may be between two of them
    return "".join(f"  {line}\n" for text in texts for line in text.splitlines())
