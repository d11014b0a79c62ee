"""Requests: waiting, awaiting, several at once, several threads."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import ranks
import tutti
from tutti import operators


def check_waits(world: tutti.Communicator) -> None:
    if world.rank == 0:
        time.sleep(0.3)
    request = world.start.all_reduce(np.ones(3))
    assert "pending" in repr(request)
    if world.rank == 1:
        text = "all_reduce has not ended after 0.02 s; wait again for it"
        with pytest.raises(tutti.TimeoutError, match=text) as caught:
            request.wait(0.02)
        assert caught.value.rank == -1
        assert not request.test()
        assert "all_reduce" in world.waits() or world.waits() == ""
    assert (request.wait() == world.size).all()
    assert request.test() and (request.wait() == world.size).all()
    assert "ended" in repr(request)


def test_waits() -> None:
    ranks.run(2, check_waits)


def check_arrays_are_kept(world: tutti.Communicator) -> None:
    requests = []
    for _ in range(20):
        requests.append(world.start.all_reduce(np.ones(1000), np.empty(1000)))
        gc.collect()
    assert all((result == world.size).all() for result in tutti.wait_all(requests))


def test_arrays_are_kept() -> None:
    ranks.run(2, check_arrays_are_kept)


def check_wait_all(world: tutti.Communicator) -> None:
    other = world.group(range(world.size), 1)
    order = [world, other] if world.rank == 0 else [other, world]
    requests = [communicator.start.all_reduce(world.rank) for communicator in order]
    requests += [communicator.start.all_reduce(np.ones(2)) for communicator in order]
    results = tutti.wait_all(requests)
    assert results[:2] == [1, 1] and (results[3] == 2).all()
    assert tutti.wait_all([]) == []
    out = np.zeros(3)
    if world.rank == 0:
        failing = other.start.recv(out, 1, timeout=0.1)
        fine = world.start.recv(out.copy(), 1)
        with pytest.raises(tutti.TimeoutError):
            tutti.wait_all([failing, fine])
        assert fine.test()
        with pytest.raises(tutti.TimeoutError):
            failing.test()
        with pytest.raises(tutti.TimeoutError):
            failing.wait()
    else:
        time.sleep(0.3)
        world.send(out, 0)
    world.barrier()


def test_wait_all() -> None:
    ranks.run(2, check_wait_all)


def check_wait_any(world: tutti.Communicator) -> None:
    other = world.split(0)
    if world.rank == 0:
        places = [np.zeros(1) for _ in range(3)]
        requests = [group.start.recv(x, 1, tag=i) for i, (group, x) in enumerate(zip([world, other, world], places))]
        for expected in (1, 2, 0):
            left = [request for request, x in zip(requests, places) if not x[0]]
            found = tutti.wait_any(left)
            assert left[found] is requests[expected] and places[expected][0] == expected + 1
            world.send(np.ones(1), 1, tag=9)
        assert tutti.wait_any(requests) == 0, "an ended request is found again"
        with pytest.raises(tutti.ArgumentError, match="wait_any: there is no request"):
            tutti.wait_any([])
    else:
        for i, group in ((1, other), (2, world), (0, world)):
            group.send(np.full(1, i + 1.0), 0, tag=i)
            world.recv(np.zeros(1), 0, tag=9)
    world.barrier()


def check_wait_any_that_fails(world: tutti.Communicator) -> None:
    if world.rank == 0:
        group = world.group([0])
        waiting = world.start.recv(np.zeros(1), 1)
        failing = group.start.recv(np.zeros(1), 0, timeout=0.1)
        with pytest.raises(tutti.TimeoutError, match="recv from rank 0 of 8 bytes with tag 0 timed out"):
            tutti.wait_any([waiting, failing])
        world.send(np.zeros(1), 1)
        assert tutti.wait_any([waiting]) == 0
    else:
        world.recv(np.zeros(1), 0)
        world.send(np.zeros(1), 0)


@pytest.mark.parametrize("check", [check_wait_any, check_wait_any_that_fails])
def test_wait_any(check: Any) -> None:
    ranks.run(2, check)


def check_await(world: tutti.Communicator) -> None:
    async def work() -> None:
        steps = 0
        is_done = False

        async def count() -> None:
            nonlocal steps
            while not is_done:
                steps += 1
                await asyncio.sleep(0.001)

        task = asyncio.create_task(count())
        if world.rank == 0:
            await asyncio.sleep(0.2)
        result = await world.start.all_reduce(np.ones(3))
        assert (result == world.size).all()
        assert await world.start.all_reduce(world.rank) == 1
        results = await asyncio.gather(*(awaited(world.start.all_reduce(i)) for i in range(5)))
        assert results == [2 * i for i in range(5)]
        is_done = True
        await task
        assert steps > 10
        request = world.start.recv(np.zeros(1), world.rank)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(request, 0.05)
        world.send(np.ones(1), world.rank)
        assert (await request)[0] == 1  # a wait that is cancelled fails nothing
        maximum = tutti.operator(np.maximum, commutative=True)
        assert await world.start.all_reduce(world.rank, op=maximum) == 1
        if world.rank == 0:
            with pytest.raises(tutti.TimeoutError):
                await world.start.recv(np.ones(3), 1, timeout=0.1)

    async def awaited(request: tutti.Request[Any]) -> Any:
        return await request

    asyncio.run(work())


def test_await() -> None:
    ranks.run(2, check_await)


def check_two_await_one_request(world: tutti.Communicator) -> None:
    async def awaited(request: tutti.Request[Any]) -> Any:
        return await request

    async def work() -> list[Any]:
        request = world.start.recv(np.zeros(1), world.rank)
        both = asyncio.gather(*(asyncio.create_task(awaited(request)) for _ in range(2)))
        await asyncio.sleep(0.05)
        world.send(np.ones(1), world.rank)
        return await asyncio.wait_for(both, 20)

    assert [result[0] for result in asyncio.run(work())] == [1, 1]


def test_two_await_one_request() -> None:
    ranks.run(1, check_two_await_one_request)


def check_operators_run_in_the_waiting_thread(world: tutti.Communicator) -> None:
    """Though a thread of tutti runs calls that are awaited."""
    other = 1 - world.rank
    threads = set()

    def add(a: Any, b: Any) -> Any:
        threads.add(threading.get_ident())
        return a + b

    def reduce() -> None:
        request = world.start.all_reduce(np.ones(3), op=tutti.operator(add, commutative=True))
        time.sleep(0.2)  # in which a thread of tutti could run it
        assert (request.wait() == 2).all()

    async def awaited(request: tutti.Request[Any]) -> Any:
        return await request

    async def work() -> None:
        await world.start.barrier()  # from now on there is such a thread
        message = asyncio.create_task(awaited(world.start.recv(np.zeros(1), other)))
        await asyncio.sleep(0.05)
        reduce()
        world.send(np.ones(1), other)
        assert (await asyncio.wait_for(message, 20))[0] == 1  # without a notice

    asyncio.run(work())
    assert threads == {threading.get_ident()}


def test_operators_run_in_the_waiting_thread() -> None:
    ranks.run(2, check_operators_run_in_the_waiting_thread)


def check_threads(world: tutti.Communicator) -> None:
    """Each thread exchanges messages of its own tag, on one communicator."""
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    failures = []

    def work(tag: int) -> None:
        try:
            out = np.zeros(4)
            for i in range(50):
                world.sendrecv(np.full(4, 100.0 * tag + i), right, out, left, tag=tag)
                assert (out == 100 * tag + i).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(tag,)) for tag in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads() -> None:
    ranks.run(2, check_threads)


def check_a_waiting_thread_lets_others_call(world: tutti.Communicator) -> None:
    out = np.zeros(1)
    thread = threading.Thread(target=lambda: world.recv(out, 1 - world.rank, tag=7))
    thread.start()
    time.sleep(0.1)
    begin = time.monotonic()
    for _ in range(20):
        world.all_reduce(1)
    assert time.monotonic() - begin < ranks.AMPLE
    world.send(np.ones(1), 1 - world.rank, tag=7)
    thread.join()
    assert out[0] == 1


def test_a_waiting_thread_lets_others_call() -> None:
    ranks.run(2, check_a_waiting_thread_lets_others_call)


def check_operators(world: tutti.Communicator) -> None:
    product = tutti.operator(lambda a, b: a * b, commutative=True)
    x = np.full((2, 3), 2.0)
    world.all_reduce(x, op=product)
    assert (x == 2**world.size).all()
    assert world.all_reduce(3, op=product) == 3**world.size
    assert world.scan(np.float32(2), op=product) == 2 ** (world.rank + 1)
    first = tutti.operator(lambda a, b: a, commutative=False)
    last = tutti.operator(lambda a, b: b, commutative=False)
    assert (world.all_reduce(world.rank, op=first), world.all_reduce(world.rank, op=last)) == (0, world.size - 1)
    result = world.start.reduce(world.rank, op=tutti.operator(np.maximum, commutative=True)).wait()
    assert result == (world.size - 1 if world.rank == 0 else None)
    kind = np.dtype([("a", "<i4"), ("b", "<f8")])
    pair = np.zeros(4, kind)
    pair["a"], pair["b"] = world.rank, -world.rank

    def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        p, q = a.view(kind), b.view(kind)
        return np.where(p["a"] >= q["a"], p, q).view(a.dtype)

    world.all_reduce(pair, op=tutti.operator(larger, commutative=True))
    assert (pair["a"] == world.size - 1).all() and (pair["b"] == 1 - world.size).all()
    with world.plan.all_reduce(x, op=product) as plan:
        x[:] = 3
        plan.start().wait()
        assert (x == 3**world.size).all()
    with pytest.raises(tutti.ArgumentError, match="an operator needs a function"):
        tutti.operator(3, commutative=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_operators(size: int) -> None:
    ranks.run(size, check_operators)


def check_fresh_operators_are_not_kept(world: tutti.Communicator) -> None:
    class Sum:
        def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return a + b

    def make() -> tuple[tutti.Operator, weakref.ref[Sum]]:
        function = Sum()
        return tutti.operator(function, commutative=True), weakref.ref(function)

    gc.collect()  # other tests' operators, which errors keep in cycles
    kept = len(operators._functions)
    x = np.ones(2)
    for _ in range(3):
        op, function = make()
        world.all_reduce(x, op=op)
        request = world.start.all_reduce(x, op=op)
        del op
        assert function() is not None, "a call under way holds its operator"
        request.wait()
        del request
        assert function() is None
    op, function = make()
    with world.plan.all_reduce(x, op=op) as plan:
        del op
        plan.start().wait()
        assert function() is not None
    del plan
    assert function() is None
    assert len(operators._functions) == kept


@pytest.mark.parametrize("size", [1, 2])
def test_fresh_operators_are_not_kept(size: int) -> None:
    ranks.run(size, check_fresh_operators_are_not_kept)


def own_failure(world: tutti.Communicator) -> bool:
    """Whether the error is that of this rank's operator: another rank may have failed before it ran."""

    def fail(a: Any, b: Any) -> Any:
        raise KeyError("an operator fails")

    with pytest.raises((KeyError, tutti.AbortedError)) as caught:
        world.all_reduce(np.ones(3), op=tutti.operator(fail, commutative=True))
    if caught.type is KeyError:
        assert caught.value.__cause__.rank in (0, 1)  # the other may have failed before
        return True
    assert caught.value.rank == 1 - world.rank
    assert "a user's operator failed: KeyError: 'an operator fails'" in str(caught.value)
    return False


def test_failing_operator() -> None:
    assert any(ranks.run(2, own_failure))


def check_operator_that_fails_on_one_rank(world: tutti.Communicator) -> None:
    """Rank 0 needs a part that rank 1 reduces."""

    def fail(a: Any, b: Any) -> Any:
        if world.rank == 1:
            raise KeyError("an operator fails")
        return a

    with pytest.raises(KeyError if world.rank == 1 else tutti.AbortedError, match="an operator fails"):
        world.all_reduce(np.ones(30), op=tutti.operator(fail, commutative=True), algorithm="direct")
    with pytest.raises(tutti.AbortedError, match="on rank 1: a user's operator failed: KeyError") as later:
        world.barrier()
    assert later.value.rank == 1


def test_operator_that_fails_on_one_rank() -> None:
    ranks.run(2, check_operator_that_fails_on_one_rank)


def check_operators_are_released(world: tutti.Communicator) -> None:
    from tutti.operators import _functions

    with world.group(range(world.size)) as group:
        for _ in range(10):
            group.all_reduce(np.ones(2), op=tutti.operator(lambda a, b: a + b, commutative=True))
    gc.collect()
    assert not _functions


def test_operators_are_released() -> None:
    ranks.run(2, check_operators_are_released)


def check_progress_thread(world: tutti.Communicator) -> None:
    with tutti.init(rank=0, size=1, tuning="none", progress_thread=True) as other:
        with pytest.raises(tutti.ArgumentError, match="progress_thread"):
            other.all_reduce(np.ones(2), op=tutti.operator(np.add, commutative=True))
        assert other.start.all_reduce(2).wait() == 2


def test_progress_thread() -> None:
    ranks.run(1, check_progress_thread)
