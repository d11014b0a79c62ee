"""Python stacks of all threads of this process, and what its communicators wait for, as text."""

from __future__ import annotations

import sys
import threading
import traceback
from types import CodeType, FrameType

from . import _handles, communicator
from ._library import library

_MOST_FRAMES = 30


def frames_below(frame: FrameType, bottom: CodeType | None) -> traceback.StackSummary:
    """Returns a thread's stack; if `bottom` is in it, only what that code called."""
    entries = []
    for current, line in traceback.walk_stack(frame):
        if bottom is not None and current.f_code is bottom:
            break
        entries.append((current, line))
    return traceback.StackSummary.extract(reversed(entries[:_MOST_FRAMES]))


def threads_text(bottom: CodeType | None = None, only: int | None = None) -> str:
    """Returns the stacks of all threads but the caller's, or of the thread `only`."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for ident, frame in sys._current_frames().items():
        if ident == threading.get_ident() or only not in (None, ident):
            continue
        lines.append(f"  thread {names.get(ident, ident)}:\n")
        lines += (f"  {line}" for line in frames_below(frame, bottom).format())
    return "".join(lines)


def waits_text() -> str:
    """Returns a line for each call that this process waits in."""
    open_worlds = [handle for handle in list(_handles._open) if handle._name == "communicator" and handle.is_open]
    texts = [communicator._text(library.tutti_communicator_waits, handle.pointer) for handle in open_worlds]
    return "".join(f"  {line}\n" for text in texts for line in text.splitlines())
