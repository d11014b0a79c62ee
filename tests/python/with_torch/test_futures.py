"""Futures of calls, for which PyTorch waits in C++."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import groups
import tutti.torch
from groups import full

Hook = Callable[[object, Any], torch.futures.Future[torch.Tensor]]


def make_model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(600, 600) for _ in range(3)))  # more than one bucket of 1 MB


def mean_by(way: str) -> Hook:
    """A hook in Python that waits in some way for the mean."""

    def hook(_: object, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        future = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True).get_future()
        if way == "communicates":
            return future.then(lambda done: again(done.value()[0]))
        result: torch.futures.Future[torch.Tensor] = future.then(lambda done: done.value()[0])
        return result

    def again(x: torch.Tensor) -> torch.Tensor:
        """Equal on all ranks, and so as before."""
        dist.broadcast(x, 0)
        return x

    hook.__annotations__ = {}  # they are texts here, which DistributedDataParallel would compare
    return hook


def add_hook(model: DistributedDataParallel, hook: str) -> None:
    if hook in ("returns", "communicates"):
        model.register_comm_hook(None, mean_by(hook))
    elif hook != "none":
        model._register_builtin_comm_hook(getattr(dist.BuiltinCommHookType, hook))


def train(rank: int, size: int, hook: str, is_static: bool) -> None:
    model = make_model()
    alone = copy.deepcopy(model)
    wrapped = DistributedDataParallel(model, bucket_cap_mb=1, static_graph=is_static)
    add_hook(wrapped, hook)
    for step in range(3):
        wrapped.zero_grad()
        wrapped(torch.full((1, 600), rank + step + 1.0)).sum().backward()
        alone.zero_grad()
        for other in range(size):
            (alone(torch.full((1, 600), other + step + 1.0)).sum() / size).backward()
        for own, expected in zip(model.parameters(), alone.parameters()):
            assert torch.allclose(own.grad, expected.grad, rtol=1e-2, atol=1e-2), "FP16_COMPRESS rounds"


@pytest.mark.parametrize("is_static", [False, True], ids=["", "static_graph"])
@pytest.mark.parametrize("hook", ["none", "returns", "communicates", "ALLREDUCE", "FP16_COMPRESS"])
def test_data_parallel(hook: str, is_static: bool) -> None:
    groups.run(2, train, hook, is_static)


def miss_a_step(rank: int, size: int, is_static: bool) -> str:
    """Rank 1 makes the model, and does not train it."""
    group = dist.new_group(timeout=timedelta(seconds=2))
    model = DistributedDataParallel(torch.nn.Linear(4, 2), process_group=group, static_graph=is_static)
    text = "no error"
    if rank == 0:
        try:
            model(torch.ones(1, 4)).sum().backward()
        except tutti.TimeoutError as error:
            assert isinstance(error, tutti.torch.DistError)
            text = str(error)
    dist.barrier()
    return text


@pytest.mark.parametrize("is_static", [False, True], ids=["", "static_graph"])
def test_backward_ends_by_the_timeout(is_static: bool) -> None:
    assert "timed out" in groups.run(2, miss_a_step, is_static)[0]


def wait_in_a_callback(rank: int, size: int) -> None:
    """A callback waits in C++ for the future of a later call, which only a thread beside can complete."""
    group = dist.new_group(timeout=timedelta(seconds=2))
    model = torch.nn.Linear(3, 2)
    wrapped = DistributedDataParallel(model)

    def hook(_: object, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        first = dist.all_reduce(full(rank), group=group, async_op=True).get_future()
        second = dist.all_reduce(bucket.buffer().div_(size), group=group, async_op=True).get_future()

        def then(_: object) -> torch.Tensor:
            result: torch.Tensor = torch.futures.wait_all([second])[0][0]
            return result

        result: torch.futures.Future[torch.Tensor] = first.then(then)
        return result

    hook.__annotations__ = {}
    wrapped.register_comm_hook(None, hook)
    wrapped(torch.full((1, 3), rank + 1.0)).sum().backward()
    assert torch.allclose(model.weight.grad, torch.tensor((size + 1) / 2))


def test_a_callback_that_waits_ends_by_the_timeout() -> None:
    groups.run(2, wait_in_a_callback)
