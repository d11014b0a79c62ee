"""Runs a function on every rank of a world, each in a process of its own."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import time
import traceback
import uuid
from typing import Any, Callable

_context = multiprocessing.get_context("spawn")
_pools: dict[int, "_Pool"] = {}
DEADLINE = 60.0  # seconds
CALL_TIMEOUT = 20.0
AMPLE = 15.0  # less than the timeout of a call, which an event that must happen does not wait for


def _serve(rank: int, size: int, pipe: Any) -> None:
    """Runs functions, each in a new world, until the pipe is closed."""
    os.environ.update(TUTTI_RANK=str(rank), TUTTI_SIZE=str(size), TUTTI_TUNING="none")
    import tutti

    while True:
        try:
            url, function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            if url is None:
                pipe.send((True, function(*arguments)))
                continue
            with tutti.init(url, timeout=20, call_timeout=CALL_TIMEOUT) as world:
                result = function(world, *arguments)
            pipe.send((True, result))
        except BaseException:
            pipe.send((False, f"rank {rank} of {size}: {traceback.format_exc()}"))


class _Pool:
    """Processes that wait for functions."""

    def __init__(self, size: int) -> None:
        self.processes = []
        self.pipes = []
        for rank in range(size):
            here, there = _context.Pipe()
            process = _context.Process(target=_serve, args=(rank, size, there), daemon=True)
            process.start()
            there.close()
            self.processes.append(process)
            self.pipes.append(here)

    def run(
        self, url: str | None, function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float
    ) -> list[Any]:
        for pipe in self.pipes:
            pipe.send((url, function, arguments))
        end = time.monotonic() + timeout
        answers = []
        for rank, pipe in enumerate(self.pipes):
            try:
                if pipe.poll(max(0.0, end - time.monotonic())):
                    answers.append(pipe.recv())
                else:
                    answers.append((False, f"rank {rank} did not end within {timeout} s"))
            except EOFError:
                answers.append((None, f"rank {rank} ended with {self._exit_code(rank)}"))
        if any(good is not True for good, _ in answers):
            self.kill()
        return answers

    def _exit_code(self, rank: int) -> int | None:
        self.processes[rank].join(5)
        return self.processes[rank].exitcode

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(5)


def answers(size: int, function: Callable[..., Any], *arguments: Any, timeout: float = DEADLINE) -> list[Any]:
    """Runs a function on each rank, in processes that run nothing else. A pair of whether it succeeded (None:
    its process ended) and its result, or a text."""
    pool = _Pool(size)
    try:
        return pool.run(f"unix://{uuid.uuid4()}", function, arguments, timeout)
    finally:
        pool.close()
        pool.kill()


def run(size: int, function: Callable[..., Any], *arguments: Any, timeout: float = DEADLINE) -> list[Any]:
    """The results of function(world, *arguments) on all ranks. Fails if it raises on one of them."""
    pool = _pools.get(size)
    if pool is None:
        pool = _pools[size] = _Pool(size)
    results = pool.run(f"unix://{uuid.uuid4()}", function, arguments, timeout)
    failures = [text for good, text in results if not good]
    if failures:
        _pools.pop(size, None)
        raise AssertionError("\n".join(failures))
    return [result for _, result in results]


@atexit.register
def _close_pools() -> None:
    for pool in _pools.values():
        pool.close()
