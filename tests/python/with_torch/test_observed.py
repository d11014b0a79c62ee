"""Calls that a profiler or a mode of the dispatcher observes: they are seen as those of Gloo are."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import groups
from groups import full
from tutti.torch.backend import HAS_PY_BACKEND

pytestmark = pytest.mark.skipif(not HAS_PY_BACKEND, reason="backends of this PyTorch cannot be written in Python")


def call_all(rank: int, size: int) -> None:
    x, y = full(rank + 1), full(rank, 8)
    parts = [torch.empty(4) for _ in range(size)]
    dist.all_reduce(x)
    assert torch.equal(x, full(size * (size + 1) / 2))
    work = dist.all_reduce(x, async_op=True)
    future = work.get_future().then(lambda done: done.value()[0] + 1)
    work.wait()
    assert work.is_completed() and torch.equal(future.wait(), x + 1)
    dist.broadcast(x, 0)
    dist.reduce(x.clone(), 0)
    dist.all_gather(parts, full(rank))
    assert torch.equal(torch.stack(parts).mean(1), torch.arange(float(size)))
    dist.all_gather_into_tensor(torch.empty(4 * size), full(rank))
    dist.reduce_scatter(torch.empty(4), parts)
    dist.reduce_scatter_tensor(torch.empty(4), full(1, 4 * size))
    dist.all_to_all(parts, [full(rank) for _ in range(size)])
    dist.all_to_all_single(torch.empty(8), y)
    dist.gather(x, parts if rank == 0 else None)
    dist.scatter(x, parts if rank == 0 else None)
    dist.barrier()
    if rank == 0:
        dist.send(x, 1)
        dist.recv(x, 1)
    else:
        dist.recv(x, 0)
        dist.send(x, 0)
    for each in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, y[:4], 1 - rank)]):
        each.wait()
    assert torch.equal(y[:4], x)


def step(rank: int) -> None:
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    model(full(rank).view(1, 4)).sum().backward()


def count_by_mode(rank: int, size: int) -> dict[str, int]:
    from torch.distributed.tensor.debug import CommDebugMode

    with CommDebugMode() as mode:
        call_all(rank, size)
        step(rank)
    return {str(op): count for op, count in mode.get_comm_counts().items()}


def count_by_profiler(rank: int, size: int) -> dict[str, int]:
    with torch.profiler.profile() as profiler:
        call_all(rank, size)
        step(rank)
    names = [event.name for event in profiler.events()]
    assert dist.get_backend() != "tutti" or "tutti:all_reduce" in names
    return dict(collections.Counter(name for name in names if name.startswith("c10d::")))


@pytest.mark.parametrize("count", [count_by_mode, count_by_profiler])
def test_who_observes_sees_what_gloo_shows(count: Any) -> None:
    by_tutti, by_gloo = groups.run(2, count), groups.run(2, count, backend="gloo")
    assert by_tutti == by_gloo and len(by_gloo[0]) > 8


def pass_tensors_that_wait(rank: int, size: int) -> None:
    """The results of functional collectives are tensors of a class that waits for them once they are used."""
    import torch.distributed._functional_collectives as functional

    def result() -> Any:
        return functional.all_reduce(full(rank + 1), "sum", dist.group.WORLD)

    total = size * (size + 1) / 2
    x = result()
    dist.all_reduce(x)
    assert torch.equal(x, full(total * size))
    x = result()
    dist.broadcast(x, 0)
    out = torch.empty(4 * size)
    dist.all_gather_into_tensor(out, result())
    assert torch.equal(x, full(total)) and torch.equal(out, full(total, 4 * size))
    parts = [result() for _ in range(size)]
    dist.all_gather(parts, full(rank))
    assert [float(part[0]) for part in parts] == list(range(size))


@pytest.mark.parametrize("backend", ["tutti", "gloo"])
def test_tensors_that_wait(backend: str) -> None:
    groups.run(2, pass_tensors_that_wait, backend=backend)
