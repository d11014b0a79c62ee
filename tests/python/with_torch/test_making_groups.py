"""How groups of the backend "tutti" are made: options, timeouts, other backends beside, a rendezvous."""

from __future__ import annotations

import datetime
import os
import time
import uuid

import pytest
import torch
import torch.distributed as dist

import groups
import ranks
import tutti
from groups import full


def change_the_timeout(rank: int, size: int) -> None:
    group = dist.group.WORLD
    backend = group._get_backend(torch.device("cpu"))
    backend._set_default_timeout(datetime.timedelta(seconds=77))
    assert backend.options._timeout == datetime.timedelta(seconds=77)


def test_timeouts() -> None:
    groups.run(1, change_the_timeout)


def reach_by_tutti(world: tutti.Communicator, url: str) -> None:
    os.environ["TUTTI_URL"] = url
    dist.init_process_group("gloo", init_method="tutti://")
    try:
        assert (dist.get_rank(), dist.get_world_size()) == (world.rank, world.size)
        dist.all_reduce(x := full(1))
        assert torch.equal(x, full(world.size))
    finally:
        dist.destroy_process_group()
        del os.environ["TUTTI_URL"]


def sum_on_the_cpu(rank: int, size: int) -> float:
    dist.all_reduce(x := full(rank + 1, count=3))
    return float(x.sum())


@pytest.mark.skipif(not hasattr(dist.distributed_c10d, "BackendConfig"), reason="PyTorch 1.13 has one backend per group")
def test_mixed_groups_lose_no_backend() -> None:
    """A group of another class would replace all backends of the string."""
    with pytest.raises(Exception, match="tutti is for tensors on the CPU: mix it as"):
        groups.run(2, sum_on_the_cpu, backend="cpu:gloo,cuda:tutti")
    if tutti.torch.backend.HAS_PY_BACKEND:
        assert groups.run(2, sum_on_the_cpu, backend="cpu:tutti,cuda:gloo") == [9.0, 9.0]
    else:
        with pytest.raises(Exception, match="cannot mix tutti with other backends in one group"):
            groups.run(2, sum_on_the_cpu, backend="cpu:tutti,cuda:gloo")


def test_ranks_of_tutti_as_a_rendezvous() -> None:
    ranks.run(2, reach_by_tutti, f"unix://{uuid.uuid4()}")


def run_threads(rank: int, size: int) -> None:
    """A group of its own, whose calls go on by themselves."""
    group = dist.new_group(pg_options=tutti.torch.Options(progress_thread=True))
    works = [dist.all_reduce(full(1), group=group, async_op=True) for _ in range(3)]
    while not all(work.is_completed() for work in works):
        time.sleep(0.001)
    assert all(torch.equal(work.result()[0], full(size)) for work in works)


def test_options() -> None:
    groups.run(2, run_threads)


def split(rank: int, size: int) -> None:
    pair = dist.split_group(split_ranks=[[2, 0]], timeout=datetime.timedelta(seconds=50))
    if rank == 1:
        assert pair is dist.GroupMember.NON_GROUP_MEMBER
    else:
        assert dist.get_backend(pair) == "tutti" and dist.get_process_group_ranks(pair) == [2, 0]
        assert pair.rank() == (0 if rank == 2 else 1) and pair._limit() == 50
        dist.all_reduce(x := full(rank), group=pair)
        assert torch.equal(x, full(2))
        dist.broadcast(x := full(rank), src=2, group=pair)
        assert torch.equal(x, full(2))
        names: list[object] = [None, None]
        dist.all_gather_object(names, f"rank {rank}", group=pair)
        assert names == ["rank 2", "rank 0"]
        half = dist.split_group(pair, split_ranks=[[0], [1]])
        dist.all_reduce(x := full(rank), group=half)
        assert torch.equal(x, full(rank))
    with pytest.raises(tutti.ArgumentError, match="pass no pg_options"):
        dist.group.WORLD.split_group([0], opts=tutti.torch.Options())
    dist.all_reduce(x := full(1))
    assert torch.equal(x, full(size))


def split_mixed(rank: int, size: int) -> None:
    pair = dist.split_group(split_ranks=[[1, 0]])
    dist.all_reduce(x := full(rank + 1), group=pair)
    assert torch.equal(x, full(3)) and dist.get_rank(pair) == 1 - rank


@pytest.mark.skipif(not tutti.torch.backend.HAS_PY_BACKEND, reason="this PyTorch splits groups of C++ only")
def test_parts_of_groups() -> None:
    groups.run(3, split)
    groups.run(2, split_mixed, backend="cpu:tutti,cuda:gloo")
