"""Numbers in calls: integers of any size, scalars of numpy, and objects that are integers."""

from __future__ import annotations

import enum
import functools
import itertools
import math
import operator
from typing import Any, Callable

import numpy as np
import pytest

import ranks
import tutti

FOLDS: dict[str, Callable[[list[int]], int]] = {
    "sum": sum,
    "prod": math.prod,
    "min": min,
    "max": max,
    "bit_and": functools.partial(functools.reduce, operator.and_),
    "bit_or": functools.partial(functools.reduce, operator.or_),
    "bit_xor": functools.partial(functools.reduce, operator.xor),
}
BASES = (0, 1, -1, 7, 2**31, 2**32, -(2**32), 10**10, 2**62, 2**63 - 8, -(2**63))
LARGE = (2**63, 10**19, 2**64, -(2**100), 2**126)
EXTREMES = ("min", "max")


class Number(enum.IntEnum):
    THREE = 3


class Five:
    """A number by its __index__."""

    def __index__(self) -> int:
        return 5


def reduce_integers(world: tutti.Communicator) -> None:
    rank, size = world.rank, world.size
    for op, fold in FOLDS.items():
        for base in BASES if op in EXTREMES else BASES + LARGE:
            values = [base + r if base % 2 == 0 else base for r in range(size)]
            own, where = values[rank], f"{op} of {values}"
            assert world.all_reduce(own, op=op) == fold(values), where
            assert type(world.all_reduce(own, op=op)) is int
            assert world.scan(own, op=op) == fold(values[: rank + 1]), where
            assert world.exscan(own, op=op) == (fold(values[:rank]) if rank else None), where
            for root in range(size):
                assert world.reduce(own, op=op, root=root) == (fold(values) if rank == root else None), where
            assert world.start.all_reduce(own, op=op).wait() == fold(values), where
    for x, op in itertools.product((0, 2**70 if rank else 0, 2**70), ("and", "or", "xor")):
        truths = [bool(x) if r == rank else bool(y) for r, y in enumerate(world.objects.all_gather(x))]
        fold = {"and": all, "or": any, "xor": lambda values: sum(values) % 2}[op]
        assert world.all_reduce(x, op=op) == fold(truths), op
    assert world.all_reduce(10**10, op="average") == 1e10
    assert world.all_reduce(rank, op="average") == (size - 1) / 2


def refuse_integers(world: tutti.Communicator) -> list[str]:
    """One rank gives an integer that is too large: no rank goes on as if it had not."""
    texts = []
    for op in FOLDS:
        x = (2**63 if op in EXTREMES else 2**127) if world.rank == world.size - 1 else 1
        for call in (world.all_reduce, lambda x, op: world.start.all_reduce(x, op=op).wait()):
            with pytest.raises(tutti.ArgumentError, match="does not fit into (63|127) bits and a sign") as caught:
                call(x, op=op)
            texts.append(str(caught.value))
    assert world.all_reduce(1) == world.size
    return texts


def reduce_scalars_of_numpy(world: tutti.Communicator) -> None:
    rank, size = world.rank, world.size
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        kind = getattr(np, name)
        assert world.all_reduce(kind(rank + 1), op="average") == (size + 1) / 2, name
        assert type(world.all_reduce(kind(1))) is kind
        most = int(np.iinfo(kind).max)
        assert world.all_reduce(kind(most)) == size * most, f"the sum of {name}"
        assert world.all_reduce(kind(most), op="prod") == most**size, f"the product of {name}"
        assert world.scan(kind(most)) == (rank + 1) * most
        assert world.all_reduce(kind(rank), op="max") == size - 1
        assert world.all_reduce(kind(5) if rank else 5) == 5 * size, "beside an int"
        assert world.all_gather(kind(rank)) == list(range(size))
        assert world.gather(kind(rank)) == (list(range(size)) if rank == 0 else None)
        assert world.broadcast(kind(rank), root=size - 1) == size - 1
    for name in ("float16", "float32", "float64"):
        kind = getattr(np, name)
        result = world.all_reduce(kind(rank + 0.5), op="average")
        assert result == size / 2 and type(result) is kind
    for name in ("complex64", "complex128"):
        kind = getattr(np, name)
        assert world.all_reduce(kind(1 + 2j)) == size * (1 + 2j)
    for truth in (np.bool_(rank == 0), rank == 0):
        assert world.all_reduce(truth) == 1 and type(world.all_reduce(truth)) is type(truth)
        assert world.all_reduce(truth, op="and") == (size == 1)
        with pytest.raises(tutti.ArgumentError, match="average is not defined for"):
            world.all_reduce(truth, op="average")
    assert world.all_gather(np.longdouble(rank) / 3) == [np.longdouble(r) / 3 for r in range(size)]


def use_objects_that_are_numbers(world: tutti.Communicator) -> None:
    class Share(float):
        pass

    size = world.size
    results: list[Any] = [world.all_reduce(x) for x in (Number.THREE, Five(), Share(0.5))]
    assert results == [3 * size, 5 * size, size / 2]
    assert world.all_reduce(Five(), op="average") == 5
    assert world.all_gather(Five()) == [5] * size and world.broadcast(Number.THREE) == 3
    x = np.full(1, 2)
    assert world.all_reduce(x) is x and x[0] == 2 * size, "an array of one element is an array"


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("function", [reduce_integers, reduce_scalars_of_numpy, use_objects_that_are_numbers])
def test_numbers(function: Callable[..., None], size: int) -> None:
    ranks.run(size, function)


@pytest.mark.parametrize("size", [1, 3])
def test_integers_that_are_too_large(size: int) -> None:
    answers = ranks.run(size, refuse_integers)
    assert all("an integer of another rank" in text for texts in answers[:-1] for text in texts)
    assert all("an integer of this rank" in text for text in answers[-1])
