"""Futures for which a hook waits within backward.

The end of backward completes the futures of calls that hooks make, in the order of the calls. The waits of such a
future complete it themselves, but a hook may wait for another one that depends on it, by torch.futures.wait_all.
Then backward does not end: a thread sees that a hook stands still, and completes the futures.
"""

from __future__ import annotations

import sys
import threading
import time
import types
from typing import Callable, NamedTuple

_INTERVAL = 0.5  # seconds between two looks; a hook that is at one instruction in both of them waits


class _Watched(NamedTuple):
    thread: int
    complete: Callable[[], None]
    is_complete: Callable[[], bool]


_lock = threading.Lock()
_watched: list[_Watched] = []
_thread: threading.Thread | None = None


def watch(complete: Callable[[], None], is_complete: Callable[[], bool]) -> None:
    """Calls complete() in a thread of its own if this thread, which is in backward, waits in a hook."""
    global _thread
    with _lock:
        _watched.append(_Watched(threading.get_ident(), complete, is_complete))
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_look, name="tutti", daemon=True)
            _thread.start()


def _look() -> None:
    global _thread
    places: dict[int, tuple[types.FrameType, int]] = {}
    while True:
        time.sleep(_INTERVAL)
        with _lock:
            _watched[:] = [each for each in _watched if not each.is_complete()]
            if not _watched:
                _thread = None
                return
            left = list(_watched)
        seen = {each.thread: place for each in left if (place := _place_in_hook(each.thread)) is not None}
        for each in left:
            if each.thread in seen and seen[each.thread] == places.get(each.thread):
                each.complete()
        places = seen


def _place_in_hook(thread: int) -> tuple[types.FrameType, int] | None:
    """The frame that a thread runs and its instruction. None where no hook stands still: in backward itself, and in
    calls of tutti and the callbacks that they run, since callbacks of others could communicate in another order."""
    top = frame = sys._current_frames().get(thread)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tutti."):
            return None
        if module.startswith("torch.autograd"):
            break
        frame = frame.f_back
    return None if top is None or frame is top else (top, top.f_lasti)
