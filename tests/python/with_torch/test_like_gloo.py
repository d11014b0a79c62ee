"""Programs that work with Gloo, and errors where Gloo has them."""

from __future__ import annotations

import datetime
import inspect
import pathlib
import threading
import time
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import groups
import ranks
import tutti
from groups import full

backends = pytest.mark.parametrize("backend", ["gloo", "tutti"])
HAS_PREMUL_SUM = hasattr(dist, "_make_nccl_premul_sum")


def receive_of_any_rank(rank: int, size: int) -> None:
    """Receives are begun first, and messages come in another order than the ranks."""
    if rank > 0:
        for tag in (7, 8):
            if rank == 1:
                dist.recv(full(0), 2, tag=1)
            dist.send(full(10 * rank + tag), 0, tag=tag)
            if rank == 2:
                dist.send(full(0), 1, tag=1)
        answer = full(0)
        assert dist.recv(answer) == 0
        assert answer[0] == rank
        return
    for tag in (7, 8):
        tensors = [full(0) for _ in range(1, size)]
        works = [dist.irecv(x, tag=tag) for x in tensors]
        for work in works:
            work.wait()
        sources = [work._source_rank() for work in works]
        assert sorted(sources) == list(range(1, size))
        assert [float(x[0]) for x in tensors] == [10 * source + tag for source in sources]
    for peer in range(1, size):
        dist.send(full(peer), peer)


@backends
def test_messages_of_any_rank(backend: str) -> None:
    groups.run(3, receive_of_any_rank, backend=backend)


def receive_before_sending(rank: int, size: int) -> None:
    out = full(0)
    work = dist.irecv(out)
    dist.send(full(rank), 1 - rank)
    work.wait()
    assert out[0] == 1 - rank


@backends
def test_a_receive_of_any_rank_does_not_block(backend: str) -> None:
    groups.run(2, receive_before_sending, backend=backend)


def wait_for_nobody(rank: int, size: int) -> None:
    group: Any = dist.group.WORLD
    group.set_timeout(datetime.timedelta(seconds=0.2))
    work = group.recv_anysource([full(0)], 3)
    with pytest.raises(tutti.TimeoutError, match="recv of any rank timed out: no message of tag 3 came in 0.2 s"):
        work.wait()


def test_a_receive_of_any_rank_has_a_deadline() -> None:
    groups.run(2, wait_for_nobody)


def pass_a_barrier(rank: int, size: int) -> None:
    """A message of before the barrier needs one of after it."""
    if rank == 0:
        out = full(0)
        work = dist.irecv(out, 1)
        dist.barrier()
        dist.send(full(1), 1)
        work.wait()
        assert out[0] == 2
    else:
        dist.barrier()
        dist.recv(full(0), 0)
        dist.send(full(2), 0)


@backends
def test_a_barrier_leaves_messages_alone(backend: str) -> None:
    groups.run(2, pass_a_barrier, backend=backend)


def check_wrong_lists(rank: int, size: int) -> None:
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("all_gather: a list has 1 tensors, and must have 2", lambda: dist.all_gather([full(0, 8)], full(1))),
        ("reduce_scatter: a list has 1 tensors", lambda: dist.reduce_scatter(full(0), [full(1, 8)])),
        (
            "all_to_all_single: a tensor has 3 rows, which cannot be divided equally among 2 ranks",
            lambda: dist.all_to_all_single(torch.zeros(3, 2), torch.zeros(3, 2)),
        ),
        ("a tensor has 3 rows", lambda: dist.all_to_all_single(full(0, 4), full(0, 3), [2, 2], None)),
        ("a tag is 8191, and must be within 0 .. 8190", lambda: dist.isend(full(0), 1 - rank, tag=8191)),
        ("a tag is 8191", lambda: dist.irecv(full(0), 1 - rank, tag=8191)),
        ("a tag is -1", lambda: dist.irecv(full(0), tag=-1)),
    ]
    group: Any = dist.group.WORLD
    c10d: Any = dist.distributed_c10d
    right = [full(0, 2), full(0, 2)]
    calls += [  # each rank is the root
        (
            "scatter: tensor 0 of a list has 1 elements, and must have 2",
            lambda: group.scatter([full(0, 2)], [[full(1, 1), full(2, 3)]], _rooted(c10d.ScatterOptions(), rank)),
        ),
        (
            "scatter: a list has 1 tensors",
            lambda: group.scatter([full(0, 2)], [right[:1]], _rooted(c10d.ScatterOptions(), rank)),
        ),
        (
            "gather: tensor 1 of a list has 3 elements, and must have 2",
            lambda: group.gather([[full(1, 2), full(2, 3)]], [full(0, 2)], _rooted(c10d.GatherOptions(), rank)),
        ),
        (
            "gather: a list has 1 tensors",
            lambda: group.gather([right[:1]], [full(0, 2)], _rooted(c10d.GatherOptions(), rank)),
        ),
    ]
    for text, call in calls:
        with pytest.raises(tutti.ArgumentError, match=text):
            call()
    dist.barrier()  # nothing has happened


def _rooted(options: Any, root: int) -> Any:
    options.rootRank = root
    return options


def test_wrong_lists_are_errors() -> None:
    groups.run(2, check_wrong_lists)


def reduce_scaled(rank: int, size: int) -> None:
    op = dist._make_nccl_premul_sum(0.25)
    x = full(rank + 1)
    if not hasattr(op, "factor") and op.__getstate__() is None:
        with pytest.raises(tutti.ArgumentError, match="hides the factor of PREMUL_SUM"):
            dist.all_reduce(x, op=op)
        return
    dist.all_reduce(x, op=op)
    assert (x == 0.75).all()
    x = full(rank + 1)
    dist.reduce(x, 0, op=op)
    assert (x == (0.75 if rank == 0 else 2)).all()
    x, out = full(rank + 1, 8), full(0)
    dist.reduce_scatter(out, list(x.chunk(2)), op=op)
    assert (out == 0.75).all() and (x == rank + 1).all()
    out.zero_()
    getattr(dist, "reduce_scatter_tensor", dist._reduce_scatter_base)(out, x, op=op)
    assert (out == 0.75).all() and (x == rank + 1).all()


@pytest.mark.skipif(not HAS_PREMUL_SUM, reason="this PyTorch has no operator with a factor")
def test_sums_with_a_factor() -> None:
    groups.run(2, reduce_scaled)


def barrier_in(world: tutti.Communicator, path: str, seconds: float) -> None:
    """Rank 1 comes later than the group's timeout, and in time."""
    timeout = datetime.timedelta(seconds=1)
    dist.init_process_group("tutti", init_method=f"file://{path}", rank=world.rank, world_size=2, timeout=timeout)
    if world.rank == 1:
        time.sleep(3)
    groups.monitored_barrier(timeout=datetime.timedelta(seconds=seconds))
    dist.destroy_process_group()


def test_the_timeout_of_a_monitored_barrier_may_be_longer(tmp_path: pathlib.Path) -> None:
    ranks.run(2, barrier_in, str(tmp_path / "store"), 50.0)


def change_the_timeout(rank: int, size: int) -> None:
    group: Any = dist.group.WORLD
    set_timeout = dist.distributed_c10d._set_pg_timeout
    before = set_timeout if "group" in inspect.signature(set_timeout).parameters else None
    assert before is not None
    group.set_timeout(datetime.timedelta(seconds=7))
    backend = group._get_backend(torch.device("cpu"))
    assert group._timeout == backend._timeout == 7
    assert group._limit() == 7
    assert backend.options._timeout == datetime.timedelta(seconds=7)


def test_the_timeout_of_calls_from_cpp() -> None:
    if not hasattr(dist.distributed_c10d, "_set_pg_timeout"):
        pytest.skip("this PyTorch cannot change a group's timeout")
    groups.run(2, change_the_timeout)


def wait_within_backward(rank: int, size: int) -> None:
    """A hook of DistributedDataParallel waits for a future of its own, as PowerSGD's does."""
    model = torch.nn.Linear(3, 2)
    wrapped = DistributedDataParallel(model)

    def hook(_: object, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        first = dist.all_reduce(bucket.buffer().div_(size), async_op=True).get_future()

        def then(future: torch.futures.Future[Any]) -> torch.Tensor:
            again = dist.all_reduce(future.value()[0], async_op=True).get_future()
            result: torch.Tensor = again.wait()[0]
            return result

        return first.then(then)

    hook.__annotations__ = {}  # they are texts here, which DistributedDataParallel would compare
    wrapped.register_comm_hook(None, hook)
    for _ in range(3):
        wrapped.zero_grad()
        wrapped(torch.full((1, 3), rank + 1.0)).sum().backward()
        assert torch.allclose(model.weight.grad, torch.tensor(size * (size + 1) / 2))


def test_hooks_that_wait_within_backward() -> None:
    """Not with Gloo, whose threads wait for each other now and then in PyTorch 2.6."""
    groups.run(2, wait_within_backward)


def wait_in_another_way(rank: int, size: int, way: str) -> None:
    model = torch.nn.Linear(3, 2)
    wrapped = DistributedDataParallel(model)

    def half(future: torch.futures.Future[Any]) -> torch.Tensor:
        return future.value()[0] / size

    def hook(_: object, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        future = work.get_future()
        if way == "then":
            assert future.then(half).then(lambda done: done.value() + 1).wait()[0] == future.value()[0][0] / size + 1
        elif way == "wait_all":
            torch.futures.wait_all([future, future.then(half)])
        else:
            while not future.done():
                pass
        return future.then(half)

    hook.__annotations__ = {}
    wrapped.register_comm_hook(None, hook)
    wrapped(torch.full((1, 3), rank + 1.0)).sum().backward()
    assert torch.allclose(model.weight.grad, torch.tensor((size + 1) / 2))


@pytest.mark.parametrize("way", ["then", "wait_all", "done"])
def test_hooks_that_wait_in_another_way(way: str) -> None:
    groups.run(2, wait_in_another_way, way)


def communicate_in_callbacks(rank: int, size: int) -> set[int]:
    """The threads of callbacks that communicate, where rank 1 comes late to the first of them."""
    model = torch.nn.Sequential(*(torch.nn.Linear(600, 600) for _ in range(3)))  # at least two buckets in each step
    wrapped = DistributedDataParallel(model, bucket_cap_mb=1)
    threads = []

    def hook(_: object, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        def then(future: torch.futures.Future[Any]) -> torch.Tensor:
            if rank == 1 and len(threads) == 1:  # PyTorch 2 makes one bucket in the first step
                time.sleep(2)
            threads.append(threading.get_ident())
            dist.all_reduce(future.value()[0])
            result: torch.Tensor = future.value()[0]
            return result

        if rank == 0:
            time.sleep(0.2)  # rank 1 has begun its calls, so that those of rank 0 may end at once
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(then)

    hook.__annotations__ = {}
    wrapped.register_comm_hook(None, hook)
    for _ in range(2):
        wrapped(torch.ones(1, 600)).sum().backward()
    assert len(threads) > 2
    return set(threads) - {threading.get_ident()}


def test_callbacks_that_communicate_keep_their_thread() -> None:
    others = groups.run(2, communicate_in_callbacks)
    assert others == [set()] * 2, "a rank waited in a callback, and another thread ran the others"


def raise_in_then(rank: int, size: int) -> str:
    future = dist.all_reduce(full(rank), async_op=True).get_future()

    def fail(_: object) -> None:
        raise KeyError("no such gradient")

    try:
        future.then(fail).wait()
    except Exception as error:
        return str(error)
    return "no error"


@pytest.mark.parametrize("backend", ["tutti", "gloo"])
def test_an_error_of_what_follows_a_future(backend: str) -> None:
    assert all("no such gradient" in text for text in groups.run(2, raise_in_then, backend=backend))


def compress_by_power_iteration(rank: int, size: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    torch.manual_seed(0)
    model = torch.nn.Linear(20, 20)
    wrapped = DistributedDataParallel(model)
    state = power.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    wrapped.register_comm_hook(state, power.powerSGD_hook)
    for _ in range(4):
        wrapped.zero_grad()
        wrapped(torch.full((1, 20), rank + 1.0)).sum().backward()
    assert torch.allclose(model.weight.grad, torch.tensor((size + 1) / 2), atol=1e-3)


def test_power_sgd() -> None:
    groups.run(2, compress_by_power_iteration)


def divide_by_another_factor(rank: int, size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model: Any = torch.nn.Linear(4, 2)
    fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    model.set_gradient_divide_factor(4.0)
    model(torch.full((1, 4), rank + 1.0)).sum().backward()
    assert torch.allclose(model.weight.grad.full_tensor(), torch.tensor(size * (size + 1) / 2 / 4.0))


def test_sharded_models_with_another_factor() -> None:
    if not hasattr(getattr(torch.cpu, "current_stream", object)(), "record_event"):
        pytest.skip("this PyTorch has no FSDP2 on CPUs")
    groups.run(2, divide_by_another_factor)
