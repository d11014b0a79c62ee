"""Signals whose handlers raise while the shared library calls a function of Python."""

from __future__ import annotations

import signal
import sys
import uuid
from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti

ROUNDS = 80
COUNT = 20_000


class Alarm(Exception):
    """The exception of a signal's handler."""


class Timer:
    """A signal that raises Alarm once, in a block that ends with it or without it."""

    def __init__(self) -> None:
        self._is_armed = False
        signal.signal(signal.SIGALRM, self._handle)

    def _handle(self, *_: Any) -> None:
        if self._is_armed:
            self._is_armed = False
            raise Alarm

    def interrupts(self, seconds: float, call: Callable[[], Any]) -> bool:
        """Whether the signal interrupts a call. Other exceptions of the call are raised."""
        try:
            self._is_armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
            self._is_armed = False
        except Alarm:
            return True
        finally:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False


def run_in_a_storm(world: tutti.Communicator, url: str) -> tuple[int, int]:
    """Rank 0 is interrupted. Returns how often a call ended with its result, and how often with an error."""
    timer = Timer() if world.rank == 0 else None
    unraisable: list[Any] = []
    sys.unraisablehook = unraisable.append
    operator = tutti.operator(lambda a, b: a + b, commutative=True)
    results = errors = 0
    for number in range(ROUNDS):
        with tutti.init(f"{url}-{number}", call_timeout=ranks.AMPLE) as other:
            x = np.full(COUNT, float(world.rank + 1))
            world.barrier()

            def call() -> None:
                other.all_reduce(x, op=operator, algorithm="direct", segment=4096)

            if timer is not None:
                is_result = not timer.interrupts(20e-6 * (1 + number % 40), call)
            else:
                try:
                    call()
                    is_result = True
                except tutti.Error as error:
                    assert error.code != "timeout", error
                    is_result = False
            if is_result:
                assert (x == 3).all(), f"round {number}: the sum has {np.unique(x)}"
        results, errors = results + is_result, errors + (not is_result)
    del sys.unraisablehook
    assert not unraisable, unraisable
    return results, errors


def test_operator_in_a_storm() -> None:
    answers = ranks.answers(2, run_in_a_storm, f"unix://{uuid.uuid4()}")
    assert [good for good, _ in answers] == [True, True], answers
    assert answers[0][1][1] > 0, "no call was interrupted"


def enter_with(error: BaseException, *names: str) -> None:
    """Raises an error at the entry of the next function with one of some names, as the interpreter raises that of a
    signal's handler."""

    def trace(frame: Any, event: str, _: Any) -> None:
        if frame.f_code.co_name in names and "tutti" in frame.f_code.co_filename:
            sys.settrace(None)
            raise error

    sys.settrace(trace)


def lose_an_operator(world: tutti.Communicator, form: str) -> None:
    operator = tutti.operator(lambda a, b: a + b, commutative=True)
    x = np.full(30, world.rank + 1.0)
    if world.rank == 0:
        enter_with(Alarm(), "combine", "__call__")
    with pytest.raises(Alarm if world.rank == 0 else tutti.AbortedError) as caught:
        if form == "blocking":
            world.all_reduce(x, op=operator, algorithm="direct")
        elif form == "start":
            world.start.all_reduce(x, op=operator, algorithm="direct").wait()
        elif form == "wait_all":
            tutti.wait_all([world.start.all_reduce(x, op=operator, algorithm="direct")])
        else:
            world.plan.all_reduce(x, op=operator, algorithm="direct").start().wait()
        world.barrier()
    if world.rank > 0:
        assert "on rank 0: a user's operator failed: an exception ended it" in str(caught.value)
    with pytest.raises(tutti.AbortedError):
        world.barrier()


@pytest.mark.parametrize("form", ["blocking", "start", "wait_all", "plan"])
def test_operator_that_is_lost(form: str) -> None:
    answers = ranks.answers(2, lose_an_operator, form)
    assert [good for good, _ in answers] == [True, True], answers


class Source:
    """A communicator of one rank, as that of mpi4py."""

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def allgather(self, part: bytes) -> list[bytes]:
        return [part]


def lose_an_exchange(_: tutti.Communicator) -> None:
    with tutti.init(Source(), tuning="none") as other:
        assert other.all_reduce(1) == 1
    enter_with(Alarm(), "exchange", "__call__")
    with pytest.raises(Alarm):
        tutti.init(Source(), tuning="none")


class Short(Source):
    def allgather(self, part: bytes) -> list[bytes]:
        return [part[:-1]]


def test_exchange_that_is_lost() -> None:
    answers = ranks.answers(1, lose_an_exchange)
    assert answers == [(True, None)]
    with pytest.raises(tutti.ArgumentError, match="allgather of a Short did not return 1 parts of 8 bytes"):
        tutti.init(Short(), tuning="none")


def test_other_unraisable_exceptions_go_where_they_went() -> None:
    class Wrong:
        def __del__(self) -> None:
            raise KeyError("of a finalizer")

    seen: list[Any] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: seen.append(type(unraisable.exc_value))
    try:
        with tutti.init(rank=0, size=1, tuning="none") as world:
            world.all_reduce(np.ones(2), op=tutti.operator(np.add, commutative=True))
        Wrong()
    finally:
        sys.unraisablehook = before
    assert seen == [KeyError]
