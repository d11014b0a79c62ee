"""A call that a signal interrupts just as it returns: the other rank gets an error, and does not wait."""

from __future__ import annotations

import gc
import itertools
import uuid
from typing import Any

import pytest

import ranks
import tutti
from interruptions import Interrupted, interrupted


def close_all(part: Any) -> None:
    if isinstance(part, tutti.Communicator):
        part.close()


def split_with_interruptions(world: tutti.Communicator, url: str) -> int:
    """Rank 0 is interrupted at one place after the other."""
    for number in itertools.count():
        with tutti.init(f"{url}-{number}", call_timeout=ranks.AMPLE) as other:
            if world.rank == 0:
                was_interrupted, part = interrupted(number, lambda: other.split(0))
                assert was_interrupted == isinstance(part, Interrupted)
                gc.collect()
                if was_interrupted:
                    other.close()  # maybe before the call
                world.objects.broadcast(was_interrupted)
            else:
                try:
                    part = other.split(0)
                    part.barrier()
                except tutti.Error as error:
                    part = error
                was_interrupted = world.objects.broadcast(False)
                text = f"place {number}: {part!r}"
                assert not was_interrupted or isinstance(part, tutti.Error) and part.code != "timeout", text
            if not was_interrupted:
                close_all(part)
                return number
            other.close()
    raise AssertionError


def init_with_interruptions(world: tutti.Communicator, url: str) -> int:
    """Rank 0 is interrupted at one place after the other, and then meets rank 1 at the same place."""
    for number in itertools.count():

        def init() -> tutti.Communicator:
            return tutti.init(f"{url}-{number}", timeout=ranks.AMPLE, call_timeout=ranks.AMPLE)

        was_interrupted = False
        if world.rank == 0:
            was_interrupted, part = interrupted(number, init)
            gc.collect()
            if was_interrupted:
                part = init()
            part.barrier()
        else:
            for attempt in range(2):
                try:
                    part = init()
                    part.barrier()
                    break
                except tutti.Error as error:
                    assert error.code != "timeout" and attempt == 0, f"place {number}: {error}"
        close_all(part)
        if not world.objects.broadcast(was_interrupted):
            return number
    raise AssertionError


@pytest.mark.parametrize("function", [split_with_interruptions, init_with_interruptions])
def test_other_ranks_hear_of_it(function: Any) -> None:
    answers = ranks.answers(2, function, f"unix://{uuid.uuid4()}", timeout=150)
    assert [good for good, _ in answers] == [True, True], answers
    assert answers[0][1] > 10
