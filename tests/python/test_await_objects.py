"""Requests of objects in an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any, Awaitable

import numpy as np
import pytest

import ranks
import tutti

PATIENCE = 50  # seconds for what must happen


async def awaited(request: Awaitable[Any]) -> Any:
    return await request


def check_all_calls(world: tutti.Communicator, codec: Any) -> None:
    rank, size = world.rank, world.size

    async def work() -> None:
        start = world.objects.start
        large = np.arange(300_000) + rank  # of 2.4 MB
        assert await start.broadcast({"rank": rank}, root=size - 1, codec=codec) == {"rank": size - 1}
        rows = [[rank, r] for r in range(size)]
        assert await start.scatter(rows, codec=codec) == [0, rank]
        assert await start.gather(rank, codec=codec) == (list(range(size)) if rank == 0 else None)
        everything = await start.all_gather(large, codec=codec)
        assert [(array == np.arange(300_000) + r).all() for r, array in enumerate(everything)] == [True] * size
        assert await start.all_to_all(rows, codec=codec) == [[r, rank] for r in range(size)]
        right, left = (rank + 1) % size, (rank - 1) % size
        sent, got = await asyncio.gather(start.send(large, right, codec=codec), start.recv(left, codec=codec))
        assert sent is None and (got == np.arange(300_000) + left).all()
        several = await asyncio.gather(*(start.all_gather(i + rank) for i in range(100)), world.start.all_reduce(rank))
        assert several == [[i + r for r in range(size)] for i in range(100)] + [size * (size - 1) // 2]

    asyncio.run(work())


@pytest.mark.parametrize("codec", ["pickle", "data"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_calls(size: int, codec: str) -> None:
    ranks.run(size, check_all_calls, codec)


def check_a_late_rank(world: tutti.Communicator) -> None:
    """Other tasks run meanwhile, and the request is looked at only when its notice has come."""
    looks = 0

    async def work() -> None:
        nonlocal looks
        request = world.objects.start.all_gather("x" * 100_000)
        test = request.test

        def counted() -> bool:
            nonlocal looks
            looks += 1
            return test()

        request.test = counted  # type: ignore[method-assign]
        steps = 0
        task = asyncio.create_task(awaited(request))
        while not task.done():
            steps += 1
            if steps == 50 and world.rank == 1:
                world.send(1, 0)  # rank 0 sleeps until then
            await asyncio.sleep(0.001)
        assert await task == ["x" * 100_000] * world.size
        assert steps >= 50 and await request == await request  # ended ones too

    if world.rank == 0:
        out = np.zeros(1, np.int64)
        world.recv(out, 1)
        assert world.objects.all_gather("x" * 100_000) == ["x" * 100_000] * world.size
        return
    asyncio.run(work())
    assert looks <= 4


def test_a_late_rank() -> None:
    ranks.run(2, check_a_late_rank)


def check_a_wait_that_is_cancelled(world: tutti.Communicator) -> None:
    async def work() -> None:
        request = world.objects.start.recv(world.rank)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(request, 0.05)
        task = asyncio.create_task(awaited(request))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        files = len(os.listdir("/proc/self/fd"))
        both = [asyncio.create_task(awaited(request)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in both)
        world.objects.start.send([1, 2], world.rank).wait()
        assert await asyncio.wait_for(asyncio.gather(*both), PATIENCE) == [[1, 2]] * 2
        assert len(os.listdir("/proc/self/fd")) == files

    asyncio.run(work())
    assert world.all_reduce(1) == world.size


def test_a_wait_that_is_cancelled() -> None:
    ranks.run(2, check_a_wait_that_is_cancelled)


def check_errors(world: tutti.Communicator) -> None:
    async def work() -> None:
        start = world.objects.start
        with pytest.raises(tutti.ObjectError, match="rank 1 could not encode"):
            await start.all_gather(threading.Lock() if world.rank == 1 else 1)
        with pytest.raises(tutti.ObjectError, match="codec|type"):
            await start.all_gather(1, codec="data" if world.rank == 1 else "pickle")
        assert await start.all_gather(1) == [1, 1]
        request = start.recv(1 - world.rank, tag=3, timeout=0.2)
        for _ in range(2):
            with pytest.raises(tutti.TimeoutError, match="timed out"):
                await request

    asyncio.run(work())


def test_errors() -> None:
    ranks.run(2, check_errors)


def check_a_rank_that_gives_up(world: tutti.Communicator) -> None:
    async def work() -> None:
        request = world.objects.start.all_gather(1)
        task = asyncio.create_task(awaited(request))
        await asyncio.sleep(0.05)
        world.send(1, 0)
        with pytest.raises(tutti.AbortedError) as raised:
            await asyncio.wait_for(task, PATIENCE)
        assert raised.value.rank == 0

    if world.rank == 1:
        asyncio.run(work())
        return
    world.recv(np.zeros(1, np.int64), 1)
    world.objects.start.recv(1).close()  # a message that never comes


def test_a_rank_that_gives_up() -> None:
    ranks.run(2, check_a_rank_that_gives_up)


def check_other_threads_and_operators(world: tutti.Communicator) -> None:
    async def wait_in_a_thread() -> None:
        request = world.objects.start.recv(world.rank)
        task = asyncio.create_task(awaited(request))
        await asyncio.sleep(0.05)
        thread = threading.Thread(target=request.wait)
        thread.start()
        world.objects.start.send("x", world.rank).wait()
        assert await asyncio.wait_for(task, PATIENCE) == "x"
        thread.join()

    async def run_an_operator() -> None:
        add = tutti.operator(np.add, commutative=True)
        early = asyncio.create_task(awaited(world.objects.start.recv(world.rank)))
        await asyncio.sleep(0.05)
        assert world.all_reduce(1, op=add) == world.size  # withdraws the notice
        late = asyncio.create_task(awaited(world.objects.start.recv(world.rank, tag=1)))
        await asyncio.sleep(0.05)
        world.objects.send("early", world.rank)
        world.objects.send("late", world.rank, tag=1)
        assert await asyncio.wait_for(asyncio.gather(early, late), PATIENCE) == ["early", "late"]

    asyncio.run(wait_in_a_thread())
    asyncio.run(run_an_operator())


def test_other_threads_and_operators() -> None:
    ranks.run(2, check_other_threads_and_operators)


def check_a_request_that_is_closed(world: tutti.Communicator) -> None:
    async def work() -> None:
        request = world.objects.start.recv(0)
        task = asyncio.create_task(awaited(request))
        await asyncio.sleep(0.05)
        request.close()
        with pytest.raises(tutti.ArgumentError, match="this call is closed"):
            await asyncio.wait_for(task, PATIENCE)

    asyncio.run(work())


def test_a_request_that_is_closed() -> None:
    ranks.run(1, check_a_request_that_is_closed)


def check_progress_without_calls(world: tutti.Communicator) -> None:
    """Rank 1 sends large bytes, and its event loop sleeps meanwhile."""
    if world.rank == 0:
        time.sleep(0.1)
        assert world.objects.recv(1) == bytes(5_000_000)
        world.objects.send("got it", 1)
        return

    async def work() -> str:
        sent = asyncio.create_task(awaited(world.objects.start.send(bytes(5_000_000), 0)))
        answer: str = await world.objects.start.recv(0)
        await sent
        return answer

    assert asyncio.run(work()) == "got it"


def test_progress_without_calls() -> None:
    ranks.run(2, check_progress_without_calls)
