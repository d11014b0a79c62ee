"""Calls on arrays of GPUs: on real ones, or on the stand-ins for the CUDA driver and NCCL. A rank has a GPU of its own;
over the host ranks may share one."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any, Callable

import numpy
import pytest
from ranks import answers, run

import gpu
import tutti

try:
    GPUS = gpu.count()
except (OSError, AssertionError):
    GPUS = 0
TRANSPORTS = ["host"] if GPUS < 2 else ["nccl", "host"]

pytestmark = pytest.mark.skipif(GPUS == 0, reason="there is no GPU, nor a stand-in for one")


def attached(world: tutti.Communicator, transport: Any, **options: Any) -> tuple[gpu.Driver, gpu.Stream]:
    device = world.rank % gpu.count()
    driver = gpu.driver(device)
    tutti.cuda.attach(world, transport=transport, **options)
    return driver, gpu.Stream(driver)


def reduce_all(world: tutti.Communicator, transport: str) -> None:
    driver, stream = attached(world, transport)
    for count in 1, 1000, 100_000:
        for dtype in "float32", "int64", "complex64":
            x = gpu.Array(driver, numpy.full(count, world.rank + 1, dtype), stream)
            out = gpu.Array(driver, numpy.zeros(count, dtype), stream)
            assert world.all_reduce(x, out) is out
            world.all_reduce(out, op="prod" if dtype == "int64" else "sum", algorithm="ring")
            tutti.cuda.wait(world, stream)
            once = world.size * (world.size + 1) // 2
            expected = once**world.size if dtype == "int64" else once * world.size
            assert (out.get() == numpy.full(count, expected, dtype)).all()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_all_reduce(transport: str) -> None:
    run(3, reduce_all, transport)


def run_others(world: tutti.Communicator, transport: str) -> None:
    driver, stream = attached(world, transport)
    rank, size = world.rank, world.size

    def array(*values: int) -> gpu.Array:
        return gpu.Array(driver, numpy.array(values, "int32"), stream)

    def check(result: gpu.Array, *expected: int) -> None:
        assert result.get().tolist() == list(expected)

    check(world.broadcast(array(rank, rank), root=1), 1, 1)
    check(world.all_gather(array(rank), array(*[0] * size)), *range(size))
    check(world.reduce_scatter(array(*range(size)), array(0)), size * rank)
    check(world.scan(array(1)), rank + 1)
    check(world.all_to_all(array(*[rank] * size), array(*[0] * size)), *range(size))
    gathered = world.gather(array(rank), array(*[0] * size) if rank == 0 else None)
    if rank == 0:
        check(gathered, *range(size))
    check(world.scatter(array(*range(size)) if rank == 0 else None, array(-1)), rank)
    world.barrier(stream=stream)
    request = world.start.all_reduce(array(rank))
    check(request.wait(), sum(range(size)))
    x = array(0)
    plan = world.plan.all_reduce(x)
    for _ in range(3):
        plan.start()
        plan.wait()
    check(x, 0)
    with tutti.batch():
        to = array(-1)
        world.send(array(rank), (rank + 1) % size)
        world.recv(to, (rank - 1) % size)
    check(to, (rank - 1) % size)
    half = world.split(rank % 2)
    assert half is not None
    check(half.all_reduce(array(1)), half.size)
    assert world.all_reduce(1) == size  # numbers stay on the host


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_other_calls(transport: str) -> None:
    run(3, run_others, transport)


def use_memory(world: tutti.Communicator, transport: str, visible: bool) -> None:
    driver, stream = attached(world, transport, visible=visible)
    memory = tutti.cuda.empty(world, (10, 100), "float32")
    assert repr(memory) == "<tutti.cuda.DeviceMemory of shape (10, 100), float32>"
    interface = memory.__cuda_array_interface__
    assert (interface["shape"], interface["typestr"]) == ((10, 100), "<f4")
    assert (gpu.read(driver, memory.address, (10, 100), "<f4", stream) == 0).all()
    ones = gpu.Array(driver, numpy.full(1000, world.rank, "float32"), stream)
    world.all_reduce(ones, memory, stream=stream)
    world.all_reduce(memory, stream=stream, visible=visible)
    tutti.cuda.wait(world, stream)
    expected = world.size * sum(range(world.size))
    assert (gpu.read(driver, memory.address, 1000, "<f4", stream) == expected).all()
    assert tutti.cuda.empty(world, 0).shape == (0,)
    with pytest.raises(tutti.ArgumentError, match="uint16"):
        tutti.cuda.empty(world, 1, "bfloat16")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("visible", [False, True])
def test_memory(transport: str, visible: bool) -> None:
    run(2, use_memory, transport, visible)


def train(world: tutti.Communicator, transport: str, storage: Any) -> None:
    driver, stream = attached(world, transport)
    w, b = (gpu.Array(driver, numpy.zeros(count, "float32"), stream) for count in (1000, 3))
    with tutti.GradientSync(world, {"w": w, "b": b}, storage=storage, stream=stream) as sync:
        for step in range(1, 4):
            for name, own in ("b", b), ("w", w):
                count = 1000 if name == "w" else 3
                value = gpu.Array(driver, numpy.full(count, step * world.rank, "float32"), stream)
                to = sync.view(name).address if storage == "views" else own.address
                value._copy(to, value.address, 4 * count)
                sync.ready(name)
            assert sync.wait().active == world.size
            sync.synchronize()
            to = sync.view("w").address if storage == "views" else w.address
            mean = step * (world.size - 1) / 2
            assert (gpu.read(driver, to, 1000, "<f4", stream) == mean).all()


@pytest.mark.parametrize("storage", ["copies", "views"])
def test_gradients(storage: str) -> None:
    run(2, train, TRANSPORTS[0], storage)


def be_wrong(world: tutti.Communicator) -> None:
    driver = gpu.driver(world.rank % gpu.count())
    stream = gpu.Stream(driver)
    x = gpu.Array(driver, numpy.ones(4, "float32"), stream)
    with pytest.raises(tutti.ArgumentError, match=r"tutti\.cuda\.attach"):
        world.all_reduce(x)
    with pytest.raises(tutti.ArgumentError, match=r"tutti\.cuda\.attach"):
        tutti.cuda.empty(world, 4)
    with pytest.raises(tutti.ArgumentError, match=r"tutti\.cuda\.attach"):
        tutti.GradientSync(world, {"w": x})
    with pytest.raises(tutti.ArgumentError, match="do not go by 'mpi'"):
        tutti.cuda.attach(world, transport="mpi")  # type: ignore[arg-type]
    tutti.cuda.attach(world, transport="host")
    with pytest.raises(tutti.ArgumentError):
        tutti.cuda.attach(world, transport="host")
    with pytest.raises(tutti.ArgumentError, match="lies in memory of the host|does not see"):
        world.all_reduce(numpy.ones(4, "float32"), stream=stream)
    with pytest.raises(tutti.ArgumentError, match="one of x and out lies on a GPU"):
        world.all_reduce(x, numpy.ones(4, "float32"))
    with pytest.raises(tutti.ArgumentError, match="timeout"):
        tutti.cuda.wait(world, timeout=0)
    assert (world.all_reduce(x).get() == world.size).all()


def test_errors() -> None:
    run(2, be_wrong)


def lack(world: tutti.Communicator) -> str:
    with pytest.raises(tutti.ArgumentError) as caught:
        tutti.cuda.attach(world, 10_000 if world.rank == 1 else 0, transport="host")
    return str(caught.value)


def test_a_rank_without_its_gpu() -> None:
    texts = run(2, lack)
    assert all("rank 1 cannot attach a GPU: there is no GPU 10000" in text for text in texts), texts


def be_interrupted(world: tutti.Communicator) -> str:
    driver, stream = attached(world, "host")
    x = gpu.Array(driver, numpy.ones(4, "float32"), stream)
    if world.rank == 0:
        world.all_reduce(x)
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            tutti.cuda.wait(world, stream)
        begin = time.monotonic()
        stream.synchronize()  # the stream goes on
        assert time.monotonic() - begin < 15
    with pytest.raises(tutti.Error) as caught:
        world.barrier()
    return f"{type(caught.value).__name__} {caught.value.rank}"


def test_ctrl_c_in_wait() -> None:
    assert [text for good, text in answers(2, be_interrupted) if good] == ["AbortedError 0"] * 2


def lose_a_rank(world: tutti.Communicator) -> Callable[[], None] | None:
    driver, stream = attached(world, "host")
    x = gpu.Array(driver, numpy.ones(100, "float32"), stream)
    if world.rank == 1:
        import os

        os._exit(1)
    world.all_reduce(x)
    with pytest.raises(tutti.PeerDeadError) as caught:
        tutti.cuda.wait(world, stream, timeout=30)
    assert caught.value.rank == 1
    return None


def test_a_rank_that_ends() -> None:
    results = answers(2, lose_a_rank)
    assert results[0][0] is True, results
