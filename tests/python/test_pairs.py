"""min_loc and max_loc: arrays and tuples of a value and an index, compared with numpy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ranks
import tutti
from test_collectives import submit

N = 40  # elements of a block
VALUES = ["int32", "int64", "float32", "float64"]


def pairs(value: str) -> np.dtype[Any]:
    return np.dtype([("value", value), ("index", "int32")], align=True)


def values_of(world: tutti.Communicator, value: str, count: int) -> np.ndarray:
    """The values of all ranks: few, so that many are equal, with NaN, infinities and both zeros."""
    random = np.random.default_rng(count)
    if value.startswith("int"):
        edges = [np.iinfo(value).min, np.iinfo(value).max]
        return random.choice(np.array([-1, 0, 1, *edges], value), (world.size, count))
    rows = random.choice(np.array([-1.5, -0.0, 0.0, 1.5, np.inf, -np.inf], value), (world.size, count))
    rows[random.random(rows.shape) < 0.05] = np.nan
    return rows


def as_pairs(rows: np.ndarray, rank: int) -> np.ndarray:
    result = np.zeros(rows.shape[1], pairs(rows.dtype.name))
    result["value"], result["index"] = rows[rank], rank
    return result


def chosen(op: str, rows: np.ndarray) -> np.ndarray:
    """numpy's choice among rows: the first NaN, or else the first of the extreme values."""
    where = (np.argmin if op == "min_loc" else np.argmax)(rows, 0)
    result = np.zeros(rows.shape[1], pairs(rows.dtype.name))
    result["value"], result["index"] = rows[where, np.arange(rows.shape[1])], where
    return result


def check_same(result: np.ndarray, expected: np.ndarray) -> None:
    assert (result["index"] == expected["index"]).all()
    np.testing.assert_array_equal(result["value"], expected["value"])


def check_arrays(world: tutti.Communicator, form: str, op: str, value: str) -> None:
    rank, size = world.rank, world.size
    rows = values_of(world, value, N)
    x = as_pairs(rows, rank)
    out = np.zeros_like(x)
    assert submit(world, form, "all_reduce", x, out, op=op) is out
    check_same(out, chosen(op, rows))
    check_same(x, as_pairs(rows, rank))
    submit(world, form, "scan", x, out, op=op)
    check_same(out, chosen(op, rows[: rank + 1]))
    submit(world, form, "exscan", x, out, op=op)
    if rank > 0:
        check_same(out, chosen(op, rows[:rank]))
    submit(world, form, "reduce", x, op=op, root=size - 1)
    check_same(x, chosen(op, rows) if rank == size - 1 else as_pairs(rows, rank))
    rows = values_of(world, value, N * size)
    x = as_pairs(rows, rank)
    submit(world, form, "reduce_scatter", x, out, op=op)
    check_same(out, chosen(op, rows)[rank * N : (rank + 1) * N])
    submit(world, form, "all_reduce", x, op=op)
    check_same(x, chosen(op, rows))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("form", ["blocking", "start", "plan", "batch"])
def test_arrays(size: int, form: str) -> None:
    for op in ("min_loc", "max_loc"):
        for value in VALUES:
            ranks.run(size, check_arrays, form, op, value)


def check_layouts(world: tutti.Communicator) -> None:
    """The names of the members do not matter, nor who made the array."""

    class Pair(ctypes.Structure):
        _fields_ = [("loss", ctypes.c_double), ("step", ctypes.c_int32)]

    elements: Any = (Pair * 3)(*(Pair(world.rank + i, 10 + world.rank) for i in range(3)))
    world.all_reduce(elements, op="max_loc")
    assert [(pair.loss, pair.step) for pair in elements] == [(world.size - 1 + i, 9 + world.size) for i in range(3)]
    for dtype in (
        np.dtype("d,i", align=True),
        np.dtype({"names": ["x}", "T"], "formats": ["f8", "i4"], "offsets": [0, 8], "itemsize": 16}),
        np.dtype([("value", np.longlong), ("at", "i4")], align=True),
        np.dtype([("value", "l"), ("at", "i4")], align=True),
    ):
        x = np.array([(world.rank, world.rank)] * 2, dtype)
        world.all_reduce(x, op="min_loc")
        assert x.tolist() == [(0, 0)] * 2
    record = np.rec.array([(world.rank, world.rank)], dtype=pairs("float32"))
    assert world.all_reduce(record, op="max_loc").tolist() == [(world.size - 1, world.size - 1)]
    scalar = world.all_reduce(np.array([(world.rank, world.rank)], pairs("int64"))[0], op="max_loc")
    assert scalar.tolist() == (world.size - 1, world.size - 1)
    with world.empty(16 * 5, "uint8") as memory:
        shared = np.asarray(memory).view(pairs("float64"))
        shared["value"], shared["index"] = -world.rank, world.rank
        world.all_reduce(shared, op="min_loc")
        assert shared.tolist() == [(1 - world.size, world.size - 1)] * 5
    text = world.explain("all_reduce", 1600, dtype=pairs("float64"), op="min_loc")
    assert "all_reduce" in text and "100" in text


def test_layouts() -> None:
    ranks.run(2, check_layouts)


def check_tuples(world: tutti.Communicator) -> None:
    rank, size = world.rank, world.size
    assert world.all_reduce((rank + 0.5, rank), op="max_loc") == (size - 0.5, size - 1)
    found = world.all_reduce((-rank, np.int64(rank)), op="min_loc")
    assert found == (1 - size, size - 1) and [type(part) for part in found] == [int, int]
    found = world.start.all_reduce((np.float32(1), rank), op="min_loc").wait()
    assert found == (1, 0) and type(found[0]) is np.float32
    assert world.all_reduce((2**62 + rank, rank), op="max_loc") == (2**62 + size - 1, size - 1)
    value, index = world.all_reduce((float("nan") if rank == size - 1 else float(rank), rank), op="min_loc")
    assert value != value and index == size - 1
    assert world.scan((rank, rank), op="max_loc") == (rank, rank)
    assert world.exscan((rank, rank), op="max_loc") == ((rank - 1, rank - 1) if rank else None)
    assert world.reduce((rank, rank), op="min_loc", root=size - 1) == ((0, 0) if rank == size - 1 else None)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_tuples(size: int) -> None:
    ranks.run(size, check_tuples)


@pytest.fixture(scope="module")
def alone() -> Any:
    with tutti.init("", rank=0, size=1, tuning="none") as world:
        yield world


@pytest.mark.parametrize(
    "x",
    [
        np.ones(3),
        np.ones(3, np.float32),
        np.ones((3, 2), np.int32),
        np.zeros(3, np.dtype([("value", "f8"), ("index", "i4")])),  # of 12 bytes
        np.zeros(3, [("value", "f8"), ("index", "i8")]),
        np.zeros(3, np.dtype([("value", "f8"), ("index", "u4")], align=True)),
        np.zeros(3, np.dtype([("index", "i4"), ("value", "f8")], align=True)),
        np.zeros(3, np.dtype([("value", "i2"), ("index", "i4")], align=True)),
        np.zeros(3, np.dtype([("value", "u8"), ("index", "i4")], align=True)),
        np.zeros(3, np.dtype([("value", "c8"), ("index", "i4")], align=True)),
        np.zeros(3, np.dtype({"names": "vi", "formats": ["f8", "i4"], "offsets": [0, 12], "itemsize": 16})),
        np.zeros(3, np.dtype([("value", "f4", 2), ("index", "i4")])),
        np.zeros(3, np.dtype([("value", "f8"), ("index", "i4"), ("other", "i4")])),
        np.zeros(3, "V16"),
        3.5,
        True,
    ],
    ids=lambda x: str(getattr(x, "dtype", x)).replace(" ", ""),
)
@pytest.mark.parametrize("call", ["all_reduce", "scan", "reduce"])
def test_other_elements(alone: tutti.Communicator, call: str, x: Any) -> None:
    with pytest.raises(tutti.ArgumentError) as raised:
        getattr(alone, call)(x, op="min_loc")
    assert f"{call}: operator min_loc needs elements of a value and an index, and got " in str(raised.value)
    assert 'pass arrays of numpy.dtype([("value", "float64"), ("index", "int32")], align=True)' in str(raised.value)


def test_other_arguments(alone: tutti.Communicator) -> None:
    x = np.zeros(3, pairs("float64"))
    with pytest.raises(tutti.ArgumentError, match="x and out have pairs of different types"):
        alone.all_reduce(x, np.zeros(3, pairs("int64")), op="min_loc")
    with alone.plan.all_reduce(x, op="min_loc") as plan:
        plan.start(np.ones(3, pairs("float64"))).wait()
        with pytest.raises(tutti.ArgumentError, match="for pairs of another type"):
            plan.start(np.ones(3, pairs("int64")))
        with pytest.raises(tutti.ArgumentError, match="needs elements of a value and an index"):
            plan.start(np.ones(3, "V16"))
    for value in ("1", None, True, 1j, np.float16(1), np.uint64(1)):
        with pytest.raises(tutti.ArgumentError, match="all_reduce: the value of a pair is of .* may be an int"):
            alone.all_reduce((value, 0), op="min_loc")
    with pytest.raises(tutti.ArgumentError, match="the index of a pair, 4294967296, does not fit into 32 bits"):
        alone.all_reduce((1, 2**32), op="max_loc")
    with pytest.raises(tutti.ArgumentError, match="does not fit into 64 bits"):
        alone.all_reduce((2**63, 0), op="max_loc")
    with pytest.raises(tutti.ArgumentError, match="is a tuple, and no array"):
        alone.all_reduce((1, 0))
    with pytest.raises(tutti.ArgumentError, match="explain: operator min_loc needs pairs, and got 'float64'"):
        alone.explain("all_reduce", 1600, dtype="float64", op="min_loc")


def check_bytes(world: tutti.Communicator) -> None:
    """Other calls move pairs as bytes, and a program's operators get them as such."""
    x = np.array([(world.rank, 7)] * 3, pairs("float64"))
    out = np.zeros((world.size, 3), "V16")
    world.all_gather(x, out)
    assert [row[0] for row in out.view(pairs("float64")).tolist()] == [(rank, 7) for rank in range(world.size)]

    def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        left, right = a.view(x.dtype), b.view(x.dtype)
        result: np.ndarray = np.where(left["value"] > right["value"], left, right).view(a.dtype)
        return result

    world.all_reduce(x, op=tutti.operator(larger, commutative=True))
    assert x.tolist() == [(world.size - 1, 7)] * 3


def test_pairs_are_bytes_for_other_calls() -> None:
    ranks.run(2, check_bytes)
