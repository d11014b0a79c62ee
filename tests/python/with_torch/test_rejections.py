"""Calls whose arguments one rank rejects, and arguments that are rejected nowhere."""

from __future__ import annotations

import datetime
import warnings
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist

import groups
import tutti
from groups import full

HAS_PREMUL_SUM = hasattr(dist, "_make_nccl_premul_sum")
BIT_AND = dist.ReduceOp.BAND  # not of floating-point numbers


def group_of_all() -> Any:
    """The group, whose calls do not check arguments before those of tutti."""
    group: Any = dist.group.WORLD
    group.set_timeout(datetime.timedelta(seconds=30))
    return group


REJECTED: dict[str, Callable[[Any, int], Any]] = {
    "all_reduce": lambda group, rank: dist.all_reduce(full(rank), op=BIT_AND),
    "reduce": lambda group, rank: group.reduce([full(rank), full(rank)], 1),
    "broadcast": lambda group, rank: dist.broadcast(torch.empty(4, device="meta"), 1),
    "all_gather": lambda group, rank: dist.all_gather([full(0, 8)], full(rank)),
    "gather": lambda group, rank: dist.gather(full(rank), [full(0)] * 3 if rank == 1 else None, 1),
    "scatter": lambda group, rank: dist.scatter(full(rank), [full(0)] * 3 if rank == 1 else None, 1),
    "reduce_scatter": lambda group, rank: dist.reduce_scatter(full(rank), [full(0)] * 3),
    "all_to_all": lambda group, rank: dist.all_to_all_single(torch.zeros(3, 2), torch.zeros(3, 2)),
}
RIGHT: dict[str, Callable[[Any, int], Any]] = {
    "all_reduce": lambda group, rank: dist.all_reduce(full(rank)),
    "reduce": lambda group, rank: dist.reduce(full(rank), 1),
    "broadcast": lambda group, rank: dist.broadcast(full(rank), 1),
    "all_gather": lambda group, rank: dist.all_gather([full(0), full(0)], full(rank)),
    "gather": lambda group, rank: dist.gather(full(rank), [full(0)] * 2 if rank == 1 else None, 1),
    "scatter": lambda group, rank: dist.scatter(full(rank), [full(0)] * 2 if rank == 1 else None, 1),
    "reduce_scatter": lambda group, rank: dist.reduce_scatter(full(rank), [full(0)] * 2),
    "all_to_all": lambda group, rank: dist.all_to_all_single(torch.zeros(2, 2), torch.zeros(2, 2)),
}


def go_on(rank: int, size: int, name: str) -> str:
    """Rank 1 rejects its first call, and goes on. Returns what the others make of it."""
    group = group_of_all()
    if rank == 1:
        with pytest.raises((tutti.ArgumentError, ValueError)):
            REJECTED[name](group, rank)
    with pytest.raises(tutti.MismatchError) as caught:
        if rank == 0:
            RIGHT[name](group, rank)
        dist.all_reduce(full(7))
        dist.barrier()
    assert caught.value.rank == 1
    return str(caught.value)


@pytest.mark.parametrize("name", REJECTED)
def test_a_collective_that_one_rank_rejects_fails_on_all(name: str) -> None:
    for text in groups.run(2, go_on, name):
        assert f"rank 1 rejected the arguments of call #1: {name}" in text


def reject_together(rank: int, size: int) -> None:
    group = group_of_all()
    for name, call in REJECTED.items():
        if rank == 1 or name not in ("gather", "scatter"):  # of which the root's lists are wrong
            with pytest.raises(tutti.ArgumentError):
                call(group, rank)
    for name in ("gather", "scatter"):
        if rank == 0:
            with pytest.raises(tutti.ArgumentError):
                getattr(group, name)([full(0), full(0)], [full(0), full(0)], 1)
    with pytest.raises(tutti.ArgumentError, match="a call takes one tensor"):
        if rank == 0:
            group.send([full(0), full(0)], 1, 3)
        else:
            group.recv([full(0), full(0)], 0, 3)
    if rank == 0:
        dist.send(full(5), 1, tag=3)
    else:
        dist.recv(got := full(0), 0, tag=3)
        assert got[0] == 5
    dist.all_reduce(x := full(rank + 1))
    assert x[0] == 3


def test_calls_that_all_ranks_reject_change_nothing() -> None:
    groups.run(2, reject_together)


def reject_a_message(rank: int, size: int, is_sender: bool) -> str:
    """One end rejects its call. Returns the error of the other end, or of what follows."""
    group = group_of_all()
    culprit = 0 if is_sender else 1
    call = (lambda x: group.send(x, 1, 3)) if rank == 0 else (lambda x: group.recv(x, 0, 3))
    if rank == culprit:
        with pytest.raises(tutti.ArgumentError, match="a call takes one tensor"):
            call([full(0), full(0)])
    with pytest.raises(tutti.MismatchError) as caught:
        if rank != culprit:
            call([full(0, 1 << 20)]).wait()
        for _ in range(2):
            dist.barrier()
    assert caught.value.rank == culprit
    return str(caught.value)


@pytest.mark.parametrize("is_sender", [False, True])
def test_a_message_that_one_end_rejects_fails_at_the_other(is_sender: bool) -> None:
    name = "send" if is_sender else "recv"
    for text in groups.run(2, reject_a_message, is_sender):
        assert f"rejected the arguments of its {name}" in text
        assert text.endswith(f": {name}: a call takes one tensor of each rank, got 2")


def scale_integers(rank: int, size: int) -> None:
    op = dist._make_nccl_premul_sum(0.5)
    if not hasattr(op, "factor") and op.__getstate__() is None:
        return  # this PyTorch hides the factor
    x, out = torch.full((4,), 7), torch.zeros(2, dtype=torch.int64)
    scatter: Any = getattr(dist, "reduce_scatter_tensor", dist._reduce_scatter_base)
    group = group_of_all()
    calls: list[Callable[[], Any]] = [
        lambda: dist.all_reduce(x, op=op),
        lambda: dist.reduce(x, 0, op=op),
        lambda: dist.reduce_scatter(out, list(x.chunk(2)), op=op),
        lambda: scatter(out, x, op=op),
        lambda: group.allreduce_coalesced([full(0), x], _options(op)),
        lambda: group.reduce_scatter_tensor_coalesced([full(0, 2), out], [full(1), x], _options(op)),
    ]
    for call in calls:
        with pytest.raises(tutti.torch.DistError, match=r"PREMUL_SUM by 0\.5 is not defined for torch\.int64"):
            call()
    assert (x == 7).all() and (out == 0).all()
    dist.all_reduce(x, op=dist._make_nccl_premul_sum(2.0))
    assert (x == 28).all()
    flags = torch.ones(2, dtype=torch.bool)
    with pytest.raises(tutti.ArgumentError, match=r"not defined for torch\.bool"):
        dist.all_reduce(flags, op=op)


def _options(op: Any) -> Any:
    class Options:
        reduceOp = op
        timeout = datetime.timedelta(0)

    return Options()


@pytest.mark.skipif(not HAS_PREMUL_SUM, reason="this PyTorch has no operator with a factor")
def test_integers_have_no_fractional_factors() -> None:
    groups.run(2, scale_integers)


def share_memory(rank: int, size: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one call of PyTorch is old
        dist.all_reduce_coalesced([x := torch.ones(4), x.view(2, 2)])
        assert torch.equal(x, full(2))
        x = torch.ones(5)
        dist.all_reduce_coalesced([x[:3], x[1:], x])
        assert torch.equal(x, full(2, 5))
    group = group_of_all()
    mine = full(rank + 1)
    out = torch.zeros(8)
    group.all_gather_into_tensor_coalesced([out, out], [mine, mine + 2]).wait()
    assert torch.equal(out, torch.cat([full(3), full(4)]))
    group.reduce_scatter_tensor_coalesced([out[:2], out[1:3]], [full(1), out[:4].fill_(2)]).wait()
    assert out[:3].tolist() == [2, 4, 4], out
    dist.all_gather([x := torch.zeros(4), x], mine)
    assert torch.equal(x, full(2))
    x = torch.zeros(6)
    dist.all_gather([x[:4], x[2:]], mine)
    assert x.tolist() == [1, 1, 2, 2, 2, 2]
    x = torch.zeros(8)
    x[2:6] = rank + 1
    group.all_gather_into_tensor(x, x[2:6]).wait() if hasattr(group, "all_gather_into_tensor") else None
    assert torch.equal(x, torch.cat([full(1), full(2)]))
    x = torch.arange(4.0) + 4 * rank
    dist.all_to_all_single(x, x)
    assert x.tolist() == [2 * rank, 2 * rank + 1, 2 * rank + 4, 2 * rank + 5]


def test_tensors_that_share_memory() -> None:
    groups.run(2, share_memory)


def copy_bytes(rank: int, size: int) -> None:
    values = torch.arange(4.0)
    for count, dtype in ((4, torch.int32), (2, torch.int64), (16, torch.uint8)):
        out = torch.zeros(count, dtype=dtype)
        if rank == 0:
            dist.send(values, 1)
            dist.isend(values, 1).wait()
        else:
            dist.recv(out, 0)
            assert torch.equal(out.view(torch.float32), values)
            dist.irecv(out.zero_(), 0).wait()
            assert torch.equal(out.view(torch.float32), values)
        x = values.clone() if rank == 0 else out.zero_()
        dist.broadcast(x, 0)
        assert torch.equal(x.view(torch.float32), values)
        dist.broadcast(x.zero_() if rank == 1 else x, 0, async_op=True).wait()
        assert torch.equal(x.view(torch.float32), values)


def test_copies_are_of_bytes() -> None:
    groups.run(2, copy_bytes)


def use_views(rank: int, size: int) -> None:
    for count in (1, 3):
        numbers = torch.full((count,), 1 + 2j) * (rank + 1)
        x = numbers.conj().imag
        assert x.is_neg()
        dist.all_reduce(x)
        assert (x == -6).all() and (numbers == rank + 1 + 6j).all()
        if rank == 0:
            dist.send(x, 1)
            dist.recv(x, 1)
        else:
            dist.recv(x.zero_(), source := 0)
            dist.send(x, source)
        assert (x == -6).all() and (numbers == rank + 1 + 6j).all()
        group = group_of_all()
        group.broadcast([conjugate := numbers.conj()], 1).wait()
        assert (numbers == 2 + 6j).all() and (conjugate == 2 - 6j).all()
    base = torch.ones(3, 1) * (rank + 1)
    dist.all_reduce(base.expand(3, 4))
    assert (base == 3).all()
    dist.broadcast((one := full(rank, 1)).expand(4), 1)
    assert one[0] == 1
    dist.all_gather([x := torch.zeros(1).expand(4), y := torch.zeros(1).expand(4)], full(rank + 1))
    assert x[0] == 1 and y[0] == 2
    if rank == 0:
        dist.send(torch.arange(4.0), 1)
    else:
        with pytest.raises(tutti.ArgumentError, match="lie at one place got different values"):
            dist.recv(x, 0)
    dist.barrier()


def test_views_of_other_memory() -> None:
    groups.run(2, use_views)
