"""Futures for which a thread waits within backward.

The end of backward completes the futures of calls that hooks make, in the order of the calls. The waits of such a
future complete it themselves, but a hook may wait for another one that depends on it, by torch.futures.wait_all, and
PyTorch waits for them in C++. Then backward does not end: a thread sees that backward stands still, and completes
the futures.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable, NamedTuple

import torch

_INTERVAL = 0.5  # seconds between two looks; a thread that is at one place in both of them stands still

_current_node: Callable[[], Any] | None = getattr(torch._C, "_current_autograd_node", None)


class _Watched(NamedTuple):
    thread: int
    task: int  # the same thread, as the kernel names it
    complete: Callable[[], None]
    is_complete: Callable[[], bool]
    limit: float


class _Place(NamedTuple):
    """The place at which a thread stands still. may_go_on: whether threads may also stand there for other reasons.
    point: a value that changes if the thread moves; None if it runs."""

    may_go_on: bool
    point: Any


_lock = threading.Lock()
_watched: list[_Watched] = []
_thread: threading.Thread | None = None


def is_at_end_of_backward() -> bool:
    """Whether this thread runs callbacks that were queued for the end of backward. Unknown before PyTorch 2.2."""
    return _current_node is not None and _current_node() is None and torch._C._current_graph_task_id() >= 0


def watch(complete: Callable[[], None], is_complete: Callable[[], bool], limit: float) -> None:
    """Calls complete() in a thread of its own if this thread, which is in backward, stands still in a hook, or for
    longer than a limit (in seconds) in tutti or in C++. In the latter it may continue by itself, and run callbacks that
    communicate: with those of other threads beside them, their order would differ between ranks."""
    global _thread
    with _lock:
        _watched.append(_Watched(threading.get_ident(), threading.get_native_id(), complete, is_complete, limit))
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_look, name="tutti", daemon=True)
            _thread.start()


def _look() -> None:
    global _thread
    seen: dict[int, tuple[_Place, float]] = {}  # places, and when a thread came there
    while True:
        time.sleep(_INTERVAL)
        with _lock:
            _watched[:] = [each for each in _watched if not each.is_complete()]
            if not _watched:
                _thread = None
                return
            left = list(_watched)
        now = time.monotonic()
        before, seen = seen, {}
        for each in left:
            if each.thread not in seen:
                place = _place_of(each)
                is_same = each.thread in before and before[each.thread][0] == place and place.point is not None
                seen[each.thread] = (place, before[each.thread][1] if is_same else now)
            place, since = seen[each.thread]
            if now - since > (each.limit if place.may_go_on else 0.0):
                each.complete()


def _place_of(watched: _Watched) -> _Place:
    top = frame = sys._current_frames().get(watched.thread)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tutti."):
            return _Place(True, _point_in_cpp(watched.task))
        if module.startswith("torch.autograd"):
            break
        frame = frame.f_back
    if top is None or frame is top:  # in versions that hide the end of backward, that is where it waits
        return _Place(_current_node is not None, _point_in_cpp(watched.task))
    return _Place(False, (top, top.f_lasti))


def _point_in_cpp(task: int) -> Any:
    """The number of times that a thread was put to sleep, if it sleeps; None if it runs. A thread that has ended stands
    still."""
    try:
        with open(f"/proc/self/task/{task}/status") as file:
            status = dict(line.split(":", 1) for line in file)
    except OSError:
        return "ended"
    is_asleep = status["State"].split()[0] == "S"
    return (status["voluntary_ctxt_switches"], status["nonvoluntary_ctxt_switches"]) if is_asleep else None
