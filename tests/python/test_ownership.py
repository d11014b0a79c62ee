"""Pointers of the shared library: each has an owner at any time, and is freed once, wherever a signal raises."""

from __future__ import annotations

import gc
import itertools
import sys
from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti
from interruptions import Interrupted, interrupted
from tutti import objects  # noqa: F401  its import binds functions, which are counted later
from tutti._library import library

MAKERS = {
    "tutti_init": "tutti_communicator_free",
    "tutti_init_over": "tutti_communicator_free",
    "tutti_group": "tutti_communicator_free",
    "tutti_split": "tutti_communicator_free",
    "tutti_allocate": "tutti_memory_free",
    "tutti_start": "tutti_request_free",
    "tutti_make_plan": "tutti_plan_free",
    "tutti_make_operator": "tutti_operator_free",
    "tutti_make_checked_operator": "tutti_operator_free",
    "tutti_objects_start": "tutti_objects_free",
    "tutti_make_gradient_sync": "tutti_gradient_sync_free",
}


class Books:
    """The pointers that the shared library has made, and that were not freed."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.wrong: list[int] = []
        for make in MAKERS:
            if hasattr(library, make):
                library.__dict__[make] = self._making(getattr(library, make))
        self.frees = {free: self._freeing(getattr(library, free)) for free in set(MAKERS.values())}
        library.__dict__.update(self.frees)

    def _making(self, function: Any) -> Any:
        def make(*arguments: Any) -> int:
            status: int = function(*arguments)
            made = arguments[-1]
            made = getattr(made, "_obj", made)  # of byref
            if made.value:
                self.open.append(made.value)
            return status

        return make

    def _freeing(self, function: Any) -> Any:
        def free(pointer: Any) -> None:
            value = getattr(pointer, "value", pointer)
            if value not in self.open and free is not self.frees["tutti_objects_free"]:
                self.wrong.append(value)
                return
            if value in self.open:  # else it is of the extension
                self.open.remove(value)
            function(pointer)

        return free


class Source:
    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def allgather(self, part: bytes) -> list[bytes]:
        return [part]


def in_a_batch(world: tutti.Communicator) -> None:
    with tutti.batch():
        world.all_reduce(X)


X = np.ones(4)
CALLS: dict[str, Callable[[tutti.Communicator], Callable[[], Any]]] = {
    "init": lambda world: lambda: tutti.init(rank=0, size=1, tuning="none"),
    "init over": lambda world: lambda: tutti.init(Source(), tuning="none"),
    "group": lambda world: lambda: world.group([0]),
    "split": lambda world: lambda: world.split(0),
    "close": lambda world: world.split(0).close,
    "empty": lambda world: lambda: world.empty(4),
    "start": lambda world: lambda: world.start.all_reduce(X),
    "wait": lambda world: world.start.all_reduce(X).wait,
    "batch": lambda world: lambda: in_a_batch(world),
    "plan": lambda world: lambda: world.plan.all_reduce(X),
    "operator": lambda world: lambda: world.all_reduce(X, op=tutti.operator(np.add, commutative=True)),
    "number": lambda world: lambda: world.all_reduce(3),
    "gradients": lambda world: lambda: tutti.GradientSync(world, {"x": X}),
    "object": lambda world: lambda: world.objects.start.all_gather(3),
    "object's wait": lambda world: world.objects.start.all_gather(3).wait,
    "large object": lambda world: lambda: world.objects.all_gather(np.ones(200_000)),
}


def is_usable(world: tutti.Communicator) -> bool:
    try:
        world.barrier()
    except tutti.Error:
        return False
    return True


def interrupt_everywhere(_: tutti.Communicator, name: str) -> int:
    """Returns at how many places there was an interruption."""
    books = Books()
    sys.unraisablehook = lambda unraisable: books.wrong.append(-1)
    world = tutti.init(rank=0, size=1, tuning="none")
    for number in itertools.count():
        call = CALLS[name](world)
        was_interrupted, result = interrupted(number, call)
        assert was_interrupted == isinstance(result, Interrupted), result
        where = str(result)
        if not was_interrupted and name.startswith("init"):
            result.close()
        del call, result
        tutti.is_initialized()  # forgets closed worlds
        gc.collect()
        assert not books.wrong, f"a pointer is freed twice, or an exception is lost: {where}"
        if not is_usable(world):
            world.close()
            world = tutti.init(rank=0, size=1, tuning="none")
        assert len(books.open) == 1, f"a pointer has no owner: {where}"
        if not was_interrupted:
            return number
    raise AssertionError


@pytest.mark.parametrize("name", CALLS)
def test_interruption(name: str) -> None:
    [(good, places)] = ranks.answers(1, interrupt_everywhere, name)
    assert good, places
    assert places > 3
