"""Every collective in every form, on worlds of one, two and three ranks."""

from __future__ import annotations

import array
import math
import shutil
import socket
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ranks
import tutti

sizes = pytest.mark.parametrize("size", [1, 2, 3])
N = 6  # elements of a block


def submit(world: tutti.Communicator, form: str, name: str, *arguments: Any, **options: Any) -> Any:
    """Makes a call in a form, and returns its result."""
    if form == "blocking":
        return getattr(world, name)(*arguments, **options)
    if form == "start":
        return getattr(world.start, name)(*arguments, **options).wait()
    if form == "batch":
        with tutti.batch():
            result = getattr(world, name)(*arguments, **options)
        return result
    with getattr(world.plan, name)(*arguments, **options) as plan:
        assert plan.algorithm
        plan.start().wait()
    return plan._prepared.arguments.result


def own(world: tutti.Communicator, count: int = N) -> np.ndarray:
    return (np.arange(count) + 100 * world.rank).astype(np.int32)


def all_own(world: tutti.Communicator, count: int = N) -> np.ndarray:
    return np.array([np.arange(count) + 100 * rank for rank in range(world.size)], dtype=np.int32)


def check_vectors(world: tutti.Communicator, form: str) -> None:
    everything = all_own(world)
    out = np.zeros(N, np.int32)
    assert submit(world, form, "all_reduce", own(world), out) is out
    assert (out == everything.sum(0)).all()
    x = own(world)
    assert submit(world, form, "all_reduce", x, op="max") is x
    assert (x == everything.max(0)).all()
    last = world.size - 1
    x = own(world)
    result = submit(world, form, "reduce", x, out, op="min", root=last)
    assert result is (out if world.rank == last else None)
    assert world.rank != last or (out == everything.min(0)).all()
    result = submit(world, form, "reduce", x, root=0)
    assert world.rank != 0 or (x == everything.sum(0)).all()
    x = own(world)
    assert submit(world, form, "broadcast", x, root=last) is x
    assert (x == everything[last]).all()
    x = own(world)
    submit(world, form, "scan", x, out)
    assert (out == everything[: world.rank + 1].sum(0)).all()
    submit(world, form, "scan", x)
    assert (out == x).all()
    x = own(world)
    submit(world, form, "exscan", x)
    assert (x == (everything[: world.rank].sum(0) if world.rank else everything[0])).all()
    out[:] = -1
    submit(world, form, "exscan", own(world), out)
    assert (out == (everything[: world.rank].sum(0) if world.rank else -1)).all()


def check_blocks(world: tutti.Communicator, form: str) -> None:
    rank, size, everything = world.rank, world.size, all_own(world)
    out = np.zeros((size, N), np.int32)
    assert submit(world, form, "all_gather", own(world), out) is out
    assert (out == everything).all()
    out = np.zeros((size, N), np.int32)
    out[rank] = own(world)
    submit(world, form, "all_gather", out)
    assert (out == everything).all()
    root = size - 1
    out = np.zeros((size, N), np.int32)
    result = submit(world, form, "gather", own(world), out if rank == root else None, root=root)
    assert result is (out if rank == root else None)
    assert rank != root or (out == everything).all()
    out = np.zeros((size, N), np.int32)
    out[rank] = own(world)
    submit(world, form, "gather", out if rank == root else out[rank], root=root)
    assert rank != root or (out == everything).all()
    block = np.zeros(N, np.int32)
    submit(world, form, "scatter", everything if rank == root else None, block, root=root)
    assert (block == everything[rank]).all()
    x = all_own(world) if rank == root else np.zeros((size, N), np.int32)
    submit(world, form, "scatter", x, x[rank], root=root)
    assert (x[rank] == everything[rank]).all()
    whole = own(world, size * N)
    total = all_own(world, size * N).sum(0).reshape(size, N)
    submit(world, form, "reduce_scatter", whole, block)
    assert (block == total[rank]).all()
    x = whole.reshape(size, N).copy()
    submit(world, form, "reduce_scatter", x, x[rank])
    whole.reshape(size, N)[rank] = total[rank]  # other blocks do not change
    assert (x == whole.reshape(size, N)).all()
    whole = own(world, size * N)
    sent = all_own(world, size * N).reshape(size, size, N)
    out = np.zeros((size, N), np.int32)
    submit(world, form, "all_to_all", whole, out)
    assert (out == sent[:, rank]).all()
    if form != "plan":
        x = whole.copy()
        submit(world, form, "all_to_all", x, x)
        assert (x.reshape(size, N) == out).all()
    submit(world, form, "barrier")


def check_counts(world: tutti.Communicator, form: str) -> None:
    rank, size = world.rank, world.size
    counts = [2 * r + 1 for r in range(size)]
    starts = np.cumsum([0, *counts])
    blocks = [np.full(counts[r], 10 + r, np.float32) for r in range(size)]
    whole = np.concatenate(blocks)
    mine = slice(starts[rank], starts[rank + 1])
    out = np.zeros_like(whole)
    submit(world, form, "all_gather", blocks[rank], out, counts=counts)
    assert (out == whole).all()
    out[:] = 0
    out[mine] = blocks[rank]
    submit(world, form, "all_gather", out, counts=np.array(counts))
    assert (out == whole).all()
    out[:] = 0
    submit(world, form, "gather", blocks[rank], out if rank == 0 else None, counts=counts if rank == 0 else ())
    assert rank != 0 or (out == whole).all()
    block = np.zeros(counts[rank], np.float32)
    submit(world, form, "scatter", whole if rank == 0 else None, block, counts=counts if rank == 0 else (), root=0)
    assert (block == blocks[rank]).all()
    submit(world, form, "reduce_scatter", whole, block, counts=counts)
    assert (block == size * blocks[rank]).all()
    sent = [rank + r for r in range(size)]  # to rank r
    got = [r + rank for r in range(size)]
    x = np.concatenate([np.full(sent[r], 10 * rank + r, np.int64) for r in range(size)])
    out = np.zeros(sum(got), np.int64)
    submit(world, form, "all_to_all", x, out, counts=(sent, got))
    assert (out == np.concatenate([np.full(got[r], 10 * r + rank) for r in range(size)])).all()


def check_messages(world: tutti.Communicator, form: str) -> None:
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    out = np.zeros(N, np.int32)
    submit(world, form, "sendrecv", own(world), right, out, left)
    assert (out == all_own(world)[left]).all()
    request = world.start.send(own(world), right, tag=3)
    out[:] = 0
    assert submit(world, form, "recv", out, left, tag=3) is out
    assert (out == all_own(world)[left]).all()
    request.wait()


@sizes
@pytest.mark.parametrize("form", ["blocking", "start", "plan", "batch"])
@pytest.mark.parametrize("check", [check_vectors, check_blocks, check_counts, check_messages])
def test_collectives(size: int, form: str, check: Any) -> None:
    ranks.run(size, check, form)


def check_plan_on_other_arrays(world: tutti.Communicator) -> None:
    x = np.ones(4)
    with world.plan.all_reduce(x) as plan:
        for _ in range(3):
            x[:] = 1
            plan.start().wait()
            assert (x == world.size).all()
        y, out = np.full(4, 2.0), np.zeros(4)
        plan.start(y, out)
        while not plan.test():
            pass
        assert (out == 2 * world.size).all() and (y == 2).all()
        with pytest.raises(tutti.ArgumentError, match="made for 4 elements of float64, got 3 of float32"):
            plan.start(np.ones(3, np.float32))
        with pytest.raises(tutti.ArgumentError, match="a number does not change"):
            world.plan.all_reduce(3)
    with pytest.raises(tutti.ArgumentError, match="this plan is closed"):
        plan.start()


@sizes
def test_plan_on_other_arrays(size: int) -> None:
    ranks.run(size, check_plan_on_other_arrays)


def check_numbers(world: tutti.Communicator) -> None:
    rank, size = world.rank, world.size
    total = size * (size - 1) // 2
    assert world.all_reduce(rank) == total
    assert type(world.all_reduce(rank)) is int
    assert world.all_reduce(rank + 0.5) == total + size / 2
    assert world.all_reduce(rank, op="average") == (size - 1) / 2
    assert world.all_reduce(1 + 2j) == size * (1 + 2j)
    assert world.all_reduce(rank == 0) is True
    assert world.all_reduce(rank == 0, op="and") is (size == 1)
    assert world.start.all_reduce(rank).wait() == total
    assert world.reduce(rank, root=size - 1) == (total if rank == size - 1 else None)
    assert world.broadcast(rank + 7, root=size - 1) == size + 6
    assert world.gather(rank) == (list(range(size)) if rank == 0 else None)
    assert world.all_gather(float(rank)) == [float(r) for r in range(size)]
    assert world.all_gather(complex(0, rank)) == [complex(0, r) for r in range(size)]
    assert world.scan(1) == rank + 1
    assert world.exscan(1) == (rank if rank else None)
    result = world.all_reduce(np.float32(rank))
    assert result == total and type(result) is np.float32
    assert world.all_gather(np.int16(rank)) == list(range(size))
    with pytest.raises(tutti.ArgumentError, match="64 bits"):
        world.broadcast(2**63)
    request = world.start.send(rank, rank)
    out = array.array("q", [0])
    world.recv(out, rank)
    assert out[0] == rank
    request.wait()
    with pytest.raises(tutti.ArgumentError, match="end of a batch"), tutti.batch():
        world.all_reduce(1)
    world.barrier()


@sizes
def test_numbers(size: int) -> None:
    ranks.run(size, check_numbers)


def check_batch(world: tutti.Communicator) -> None:
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    x, y, total = own(world), np.zeros(N, np.int32), np.ones(2)
    with world.group(range(world.size)) as other, tutti.batch():
        world.send(x, right)
        world.recv(y, left)
        other.all_reduce(total)
    assert (y == all_own(world)[left]).all() and (total == world.size).all()
    with pytest.raises(KeyError), tutti.batch():
        world.all_reduce(total)
        raise KeyError
    assert (total == world.size).all()
    assert world.all_reduce(1) == world.size
    with pytest.raises(tutti.ArgumentError), tutti.batch(), tutti.batch():
        pass
    assert world.all_reduce(1) == world.size


@sizes
def test_batch(size: int) -> None:
    ranks.run(size, check_batch)


def check_probe(world: tutti.Communicator) -> None:
    if world.rank > 0:
        world.send(np.full(3, world.rank), 0, tag=5)
        world.barrier()
        return
    assert world.probe_now(1, 9) is None and world.probe_now(tag=9) is None
    with pytest.raises(tutti.TimeoutError, match="no message of tag 9 from any rank"):
        world.probe(tag=9, timeout=0.05)
    seen = set()
    for _ in range(1, world.size):
        out = np.zeros(3, int)
        arrival = world.probe(tag=5)
        assert arrival.bytes == 24 and arrival.tag == 5
        world.recv(out, tag=5)
        seen.add(int(out[0]))
    assert seen == set(range(1, world.size))
    assert world.probe_now(tag=5) is None
    request = world.start.send(np.ones(3), 0, tag=7)
    while (found := world.probe_now(tag=7)) is None:
        pass
    assert found == (0, 7, 24) == world.probe_now(0, 7)
    world.recv(np.zeros(3), 0, tag=7)
    request.wait()
    world.barrier()


def test_probe() -> None:
    ranks.run(3, check_probe)


def check_options(world: tutti.Communicator) -> None:
    options: list[dict[str, Any]] = [
        {"algorithm": "ring"},
        {"algorithm": "ring", "segment": 4096},
        {"timeout": 5},
        {"timeout": math.inf},
        {"determinism": "size_invariant"},
        {"transport": "shm"} if world.size > 1 else {},
        {"visible": False},
    ]
    for given in options:
        for form in ("blocking", "start", "plan", "batch"):
            x = np.full(5000, world.rank, np.float32)
            submit(world, form, "all_reduce", x, **given)
            assert (x == world.size * (world.size - 1) / 2).all()
    with world.plan.all_reduce(np.ones(5000), algorithm="ring") as plan:
        assert plan.algorithm.startswith("ring")
    for op, expected in (
        ("prod", 2**world.size),
        ("average", 2),
        ("and", True),
        ("or", True),
        ("xor", world.size % 2),
        ("bit_and", 2),
        ("bit_or", 2),
        ("bit_xor", 2 * (world.size % 2)),
    ):
        value = 1 if op in ("and", "or", "xor") else 2
        x = np.full(3, value, np.int32 if op != "average" else np.float32)
        assert (world.all_reduce(x, op=op) == expected).all(), op


@sizes
def test_options(size: int) -> None:
    ranks.run(size, check_options)


def check_tcp(world: tutti.Communicator, port: int) -> None:
    with tutti.init(f"tcp://localhost:{port}", transport="tcp", tuning="none") as other:
        assert "tcp" in other.describe().lower()
        check_vectors(other, "blocking")
        check_messages(other, "start")
        assert not other.empty(3).is_visible


def test_tcp() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    ranks.run(2, check_tcp, port)


MPI_PROGRAM = """
from mpi4py import MPI
import tutti
with tutti.init(MPI.COMM_WORLD, tuning="none") as world:
    assert (world.rank, world.size) == (MPI.COMM_WORLD.rank, 2) and "mpi4py" in world.describe()
    assert world.all_reduce(world.rank) == 1
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
def test_mpi4py() -> None:
    pytest.importorskip("mpi4py")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", MPI_PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
