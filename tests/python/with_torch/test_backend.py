"""The backend "tutti": every call of torch.distributed."""

from __future__ import annotations

import datetime
import gc
import inspect
import math
import pathlib
import signal
import time
from typing import Any

import pytest
import torch
import torch.distributed as dist

import groups
import ranks
import tutti
from groups import full

sizes = pytest.mark.parametrize("size", [1, 2, 3])


def reduce_all(rank: int, size: int) -> None:
    total = sum(range(1, size + 1))
    x = full(rank + 1)
    dist.all_reduce(x)
    assert torch.equal(x, full(total))
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    assert work.is_completed() and torch.equal(x, full(total))
    dist.all_reduce(average := full(rank), op=dist.ReduceOp.AVG)
    assert torch.allclose(average, full((size - 1) / 2))
    dist.reduce(x := full(1), dst=size - 1)
    assert rank != size - 1 or torch.equal(x, full(size))
    columns = torch.zeros(3, 2)[:, 0].fill_(1)  # not in one piece
    dist.all_reduce(columns)
    assert torch.equal(columns, full(size, 3))
    parameter = torch.nn.Parameter(full(1))
    dist.all_reduce(parameter)
    assert parameter[0] == size
    flags = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flags, op=dist.ReduceOp.BAND)
    assert flags.tolist() == [size == 1, True, False]
    dist.all_reduce(complex_numbers := torch.tensor([1 + 2j]))
    assert complex_numbers[0] == size * (1 + 2j)
    dist.reduce_scatter_tensor(out := torch.empty(2), torch.ones(2 * size))
    assert torch.equal(out, full(size, 2))
    dist.reduce_scatter(out, [full(i, 2) for i in range(size)])
    assert torch.equal(out, full(rank * size, 2))


@sizes
def test_reductions(size: int) -> None:
    groups.run(size, reduce_all)


def reduce_sparse(rank: int, size: int) -> None:
    x = torch.sparse_coo_tensor([[0, rank]], [1.0, 2.0], (size,))
    dist.all_reduce(x)
    want = full(2, size)
    want[0] += size
    assert torch.equal(x.to_dense(), want)


def test_sparse() -> None:
    groups.run(2, reduce_sparse)


def copy_all(rank: int, size: int) -> None:
    dist.broadcast(x := full(rank), src=size - 1)
    assert torch.equal(x, full(size - 1))
    want = [full(i) for i in range(size)]
    dist.all_gather(outs := [torch.empty(4) for _ in range(size)], full(rank))
    assert all(map(torch.equal, outs, want))
    uneven = [torch.empty(i + 1) for i in range(size)]
    dist.all_gather(uneven, full(rank, rank + 1))
    assert all(torch.equal(x, full(i, i + 1)) for i, x in enumerate(uneven))
    work = dist.all_gather_into_tensor(out := torch.empty(4 * size), full(rank), async_op=True)
    work.wait()
    assert torch.equal(out, torch.cat(want))
    dist.gather(full(rank), outs := [torch.empty(4) for _ in range(size)] if rank == 0 else None)
    assert outs is None or all(map(torch.equal, outs, want))
    dist.scatter(x, want if rank == 0 else None)
    assert torch.equal(x, full(rank))
    dist.all_to_all_single(out := torch.empty(size), full(rank, size))
    assert torch.equal(out, torch.arange(float(size)))
    counts = [i + 1 for i in range(size)]
    dist.all_to_all_single(
        out := torch.empty(size * (rank + 1), 2), torch.ones(sum(counts), 2), [rank + 1] * size, counts
    )
    assert torch.equal(out, torch.ones(size * (rank + 1), 2))
    dist.all_to_all(outs := [torch.empty(2) for _ in range(size)], [full(rank, 2) for _ in range(size)])
    assert all(torch.equal(x, full(i, 2)) for i, x in enumerate(outs))
    dist.barrier()
    groups.monitored_barrier()


@sizes
def test_copies(size: int) -> None:
    groups.run(size, copy_all)


def send_messages(rank: int, size: int) -> None:
    other = 1 - rank
    if rank == 0:
        dist.send(full(7), 1, tag=3)
        dist.isend(full(8), 1)  # whose work is dropped
    else:
        assert dist.recv(x := torch.empty(4), tag=3) == 0 and x[0] == 7
        dist.recv(x, 0)
        assert x[0] == 8
    out = torch.empty(4)
    ops = [dist.P2POp(dist.isend, full(rank), other), dist.P2POp(dist.irecv, out, other)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert torch.equal(out, full(other))


def test_messages() -> None:
    groups.run(2, send_messages)


def move_objects(rank: int, size: int) -> None:
    dist.all_gather_object(everything := [None] * size, {"rank": rank})
    assert everything == [{"rank": i} for i in range(size)]
    dist.broadcast_object_list(one := [{"a": 1}] if rank == 0 else [None])
    assert one == [{"a": 1}]
    dist.scatter_object_list(own := [None], [f"part {i}" for i in range(size)] if rank == 0 else None)
    assert own == [f"part {rank}"]
    dist.gather_object(rank, gathered := [None] * size if rank == 0 else None)
    assert gathered is None or gathered == list(range(size))


def test_objects() -> None:
    groups.run(2, move_objects)


def use_subgroups(rank: int, size: int) -> None:
    first, last = dist.new_group([0, 1]), dist.new_group([1, 2])
    works = []
    if rank < 2:
        works.append(dist.all_reduce(x := full(rank), group=first, async_op=True))
    if rank > 0:
        works.append(dist.all_reduce(y := full(rank), group=last, async_op=True))
    if rank == 1:  # its calls in both groups go on while it waits in a third one
        dist.barrier()
    for work in works:
        work.wait()
    if rank != 1:
        dist.barrier()
    assert rank > 1 or torch.equal(x, full(1))
    assert rank == 0 or torch.equal(y, full(3))


def test_subgroups() -> None:
    groups.run(3, use_subgroups)


def use_functional_calls(rank: int, size: int) -> None:
    import torch.distributed._functional_collectives as functional

    x = functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD)
    assert x.sum() == 3 * size
    sums = functional.all_reduce_coalesced([full(1), full(2)], "sum", dist.group.WORLD)
    first = functional.all_reduce(full(3), "sum", dist.group.WORLD)
    works = [dist.all_reduce(full(1), async_op=True) for _ in range(20)]  # the calls above end meanwhile
    for work in works:
        work.wait()
    gc.collect()
    assert [y[0] for y in (*sums, first)] == [size, 2 * size, 3 * size]


def test_functional_calls() -> None:
    pytest.importorskip("torch.distributed._functional_collectives", reason="this PyTorch has no functional calls")
    groups.run(2, use_functional_calls)


def coalesce(rank: int, size: int) -> None:
    with dist._coalescing_manager():
        dist.all_reduce(a := full(1))
        dist.all_reduce(b := full(2))
    assert torch.equal(a, full(size)) and torch.equal(b, full(2 * size))


def test_coalescing_manager() -> None:
    if "reqs" in inspect.signature(dist.distributed_c10d._coalescing_manager).parameters:
        pytest.skip("this PyTorch coalesces messages only")
    groups.run(2, coalesce)


def use_several_tensors_and_futures(rank: int, size: int) -> None:
    parts = [[torch.empty(1), torch.empty(2, 3)] for _ in range(size)]
    dist.all_gather_coalesced(parts, [full(rank, 1), torch.full((2, 3), float(rank))])
    assert all(torch.equal(part[1], torch.full((2, 3), float(i))) for i, part in enumerate(parts))
    with pytest.raises(tutti.ArgumentError, match="1 outputs"):
        dist.all_gather_coalesced(parts, [full(rank, 1)])
    future = dist.all_reduce(full(1), async_op=True).get_future()
    future.wait()
    assert torch.equal(future.value()[0], full(size))


def test_several_tensors_and_futures() -> None:
    groups.run(2, use_several_tensors_and_futures)


def call_the_group(rank: int, size: int) -> None:
    """Calls of a group's own methods, which have defaults."""
    group = dist.group.WORLD
    group.broadcast([x := full(rank)]).wait()
    assert torch.equal(x, full(0))
    group.reduce([x := full(1)]).wait()
    assert rank or torch.equal(x, full(size))
    outs = [[torch.empty(4) for _ in range(size)]] if rank == 0 else []
    group.gather(outs, [full(rank)]).get_future().wait()
    assert rank or all(map(torch.equal, outs[0], [full(i) for i in range(size)]))
    group.scatter([x], [[full(i) for i in range(size)]] if rank == 0 else []).wait()
    assert torch.equal(x, full(rank))
    group.barrier().get_future().wait()
    group.monitored_barrier(timeout=60.0)
    group.allreduce_coalesced(2 * [x := full(1)]).wait()  # one tensor twice
    assert torch.equal(x, full(size))
    group.broadcast(x := full(rank), root=size - 1).wait()
    assert torch.equal(x, full(size - 1))
    group.allreduce(x := full(rank), op=dist.ReduceOp.MAX).wait()
    assert torch.equal(x, full(size - 1))
    group.reduce(x := full(rank + 1), size - 1, dist.ReduceOp.PRODUCT).wait()
    assert rank != size - 1 or torch.equal(x, full(math.factorial(size)))
    with pytest.raises(TypeError, match="rot"):
        group.broadcast(x, rot=0)
    for call in (lambda: group.allgather([[]], [x]), lambda: group.allgather([], [x]), lambda: group.allreduce([]), lambda: group.alltoall([], [])):
        with pytest.raises(tutti.ArgumentError):
            call()


def leave_works(rank: int, size: int) -> None:
    tensors = [torch.full((100, 100), float(i)) for i in range(16)]
    for x in tensors:
        dist.all_reduce(x, async_op=True)  # whose work is dropped
    dist.barrier()
    assert all(torch.equal(x, torch.full_like(x, i * size)) for i, x in enumerate(tensors))
    for x in tensors:
        dist.all_reduce(x, async_op=True)
    dist.group.WORLD.barrier().get_future().wait()
    assert all(torch.equal(x, torch.full_like(x, i * size * size)) for i, x in enumerate(tensors))


def test_barrier_ends_calls_before_it() -> None:
    groups.run(2, leave_works)


def test_methods_of_groups() -> None:
    groups.run(2, call_the_group)


def count_collectives(rank: int, size: int) -> None:
    group = dist.group.WORLD
    before = group._get_sequence_number_for_group()
    dist.all_reduce(full(1))
    dist.broadcast(full(1), src=0, async_op=True).wait()
    if rank == 0:  # messages do not count
        dist.send(full(1), 1)
    elif rank == 1:
        dist.recv(torch.empty(4), 0)
    assert group._get_sequence_number_for_group() == before + 2


def test_sequence_numbers() -> None:
    groups.run(2, count_collectives)


def train(rank: int, size: int, is_unused: bool) -> None:
    torch.manual_seed(rank)
    model = torch.nn.ModuleList([torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)])
    wrapped = torch.nn.parallel.DistributedDataParallel(_Sum(model, is_unused), find_unused_parameters=is_unused)
    for _ in range(3):
        wrapped.zero_grad()
        wrapped(torch.full((1, 3), rank + 1.0)).sum().backward()
        assert torch.allclose(model[0].weight.grad, torch.tensor((size + 1) / 2))


class _Sum(torch.nn.Module):
    def __init__(self, parts: torch.nn.ModuleList, is_unused: bool) -> None:
        super().__init__()
        self.parts = parts
        self.count = 1 if is_unused else len(parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum((part(x) for part in list(self.parts)[: self.count]), torch.zeros(()))


@pytest.mark.parametrize("is_unused", [False, True])
def test_data_parallel(is_unused: bool) -> None:
    groups.run(2, train, is_unused)


def stay_away(rank: int, size: int, seconds: int) -> tuple[str, int]:
    """Rank 1 calls something else, once the others have given up; rank 2 sleeps while rank 0 does. Returns the error
    of a rank."""
    store: Any = dist.distributed_c10d._get_default_store()
    dist.barrier()
    if rank == 2:
        signal.signal(signal.SIGALRM, lambda *_: time.sleep(seconds / 2 + 2))
        signal.setitimer(signal.ITIMER_REAL, seconds / 2)
    with pytest.raises(getattr(dist, "DistBackendError", RuntimeError)) as caught:
        if rank == 1:
            store.wait(["given up/0", "given up/2"])
            dist.barrier()
        else:
            try:
                groups.monitored_barrier(timeout=datetime.timedelta(seconds=seconds), wait_all_ranks=True)
            finally:
                store.set(f"given up/{rank}", "")
    assert isinstance(caught.value, tutti.Error)
    return str(caught.value), caught.value.rank


def test_monitored_barrier_names_who_is_absent() -> None:
    for seconds in (4, 12, 36):  # a loaded machine may keep rank 2 away, too
        first, _, third = groups.run(3, stay_away, seconds)
        if "Ranks 1, 2 failed" not in first[0]:
            break
    assert f"Rank 1 failed to pass monitoredBarrier in {seconds}000 ms" in first[0] and "Rank 1 failed" in third[0]
    assert (first[1], third[1]) == (1, 1)


def differ(rank: int, size: int) -> None:
    with pytest.raises(tutti.MismatchError) as caught:
        dist.all_reduce(full(1, count=4 + rank))
    assert isinstance(caught.value, tutti.torch.DistError)


def test_mismatch_is_an_error() -> None:
    groups.run(2, differ)


def call_without_a_backend_in_python(world: tutti.Communicator, path: str) -> None:
    """As with older versions of PyTorch."""
    from tutti.torch import backend

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "HAS_PY_BACKEND", False)
        newer = "_maybe_attach_flight_recorder"  # asks for the backend, as those versions do not
        patch.setattr(dist.distributed_c10d, newer, lambda *_: None, raising=False)
        groups.in_group(world, "tutti", path, _all_calls, ())


def _all_calls(rank: int, size: int) -> None:
    for function in (reduce_all, copy_all, send_messages, move_objects):
        function(rank, size)
    train(rank, size, False)


def test_plain_group(tmp_path: pathlib.Path) -> None:
    ranks.run(2, call_without_a_backend_in_python, str(tmp_path / "store"))
