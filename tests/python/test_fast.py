"""The extension tutti._fast: it gives what the general way gives, or leaves the call to it."""

from __future__ import annotations

import array
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import ranks
import tutti

pytest.importorskip("tutti._fast")
from tutti import _fast  # noqa: E402

sizes = pytest.mark.parametrize("size", [1, 2, 3])
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def quick_of(world: tutti.Communicator) -> Any:
    assert isinstance(world._fast, _fast.Calls)
    return world._fast


def check_dtypes(world: tutti.Communicator) -> None:
    quick = quick_of(world)
    for dtype in DTYPES:
        for shape in ((), (1,), (3, 5), (1000,), (0,)):
            x = np.asarray((np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 + world.rank).astype(dtype))
            expected = sum((x - world.rank + rank for rank in range(world.size)), np.zeros_like(x)).astype(dtype)
            out = np.empty_like(x)
            assert quick.all_reduce(x, out, "sum") is out
            assert (out == expected).all(), dtype
            assert quick.all_reduce(x, None, "sum") is x
            assert (x == expected).all(), dtype
    mask = np.array([world.rank == 0, False, True])
    assert quick.all_reduce(mask, None, "sum") is mask
    assert mask.tolist() == [True, False, True]


def check_calls(world: tutti.Communicator) -> None:
    quick = quick_of(world)
    rank, size = world.rank, world.size
    x = np.full(4, rank + 1.0)
    assert quick.all_reduce(x, None, "max") is x and (x == size).all()
    x[:] = rank
    assert quick.broadcast(x, size - 1) is x and (x == size - 1).all()
    blocks = np.empty((size, 2))
    assert quick.all_gather(np.full(2, float(rank)), blocks) is blocks
    assert (blocks == np.arange(size)[:, None]).all()
    block = np.empty(2)
    assert quick.reduce_scatter(blocks, block, "sum") is block and (block == rank * size).all()
    assert quick.barrier() is None
    message = array.array("i", [rank] * 3)
    if size > 1 and rank == 0:
        assert quick.send(message, 1, 5) is None
    if rank == 1:
        assert quick.recv(message, 0, 5) is message and message.tolist() == [0, 0, 0]
    request = world.start.all_reduce(x)
    assert quick.wait(request._handle) is True
    assert quick.test(request._handle) is True
    assert request.wait() is x


def check_general_way(world: tutti.Communicator) -> None:
    quick = quick_of(world)
    x = np.ones((4, 4))
    frozen = np.ones(4)
    frozen.flags.writeable = False
    for wrong in (1.5, [1.0], None, x[:, 1:], x.T, x.astype(">f8"), np.ones(2, "f8,i4"), frozen, np.ones(2, "g"), b"abc"):
        assert quick.all_reduce(wrong, None, "sum") is NotImplemented
    assert quick.all_reduce(x, np.ones(16, np.float32), "sum") is NotImplemented, "another type"
    assert quick.all_reduce(x, np.ones(15), "sum") is NotImplemented, "another count"
    assert quick.all_reduce(x, None, "mean") is NotImplemented
    assert quick.all_reduce(x, None, np.add) is NotImplemented
    assert quick.all_gather(x, None) is NotImplemented
    assert quick.broadcast(x, "0") is NotImplemented
    assert quick.recv(x, -1, 0) is NotImplemented, "any source"
    with tutti.batch():
        assert quick.barrier() is NotImplemented
    with world._handle.turn:
        assert quick.barrier() is NotImplemented, "a call within a call"
    with pytest.raises(TypeError):
        quick.all_reduce(x)
    with pytest.raises(tutti.ArgumentError, match="all_reduce"):
        world.all_reduce(x, np.ones(15))
    assert (x == 1).all()
    world.barrier()
    other = world.group(range(world.size))
    closed = quick_of(other)
    other.close()
    assert closed.barrier() is NotImplemented
    with pytest.raises(tutti.ArgumentError, match="closed"):
        other.barrier()


def check_visible(world: tutti.Communicator) -> None:
    """Ranks that take different ways make the same call: visible memory is visible in both."""
    memory = world.empty(5000)
    x = np.asarray(memory)
    for is_quick in (True, False):
        x[:] = world.rank
        if world.rank == 1 or not is_quick:
            world.all_reduce(x, timeout=20)
        else:
            world.all_reduce(x)
        assert (x == world.size * (world.size - 1) // 2).all()
    sent = np.ones(5000, np.float32)
    world.all_reduce(sent)
    assert (sent == world.size).all()


@sizes
@pytest.mark.parametrize("check", [check_dtypes, check_calls, check_general_way, check_visible])
def test_on_ranks(size: int, check: Any) -> None:
    ranks.run(size, check)


def interrupted(world: tutti.Communicator) -> tuple[str, float]:
    if world.rank == 1:
        time.sleep(0.6)  # rank 0 waits meanwhile
        try:
            world.barrier()
        except tutti.AbortedError as error:
            return f"rank {error.rank}", 0.0
        return "nothing", 0.0
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        quick_of(world).all_reduce(np.ones(3), None, "sum")
    except KeyboardInterrupt:
        return "interrupted", time.monotonic() - start
    return "nothing", 0.0


def test_ctrl_c() -> None:
    (good, (first, seconds)), (other_good, (second, _)) = ranks.answers(2, interrupted)
    assert good and other_good
    assert first == "interrupted" and second == "rank 0"
    assert seconds < 10


def failed(world: tutti.Communicator) -> str:
    try:
        quick_of(world).all_reduce(np.ones(1 + world.rank), None, "sum")
    except tutti.MismatchError as error:
        return error.code
    return "nothing"


def test_errors() -> None:
    assert ranks.answers(2, failed) == [(True, "mismatch")] * 2


def shared(world: tutti.Communicator) -> None:
    """Threads take turns. While one waits for another rank, the other threads' calls go on."""
    results: list[float] = []

    def call(parity: int) -> None:
        for _ in range(200):
            x = np.ones(1)
            world.all_reduce(x)
            results.append(x[0])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [world.size] * 600


@sizes
def test_threads(size: int) -> None:
    ranks.run(size, shared)


def test_turns_are_exclusive_and_fair() -> None:
    turn = _fast.Turn()
    order: list[str] = []
    with turn:
        with turn:  # the same thread
            assert turn.slice > 0
        thread = threading.Thread(target=lambda: [turn.__enter__(), order.append("other"), turn.__exit__()])
        thread.start()
        time.sleep(0.1)
        assert order == []
    with turn:
        order.append("own")
    thread.join()
    assert order == ["other", "own"]
    assert _fast.Turn().keep(0.01) is True
    kept = _fast.Turn()
    assert kept.keep(1) and kept.keep(1), "by the same thread"
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(kept.keep(0.01)))
    thread.start()
    thread.join()
    assert results == [False]


def torch_tensors(world: tutti.Communicator) -> None:
    import torch

    quick = quick_of(world)
    for name in ("int8", "int64", "float16", "bfloat16", "float32", "float64", "uint8"):
        x = torch.ones(3, 4, dtype=getattr(torch, name)) * (world.rank + 1)
        assert quick.all_reduce(x, None, "sum") is x, name
        assert (x == world.size * (world.size + 1) // 2).all(), name
    x = torch.ones(4, 4)
    assert quick.all_reduce(x[:, 1:], None, "sum") is NotImplemented
    assert quick.all_reduce(x.t(), None, "sum") is NotImplemented
    assert quick.all_reduce(x[1:3], None, "sum") is not NotImplemented
    assert x[0, 0] == 1 and x[1, 0] == world.size
    weights = torch.ones(3, requires_grad=True)
    assert quick.all_reduce(weights, None, "sum") is NotImplemented
    assert quick.broadcast(torch.nn.Parameter(torch.ones(2)), 0) is NotImplemented, "a subclass"
    world.barrier()


@sizes
def test_torch(size: int) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch has no exchange table")
    ranks.run(size, torch_tensors, timeout=300)


