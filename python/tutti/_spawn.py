"""tutti.spawn: ranks of a function, as processes or threads of this host."""

from __future__ import annotations

import contextlib
import pickle
import queue
import secrets
import time
from typing import Any, Callable, Iterator, Literal, TypeVar

from . import _rank
from ._members import Fresh, Inbox, RankThread, forked
from ._numbers import integer_of
from ._options import nanoseconds

T = TypeVar("T")

GRACE = 5.0  # seconds that other ranks have to end after the first failure
_ANSWER = 2.0  # seconds that ranks have to send their stacks
_importing_main = False


def spawn(
    fn: Callable[..., T],
    n: int,
    *args: Any,
    timeout: float | None = None,
    threads: bool = False,
    start: Literal["fresh", "fork"] = "fresh",
) -> list[T]:
    """Runs fn(world, *args) on n ranks of this host. Returns their results in the order of ranks.

    Each rank is a process with a world of its own, which tutti.world() and tutti.init() give too. If a rank
    fails, the others are ended, and the exception of the first one that failed is raised here, with its
    traceback as the cause. A rank that a signal ended is a ChildProcessError. The processes end with this one.

    timeout: seconds; after them all ranks are ended, and TimeoutError has the stacks of every rank and what
        it waits for.
    threads: ranks are threads of this process instead. They see the caller's objects, and share one GIL.
    start: "fresh" starts new interpreters. fn, args and results are pickled, with cloudpickle if it is
        installed, which functions of notebooks and lambdas need. Without it, functions of a script need
        `if __name__ == "__main__":` around the call of spawn.
        "fork" copies this process, which takes any function; a process that has used threads, such as those
        of torch, may not be copied.
    """
    if not callable(fn):
        raise TypeError(f"spawn: fn is a {type(fn).__name__}, and must be a function of a communicator")
    n = integer_of(n, "spawn: the number of ranks")
    nanoseconds(timeout, "spawn")  # its type
    if n < 1:
        raise ValueError(f"spawn needs at least one rank, not {n}")
    if start not in ("fresh", "fork"):
        raise ValueError(f"start is 'fresh' or 'fork', not {start!r}")
    if _importing_main:
        raise RuntimeError(
            "the script calls tutti.spawn while a rank imports it: put the call below "
            '`if __name__ == "__main__":`, or install cloudpickle'
        )
    url = f"unix://tutti-spawn-{secrets.token_hex(16)}"
    members: list[Any] = []
    try:
        if threads:
            members += [RankThread(rank, n, url, fn, args) for rank in range(n)]
        else:
            make = forked if start == "fork" else Fresh(fn, args)
            for rank in range(n):
                members.append(make(rank, n, url, members, fn, args))
        return _Job(members, timeout).results()
    finally:
        for member in members:
            member.end()


@contextlib.contextmanager
def importing_main() -> Iterator[None]:
    """Marks the time in which a rank imports the script that started it."""
    global _importing_main
    _importing_main = True
    try:
        yield
    finally:
        _importing_main = False


class _RankTraceback(Exception):
    """The traceback of another process."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class _Job:
    """The messages of the ranks of one call."""

    def __init__(self, members: list[Any], timeout: float | None) -> None:
        self._members = members
        self._timeout = timeout
        self._limit = None if timeout is None else time.monotonic() + timeout
        self._inbox: Inbox = queue.SimpleQueue()
        self._running = set(range(len(members)))
        self._results: dict[int, Any] = {}
        self._failures: list[tuple[bool, int, BaseException]] = []
        self._stacks: dict[int, str] = {}

    def results(self) -> list[Any]:
        for member in self._members:
            member.listen(self._inbox)
        while self._running:
            if not self._accept_next(self._limit):
                if self._failures:
                    break
                raise TimeoutError(self._text_of_deadline())
        if self._failures:
            self._raise_first()
        return [self._results[rank] for rank in range(len(self._members))]

    def _accept_next(self, limit: float | None) -> bool:
        """Waits for a message. Returns False if none comes before the limit."""
        left = None if limit is None else max(0.0, limit - time.monotonic())
        try:
            rank, kind, contents = self._inbox.get(timeout=left)
        except queue.Empty:
            return False
        if kind == "stacks":
            self._stacks[rank] = contents
        elif kind == "result":
            self._results[rank] = contents
        elif kind == "raised":
            self._fail(rank, _rank.is_consequence(contents), contents)
        elif kind == "failure":
            self._fail(rank, contents.consequence, _exception_of(rank, contents))
        elif kind == "end":
            self._running.discard(rank)
            if rank not in self._results and all(rank != failed for _, failed, _ in self._failures):
                self._fail(rank, False, ChildProcessError(self._members[rank].death()))
        return True

    def _fail(self, rank: int, consequence: bool, error: BaseException) -> None:
        limit = time.monotonic() + GRACE
        self._limit = limit if self._limit is None else min(self._limit, limit)
        self._failures.append((consequence, rank, error))

    def _raise_first(self) -> None:
        """Raises the first failure, of a rank that did not fail because another one had ended."""
        first = min(self._failures, key=lambda failure: failure[0])
        _, rank, error = first
        error.add_note(f"raised by rank {rank} of {len(self._members)}")
        for _, other, reason in sorted(self._failures, key=lambda failure: failure[1]):
            if other != rank:
                error.add_note(f"rank {other}: {type(reason).__name__}: {str(reason):.200}")
        raise error

    def _text_of_deadline(self) -> str:
        for rank in self._running:
            self._members[rank].ask_for_stacks()
        limit = time.monotonic() + _ANSWER
        while self._running - self._stacks.keys() and self._accept_next(limit):
            pass
        lines = [f"after {self._timeout:g} s {len(self._running)} of {len(self._members)} ranks had not ended"]
        for rank, member in enumerate(self._members):
            if rank not in self._running:
                lines.append(f"rank {rank} had ended")
                continue
            text = self._stacks.get(rank) or member.silent_stacks()
            lines.append(f"rank {rank} ({member.describe()}):\n{text.rstrip()}")
        return "\n".join(lines)


def _exception_of(rank: int, failure: _rank.Failure) -> BaseException:
    if failure.pickled is None:
        error: BaseException = ChildProcessError(f"rank {rank} raised {failure.summary}")
    else:
        error = pickle.loads(failure.pickled)
    error.__cause__ = _RankTraceback(failure.text)
    return error
